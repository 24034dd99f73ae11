import { randomBytes } from 'node:crypto';
import { QueueError } from '../../domain/errors.js';
import { hasLegalCharacters } from '../../domain/ids.js';
import type { RedisPool } from '../../redis/pool.js';
import { addStatistics as tallyScript } from '../../redis/scripts/simple.js';
import { hashEntries } from '../core/hash-entries.js';
import { Loop } from '../timers/loop.js';
import type { EngineObserver } from '../core/observer.js';
import type { ScriptRunner } from '../core/scripts.js';
import type { Timers } from '../timers/timers.js';
import { unlessFull } from '../timers/unless-full.js';
import { OtherQueues } from './other-queues.js';
import { PendingStatistics, type Batch } from './pending-statistics.js';
import { Tally } from './tally.js';

/** Options of statistics. */
export interface StatisticsOptions {
  /**
   * How many days the statistics of a day are kept after its end, unless its namespace has a setting; 0 = no
   * statistics.
   */
  readonly historyDays: number;
  /**
   * Maximum number of queues per namespace and day that are counted separately; further ones are added up as
   * `OTHER_QUEUES`.
   */
  readonly maxQueues: number;
}

/** Read operations on the statistics of a pool. */
export type StatisticsReading = Pick<Statistics, 'read' | 'stillDead' | 'queuesOf' | 'today'>;

export const DEFAULT_STATISTICS: StatisticsOptions = { historyDays: 30, maxQueues: 1_000 };

/** Name for the queues that are not counted separately: not a legal queue name. */
export const OTHER_QUEUES = '*';

/** Milliseconds between two flushes: how much a killed server loses of its statistics. */
const FLUSH_MS = 1_000;
const DAY_MS = 86_400_000;
/** After this many flushes, the server checks again which queues are not counted separately. */
const RELEARN_EVERY = 60;
/** Queues that one server counts between two flushes, over all namespaces. */
const MOST_OPEN = 5_000;
/** Queues whose dead jobs are counted at once, with a command each. */
const COUNTED_AT_ONCE = 250;
/** Namespaces that are written at once: statistics must not delay jobs. */
const AT_ONCE = 4;

/** What was counted of a namespace since the last flush. */
interface OpenTallies {
  /** When the first of it was counted, Unix ms. */
  readonly sinceMs: number;
  readonly queues: Map<string, Tally>;
}

/**
 * Counts in memory what happens to jobs, and writes it once a second, so that it costs no Redis command per job. All
 * servers of a pool add to the same days.
 */
export class Statistics {
  readonly loop: Loop;
  private readonly source = randomBytes(9).toString('base64url');
  private readonly pending = new PendingStatistics();
  private readonly others = new OtherQueues();
  private open = new Map<string, OpenTallies>();
  private openQueues = 0;
  private flushes = 0;
  /** The longest round trip before the last seal, in milliseconds. */
  private slowestMs = 0;
  /** The day of the open tallies. */
  private day = 0;
  private last: Tally | undefined;
  private lastNamespace = '';
  private lastQueue = '';
  private isStarted = false;
  private flushing: Promise<void> | undefined;

  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
    observer: EngineObserver,
    timers: Timers,
    private readonly options: StatisticsOptions = DEFAULT_STATISTICS,
  ) {
    this.loop = new Loop({
      ...{ name: 'statistics', pool: pool.name, timers, observer },
      run: () => unlessFull(() => this.flushIfUp()),
      pauseMs: () => this.pauseMs(),
    });
  }

  start(): void {
    this.isStarted = this.options.historyDays > 0;
    if (this.isStarted) this.loop.schedule(this.pauseMs());
  }

  /** Writes what is left, if the store is available. */
  async stop(): Promise<void> {
    await this.loop.stop();
    if (!this.isStarted) return;
    this.isStarted = false;
    await unlessFull(() => this.flushIfUp()).catch((error: unknown) => this.loop.fail(error));
  }

  /** The tally of a queue; valid until the next turn of the event loop. */
  of(namespace: string, queue: string): Tally {
    // Most jobs are of the same queue as the job before.
    if (this.last !== undefined && queue === this.lastQueue && namespace === this.lastNamespace) {
      return this.last;
    }
    const known = this.open.get(namespace)?.queues.get(queue);
    this.last = known ?? this.admit(namespace, queue);
    this.lastNamespace = namespace;
    this.lastQueue = queue;
    return this.last;
  }

  /**
   * Writes all statistics collected so far.
   *
   * @throws {QueueError} an error of the store: the next flush writes the rest; nothing is counted twice
   */
  async flush(): Promise<void> {
    await this.flushAll();
  }

  /** Like `flush`; flushes run one after the other. @returns of how many queues something was written */
  private flushAll(): Promise<number> {
    const before = this.flushing ?? Promise.resolve();
    const flushing = before.then(() => this.write());
    const settled: Promise<void> = flushing
      .catch(() => undefined)
      .then(() => {
        if (this.flushing === settled) this.flushing = undefined;
      });
    this.flushing = settled;
    return flushing;
  }

  /**
   * The statistics of a queue on a day, as far as servers have written them: all but the last second.
   *
   * @param queue `OTHER_QUEUES` for those that are not counted separately; null = the sum of all queues
   * @param day counted from 1970-01-01, UTC
   */
  async read(namespace: string, queue: string | null, day: number): Promise<Tally> {
    const key = this.pool.keys.day(namespace, day);
    if (queue !== null) {
      const text = await this.pool.read('HGET', key, queue);
      return Tally.ofText(typeof text === 'string' ? text : '');
    }
    const sum = new Tally();
    for (const [field, text] of await hashEntries(this.pool, key)) {
      // Other fields are the batches of servers.
      if (field === OTHER_QUEUES || hasLegalCharacters(field)) sum.merge(Tally.ofText(text));
    }
    return sum;
  }

  /**
   * Counts the jobs that died on a day and are still dead. Costs a Redis command for each queue.
   *
   * @param queue null = all queues
   */
  async stillDead(namespace: string, queue: string | null, day: number): Promise<number> {
    const { keys } = this.pool;
    const { queues } = keys.namespace(namespace);
    const numbers: unknown[] =
      queue === null
        ? [...(await hashEntries(this.pool, queues)).values()]
        : [await this.pool.read('HGET', queues, queue)];
    const [from, to] = [day * DAY_MS, `(${String((day + 1) * DAY_MS)}`];
    let dead = 0;
    for (let i = 0; i < numbers.length; i += COUNTED_AT_ONCE) {
      const some = numbers.slice(i, i + COUNTED_AT_ONCE).filter((number) => number !== null);
      // The number of an extended queue is stored below zero.
      const dlqs = some.map((number) => keys.queue(namespace, 'd', Math.abs(Number(number))));
      const counts = await Promise.all(dlqs.map((key) => this.pool.read('ZCOUNT', key, from, to)));
      for (const count of counts) dead += Number(count);
    }
    return dead;
  }

  /** The queues that have statistics of a day: jobs of them were published, leased, failed or ended. Not sorted. */
  async queuesOf(namespace: string, day: number): Promise<string[]> {
    const fields: unknown = await this.pool.read('HKEYS', this.pool.keys.day(namespace, day));
    // Other fields are `OTHER_QUEUES` and the batches of servers.
    return Array.isArray(fields) ? fields.map(String).filter(hasLegalCharacters) : [];
  }

  /** Today, by Redis's clock, counted from 1970-01-01, UTC. */
  today(): number {
    return Math.floor(this.runner.now() / DAY_MS);
  }

  private admit(namespace: string, queue: string): Tally {
    if (this.openQueues === 0) this.day = this.today();
    let tallies = this.open.get(namespace);
    if (!tallies) this.open.set(namespace, (tallies = { sinceMs: this.runner.now(), queues: new Map() }));
    const { queues } = tallies;
    const isOther = this.openQueues >= MOST_OPEN || this.others.has(namespace, queue, this.day);
    const name = isOther ? OTHER_QUEUES : queue;
    let tally = queues.get(name);
    if (!tally) {
      tally = new Tally();
      queues.set(name, tally);
      this.openQueues += 1;
    }
    return tally;
  }

  /** Flushes at midnight at the latest: all open tallies are of one day. */
  private pauseMs(): number {
    return Math.min(FLUSH_MS, DAY_MS - (this.runner.now() % DAY_MS));
  }

  private async flushIfUp(): Promise<number> {
    if (this.pool.status.up) return this.flushAll();
    this.seal();
    return 0;
  }

  /** Moves the open tallies to the pending ones, which do not change any more. */
  private seal(): void {
    // A reply that was read after a purge may tell of what was done before it.
    const slowestMs = this.pool.clock.takeSlowest();
    const ageMs = Math.ceil(Math.max(slowestMs, this.slowestMs));
    this.slowestMs = slowestMs;
    for (const [namespace, { sinceMs, queues }] of this.open)
      this.pending.add(namespace, this.day, sinceMs - /* guard: replies-read-after-a-purge */ ageMs, queues);
    this.open = new Map();
    this.openQueues = 0;
    this.last = undefined;
  }

  private async write(): Promise<number> {
    this.seal();
    // guard: statistics-others-reread
    if (++this.flushes % RELEARN_EVERY === 0) this.others.clear();
    const namespaces = this.pending.namespaces();
    const failures: unknown[] = [];
    let written = 0;
    const worker = async (): Promise<void> => {
      // When one finds the store unavailable, the others stop too.
      for (
        let next = namespaces.pop();
        next !== undefined && failures.length === 0;
        next = namespaces.pop()
      ) {
        const queues = await this.writeNamespace(next).catch((error: unknown) => {
          failures.push(error);
          return 0;
        });
        written += queues;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    if (failures.length > 0) throw failures[0];
    return written;
  }

  /** Writes batches in the order of their sequence numbers: the store ignores numbers below the last one written. */
  private async writeNamespace(namespace: string): Promise<number> {
    let queues = 0;
    for (let batch = this.pending.first(namespace); batch; batch = this.pending.first(namespace)) {
      await this.send(namespace, batch);
      this.pending.done(namespace, batch);
      queues += batch.items.length;
    }
    return queues;
  }

  private async send(namespace: string, batch: Batch): Promise<void> {
    const { historyDays, maxQueues } = this.options;
    const { day, sequence, sinceMs, items } = batch;
    const args = {
      ...{ day, source: this.source, sequence, default_days: historyDays, most: maxQueues },
      since_ms: sinceMs,
    };
    try {
      const { others } = await this.runner.run(tallyScript, namespace, args, items);
      for (const place of others) this.others.add(namespace, String(items[place]?.[0]), day);
    } catch (error) {
      // An error that is not the store's would occur every time, and block the batches after it.
      if (!(error instanceof QueueError)) this.pending.done(namespace, batch);
      throw error;
    }
  }
}
