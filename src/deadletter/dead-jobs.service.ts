import { Injectable } from '@nestjs/common';
import type { Caller } from '../domain/caller.js';
import type { DeadFilter, DeadStep, ListPage, JobsRequest, Respawn } from '../domain/job-lists.js';
import type { JobSummary } from '../domain/extended-job.js';
import { checkQueue, checkQueueOrAll } from '../domain/rights.js';
import { EngineRegistry } from '../engine/migration/engine.registry.js';
import type { ExtendedPath } from '../engine/extended-path.js';
import type { DeadRequest } from './dead-request.js';

/** Dead jobs of all queues of a caller's namespace. */
@Injectable()
export class DeadJobsService {
  constructor(private readonly engines: EngineRegistry) {}

  /**
   * @throws {QueueError} `queue_not_allowed`: the caller may see only some queues, and the filter names none of them;
   * `pool_moving`
   */
  list(caller: Caller, filter: DeadFilter, page: JobsRequest): Promise<ListPage<JobSummary>> {
    checkQueueOrAll(caller.rights, filter.queue);
    return this.extended(caller).lists.listDead(caller.namespace, filter, page);
  }

  /** @throws as `list` */
  async respawn(caller: Caller, request: DeadRequest, options: Respawn): Promise<DeadStep> {
    if (options.queue !== undefined) checkQueue(caller.rights, options.queue);
    const { filter, ids, isDry, limit, cursor } = request;
    checkQueueOrAll(caller.rights, filter.queue);
    const { dead } = this.extended(caller);
    if (isDry) return this.count(caller, request);
    if (ids === null) return dead.respawn(caller.namespace, filter, options, limit, cursor);
    return { done: await dead.respawnIds(caller.namespace, ids, options, filter), cursor: null };
  }

  /** @throws as `list` */
  async delete(caller: Caller, request: DeadRequest): Promise<DeadStep> {
    const { filter, ids, isDry, limit, cursor } = request;
    checkQueueOrAll(caller.rights, filter.queue);
    const { dead } = this.extended(caller);
    if (isDry) return this.count(caller, request);
    if (ids === null) return dead.delete(caller.namespace, filter, limit, cursor);
    return { done: await dead.deleteIds(caller.namespace, ids, filter), cursor: null };
  }

  private async count(caller: Caller, { filter, ids, cursor }: DeadRequest): Promise<DeadStep> {
    const { dead } = this.extended(caller);
    if (ids === null) return dead.count(caller.namespace, filter, cursor);
    return { done: await dead.countIds(caller.namespace, ids, filter), cursor: null };
  }

  private extended({ pool }: Caller): ExtendedPath {
    return this.engines.extendedOf(pool);
  }
}
