import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisPool } from '../../redis/pool.js';
import { bytesAt, integerAt } from '../../redis/scripts/script.js';
import { recount, sweep, tidy, unregister } from '../../redis/scripts/simple.js';
import { Loop } from '../timers/loop.js';
import type { EngineObserver } from '../core/observer.js';
import type { ScriptRunner } from '../core/scripts.js';
import type { Timers } from '../timers/timers.js';

/**
 * Pause between rounds, and the minimum time between two rounds over a namespace by all servers together, in
 * milliseconds.
 */
const ROUND_MS = 20_000;
const TIDY_EVERY_MS = 15_000;
/**
 * A namespace without expired data is checked in one of this many rounds: empty queues must be removed within a minute.
 */
const CHECK_EVERY = 2;
/**
 * Namespaces that are tidied at once: one at a time would wake two idle processes for each. They share the time of
 * Redis.
 */
const AT_ONCE = 4;
/** A sweep this old was left by a dead server, in milliseconds. */
const STALLED_MS = 120_000;
/** Pause before the list entry of a namespace is checked again after an error, in milliseconds. */
const RELIST_MS = 500;
/** Reply of lua/commands/maintenance/tidy.lua for a namespace without its marker. */
const NO_NAMESPACE = -1;
/** Passes over ready lists are identified by a random number below this. */
const MAX_MARK = 1_000_000_000;
/** Entries that lua/commands/maintenance/sweep.lua checks in one call. */
const WINDOW = 200;

/** Removes expired data, and empty queues and namespaces. May run on all servers at once. */
export class Janitor {
  readonly loop: Loop;
  private readonly halt = new AbortController();
  private rounds = 0;
  /** Namespaces found without their marker in the last round. */
  private unmarked = new Set<string>();

  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
    private readonly observer: EngineObserver,
    timers: Timers,
  ) {
    this.loop = new Loop({
      ...{ name: 'janitor', pool: pool.name, timers, observer },
      run: () => this.round(),
      pauseMs: randomPauseMs,
    });
  }

  start(): void {
    this.loop.schedule(randomPauseMs());
  }

  async stop(): Promise<void> {
    this.halt.abort();
    await this.loop.stop();
  }

  /** Runs one round over one namespace. @returns how many queues were removed */
  async tidyNow(namespace: string, everyMs = 0): Promise<number> {
    return (await this.tidy(namespace, everyMs)).forgotten;
  }

  private async tidy(namespace: string, everyMs: number): Promise<{ forgotten: number; expired: number }> {
    let cursor = '0';
    let [forgotten, expired] = [0, 0];
    do {
      const args = { cursor, every_ms: everyMs, stalled_ms: STALLED_MS };
      const { raw } = await this.runner.run(tidy, namespace, args);
      cursor = bytesAt(raw, 2).toString();
      const queuesLeft = integerAt(raw, 3);
      forgotten += integerAt(raw, 4);
      for (let i = 5; i < raw.length; i++) expired += await this.sweepQueue(namespace, integerAt(raw, i));
      if (cursor === '0' && (queuesLeft === 0 || queuesLeft === NO_NAMESPACE)) {
        await this.forgetNamespace(namespace, queuesLeft === NO_NAMESPACE);
      }
    } while (cursor !== '0' && !this.halt.signal.aborted);
    return { forgotten, expired };
  }

  /** @returns how many jobs and queues were removed */
  private async round(): Promise<number> {
    const members = await this.pool.read('SMEMBERS', this.pool.keys.namespaces);
    const namespaces = Array.isArray(members) ? members.map(String) : [];
    const { keys, clock } = this.pool;
    const expiries = await this.pool.heads(namespaces.map((namespace) => keys.namespace(namespace).expiries));
    this.rounds++;
    const wanted = namespaces.filter((_, i) => {
      const hasExpired = (expiries[i] ?? 0) <= clock.now();
      return hasExpired || (i + this.rounds) % CHECK_EVERY === 0;
    });
    let removed = 0;
    for (let i = 0; i < wanted.length && !this.halt.signal.aborted; i += AT_ONCE) {
      const some = wanted.slice(i, i + AT_ONCE);
      for (const one of await Promise.all(some.map((namespace) => this.tidyQuietly(namespace))))
        removed += one;
    }
    return removed;
  }

  /** Tidies a namespace; a failure must not stop the round over the others. */
  private async tidyQuietly(namespace: string): Promise<number> {
    try {
      const { forgotten, expired } = await this.tidy(namespace, TIDY_EVERY_MS);
      return forgotten + expired;
    } catch (error) {
      this.loop.fail(error);
      return 0;
    }
  }

  /** Sweeps a queue's ready list once, window by window. @returns how many jobs had expired */
  private async sweepQueue(namespace: string, number: number): Promise<number> {
    let skip = 0;
    let earliestMs = 0;
    let expired = 0;
    const mark = String(randomInt(MAX_MARK));
    for (let looked = WINDOW; looked === WINDOW && !this.halt.signal.aborted;) {
      const { raw } = await this.runner.run(sweep, namespace, {
        number,
        skip,
        earliest_ms: earliestMs,
        mark,
      });
      looked = integerAt(raw, 2);
      expired += integerAt(raw, 3);
      earliestMs = integerAt(raw, 4);
      skip += looked - integerAt(raw, 5);
    }
    if (expired > 0) this.observer.expired(namespace, expired);
    await this.recount(namespace, number);
    return expired;
  }

  /** Recounts the stale entries of a queue: those left in the set after a sweep are new, or are not in the list. */
  private async recount(namespace: string, number: number): Promise<void> {
    for (let removed = 1; removed > 0 && !this.halt.signal.aborted;)
      removed = integerAt((await this.runner.run(recount, namespace, { number })).raw, 2);
  }

  /**
   * Removes the marker, then the list entry; then checks the marker again, because a publish may have set it in
   * between. A namespace without a marker is being registered, or its removal was interrupted: it is only removed if
   * the next round finds it so again.
   */
  private async forgetNamespace(namespace: string, isUnmarked: boolean): Promise<void> {
    const keys = this.pool.keys.namespace(namespace);
    if (isUnmarked && !this.unmarked.delete(namespace)) {
      this.unmarked.add(namespace);
      return;
    }
    if (!isUnmarked && !(await this.pool.run(unregister, keys, {}))) return;
    await this.delist(namespace);
  }

  /**
   * Removes a namespace without a marker from the list. @throws {QueueError} an error of the store: a later round does
   * it
   */
  async delist(namespace: string): Promise<void> {
    try {
      await this.pool.read('SREM', this.pool.keys.namespaces, namespace);
    } finally {
      await this.relistIfMarked(namespace);
    }
  }

  /**
   * Retries until Redis answers: a namespace with a marker that is not on the list would stay unlisted, and leases of
   * dead servers in it would never expire.
   */
  private async relistIfMarked(namespace: string): Promise<void> {
    const { signal } = this.halt;
    while (!signal.aborted) {
      try {
        const isMarked = (await this.pool.read('EXISTS', this.pool.keys.namespace(namespace).meta)) === 1;
        if (isMarked) await this.pool.read('SADD', this.pool.keys.namespaces, namespace);
        return;
      } catch (error) {
        this.loop.fail(error);
        await sleep(RELIST_MS, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
  }
}

function randomPauseMs(): number {
  return ROUND_MS * (0.75 + Math.random() / 2);
}
