import type { Quotas } from '../domain/job.js';
import type { RedisPool } from '../redis/pool.js';
import { Acks } from './acks.js';
import { ByteCount } from './byte-count.js';
import { Contents } from './contents.js';
import { DeadLetter } from './dead-letter.js';
import { DeliveryRecords } from './delivery-records.js';
import { EventFeed } from './events/feed.js';
import { EventTeller } from './events/teller.js';
import { FullLane } from './full/full-lane.js';
import { Importer } from './importer.js';
import { Janitor } from './janitor.js';
import { Leases } from './leases.js';
import { silentObserver, type EngineObserver } from './observer.js';
import { Publishers } from './publishers.js';
import { Pump } from './pump.js';
import { Purge } from './purge/purge.js';
import { NO_QUOTAS, quotasText } from './quotas.js';
import { ScriptRunner } from './script-runner.js';
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
  /** About how many events of a namespace are kept meanwhile, 1,000 at least; 10,000 by default. */
  readonly eventsMaxKept?: number;
  /** How long statistics are kept, and of how many queues: `DEFAULT_STATISTICS` by default. */
  readonly stats?: StatisticsOptions;
}

const DAY_MS = 86_400_000;
const EVENTS_KEEP_MS = 15_000;
const EVENTS_MAX_KEPT = 10_000;

export type EngineParts = ReturnType<typeof assemble>;

/** Makes the parts of an engine, and ties those together that need each other. */
export function assemble(pool: RedisPool, options: EngineOptions) {
  const told = options.observer ?? silentObserver;
  const quotas = quotasText(options.quotas);
  const idempotencyTtlMs = options.idempotencyTtlMs ?? DAY_MS;
  const runner = new ScriptRunner(pool, told, options.clock);
  const teller = new EventTeller(pool, told);
  const keepMs = options.eventsKeepMs ?? EVENTS_KEEP_MS;
  const events = new EventFeed(pool, told, teller, keepMs, options.eventsMaxKept ?? EVENTS_MAX_KEPT);
  const kept = options.stats ?? DEFAULT_STATISTICS;
  const stats = new Statistics(pool, runner, told, kept);
  const settings = new Settings(pool, runner, { history_days: kept.historyDays });
  const observer = kept.historyDays > 0 ? new CountingObserver(told, stats) : told;
  const arm = (namespace: string, dueMs: number): void => pump.arm(namespace, dueMs);

  const contents = new Contents(pool, runner, (namespace, queue) => full.purging.destroy(namespace, queue));
  const publishers: Publishers = new Publishers(pool, observer, arm, {
    quotas,
    idempotencyTtlMs,
    clock: options.clock,
    events: teller,
    replaceRich: (namespace, queue, replaces, job, durability) =>
      full.publishing.publish(namespace, [{ queue, ...job }], { replaces, durability }),
  });
  const full: FullLane = new FullLane({
    pool,
    runner,
    runnerOf: (durability) => publishers.runnerOf(durability),
    observer,
    arm,
    minter: publishers.minter,
    quotas,
    idempotencyTtlMs,
    queuesOf: (namespace) => contents.queues(namespace),
    settings,
  });
  const records = new DeliveryRecords(pool, runner, observer, full.settling);
  const leases = new Leases(pool, runner, observer, arm, records, full, teller);
  const acks = new Acks(runner, observer, full.settling, teller, leases.runs);
  const dead = new DeadLetter(runner, observer, full);
  const importer = new Importer(pool, runner);

  const pump = new Pump(pool, runner, observer, records, quotas === NO_QUOTAS ? NO_QUOTAS : `${quotas}1`);
  const janitor = new Janitor(pool, runner, observer);
  const byteCount = new ByteCount(pool, runner, observer, (options.quotas?.bytes ?? 0) > 0);
  const purge = new Purge(pool, runner, {
    queues: (namespace) => contents.queues(namespace),
    counts: (namespace, queues) => contents.counts(namespace, queues),
    endRecurring: (namespace) => full.recurrings.removeAll(namespace),
    delist: (namespace) => janitor.delist(namespace),
    settle: () => stats.flush(),
  });
  return {
    teller,
    events,
    stats,
    settings,
    contents,
    publishers,
    full,
    records,
    leases,
    acks,
    dead,
    importer,
    pump,
    janitor,
    byteCount,
    purge,
  };
}
