import { setTimeout as sleep } from 'node:timers/promises';
import { notFound, QueueError } from '../../domain/errors.js';
import { isQueueName } from '../../domain/ids.js';
import type { QueueCounts } from '../../domain/job/job.js';
import type { QueueSettings, SettingsChange, SomeJobs } from '../../contract/queue-settings.js';
import type { JobState } from '../../domain/job/states.js';
import type { FairKeys } from './fair-keys.js';
import type { Pauser, QueueControls } from './queue-controls.js';
import type { QueueInspector } from './queue-inspector.js';
import type { Purged, QueuePurger } from './queue-purger.js';
import { settingsIn } from './stored-settings.js';
import type { Targets } from './targets.js';
import type { Workers } from './workers.js';

/** Interval between checks of a draining queue while a client waits, in milliseconds. */
const CHECK_MS = 200;
/** Time limit of one purge call, in milliseconds: no step starts later. The caller continues with another call. */
const PURGE_MS = 5_000;

/** Settings of a queue that is not stored. */
const NO_SETTINGS = settingsIn(new Map());

/** A queue with its settings and counts. */
export interface QueueView extends QueueSettings {
  /** False if nothing of it is stored: it has neither jobs nor settings. */
  readonly exists: boolean;
  readonly counts: QueueCounts;
  /** Jobs of workers whose lease ended, and that no worker has leased since. */
  readonly stalled: number;
  /** Recurring jobs that make jobs of the queue. */
  readonly recurring: number;
  /** Worker sessions that are not lost and lease from the queue. */
  readonly workers: number;
  /** Jobs that have not ended yet: all but dead, done and cancelled ones. */
  readonly length: number;
  /** The target that its jobs are pushed to; null = none. */
  readonly pushTarget: string | null;
  /** True if this call has created the queue; undefined if it could not. */
  readonly isCreated?: boolean;
}

/** What a store has of queues: their jobs and settings. */
export interface StoredQueues
  extends
    Pick<QueueInspector, 'names' | 'counts' | 'size' | 'peek' | 'destroy'>,
    Pick<QueueControls, 'settings' | 'change' | 'pause' | 'resume' | 'drain' | 'forget'>,
    Pick<QueuePurger, 'count' | 'purge'>,
    Pick<FairKeys, 'largest'> {}

/** What is shown with a queue. */
export interface ShownWithQueues {
  readonly targets: Pick<Targets, 'push' | 'ofQueues'>;
  readonly sessions: Pick<Workers, 'awaitedQueues' | 'stalledByQueue' | 'sessionsByQueue'>;
  readonly recurring: { countByQueue(namespace: string): Promise<ReadonlyMap<string, number>> };
  readonly stats: {
    /** The number of the present day. */
    today(): number;
    queuesOf(namespace: string, day: number): Promise<string[]>;
  };
}

/** Which page of the queues is wanted. */
export interface QueuesRequest {
  /** The last name of the previous page, '' = from the beginning. */
  readonly after: string;
  readonly limit: number;
  /** Left out: all. */
  readonly isVisible?: (queue: string) => boolean;
}

/** The queues of a pool with counts and settings, as the native API shows and changes them. */
export class Queues {
  readonly names: StoredQueues['names'];
  readonly counts: StoredQueues['counts'];
  readonly size: StoredQueues['size'];
  readonly peek: StoredQueues['peek'];
  readonly destroy: StoredQueues['destroy'];
  /** See `FairKeys.largest`. */
  readonly fairKeys: StoredQueues['largest'];

  constructor(
    readonly stored: StoredQueues,
    private readonly shown: ShownWithQueues,
  ) {
    ({
      names: this.names,
      counts: this.counts,
      size: this.size,
      peek: this.peek,
      destroy: this.destroy,
      largest: this.fairKeys,
    } = stored);
  }

  /**
   * Returns a page of queues, sorted by name: those that exist, those with recurring jobs, those that workers wait for,
   * and those with statistics of today or yesterday.
   *
   * @returns `last`: the last name of this page, null if there are no more
   */
  async list(
    namespace: string,
    { after, limit, isVisible }: QueuesRequest,
  ): Promise<{ readonly queues: QueueView[]; readonly last: string | null }> {
    const all = await this.known(namespace);
    const known = all.filter((name) => name > after && (isVisible === undefined || isVisible(name)));
    const names = known.slice(0, limit);
    const last = known.length > limit ? (names.at(-1) ?? null) : null;
    return { queues: await this.views(namespace, names), last };
  }

  /** A queue, whether it exists or not. */
  async find(namespace: string, queue: string): Promise<QueueView> {
    const [view] = await this.views(namespace, [queue]);
    if (!view) throw new QueueError('internal', 'a queue has no counts');
    return view;
  }

  /**
   * Changes settings; see `QueueControls.change`.
   *
   * @param pushTarget the target that its jobs are pushed to from now on; null = none, undefined = as before
   * @throws {QueueError} `target_not_found`, before anything has changed
   */
  async change(
    namespace: string,
    queue: string,
    change: SettingsChange,
    pushTarget?: string | null,
  ): Promise<QueueView> {
    if (pushTarget !== undefined) await this.shown.targets.push(namespace, queue, pushTarget);
    const isCreated = await this.stored.change(namespace, queue, change);
    return { ...(await this.find(namespace, queue)), isCreated };
  }

  /** @param pauser who pauses it, and why. @param jobs only these */
  async pause(namespace: string, queue: string, pauser?: Pauser, jobs?: SomeJobs): Promise<QueueView> {
    const isCreated = await this.stored.pause(namespace, queue, pauser, jobs);
    return { ...(await this.find(namespace, queue)), isCreated };
  }

  /** @throws {QueueError} `queue_not_found` */
  async resume(namespace: string, queue: string, jobs?: SomeJobs): Promise<QueueView> {
    await this.stored.resume(namespace, queue, jobs);
    return this.find(namespace, queue);
  }

  /** @throws {QueueError} `queue_not_found`, `queue_not_empty` */
  async forget(namespace: string, queue: string): Promise<void> {
    await this.stored.forget(namespace, queue);
    await this.shown.targets.push(namespace, queue, null);
  }

  /**
   * Drains a queue and waits up to `waitMs` for it to be empty; stops waiting when `isWanted` returns false.
   *
   * @throws {QueueError} `queue_not_found`
   */
  async drain(namespace: string, queue: string, waitMs: number, isWanted: () => boolean): Promise<QueueView> {
    await this.stored.drain(namespace, queue);
    const untilMs = performance.now() + waitMs;
    for (;;) {
      const view = await this.find(namespace, queue);
      if (view.length === 0 || performance.now() >= untilMs || !isWanted()) return view;
      await sleep(Math.min(CHECK_MS, Math.max(untilMs - performance.now(), 1)));
    }
  }

  /** Counts what `purge` would remove. @throws {QueueError} `queue_not_found` */
  async count(namespace: string, queue: string, states: readonly JobState[]): Promise<Purged> {
    await this.checkExists(namespace, queue);
    return this.stored.count(namespace, queue, states);
  }

  /** Removes jobs, for about five seconds. @throws {QueueError} `queue_not_found` */
  async purge(
    namespace: string,
    queue: string,
    states: readonly JobState[],
  ): Promise<{ readonly removed: Purged; readonly isComplete: boolean }> {
    await this.checkExists(namespace, queue);
    return this.stored.purge(namespace, queue, states, PURGE_MS);
  }

  private async checkExists(namespace: string, queue: string): Promise<void> {
    const [settings] = await this.stored.settings(namespace, [queue]);
    if (!settings) throw notFound('queue', queue);
  }

  private async known(namespace: string): Promise<string[]> {
    const { sessions, recurring: schedules, stats } = this.shown;
    const today = stats.today();
    const [stored, awaited, recurring, ...busy] = await Promise.all([
      this.names(namespace),
      sessions.awaitedQueues(namespace),
      schedules.countByQueue(namespace),
      stats.queuesOf(namespace, today),
      stats.queuesOf(namespace, /* guard: traffic-of-yesterday-lists-queues */ today - 1),
    ]);
    // Consumers of lmstfy's API may wait for names that no queue can have.
    const legal = awaited.filter(isQueueName);
    return [...new Set([...stored, ...legal, ...recurring.keys(), ...busy.flat()])].sort();
  }

  private async views(namespace: string, queues: readonly string[]): Promise<QueueView[]> {
    const { sessions, recurring: schedules, targets } = this.shown;
    const settings = await this.stored.settings(namespace, queues);
    const counts = await this.counts(namespace, queues);
    const [pushed, stalled, workers, recurring] = await Promise.all([
      targets.ofQueues(namespace, queues),
      sessions.stalledByQueue(namespace),
      sessions.sessionsByQueue(namespace),
      schedules.countByQueue(namespace),
    ]);
    return counts.map((one, i) => ({
      ...viewOf(settings[i] ?? null, one),
      stalled: stalled.get(one.queue) ?? 0,
      recurring: recurring.get(one.queue) ?? 0,
      workers: workers.get(one.queue) ?? 0,
      pushTarget: pushed[i] ?? null,
    }));
  }
}

function viewOf(
  stored: QueueSettings | null,
  counts: QueueCounts,
): Omit<QueueView, 'stalled' | 'recurring' | 'workers' | 'pushTarget'> {
  const settings = stored ?? NO_SETTINGS;
  const { ready, scheduled, blocked, held, leased } = counts;
  const length = ready + scheduled + blocked + held + leased;
  // A drain is over when the queue is empty; the next publish clears the stored time.
  const drainingSinceMs = length === 0 ? null : settings.drainingSinceMs;
  return { ...settings, exists: stored !== null, drainingSinceMs, counts, length };
}
