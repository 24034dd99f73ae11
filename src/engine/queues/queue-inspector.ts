import type { QueueCounts, StoredJob } from '../../domain/job/job.js';
import type { RedisPool } from '../../redis/pool.js';
import * as scripts from '../../redis/scripts/simple.js';
import { bytesAt, integerAt } from '../../redis/scripts/script.js';
import { decodeJob, type PeekedJob } from '../core/decode.js';
import { hashEntries } from '../core/hash-entries.js';
import { encodeId } from '../core/ids.js';
import type { ScriptRunner } from '../core/scripts.js';

/** Number of values per queue in the reply of lua/commands/simple/count_jobs.lua. */
const COUNTS_PER_QUEUE = 10;

/** Queues of one script call: it takes about 0.1 ms for each, and other commands wait for it. */
const COUNTED_AT_ONCE = 16;

/** Status of lua/commands/simple/destroy.lua for an extended queue, which it does not change. */
const EXTENDED_QUEUE = 3;
/** Entries that one step of destroy checks. */
const DESTROY_STEP = 500;

/** Reads, counts and empties queues. */
export class QueueInspector {
  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
    /** Empties an extended queue. */
    private readonly destroyExtended: (namespace: string, queue: string) => Promise<number>,
  ) {}

  /** The job at the head of the ready list; null if none is ready. */
  async peek(namespace: string, queue: string): Promise<StoredJob | null> {
    for (let skip = 0; ;) {
      const { raw, nowMs } = await this.runner.run(scripts.peekQueue, namespace, { queue, skip });
      const looked = integerAt(raw, 2);
      const id = bytesAt(raw, 3);
      if (id.length > 0) return decodeJob(queue, id, bytesAt(raw, 4), bytesAt(raw, 5), nowMs);
      if (looked === 0) return null;
      skip += looked;
    }
  }

  /** A job of the queue in any state; null if there is none. */
  async peekJob(namespace: string, queue: string, id: string): Promise<PeekedJob | null> {
    const encoded = encodeId(id);
    if (!encoded) return null;
    const { raw, nowMs } = await this.runner.run(scripts.peekJob, namespace, { queue, id: encoded });
    const value = bytesAt(raw, 2);
    if (value.length === 0) return null;
    const group = bytesAt(raw, 4).toString();
    const job = decodeJob(queue, encoded, value, bytesAt(raw, 3), nowMs);
    return group === '' ? job : { ...job, failureGroup: group };
  }

  /** Counts the jobs per state. */
  async counts(namespace: string, queues: readonly string[]): Promise<QueueCounts[]> {
    const counted: QueueCounts[] = [];
    for (let i = 0; i < queues.length; i += COUNTED_AT_ONCE)
      counted.push(...(await this.countsOf(namespace, queues.slice(i, i + COUNTED_AT_ONCE))));
    return counted;
  }

  private async countsOf(namespace: string, queues: readonly string[]): Promise<QueueCounts[]> {
    const items = queues.map((queue) => [queue]);
    const { raw, nowMs } = await this.runner.run(scripts.counts, namespace, {}, items);
    return queues.map((queue, i) => {
      const at = 2 + i * COUNTS_PER_QUEUE;
      const publishedMs = integerAt(raw, at + 4);
      return {
        queue,
        ready: Math.max(integerAt(raw, at), 0),
        scheduled: integerAt(raw, at + 1),
        leased: integerAt(raw, at + 2),
        dead: integerAt(raw, at + 3),
        blocked: integerAt(raw, at + 5),
        held: integerAt(raw, at + 6),
        done: integerAt(raw, at + 7),
        cancelled: integerAt(raw, at + 8),
        stuck: integerAt(raw, at + 9),
        oldestReadyAgeMs: publishedMs === 0 ? 0 : Math.max(nowMs - publishedMs, 0),
        oldestReadyAtMs: publishedMs,
      };
    });
  }

  /** Counts the ready jobs. */
  async size(namespace: string, queue: string): Promise<number> {
    const [counts] = await this.counts(namespace, [queue]);
    return counts?.ready ?? 0;
  }

  /** Removes the jobs that are ready now, in bounded steps; scheduled, leased and dead ones stay. @returns how many */
  async destroy(namespace: string, queue: string): Promise<number> {
    let removed = 0;
    let left = Number.POSITIVE_INFINITY;
    for (;;) {
      const limit = Math.min(DESTROY_STEP, left);
      const { raw, status } = await this.runner.run(scripts.destroy, namespace, { queue, limit });
      if (status === EXTENDED_QUEUE) return this.destroyExtended(namespace, queue);
      removed += integerAt(raw, 3);
      // Jobs that are published meanwhile do not count: they were not ready at the first step.
      left = Math.min(left - integerAt(raw, 2), integerAt(raw, 4));
      if (left <= 0 || integerAt(raw, 2) === 0) return removed;
    }
  }

  /** The namespaces that have queues, sorted. */
  async namespaces(): Promise<string[]> {
    return toStrings(await this.pool.read('SMEMBERS', this.pool.keys.namespaces)).sort();
  }

  /** The queues of a namespace, sorted. */
  async names(namespace: string): Promise<string[]> {
    const found = await hashEntries(this.pool, this.pool.keys.namespace(namespace).queues);
    return [...found.keys()].sort();
  }
}

function toStrings(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
