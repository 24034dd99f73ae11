import {
  type CancelledJob,
  type ChangedJob,
  type Explanation,
  givenOptions,
  type JobChange,
  type JobDetails,
  type JobFilter,
  type JobSummary,
  type NewJob,
  type Page,
  type PublishedJob,
} from '@pumphouse/client';
import { toShown } from '#src/contract/fields/wire';
import { CancelledAnswer, ChangedAnswer } from '#src/contract/job/changes';
import { jobNotFound, QueueError } from '#src/domain/errors';
import type { JobFilter as EngineFilter } from '#src/domain/job/job-lists';
import type { Engine } from '#src/engine/engine';
import { explainedJob } from '#src/engine/explain/explanations';
import type { JobChange as EngineChange } from '#src/engine/jobs/job-updater';
import { detailsOf, summaryOf } from './answers.js';
import { call, type CallOptions, itemsOf, repeat, repeatEnd, repeatRemoval } from './calls.js';
import { explain } from './explain.js';
import { engineJobOf, timeOf } from './new-job.js';
import { dataOf, givenData } from './payload.js';

const PAGE = 100;

/** Jobs of the namespace by their ids, and lists of them: the methods that `jobs` of the HTTP client has. */
export class EngineJobs {
  constructor(
    private readonly engine: Engine,
    private readonly namespace: string,
  ) {}

  /** All that is known of a job. @throws {PumphouseError} `job_not_found` */
  get(id: string, { signal }: CallOptions = {}): Promise<JobDetails> {
    return repeat(async () => {
      const found = await this.engine.jobs.find(this.namespace, id);
      if (found === null) throw jobNotFound(id);
      return detailsOf(found);
    }, signal);
  }

  /** A page of jobs. */
  list(filter: JobFilter = {}, { signal }: CallOptions = {}): Promise<Page<JobSummary>> {
    const { ids, fields, limit = PAGE, cursor, order, state, ...rest } = givenOptions(filter);
    const { jobs: lists } = this.engine;
    return repeat(async () => {
      const request = { limit, cursor, ...(order === undefined ? {} : { order }) };
      const chosen: EngineFilter = { ...rest, ...(state === undefined ? {} : { state }) };
      const page = ids
        ? { items: await lists.listByIds(this.namespace, ids), cursor: null }
        : await lists.list(this.namespace, chosen, request);
      const items = page.items.map(summaryOf);
      return {
        items: fields === undefined ? items : await this.withData(items),
        nextCursor: page.cursor,
      };
    }, signal);
  }

  /** The jobs of all pages. */
  each(filter: JobFilter = {}, options: CallOptions = {}): AsyncGenerator<JobSummary, void, void> {
    return itemsOf((request) => this.list(request, options), filter);
  }

  /** Changes a job that waits. */
  update(id: string, change: JobChange, { signal }: CallOptions = {}): Promise<ChangedJob> {
    return repeat(async () => {
      const changed = await this.engine.jobs.change(this.namespace, id, changeOf(change));
      return toShown(ChangedAnswer, { id, ...changed }) as ChangedJob;
    }, signal);
  }

  /** Ends a job before it is done; the worker of a leased one is told by its `signal`. */
  cancel(
    id: string,
    {
      signal,
      ...request
    }: CallOptions & { readonly cascade?: boolean | undefined; readonly graceMs?: number | undefined } = {},
  ): Promise<CancelledJob> {
    const cancel = async (): Promise<CancelledJob> => {
      const cancelled = await this.engine.jobs.cancel(this.namespace, id, givenOptions(request));
      return toShown(CancelledAnswer, { id, revokedAtMs: null, ...cancelled }) as CancelledJob;
    };
    const done: CancelledJob = { id, outcome: 'already_cancelled', revokedAt: null };
    return repeatEnd('job_not_found', cancel, done, signal);
  }

  /** Deletes a job in any state but leased; with `force` a leased one, too. */
  delete(
    id: string,
    { force = false, signal }: CallOptions & { readonly force?: boolean | undefined } = {},
  ): Promise<void> {
    const request = { force, withDependents: force };
    const remove = (): Promise<unknown> => this.engine.jobs.remove(this.namespace, id, request);
    return repeatRemoval('job_not_found', remove, signal);
  }

  /**
   * Stores a job under an id: a new one, or in the place of one that waits. With `onlyNew` no job is replaced. It is not tried again: a worker
   * may have taken the job, and the same call would store it once more.
   */
  put(
    id: string,
    job: Omit<NewJob, 'id'>,
    { onlyNew = false, signal }: CallOptions & { readonly onlyNew?: boolean | undefined } = {},
  ): Promise<Omit<PublishedJob, 'replayed'>> {
    return call(async () => {
      const stored = { ...engineJobOf(job), id };
      const { isReplaced: _isReplaced, ...published } = await this.engine.jobs.put(this.namespace, stored, {
        isOnlyNew: onlyNew,
      });
      return { ...published, id, existing: false };
    }, signal);
  }

  /** Says why a job does not run; assumes that a server pushes the jobs of its target. @throws {PumphouseError} `job_not_found` */
  explain(id: string, options: CallOptions = {}): Promise<Explanation> {
    return explain(this.engine, this.namespace, (view) => explainedJob(view, id), options);
  }

  /** Ends the lease of a job, which goes back to its queue. @throws {PumphouseError} `not_leased` */
  revoke(id: string, { signal }: CallOptions = {}): Promise<ChangedJob> {
    return call(async () => {
      const revoked = await this.engine.settle.revoke(this.namespace, id);
      return toShown(ChangedAnswer, { id, ...revoked }) as ChangedJob;
    }, signal);
  }

  /** Writes a line into the timeline of a job. */
  log(id: string, message: string, data?: unknown, { signal }: CallOptions = {}): Promise<void> {
    return call(() => this.engine.jobs.log(this.namespace, id, message, data), signal);
  }

  private async withData(jobs: readonly JobSummary[]): Promise<JobSummary[]> {
    const found = await this.engine.jobs.dataOf(this.namespace, jobs);
    return jobs.flatMap((job, i): JobSummary[] => {
      const data = found[i];
      if (data === undefined) return [];
      if (data === null) return [{ ...job, dataOmitted: true }];
      return [{ ...job, ...dataOf(data.body, data.contentType), dataOmitted: false }];
    });
  }
}

export function changeOf(change: JobChange): EngineChange {
  const { dueAt, data, json, contentType, ...rest } = givenOptions(change);
  if (dueAt !== undefined && rest.delayMs !== undefined)
    throw new QueueError('invalid_argument', 'give one of `delayMs` and `dueAt`');
  const stored = givenData({ data, json, contentType });
  return {
    ...rest,
    ...(dueAt === undefined ? {} : { dueMs: timeOf('dueAt', dueAt) }),
    ...(stored === undefined ? {} : { data: stored }),
  };
}
