import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '../domain/caller.js';
import { notFound } from '../domain/errors.js';
import type { QueueCounts } from '../domain/job.js';
import type { QueueSettings, SettingsChange } from '../domain/queue-settings.js';
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

/** A queue with its settings and counts. */
export interface QueueView extends QueueSettings {
  readonly counts: QueueCounts;
  /** Jobs that have not ended yet: all but dead and ended ones. */
  readonly length: number;
  /** True if this call has created the queue. */
  readonly isCreated?: boolean;
}

/** Queues on behalf of a caller. */
@Injectable()
export class QueuesService {
  constructor(private readonly engines: EngineRegistry) {}

  /**
   * Returns a page of the queues that a caller may see, sorted by name.
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
    const all = await this.engines.forPool(caller.pool).queues(caller.namespace);
    const known = all.filter(
      (name) => name > after && (patterns === null || patterns.some((one) => matchesPattern(one, name))),
    );
    const names = known.slice(0, limit);
    const views = await this.views(caller, names);
    const last = known.length > limit ? (names.at(-1) ?? null) : null;
    // Leaves out queues that were forgotten in the meantime.
    return { queues: views.filter((view): view is QueueView => view !== null), last };
  }

  /** @throws {QueueError} `queue_not_found`, `pool_moving` */
  async find(caller: Caller, queue: string): Promise<QueueView> {
    const [view] = await this.views(caller, [queue]);
    if (!view) throw notFound('queue', queue);
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

  /** Drains a queue and waits up to `waitMs` for it to be empty; stops waiting when `isWanted` returns false. */
  async drain(caller: Caller, queue: string, waitMs: number, isWanted: () => boolean): Promise<QueueView> {
    const isCreated = await this.extended(caller).controls.drain(caller.namespace, queue);
    const untilMs = performance.now() + waitMs;
    for (;;) {
      const view = { ...(await this.find(caller, queue)), isCreated };
      if (view.length === 0 || performance.now() >= untilMs || !isWanted()) return view;
      await sleep(Math.min(CHECK_MS, Math.max(untilMs - performance.now(), 1)));
    }
  }

  /** @throws {QueueError} `queue_not_found` */
  async count(caller: Caller, queue: string, states: readonly JobState[]): Promise<Purged> {
    await this.find(caller, queue);
    return this.extended(caller).queuePurger.count(caller.namespace, queue, states);
  }

  /** @throws {QueueError} `queue_not_found` */
  async purge(
    caller: Caller,
    queue: string,
    states: readonly JobState[],
  ): Promise<{ readonly removed: Purged; readonly isComplete: boolean }> {
    await this.find(caller, queue);
    return this.extended(caller).queuePurger.purge(caller.namespace, queue, states, PURGE_MS);
  }

  private async views(caller: Caller, queues: readonly string[]): Promise<(QueueView | null)[]> {
    const { namespace, pool } = caller;
    const settings = await this.extended(caller).controls.settings(namespace, queues);
    const counts: QueueCounts[] = [];
    for (let i = 0; i < queues.length; i += MOST_COUNTED) {
      counts.push(...(await this.engines.forPool(pool).counts(namespace, queues.slice(i, i + MOST_COUNTED))));
    }
    return settings.map((one, i) => viewOf(one, counts[i]));
  }

  private extended({ pool }: Caller): ExtendedPath {
    return this.engines.extendedOf(pool);
  }
}

function viewOf(settings: QueueSettings | null, counts: QueueCounts | undefined): QueueView | null {
  if (settings === null || counts === undefined) return null;
  const { ready, scheduled, blocked, held, leased } = counts;
  const length = ready + scheduled + blocked + held + leased;
  // A drain is over when the queue is empty; the next publish clears the stored time.
  const drainingSinceMs = length === 0 ? null : settings.drainingSinceMs;
  return { ...settings, drainingSinceMs, counts, length };
}
