import { QueueError } from '../domain/errors.js';
import type { LeasedJob, ReserveRequest } from '../domain/job.js';
import type { Queues } from './queues.js';

type Lease = Pick<LeasedJob, 'id' | 'lease'>;

/** Consumers of a pool that moves to another one: served from both, the old one first, and never with one job too many. */
export class MigratingWait {
  /** Where each job was leased that somebody still holds in his hands. */
  private readonly origins = new WeakMap<Lease, Queues>();

  constructor(
    private readonly old: Queues,
    private readonly next: Queues,
  ) {}

  /** See `MigratingQueues.reserve`. */
  async reserve(namespace: string, request: ReserveRequest): Promise<LeasedJob[]> {
    const jobs = await this.look(namespace, request);
    if (jobs.length < request.count) {
      if (jobs.length === 0 && request.waitMs > 0) return this.wait(namespace, request);
      const rest = { ...request, count: request.count - jobs.length, waitMs: 0 };
      jobs.push(
        ...(await this.take(this.next, namespace, rest).catch((error: unknown) => failUnless(jobs, error))),
      );
    }
    return this.deliver(namespace, request, jobs);
  }

  /** See `MigratingQueues.undo`. A lease whose pool is not known is looked for in both: only the one that gave it takes it back. */
  async undo(namespace: string, jobs: readonly Lease[]): Promise<void> {
    const of = (queues: Queues): Lease[] =>
      jobs.filter((job) => (this.origins.get(job) ?? queues) === queues);
    const undone = [this.old, this.next].map((queues) => {
      const own = of(queues);
      return own.length > 0 ? queues.undo(namespace, own) : Promise.resolve();
    });
    await Promise.all(undone);
  }

  /** One look at the old pool. It must keep nobody from the new one: while it is away it counts as empty. */
  private async look(namespace: string, request: ReserveRequest): Promise<LeasedJob[]> {
    if (!this.old.isUp) return [];
    return this.take(this.old, namespace, { ...request, waitMs: 0 }).catch((error: unknown) => {
      if (isAway(error)) return [];
      throw error;
    });
  }

  /** Waits on both. Whichever has a job first ends the other wait; what both brought at one moment is shared out or goes back. */
  private async wait(namespace: string, request: ReserveRequest): Promise<LeasedJob[]> {
    const found = new AbortController();
    const signal = request.signal ? AbortSignal.any([request.signal, found.signal]) : found.signal;
    const ask = async (queues: Queues): Promise<LeasedJob[]> => {
      const jobs = await this.take(queues, namespace, { ...request, signal });
      if (jobs.length > 0) found.abort();
      return jobs;
    };
    const [old, next] = await Promise.allSettled([ask(this.old), ask(this.next)]);
    const jobs = [...(old.status === 'fulfilled' ? old.value : [])];
    if (next.status === 'fulfilled') jobs.push(...next.value);
    else failUnless(jobs, next.reason);
    if (old.status === 'rejected' && !isAway(old.reason)) failUnless(jobs, old.reason);
    const spare = jobs.splice(request.count);
    if (spare.length > 0) await this.giveBack(namespace, spare);
    return this.deliver(namespace, request, jobs);
  }

  private async take(queues: Queues, namespace: string, request: ReserveRequest): Promise<LeasedJob[]> {
    const jobs = await queues.reserve(namespace, request);
    for (const job of jobs) this.origins.set(job, queues);
    return jobs;
  }

  /** For a consumer who is still there. */
  private async deliver(
    namespace: string,
    { signal }: ReserveRequest,
    jobs: LeasedJob[],
  ): Promise<LeasedJob[]> {
    if (jobs.length === 0 || signal?.aborted !== true) return jobs;
    await this.giveBack(namespace, jobs);
    return [];
  }

  /** What cannot be given back now comes back when its lease runs out. */
  private async giveBack(namespace: string, jobs: readonly LeasedJob[]): Promise<void> {
    await this.undo(namespace, jobs).catch((error: unknown) => {
      if (!isAway(error)) throw error;
    });
  }
}

/** A failure counts only for who has nothing in his hands. */
function failUnless(jobs: readonly LeasedJob[], error: unknown): [] {
  if (jobs.length > 0) return [];
  throw asError(error);
}

/** Asks one place, and then the other. What is found counts, whatever became of the other one. */
export async function inEither<P, T>(
  [one, other]: readonly [P, P],
  ask: (place: P) => Promise<T>,
  isFound: (answer: T) => boolean,
): Promise<T> {
  let failure: unknown;
  const first = await ask(one).catch((error: unknown) => {
    if (!isAway(error)) throw error;
    failure = error;
    return undefined;
  });
  if (first !== undefined && isFound(first)) return first;
  const second = await ask(other);
  if (!isFound(second) && failure !== undefined) throw asError(failure);
  return second;
}

function asError(failure: unknown): Error {
  return failure instanceof Error ? failure : new Error('the pool failed', { cause: failure });
}

/** True if an error says that a pool cannot be used now. */
export function isAway(error: unknown): boolean {
  return error instanceof QueueError && (error.code === 'pool_unavailable' || error.code === 'disk_full');
}
