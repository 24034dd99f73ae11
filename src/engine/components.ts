import type { Quotas } from '../domain/job/quotas.js';
import type { RedisPool } from '../redis/pool.js';
import { Acks } from './settle/acks.js';
import { LeaseDurations } from './settle/lease-durations.js';
import { QueueInspector } from './queues/queue-inspector.js';
import { DeadJobs } from './dead-letter/dead-jobs.js';
import { DeadLetter } from './dead-letter/dead-letter.js';
import { DeliveryLogs } from './lease/delivery-logs.js';
import { EventFeed } from './events/feed.js';
import { EventWriter } from './events/writer.js';
import { Importer } from './publish/importer.js';
import { Janitor } from './maintenance/janitor.js';
import { quotaBackfill, recovery } from './maintenance/job-walks.js';
import { EndWatch } from './jobs/end-watch.js';
import { Explainer } from './explain/explainer.js';
import { JobCanceller } from './jobs/job-canceller.js';
import { JobReader } from './jobs/job-reader.js';
import { JobUpdater } from './jobs/job-updater.js';
import { Lists } from './jobs/lists.js';
import { Tags } from './jobs/tags.js';
import { Leases } from './lease/leases.js';
import type { WaitersByQueue } from './lease/long-poll-manager.js';
import { silentObserver, type EngineObserver } from './core/observer.js';
import { ExtendedPublisher } from './publish/extended-publisher.js';
import { PublisherSet } from './publish/publisher-set.js';
import { ExtendedQueues } from './queues/extended-queues.js';
import { RequestedQueues } from './queues/requested-queues.js';
import { FairKeys } from './queues/fair-keys.js';
import { QueueControls } from './queues/queue-controls.js';
import { QueuePurger } from './queues/queue-purger.js';
import { Targets } from './queues/targets.js';
import { Workers } from './queues/workers.js';
import { Recurrings } from './recurring/recurring.js';
import { LeaseOperations } from './settle/lease-operations.js';
import { Settler } from './settle/settler.js';
import type { ScheduleWakeup } from './timers/schedule-wakeup.js';
import { Pump } from './timers/pump.js';
import { MovableRecords } from './moving/movable-records.js';
import { type MovingStore, RecordMover } from './moving/record-mover.js';
import { Purge } from './maintenance/purge.js';
import { OperationRunner } from './operations/operation-runner.js';
import { Operations } from './operations/operations.js';
import { NamespaceQuotas } from './core/quotas.js';
import { ScriptRunner } from './core/scripts.js';
import { Settings } from './queues/settings.js';
import { Variables } from './queues/variables.js';
import { SlotRenewal } from './recurring/slot-renewal.js';
import { CountingObserver } from './stats/counting-observer.js';
import { Activity } from './history/activity.js';
import { DEFAULT_HISTORY, HistoryCollector, type HistoryOptions } from './history/collector.js';
import { History } from './history/history.js';
import { DEFAULT_STATISTICS, Statistics, type StatisticsOptions } from './stats/statistics.js';
import { NodeTimers, type Timers } from './timers/timers.js';

/** Options of an engine. */
export interface EngineOptions {
  /** Receives measurements and errors; silent by default. */
  readonly observer?: EngineObserver;
  /** Clock for tests, Unix ms. Without it the clock of Redis is used. */
  readonly clock?: () => number;
  /** Upper limits of each namespace; none by default. `engine.quotas.replace` gives some namespaces others. */
  readonly quotas?: Partial<Quotas>;
  /** How long an idempotency key is remembered, in milliseconds; a day by default. */
  readonly idempotencyTtlMs?: number;
  /**
   * How long events are still written after the last listener of a namespace has left, in milliseconds; 15 s by
   * default.
   */
  readonly eventsKeepMs?: number;
  /** About how many events of a namespace are kept for that time; at least 1,000; 10,000 by default. */
  readonly eventsMaxKept?: number;
  /** How long statistics are kept, and for how many queues: `DEFAULT_STATISTICS` by default. */
  readonly stats?: StatisticsOptions;
  /** The history of queues, for the console: `DEFAULT_HISTORY` by default; null = none. */
  readonly history?: HistoryOptions | null;
  /**
   * Timer implementation of the loops; plain Node timeouts by default. Engines may share one if their pools have
   * different names.
   */
  readonly timers?: Timers;
}

const DAY_MS = 86_400_000;
const EVENTS_KEEP_MS = 15_000;
const EVENTS_MAX_KEPT = 10_000;

export type EngineComponents = ReturnType<typeof createComponents>;

/** Creates the components of an engine and connects those that need each other. */
export function createComponents(pool: RedisPool, options: EngineOptions) {
  const emitted = options.observer ?? silentObserver;
  const timers = options.timers ?? new NodeTimers();
  const quotas = new NamespaceQuotas(options.quotas);
  const idempotencyTtlMs = options.idempotencyTtlMs ?? DAY_MS;
  const runner = new ScriptRunner(pool, emitted, options.clock);
  const eventWriter = new EventWriter(pool, emitted, timers);
  const keepMs = options.eventsKeepMs ?? EVENTS_KEEP_MS;
  const events = new EventFeed(
    pool,
    emitted,
    timers,
    eventWriter,
    keepMs,
    options.eventsMaxKept ?? EVENTS_MAX_KEPT,
  );
  const kept = options.stats ?? DEFAULT_STATISTICS;
  const stats = new Statistics(pool, runner, emitted, timers, kept);
  const settings = new Settings(pool, runner, { history_days: kept.historyDays });
  const collected = options.history === undefined ? DEFAULT_HISTORY : options.history;
  const activity = new Activity(pool, runner, emitted, timers);
  const counting = {
    statistics: kept.historyDays > 0 ? stats : null,
    activity: collected === null ? null : activity,
  };
  const observer =
    counting.statistics || counting.activity
      ? new CountingObserver(emitted, counting.statistics, counting.activity)
      : emitted;
  const scheduleWakeup = (namespace: string, dueMs: number): void => pump.scheduleWakeup(namespace, dueMs);
  /** Scripts of the extended path answer 0 if nothing becomes due. */
  const scheduleIfDue: ScheduleWakeup = (namespace, dueMs) => {
    if (dueMs > 0) scheduleWakeup(namespace, dueMs);
  };

  const queuePurger = new QueuePurger(runner, scheduleIfDue);
  const queueInspector = new QueueInspector(pool, runner, (namespace, queue) =>
    queuePurger.destroy(namespace, queue),
  );
  const queuesOf = (namespace: string): Promise<string[]> => queueInspector.names(namespace);
  const waiters: WaitersByQueue = new Map();
  const extendedQueues = new ExtendedQueues();
  const publishers: PublisherSet = new PublisherSet(pool, observer, scheduleWakeup, {
    quotas,
    idempotencyTtlMs,
    clock: options.clock,
    events: eventWriter,
    replaceExtended: (namespace, queue, replaces, job, durability) =>
      extendedPublisher.publish(namespace, [{ queue, ...job }], { replaces, durability }),
    rememberExtended: (namespace, queues) => extendedQueues.add(namespace, queues),
    waiters,
    expectJob: (namespace, queue) => leases.expectJob(namespace, queue),
  });
  const extendedPublisher: ExtendedPublisher = new ExtendedPublisher(
    (durability) => publishers.runnerOf(durability),
    observer,
    scheduleIfDue,
    extendedQueues,
    publishers.minter,
    quotas,
    idempotencyTtlMs,
  );
  const durations = new LeaseDurations();
  const settler = new Settler(runner, scheduleIfDue, quotas);
  const leaseOperations = new LeaseOperations(settler, observer, extendedQueues, durations, quotas);
  const jobReader = new JobReader(runner);
  const jobCanceller = new JobCanceller(runner, scheduleIfDue, settings);
  const jobUpdater = new JobUpdater(runner, scheduleIfDue, extendedQueues, observer, quotas);
  const workers = new Workers(pool, runner, leaseOperations, observer, quotas);
  const deadJobs = new DeadJobs(runner, observer, scheduleIfDue, queuesOf, quotas);
  const recurrings = new Recurrings(runner, scheduleIfDue, quotas);
  const records = new DeliveryLogs(pool, runner, observer, settler, timers);
  const requested = new RequestedQueues(runner);
  const leases: Leases = new Leases(
    pool,
    runner,
    observer,
    scheduleWakeup,
    records,
    { queues: extendedQueues, workers, settler, requested },
    eventWriter,
    durations,
    waiters,
  );
  const acks = new Acks(
    runner,
    observer,
    { settler, placesOf: (namespace, ids) => jobReader.placesOf(namespace, ids) },
    eventWriter,
    durations,
  );

  const operationRunner = new OperationRunner(
    pool,
    runner,
    observer,
    quotas,
    queuesOf,
    scheduleIfDue,
    timers,
  );
  const pump = new Pump(
    pool,
    runner,
    observer,
    records,
    (namespace) => quotas.textOf(namespace),
    timers,
    (namespace, id) => recurrings.extend(namespace, id),
    operationRunner,
  );
  const slotRenewal = new SlotRenewal({
    ...{ pool: pool.name, timers, observer, recurrings },
    whenSetBack: pool.clock.whenSetBack,
    namespaces: () => queueInspector.namespaces(),
  });
  const janitor = new Janitor(pool, runner, observer, timers);
  const purge = new Purge(pool, runner, {
    queues: queuesOf,
    counts: (namespace, queues) => queueInspector.counts(namespace, queues),
    endRecurring: (namespace) => recurrings.removeAll(namespace),
    delist: (namespace) => janitor.delist(namespace),
    settle: () => stats.flush(),
  });
  const history = new History(pool);
  const queueControls = new QueueControls(pool, runner, scheduleIfDue, extendedQueues, quotas);
  const collectorParts = {
    history,
    counts: (namespace: string, queues: readonly string[]) => queueInspector.counts(namespace, queues),
    settings: (namespace: string, queues: readonly string[]) => queueControls.settings(namespace, queues),
    namespaces: () => queueInspector.namespaces(),
    queues: queuesOf,
  };
  const movable = new MovableRecords(pool, runner, scheduleWakeup, kept.historyDays);
  return {
    movable,
    moverTo: (old: MovingStore, next: MovingStore) =>
      new RecordMover(old, next, { pool: pool.name, observer, timers }),
    eventWriter,
    events,
    stats,
    settings,
    variables: new Variables(pool, runner),
    queueInspector,
    queuePurger,
    queueControls,
    fairKeys: new FairKeys(runner),
    history,
    /** Null: no history is collected. */
    collecting:
      collected === null
        ? null
        : {
            activity,
            collector: new HistoryCollector(pool, runner, emitted, timers, collectorParts, collected),
          },
    publishers,
    extendedPublisher,
    extendedQueues,
    requested,
    records,
    leases,
    acks,
    settler,
    leaseOperations,
    jobReader,
    jobCanceller,
    jobUpdater,
    lists: new Lists(runner, queuesOf, (namespace) => workers.stalled(namespace)),
    tags: new Tags(pool, runner, quotas),
    endWatch: new EndWatch(runner),
    explainer: new Explainer(runner, requested, pump),
    operationRunner,
    operations: new Operations(pool, runner, operationRunner, settings),
    workers,
    targets: new Targets(pool, runner),
    deadJobs,
    deadLetter: new DeadLetter(runner, observer, deadJobs),
    recurrings,
    importer: new Importer(pool, runner),
    pump,
    janitor,
    quotas,
    quotaBackfill: quotaBackfill(pool, runner, observer, timers, () => quotas.limitsBytes),
    recovery: recovery(pool, runner, observer, timers),
    slotRenewal,
    purge,
  };
}
