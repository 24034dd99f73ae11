import { Inject, Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '../domain/caller.js';
import { QueueError } from '../domain/errors.js';
import type { QueueCounts } from '../domain/job.js';
import type { QueueSettings, SettingsChange } from '../domain/queue-settings.js';
import { matchesPattern } from '../domain/rights.js';
import type { JobState } from '../domain/states.js';
import { EngineRegistry } from '../engine/engine.registry.js';
import type { FullLane } from '../engine/full/full-lane.js';
import type { Purged } from '../engine/full/purging.js';

/** Queues of one look at their counts. */
const MOST_COUNTED = 64;
/** How often a queue that is drained is looked at for who waits, in milliseconds. */
const LOOK_MS = 200;
/** No step of a purge begins later than this, in milliseconds: the caller goes on with another call. */
const PURGE_MS = 5_000;

/** A queue with all that is known of it. */
export interface QueueView extends QueueSettings {
  readonly counts: QueueCounts;
  /** Jobs that are still to end. */
  readonly length: number;
}

/** Queues on behalf of a caller. */
@Injectable()
export class QueuesService {
  constructor(@Inject(EngineRegistry) private readonly engines: EngineRegistry) {}

  /**
   * A page of the queues that a caller may know of, by name.
   *
   * @param after the last name of the page before, '' = from the beginning
   * @returns with the last name of this page, null if there are no more
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
    // What was forgotten meanwhile is no more.
    return { queues: views.filter((view): view is QueueView => view !== null), last };
  }

  /** @throws {QueueError} `queue_not_found`, `pool_moving` */
  async find(caller: Caller, queue: string): Promise<QueueView> {
    const [view] = await this.views(caller, [queue]);
    if (!view) throw new QueueError('queue_not_found', `there is no queue ${queue}`);
    return view;
  }

  change(caller: Caller, queue: string, change: SettingsChange): Promise<void> {
    return this.lane(caller).controls.change(caller.namespace, queue, change);
  }

  pause(caller: Caller, queue: string): Promise<void> {
    return this.lane(caller).controls.pause(caller.namespace, queue);
  }

  resume(caller: Caller, queue: string): Promise<void> {
    return this.lane(caller).controls.resume(caller.namespace, queue);
  }

  forget(caller: Caller, queue: string): Promise<void> {
    return this.lane(caller).controls.forget(caller.namespace, queue);
  }

  /** Drains a queue, and waits up to `waitMs` for it to be empty, for as long as somebody wants to know. */
  async drain(caller: Caller, queue: string, waitMs: number, isWanted: () => boolean): Promise<QueueView> {
    await this.lane(caller).controls.drain(caller.namespace, queue);
    const untilMs = performance.now() + waitMs;
    for (;;) {
      const view = await this.find(caller, queue);
      if (view.length === 0 || performance.now() >= untilMs || !isWanted()) return view;
      await sleep(Math.min(LOOK_MS, Math.max(untilMs - performance.now(), 1)));
    }
  }

  count(caller: Caller, queue: string, states: readonly JobState[]): Promise<Purged> {
    return this.lane(caller).purging.count(caller.namespace, queue, states);
  }

  purge(
    caller: Caller,
    queue: string,
    states: readonly JobState[],
  ): Promise<{ readonly removed: Purged; readonly isComplete: boolean }> {
    return this.lane(caller).purging.purge(caller.namespace, queue, states, PURGE_MS);
  }

  private async views(caller: Caller, queues: readonly string[]): Promise<(QueueView | null)[]> {
    const { namespace, pool } = caller;
    const settings = await this.lane(caller).controls.settings(namespace, queues);
    const counts: QueueCounts[] = [];
    for (let i = 0; i < queues.length; i += MOST_COUNTED) {
      counts.push(...(await this.engines.forPool(pool).counts(namespace, queues.slice(i, i + MOST_COUNTED))));
    }
    return settings.map((one, i) => viewOf(one, counts[i]));
  }

  private lane({ pool }: Caller): FullLane {
    return this.engines.fullLaneOf(pool);
  }
}

function viewOf(settings: QueueSettings | null, counts: QueueCounts | undefined): QueueView | null {
  if (settings === null || counts === undefined) return null;
  const { ready, scheduled, blocked, held, leased } = counts;
  const length = ready + scheduled + blocked + held + leased;
  // A drain is over when the queue is empty; the next publish clears that away.
  const drainingSinceMs = length === 0 ? null : settings.drainingSinceMs;
  return { ...settings, drainingSinceMs, counts, length };
}
