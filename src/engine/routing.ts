import type { Durability } from '../domain/durability.js';
import type { NewExtendedJob } from '../domain/extended-job.js';
import type { Ack, LeasedJob, NewJob, ReserveRequest } from '../domain/job.js';
import { DEFAULT_TRIES } from '../domain/limits.js';
import type { ExtendedPath } from './extended-path.js';
import type { Settled } from './settle/settler.js';

/** What is needed to take a lease back. */
type LeaseOfJob = Pick<LeasedJob, 'id' | 'lease'>;

/**
 * Chooses between the simple and the extended path; no other file does. Most calls begin on the simple path, whose
 * scripts are cheaper. A simple script changes nothing of an extended job or queue and reports it with a status; then
 * the methods here repeat the call on the extended path.
 */
export class Routing {
  constructor(private readonly extended: ExtendedPath) {}

  /**
   * True if a lease request must use the extended path at once: it has an extended option, or a queue of it is known to
   * be extended.
   */
  isExtended(namespace: string, { worker, inTurns, queues }: ReserveRequest): boolean {
    return worker !== undefined || inTurns === true || this.extended.queues.hasAny(namespace, queues);
  }

  /** Records that a simple script found one of these queues extended. */
  remember(namespace: string, queues: readonly string[]): void {
    this.extended.queues.add(namespace, queues);
  }

  /** Replaces an extended job by one whose id is given. */
  async replace(
    namespace: string,
    queue: string,
    oldId: string,
    job: NewJob,
    durability: Durability,
  ): Promise<void> {
    await this.extended.publishing.publish(namespace, [{ queue, ...job }], { replaces: oldId, durability });
  }

  /** @returns the outcome of each acknowledgement, in order */
  ack(namespace: string, acks: readonly Ack[]): Promise<Settled[]> {
    return this.extended.settling.settle(
      namespace,
      acks.map(({ queue, id, lease = 0 }) => ({ verb: 'ack', id, lease, options: { queue } })),
    );
  }

  /** Takes back leases whose responses did not arrive. */
  undo(namespace: string, leases: readonly LeaseOfJob[]): Promise<void> {
    return this.extended.settling.undo(namespace, leases);
  }

  /** Removes the ready jobs of a queue. @returns how many */
  destroy(namespace: string, queue: string): Promise<number> {
    return this.extended.queuePurger.destroy(namespace, queue);
  }

  /** Puts up to `limit` dead jobs back, with one try. @returns how many */
  respawn(namespace: string, queue: string, limit: number, ttlMs: number): Promise<number> {
    const { dead } = this.extended;
    return dead.all(limit, (left, cursor) =>
      dead.respawn(namespace, { queue }, { ttlMs, tries: 1 }, left, cursor),
    );
  }

  /** Removes up to `limit` dead jobs. @returns how many */
  deleteDead(namespace: string, queue: string, limit: number): Promise<number> {
    const { dead } = this.extended;
    return dead.all(limit, (left, cursor) => dead.delete(namespace, { queue }, left, cursor));
  }
}

/**
 * Converts the jobs of a native publish to simple ones. Returns null unless each job can be simple and a single simple
 * script can store all of them. Options with their default values do not count.
 */
export function simpleJobsOf(queue: string, jobs: readonly NewExtendedJob[]): NewJob[] | null {
  if (!jobs.every((job) => job.queue === queue && isSimple(job))) return null;
  if (jobs.length > 1 && jobs.some(({ id }) => id !== undefined)) return null;
  return jobs.map(simpleJobOf);
}

function isSimple(job: NewExtendedJob): boolean {
  return (
    job.type === undefined &&
    job.contentType === undefined &&
    job.dueMs === undefined &&
    job.ttrMs === undefined &&
    job.onDependencyFailure === undefined &&
    job.retry === undefined &&
    job.unique === undefined &&
    job.concurrencyKey === undefined &&
    (job.priority ?? 0) === 0 &&
    (job.tags ?? []).length === 0 &&
    (job.dependsOn ?? []).length === 0 &&
    (job.retentionMs ?? 0) === 0 &&
    job.history !== true
  );
}

function simpleJobOf({
  id,
  body,
  delayMs = 0,
  ttlMs = 0,
  tries = DEFAULT_TRIES,
  attributes,
}: NewExtendedJob): NewJob {
  const hasAttributes = attributes !== undefined && Object.keys(attributes).length > 0;
  return {
    ...(id === undefined ? {} : { id }),
    ...(hasAttributes ? { attributes } : {}),
    body,
    delayMs,
    ttlMs,
    tries,
    isNative: true,
  };
}
