import { Injectable } from '@nestjs/common';
import type { Caller } from '../domain/caller.js';
import { jobNotFound } from '../domain/errors.js';
import type {
  JobFilter,
  JobsRequest,
  ListedData,
  ListPage,
  NamedCount,
  PageRequest,
  Trace,
} from '../domain/job/job-lists.js';
import type { JobSummary } from '../domain/job/extended-job.js';
import { isJobId } from '../domain/ids.js';
import { checkQueueOrAll, isForQueue } from '../domain/rights.js';
import { EngineRegistry } from '../engine/migration/engine.registry.js';
import type { ExtendedPath } from '../engine/extended-path.js';

/** Job lists, tags, failure groups and tracked jobs on behalf of a caller. */
@Injectable()
export class ListsService {
  constructor(private readonly engines: EngineRegistry) {}

  /** @throws {QueueError} `queue_not_allowed`: the caller may see only some queues, and the filter names none of them */
  list(caller: Caller, filter: JobFilter, page: JobsRequest): Promise<ListPage<JobSummary>> {
    checkQueueOrAll(caller.rights, filter.queue);
    return this.extended(caller).lists.list(caller.namespace, filter, page);
  }

  /** Jobs by their ids, in order; without those that do not exist, or are in queues that the caller may not see. */
  async listByIds(caller: Caller, ids: readonly string[]): Promise<ListPage<JobSummary>> {
    const jobs = await this.extended(caller).lists.listByIds(caller.namespace, ids);
    return { items: jobs.filter(({ queue }) => isForQueue(caller.rights, queue)), cursor: null };
  }

  /** See `Lists.dataOf`. */
  dataOf(caller: Caller, jobs: readonly JobSummary[]): Promise<(ListedData | null | undefined)[]> {
    return this.extended(caller).lists.dataOf(caller.namespace, jobs);
  }

  tagsOf(caller: Caller, id: string): Promise<string[]> {
    return this.extended(caller).tags.tagsOf(caller.namespace, known(id));
  }

  addTags(caller: Caller, id: string, tags: readonly string[]): Promise<string[]> {
    return this.extended(caller).tags.addTags(caller.namespace, known(id), tags);
  }

  removeTags(caller: Caller, id: string, tags: readonly string[]): Promise<string[]> {
    return this.extended(caller).tags.removeTags(caller.namespace, known(id), tags);
  }

  tags(caller: Caller, page: PageRequest): Promise<ListPage<NamedCount>> {
    return this.extended(caller).tags.tags(caller.namespace, page);
  }

  groups(caller: Caller, page: PageRequest): Promise<ListPage<NamedCount>> {
    return this.extended(caller).tags.groups(caller.namespace, page);
  }

  traces(caller: Caller): Promise<Trace[]> {
    return this.extended(caller).tags.traces(caller.namespace);
  }

  track(caller: Caller, id: string): Promise<void> {
    return this.extended(caller).tags.track(caller.namespace, known(id));
  }

  untrack(caller: Caller, id: string): Promise<boolean> {
    return this.extended(caller).tags.untrack(caller.namespace, id);
  }

  private extended({ pool }: Caller): ExtendedPath {
    return this.engines.extendedOf(pool);
  }
}

/** @throws {QueueError} `job_not_found`: no job can have this id */
function known(id: string): string {
  if (isJobId(id)) return id;
  throw jobNotFound(id);
}
