import type { LeasedJob, LeaseOfJob, LeaseRequest } from '../../domain/job/job.js';
import type { Engine } from '../engine.js';
import { asError, isAway } from './move-errors.js';

/** The calls of a pool that leasing needs. */
type LeasingPool = Pick<Engine, 'isUp' | 'lease' | 'undo' | 'begin'>;

/** Leases jobs while a pool moves: from both pools, the old one first, and never more than requested. */
export class MovingLease {
  /** The pool that leased each job, for as long as a caller holds the job in memory. */
  private readonly origins = new WeakMap<LeaseOfJob, LeasingPool>();

  constructor(
    private readonly old: LeasingPool,
    private readonly next: LeasingPool,
  ) {}

  /**
   * Tries the old pool first, then the new one; a long poll waits for both. A request that lingers does so in each pool
   * for itself, as the jobs of two pools cannot be leased together.
   */
  async lease(namespace: string, request: LeaseRequest): Promise<LeasedJob[]> {
    if (/* guard: moving-linger-waits-for-both */ request.linger !== undefined)
      return this.wait(namespace, request);
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

  /** Each job in the pool that leased it. If that is not known, in both: only that pool accepts it. */
  async undo(namespace: string, jobs: readonly LeaseOfJob[]): Promise<void> {
    const undone = [this.old, this.next].map((pool) => {
      const own = jobs.filter((job) => (this.origins.get(job) ?? pool) === pool);
      return own.length > 0 ? pool.undo(namespace, own) : Promise.resolve();
    });
    await Promise.all(undone);
  }

  /** In the pool that leased it; it is the same object that `lease` returned. */
  begin(namespace: string, job: LeaseOfJob): Promise<void> {
    return (this.origins.get(job) ?? this.next).begin(namespace, job);
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
    const leaseFrom = async (pool: LeasingPool): Promise<LeasedJob[]> => {
      const jobs = await this.take(pool, namespace, { ...request, signal });
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

  private async take(pool: LeasingPool, namespace: string, request: LeaseRequest): Promise<LeasedJob[]> {
    const jobs = await pool.lease(namespace, request);
    for (const job of jobs) this.origins.set(job, pool);
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

  /** Gives jobs back; if their pool is unavailable, it does so when it is available again. */
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
