import type {
  Ack,
  AckResult,
  DeadLetterHead,
  ImportedJob,
  ImportResult,
  LeasedJob,
  NewJob,
  OnceNote,
  PublishOptions,
  QueueCounts,
  ReserveRequest,
  StoredJob,
} from '../domain/job.js';
import type { Durability } from '../domain/durability.js';
import type { RedisPool } from '../redis/pool.js';
import type { PeekedJob } from './decode.js';
import { assemble, type EngineOptions, type EngineParts } from './assemble.js';
import type { EventFeed } from './events/feed.js';
import type { FullLane } from './full/full-lane.js';
import { decodeId, encodeId } from './ids.js';
import { nativeJobsOf, type NativeJobs } from './native-jobs.js';
import { findNote } from './publish-once.js';
import type { Purge } from './purge/purge.js';
import type { Settings } from './settings/settings.js';
import type { Statistics } from './stats/statistics.js';

export type { EngineOptions } from './assemble.js';

/** The queues of one pool. Knows no HTTP, no configuration and no tokens; see `docs/states.md` for the life of a job. */
export class QueueEngine {
  /** What happens in the namespaces, for whoever listens. */
  readonly events: EventFeed;
  /** The full lane: what the native API asks of jobs and queues beyond what plain ones can. */
  readonly full: FullLane;
  /** What the native API asks of single jobs. */
  readonly native: NativeJobs;
  /** What became of the jobs of a queue on a day. */
  readonly stats: Statistics;
  /** What each namespace has chosen. */
  readonly settings: Settings;
  /** Takes whole namespaces away. */
  readonly purge: Purge;
  private readonly parts: EngineParts;

  constructor(
    private readonly pool: RedisPool,
    options: EngineOptions = {},
  ) {
    this.parts = assemble(pool, options);
    ({
      events: this.events,
      full: this.full,
      stats: this.stats,
      settings: this.settings,
      purge: this.purge,
    } = this.parts);
    this.native = nativeJobsOf(this.full);
  }

  /** Its Redis answers, as far as is known. */
  get isUp(): boolean {
    return this.pool.status.up;
  }

  /** Starts the loops that move what is due and clear away what is over. */
  start(): void {
    const { pump, janitor, byteCount, teller, stats } = this.parts;
    for (const loop of [pump, janitor, byteCount, teller, stats]) loop.start();
  }

  /** Ends waits and loops; resolves when nothing is under way. The pool stays open. */
  async stop(): Promise<void> {
    const { pump, janitor, byteCount, leases, records, stats, events, teller } = this.parts;
    this.endWaits();
    await Promise.all([pump.stop(), janitor.stop(), byteCount.stop(), leases.settled()]);
    await Promise.all([records.stop(), stats.stop()]);
    await Promise.all([events.settled(), teller.stop()]);
  }

  /** Ends every long poll now, with no job, and every listener's stream of events; new ones end at once. */
  endWaits(): void {
    const { leases, events, full } = this.parts;
    leases.stop();
    events.close();
    full.endWatch.stop();
  }

  /**
   * Stores a job; it is ready after `delayMs`.
   *
   * @returns its id; the same again for a request that comes again with its `idempotencyKey`
   * @throws {QueueError} `job_exists`: the id that was given is in use; `idempotency_key_reused`: the key came with another request;
   * `too_many_queues`, `queue_full`, `namespace_full`: a quota; `durability_unavailable`; nothing has changed then. Or the store's own
   * @throws {UnconfirmedError} `not_replicated`, `pool_unavailable`: it may be stored, and is not known to be as durable as asked for
   */
  publish(namespace: string, queue: string, job: NewJob, options?: PublishOptions): Promise<string> {
    const { plain, once } = this.parts.publishers.of(options?.durability);
    const key = options?.note ?? options?.idempotencyKey;
    if (key === undefined) return plain.publish(namespace, queue, job, options?.retryOf);
    return once.publish(namespace, key, { kind: 'publish', queue, jobs: [job] }).then(firstOf);
  }

  /** Stores up to 64 jobs, all or none. @returns their ids in order. @throws as `publish`, `invalid_argument`: too many, or with ids of their own */
  publishMany(
    namespace: string,
    queue: string,
    jobs: readonly NewJob[],
    options?: PublishOptions,
  ): Promise<string[]> {
    const { plain, once } = this.parts.publishers.of(options?.durability);
    const key = options?.note ?? options?.idempotencyKey;
    if (key === undefined) return plain.publishMany(namespace, queue, jobs, options?.retryOf);
    return once.publish(namespace, key, { kind: 'publishMany', queue, jobs });
  }

  /** Stores a job in place of another one of the queue (which need not exist): one step. @returns its id. @throws as `publish` */
  republish(
    namespace: string,
    queue: string,
    oldId: string,
    job: NewJob,
    options?: PublishOptions,
  ): Promise<string> {
    const { plain, once } = this.parts.publishers.of(options?.durability);
    const key = options?.note ?? options?.idempotencyKey;
    if (key === undefined) return plain.republish(namespace, queue, oldId, job, options?.retryOf);
    return once
      .publish(namespace, key, { kind: 'republish', queue, jobs: [job], replaces: oldId })
      .then(firstOf);
  }

  /**
   * What a publish stored under its idempotency key, as it is noted; null if nothing.
   *
   * @throws {QueueError} `idempotency_key_reused`; `not_replicated`, `durability_unavailable`: what is noted is not known to be as durable
   * as asked for; the store's own
   */
  async findNote(namespace: string, note: OnceNote, durability?: Durability): Promise<Buffer | null> {
    const { publishers } = this.parts;
    const found = await findNote(publishers.runnerOf('memory'), namespace, note);
    // Only what was stored has to be safe, and may not have been when it was refused.
    return found && findNote(publishers.runnerOf(durability), namespace, note);
  }

  /**
   * Leases up to `count` jobs, waiting up to `waitMs` for a first one.
   *
   * @returns the jobs, by priority of their queues; [] when there was none
   * @throws {QueueError} the store's own, never later than the command timeout unless the wait is longer
   */
  reserve(namespace: string, request: ReserveRequest): Promise<LeasedJob[]> {
    return this.parts.leases.reserve(namespace, request);
  }

  /**
   * Gives back leases whose answers reached nobody: to the front of the line, the try not spent. What has moved on stays as it is.
   *
   * @throws {QueueError} the store's own; the jobs come back when their leases run out
   */
  undo(namespace: string, jobs: readonly Pick<LeasedJob, 'id' | 'lease' | 'receipt'>[]): Promise<void> {
    return this.parts.leases.undo(namespace, jobs);
  }

  /**
   * Removes a job: its work is done, or it is not wanted any more. Without `lease` whatever its state, as lmstfy does.
   *
   * @returns false if there is no such job in this queue
   * @throws {QueueError} `lease_lost`: `lease` is not the job's present one, nothing has changed
   */
  ack(namespace: string, queue: string, id: string, lease = 0): Promise<boolean> {
    return this.parts.acks.ack(namespace, queue, id, lease);
  }

  /**
   * Acknowledges up to 1,000 jobs, each for itself: one that fails changes nothing, and nothing about the others.
   *
   * @returns what became of each, in order
   * @throws {QueueError} `invalid_argument`, or the store's own: then some may have been acknowledged, and trying all again is safe
   */
  ackMany(namespace: string, acks: readonly Ack[]): Promise<AckResult[]> {
    return this.parts.acks.ackMany(namespace, acks);
  }

  /** The job at the head of the line, null if none is ready. */
  peekQueue(namespace: string, queue: string): Promise<StoredJob | null> {
    return this.parts.contents.peekQueue(namespace, queue);
  }

  /** A job of the queue in whatever state, null if there is none. */
  peekJob(namespace: string, queue: string, id: string): Promise<PeekedJob | null> {
    return this.parts.contents.peekJob(namespace, queue, id);
  }

  /** How many jobs are in which state, for up to 64 queues. */
  counts(namespace: string, queues: readonly string[]): Promise<QueueCounts[]> {
    return this.parts.contents.counts(namespace, queues);
  }

  /** How many jobs are ready. */
  size(namespace: string, queue: string): Promise<number> {
    return this.parts.contents.size(namespace, queue);
  }

  /** Removes the ready jobs that are there now, in bounded steps; scheduled, leased and dead ones stay. @returns how many */
  destroy(namespace: string, queue: string): Promise<number> {
    return this.parts.contents.destroy(namespace, queue);
  }

  /** The job that died first, and how many are dead. */
  deadLetterHead(namespace: string, queue: string): Promise<DeadLetterHead> {
    return this.parts.dead.head(namespace, queue);
  }

  /** Brings up to `limit` dead jobs back, oldest first, with one try and a ttl (0 = for ever). @returns how many */
  respawn(namespace: string, queue: string, limit: number, ttlMs: number): Promise<number> {
    return this.parts.dead.respawn(namespace, queue, limit, ttlMs);
  }

  /** Removes up to `limit` dead jobs, oldest first. @returns how many */
  deleteDead(namespace: string, queue: string, limit: number): Promise<number> {
    return this.parts.dead.delete(namespace, queue, limit);
  }

  /**
   * Stores jobs that come from another store, with their ids and in their states; ready ones go to the end of the line, in the order
   * given. A job comes once by the name of its source, whatever has become of it since; that is remembered for a week.
   *
   * @returns what became of each, in order
   * @throws {QueueError} `invalid_argument`, or the store's own: then some may have come, and importing all again is safe
   */
  importJobs(namespace: string, jobs: readonly ImportedJob[]): Promise<ImportResult[]> {
    return this.parts.importer.import(namespace, jobs);
  }

  /** Forgets which jobs came: their sources hold them no more, so they cannot come again. */
  forgetImported(namespace: string, sources: readonly string[]): Promise<void> {
    return this.parts.importer.forget(namespace, sources);
  }

  /** The namespaces that have queues, sorted. */
  namespaces(): Promise<string[]> {
    return this.parts.contents.namespaces();
  }

  /** The queues of a namespace, sorted. */
  queues(namespace: string): Promise<string[]> {
    return this.parts.contents.queues(namespace);
  }

  /** Moves what is due in a namespace now, without waiting for a timer. @returns when the next is due, Unix ms, 0 = nothing */
  pumpNow(namespace: string): Promise<number> {
    return this.parts.pump.pumpNow(namespace);
  }

  /** Removes what has expired in a namespace and forgets its empty queues now. @returns how many were forgotten */
  tidyNow(namespace: string): Promise<number> {
    return this.parts.janitor.tidyNow(namespace);
  }

  /** Counts jobs for the quota on bytes that were stored while it was not set, in all namespaces, now. @returns how many */
  countBytesNow(): Promise<number> {
    return this.parts.byteCount.countNow();
  }
}

function firstOf([id = '']: string[]): string {
  return id;
}

export { decodeId, encodeId };
