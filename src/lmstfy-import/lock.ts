import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LmstfySource } from './source.js';

const KEY = 'pumphouse:import:lock';
/** It outlives a killed import by so much; it is renewed often enough that a slow moment does not end it. In milliseconds. */
const LIFE_MS = 4_000;
const RENEW_MS = 500;
/** Left of its life when nothing new is begun any more, in milliseconds. */
const MARGIN_MS = 1_000;
const RETRY_MS = 200;
/** Longer than a lock that nobody renews. */
const PATIENCE_MS = LIFE_MS + 1_000;

/** Two imports must not take jobs out of one Redis at the same time: what one has in hand would look to the other as if left by a dead one. */
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

  /** Waits for the end of an import that was killed. @throws {Error} another one is running */
  static async take(source: LmstfySource, patienceMs = PATIENCE_MS): Promise<ImportLock> {
    const owner = randomUUID();
    const until = performance.now() + patienceMs;
    for (;;) {
      const askedMs = performance.now();
      if ((await source.redis.set(KEY, owner, 'PX', LIFE_MS, 'NX')) !== null) {
        const lock = new ImportLock(source, owner);
        lock.heldUntilMs = askedMs + LIFE_MS;
        return lock;
      }
      if (performance.now() > until) throw new Error('another import is draining this Redis: only one may');
      await sleep(RETRY_MS);
    }
  }

  /** @throws {Error} it could not be renewed in time: somebody else may have it */
  check(): void {
    if (performance.now() > this.heldUntilMs - MARGIN_MS)
      throw new Error('the import was held up for too long');
  }

  async release(): Promise<void> {
    clearInterval(this.timer);
    if ((await this.source.redis.get(KEY)) === this.owner) await this.source.redis.del(KEY);
  }

  private async renew(): Promise<void> {
    const askedMs = performance.now();
    if ((await this.source.redis.get(KEY)) !== this.owner) return;
    await this.source.redis.pexpire(KEY, LIFE_MS);
    this.heldUntilMs = askedMs + LIFE_MS;
  }
}
