import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LmstfySource } from './source.js';

const KEY = 'pumphouse:import:lock';
/**
 * Expiry of the lock, in milliseconds: how long it outlasts a killed import. It is renewed often enough to survive a
 * short stall.
 */
const LIFE_MS = 4_000;
const RENEW_MS = 500;
/** No new step starts when less than this is left of the lock, in milliseconds. */
const MARGIN_MS = 1_000;
const RETRY_MS = 200;
/** Longer than a lock lives without renewal. */
const PATIENCE_MS = LIFE_MS + 1_000;

/**
 * Only one import may take jobs out of a Redis at a time: each would treat the entries taken by the other as left by a
 * killed import.
 */
export class ImportLock {
  private readonly timer: NodeJS.Timeout;
  private heldUntilMs = 0;

  private constructor(
    private readonly source: LmstfySource,
    private readonly owner: string,
  ) {
    this.timer = setInterval(() => void this.renew().catch(() => undefined), RENEW_MS);
    this.timer.unref();
  }

  /** Takes the lock; waits until the lock of a killed import has expired. @throws {Error} another import is running */
  static async take(source: LmstfySource, patienceMs = PATIENCE_MS): Promise<ImportLock> {
    const owner = randomUUID();
    const until = performance.now() + patienceMs;
    for (;;) {
      const sentMs = performance.now();
      if ((await source.redis.set(KEY, owner, 'PX', LIFE_MS, /* guard: import-one-drain */ 'NX')) !== null) {
        const lock = new ImportLock(source, owner);
        lock.heldUntilMs = sentMs + LIFE_MS;
        return lock;
      }
      if (performance.now() > until) throw new Error('another import is draining this Redis: only one may');
      await sleep(RETRY_MS);
    }
  }

  /** @throws {Error} it could not be renewed in time: another import may hold it */
  check(): void {
    if (performance.now() > this.heldUntilMs - MARGIN_MS)
      throw new Error('the import was paused for too long, and another one may have started');
  }

  async release(): Promise<void> {
    clearInterval(this.timer);
    if ((await this.source.redis.get(KEY)) === this.owner) await this.source.redis.del(KEY);
  }

  private async renew(): Promise<void> {
    const sentMs = performance.now();
    if ((await this.source.redis.get(KEY)) !== this.owner) return;
    await this.source.redis.pexpire(KEY, LIFE_MS);
    this.heldUntilMs = sentMs + LIFE_MS;
  }
}
