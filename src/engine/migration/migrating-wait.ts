import { QueueError } from '../../domain/errors.js';
import type { LeasedJob, LeaseRequest } from '../../domain/job/job.js';
import type { Queues } from './served-queues.js';

type Lease = Pick<LeasedJob, 'id' | 'lease'>;

/** Leases jobs during a pool migration: from both pools, the old one first, and never more than requested. */
export class MigratingWait {
  /** The pool that leased each job, for as long as a caller holds the job in memory. */
  private readonly origins = new WeakMap<Lease, Queues>();

  constructor(
    private readonly old: Queues,
    private readonly next: Queues,
  ) {}

  /** See `MigratingQueues.lease`. */
  async lease(namespace: string, request: LeaseRequest): Promise<LeasedJob[]> {
    const jobs = await this.tryBoth(namespace, request);
    if (jobs.length < request.count) {
      if (jobs.length === 0 && request.waitMs > 0) return this.wait(namespace, request);
      const rest = { ...request, count: request.count - jobs.length, waitMs: 0 };
      jobs.push(
        ...(await this.take(this.next, namespace, rest).catch((error: unknown) => failUnless(jobs, error))),
      );
    }
    return this.deliver(namespace, request, jobs);
  }

  /**
   * See `MigratingQueues.undo`. A lease of unknown origin is undone in both pools: only the one that gave it accepts
   * that.
   */
  async undo(namespace: string, jobs: readonly Lease[]): Promise<void> {
    const of = (queues: Queues): Lease[] =>
      jobs.filter((job) => (this.origins.get(job) ?? queues) === queues);
    const undone = [this.old, this.next].map((queues) => {
      const own = of(queues);
      return own.length > 0 ? queues.undo(namespace, own) : Promise.resolve();
    });
    await Promise.all(undone);
  }

  /** Tries the old pool once. While it is unavailable it counts as empty, so that it never blocks the new one. */
  private async tryBoth(namespace: string, request: LeaseRequest): Promise<LeasedJob[]> {
    // guard: old-pool-is-drained-first
    if (!this.old.isUp) return [];
    return this.take(this.old, namespace, { ...request, waitMs: 0 }).catch((error: unknown) => {
      if (isAway(error)) return [];
      throw error;
    });
  }

  /**
   * Waits on both pools. The first that has a job ends the other wait; if both return jobs, those beyond `count` are
   * given back.
   */
  private async wait(namespace: string, request: LeaseRequest): Promise<LeasedJob[]> {
    const found = new AbortController();
    const signal = request.signal ? AbortSignal.any([request.signal, found.signal]) : found.signal;
    const leaseFrom = async (queues: Queues): Promise<LeasedJob[]> => {
      const jobs = await this.take(queues, namespace, { ...request, signal });
      // guard: migrating-wait-ends-other
      if (jobs.length > 0) found.abort();
      return jobs;
    };
    const [old, next] = await Promise.allSettled([leaseFrom(this.old), leaseFrom(this.next)]);
    const jobs = [...(old.status === 'fulfilled' ? old.value : [])];
    if (next.status === 'fulfilled') jobs.push(...next.value);
    else failUnless(jobs, next.reason);
    if (old.status === 'rejected' && !isAway(old.reason)) failUnless(jobs, old.reason);
    const spare = jobs.splice(/* guard: jobs-of-both-pools-are-bounded */ request.count);
    // guard: migrating-double-find-returns
    if (spare.length > 0) await this.giveBack(namespace, spare);
    return this.deliver(namespace, request, jobs);
  }

  private async take(queues: Queues, namespace: string, request: LeaseRequest): Promise<LeasedJob[]> {
    const jobs = await queues.lease(namespace, request);
    for (const job of jobs) this.origins.set(job, queues);
    return jobs;
  }

  /** Returns the jobs to a consumer that is still connected; otherwise gives them back. */
  private async deliver(
    namespace: string,
    { signal }: LeaseRequest,
    jobs: LeasedJob[],
  ): Promise<LeasedJob[]> {
    if (jobs.length === 0 || signal?.aborted !== true) return jobs;
    await this.giveBack(namespace, jobs);
    return [];
  }

  /** Gives jobs back; if their pool is unavailable they come back when their leases expire. */
  private async giveBack(namespace: string, jobs: readonly LeasedJob[]): Promise<void> {
    await this.undo(namespace, jobs).catch((error: unknown) => {
      if (!isAway(error)) throw error;
    });
  }
}

/** Throws the error only if there are no jobs to deliver. */
function failUnless(jobs: readonly LeasedJob[], error: unknown): [] {
  if (jobs.length > 0) return [];
  throw asError(error);
}

/** Asks one pool, then the other. A result that is found wins over an error of the other pool. */
export async function inEither<P, T>(
  [one, other]: readonly [P, P],
  leaseFrom: (place: P) => Promise<T>,
  isFound: (answer: T) => boolean,
): Promise<T> {
  let failure: unknown;
  const first = await leaseFrom(one).catch((error: unknown) => {
    if (!isAway(error)) throw error;
    failure = error;
    return undefined;
  });
  if (first !== undefined && isFound(first)) return first;
  const second = await leaseFrom(/* guard: second-fetch-is-of-the-other-pool */ other);
  if (!isFound(second) && failure !== undefined) throw asError(failure);
  return second;
}

function asError(failure: unknown): Error {
  return failure instanceof Error ? failure : new Error('the pool failed', { cause: failure });
}

/** True if the error means that a pool cannot be used now. */
export function isAway(error: unknown): boolean {
  return error instanceof QueueError && (error.code === 'pool_unavailable' || error.code === 'disk_full');
}
