import type { DeadLetterHead } from '../../domain/job/job.js';
import { integerAt } from '../../redis/scripts/script.js';
import { deadHead, deleteDead, respawn } from '../../redis/scripts/simple.js';
import { decodeId } from '../core/ids.js';
import type { EngineObserver } from '../core/observer.js';
import type { ScriptRunner } from '../core/scripts.js';
import type { DeadJobs } from './dead-jobs.js';

/** Jobs that one step moves: about 1 ms of Redis. */
const STEP = 200;
/** Status of both scripts for an extended queue. */
const EXTENDED_QUEUE = 3;

/** Jobs that have used up their tries. */
export class DeadLetter {
  constructor(
    private readonly runner: ScriptRunner,
    private readonly observer: EngineObserver,
    /** The same for extended queues. */
    private readonly extended: DeadJobs,
  ) {}

  /** The job that died first, and the number of dead jobs. */
  async head(namespace: string, queue: string): Promise<DeadLetterHead> {
    const { id, size } = await this.runner.run(deadHead, namespace, { queue });
    return { id: id.length > 0 ? decodeId(id) : null, size };
  }

  /**
   * Puts up to `limit` dead jobs back into the queue, oldest first, with one try and a ttl (0 = no expiry). @returns
   * how many
   */
  async respawn(namespace: string, queue: string, limit: number, ttlMs: number): Promise<number> {
    let done = 0;
    for (let left = limit; left > 0;) {
      const step = Math.min(left, STEP);
      const { raw } = await this.runner.run(respawn, namespace, {
        queue,
        limit: step,
        ttl_ms: Math.min(ttlMs, 2 ** 46),
      });
      if (integerAt(raw, 0) === EXTENDED_QUEUE) {
        const options = { ttlMs, tries: 1 };
        if (done > 0) this.observer.respawned(namespace, queue, done);
        // guard: respawn-counts-what-is-done
        const others = await this.extended.all(left, (rest, cursor) =>
          this.extended.respawn(namespace, { queue }, options, rest, cursor),
        );
        return done + others;
      }
      done += integerAt(raw, 3);
      left -= step;
      if (integerAt(raw, 2) < step) break;
    }
    if (done > 0) this.observer.respawned(namespace, queue, done);
    return done;
  }

  /** Removes up to `limit` dead jobs, oldest first. @returns how many */
  async delete(namespace: string, queue: string, limit: number): Promise<number> {
    let done = 0;
    for (let left = limit; left > 0;) {
      const step = Math.min(left, STEP);
      const { raw } = await this.runner.run(deleteDead, namespace, { queue, limit: step });
      if (integerAt(raw, 0) === EXTENDED_QUEUE) {
        // guard: delete-counts-what-is-done
        const others = await this.extended.all(left, (rest, cursor) =>
          this.extended.delete(namespace, { queue }, rest, cursor),
        );
        return done + others;
      }
      done += integerAt(raw, 2);
      left -= step;
      if (integerAt(raw, 2) < step) break;
    }
    return done;
  }
}
