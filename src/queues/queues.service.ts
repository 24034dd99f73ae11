import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '../domain/caller.js';
import { notFound, QueueError } from '../domain/errors.js';
import type { QueueCounts } from '../domain/job.js';
import type { QueueSettings, SettingsChange } from '../domain/queue-settings.js';
import { isQueueName } from '../domain/ids.js';
import { matchesPattern } from '../domain/rights.js';
import type { JobState } from '../domain/states.js';
import { EngineRegistry } from '../engine/migration/engine.registry.js';
import type { ExtendedPath } from '../engine/extended-path.js';
import type { Purged } from '../engine/queues/queue-purger.js';

/** Queues whose counts are read in one call. */
const MOST_COUNTED = 64;
/** Interval between checks of a draining queue while a client waits, in milliseconds. */
const CHECK_MS = 200;
/** Time limit of one purge call, in milliseconds: no step starts later. The caller continues with another call. */
const PURGE_MS = 5_000;

/** Settings of a queue that is not stored. */
const NO_SETTINGS: QueueSettings = {
  maxRunning: null,
  maxRunningPerKey: null,
  rate: null,
  ratePerKey: null,
  defaults: {},
  maxKept: null,
  indexTags: true,
  leaseGraceMs: null,
  expired: 'back',
  pausedAtMs: null,
  drainingSinceMs: null,
};

/** A queue with its settings and counts. */
export interface QueueView extends QueueSettings {
  /** False if nothing of it is stored: it has neither jobs nor settings. */
  readonly exists: boolean;
  readonly counts: QueueCounts;
  /** Jobs of workers whose lease ended, and that no worker has leased since. */
  readonly stalled: number;
  /** Recurring jobs that make jobs of the queue. */
  readonly recurring: number;
  /** Jobs that have not ended yet: all but dead, done and cancelled ones. */
  readonly length: number;
  /** True if this call has created the queue; undefined if it could not. */
  readonly isCreated?: boolean;
}

/** Queues on behalf of a caller. */
@Injectable()
export class QueuesService {
  constructor(private readonly engines: EngineRegistry) {}

  /**
   * Returns a page of the queues that a caller may see, sorted by name: those that exist, those with recurring jobs, those
   * that workers wait for, and those with statistics of today or yesterday.
   *
   * @param after the last name of the previous page, '' = from the beginning
   * @returns `last`: the last name of this page, null if there are no more
   */
  async list(
    caller: Caller,
    after: string,
    limit: number,
  ): Promise<{ readonly queues: QueueView[]; readonly last: string | null }> {
    const patterns = caller.rights?.queues ?? null;
    const known = (await this.names(caller)).filter(
      (name) => name > after && (patterns === null || patterns.some((one) => matchesPattern(one, name))),
    );
    const names = known.slice(0, limit);
    const last = known.length > limit ? (names.at(-1) ?? null) : null;
    return { queues: await this.views(caller, names), last };
  }

  /** A queue, whether it exists or not. @throws {QueueError} `pool_moving` */
  async find(caller: Caller, queue: string): Promise<QueueView> {
    const [view] = await this.views(caller, [queue]);
    if (!view) throw new QueueError('internal', 'a queue has no counts');
    return view;
  }

  async change(caller: Caller, queue: string, change: SettingsChange): Promise<QueueView> {
    const isCreated = await this.extended(caller).controls.change(caller.namespace, queue, change);
    return { ...(await this.find(caller, queue)), isCreated };
  }

  async pause(caller: Caller, queue: string): Promise<QueueView> {
    const isCreated = await this.extended(caller).controls.pause(caller.namespace, queue);
    return { ...(await this.find(caller, queue)), isCreated };
  }

  /** @throws {QueueError} `queue_not_found` */
  async resume(caller: Caller, queue: string): Promise<QueueView> {
    await this.extended(caller).controls.resume(caller.namespace, queue);
    return this.find(caller, queue);
  }

  forget(caller: Caller, queue: string): Promise<void> {
    return this.extended(caller).controls.forget(caller.namespace, queue);
  }

  /**
   * Drains a queue and waits up to `waitMs` for it to be empty; stops waiting when `isWanted` returns false.
   *
   * @throws {QueueError} `queue_not_found`
   */
  async drain(caller: Caller, queue: string, waitMs: number, isWanted: () => boolean): Promise<QueueView> {
    await this.extended(caller).controls.drain(caller.namespace, queue);
    const untilMs = performance.now() + waitMs;
    for (;;) {
      const view = await this.find(caller, queue);
      if (view.length === 0 || performance.now() >= untilMs || !isWanted()) return view;
      await sleep(Math.min(CHECK_MS, Math.max(untilMs - performance.now(), 1)));
    }
  }

  /** @throws {QueueError} `queue_not_found` */
  async count(caller: Caller, queue: string, states: readonly JobState[]): Promise<Purged> {
    await this.checkExists(caller, queue);
    return this.extended(caller).queuePurger.count(caller.namespace, queue, states);
  }

  /** @throws {QueueError} `queue_not_found` */
  async purge(
    caller: Caller,
    queue: string,
    states: readonly JobState[],
  ): Promise<{ readonly removed: Purged; readonly isComplete: boolean }> {
    await this.checkExists(caller, queue);
    return this.extended(caller).queuePurger.purge(caller.namespace, queue, states, PURGE_MS);
  }

  private async checkExists(caller: Caller, queue: string): Promise<void> {
    const [settings] = await this.extended(caller).controls.settings(caller.namespace, [queue]);
    if (!settings) throw notFound('queue', queue);
  }

  private async names(caller: Caller): Promise<string[]> {
    const { namespace, pool } = caller;
    const extended = this.extended(caller);
    const engine = this.engines.forPool(pool);
    const today = engine.stats.today();
    const [stored, awaited, recurring, ...busy] = await Promise.all([
      engine.queues(namespace),
      extended.workers.awaitedQueues(namespace),
      extended.recurrings.countByQueue(namespace),
      engine.stats.queuesOf(namespace, today),
      engine.stats.queuesOf(namespace, today - 1),
    ]);
    // Consumers of lmstfy's API may wait for names that no queue can have.
    const legal = awaited.filter(isQueueName);
    return [...new Set([...stored, ...legal, ...recurring.keys(), ...busy.flat()])].sort();
  }

  private async views(caller: Caller, queues: readonly string[]): Promise<QueueView[]> {
    const { namespace, pool } = caller;
    const { controls, workers, recurrings } = this.extended(caller);
    const settings = await controls.settings(namespace, queues);
    const counts: QueueCounts[] = [];
    for (let i = 0; i < queues.length; i += MOST_COUNTED) {
      counts.push(...(await this.engines.forPool(pool).counts(namespace, queues.slice(i, i + MOST_COUNTED))));
    }
    const [stalled, recurring] = await Promise.all([
      workers.stalledByQueue(namespace),
      recurrings.countByQueue(namespace),
    ]);
    return counts.map((one, i) => ({
      ...viewOf(settings[i] ?? null, one),
      stalled: stalled.get(one.queue) ?? 0,
      recurring: recurring.get(one.queue) ?? 0,
    }));
  }

  private extended({ pool }: Caller): ExtendedPath {
    return this.engines.extendedOf(pool);
  }
}

function viewOf(stored: QueueSettings | null, counts: QueueCounts): Omit<QueueView, 'stalled' | 'recurring'> {
  const settings = stored ?? NO_SETTINGS;
  const { ready, scheduled, blocked, held, leased } = counts;
  const length = ready + scheduled + blocked + held + leased;
  // A drain is over when the queue is empty; the next publish clears the stored time.
  const drainingSinceMs = length === 0 ? null : settings.drainingSinceMs;
  return { ...settings, exists: stored !== null, drainingSinceMs, counts, length };
}
