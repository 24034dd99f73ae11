import { randomBytes } from 'node:crypto';
import type { RedisPool } from '../../redis/pool.js';
import { arriveRecurring, endLeaving, leaveRecurring } from '../../redis/scripts/extended.js';
import { leaveStatistics } from '../../redis/scripts/simple.js';
import { integerAt } from '../../redis/scripts/script.js';
import { addStatistics } from '../../redis/scripts/simple.js';
import { textsOf } from '../core/flat-lists.js';
import { hashEntries } from '../core/hash-entries.js';
import type { ScriptRunner } from '../core/scripts.js';
import type { ScheduleWakeup } from '../timers/schedule-wakeup.js';
import { isFull } from './move-errors.js';

/** Replies of the scripts that move a recurring job. */
const STANDS_STILL = 1;
const STAYS = 2;
const ARRIVED = { stored: 0, before: 1, removed: 2, kept: 3 } as const;
/** Statistics of so many queues are added by one script call. */
const BATCH = 32;
const SOURCE = 'move';
/** Keys that Redis checks for a page of a scan. */
const PAGE = 500;
/** A worker is forgotten then, unless a heartbeat or a request comes, which heed the namespace's settings. */
const WORKER_AGE_MS = 86_400_000;
/** More queues than a day has: all that another store counted separately are counted separately. */
const MOST_QUEUES = 1_000_000;

/** A recurring job that stands still because it moves to another store. */
export interface LeavingRecurring {
  readonly handover: string;
  /** Fields and values as they are stored. */
  readonly fields: readonly Buffer[];
}

/** A key of a namespace: what follows its `{ns}` (latin1), and the key. */
export interface FoundKey {
  readonly namespace: string;
  readonly rest: string;
  readonly key: Buffer;
}

/** The records of one store, as a move between two stores takes and stores them. */
export class MovableRecords {
  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
    private readonly scheduleWakeup: ScheduleWakeup,
    private readonly defaultDays: number,
  ) {}

  /** Redis's time, Unix ms. */
  now(): number {
    return this.runner.now();
  }

  /** The keys of all namespaces but those of single jobs, page by page. */
  async *scan(): AsyncGenerator<FoundKey[]> {
    for (const pattern of [`${this.pool.keys.allOf('*').slice(0, -1)}:*`, this.pool.keys.uniqueKey('*', '*')])
      for await (const page of this.pool.scan(pattern, PAGE)) yield page.flatMap((key) => this.foundOf(key));
  }

  private foundOf(key: Buffer): FoundKey[] {
    const text = key.toString('latin1');
    const [begin, end] = [this.pool.keys.allOf('').indexOf('{') + 1, text.indexOf('}')];
    return end < 0 ? [] : [{ namespace: text.slice(begin, end), rest: text.slice(end + 1), key }];
  }

  /** Marks that this process reads all keys of the store. @returns false if another process does, or has done so lately */
  async beginScan(lastsMs: number): Promise<boolean> {
    return this.markScan(lastsMs, 'NX');
  }

  async extendScan(lastsMs: number): Promise<void> {
    await this.markScan(lastsMs);
  }

  private async markScan(lastsMs: number, ...flags: string[]): Promise<boolean> {
    const { pool } = this;
    try {
      return (await pool.read('SET', pool.keys.moving, 'begun', ...flags, 'PX', lastsMs)) !== null;
    } catch (error) {
      // A full Redis takes no mark. Several processes may read all keys then.
      if (/* guard: full-store-is-scanned */ !isFull(error)) throw error;
      return true;
    }
  }

  /** A string or set with its Redis TTL, to be stored by `storeCopy`; null if it has none, or is gone. */
  async readCopy(
    key: Buffer,
  ): Promise<{ readonly items: readonly Buffer[]; readonly ttlMs: number; readonly isSet: boolean } | null> {
    const type = String(await this.pool.read('TYPE', key));
    const ttlMs = Number(await this.pool.read('PTTL', key));
    if (ttlMs <= 0) return null;
    const value: unknown =
      type === 'set' ? await this.pool.readBytes('SMEMBERS', key) : await this.pool.readBytes('GET', key);
    const items = (Array.isArray(value) ? value : [value]).filter((one) => Buffer.isBuffer(one));
    return items.length > 0 ? { items, ttlMs, isSet: type === 'set' } : null;
  }

  /** @returns whether anything was new */
  async storeCopy(
    { namespace, rest }: FoundKey,
    {
      items,
      ttlMs,
      isSet,
    }: { readonly items: readonly Buffer[]; readonly ttlMs: number; readonly isSet: boolean },
  ): Promise<boolean> {
    const base = this.pool.keys.allOf(namespace).slice(0, -1);
    const key = Buffer.from(base + rest, 'latin1');
    if (!isSet) {
      const [value] = items;
      return (await this.pool.read('SET', key, value as Buffer, 'NX', 'PX', ttlMs)) !== null;
    }
    let added = 0;
    for (let i = 0; i < items.length; i += PAGE)
      added += Number(await this.pool.read('SADD', key, ...items.slice(i, i + PAGE)));
    // A process that was killed may have added all of it, and not have said when it ends.
    // guard: copied-set-ends
    await this.pool.read('PEXPIRE', key, ttlMs, ...(added > 0 ? [] : ['NX']));
    return added > 0;
  }

  /** The ids of all recurring jobs. */
  async recurringIds(namespace: string): Promise<string[]> {
    const ids = await this.pool.read('ZRANGE', this.pool.keys.single(namespace, 'schedules'), 0, -1);
    return Array.isArray(ids) ? ids.map(String) : [];
  }

  /**
   * Stops a recurring job. @param refused the handover that the other store refuses. @returns null if there is none;
   * `stays`: not now, because of a job of it that has not ended
   */
  async leaveRecurring(
    namespace: string,
    id: string,
    refused = '',
  ): Promise<LeavingRecurring | 'stays' | null> {
    const handover = randomBytes(12).toString('base64url');
    const { found, fields } = await this.runner.run(leaveRecurring, namespace, { id, handover, refused });
    if (found === STAYS) return 'stays';
    if (found !== STANDS_STILL || !Array.isArray(fields)) return null;
    const flat = fields as Buffer[];
    const at = flat.findIndex((one, i) => i % 2 === 0 && String(one) === 'leaving');
    return { handover: String(flat[at + 1]), fields: flat };
  }

  /** @returns `gone`: it was removed here since, or has come before; `kept`: it must go on where it was */
  async arriveRecurring(
    namespace: string,
    id: string,
    { handover, fields }: LeavingRecurring,
  ): Promise<'stored' | 'gone' | 'kept'> {
    const items = Array.from({ length: fields.length / 2 }, (_, i) => fields.slice(i * 2, i * 2 + 2));
    const { raw } = await this.runner.run(arriveRecurring, namespace, { id, handover }, items);
    const code = integerAt(raw, 2);
    if (code === ARRIVED.kept) return 'kept';
    if (code !== ARRIVED.stored) return 'gone';
    this.scheduleWakeup(namespace, integerAt(raw, 3));
    return 'stored';
  }

  /** See lua/commands/extended/end_leaving.lua. */
  async endLeaving(
    namespace: string,
    id: string,
    handover: string,
    verb: 'remove' | 'keep' | 'refuse',
  ): Promise<boolean> {
    const { raw } = await this.runner.run(endLeaving, namespace, { id, handover, verb });
    this.scheduleWakeup(namespace, integerAt(raw, 3));
    return integerAt(raw, 2) === 1;
  }

  /** The handover of a recurring job that stands still; null if it does not. */
  async handoverOf(namespace: string, id: string): Promise<string | null> {
    const key = this.pool.keys.recurring(namespace, id);
    const handover = await this.pool.read('HGET', key, 'leaving');
    return typeof handover === 'string' ? handover : null;
  }

  /** Sets the statistics of a day aside. @returns its number, '' = none yet, and its tallies by queue */
  async takeDay(
    namespace: string,
    day: number,
  ): Promise<{ readonly number: string; readonly tallies: ReadonlyMap<string, string> }> {
    return this.dayOf(namespace, day, 'take', '');
  }

  /** Gives what is set aside its number, which is larger than those before. @returns its number */
  async numberDay(namespace: string, day: number, last: number): Promise<string> {
    return (await this.dayOf(namespace, day, 'number', String(last))).number;
  }

  async dropDay(namespace: string, day: number, number: string): Promise<void> {
    await this.dayOf(namespace, day, 'drop', number);
  }

  /** The number of the last batch that was moved here. */
  async lastBatch(namespace: string, day: number): Promise<number> {
    return Number(await this.pool.read('HGET', this.pool.keys.day(namespace, day), `:${SOURCE}`));
  }

  /** Adds statistics of another store, each batch once. @param sinceMs when they were taken there */
  async addDay(
    namespace: string,
    day: number,
    after: number,
    tallies: ReadonlyMap<string, string>,
    sinceMs: number,
  ): Promise<void> {
    const items = [...tallies].sort(([one], [other]) => (one < other ? -1 : 1));
    for (let i = 0; i < items.length; i += BATCH) {
      const args = {
        ...{ day, source: SOURCE, sequence: after + i / BATCH + 1, default_days: this.defaultDays },
        ...{ most: MOST_QUEUES, since_ms: sinceMs },
      };
      await this.runner.run(addStatistics, namespace, args, items.slice(i, i + BATCH));
    }
  }

  /** The workers with the time at which each was seen last, and which of them have a session. */
  async workers(namespace: string): Promise<ReadonlyMap<string, number>> {
    const flat = await this.pool.read(
      'ZRANGE',
      this.pool.keys.single(namespace, 'workers'),
      0,
      -1,
      'WITHSCORES',
    );
    const all = Array.isArray(flat) ? flat.map(String) : [];
    return new Map(all.flatMap((name, i) => (i % 2 === 0 ? [[name, Number(all[i + 1])] as const] : [])));
  }

  /** The fields of a session; empty if there is none. */
  session(namespace: string, worker: string): Promise<ReadonlyMap<string, string>> {
    return hashEntries(this.pool, this.pool.keys.session(namespace, worker));
  }

  /** Stores a session of another store, or the requests to it (quiet, stop) if it is here already. */
  async storeSession(namespace: string, worker: string, fields: ReadonlyMap<string, string>): Promise<void> {
    const { pool } = this;
    const key = pool.keys.session(namespace, worker);
    const [at, ttr] = [Number(fields.get('at')), Number(fields.get('ttr'))];
    // Its Redis TTL is set last: without one, a process was killed within this method.
    const isHere = /* guard: half-stored-session-is-stored-again */ Number(await pool.read('PTTL', key)) >= 0;
    for (const [field, value] of fields)
      if (!isHere || field === 'quiet' || field === 'stop') await pool.read('HSETNX', key, field, value);
    if (isHere) return;
    await this.runner.register(namespace);
    await pool.read('ZADD', pool.keys.single(namespace, 'workers'), 'GT', at, worker);
    const lostAtMs = at + ttr;
    if (lostAtMs > this.now())
      await pool.read('ZADD', pool.keys.single(namespace, 'sessions'), 'GT', lostAtMs, worker);
    await this.setTimer(namespace, 'W', at + WORKER_AGE_MS);
    await this.setTimer(namespace, 'H', lostAtMs);
    await pool.read('PEXPIRE', key, WORKER_AGE_MS + ttr);
  }

  /** Removes a session without telling that it ended. */
  async dropSession(namespace: string, worker: string): Promise<void> {
    await this.pool.read('DEL', this.pool.keys.session(namespace, worker));
    await this.pool.read('ZREM', this.pool.keys.single(namespace, 'sessions'), worker);
  }

  /** Records when a worker was seen in another store. */
  async seeWorker(namespace: string, worker: string, seenAtMs: number): Promise<void> {
    await this.runner.register(namespace);
    await this.pool.read('ZADD', this.pool.keys.single(namespace, 'workers'), 'GT', seenAtMs, worker);
    await this.setTimer(namespace, 'W', seenAtMs + WORKER_AGE_MS);
  }

  private async setTimer(namespace: string, timer: string, atMs: number): Promise<void> {
    const { keys } = this.pool;
    await this.pool.read('ZADD', keys.single(namespace, 'timers'), 'LT', atMs, timer);
    await this.pool.read('ZADD', keys.namespace(namespace).due, 'LT', atMs, '0');
    this.scheduleWakeup(namespace, atMs);
  }

  private async dayOf(namespace: string, day: number, verb: string, number: string) {
    const reply = await this.runner.run(leaveStatistics, namespace, { day, verb, number });
    // Fields that begin with a colon are numbers of batches.
    const tallies = [...textsOf(reply.fields)].filter(([field]) => !field.startsWith(':'));
    return { number: reply.number, tallies: new Map(tallies) };
  }
}
