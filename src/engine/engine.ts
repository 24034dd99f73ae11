import { QueueError } from '../domain/errors.js';
import type {
  Ack,
  AckResult,
  DeadLetterHead,
  ImportedJob,
  ImportResult,
  LeasedJob,
  NewJob,
  PublishOptions,
  QueueCounts,
  Quotas,
  ReserveRequest,
  StoredJob,
} from '../domain/job.js';
import type { RedisPool } from '../redis/pool.js';
import { bytesAt, integerAt } from '../redis/script.js';
import * as scripts from '../redis/scripts.js';
import { decodeJob, type PeekedJob } from './decode.js';
import { DeadLetter } from './dead-letter.js';
import { EventFeed } from './events/feed.js';
import { EventTeller } from './events/teller.js';
import { DeliveryRecords } from './delivery-records.js';
import { decodeId, encodeId, mintedAtMs } from './ids.js';
import { Importer } from './importer.js';
import { Janitor } from './janitor.js';
import { Acks } from './acks.js';
import { Leases } from './leases.js';
import { silentObserver, type EngineObserver } from './observer.js';
import { ByteCount } from './byte-count.js';
import { Publishers } from './publishers.js';
import type { Durability } from '../domain/durability.js';
import { FullLane } from './full/full-lane.js';
import { NO_QUOTAS, quotasText } from './quotas.js';
import { Pump } from './pump.js';
import { ScriptRunner } from './script-runner.js';
import { Purge } from './purge/purge.js';
import { Settings } from './settings/settings.js';
import { CountingObserver } from './stats/counting-observer.js';
import { DEFAULT_STATISTICS, Statistics, type StatisticsOptions } from './stats/statistics.js';

/** What may be chosen about an engine. */
export interface EngineOptions {
  /** Hears what happens; silent by default. */
  readonly observer?: EngineObserver;
  /** A test's clock, Unix ms. Without it Redis's own clock counts. */
  readonly clock?: () => number;
  /** What a namespace may hold at most; anything by default. The same for all engines of a pool. */
  readonly quotas?: Quotas;
  /** How long an idempotency key is remembered, in milliseconds; a day by default. */
  readonly idempotencyTtlMs?: number;
  /** How long events are written after the last listener of a namespace has gone, in milliseconds; 15 s by default. */
  readonly eventsKeepMs?: number;
  /** How long statistics are kept, and of how many queues: `DEFAULT_STATISTICS` by default. */
  readonly stats?: StatisticsOptions;
}

const DAY_MS = 86_400_000;
const EVENTS_KEEP_MS = 15_000;

/** What lua/scripts/counts.lua answers for each queue. */
const COUNTS_PER_QUEUE = 9;

/** With this status lua/scripts/destroy.lua leaves a full queue alone. */
const FULL_QUEUE = 3;
/** Entries that one step of destroy looks at. */
const DESTROY_STEP = 500;

/** The queues of one pool. Knows no HTTP, no configuration and no tokens; see `docs/states.md` for the life of a job. */
export class QueueEngine {
  /** What happens in the namespaces, for whoever listens. */
  readonly events: EventFeed;
  private readonly teller: EventTeller;
  /** The full lane: what the native API asks of jobs and queues beyond what plain ones can. */
  readonly full: FullLane;
  /** What became of the jobs of a queue on a day. */
  readonly stats: Statistics;
  /** What each namespace has chosen. */
  readonly settings: Settings;
  /** Takes whole namespaces away. */
  readonly purge: Purge;
  private readonly runner: ScriptRunner;
  private readonly records: DeliveryRecords;
  private readonly publishers: Publishers;
  private readonly leases: Leases;
  private readonly acks: Acks;
  private readonly dead: DeadLetter;
  private readonly importer: Importer;
  private readonly pump: Pump;
  private readonly janitor: Janitor;
  private readonly byteCount: ByteCount;

  constructor(
    private readonly pool: RedisPool,
    options: EngineOptions = {},
  ) {
    const told = options.observer ?? silentObserver;
    this.teller = new EventTeller(pool, told);
    this.events = new EventFeed(pool, told, this.teller, options.eventsKeepMs ?? EVENTS_KEEP_MS);
    this.runner = new ScriptRunner(pool, told, options.clock);
    const stats = options.stats ?? DEFAULT_STATISTICS;
    this.stats = new Statistics(pool, this.runner, told, stats);
    this.settings = new Settings(pool, this.runner, { history_days: stats.historyDays });
    const observer = stats.historyDays > 0 ? new CountingObserver(told, this.stats) : told;
    const arm = (namespace: string, dueMs: number): void => this.pump.arm(namespace, dueMs);
    const quotas = quotasText(options.quotas);
    const idempotencyTtlMs = options.idempotencyTtlMs ?? DAY_MS;
    this.publishers = new Publishers(pool, observer, arm, {
      quotas,
      idempotencyTtlMs,
      clock: options.clock,
      events: this.teller,
      replaceRich: (namespace, queue, replaces, job, durability) =>
        this.full.publishing.publish(namespace, [{ queue, ...job }], { replaces, durability }),
    });
    const { minter } = this.publishers;
    const runnerOf = (durability?: Durability): ScriptRunner => this.publishers.runnerOf(durability);
    const queuesOf = (namespace: string): Promise<string[]> => this.queues(namespace);
    const { runner, settings } = this;
    this.full = new FullLane({ pool, runner, runnerOf, observer, arm, minter, quotas, queuesOf, settings });
    this.records = new DeliveryRecords(pool, this.runner, observer, this.full.settling);
    this.pump = new Pump(
      pool,
      this.runner,
      observer,
      this.records,
      quotas === NO_QUOTAS ? NO_QUOTAS : `${quotas}1`,
    );
    this.janitor = new Janitor(pool, this.runner, observer);
    this.byteCount = new ByteCount(pool, this.runner, observer, (options.quotas?.bytes ?? 0) > 0);
    this.leases = new Leases(pool, this.runner, observer, arm, this.records, this.full, this.teller);
    this.acks = new Acks(this.runner, observer, this.full.settling, this.teller, this.leases.runs);
    this.dead = new DeadLetter(this.runner, observer, this.full);
    this.importer = new Importer(pool, this.runner);
    this.purge = new Purge(pool, this.runner, {
      queues: (namespace) => this.queues(namespace),
      counts: (namespace, queues) => this.counts(namespace, queues),
      endRecurring: (namespace) => this.full.recurrings.removeAll(namespace),
      delist: (namespace) => this.janitor.delist(namespace),
      settle: () => this.stats.flush(),
    });
  }

  /** Its Redis answers, as far as is known. */
  get isUp(): boolean {
    return this.pool.status.up;
  }

  /** Starts the loops that move what is due and clear away what is over. */
  start(): void {
    this.pump.start();
    this.janitor.start();
    this.byteCount.start();
    this.teller.start();
    this.stats.start();
  }

  /** Ends waits and loops; resolves when nothing is under way. The pool stays open. */
  async stop(): Promise<void> {
    this.leases.stop();
    this.events.close();
    this.full.endWatch.stop();
    await Promise.all([this.pump.stop(), this.janitor.stop(), this.byteCount.stop(), this.leases.settled()]);
    await Promise.all([this.records.stop(), this.stats.stop()]);
    await Promise.all([this.events.settled(), this.teller.stop()]);
  }

  /** Ends every long poll now, with no job, and every listener's stream of events; new ones end at once. */
  endWaits(): void {
    this.leases.stop();
    this.events.close();
    this.full.endWatch.stop();
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
    const { plain, once } = this.publishers.of(options?.durability);
    const key = options?.idempotencyKey;
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
    const { plain, once } = this.publishers.of(options?.durability);
    const key = options?.idempotencyKey;
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
    const { plain, once } = this.publishers.of(options?.durability);
    const key = options?.idempotencyKey;
    if (key === undefined) return plain.republish(namespace, queue, oldId, job, options?.retryOf);
    return once
      .publish(namespace, key, { kind: 'republish', queue, jobs: [job], replaces: oldId })
      .then(firstOf);
  }

  /**
   * Leases up to `count` jobs, waiting up to `waitMs` for a first one.
   *
   * @returns the jobs, by priority of their queues; [] when there was none
   * @throws {QueueError} the store's own, never later than the command timeout unless the wait is longer
   */
  reserve(namespace: string, request: ReserveRequest): Promise<LeasedJob[]> {
    return this.leases.reserve(namespace, request);
  }

  /**
   * Gives back leases whose answers reached nobody: to the front of the line, the try not spent. What has moved on stays as it is.
   *
   * @throws {QueueError} the store's own; the jobs come back when their leases run out
   */
  undo(namespace: string, jobs: readonly Pick<LeasedJob, 'id' | 'lease' | 'receipt'>[]): Promise<void> {
    return this.leases.undo(namespace, jobs);
  }

  /**
   * Removes a job: its work is done, or it is not wanted any more. Without `lease` whatever its state, as lmstfy does.
   *
   * @returns false if there is no such job in this queue
   * @throws {QueueError} `lease_lost`: `lease` is not the job's present one, nothing has changed
   */
  ack(namespace: string, queue: string, id: string, lease = 0): Promise<boolean> {
    return this.acks.ack(namespace, queue, id, lease);
  }

  /**
   * Acknowledges up to 1,000 jobs, each for itself: one that fails changes nothing, and nothing about the others.
   *
   * @returns what became of each, in order
   * @throws {QueueError} `invalid_argument`, or the store's own: then some may have been acknowledged, and trying all again is safe
   */
  ackMany(namespace: string, acks: readonly Ack[]): Promise<AckResult[]> {
    return this.acks.ackMany(namespace, acks);
  }

  /** The job at the head of the line, null if none is ready. */
  async peekQueue(namespace: string, queue: string): Promise<StoredJob | null> {
    for (let skip = 0; ;) {
      const { raw, nowMs } = await this.runner.run(scripts.peekQueue, namespace, { queue, skip });
      const looked = integerAt(raw, 2);
      const id = bytesAt(raw, 3);
      if (id.length > 0) return decodeJob(queue, id, bytesAt(raw, 4), bytesAt(raw, 5), nowMs);
      if (looked === 0) return null;
      skip += looked;
    }
  }

  /** A job of the queue in whatever state, null if there is none. */
  async peekJob(namespace: string, queue: string, id: string): Promise<PeekedJob | null> {
    const encoded = encodeId(id);
    if (!encoded) return null;
    const { raw, nowMs } = await this.runner.run(scripts.peekJob, namespace, { queue, id: encoded });
    const value = bytesAt(raw, 2);
    return value.length === 0 ? null : decodeJob(queue, encoded, value, bytesAt(raw, 3), nowMs);
  }

  /** How many jobs are in which state, for up to 64 queues. */
  async counts(namespace: string, queues: readonly string[]): Promise<QueueCounts[]> {
    const items = queues.map((queue) => [queue]);
    const { raw, nowMs } = await this.runner.run(scripts.counts, namespace, {}, items);
    return queues.map((queue, i) => {
      const at = 2 + i * COUNTS_PER_QUEUE;
      const head = bytesAt(raw, at + 4);
      const minted = head.length > 0 ? mintedAtMs(head) : 0;
      return {
        queue,
        ready: Math.max(integerAt(raw, at), 0),
        scheduled: integerAt(raw, at + 1),
        leased: integerAt(raw, at + 2),
        dead: integerAt(raw, at + 3),
        blocked: integerAt(raw, at + 5),
        held: integerAt(raw, at + 6),
        ended: integerAt(raw, at + 7),
        stuck: integerAt(raw, at + 8),
        oldestReadyAgeMs: minted === 0 ? 0 : Math.max(nowMs - minted, 0),
      };
    });
  }

  /** How many jobs are ready. */
  async size(namespace: string, queue: string): Promise<number> {
    const [counts] = await this.counts(namespace, [queue]);
    return counts?.ready ?? 0;
  }

  /** Removes the ready jobs that are there now, in bounded steps; scheduled, leased and dead ones stay. @returns how many */
  async destroy(namespace: string, queue: string): Promise<number> {
    let removed = 0;
    let left = Number.POSITIVE_INFINITY;
    for (;;) {
      const limit = Math.min(DESTROY_STEP, left);
      const { raw, status } = await this.runner.run(scripts.destroy, namespace, { queue, limit });
      if (status === FULL_QUEUE) return this.full.purging.destroy(namespace, queue);
      removed += integerAt(raw, 3);
      // Jobs that are published meanwhile are not among those that were there at the first step.
      left = Math.min(left - integerAt(raw, 2), integerAt(raw, 4));
      if (left <= 0 || integerAt(raw, 2) === 0) return removed;
    }
  }

  /** The job that died first, and how many are dead. */
  deadLetterHead(namespace: string, queue: string): Promise<DeadLetterHead> {
    return this.dead.head(namespace, queue);
  }

  /** Brings up to `limit` dead jobs back, oldest first, with one try and a ttl (0 = for ever). @returns how many */
  respawn(namespace: string, queue: string, limit: number, ttlMs: number): Promise<number> {
    return this.dead.respawn(namespace, queue, limit, ttlMs);
  }

  /** Removes up to `limit` dead jobs, oldest first. @returns how many */
  deleteDead(namespace: string, queue: string, limit: number): Promise<number> {
    return this.dead.delete(namespace, queue, limit);
  }

  /**
   * Stores jobs that come from another store, with their ids and in their states; ready ones go to the end of the line, in the order
   * given. A job comes once by the name of its source, whatever has become of it since; that is remembered for a week.
   *
   * @returns what became of each, in order
   * @throws {QueueError} `invalid_argument`, or the store's own: then some may have come, and importing all again is safe
   */
  importJobs(namespace: string, jobs: readonly ImportedJob[]): Promise<ImportResult[]> {
    return this.importer.import(namespace, jobs);
  }

  /** Forgets which jobs came: their sources hold them no more, so they cannot come again. */
  forgetImported(namespace: string, sources: readonly string[]): Promise<void> {
    return this.importer.forget(namespace, sources);
  }

  /** The namespaces that have queues, sorted. */
  async namespaces(): Promise<string[]> {
    return toStrings(await this.pool.read('SMEMBERS', this.pool.keys.namespaces)).sort();
  }

  /** The queues of a namespace, sorted. */
  async queues(namespace: string): Promise<string[]> {
    const key = this.pool.keys.namespace(namespace).queues;
    const found = new Set<string>();
    let cursor = '0';
    do {
      const page: unknown = await this.pool.read('HSCAN', key, cursor, 'COUNT', 500);
      if (!Array.isArray(page)) throw new QueueError('internal', 'HSCAN has no answer');
      cursor = String(page[0]);
      toStrings(page[1]).forEach((field, i) => i % 2 === 0 && found.add(field));
    } while (cursor !== '0');
    return [...found].sort();
  }

  /** Moves what is due in a namespace now, without waiting for a timer. @returns when the next is due, Unix ms, 0 = nothing */
  pumpNow(namespace: string): Promise<number> {
    return this.pump.pumpNow(namespace);
  }

  /** Removes what has expired in a namespace and forgets its empty queues now. @returns how many were forgotten */
  tidyNow(namespace: string): Promise<number> {
    return this.janitor.tidyNow(namespace);
  }

  /** Counts jobs for the quota on bytes that were stored while it was not set, in all namespaces, now. @returns how many */
  countBytesNow(): Promise<number> {
    return this.byteCount.countNow();
  }
}

function firstOf([id = '']: string[]): string {
  return id;
}

function toStrings(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

export { decodeId, encodeId };
