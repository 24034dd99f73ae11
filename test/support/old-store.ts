import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import type { LeasedJob } from '../../src/domain/job/job.js';

const FIXTURES = join(import.meta.dirname, '..', 'fixtures');

interface StoredKey {
  readonly key: string;
  readonly type: 'string' | 'list' | 'set' | 'hash' | 'zset';
  /** 0 = it has none of Redis's own. */
  readonly ttlMs: number;
  /** Members and scores, or fields and values, in turn. All in base64. */
  readonly value: readonly string[];
}

/** A store as an older build left it: test/fixtures/make-store.mjs made it, and says of what. */
export interface OldStore {
  /** What its clock said, Unix ms. */
  readonly nowMs: number;
  /** Of the jobs that were leased when it was left. */
  readonly leases: readonly Pick<LeasedJob, 'id' | 'lease'>[];
  /** The same of extended jobs; a build before data format 3 has none. */
  readonly extended?: readonly Pick<LeasedJob, 'id' | 'lease'>[];
}

/** Fills an empty Redis with a store of test/fixtures. */
export async function restoreStore(redis: Redis, name: string): Promise<OldStore> {
  const file = join(FIXTURES, `store-${name}.json`);
  const { keys, ...store } = JSON.parse(readFileSync(file, 'utf8')) as OldStore & { keys: StoredKey[] };
  for (const { key: name, type, ttlMs, value } of keys) {
    const key = Buffer.from(name, 'base64');
    const parts = value.map((part) => Buffer.from(part, 'base64'));
    if (type === 'string') await redis.set(key, parts[0]!);
    else if (type === 'list') await redis.rpush(key, ...parts);
    else if (type === 'set') await redis.sadd(key, ...parts);
    else if (type === 'hash') await redis.call('HSET', key, ...parts);
    else for (let i = 0; i < parts.length; i += 2) await redis.zadd(key, String(parts[i + 1]), parts[i]!);
    if (ttlMs > 0) await redis.pexpire(key, ttlMs);
  }
  return store;
}
