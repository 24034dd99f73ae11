import type { PoolEngine } from '../../engine/pool-engine.js';
import { statesIn } from '../../engine/history/samples.js';
import type { QueuePlace, Read } from './rows.js';

/** Queues whose jobs one call counts. */
const BATCH = 64;
/** Calls at once. */
const AT_ONCE = 2;
/** How long the sessions of a namespace count, in milliseconds. */
const SESSIONS_MS = 10_000;

/** Reads queues of a pool from Redis: their jobs by state, pauses and worker sessions. */
export class LiveQueues {
  private readonly sessions = new Map<
    string,
    { readonly atMs: number; readonly counts: ReadonlyMap<string, number> }
  >();

  constructor(private readonly engine: PoolEngine) {}

  /** @returns each queue, in order. @throws {QueueError} an error of the store */
  async read(places: readonly QueuePlace[], nowMs: number): Promise<Read[]> {
    const found = new Map<QueuePlace, Read>();
    const batches = batchesOf(places);
    for (let i = 0; i < batches.length; i += AT_ONCE) {
      await Promise.all(
        batches.slice(i, i + AT_ONCE).map(async (batch) => {
          const reads = await this.readBatch(batch, nowMs);
          for (const [at, read] of reads.entries()) {
            const place = batch[at];
            if (place) found.set(place, read);
          }
        }),
      );
    }
    return places.flatMap((place) => found.get(place) ?? []);
  }

  private async readBatch(batch: readonly QueuePlace[], nowMs: number): Promise<Read[]> {
    const namespace = batch[0]?.namespace ?? '';
    const queues = batch.map(({ queue }) => queue);
    const [counts, settings, workers] = await Promise.all([
      this.engine.queues.counts(namespace, queues),
      this.engine.queues.stored.settings(namespace, queues),
      this.workersOf(namespace, nowMs),
    ]);
    return counts.map((own, i) => ({
      ...statesIn(own),
      atMs: nowMs,
      pausedAtMs: settings[i]?.pausedAtMs ?? null,
      drainingSinceMs: settings[i]?.drainingSinceMs ?? null,
      workers: workers.get(own.queue) ?? 0,
    }));
  }

  private async workersOf(namespace: string, nowMs: number): Promise<ReadonlyMap<string, number>> {
    const known = this.sessions.get(namespace);
    if (known && Math.abs(nowMs - known.atMs) < SESSIONS_MS) return known.counts;
    const counts = await this.engine.sessions.sessionsByQueue(namespace);
    for (const [name, { atMs }] of this.sessions)
      if (Math.abs(nowMs - atMs) >= SESSIONS_MS) this.sessions.delete(name);
    this.sessions.set(namespace, { atMs: nowMs, counts });
    return counts;
  }
}

/** Places of one namespace, in lists of at most `BATCH`. */
function batchesOf(places: readonly QueuePlace[]): QueuePlace[][] {
  const open = new Map<string, QueuePlace[]>();
  const batches: QueuePlace[][] = [];
  for (const place of places) {
    const batch = open.get(place.namespace);
    if (batch && batch.length < BATCH) batch.push(place);
    else {
      const begun = [place];
      open.set(place.namespace, begun);
      batches.push(begun);
    }
  }
  return batches;
}
