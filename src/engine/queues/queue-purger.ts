import { performance } from 'node:perf_hooks';
import { JOB_STATES, type JobState, WALK_ORDER } from '../../domain/job/states.js';
import { counts as countsScript } from '../../redis/scripts/simple.js';
import { purgeState } from '../../redis/scripts/extended.js';
import { integerAt } from '../../redis/scripts/script.js';
import { checkNames } from '../core/checks.js';
import type { ScriptRunner } from '../core/scripts.js';
import type { ScheduleWakeup } from '../timers/schedule-wakeup.js';

/** Maximum number of jobs that one step removes: about 2 ms of Redis. */
const PURGE_STEP = 48;
/** Indexes of the states that lua/commands/simple/count_jobs.lua counts separately. */
const COUNTED: Partial<Record<JobState, number>> = {
  ready: 0,
  scheduled: 1,
  leased: 2,
  dead: 3,
  blocked: 5,
  held: 6,
};
/** How many jobs were removed, or would be, by state. */
export type Purged = Partial<Record<JobState, number>>;

/** Removes jobs of a queue by state. */
export class QueuePurger {
  constructor(
    private readonly runner: ScriptRunner,
    private readonly scheduleWakeup: ScheduleWakeup,
  ) {}

  /** Counts the jobs of the queue in each of the given states. */
  async count(namespace: string, queue: string, states: readonly JobState[]): Promise<Purged> {
    checkNames(namespace, queue);
    const { raw } = await this.runner.run(countsScript, namespace, {}, [[queue]]);
    const found: Purged = {};
    for (const state of new Set(states)) {
      const at = COUNTED[state];
      found[state] =
        at === undefined
          ? await this.walk(namespace, queue, state, Number.POSITIVE_INFINITY)
          : Math.max(integerAt(raw, 2 + at), 0);
    }
    return found;
  }

  /**
   * Removes the jobs of the queue that are in one of the states now, in bounded steps; holders of leases find their
   * jobs deleted. If interrupted, it can be started again: removed jobs stay removed.
   *
   * @param patienceMs no step starts after this time
   * @returns how many of each state were removed
   */
  async purge(
    namespace: string,
    queue: string,
    states: readonly JobState[],
    patienceMs = Number.POSITIVE_INFINITY,
  ): Promise<{ readonly removed: Purged; readonly isComplete: boolean }> {
    const untilMs = performance.now() + patienceMs;
    const there = await this.count(namespace, queue, states);
    const removed: Purged = {};
    // Jobs that were counted in a state, and had left it when the purge came there: scheduled ones that got ready, for example.
    let moved = 0;
    for (const state of WALK_ORDER) {
      const counted = there[state];
      if (counted === undefined) continue;
      const most = counted + moved;
      const matched = await this.walk(namespace, queue, state, most, untilMs);
      removed[state] = matched;
      // guard: purge-follows-states
      moved = most - matched;
    }
    return { removed, isComplete: performance.now() < untilMs };
  }

  /**
   * Implements `QueueInspector.destroy` for an extended queue: also removes jobs held back by a limit of their key.
   * @returns how many
   */
  async destroy(namespace: string, queue: string): Promise<number> {
    const { held = 0, ready = 0 } = (await this.purge(namespace, queue, ['held', 'ready'])).removed;
    return held + ready;
  }

  /**
   * @param most maximum number of jobs: those that arrive meanwhile must not be removed
   * @param untilMs no step starts later, on the clock of `performance.now`; without it, jobs are only counted
   */
  private async walk(
    namespace: string,
    queue: string,
    state: JobState,
    most: number,
    untilMs?: number,
  ): Promise<number> {
    let matched = 0;
    for (let skip = 0; matched < most && (untilMs === undefined || performance.now() < untilMs);) {
      const { raw } = await this.runner.run(purgeState, namespace, {
        queue,
        state: JOB_STATES[state],
        limit: Math.min(PURGE_STEP, most - matched),
        skip,
        removes: untilMs === undefined ? '0' : '1',
      });
      matched += integerAt(raw, 3);
      skip += integerAt(raw, 4);
      this.scheduleWakeup(namespace, integerAt(raw, 5));
      if (integerAt(raw, 2) === 0) break;
    }
    return matched;
  }
}
