import type { RedisPool } from '../redis/pool.js';
import type { Durability } from '../domain/durability.js';
import type { UlidMinter } from '../domain/ids.js';
import type { EngineObserver } from './core/observer.js';
import type { ScriptRunner } from './core/scripts.js';
import type { Settings } from './queues/settings.js';
import type { ScheduleWakeup } from './timers/schedule-wakeup.js';
import { EndWatch } from './jobs/end-watch.js';
import { ExtendedQueues } from './queues/extended-queues.js';
import { JobCanceller } from './jobs/job-canceller.js';
import { JobUpdater } from './jobs/job-updater.js';
import type { LeaseDurations } from './settle/lease-durations.js';
import { LeaseOperations } from './settle/lease-operations.js';
import { JobReader } from './jobs/job-reader.js';
import { QueuePurger } from './queues/queue-purger.js';
import { QueueControls } from './queues/queue-controls.js';
import { DeadJobs } from './dead-letter/dead-jobs.js';
import { Lists } from './jobs/lists.js';
import { Tags } from './jobs/tags.js';
import { Targets } from './queues/targets.js';
import { Workers } from './queues/workers.js';
import { ExtendedPublisher } from './publish/extended-publisher.js';
import type { NamespaceQuotas } from './core/quotas.js';
import { Recurrings } from './recurring/recurring.js';
import { Settler } from './settle/settler.js';

/** What the components of the extended path share. */
export interface ExtendedPathOptions {
  readonly pool: RedisPool;
  readonly runner: ScriptRunner;
  /** Runner with the connection path of a durability, or with the pool's own path. */
  readonly runnerOf: (durability?: Durability) => ScriptRunner;
  readonly observer: EngineObserver;
  readonly durations: LeaseDurations;
  /** Makes the pump run when the next job is due. */
  readonly scheduleWakeup: (namespace: string, dueMs: number) => void;
  readonly minter: UlidMinter;
  readonly quotas: NamespaceQuotas;
  /** How long an idempotency key is kept, in milliseconds. */
  readonly idempotencyTtlMs: number;
  /** The queues of a namespace, sorted. */
  readonly queuesOf: (namespace: string) => Promise<string[]>;
  readonly settings: Settings;
}

/**
 * What the simple path does not have: priorities, retry policies, dependencies, limits and the rest of the native API,
 * for the jobs and queues that use them (ADR 0018).
 */
export class ExtendedPath {
  readonly queues = new ExtendedQueues();
  readonly publishing: ExtendedPublisher;
  readonly settling: Settler;
  readonly leaseOperations: LeaseOperations;
  readonly jobReader: JobReader;
  readonly controls: QueueControls;
  readonly queuePurger: QueuePurger;
  readonly jobCanceller: JobCanceller;
  readonly jobUpdater: JobUpdater;
  readonly lists: Lists;
  readonly tags: Tags;
  readonly workers: Workers;
  readonly targets: Targets;
  readonly dead: DeadJobs;
  readonly recurrings: Recurrings;
  readonly endWatch: EndWatch;

  constructor(options: ExtendedPathOptions) {
    const { pool, runner, runnerOf, observer, minter, quotas, idempotencyTtlMs, queuesOf, settings } =
      options;
    const scheduleWakeup: ScheduleWakeup = (namespace, dueMs) => {
      if (dueMs > 0) options.scheduleWakeup(namespace, dueMs);
    };
    this.publishing = new ExtendedPublisher(
      runnerOf,
      observer,
      scheduleWakeup,
      this.queues,
      minter,
      quotas,
      idempotencyTtlMs,
    );
    this.settling = new Settler(runner, scheduleWakeup, quotas);
    this.leaseOperations = new LeaseOperations(
      this.settling,
      observer,
      this.queues,
      options.durations,
      quotas,
    );
    this.jobReader = new JobReader(runner);
    this.queuePurger = new QueuePurger(runner, scheduleWakeup);
    this.controls = new QueueControls(runner, scheduleWakeup, this.queues, quotas);
    this.jobCanceller = new JobCanceller(runner, scheduleWakeup, settings);
    this.jobUpdater = new JobUpdater(runner, scheduleWakeup, this.queues, observer, quotas);
    this.lists = new Lists(runner, queuesOf);
    this.tags = new Tags(pool, runner, quotas);
    this.workers = new Workers(pool, runner, this.leaseOperations, observer, quotas);
    this.targets = new Targets(pool, runner);
    this.dead = new DeadJobs(runner, observer, scheduleWakeup, queuesOf);
    this.recurrings = new Recurrings(runner, scheduleWakeup, quotas);
    this.endWatch = new EndWatch(runner);
  }
}
