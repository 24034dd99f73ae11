import type { Durability } from '../../domain/durability.js';
import { QueueError } from '../../domain/errors.js';
import type {
  Ack,
  AckResult,
  DeadLetterHead,
  LeasedJob,
  NewJob,
  IdempotencyRecord,
  PublishOptions,
  QueueCounts,
  LeaseRequest,
  StoredJob,
} from '../../domain/job/job.js';
import type { PeekedJob } from '../core/decode.js';
import { MigratingPurge } from './migrating-purge.js';
import { MigratingNative } from './migrating-native.js';
import { inEither, isAway, MigratingWait } from './migrating-wait.js';
import type { NativeJobs } from '../native-jobs.js';
import { OldIdempotencyRecords } from './old-idempotency-records.js';
import { MigratingRecords } from './migrating-records.js';
import { type MoverOfCalls, NO_MOVER } from './record-mover.js';
import type { ServedRecords } from '../served-records.js';
import type { Queues } from './served-queues.js';
import type { StatisticsReading } from '../stats/statistics.js';
import type { Tally } from '../stats/tally.js';

/**
 * The queues of a pool during its migration: publishes go to the new pool, consumers drain the old one first, and a job
 * is acknowledged in the pool that has it. While the old pool is unavailable, publishing continues and consumers get
 * the jobs of the new one. While the new one is unavailable, consumers still get those of the old one. Everything else
 * needs both.
 */
export class MigratingQueues implements Queues {
  readonly stats: StatisticsReading = {
    read: (namespace, queue, day) => this.readStats(namespace, queue, day),
    stillDead: (namespace, queue, day) => this.stillDead(namespace, queue, day),
    queuesOf: (namespace, day) => this.named((queues) => queues.stats.queuesOf(namespace, day)),
    today: () => this.next.stats.today(),
  };
  /** Purges a namespace in both pools. */
  readonly purge: Queues['purge'];
  /** Settings of the new pool; changes during the migration are also made in the old one, for its remaining jobs. */
  readonly settings: Queues['settings'];
  /** Operations of the native API on single jobs. */
  readonly native: NativeJobs;
  readonly records: ServedRecords;
  private readonly waiting: MigratingWait;
  private readonly oldRecords: OldIdempotencyRecords;
  /** Order in which pools are searched for a job: the new one first, which has most of them after a while. */
  private readonly places: readonly [Queues, Queues];

  /**
   * @param old the pool that is drained
   * @param next the pool that replaces it; it may be migrating too
   * @param mover moves what jobs do not take with them; left out: it stays
   */
  constructor(
    private readonly old: Queues,
    private readonly next: Queues,
    mover: MoverOfCalls = NO_MOVER,
  ) {
    this.places = [next, old];
    this.oldRecords = new OldIdempotencyRecords(old);
    this.native = new MigratingNative(old.native, next.native, () => old.isUp, this.oldRecords);
    this.waiting = new MigratingWait(old, next);
    this.records = new MigratingRecords({
      ...{ old: old.records, next: next.records, mover, native: this.native },
      oldIsUp: () => old.isUp,
    });
    this.purge = new MigratingPurge(old.purge, next.purge, (namespace) => mover.bring(namespace));
    this.settings = {
      defaults: next.settings.defaults,
      chosen: async (namespace) => {
        await mover.bring(namespace);
        return next.settings.chosen(namespace);
      },
      set: async (namespace, key, value) => {
        await next.settings.set(namespace, key, value);
        await old.settings.set(namespace, key, value);
      },
      unset: async (namespace, key) => {
        // The old store first: what is gone there is not copied again.
        const existed = await old.settings.unset(namespace, key);
        return (await next.settings.unset(namespace, key)) || existed;
      },
    };
  }

  /** True if publishing is possible. */
  get isUp(): boolean {
    return this.next.isUp;
  }

  /**
   * Like `QueueEngine.publish`, in the new pool. A given id must be free in both; while the old pool is unavailable its
   * jobs cannot be checked.
   */
  async publish(namespace: string, queue: string, job: NewJob, options?: PublishOptions): Promise<string> {
    const before = await this.oldRecords.idsOf(
      namespace,
      { kind: 'publish', queue, jobs: [job] },
      /* guard: migrating-key-known */ options,
    );
    if (before?.[0] !== undefined) return before[0];
    if (
      job.id !== undefined &&
      options?.idempotencyKey === undefined &&
      options?.idempotencyRecord === undefined
    ) {
      await this.refuseTaken(namespace, queue, job.id);
    }
    return this.next.publish(namespace, queue, job, options);
  }

  /** Like `QueueEngine.publishMany`, in the new pool. */
  async publishMany(
    namespace: string,
    queue: string,
    jobs: readonly NewJob[],
    options?: PublishOptions,
  ): Promise<string[]> {
    const before = await this.oldRecords.idsOf(namespace, { kind: 'publishMany', queue, jobs }, options);
    return (
      /* guard: migrating-key-known-many */ before ?? this.next.publishMany(namespace, queue, jobs, options)
    );
  }

  /**
   * Like `QueueEngine.republish`: atomic if the old job is in the new pool. Otherwise the new job is stored before the
   * old one is removed: for a moment there are both, and never none.
   *
   * @throws {QueueError} `pool_unavailable`, and nothing has changed, if the old pool is known to be unavailable; after
   *   other errors both jobs may exist
   */
  async republish(
    namespace: string,
    queue: string,
    oldId: string,
    job: NewJob,
    options?: PublishOptions,
  ): Promise<string> {
    if (!this.old.isUp) throw new QueueError('pool_unavailable', 'the pool that is drained is not available');
    const request = { kind: 'republish', queue, jobs: [job], replaces: oldId } as const;
    const before = await this.oldRecords.idsOf(namespace, request, options);
    if (before?.[0] !== undefined) return before[0];
    // guard: republish-stores-first
    const id = await this.next.republish(namespace, queue, oldId, job, options);
    await this.old.ack(namespace, queue, oldId);
    return id;
  }

  /** Like `QueueEngine.findIdempotencyRecord`, in either pool. */
  findIdempotencyRecord(
    namespace: string,
    record: IdempotencyRecord,
    durability?: Durability,
  ): Promise<Buffer | null> {
    return inEither(
      this.places,
      (queues) => queues.findIdempotencyRecord(namespace, record, durability),
      (found) => found !== null,
    );
  }

  /** Like `QueueEngine.lease`: tries the old pool first, then the new one; a long poll waits for both. */
  lease(namespace: string, request: LeaseRequest): Promise<LeasedJob[]> {
    return this.waiting.lease(namespace, request);
  }

  /** Like `QueueEngine.undo`, for each job in the pool that leased it. */
  undo(namespace: string, jobs: readonly Pick<LeasedJob, 'id' | 'lease'>[]): Promise<void> {
    return this.waiting.undo(namespace, jobs);
  }

  /** Like `QueueEngine.ack`, in the pool that has the job. */
  async ack(namespace: string, queue: string, id: string, lease = 0): Promise<boolean> {
    return inEither(
      this.places,
      (queues) => queues.ack(namespace, queue, id, lease),
      (isGone) => isGone,
    );
  }

  /** Like `QueueEngine.ackMany`, for each job in the pool that has it. */
  async ackMany(namespace: string, acks: readonly Ack[]): Promise<AckResult[]> {
    const results = await this.next.ackMany(namespace, acks);
    const rest = acks.filter((_ack, i) => results[i] === 'not_found');
    if (rest.length === 0) return results;
    const others = (await this.old.ackMany(namespace, rest)).values();
    return results.map((result) => (result === 'not_found' ? (others.next().value ?? result) : result));
  }

  /** The next job for a consumer: of the old pool if it has any. */
  async peekQueue(namespace: string, queue: string): Promise<StoredJob | null> {
    const head = this.old.isUp ? await this.old.peekQueue(namespace, queue) : null;
    return head ?? this.next.peekQueue(namespace, queue);
  }

  peekJob(namespace: string, queue: string, id: string): Promise<PeekedJob | null> {
    return inEither(
      this.places,
      (queues) => queues.peekJob(namespace, queue, id),
      (job) => job !== null,
    );
  }

  /** Counts the jobs of both pools; the age is that of the oldest ready job of either. */
  async counts(namespace: string, queues: readonly string[]): Promise<QueueCounts[]> {
    const [old, next] = await Promise.all([
      this.old.counts(namespace, queues),
      this.next.counts(namespace, queues),
    ]);
    return next.map((counts, i) => sum(counts, old[i]));
  }

  async size(namespace: string, queue: string): Promise<number> {
    const [counts] = await this.counts(namespace, [queue]);
    return counts?.ready ?? 0;
  }

  /** Removes the ready jobs of both pools. @returns how many */
  async destroy(namespace: string, queue: string): Promise<number> {
    return (await this.old.destroy(namespace, queue)) + (await this.next.destroy(namespace, queue));
  }

  /** The dead-letter head of the old pool if it has dead jobs, else of the new one; the number of dead jobs in both. */
  async deadLetterHead(namespace: string, queue: string): Promise<DeadLetterHead> {
    const [old, next] = await Promise.all([
      this.old.deadLetterHead(namespace, queue),
      this.next.deadLetterHead(namespace, queue),
    ]);
    return { id: old.id ?? next.id, size: old.size + next.size };
  }

  /** Respawns dead jobs in their own pool, those of the old pool first. @returns how many */
  async respawn(namespace: string, queue: string, limit: number, ttlMs: number): Promise<number> {
    const done = await this.old.respawn(namespace, queue, limit, ttlMs);
    return done < limit ? done + (await this.next.respawn(namespace, queue, limit - done, ttlMs)) : done;
  }

  /** Removes dead jobs, those of the old pool first. @returns how many */
  async deleteDead(namespace: string, queue: string, limit: number): Promise<number> {
    const done = await this.old.deleteDead(namespace, queue, limit);
    return done < limit ? done + (await this.next.deleteDead(namespace, queue, limit - done)) : done;
  }

  /** The namespaces of both pools, sorted; without those of an unavailable old pool. */
  namespaces(): Promise<string[]> {
    return this.named((queues) => queues.namespaces());
  }

  /** The queues of a namespace in both pools, sorted; without those of an unavailable old pool. */
  queues(namespace: string): Promise<string[]> {
    return this.named((queues) => queues.queues(namespace));
  }

  async pumpNow(namespace: string): Promise<number> {
    const dues = await Promise.all([this.old.pumpNow(namespace), this.next.pumpNow(namespace)]);
    const known = dues.filter((dueMs) => dueMs > 0);
    return known.length > 0 ? Math.min(...known) : 0;
  }

  async tidyNow(namespace: string): Promise<number> {
    return (await this.old.tidyNow(namespace)) + (await this.next.tidyNow(namespace));
  }

  /** The statistics of both pools together; of the new one alone while the old one is unavailable. */
  private async readStats(namespace: string, queue: string | null, day: number): Promise<Tally> {
    const tally = await this.next.stats.read(namespace, queue, day);
    if (this.old.isUp) tally.merge(await this.old.stats.read(namespace, queue, day));
    return tally;
  }

  private async stillDead(namespace: string, queue: string | null, day: number): Promise<number> {
    const dead = await this.next.stats.stillDead(namespace, queue, day);
    return dead + (this.old.isUp ? await this.old.stats.stillDead(namespace, queue, day) : 0);
  }

  private async refuseTaken(namespace: string, queue: string, id: string): Promise<void> {
    const taken = this.old.isUp
      ? await this.old.peekJob(namespace, queue, id).catch((error: unknown) => {
          if (!isAway(error)) throw error;
          return null;
        })
      : null;
    // guard: id-is-free-in-both-pools
    if (taken !== null) throw new QueueError('job_exists', 'a job with this id exists');
  }

  private async named(list: (queues: Queues) => Promise<string[]>): Promise<string[]> {
    const [old, next] = await Promise.all([this.old.isUp ? list(this.old) : [], list(this.next)]);
    return [...new Set([...old, ...next])].sort();
  }
}

function sum(one: QueueCounts, other: QueueCounts | undefined): QueueCounts {
  if (!other) return one;
  return {
    queue: one.queue,
    ready: one.ready + other.ready,
    scheduled: one.scheduled + other.scheduled,
    leased: one.leased + other.leased,
    dead: one.dead + other.dead,
    blocked: one.blocked + other.blocked,
    stuck: one.stuck + other.stuck,
    held: one.held + other.held,
    done: one.done + other.done,
    cancelled: one.cancelled + other.cancelled,
    oldestReadyAgeMs: Math.max(one.oldestReadyAgeMs, other.oldestReadyAgeMs),
  };
}
