import { QueueError } from '../../domain/errors.js';
import type { Completion, JobDetails, NewExtendedJob, PublishedJob } from '../../domain/job/extended-job.js';
import type { JobChange } from '../jobs/job-updater.js';
import type { LeaseOperationResult } from '../settle/lease-operations.js';
import type { ExtendedPublishOptions } from '../publish/extended-publisher.js';
import { inEither, isAway } from './migrating-wait.js';
import type { NativeJobs } from '../native-jobs.js';
import type { OldIdempotencyRecords } from './old-idempotency-records.js';

/**
 * Jobs of the native API during a pool migration: new ones go to the new pool, and operations on a job go to the pool
 * that has it. Options that would have to be checked in both pools atomically are rejected with `pool_moving`: unique
 * keys, concurrency keys, dependencies.
 */
export class MigratingNative implements NativeJobs {
  /**
   * @param old the pool that is drained
   * @param next the pool that replaces it
   * @param oldIsUp true while the old pool is available, as far as known
   * @param oldRecords idempotency records of the old pool
   */
  constructor(
    private readonly old: NativeJobs,
    private readonly next: NativeJobs,
    private readonly oldIsUp: () => boolean,
    private readonly oldRecords: OldIdempotencyRecords,
  ) {}

  /**
   * Publishes to the new pool. Given ids must be free in both pools; while the old pool is unavailable its jobs cannot
   * be checked.
   */
  async publish(
    namespace: string,
    jobs: readonly NewExtendedJob[],
    options?: ExtendedPublishOptions,
  ): Promise<readonly PublishedJob[]> {
    const before = await this.oldRecords.jobsOf(namespace, jobs, options);
    if (before) return before;
    for (const job of jobs) {
      // guard: migrating-unique-waits
      refuse(job.unique !== undefined, 'unique');
      refuse(job.concurrencyKey !== undefined, 'concurrency_key');
      // guard: migrating-dependencies-wait
      refuse((job.dependsOn ?? []).length > 0, 'depends_on');
    }
    const isKeyed = options?.idempotencyKey !== undefined || options?.idempotencyRecord !== undefined;
    if (!isKeyed && options?.retryOf === undefined) await this.refuseTaken(namespace, jobs);
    return this.next.publish(namespace, jobs, options);
  }

  /** The job with the id may be in either pool, and cannot be replaced in one step. */
  put(): ReturnType<NativeJobs['put']> {
    return Promise.reject(
      new QueueError('pool_moving', 'the pool is being moved: PUT is refused until the move has ended'),
    );
  }

  /** Completes each job in the pool that has it. */
  async complete(namespace: string, completions: readonly Completion[]): Promise<LeaseOperationResult[]> {
    for (const { next } of completions) refuse((next?.dependsOn ?? []).length > 0, 'next.depends_on');
    return this.eachWhereItIs(
      completions,
      (jobs, some) => jobs.complete(namespace, some),
      () => 'not_found',
      (result) => result === 'not_found',
    );
  }

  /** Extends each lease in the pool that has the job. */
  heartbeatMany(
    ...[namespace, leases, ttrMs]: Parameters<NativeJobs['heartbeatMany']>
  ): ReturnType<NativeJobs['heartbeatMany']> {
    return this.eachWhereItIs(
      leases,
      (jobs, some) => jobs.heartbeatMany(namespace, some, ttrMs),
      ({ id }) => ({ id, status: 'not_found', cancelRequested: false }),
      ({ status }) => /* guard: heartbeat-reaches-the-old-pool */ status === 'not_found',
    );
  }

  heartbeat(...args: Parameters<NativeJobs['heartbeat']>): ReturnType<NativeJobs['heartbeat']> {
    return this.whereItIs((jobs) => jobs.heartbeat(...args));
  }

  release(...args: Parameters<NativeJobs['release']>): ReturnType<NativeJobs['release']> {
    return this.whereItIs((jobs) => jobs.release(...args));
  }

  retry(...args: Parameters<NativeJobs['retry']>): ReturnType<NativeJobs['retry']> {
    return this.whereItIs((jobs) => jobs.retry(...args));
  }

  fail(...args: Parameters<NativeJobs['fail']>): ReturnType<NativeJobs['fail']> {
    return this.whereItIs((jobs) => jobs.fail(...args));
  }

  revoke(...args: Parameters<NativeJobs['revoke']>): ReturnType<NativeJobs['revoke']> {
    return this.whereItIs((jobs) => jobs.revoke(...args));
  }

  /** The jobs that depend on it are in the same pool. */
  cancel(...args: Parameters<NativeJobs['cancel']>): ReturnType<NativeJobs['cancel']> {
    return this.whereItIs((jobs) => jobs.cancel(...args));
  }

  /** In one step: all jobs that exist must be in the same pool. */
  async cancelMany(
    ...[namespace, ids, request]: Parameters<NativeJobs['cancelMany']>
  ): ReturnType<NativeJobs['cancelMany']> {
    const inNext = await this.next.placesOf(namespace, ids);
    if (inNext.every((place) => place !== null)) return this.next.cancelMany(namespace, ids, request);
    const inOld = await this.old.placesOf(namespace, ids);
    const isInOld = inOld.some((place) => place !== null);
    refuse(
      /* guard: cancel-many-one-pool */ isInOld && inNext.some((place) => place !== null),
      'a cancel of jobs in both pools',
    );
    return (isInOld ? this.old : this.next).cancelMany(namespace, ids, request);
  }

  remove(...args: Parameters<NativeJobs['remove']>): ReturnType<NativeJobs['remove']> {
    return this.whereItIs((jobs) => jobs.remove(...args));
  }

  log(...args: Parameters<NativeJobs['log']>): ReturnType<NativeJobs['log']> {
    return this.whereItIs((jobs) => jobs.log(...args));
  }

  async change(namespace: string, id: string, change: JobChange): ReturnType<NativeJobs['change']> {
    const { dependsOn = [], moreDependencies = [] } = change;
    refuse(dependsOn.length + moreDependencies.length > 0, 'depends_on');
    return this.whereItIs((jobs) => jobs.change(namespace, id, change));
  }

  async find(namespace: string, id: string): Promise<JobDetails | null> {
    return inEither(
      [this.next, this.old],
      (jobs) => jobs.find(namespace, id),
      (job) => job !== null,
    );
  }

  async placesOf(
    ...[namespace, ids]: Parameters<NativeJobs['placesOf']>
  ): ReturnType<NativeJobs['placesOf']> {
    const placeOf = (id: string): ReturnType<NativeJobs['placesOf']> =>
      inEither(
        [this.next, this.old],
        (jobs) => jobs.placesOf(namespace, [id]),
        ([place = null]) => place !== null,
      );
    return (await Promise.all(ids.map(placeOf))).flat();
  }

  /** The job was published now, or, with the same idempotency key, before the migration started. */
  async waitForEnd(...args: Parameters<NativeJobs['waitForEnd']>): ReturnType<NativeJobs['waitForEnd']> {
    const [namespace, id] = args;
    const isOld = (await this.findOld(namespace, id)) !== null;
    return (isOld ? this.old : this.next).waitForEnd(...args);
  }

  /**
   * Calls the new pool, and then the old one for the jobs that the new one does not have.
   *
   * @param missing the result of a job that is not found
   * @param isMissing true for such a result
   */
  private async eachWhereItIs<T, R>(
    items: readonly T[],
    call: (jobs: NativeJobs, some: readonly T[]) => Promise<R[]>,
    missing: (item: T) => R,
    isMissing: (result: R) => boolean,
  ): Promise<R[]> {
    let failure: unknown;
    const results = await call(this.next, items).catch((error: unknown) => {
      if (!isAway(error)) throw error;
      failure = error;
      return items.map(missing);
    });
    const rest = items.filter((_one, i) => results.slice(i, i + 1).some(isMissing));
    if (rest.length === 0) return results;
    const others = await call(this.old, rest);
    // A job that is not found may be in the pool that does not answer.
    // guard: migrating-unavailable-not-gone
    if (failure !== undefined && others.some(isMissing)) throw failure as Error;
    const answers = others.values();
    return results.map((result) => (isMissing(result) ? (answers.next().value ?? result) : result));
  }

  /** Calls the pool that has the job. @throws {QueueError} `job_not_found`: it is in neither */
  private async whereItIs<T>(call: (jobs: NativeJobs) => Promise<T>): Promise<T> {
    const answer = await inEither<NativeJobs, { readonly found: T } | { readonly missing: QueueError }>(
      [this.next, this.old],
      (jobs) =>
        call(jobs).then(
          (found) => ({ found }),
          (error: unknown) => {
            if (error instanceof QueueError && error.code === 'job_not_found') return { missing: error };
            throw error;
          },
        ),
      /* guard: old-pool-knows-other-jobs */ (one) => 'found' in one,
    );
    if ('missing' in answer) throw answer.missing;
    return answer.found;
  }

  private async refuseTaken(namespace: string, jobs: readonly NewExtendedJob[]): Promise<void> {
    const ids = jobs.flatMap(({ id }) => (id === undefined ? [] : [id]));
    const taken = await Promise.all(ids.map((id) => this.findOld(namespace, id)));
    // guard: native-id-is-free-in-both-pools
    if (taken.some((job) => job !== null)) throw new QueueError('job_exists', 'a job with this id exists');
  }

  /** Finds a job in the old pool. While that pool is unavailable its jobs cannot be checked. */
  private async findOld(namespace: string, id: string): Promise<JobDetails | null> {
    if (!this.oldIsUp()) return null;
    return this.old.find(namespace, id).catch((error: unknown) => {
      if (!isAway(error)) throw error;
      return null;
    });
  }
}

/** @throws {QueueError} `pool_moving` */
function refuse(isRequested: boolean, field: string): void {
  if (isRequested)
    throw new QueueError(
      'pool_moving',
      `the pool is being moved: ${field} is refused until the move has ended`,
    );
}
