import { randomBytes } from 'node:crypto';
import { QueueError } from '../../domain/errors.js';
import type { RedisPool } from '../../redis/pool.js';
import { tally as tallyScript } from '../../redis/scripts/plain.js';
import type { EngineObserver } from '../observer.js';
import type { ScriptRunner } from '../script-runner.js';
import { OtherQueues } from './other-queues.js';
import { Outbox, type Batch } from './outbox.js';
import { Tally } from './tally.js';

/** What may be chosen about statistics. */
export interface StatisticsOptions {
  /** How many days a day is kept after its end, unless its namespace says otherwise; 0 = no statistics. */
  readonly historyDays: number;
  /** Queues of one namespace and day with numbers of their own; those beyond are added up as `OTHER_QUEUES`. */
  readonly maxQueues: number;
}

/** What may be asked of the statistics of a pool. */
export type StatisticsReading = Pick<Statistics, 'read' | 'today'>;

export const DEFAULT_STATISTICS: StatisticsOptions = { historyDays: 30, maxQueues: 1_000 };

/** What those queues are called that have no numbers of their own: no queue can have this name. */
export const OTHER_QUEUES = '*';

/** Milliseconds between two flushes: what a killed server loses of its statistics. */
const FLUSH_MS = 1_000;
const DAY_MS = 86_400_000;
/** After so many flushes it is found out anew which queues have no numbers of their own. */
const RELEARN_EVERY = 60;
/** Queues that one server remembers between two flushes, over all namespaces. */
const MOST_OPEN = 5_000;
/** Namespaces that are written at once: statistics must not crowd out jobs. */
const AT_ONCE = 4;

/**
 * Adds up in memory what becomes of jobs, and writes it once a second: nothing of it costs a command of Redis for each job. All servers
 * of a pool add to the same days.
 */
export class Statistics {
  private readonly source = randomBytes(9).toString('base64url');
  private readonly outbox = new Outbox();
  private readonly others = new OtherQueues();
  private open = new Map<string, Map<string, Tally>>();
  private openQueues = 0;
  private flushes = 0;
  /** The day of what is open. */
  private day = 0;
  private last: Tally | undefined;
  private lastNamespace = '';
  private lastQueue = '';
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> | undefined;

  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
    private readonly observer: EngineObserver,
    private readonly options: StatisticsOptions = DEFAULT_STATISTICS,
  ) {}

  start(): void {
    if (this.options.historyDays > 0) this.arm();
  }

  /** Writes what is left, if the store can be reached. */
  async stop(): Promise<void> {
    clearTimeout(this.timer);
    if (!this.timer) return;
    this.timer = undefined;
    await this.flushQuietly();
  }

  /** Where a queue's numbers are added up; good until the next turn of the event loop. */
  of(namespace: string, queue: string): Tally {
    // Most jobs are of the queue of the job before.
    if (this.last !== undefined && queue === this.lastQueue && namespace === this.lastNamespace) {
      return this.last;
    }
    const known = this.open.get(namespace)?.get(queue);
    this.last = known ?? this.admit(namespace, queue);
    this.lastNamespace = namespace;
    this.lastQueue = queue;
    return this.last;
  }

  /**
   * Writes all that was seen so far.
   *
   * @throws {QueueError} the store's own: what was not written goes with the next flush, and counts once
   */
  flush(): Promise<void> {
    const before = this.flushing ?? Promise.resolve();
    const flushing = before.then(() => this.write());
    const settled = flushing
      .catch(() => undefined)
      .then(() => {
        if (this.flushing === settled) this.flushing = undefined;
      });
    this.flushing = settled;
    return flushing;
  }

  /**
   * What became of a queue's jobs on a day, as far as servers have written it: all but the last second.
   *
   * @param queue `OTHER_QUEUES` for those that have no numbers of their own
   * @param day counted from 1970-01-01, UTC
   */
  async read(namespace: string, queue: string, day: number): Promise<Tally> {
    const text = await this.pool.read('HGET', this.pool.keys.day(namespace, day), queue);
    return Tally.ofText(typeof text === 'string' ? text : '');
  }

  /** Today, by Redis's clock, counted from 1970-01-01, UTC. */
  today(): number {
    return Math.floor(this.runner.now() / DAY_MS);
  }

  private admit(namespace: string, queue: string): Tally {
    if (this.openQueues === 0) this.day = this.today();
    let queues = this.open.get(namespace);
    if (!queues) this.open.set(namespace, (queues = new Map<string, Tally>()));
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

  /** At midnight at the latest: what is open is of one day. */
  private arm(): void {
    const toMidnightMs = DAY_MS - (this.runner.now() % DAY_MS);
    this.timer = setTimeout(
      () => {
        void this.flushQuietly().then(() => this.timer && this.arm());
      },
      Math.min(FLUSH_MS, toMidnightMs),
    );
    this.timer.unref();
  }

  private async flushQuietly(): Promise<void> {
    if (!this.pool.status.up) {
      this.seal();
      return;
    }
    await this.flush().catch((error: unknown) => this.observer.loopError('statistics', error));
  }

  /** Closes what is open: it is written as it is from here on. */
  private seal(): void {
    for (const [namespace, queues] of this.open) this.outbox.add(namespace, this.day, queues);
    this.open = new Map();
    this.openQueues = 0;
    this.last = undefined;
  }

  private async write(): Promise<void> {
    this.seal();
    if (++this.flushes % RELEARN_EVERY === 0) this.others.clear();
    const namespaces = this.outbox.namespaces();
    const failures: unknown[] = [];
    const lane = async (): Promise<void> => {
      // Where one finds no store, the others need not look for it.
      for (
        let next = namespaces.pop();
        next !== undefined && failures.length === 0;
        next = namespaces.pop()
      ) {
        await this.writeNamespace(next).catch((error: unknown) => failures.push(error));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    if (failures.length > 0) throw failures[0];
  }

  /** In the order of their numbers: one that is written closes the door behind those before it. */
  private async writeNamespace(namespace: string): Promise<void> {
    for (let batch = this.outbox.first(namespace); batch; batch = this.outbox.first(namespace)) {
      await this.send(namespace, batch);
      this.outbox.done(namespace, batch);
    }
  }

  private async send(namespace: string, batch: Batch): Promise<void> {
    const { historyDays, maxQueues } = this.options;
    const { day, sequence, items } = batch;
    const args = { day, source: this.source, sequence, default_days: historyDays, most: maxQueues };
    try {
      const { others } = await this.runner.run(tallyScript, namespace, args, items);
      for (const place of others) this.others.add(namespace, String(items[place]?.[0]), day);
    } catch (error) {
      // What is no fault of the store would fail for ever, and keep what comes after it from being written.
      if (!(error instanceof QueueError)) this.outbox.done(namespace, batch);
      throw error;
    }
  }
}
