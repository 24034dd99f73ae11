import { performance } from 'node:perf_hooks';
import { JOB_STATES, type JobState } from '../../domain/states.js';
import { counts as countsScript } from '../../redis/scripts/plain.js';
import { fullPurge } from '../../redis/scripts/full.js';
import { integerAt } from '../../redis/scripts/script.js';
import { checkNames } from '../checks.js';
import type { ScriptRunner } from '../script-runner.js';
import type { Arm } from './arm.js';

/** Jobs that one step removes: about 2 ms of Redis. */
const PURGE_STEP = 48;
/** Where lua/scripts/counts.lua has the states that it counts one by one. */
const COUNTED: Partial<Record<JobState, number>> = {
  ready: 0,
  scheduled: 1,
  leased: 2,
  dead: 3,
  blocked: 5,
  held: 6,
};
/** In this order nothing that is called or let go on the way gets away: who holds others up goes after them. */
const ORDER: readonly JobState[] = [
  'scheduled',
  'blocked',
  'held',
  'ready',
  'leased',
  'dead',
  'done',
  'cancelled',
];

/** How many jobs were removed, or would be, by state. */
export type Purged = Partial<Record<JobState, number>>;

/** Removes jobs of a queue by their state. */
export class Purging {
  constructor(
    private readonly runner: ScriptRunner,
    private readonly arm: Arm,
  ) {}

  /** How many jobs of the queue are in each of some states. */
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
   * Removes the jobs of the queue that are in one of the states now, in bounded steps; who has one of them leased finds it gone. Broken
   * off, it can be begun again: what was removed is gone.
   *
   * @param patienceMs no step begins after this time
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
    for (const state of ORDER) {
      const most = there[state];
      if (most !== undefined) removed[state] = await this.walk(namespace, queue, state, most, untilMs);
    }
    return { removed, isComplete: performance.now() < untilMs };
  }

  /** What `QueueEngine.destroy` does to a full queue: those too go that a limit of their key keeps from the line. @returns how many */
  async destroy(namespace: string, queue: string): Promise<number> {
    const { held = 0, ready = 0 } = (await this.purge(namespace, queue, ['held', 'ready'])).removed;
    return held + ready;
  }

  /**
   * @param most jobs that come meanwhile are not among those that were there at first
   * @param untilMs no step begins later, on the clock of `performance.now`; left out, it only looks
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
      const { raw } = await this.runner.run(fullPurge, namespace, {
        queue,
        state: JOB_STATES[state],
        limit: Math.min(PURGE_STEP, most - matched),
        skip,
        removes: untilMs === undefined ? '0' : '1',
      });
      matched += integerAt(raw, 3);
      skip += integerAt(raw, 4);
      this.arm(namespace, integerAt(raw, 5));
      if (integerAt(raw, 2) === 0) break;
    }
    return matched;
  }
}
