import { randomBytes } from 'node:crypto';
import type { RedisPool } from '../../redis/pool.js';
import { scoresOf } from '../core/flat-lists.js';
import { hashEntries } from '../core/hash-entries.js';
import type { EngineObserver } from '../core/observer.js';
import type { ScriptRunner } from '../core/scripts.js';
import { Loop } from '../timers/loop.js';
import type { Timers } from '../timers/timers.js';
import { unlessFull } from '../timers/unless-full.js';
import { announce } from './activity.js';
import { CollectedBytes } from './collected-bytes.js';
import { collectionIn, type History } from './history.js';
import { PAST, RECENT, slotOf } from './points.js';
import { type QueueReading, Sampler } from './sampler.js';
import { MOST_RECENT, recordActivity, type Tracked, TrackedQueues } from './tracked-queues.js';

/** Options of the history of queues. */
export interface HistoryOptions {
  /** Bytes of Redis that it may take, about: the oldest points make room for new ones. */
  readonly mostBytes: number;
}

export const DEFAULT_HISTORY: HistoryOptions = { mostBytes: 67_108_864 };

/** How long a process collects without a word of it, in milliseconds: then another one does. */
const HELD_MS = 35_000;
/** Servers write what they have counted at the end of an interval: samples are taken this much later, in milliseconds. */
const BEHIND_MS = 3_000;
/** The time that activity stays in Redis, in milliseconds: a new collector reads so far back. */
const BACK_MS = 900_000;
/** A longer time without a run is a gap, in milliseconds. */
const GAP_MS = 60_000;
const MOST_GAPS = 100;
/** All queues are listed again after so many runs: ten minutes. */
const LIST_EVERY = 60;
/** Queues of one script call. */
const BATCH = 32;
/** Script calls at once: samples must not delay jobs. */
const AT_ONCE = 2;
/** Namespaces whose queues are listed at once. */
const LISTED_AT_ONCE = 4;
const WEEK_MS = PAST.kept * PAST.stepMs;

/** What the collector uses of the engine. */
export interface CollectorParts extends QueueReading {
  readonly history: History;
  namespaces(): Promise<string[]>;
  queues(namespace: string): Promise<string[]>;
}

/**
 * Samples the queues of a pool every ten seconds, in one process of all servers. Whatever it has not written when it
 * dies, the next one finds in Redis: what servers have counted stays there for a quarter of an hour.
 */
export class HistoryCollector {
  readonly loop: Loop;
  private readonly id = randomBytes(9).toString('base64url');
  private readonly sampler: Sampler;
  private readonly bytes: CollectedBytes;
  /** Undefined while another process collects. */
  private tracked: TrackedQueues | undefined;
  private lastMs = 0;
  private runs = 0;
  private hasRoom = true;

  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
    observer: EngineObserver,
    timers: Timers,
    private readonly parts: CollectorParts,
    options: HistoryOptions,
  ) {
    this.sampler = new Sampler(pool, runner, parts);
    this.bytes = new CollectedBytes(pool, options.mostBytes);
    this.loop = new Loop({
      ...{ name: 'history', pool: pool.name, timers, observer },
      run: () => unlessFull(() => this.runIfFirst()),
      pauseMs: () => this.pauseMs(),
    });
  }

  start(): void {
    this.loop.schedule(this.pauseMs());
  }

  /** Stops, so that another process collects at once. */
  async stop(): Promise<void> {
    await this.loop.stop();
    if (this.tracked === undefined || !this.pool.status.up) return;
    this.tracked = undefined;
    await this.pool.read('DEL', this.pool.keys.collector).catch(() => undefined);
  }

  /**
   * Samples now, whether another process collects or not.
   *
   * @returns how many queues
   * @throws {QueueError} an error of the store
   */
  async runNow(nowMs = this.runner.now()): Promise<number> {
    const interval = Math.floor(nowMs / RECENT.stepMs) - 1;
    const tracked = (this.tracked ??= await this.load(nowMs));
    if (this.runs++ % LIST_EVERY === 0) await this.list(tracked, nowMs);
    await this.findActive(tracked, interval, nowMs);
    const chosen = tracked.choose(interval, nowMs, MOST_RECENT - tracked.recent);
    this.hasRoom = !(await this.bytes.makeRoom(nowMs, tracked.size, () =>
      this.parts.history.namespacesSince(0),
    ));
    const sampled = await this.sampleAll(tracked, chosen, interval);
    this.lastMs = nowMs;
    await this.pool.read('HSET', this.pool.keys.history, 'last', Math.floor(nowMs));
    return sampled;
  }

  private async runIfFirst(): Promise<number> {
    if (!this.pool.status.up) return 0;
    if (await this.isFirst()) return this.runNow();
    this.tracked = undefined;
    return 0;
  }

  /** Takes or keeps the place of the one process that collects. */
  private async isFirst(): Promise<boolean> {
    const { collector } = this.pool.keys;
    const holder = await this.pool.read('GET', collector);
    // guard: one-collector
    if (holder !== null && holder !== this.id) return false;
    const how = holder === null ? 'NX' : 'XX';
    return (await this.pool.read('SET', collector, this.id, how, 'PX', HELD_MS)) !== null;
  }

  /** Reads what earlier collectors have left. */
  private async load(nowMs: number): Promise<TrackedQueues> {
    const fields = await hashEntries(this.pool, this.pool.keys.history);
    this.bytes.load(fields);
    const { lastMs, gaps } = collectionIn(fields);
    this.lastMs = 0;
    this.runs = 0;
    await this.recordGap(lastMs, nowMs);
    const old = gaps.filter(({ toMs }, i) => toMs < nowMs - WEEK_MS || i < gaps.length - MOST_GAPS);
    for (const { fromMs } of old) await this.pool.read('HDEL', this.pool.keys.history, `g${String(fromMs)}`);
    const tracked = new TrackedQueues();
    for (const namespace of await this.parts.history.namespacesSince(nowMs - WEEK_MS)) {
      for (const [queue, sample] of await this.parts.history.samples(namespace)) {
        const one = tracked.of(namespace, queue);
        if (one) Object.assign(one, { sample, isBehind: true });
      }
    }
    return tracked;
  }

  /** Nothing was collected since the last run of any collector. */
  private async recordGap(lastMs: number, nowMs: number): Promise<void> {
    if (nowMs - lastMs <= GAP_MS) return;
    const to = Math.floor(nowMs / RECENT.stepMs - 1) * RECENT.stepMs;
    await this.pool.read('HSET', this.pool.keys.history, `g${String(lastMs)}`, to);
  }

  /** Finds queues that no activity has shown. */
  private async list(tracked: TrackedQueues, nowMs: number): Promise<void> {
    const namespaces = await this.parts.namespaces();
    for (let i = 0; i < namespaces.length; i += LISTED_AT_ONCE) {
      await Promise.all(
        namespaces.slice(i, i + LISTED_AT_ONCE).map(async (namespace) => {
          for (const queue of await this.parts.queues(namespace)) tracked.of(namespace, queue);
        }),
      );
    }
    const oldMs = Math.floor(nowMs - WEEK_MS);
    await this.pool.read('ZREMRANGEBYSCORE', this.pool.keys.active, '-inf', `(${String(oldMs)}`);
  }

  private async findActive(tracked: TrackedQueues, interval: number, nowMs: number): Promise<void> {
    for (const one of tracked.all()) {
      one.isBehind ||= one.isActive;
      one.isActive = false;
    }
    // The clock of Redis may have been set back; and what came late counts too.
    const sinceMs = Math.floor(
      this.lastMs === 0 ? nowMs - BACK_MS : Math.min(this.lastMs, nowMs) - RECENT.stepMs,
    );
    const past = Math.floor((interval * RECENT.stepMs) / PAST.stepMs);
    for (const namespace of await this.parts.history.namespacesSince(sinceMs)) {
      const { changed } = this.pool.keys.namespace(namespace);
      const names = await this.pool.read('ZRANGEBYSCORE', changed, sinceMs, '+inf', 'WITHSCORES');
      for (const [queue, atMs] of scoresOf(names)) {
        const one = tracked.of(namespace, queue);
        if (!one) continue;
        // Activity is written at the end of its interval, or a little later.
        const active = Math.floor((atMs - RECENT.stepMs) / PAST.stepMs);
        recordActivity(one, Math.min(active, past));
      }
    }
  }

  private async sampleAll(
    tracked: TrackedQueues,
    chosen: readonly Tracked[],
    interval: number,
  ): Promise<number> {
    let places = MOST_RECENT - tracked.recent;
    const run = {
      ...{ interval, hasRoom: this.hasRoom, gone: tracked.gone(interval) },
      takePlace: () => places-- > 0,
    };
    const batches = batchesOf(chosen);
    let [recentBytes, pastBytes] = [0, 0];
    for (let i = 0; i < batches.length; i += AT_ONCE) {
      await Promise.all(
        batches.slice(i, i + AT_ONCE).map(async ({ namespace, queues }) => {
          const written = await this.sampler.sample(namespace, queues, run);
          recentBytes += written.recentBytes;
          pastBytes += written.pastBytes;
          if (written.isPurged) tracked.forget(namespace);
        }),
      );
    }
    for (const one of chosen) if (run.gone.has(one)) tracked.remove(one);
    await announce(this.pool, [...new Set(batches.map(({ namespace }) => namespace))], this.runner.now());
    const past = Math.floor((interval * RECENT.stepMs) / PAST.stepMs);
    await this.bytes.add('P', slotOf(RECENT, interval), recentBytes);
    await this.bytes.add('H', slotOf(PAST, past - 1), pastBytes);
    return chosen.length;
  }

  /** Runs a little after the end of each interval. */
  private pauseMs(): number {
    return RECENT.stepMs - ((this.runner.now() - BEHIND_MS) % RECENT.stepMs);
  }
}

/** The queues of a run by namespace, in lists of at most `BATCH`. */
function batchesOf(chosen: readonly Tracked[]): { readonly namespace: string; readonly queues: Tracked[] }[] {
  const open = new Map<string, Tracked[]>();
  const all: { namespace: string; queues: Tracked[] }[] = [];
  for (const one of chosen) {
    let queues = open.get(one.namespace);
    if (!queues || queues.length >= BATCH) {
      queues = [];
      open.set(one.namespace, queues);
      all.push({ namespace: one.namespace, queues });
    }
    queues.push(one);
  }
  return all;
}
