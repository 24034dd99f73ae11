import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisPool } from '../redis/pool.js';
import { bytesAt, integerAt } from '../redis/scripts/script.js';
import { sweep, tidy, unregister } from '../redis/scripts/plain.js';
import type { EngineObserver } from './observer.js';
import type { ScriptRunner } from './script-runner.js';

/** Pause between rounds, and the least time between two rounds over a namespace by all servers together, in milliseconds. */
const ROUND_MS = 20_000;
const TIDY_EVERY_MS = 15_000;
/** In which round, of so many, a namespace is looked at in which nothing has expired: what is empty is to be forgotten within a minute. */
const LOOK_EVERY = 2;
/** Namespaces that are tidied at once: alone, each would cost the waking of two idle processes. Redis is held up by all of them. */
const AT_ONCE = 4;
/** A sweep this old was left by a server that died, in milliseconds. */
const STALLED_MS = 120_000;
/** Pause before a namespace whose place on the list is in doubt is looked at again, in milliseconds. */
const RELIST_MS = 500;
/** What lua/scripts/tidy.lua answers for a namespace without its marker. */
const NO_NAMESPACE = -1;
/** Passes over lines are told from each other by a number below this. */
const MARKS = 1_000_000_000;
/** What lua/scripts/sweep.lua looks at in one call. */
const WINDOW = 200;

/** Removes what has expired, and forgets queues and namespaces that are empty. Safe on every server at once. */
export class Janitor {
  private readonly halt = new AbortController();
  private loop: Promise<void> | undefined;
  private rounds = 0;
  /** Namespaces found without their marker in the last round. */
  private unmarked = new Set<string>();

  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
    private readonly observer: EngineObserver,
  ) {}

  start(): void {
    this.loop ??= this.run();
  }

  async stop(): Promise<void> {
    this.halt.abort();
    await this.loop;
  }

  /** One round over one namespace. Returns how many queues were forgotten. */
  async tidyNow(namespace: string, everyMs = 0): Promise<number> {
    let cursor = '0';
    let forgotten = 0;
    do {
      const args = { cursor, every_ms: everyMs, stalled_ms: STALLED_MS };
      const { raw } = await this.runner.run(tidy, namespace, args);
      cursor = bytesAt(raw, 2).toString();
      const queuesLeft = integerAt(raw, 3);
      forgotten += integerAt(raw, 4);
      for (let i = 5; i < raw.length; i++) await this.sweepQueue(namespace, integerAt(raw, i));
      if (cursor === '0' && (queuesLeft === 0 || queuesLeft === NO_NAMESPACE)) {
        await this.forgetNamespace(namespace, queuesLeft === NO_NAMESPACE);
      }
    } while (cursor !== '0' && !this.halt.signal.aborted);
    return forgotten;
  }

  private async run(): Promise<void> {
    const { signal } = this.halt;
    for (;;) {
      await sleep(ROUND_MS * (0.75 + Math.random() / 2), undefined, { signal, ref: false }).catch(
        () => undefined,
      );
      if (signal.aborted) return;
      await this.round().catch((error: unknown) => this.observer.loopError('janitor', error));
    }
  }

  private async round(): Promise<void> {
    const members = await this.pool.read('SMEMBERS', this.pool.keys.namespaces);
    const namespaces = Array.isArray(members) ? members.map(String) : [];
    const { keys, clock } = this.pool;
    const expiries = await this.pool.heads(namespaces.map((namespace) => keys.namespace(namespace).expiries));
    this.rounds++;
    const wanted = namespaces.filter((_, i) => {
      const hasExpired = (expiries[i] ?? 0) <= clock.now();
      return hasExpired || (i + this.rounds) % LOOK_EVERY === 0;
    });
    for (let i = 0; i < wanted.length && !this.halt.signal.aborted; i += AT_ONCE) {
      await Promise.all(wanted.slice(i, i + AT_ONCE).map((namespace) => this.tidyQuietly(namespace)));
    }
  }

  /** One that cannot be tidied must not keep the others from it. */
  private async tidyQuietly(namespace: string): Promise<void> {
    await this.tidyNow(namespace, TIDY_EVERY_MS).catch((error: unknown) =>
      this.observer.loopError('janitor', error),
    );
  }

  /** One pass over a queue's line, window by window. */
  private async sweepQueue(namespace: string, number: number): Promise<void> {
    let skip = 0;
    let earliestMs = 0;
    let expired = 0;
    const mark = String(randomInt(MARKS));
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
  }

  /**
   * Marker first, then the list; then a second look, for a publish may have made the marker again in between. A namespace that
   * never had a marker is being registered, or its removal broke off: only one that is still so in the next round goes.
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

  /** Takes a namespace off the list whose marker is gone. @throws {QueueError} the store's own: a later round does it */
  async delist(namespace: string): Promise<void> {
    try {
      await this.pool.read('SREM', this.pool.keys.namespaces, namespace);
    } finally {
      await this.relistIfMarked(namespace);
    }
  }

  /** A marker off the list is off for good, and what a dead server leased there would never come back: so until it has an answer. */
  private async relistIfMarked(namespace: string): Promise<void> {
    const { signal } = this.halt;
    while (!signal.aborted) {
      try {
        const isMarked = (await this.pool.read('EXISTS', this.pool.keys.namespace(namespace).meta)) === 1;
        if (isMarked) await this.pool.read('SADD', this.pool.keys.namespaces, namespace);
        return;
      } catch (error) {
        this.observer.loopError('janitor', error);
        await sleep(RELIST_MS, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
  }
}
