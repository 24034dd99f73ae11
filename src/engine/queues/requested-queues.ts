import { recordLeaseRequests } from '../../redis/scripts/simple.js';
import { Batcher, type ScriptRunner } from '../core/scripts.js';

/** A queue is recorded again only after this time, in milliseconds. */
const RECORD_EVERY_MS = 10_000;
/** Records are collected for this time, in milliseconds, so that many queues cost one script call. */
const COLLECT_MS = 1_000;
/** Number of queues that this process remembers. */
const MOST_REMEMBERED = 10_000;
/** Approximate size of a record in a batch, in bytes. */
const RECORD_BYTES = 100;

interface LeaseRequestRecord {
  readonly namespace: string;
  readonly queue: string;
  readonly worker: string;
}

/**
 * Records in Redis when lease requests last named each queue, so that an explanation can say that no worker asks for a
 * queue. Only a hint: a record that fails is made by a later request.
 */
export class RequestedQueues {
  /** Namespace → queue → when it was recorded last, Unix ms. */
  private readonly recorded = new Map<string, Map<string, number>>();
  private size = 0;
  private collected: LeaseRequestRecord[] = [];
  private timer: NodeJS.Timeout | undefined;
  private readonly records: Batcher<LeaseRequestRecord, never>;

  constructor(private readonly runner: ScriptRunner) {
    this.records = new Batcher(async (namespace, records) => {
      const items = records.map(({ queue, worker }) => [queue, worker]);
      await runner.run(recordLeaseRequests, namespace, {}, items);
      return [];
    });
  }

  /** Records, in the background, that a lease request named these queues. @param worker the name that it gave */
  see(namespace: string, queues: readonly string[], worker = ''): void {
    const nowMs = this.runner.now();
    const known = this.recorded.get(namespace);
    for (const queue of queues) {
      // Redis's clock may have been set back.
      if (Math.abs(nowMs - (known?.get(queue) ?? 0)) >= RECORD_EVERY_MS) {
        this.remember(namespace, queue, nowMs);
        this.collected.push({ namespace, queue, worker });
        this.timer ??= setTimeout(() => void this.flush(), COLLECT_MS).unref();
      }
    }
  }

  /** When this process recorded a queue last, Unix ms; 0 = it knows of no lease request. Newer than what Redis has. */
  seenAtMs(namespace: string, queue: string): number {
    return this.recorded.get(namespace)?.get(queue) ?? 0;
  }

  /** Records nothing more. */
  stop(): void {
    clearTimeout(this.timer);
    this.collected = [];
  }

  private remember(namespace: string, queue: string, nowMs: number): void {
    if (this.size >= MOST_REMEMBERED) {
      this.recorded.clear();
      this.size = 0;
    }
    const known = this.recorded.get(namespace) ?? new Map<string, number>();
    this.recorded.set(namespace, known);
    if (!known.has(queue)) this.size += 1;
    known.set(queue, nowMs);
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
          // The next request records it: the time stays as one that is long ago.
          this.recorded.get(one.namespace)?.set(one.queue, 0);
          resolve();
        },
      });
    });
  }
}
