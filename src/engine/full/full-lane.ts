import type { RedisPool } from '../../redis/pool.js';
import type { Durability } from '../../domain/durability.js';
import type { UlidMinter } from '../../domain/ulid.js';
import type { EngineObserver } from '../observer.js';
import type { ScriptRunner } from '../script-runner.js';
import type { Settings } from '../settings/settings.js';
import type { Arm } from './arm.js';
import { EndWatch } from './end-watch.js';
import { FullQueues } from './full-queues.js';
import { Cancelling } from './cancelling.js';
import { Changing } from './changing.js';
import { Owners } from './owners.js';
import { Looking } from './looking.js';
import { Purging } from './purging.js';
import { QueueControls } from './queue-controls.js';
import { DeadJobs } from './dead-jobs.js';
import { Lists } from './lists.js';
import { Marks } from './marks.js';
import { Workers } from './workers.js';
import { FullPublishing } from './publishing.js';
import { Recurrings } from './recurring.js';
import { Settling } from './settling.js';

/** What the parts of the full lane share. */
export interface FullLaneSettings {
  readonly pool: RedisPool;
  readonly runner: ScriptRunner;
  /** Reaches the pool by the path of a durability, or by its own. */
  readonly runnerOf: (durability?: Durability) => ScriptRunner;
  readonly observer: EngineObserver;
  /** Has the pump come for what is due. */
  readonly arm: (namespace: string, dueMs: number) => void;
  readonly minter: UlidMinter;
  /** As `quotasText` gives them. */
  readonly quotas: string;
  /** How long an idempotency key is remembered, in milliseconds. */
  readonly idempotencyTtlMs: number;
  /** The queues of a namespace, sorted. */
  readonly queuesOf: (namespace: string) => Promise<string[]>;
  readonly settings: Settings;
}

/**
 * What a plain job cannot: priorities, retries by policy, dependencies, limits and the rest of the native API, for those jobs and queues
 * that ask for it (docs/adr/0018-two-lanes-in-the-store.md).
 */
export class FullLane {
  readonly queues = new FullQueues();
  readonly publishing: FullPublishing;
  readonly settling: Settling;
  readonly owners: Owners;
  readonly looking: Looking;
  readonly controls: QueueControls;
  readonly purging: Purging;
  readonly cancelling: Cancelling;
  readonly changing: Changing;
  readonly lists: Lists;
  readonly marks: Marks;
  readonly workers: Workers;
  readonly dead: DeadJobs;
  readonly recurrings: Recurrings;
  readonly endWatch: EndWatch;

  constructor(parts: FullLaneSettings) {
    const { pool, runner, runnerOf, observer, minter, quotas, idempotencyTtlMs, queuesOf, settings } = parts;
    const arm: Arm = (namespace, dueMs) => {
      if (dueMs > 0) parts.arm(namespace, dueMs);
    };
    this.publishing = new FullPublishing(
      runnerOf,
      observer,
      arm,
      this.queues,
      minter,
      quotas,
      idempotencyTtlMs,
    );
    this.settling = new Settling(runner, arm);
    this.owners = new Owners(this.settling, observer, this.queues);
    this.looking = new Looking(runner);
    this.purging = new Purging(runner, arm);
    this.controls = new QueueControls(runner, arm, this.queues);
    this.cancelling = new Cancelling(runner, arm, settings);
    this.changing = new Changing(runner, arm, this.queues);
    this.lists = new Lists(runner, queuesOf);
    this.marks = new Marks(pool, runner);
    this.workers = new Workers(pool, runner);
    this.dead = new DeadJobs(runner, observer, arm, queuesOf);
    this.recurrings = new Recurrings(runner, arm, minter);
    this.endWatch = new EndWatch(runner);
  }
}
