import { QueueError } from '../domain/errors.js';
import type { Completion, JobDetails, NewRichJob, PublishedJob } from '../domain/rich-job.js';
import type { JobChange } from './full/changing.js';
import type { OwnerResult } from './full/owners.js';
import type { FullPublishOptions } from './full/publishing.js';
import { inEither, isAway } from './migrating-wait.js';
import type { NativeJobs } from './native-jobs.js';
import type { OldNotes } from './old-notes.js';

/**
 * Jobs of the native API while their pool moves to another one: new ones go to the new pool, and what is said of a job is said where it
 * is. What would have to be true in both pools in one step is refused with `pool_moving`: unique keys, concurrency keys, dependencies.
 */
export class MigratingNative implements NativeJobs {
  /**
   * @param old the pool that is drained
   * @param next the pool that takes its place
   * @param oldIsUp whether the old one can be asked, as far as is known
   * @param notes what was published in the old one under idempotency keys
   */
  constructor(
    private readonly old: NativeJobs,
    private readonly next: NativeJobs,
    private readonly oldIsUp: () => boolean,
    private readonly notes: OldNotes,
  ) {}

  /** In the new pool. Chosen ids must be free in both; while the old pool is away its jobs cannot be known. */
  async publish(
    namespace: string,
    jobs: readonly NewRichJob[],
    options?: FullPublishOptions,
  ): Promise<readonly PublishedJob[]> {
    const before = await this.notes.jobsOf(namespace, jobs, options);
    if (before) return before;
    for (const job of jobs) {
      refuse(job.unique !== undefined, 'unique');
      refuse(job.concurrencyKey !== undefined, 'concurrency_key');
      refuse((job.dependsOn ?? []).length > 0, 'depends_on');
    }
    const isKeyed = options?.idempotencyKey !== undefined || options?.note !== undefined;
    if (!isKeyed && options?.retryOf === undefined) await this.refuseTaken(namespace, jobs);
    return this.next.publish(namespace, jobs, options);
  }

  /** Each job wherever it is. */
  async complete(namespace: string, completions: readonly Completion[]): Promise<OwnerResult[]> {
    for (const { next } of completions) refuse((next?.dependsOn ?? []).length > 0, 'next.depends_on');
    let failure: unknown;
    const results = await this.next.complete(namespace, completions).catch((error: unknown) => {
      if (!isAway(error)) throw error;
      failure = error;
      return completions.map((): OwnerResult => 'not_found');
    });
    const rest = completions.filter((_one, i) => results[i] === 'not_found');
    if (rest.length === 0) return results;
    const others = await this.old.complete(namespace, rest);
    // It may be in the pool that does not answer.
    if (failure !== undefined && others.includes('not_found')) throw failure as Error;
    const answers = others.values();
    return results.map((result) => (result === 'not_found' ? (answers.next().value ?? result) : result));
  }

  heartbeat(...asked: Parameters<NativeJobs['heartbeat']>): ReturnType<NativeJobs['heartbeat']> {
    return this.whereItIs((jobs) => jobs.heartbeat(...asked));
  }

  release(...asked: Parameters<NativeJobs['release']>): ReturnType<NativeJobs['release']> {
    return this.whereItIs((jobs) => jobs.release(...asked));
  }

  retry(...asked: Parameters<NativeJobs['retry']>): ReturnType<NativeJobs['retry']> {
    return this.whereItIs((jobs) => jobs.retry(...asked));
  }

  fail(...asked: Parameters<NativeJobs['fail']>): ReturnType<NativeJobs['fail']> {
    return this.whereItIs((jobs) => jobs.fail(...asked));
  }

  /** With the jobs that depend on it: they are where it is. */
  cancel(...asked: Parameters<NativeJobs['cancel']>): ReturnType<NativeJobs['cancel']> {
    return this.whereItIs((jobs) => jobs.cancel(...asked));
  }

  log(...asked: Parameters<NativeJobs['log']>): ReturnType<NativeJobs['log']> {
    return this.whereItIs((jobs) => jobs.log(...asked));
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

  /** Of a job that was published now, or, under the same key, before the move began. */
  async waitForEnd(...asked: Parameters<NativeJobs['waitForEnd']>): ReturnType<NativeJobs['waitForEnd']> {
    const [namespace, id] = asked;
    const isOld = (await this.findOld(namespace, id)) !== null;
    return (isOld ? this.old : this.next).waitForEnd(...asked);
  }

  /** @throws {QueueError} `job_not_found`: it is in neither */
  private async whereItIs<T>(ask: (jobs: NativeJobs) => Promise<T>): Promise<T> {
    const answer = await inEither<NativeJobs, { readonly found: T } | { readonly missing: QueueError }>(
      [this.next, this.old],
      (jobs) =>
        ask(jobs).then(
          (found) => ({ found }),
          (error: unknown) => {
            if (error instanceof QueueError && error.code === 'job_not_found') return { missing: error };
            throw error;
          },
        ),
      (one) => 'found' in one,
    );
    if ('missing' in answer) throw answer.missing;
    return answer.found;
  }

  private async refuseTaken(namespace: string, jobs: readonly NewRichJob[]): Promise<void> {
    const ids = jobs.flatMap(({ id }) => (id === undefined ? [] : [id]));
    const taken = await Promise.all(ids.map((id) => this.findOld(namespace, id)));
    if (taken.some((job) => job !== null)) throw new QueueError('job_exists', 'a job with this id exists');
  }

  /** While the old pool is away its jobs cannot be known. */
  private async findOld(namespace: string, id: string): Promise<JobDetails | null> {
    if (!this.oldIsUp()) return null;
    return this.old.find(namespace, id).catch((error: unknown) => {
      if (!isAway(error)) throw error;
      return null;
    });
  }
}

/** @throws {QueueError} `pool_moving` */
function refuse(isAsked: boolean, field: string): void {
  if (isAsked) throw new QueueError('pool_moving', `the pool is moving to another one: ${field} has to wait`);
}
