import { performance } from 'node:perf_hooks';
import type { PoolEngine } from '../../engine/pool-engine.js';
import type { Gap } from '../../engine/history/history.js';
import { NO_SAMPLE, ratesOf } from '../../engine/history/samples.js';
import { parseInfo } from '../../redis/parse-info.js';
import type { RedisPool } from '../../redis/pool.js';
import { LiveQueues } from './live-queues.js';
import { QueueActivities, type ShownActivity } from './queue-activities.js';
import type { QueuePlace, Row } from './rows.js';

/** Nothing is read again before this time, in milliseconds, however many clients there are. */
export const READ_EVERY_MS = 2_000;
/** Queues of a pool that are all read each time; of more, only those of the page. */
const FEW = 64;
const FEW_NAMESPACES = 32;
/** Queues that are read within that time, over all pages. */
const MOST_READ = 100;
/** Samples that may have been written while others were read, in milliseconds. */
const OVERLAP_MS = 30_000;
/** All samples are read again after this time, in milliseconds: some are gone. */
const WHOLE_MS = 60_000;
/** INFO is read after this time, in milliseconds. */
const INFO_EVERY_MS = 10_000;
const NAMESPACES_AT_ONCE = 4;

/** What is shown of the Redis. */
interface Health {
  readonly usedMemory: number | null;
  readonly maxMemory: number | null;
  readonly latencyMs: number | null;
}

/** The queues of one pool, as the overview shows them. */
export class PoolView {
  readonly rows = new Map<string, Row>();
  health: Health = { usedMemory: null, maxMemory: null, latencyMs: null };
  /** Why reading failed last; null = it did not. */
  error: string | null = null;
  /** When samples were taken last, Unix ms; 0 = never. */
  sampledAtMs = 0;
  private gaps: readonly Gap[] = [];
  private readonly live: LiveQueues;
  private readonly activities: QueueActivities;
  private readAtMs = -Infinity;
  private infoAtMs = -Infinity;
  private samplesAtMs = 0;
  private listedAtMs = -Infinity;
  private wholeAtMs = -Infinity;
  private refreshing: Promise<void> | undefined;
  private spent = { atMs: -Infinity, queues: 0 };

  constructor(
    private readonly pool: RedisPool,
    private readonly engine: PoolEngine,
    /** False: no history is collected. */
    readonly hasHistory: boolean,
  ) {
    this.live = new LiveQueues(engine);
    this.activities = new QueueActivities(engine.history);
  }

  get name(): string {
    return this.pool.name;
  }

  get status(): RedisPool['status'] {
    return this.pool.status;
  }

  /** The time of Redis, Unix ms. */
  get nowMs(): number {
    return Math.floor(this.pool.clock.now());
  }

  /** Reads what is older than two seconds. Clients at the same time share it. Never fails: see `error`. */
  async refresh(): Promise<void> {
    if (performance.now() - this.readAtMs < READ_EVERY_MS && !this.refreshing) return;
    this.refreshing ??= this.readAll().then(
      () => this.end(null),
      (error: unknown) => this.end(error instanceof Error ? error.message : String(error)),
    );
    await this.refreshing;
  }

  /** Reads the queues of a page, as many as may be read now: the others stay as they were read last. */
  async readPage(rows: readonly Row[]): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.spent.atMs >= READ_EVERY_MS) this.spent = { atMs: nowMs, queues: 0 };
    const old = rows.filter(({ read }) => read === null || this.nowMs - read.atMs >= READ_EVERY_MS);
    old.sort((one, other) => (one.read?.atMs ?? 0) - (other.read?.atMs ?? 0));
    // guard: overview-reads-bounded
    const some = old.slice(0, MOST_READ - this.spent.queues);
    this.spent.queues += some.length;
    await this.readRows(some).catch((error: unknown) => {
      this.error = error instanceof Error ? error.message : String(error);
    });
  }

  /** What happened to the queues of a page lately, in order; null of a queue of which nothing is kept. */
  activity(rows: readonly Row[]): Promise<(ShownActivity | null)[]> {
    if (!this.hasHistory || !this.pool.status.up) return Promise.resolve(rows.map(() => null));
    return this.activities.of(rows, this.nowMs, this.gaps);
  }

  private end(error: string | null): void {
    this.error = error;
    this.readAtMs = performance.now();
    this.refreshing = undefined;
  }

  private async readAll(): Promise<void> {
    if (!this.pool.status.up) throw new Error('Redis does not answer');
    await this.readHealth();
    if (this.hasHistory) await this.readSamples();
    await this.readFew();
    const { nowMs } = this;
    if (this.hasHistory) for (const row of this.rows.values()) row.rates = ratesOf(row.sample, nowMs);
  }

  private async readHealth(): Promise<void> {
    const begunMs = performance.now();
    await this.pool.read('PING');
    this.health = { ...this.health, latencyMs: performance.now() - begunMs };
    if (begunMs - this.infoAtMs < INFO_EVERY_MS) return;
    this.infoAtMs = begunMs;
    const info = parseInfo(String(await this.pool.read('INFO', 'memory')));
    const whole = (field: string): number | null => (info.has(field) ? Number(info.get(field)) : null);
    this.health = { ...this.health, usedMemory: whole('used_memory'), maxMemory: whole('maxmemory') };
  }

  /** Reads the samples of the namespaces whose queues were sampled since. */
  private async readSamples(): Promise<void> {
    const { history } = this.engine;
    const collection = await history.collection();
    if (collection.lastMs === this.sampledAtMs && this.samplesAtMs > 0) return;
    const nowMs = this.nowMs;
    const isWhole = performance.now() - this.wholeAtMs >= WHOLE_MS;
    const namespaces = await history.namespacesSince(isWhole ? 0 : this.samplesAtMs - OVERLAP_MS);
    const found = new Set<Row>();
    for (let i = 0; i < namespaces.length; i += NAMESPACES_AT_ONCE) {
      await Promise.all(
        namespaces.slice(i, i + NAMESPACES_AT_ONCE).map(async (namespace) => {
          for (const [queue, sample] of await history.samples(namespace)) {
            const row = this.rowOf({ namespace, queue });
            row.sample = sample;
            found.add(row);
          }
        }),
      );
    }
    if (isWhole) {
      for (const [key, row] of this.rows) if (!found.has(row) && row.sample.atMs > 0) this.rows.delete(key);
      this.wholeAtMs = performance.now();
    }
    this.samplesAtMs = nowMs;
    this.sampledAtMs = collection.lastMs;
    this.gaps = collection.gaps;
  }

  /**
   * Reads all queues of a pool that has few: so a new queue is there at once. Where no history is collected, those that
   * were read longest ago.
   */
  private async readFew(): Promise<void> {
    const places = await this.placesNow();
    if (places !== null) {
      const existing = new Set(places.map((place) => this.rowOf(place)));
      for (const [key, row] of this.rows)
        if (!existing.has(row) && row.sample.atMs === 0) this.rows.delete(key);
    }
    if (this.hasHistory && this.rows.size > 2 * FEW) return;
    const rows = [...this.rows.values()];
    rows.sort((one, other) => (one.read?.atMs ?? 0) - (other.read?.atMs ?? 0));
    await this.readRows(rows.slice(0, 2 * FEW));
  }

  /** The queues of a pool that has few; without a history all, at times. Null: as they were listed last. */
  private async placesNow(): Promise<QueuePlace[] | null> {
    const isDue = performance.now() - this.listedAtMs >= WHOLE_MS;
    const count = Number(await this.pool.read('SCARD', this.pool.keys.namespaces));
    if (count > FEW_NAMESPACES && (this.hasHistory || !isDue)) return null;
    const namespaces = await this.engine.namespaces();
    const sizes = await Promise.all(
      namespaces.map((namespace) => this.pool.read('HLEN', this.pool.keys.namespace(namespace).queues)),
    );
    const total = sizes.reduce<number>((sum, size) => sum + Number(size), 0);
    if (total > FEW && (this.hasHistory || !isDue)) return null;
    this.listedAtMs = performance.now();
    const places: QueuePlace[] = [];
    for (const namespace of namespaces)
      for (const queue of await this.engine.queues.names(namespace)) places.push({ namespace, queue });
    return places;
  }

  private async readRows(rows: readonly Row[]): Promise<void> {
    const reads = await this.live.read(rows, this.nowMs);
    for (const [i, read] of reads.entries()) {
      const row = rows[i];
      if (row) row.read = read;
    }
  }

  private rowOf({ namespace, queue }: QueuePlace): Row {
    const key = `${namespace}/${queue}`;
    let row = this.rows.get(key);
    if (!row) {
      row = { pool: this.name, namespace, queue, sample: NO_SAMPLE, read: null, rates: null };
      this.rows.set(key, row);
    }
    return row;
  }
}
