import { Redis } from 'ioredis';
import { script } from '#src/redis/scripts/script';
import { scriptText } from '#src/redis/scripts/texts';
import { checkSetUp } from '#src/redis/set-up';
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

/** Prefix of the keys for entries that an import has taken but not yet stored. lmstfy servers do not use them. */
const IN_HAND = 'pumphouse:import:';
/** Values that could not be read are kept here for an operator. */
const UNREADABLE = `${IN_HAND}unreadable`;
const COMMAND_TIMEOUT_MS = 10_000;
const SCAN_COUNT = 1_000;

/** Moves members of the timer to the import's key; runs in lmstfy's Redis. */
export const takeTimer = script('maintenance/lmstfy_take_timer', { repeatable: true, reply: Number });

/** All scripts that run in lmstfy's Redis; a test compares each one with its header. */
export const LMSTFY_SCRIPTS = [takeTimer] as const;

/** A job's value and its remaining life in milliseconds: 0 = without end. Null if the job expired or was acknowledged. */
export type Value = { readonly bytes: Buffer; readonly ttlLeftMs: number } | null;

/** A member of the timer with its due time, Unix seconds. */
export interface Member {
  readonly bytes: Buffer;
  readonly dueS: number;
}

/** Client of a lmstfy server's Redis: reads its jobs and takes them out. Every call succeeds or fails within ten seconds. */
export class LmstfySource {
  private constructor(readonly redis: Redis) {}

  /** @throws {Error} Redis does not answer */
  static async open(url: string): Promise<LmstfySource> {
    const redis = new Redis(url, {
      protocol: 2,
      lazyConnect: true,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 3,
      commandTimeout: COMMAND_TIMEOUT_MS,
      connectionName: 'pumphouse-import',
    });
    let reason: Error | undefined;
    checkSetUp(redis).on('error', (error) => (reason ??= error));
    try {
      await redis.connect();
    } catch (error) {
      redis.disconnect();
      // The driver's error only says that the connection is closed.
      throw reason ?? error;
    }
    return new LmstfySource(redis);
  }

  close(): void {
    this.redis.disconnect();
  }

  /** Clock of that Redis, Unix ms. */
  async nowMs(): Promise<number> {
    const [seconds, micros] = await this.redis.time();
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  }

  /**
   * The queues in the server's own lists; with `all`, also queues that only a scan of all keys finds. Sorted by
   * namespace and name.
   */
  async queues(all: boolean): Promise<QueueName[]> {
    const found = new Map<string, QueueName>();
    const add = (key: string): void => {
      const name = queueOfKey(key);
      if (name) found.set(listKey('q', name), name);
    };
    for (const namespace of await this.redis.hkeys(NAMESPACES)) {
      for (const queue of await this.redis.hkeys(`${NAMESPACES}/${namespace}`))
        add(`q/${namespace}/${queue}`);
    }
    if (all) {
      for (const kind of ['q', 'd']) {
        for await (const key of this.scan(`${kind}/*`)) add(key);
        for await (const key of this.scan(`${IN_HAND}${kind}/*`)) add(key.slice(IN_HAND.length));
      }
    }
    return [...found.keys()].sort().flatMap((key) => found.get(key) ?? []);
  }

  /** Scans keys by a pattern. Finds every key that exists during the whole scan. */
  async *scan(pattern: string): AsyncGenerator<string> {
    let cursor = '0';
    do {
      const [next, keys] = await this.redis.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT);
      yield* keys;
      cursor = next;
    } while (cursor !== '0');
  }

  /** Number of entries in a queue's list, including those that an import has taken. */
  async length(kind: ListKind, name: QueueName): Promise<number> {
    const key = listKey(kind, name);
    return (await this.redis.llen(key)) + (await this.redis.llen(`${IN_HAND}${key}`));
  }

  /** Reads list entries in order, the oldest first, after the first `skip`. */
  async read(kind: ListKind, name: QueueName, skip: number, count: number): Promise<Buffer[]> {
    const found = await this.redis.lrangeBuffer(listKey(kind, name), -skip - count, -skip - 1);
    return found.reverse();
  }

  /**
   * Moves the oldest entries to the import's own key, where no lmstfy server finds them. Entries taken by an earlier
   * run come first.
   */
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

  /** Deletes the taken entries of a list, and their jobs: those are stored in the engine now, or were gone. */
  async release(
    kind: ListKind,
    name: QueueName,
    entries: readonly Entry[],
    unreadable: readonly Buffer[],
  ): Promise<void> {
    const keys = entries.map(({ id }) => payloadKey(name, id));
    await this.deleteTaken(`${IN_HAND}${listKey(kind, name)}`, keys, unreadable);
  }

  /** Reads members of the timer by due time, after the first `skip`. */
  async readTimer(skip: number, count: number): Promise<Member[]> {
    return members(
      await this.redis.zrangeBuffer(TIMER, String(skip), String(skip + count - 1), 'WITHSCORES'),
    );
  }

  /** Scans the timer. Finds every member that exists during the whole scan; some may come twice. */
  async *scanTimer(): AsyncGenerator<Member[]> {
    let cursor = '0';
    do {
      const [next, page] = await this.redis.zscanBuffer(TIMER, cursor, 'COUNT', SCAN_COUNT);
      yield members(page);
      cursor = next.toString();
    } while (cursor !== '0');
  }

  /** Moves members of the timer to the import's key, except those that the server has moved already. @returns how many */
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
    await this.deleteTaken(`${IN_HAND}${TIMER}`, keys, unreadable);
  }

  /** Reads the values of jobs, in order. */
  async values(jobs: readonly (Entry & QueueName)[]): Promise<Value[]> {
    const pipeline = this.redis.pipeline();
    for (const job of jobs) {
      const key = payloadKey(job, job.id);
      pipeline.getBuffer(key).pttl(key);
    }
    const replies = await done(pipeline.exec());
    return jobs.map((_job, i) => {
      const [bytes, pttl] = [replies[2 * i], Number(replies[2 * i + 1])];
      // The job may end between the two commands; then it is gone.
      if (!Buffer.isBuffer(bytes) || pttl === -2) return null;
      return { bytes, ttlLeftMs: pttl < 0 ? 0 : Math.max(pttl, 1) };
    });
  }

  private async deleteTaken(
    inHand: string,
    keys: readonly string[],
    unreadable: readonly Buffer[],
  ): Promise<void> {
    const all = this.redis.multi().del(inHand);
    if (keys.length > 0) all.del(...keys);
    if (unreadable.length > 0) all.lpush(UNREADABLE, ...unreadable);
    await done(all.exec());
  }
}

/** Returns the replies of a pipeline. @throws {Error} one of its commands failed */
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
