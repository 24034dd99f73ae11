import type { LeaseRequest } from '../../domain/job/job.js';
import { recordLeaseRequests } from '../../redis/scripts/simple.js';
import { Batcher, type ScriptRunner } from '../core/scripts.js';

/** A queue is recorded again only after this time, in milliseconds. */
const RECORD_EVERY_MS = 10_000;
/** Records are collected for this time, in milliseconds, so that many queues cost one script call. */
const COLLECT_MS = 1_000;
/** Number of queues, types of them, and requests for types that this process remembers. */
const MOST_REMEMBERED = 10_000;
/** A longer request for types is not remembered as a whole, in characters. */
const LONGEST_REQUEST = 1_000;
/** Approximate size of a record in a batch, in bytes. */
const RECORD_BYTES = 100;

/** In place of a type: any. */
const ANY = '\n';

interface LeaseRequestRecord {
  readonly namespace: string;
  /** As lua/modules/queues/notify.lua names it. */
  readonly flag: string;
  readonly worker: string;
}

/**
 * Records in Redis when lease requests last named each queue, so that an explanation can say that no worker asks for a
 * queue. Only a hint: a record that fails is made by a later request.
 */
export class RequestedQueues {
  /** Namespace → flag, or a whole request for types → when it was recorded last, Unix ms. */
  private readonly recorded = new Map<string, Map<string, number>>();
  private size = 0;
  private collected: LeaseRequestRecord[] = [];
  private timer: NodeJS.Timeout | undefined;
  private readonly records: Batcher<LeaseRequestRecord, never>;

  constructor(private readonly runner: ScriptRunner) {
    this.records = new Batcher(async (namespace, records) => {
      const items = records.map(({ flag, worker }) => [flag, worker]);
      await runner.run(recordLeaseRequests, namespace, {}, items);
      return [];
    });
  }

  /**
   * Records, in the background, that a lease request named these queues.
   *
   * @param worker the name that it gave
   * @param types those that it named, null = jobs without one; undefined: it takes any job
   */
  see(namespace: string, queues: readonly string[], worker = '', types?: LeaseRequest['types']): void {
    const nowMs = this.runner.now();
    const isRecent = (flag: string): boolean =>
      // Redis's clock may have been set back.
      Math.abs(nowMs - this.recordedMs(namespace, flag)) < RECORD_EVERY_MS;
    // Workers send the same request all the time: one look-up for all its queues and types.
    const request = types === undefined ? undefined : `\n${queues.join()} ${types.join('\n')}`;
    if (request !== undefined && isRecent(request)) return;
    let oldestMs = nowMs;
    for (const queue of queues)
      for (const flag of flagsOf(queue, types)) {
        if (isRecent(flag)) {
          oldestMs = Math.min(oldestMs, this.recordedMs(namespace, flag));
          continue;
        }
        this.remember(namespace, flag, nowMs);
        this.collected.push({ namespace, flag, worker });
        this.timer ??= setTimeout(() => void this.flush(), COLLECT_MS).unref();
      }
    if (request !== undefined && request.length <= LONGEST_REQUEST)
      this.remember(namespace, request, oldestMs);
  }

  /**
   * When this process recorded last that a lease request takes jobs of a queue, Unix ms; 0 = it knows of none. Newer than
   * what Redis has.
   *
   * @param type only requests that take jobs of it, null = without a type; undefined: requests of whatever types
   */
  seenAtMs(namespace: string, queue: string, type: string | null = ANY): number {
    return Math.max(...[queue, flagOf(queue, type)].map((flag) => this.recordedMs(namespace, flag)));
  }

  /** Records nothing more. */
  stop(): void {
    clearTimeout(this.timer);
    this.collected = [];
  }

  private recordedMs(namespace: string, flag: string): number {
    return this.recorded.get(namespace)?.get(flag) ?? 0;
  }

  private remember(namespace: string, flag: string, nowMs: number): void {
    if (this.size >= MOST_REMEMBERED) {
      this.recorded.clear();
      this.size = 0;
    }
    const known = this.recorded.get(namespace) ?? new Map<string, number>();
    this.recorded.set(namespace, known);
    if (!known.has(flag)) this.size += 1;
    known.set(flag, nowMs);
  }

  private forget(namespace: string): void {
    this.size -= this.recorded.get(namespace)?.size ?? 0;
    this.recorded.delete(namespace);
  }

  /** Records now what has been collected. Resolves when it is recorded, or has failed. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    await Promise.all(this.collected.splice(0).map((one) => this.record(one)));
  }

  private record(one: LeaseRequestRecord): Promise<void> {
    return new Promise((resolve) => {
      this.records.add(one.namespace, [one], RECORD_BYTES, {
        done: () => resolve(),
        failed: () => {
          // The next request records it.
          this.forget(one.namespace);
          resolve();
        },
      });
    });
  }
}

function flagsOf(queue: string, types: LeaseRequest['types']): readonly string[] {
  return types === undefined ? [queue] : [ANY, ...types].map((type) => flagOf(queue, type));
}

function flagOf(queue: string, type: string | null): string {
  return `${queue} ${type ?? ''}`;
}
