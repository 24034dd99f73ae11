import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';

/** A job as a lmstfy server stores it; times in seconds. */
export interface LmstfyJob {
  readonly body?: string | Buffer;
  readonly delayS?: number;
  /** 0 = for ever. */
  readonly ttlS?: number;
  readonly tries?: number;
  readonly attributes?: Readonly<Record<string, string>>;
}

/** A key of a recorded store; values of lists, strings and members are base64. None has a TTL. */
type RecordedKey = { readonly key: string } & (
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'list'; readonly value: readonly string[] }
  | { readonly type: 'hash'; readonly value: Readonly<Record<string, string>> }
  | { readonly type: 'zset'; readonly value: readonly (readonly [member: string, score: string])[] }
);

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** What is due goes to its queue, or to the dead letter; what is gone is dropped. */
const PUMP = `
local due = redis.call("ZRANGEBYSCORE", KEYS[1], 0, ARGV[1], "LIMIT", 0, 100)
for _, member in ipairs(due) do
  local ns, q, tries, id = struct.unpack("<Hc0Hc0HHc0", member)
  local name = ns .. "/" .. q
  if redis.call("EXISTS", "j/" .. name .. "/" .. id) == 1 then
    if tries == 0 then
      redis.call("PERSIST", "j/" .. name .. "/" .. id)
      redis.call("LPUSH", "d/" .. name, struct.pack("<HHc0", 1, #id, id))
    else
      redis.call("LPUSH", "q/" .. name, struct.pack("<HHc0", tries, #id, id))
    end
  end
end
if #due > 0 then redis.call("ZREM", KEYS[1], unpack(due)) end
return #due`;

/** Does in a Redis what a lmstfy server does for its clients: the same keys, the same commands, in the same order. */
export class LmstfyStore {
  readonly redis: Redis;

  constructor(url: string) {
    this.redis = new Redis(url, { protocol: 2 });
  }

  close(): void {
    this.redis.disconnect();
  }

  /** @returns the job's id */
  async publish(namespace: string, queue: string, job: LmstfyJob = {}): Promise<string> {
    const { body = 'body', delayS = 0, ttlS = 86_400, tries = 1, attributes } = job;
    const id = `${attributes ? '1' : ''}${ulid(Date.now(), delayS)}`;
    const bytes = Buffer.from(body);
    const value = attributes ? JSON.stringify({ body: bytes.toString('base64'), attributes }) : bytes;
    const key = `j/${namespace}/${queue}/${id}`;
    await this.redis.hset('m/ns', namespace, 1);
    await this.redis.hset(`m/ns/${namespace}`, queue, 1);
    if (ttlS > 0) await this.redis.set(key, value, 'EX', ttlS, 'NX');
    else await this.redis.set(key, value, 'NX');
    if (delayS === 0) await this.redis.lpush(`q/${namespace}/${queue}`, packEntry(tries, id));
    else await this.redis.zadd('timer_set', nowS() + delayS, packTimer(namespace, queue, tries, id));
    return id;
  }

  /** Takes the oldest job for `ttrS`; null if there is none. */
  async consume(
    namespace: string,
    queue: string,
    ttrS: number,
  ): Promise<{ id: string; body: string } | null> {
    for (;;) {
      const entry = await this.redis.rpopBuffer(`q/${namespace}/${queue}`);
      if (!entry) return null;
      const [tries, id] = [entry.readUInt16LE(0), entry.toString('latin1', 4)];
      await this.redis.zadd('timer_set', nowS() + ttrS, packTimer(namespace, queue, tries - 1, id));
      const body = await this.redis.get(`j/${namespace}/${queue}/${id}`);
      if (body !== null) return { id, body };
    }
  }

  async ack(namespace: string, queue: string, id: string): Promise<void> {
    await this.redis.del(`j/${namespace}/${queue}/${id}`);
  }

  /** Moves what is due by `atS`, Unix seconds; by default now. */
  async pump(atS = nowS()): Promise<void> {
    while ((await this.redis.eval(PUMP, 1, 'timer_set', atS)) === 100);
  }

  async token(pool: string, namespace: string, token: string, description: string): Promise<void> {
    await this.redis.hset(`tk/${pool}/${namespace}`, token, description);
  }

  async limit(pool: string, namespace: string, token: string, limit: object): Promise<void> {
    await this.redis.hset('__throttler_keys__', `${pool}/${namespace}/${token}`, JSON.stringify(limit));
  }

  /**
   * Restores what a real lmstfy server had stored when test/fixtures/lmstfy-store.json was recorded. Its delayed jobs and
   * its leases end ten years later.
   */
  async restoreRecorded(): Promise<void> {
    const path = new URL('../fixtures/lmstfy-store.json', import.meta.url);
    const { keys } = JSON.parse(readFileSync(path, 'utf8')) as { keys: RecordedKey[] };
    const bytes = (text: string): Buffer => Buffer.from(text, 'base64');
    for (const { key, type, value } of keys) {
      if (type === 'string') await this.redis.set(key, bytes(value));
      else if (type === 'list') await this.redis.rpush(key, ...value.map(bytes));
      else if (type === 'hash') await this.redis.hset(key, value);
      else for (const [member, score] of value) await this.redis.zadd(key, score, bytes(member));
    }
  }

  /** Every key with its contents, and when it expires, to the second. */
  async contents(): Promise<Record<string, unknown>> {
    const all: Record<string, unknown> = {};
    for (const key of (await this.redis.keys('*')).sort()) {
      all[key] = [
        (await this.redis.dumpBuffer(key)).toString('hex'),
        Math.round((await this.redis.pexpiretime(key)) / 1_000),
      ];
    }
    return all;
  }
}

function nowS(): number {
  return Math.floor(Date.now() / 1_000);
}

/** A ULID whose last four bytes are the delay. */
function ulid(timeMs: number, delayS: number): string {
  const bytes = Buffer.concat([Buffer.alloc(6), randomBytes(10)]);
  bytes.writeUIntBE(timeMs, 0, 6);
  bytes.writeUInt32LE(delayS, 12);
  let bits = BigInt(`0x${bytes.toString('hex')}`);
  let text = '';
  for (let i = 0; i < 26; i++, bits >>= 5n) text = ALPHABET.charAt(Number(bits & 31n)) + text;
  return text;
}

function packText(text: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16LE(text.length);
  return Buffer.concat([length, Buffer.from(text)]);
}

function packEntry(tries: number, id: string): Buffer {
  const head = Buffer.alloc(2);
  head.writeUInt16LE(tries);
  return Buffer.concat([head, packText(id)]);
}

function packTimer(namespace: string, queue: string, tries: number, id: string): Buffer {
  return Buffer.concat([packText(namespace), packText(queue), packEntry(tries, id)]);
}
