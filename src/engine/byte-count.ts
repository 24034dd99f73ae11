import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisPool } from '../redis/pool.js';
import { integerAt } from '../redis/scripts/script.js';
import { countBytes } from '../redis/scripts/plain.js';
import type { EngineObserver } from './observer.js';
import type { ScriptRunner } from './script-runner.js';

/** Pause between looks whether a pass is wanted, in milliseconds. */
const LOOK_MS = 20_000;
/** A pass that has made no step for so long was left by a server that died. */
const STALLED_MS = 60_000;
/** A pass is good for so long: what a server without the quota stores meanwhile is found by the next one. */
const GOOD_FOR_MS = 3_600_000;
/** Jobs that one script looks at: less than half a millisecond. */
const STEP = 128;

/**
 * Finds jobs that were stored while the quota on bytes was not set, and counts them. Jobs say themselves whether they are counted, so
 * it may run on every server, and as often as it likes; one pass an hour is enough. It walks over the keys of the whole Redis, because
 * that is the walk on which none is missed that moves meanwhile.
 */
export class ByteCount {
  private readonly halt = new AbortController();
  private loop: Promise<void> | undefined;

  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
    private readonly observer: EngineObserver,
    private readonly isOn: boolean,
  ) {}

  start(): void {
    this.loop ??= this.isOn ? this.run() : this.forgetPass();
  }

  async stop(): Promise<void> {
    this.halt.abort();
    await this.loop;
  }

  /** One pass. @returns how many jobs were counted that had not been. @throws {QueueError} the store's own */
  async countNow(): Promise<number> {
    let counted = 0;
    for await (const keys of this.pool.scan(this.pool.keys.jobs, STEP)) {
      await this.pool.read('SET', this.pool.keys.counted, 'under way', 'PX', STALLED_MS);
      for (const [namespace, ids] of this.byNamespace(keys)) counted += await this.count(namespace, ids);
      if (this.halt.signal.aborted) return counted;
    }
    await this.pool.read('SET', this.pool.keys.counted, 'done', 'PX', GOOD_FOR_MS);
    return counted;
  }

  private async run(): Promise<void> {
    const { signal } = this.halt;
    while (!signal.aborted) {
      await this.look().catch((error: unknown) => this.observer.loopError('byte count', error));
      const pauseMs = LOOK_MS * (0.75 + Math.random() / 2);
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Of the servers that look at once, one begins. */
  private async look(): Promise<void> {
    const { counted } = this.pool.keys;
    if ((await this.pool.read('SET', counted, 'begun', 'NX', 'PX', STALLED_MS)) === null) return;
    await this.countNow();
  }

  /** What this server stores is not counted: the next one that has the quota shall begin a pass at once. */
  private async forgetPass(): Promise<void> {
    await this.pool
      .read('DEL', this.pool.keys.counted)
      .catch((error: unknown) => this.observer.loopError('byte count', error));
  }

  private byNamespace(keys: readonly Buffer[]): Map<string, Buffer[]> {
    const ids = new Map<string, Buffer[]>();
    for (const key of keys) {
      const job = this.pool.keys.jobOf(key);
      if (!job) continue;
      const known = ids.get(job.namespace);
      if (known) known.push(job.id);
      else ids.set(job.namespace, [job.id]);
    }
    return ids;
  }

  private async count(namespace: string, ids: readonly Buffer[]): Promise<number> {
    let counted = 0;
    // A page of SCAN may be longer than was asked for.
    for (let i = 0; i < ids.length; i += STEP) {
      const items = ids.slice(i, i + STEP).map((id) => [id]);
      counted += integerAt((await this.runner.run(countBytes, namespace, {}, items)).raw, 2);
    }
    return counted;
  }
}
