import { recordLeaseRequests } from '../../redis/scripts/simple.js';
import { Batcher, type ScriptRunner } from '../core/scripts.js';

/** A queue is recorded again only after this time, in milliseconds. */
const RECORD_EVERY_MS = 10_000;
/** Number of queues that this process remembers. */
const MOST_REMEMBERED = 10_000;
/** Approximate size of a record in a batch, in bytes. */
const RECORD_BYTES = 100;

interface LeaseRequestRecord {
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
  private readonly records: Batcher<LeaseRequestRecord, never>;

  constructor(private readonly runner: ScriptRunner) {
    this.records = new Batcher(async (namespace, records) => {
      await runner.run(
        recordLeaseRequests,
        namespace,
        {},
        records.map(({ queue, worker }) => [queue, worker]),
      );
      return [];
    });
  }

  /** Records, in the background, that a lease request named these queues. @param worker the name that it gave */
  see(namespace: string, queues: readonly string[], worker = ''): void {
    const nowMs = this.runner.now();
    const known = this.recorded.get(namespace);
    for (const queue of queues) {
      // Redis's clock may have been set back.
      if (Math.abs(nowMs - (known?.get(queue) ?? 0)) >= RECORD_EVERY_MS)
        this.record(namespace, queue, worker, nowMs);
    }
  }

  private record(namespace: string, queue: string, worker: string, nowMs: number): void {
    if (this.size >= MOST_REMEMBERED) {
      this.recorded.clear();
      this.size = 0;
    }
    const known = this.recorded.get(namespace) ?? new Map<string, number>();
    this.recorded.set(namespace, known);
    if (!known.has(queue)) this.size += 1;
    known.set(queue, nowMs);
    this.records.add(namespace, [{ queue, worker }], RECORD_BYTES, {
      done: () => undefined,
      failed: () => known.delete(queue) && (this.size -= 1),
    });
  }
}
