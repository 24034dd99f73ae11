import type { PublishedJob } from '../driver.js';
import { isPumphouseError } from '../errors.js';
import type {
  CancelledJob,
  ChangedJob,
  Explanation,
  JobChange,
  JobDetails,
  JobFilter,
  JobSummary,
  Page,
} from './answers.js';
import { type CallOptions, type Calls, part, withPayload } from './calls.js';
import { newJobJson, type NewJob } from './new-job.js';

/** Jobs of the namespace by their ids, and lists of them. */
export class Jobs {
  constructor(private readonly calls: Calls) {}

  /** All that is known of a job. @throws {PumphouseError} `job_not_found` */
  get(id: string, options: CallOptions = {}): Promise<JobDetails> {
    return this.calls.send({ method: 'GET', path: `jobs/${part(id)}` }, options);
  }

  /** A page of jobs. */
  list(filter: JobFilter = {}, options: CallOptions = {}): Promise<Page<JobSummary>> {
    return this.calls.send({ method: 'GET', path: 'jobs', query: { ...filter } }, options);
  }

  /** The jobs of all pages. */
  each(filter: JobFilter = {}, options: CallOptions = {}): AsyncGenerator<JobSummary, void, void> {
    return this.calls.items((page) => this.list({ ...filter, ...page }, options), filter);
  }

  /** Changes a job that waits. */
  update(id: string, change: JobChange, options: CallOptions = {}): Promise<ChangedJob> {
    return this.calls.send(
      { method: 'PATCH', path: `jobs/${part(id)}`, body: () => withPayload(change) },
      options,
    );
  }

  /** Ends a job before it is done; the worker of a leased one is told by its `signal`. */
  async cancel(
    id: string,
    {
      signal,
      ...body
    }: CallOptions & {
      readonly cascade?: boolean | undefined;
      readonly graceMs?: number | undefined;
    } = {},
  ): Promise<CancelledJob> {
    const call = { method: 'POST', path: `jobs/${part(id)}/cancel`, body, isRepeatable: true } as const;
    try {
      return await this.calls.send(call, signal ? { signal } : {});
    } catch (error) {
      // An earlier attempt, whose answer was lost, has cancelled it.
      if (isPumphouseError(error, 'job_not_found') /* guard: client-lost-cancel-is-done */ && error.mayBeDone)
        return { id, outcome: 'already_cancelled', revokedAt: null };
      throw error;
    }
  }

  /** Deletes a job in any state but leased; with `force` a leased one, too. */
  delete(
    id: string,
    { force, ...options }: CallOptions & { readonly force?: boolean | undefined } = {},
  ): Promise<void> {
    return this.calls.remove(`jobs/${part(id)}`, options, { force });
  }

  /**
   * Stores a job under an id: a new one, or in the place of one that waits. With `onlyNew` no job is replaced. It is sent
   * again only if the server has certainly done nothing: a worker may have taken the job, and the same call would store it
   * once more.
   */
  put(
    id: string,
    job: Omit<NewJob, 'id'>,
    { onlyNew = false, ...options }: CallOptions & { readonly onlyNew?: boolean | undefined } = {},
  ): Promise<Omit<PublishedJob, 'replayed'>> {
    return this.calls.send(
      {
        method: 'PUT',
        path: `jobs/${part(id)}`,
        body: () => newJobJson(job),
        ...(onlyNew ? { headers: { 'if-none-match': '*' } } : {}),
        isRepeatable: /* guard: client-put-is-sent-once */ false,
      },
      options,
    );
  }

  /** Says why a job does not run. @throws {PumphouseError} `job_not_found` */
  explain(id: string, options: CallOptions = {}): Promise<Explanation> {
    return this.calls.send({ method: 'GET', path: `jobs/${part(id)}/explain` }, options);
  }

  /** Ends the lease of a job, which goes back to its queue. @throws {PumphouseError} `not_leased` */
  revoke(id: string, options: CallOptions = {}): Promise<ChangedJob> {
    return this.calls.send({ method: 'POST', path: `jobs/${part(id)}/revoke` }, options);
  }

  /** Writes a line into the timeline of a job. */
  log(id: string, message: string, data?: unknown, options: CallOptions = {}): Promise<void> {
    return this.calls.send(
      { method: 'POST', path: `jobs/${part(id)}/log`, body: { message, data } },
      options,
    );
  }
}
