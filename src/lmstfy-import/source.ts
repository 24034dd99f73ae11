import { Redis } from 'ioredis';
import { script, scriptText } from '../redis/scripts/script.js';
import {
  listKey,
  NAMESPACES,
  payloadKey,
  queueOfKey,
  TIMER,
  type Entry,
  type ListKind,
  type QueueName,
} from './layout.js';

/** What an import holds in hand stands under keys that begin so. No lmstfy server looks there. */
const IN_HAND = 'pumphouse:import:';
/** Values that could not be read are kept here, for a person to look at. */
const UNREADABLE = `${IN_HAND}unreadable`;
const COMMAND_TIMEOUT_MS = 10_000;
const SCAN_COUNT = 1_000;

/** Moves members of the timer in hand; runs in lmstfy's Redis. */
export const takeTimer = script({
  name: 'lmstfy_take_timer',
  keys: ['timer', 'in_hand'],
  args: [],
  item: ['member'],
  repeatable: true,
  reply: Number,
});

/** Every script that runs in lmstfy's Redis: held against its header by a test. */
export const LMSTFY_SCRIPTS = [takeTimer] as const;

/** A job's value, and the milliseconds that it has left: 0 = for ever. Null if it is gone: expired, or done. */
export type Value = { readonly bytes: Buffer; readonly ttlLeftMs: number } | null;

/** A member of the timer with its due time, Unix seconds. */
export interface Member {
  readonly bytes: Buffer;
  readonly dueS: number;
}

/** The Redis of a lmstfy server: what is in it, and how to take it out. Every call fails within ten seconds, or is done. */
export class LmstfySource {
  private constructor(readonly redis: Redis) {}

  /** @throws {Error} there is no answer */
  static async open(url: string): Promise<LmstfySource> {
    const redis = new Redis(url, {
      protocol: 2,
      lazyConnect: true,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 3,
      commandTimeout: COMMAND_TIMEOUT_MS,
      connectionName: 'pumphouse import',
    });
    redis.on('error', () => undefined);
    try {
      await redis.connect();
    } catch (error) {
      redis.disconnect();
      throw error;
    }
    return new LmstfySource(redis);
  }

  close(): void {
    this.redis.disconnect();
  }

  /** Its clock, Unix ms. */
  async nowMs(): Promise<number> {
    const [seconds, micros] = await this.redis.time();
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  }

  /** The queues that its own lists name; with `all`, also those that only a look at every key finds. By namespace and name. */
  async queues(all: boolean): Promise<QueueName[]> {
    const found = new Map<string, QueueName>();
    const note = (key: string): void => {
      const name = queueOfKey(key);
      if (name) found.set(listKey('q', name), name);
    };
    for (const namespace of await this.redis.hkeys(NAMESPACES)) {
      for (const queue of await this.redis.hkeys(`${NAMESPACES}/${namespace}`))
        note(`q/${namespace}/${queue}`);
    }
    if (all) {
      for (const kind of ['q', 'd']) {
        for await (const key of this.scan(`${kind}/*`)) note(key);
        for await (const key of this.scan(`${IN_HAND}${kind}/*`)) note(key.slice(IN_HAND.length));
      }
    }
    return [...found.keys()].sort().flatMap((key) => found.get(key) ?? []);
  }

  /** Keys by a pattern, whatever happens meanwhile to others. */
  async *scan(pattern: string): AsyncGenerator<string> {
    let cursor = '0';
    do {
      const [next, keys] = await this.redis.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT);
      yield* keys;
      cursor = next;
    } while (cursor !== '0');
  }

  /** How many entries a queue's list has, those in hand too. */
  async length(kind: ListKind, name: QueueName): Promise<number> {
    const key = listKey(kind, name);
    return (await this.redis.llen(key)) + (await this.redis.llen(`${IN_HAND}${key}`));
  }

  /** Entries of a list in their order, the oldest first, after the first `skip`. */
  async read(kind: ListKind, name: QueueName, skip: number, count: number): Promise<Buffer[]> {
    const found = await this.redis.lrangeBuffer(listKey(kind, name), -skip - count, -skip - 1);
    return found.reverse();
  }

  /** Takes the oldest entries in hand, where no server finds them; what an earlier run had in hand comes first. */
  async take(kind: ListKind, name: QueueName, count: number): Promise<Buffer[]> {
    const key = listKey(kind, name);
    const inHand = `${IN_HAND}${key}`;
    if ((await this.redis.exists(inHand)) === 0) {
      const pipeline = this.redis.pipeline();
      for (let i = 0; i < count; i++) pipeline.rpoplpush(key, inHand);
      await done(pipeline.exec());
    }
    return (await this.redis.lrangeBuffer(inHand, 0, -1)).reverse();
  }

  /** Lets go of what is in hand of a list, and removes the jobs: they are stored elsewhere, or were gone. */
  async release(
    kind: ListKind,
    name: QueueName,
    entries: readonly Entry[],
    unreadable: readonly Buffer[],
  ): Promise<void> {
    const keys = entries.map(({ id }) => payloadKey(name, id));
    await this.letGo(`${IN_HAND}${listKey(kind, name)}`, keys, unreadable);
  }

  /** Members of the timer by due time, after the first `skip`. */
  async readTimer(skip: number, count: number): Promise<Member[]> {
    return members(
      await this.redis.zrangeBuffer(TIMER, String(skip), String(skip + count - 1), 'WITHSCORES'),
    );
  }

  /** All members of the timer, whatever happens meanwhile to others; some may come twice. */
  async *scanTimer(): AsyncGenerator<Member[]> {
    let cursor = '0';
    do {
      const [next, page] = await this.redis.zscanBuffer(TIMER, cursor, 'COUNT', SCAN_COUNT);
      yield members(page);
      cursor = next.toString();
    } while (cursor !== '0');
  }

  /** Takes members of the timer in hand, but for those that the server has moved by now. @returns how many */
  async takeTimer(found: readonly Member[]): Promise<number> {
    const { text } = scriptText(takeTimer.name);
    const bytes = found.map((member) => member.bytes);
    return takeTimer.reply(await this.redis.call('EVAL', text, 2, TIMER, `${IN_HAND}${TIMER}`, ...bytes));
  }

  async timerInHand(): Promise<Member[]> {
    return members(await this.redis.zrangeBuffer(`${IN_HAND}${TIMER}`, '0', '-1', 'WITHSCORES'));
  }

  async releaseTimer(entries: readonly (Entry & QueueName)[], unreadable: readonly Buffer[]): Promise<void> {
    const keys = entries.map((entry) => payloadKey(entry, entry.id));
    await this.letGo(`${IN_HAND}${TIMER}`, keys, unreadable);
  }

  /** The values of jobs, in order. */
  async values(jobs: readonly (Entry & QueueName)[]): Promise<Value[]> {
    const pipeline = this.redis.pipeline();
    for (const job of jobs) {
      const key = payloadKey(job, job.id);
      pipeline.getBuffer(key).pttl(key);
    }
    const replies = await done(pipeline.exec());
    return jobs.map((_job, i) => {
      const [bytes, pttl] = [replies[2 * i], Number(replies[2 * i + 1])];
      // It may end between the two: then it is gone.
      if (!Buffer.isBuffer(bytes) || pttl === -2) return null;
      return { bytes, ttlLeftMs: pttl < 0 ? 0 : Math.max(pttl, 1) };
    });
  }

  private async letGo(inHand: string, keys: readonly string[], unreadable: readonly Buffer[]): Promise<void> {
    const all = this.redis.multi().del(inHand);
    if (keys.length > 0) all.del(...keys);
    if (unreadable.length > 0) all.lpush(UNREADABLE, ...unreadable);
    await done(all.exec());
  }
}

/** The replies of a pipeline. @throws {Error} one of its commands failed */
async function done(replies: Promise<[Error | null, unknown][] | null>): Promise<unknown[]> {
  return ((await replies) ?? []).map(([error, reply]) => {
    if (error) throw error;
    return reply;
  });
}

function members(flat: readonly Buffer[]): Member[] {
  const found: Member[] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const [bytes, due] = [flat[i], flat[i + 1]];
    if (bytes && due) found.push({ bytes, dueS: Number(due.toString()) });
  }
  return found;
}
