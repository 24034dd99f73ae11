import { Injectable } from '@nestjs/common';
import type { Caller } from '../domain/caller.js';
import type {
  DeadFilter,
  DeadSelection,
  DeadStep,
  ListPage,
  JobsRequest,
  Respawn,
} from '../domain/job/job-lists.js';
import type { JobSummary } from '../domain/job/extended-job.js';
import { checkQueue, checkQueueOrAll } from '../domain/rights.js';
import { EngineRegistry } from '../engine/migration/engine.registry.js';
import type { ExtendedPath } from '../engine/extended-path.js';

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
  async respawn(caller: Caller, selection: DeadSelection, options: Respawn): Promise<DeadStep> {
    // guard: respawn-checks-target-queue
    if (options.queue !== undefined) checkQueue(caller.rights, options.queue);
    checkQueueOrAll(caller.rights, selection.filter.queue);
    return this.extended(caller).dead.respawnSelected(caller.namespace, selection, options);
  }

  /** @throws as `list` */
  async delete(caller: Caller, selection: DeadSelection): Promise<DeadStep> {
    checkQueueOrAll(caller.rights, selection.filter.queue);
    return this.extended(caller).dead.deleteSelected(caller.namespace, selection);
  }

  private extended({ pool }: Caller): ExtendedPath {
    return this.engines.extendedOf(pool);
  }
}
