import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '../domain/caller.js';
import { checkAllQueues, checkQueue } from '../domain/rights.js';
import { EngineRegistry } from '../engine/engine.registry.js';
import type { CancelRequest, Cancelled } from '../engine/full/cancelling.js';
import type { Changed, JobChange } from '../engine/full/changing.js';
import type { NativeJobs } from '../engine/native-jobs.js';
import { RichJobsService } from './rich-jobs.service.js';

/** Cancels and changes jobs for callers, each on his own pool. */
@Injectable()
export class ChangesService {
  constructor(
    @Inject(EngineRegistry) private readonly engines: EngineRegistry,
    @Inject(RichJobsService) private readonly jobs: RichJobsService,
  ) {}

  /**
   * As `Cancelling.cancel`. What depends on a job may be in any queue: who is let into some of them only cascades nothing.
   *
   * @throws {QueueError} `queue_not_allowed`, `pool_moving` too
   */
  async cancel(caller: Caller, id: string, request: CancelRequest): Promise<Cancelled> {
    if (request.cascade === true) checkAllQueues(caller.rights);
    return (await this.jobsFor(caller, id)).cancel(caller.namespace, id, request);
  }

  /** As `Changing.change`. @throws as `cancel` */
  async change(caller: Caller, id: string, change: JobChange): Promise<Changed> {
    if (change.queue !== undefined) checkQueue(caller.rights, change.queue);
    return (await this.jobsFor(caller, id)).change(caller.namespace, id, change);
  }

  /** As `Changing.log`. @throws as `cancel` */
  async log(caller: Caller, id: string, message: string, data: unknown): Promise<void> {
    await (await this.jobsFor(caller, id)).log(caller.namespace, id, message, data);
  }

  private async jobsFor(caller: Caller, id: string): Promise<NativeJobs> {
    await this.jobs.checkJob(caller, id);
    return this.engines.forPool(caller.pool).native;
  }
}
