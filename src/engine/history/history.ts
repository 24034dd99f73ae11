import type { RedisPool } from '../../redis/pool.js';
import { hashEntries } from '../core/hash-entries.js';
import { decodePoints, type Point, RECENT, slotOf, type Step } from './points.js';
import { type Sample, sampleOf } from './samples.js';

/** A span in which nothing was collected, Unix ms. */
export interface Gap {
  readonly fromMs: number;
  readonly toMs: number;
}

/** What is known of the collection. */
export interface Collection {
  /** When samples were taken last, Unix ms; 0 = never. */
  readonly lastMs: number;
  readonly gaps: readonly Gap[];
}

/** Reads what was collected of queues: their last samples, and the points of the last hour and week. */
export class History {
  constructor(private readonly pool: Pick<RedisPool, 'keys' | 'read' | 'readBytes'>) {}

  /** @throws {QueueError} an error of the store */
  async collection(): Promise<Collection> {
    return collectionIn(await hashEntries(this.pool, this.pool.keys.history));
  }

  /** The namespaces of whose queues something was counted or sampled since a time, Unix ms. */
  async namespacesSince(sinceMs: number): Promise<string[]> {
    const found = await this.pool.read('ZRANGEBYSCORE', this.pool.keys.active, Math.floor(sinceMs), '+inf');
    return Array.isArray(found) ? found.map(String) : [];
  }

  /** The last samples of a namespace, by queue. */
  async samples(namespace: string): Promise<Map<string, Sample>> {
    const texts = await hashEntries(this.pool, this.pool.keys.namespace(namespace).samples);
    return new Map([...texts].map(([queue, text]) => [queue, sampleOf(text)]));
  }

  /** The last sample of a queue; null if there is none. */
  async sample(namespace: string, queue: string): Promise<Sample | null> {
    const text = await this.pool.read('HGET', this.pool.keys.namespace(namespace).samples, queue);
    return typeof text === 'string' ? sampleOf(text) : null;
  }

  /** The points of a queue by interval, from one interval to another; intervals in which nothing happened have none. */
  async points(
    namespace: string,
    queue: string,
    step: Step,
    from: number,
    to: number,
  ): Promise<Map<number, Point>> {
    const first = slotOf(step, from);
    const slots = Array.from({ length: slotOf(step, to) - first + 1 }, (_, i) => first + i);
    const texts = await Promise.all(
      slots.map((slot) => this.pool.readBytes('HGET', this.keyOf(step, namespace, slot), queue)),
    );
    const found = new Map<number, Point>();
    for (const [i, bytes] of texts.entries()) {
      if (!Buffer.isBuffer(bytes)) continue;
      for (const [interval, point] of decodePoints(step, first + i, bytes))
        if (interval >= from && interval <= to) found.set(interval, point);
    }
    return found;
  }

  private keyOf(step: Step, namespace: string, slot: number): string {
    const { keys } = this.pool;
    return step === RECENT ? keys.recentPoints(namespace, slot) : keys.pastPoints(namespace, slot);
  }
}

/** Reads the fields of the hash `pumphouse:history`. */
export function collectionIn(fields: ReadonlyMap<string, string>): Collection {
  const gaps = [...fields].flatMap(([field, to]) =>
    field.startsWith('g') ? [{ fromMs: Number(field.slice(1)), toMs: Number(to) }] : [],
  );
  return { lastMs: Number(fields.get('last') ?? 0), gaps };
}
