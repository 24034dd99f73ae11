import type { DeadLetterHead } from '../domain/job.js';
import { integerAt } from '../redis/scripts/script.js';
import { deadHead, deleteDead, respawn } from '../redis/scripts/plain.js';
import { decodeId } from './ids.js';
import type { FullLane } from './full/full-lane.js';
import type { EngineObserver } from './observer.js';
import type { ScriptRunner } from './script-runner.js';

/** Jobs that one step moves: about 1 ms of Redis. */
const STEP = 200;
/** The status of both scripts for a queue that the full lane tends. */
const FULL = 3;

/** Jobs whose tries are used up. */
export class DeadLetter {
  constructor(
    private readonly runner: ScriptRunner,
    private readonly observer: EngineObserver,
    private readonly full: FullLane,
  ) {}

  /** See `QueueEngine.deadLetterHead`. */
  async head(namespace: string, queue: string): Promise<DeadLetterHead> {
    const { id, size } = await this.runner.run(deadHead, namespace, { queue });
    return { id: id.length > 0 ? decodeId(id) : null, size };
  }

  /** See `QueueEngine.respawn`. */
  async respawn(namespace: string, queue: string, limit: number, ttlMs: number): Promise<number> {
    let done = 0;
    for (let left = limit; left > 0;) {
      const step = Math.min(left, STEP);
      const { raw } = await this.runner.run(respawn, namespace, {
        queue,
        limit: step,
        ttl_ms: Math.min(ttlMs, 2 ** 46),
      });
      if (integerAt(raw, 0) === FULL) {
        return this.full.dead.all(limit, (left, cursor) =>
          this.full.dead.respawn(namespace, { queue }, { ttlMs, tries: 1 }, left, cursor),
        );
      }
      done += integerAt(raw, 3);
      left -= step;
      if (integerAt(raw, 2) < step) break;
    }
    if (done > 0) this.observer.respawned(namespace, queue, done);
    return done;
  }

  /** See `QueueEngine.deleteDead`. */
  async delete(namespace: string, queue: string, limit: number): Promise<number> {
    let done = 0;
    for (let left = limit; left > 0;) {
      const step = Math.min(left, STEP);
      const { raw } = await this.runner.run(deleteDead, namespace, { queue, limit: step });
      if (integerAt(raw, 0) === FULL) {
        return this.full.dead.all(limit, (left, cursor) =>
          this.full.dead.delete(namespace, { queue }, left, cursor),
        );
      }
      done += integerAt(raw, 2);
      left -= step;
      if (integerAt(raw, 2) < step) break;
    }
    return done;
  }
}
