import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '../domain/caller.js';
import { jobNotFound } from '../domain/errors.js';
import type { JobFilter, ListPage, NamedCount, PageRequest, Trace } from '../domain/job-lists.js';
import type { JobSummary } from '../domain/rich-job.js';
import { isJobId } from '../domain/names.js';
import { checkQueueOrAll } from '../domain/rights.js';
import { EngineRegistry } from '../engine/engine.registry.js';
import type { FullLane } from '../engine/full/full-lane.js';

/** Lists of jobs and what marks them, on behalf of a caller. */
@Injectable()
export class ListsService {
  constructor(@Inject(EngineRegistry) private readonly engines: EngineRegistry) {}

  /** @throws {QueueError} `queue_not_allowed`: the caller may see some queues only, and this list is not of one of them */
  list(caller: Caller, filter: JobFilter, page: PageRequest): Promise<ListPage<JobSummary>> {
    checkQueueOrAll(caller.rights, filter.queue);
    return this.lane(caller).lists.list(caller.namespace, filter, page);
  }

  tagsOf(caller: Caller, id: string): Promise<string[]> {
    return this.lane(caller).marks.tagsOf(caller.namespace, known(id));
  }

  addTags(caller: Caller, id: string, tags: readonly string[]): Promise<string[]> {
    return this.lane(caller).marks.addTags(caller.namespace, known(id), tags);
  }

  removeTags(caller: Caller, id: string, tags: readonly string[]): Promise<string[]> {
    return this.lane(caller).marks.removeTags(caller.namespace, known(id), tags);
  }

  tags(caller: Caller, page: PageRequest): Promise<ListPage<NamedCount>> {
    return this.lane(caller).marks.tags(caller.namespace, page);
  }

  groups(caller: Caller, page: PageRequest): Promise<ListPage<NamedCount>> {
    return this.lane(caller).marks.groups(caller.namespace, page);
  }

  traces(caller: Caller): Promise<Trace[]> {
    return this.lane(caller).marks.traces(caller.namespace);
  }

  track(caller: Caller, id: string): Promise<void> {
    return this.lane(caller).marks.track(caller.namespace, known(id));
  }

  untrack(caller: Caller, id: string): Promise<boolean> {
    return this.lane(caller).marks.untrack(caller.namespace, id);
  }

  private lane({ pool }: Caller): FullLane {
    return this.engines.fullLaneOf(pool);
  }
}

/** @throws {QueueError} `job_not_found`: no job can have this id */
function known(id: string): string {
  if (isJobId(id)) return id;
  throw jobNotFound(id);
}
