import fc from 'fast-check';
import { tokenDigest } from '../../src/auth/credentials.js';
import { Throttle } from '../../src/auth/throttle.js';
import { TokenKeys } from '../../src/auth/token-keys.js';
import { TokenCache } from '../../src/auth/token-cache.js';
import { TOKEN_SCRIPTS } from '../../src/auth/token-scripts.js';
import { TokenInventory } from '../../src/auth/token-inventory.js';
import { TokenStore } from '../../src/auth/token-store.js';
import { QueueError } from '../../src/domain/errors.js';
import type { PoolOptions, PoolTarget } from '../../src/domain/pool.js';
import { RedisPool } from '../../src/redis/pool.js';
import { loadScript } from '../../src/redis/scripts/script.js';
import { randomNamespace, startRedis, testKeys, testTarget, waitFor } from '../support/redis.js';

const noop = () => undefined;
const quiet = { debug: noop, info: noop, warn: noop, error: noop };

function optionsFor(target: PoolTarget): PoolOptions {
  return {
    ...target,
    allowUnsafe: false,
    keyPrefix: `${randomNamespace('prefix')}:`,
    commandTimeoutMs: 1_000,
  };
}

describe('the token store', () => {
  let redis: RedisPool;
  let store: TokenStore;
  let keys: TokenKeys;
  let namespace: string;

  beforeAll(async () => {
    const options = optionsFor(testTarget());
    redis = await RedisPool.connect('tokens', options, quiet);
    store = new TokenStore(redis);
    keys = new TokenKeys(options.keyPrefix);
  });

  afterAll(() => redis.close());

  beforeEach(() => (namespace = randomNamespace()));

  const allKeys = () => testKeys(`${redis.options.keyPrefix}pumphouse-auth*`);
  const listed = () => new TokenInventory(redis).describeAll(namespace, 'default');
  const find = (token: string, pool = 'default') => store.find(tokenDigest(pool, namespace, token));

  it('keeps a token with its description, found by its digest and in its list', async () => {
    const token = await store.create(namespace, 'default', 'mine');
    expect(await find(token)).toEqual({
      pool: 'default',
      namespace,
      token,
      description: 'mine',
      limit: null,
      rights: null,
    });
    await store.create(namespace, 'other', 'not here');
    expect((await listed()).map((record) => record.token)).toEqual([token]);
  });

  it('lists tokens in the order of their making', async () => {
    const made = [];
    for (let i = 0; i < 20; i++) made.push(await store.create(namespace, 'default', 'd'));
    expect((await listed()).map(({ token }) => token)).toEqual(made);
  });

  it('refuses a chosen token that is there already, and leaves it as it was', async () => {
    await store.create(namespace, 'default', 'first', 'chosen');
    await expect(store.create(namespace, 'default', 'second', 'chosen')).rejects.toMatchObject({
      code: 'invalid_argument',
      message: 'the token has already existed',
    });
    expect(await find('chosen')).toMatchObject({ description: 'first' });
  });

  it('leaves nothing behind of a token that is deleted: no limit, no window, no index', async () => {
    const before = await allKeys();
    const id = { pool: 'default', namespace, token: await store.create(namespace, 'default', 'd') };
    const digest = tokenDigest(id.pool, namespace, id.token);
    expect(await store.setLimit(id, { read: 5, write: 5, intervalS: 60 }, true)).toBe('set');
    expect(await store.count(digest, 'read', 5, 60)).toBeGreaterThan(0);
    expect(await store.count(digest, 'write', 5, 60)).toBeGreaterThan(0);
    expect(await store.delete(id)).toBe(true);
    expect(await store.delete(id)).toBe(false);
    expect(await find(id.token)).toBeNull();
    expect((await allKeys()).sort()).toEqual(before.sort());
  });

  it('keeps all of its keys under one hash tag, apart from those of a namespace called tokens', () => {
    const spelt = [keys.token('d'), keys.index('p', 'n'), keys.limited, keys.window('d', 'read')];
    for (const key of spelt) {
      expect(key).toContain('{tokens}');
      expect(key.startsWith(`${redis.options.keyPrefix}{tokens}`)).toBe(false);
    }
  });

  it('D5: no token opens another namespace or pool, for names that look alike when strung together', async () => {
    // One text, cut at different places: the parts look alike when strung together.
    const places = fc.subarray([1, 2, 3, 4], { minLength: 2, maxLength: 2 });
    const cut = (text: string, [a = 1, b = 2]: number[]) =>
      [text.slice(0, a), text.slice(a, b), text.slice(b)] as const;
    await fc.assert(
      fc.asyncProperty(fc.stringMatching(/^[ab_-]{5,9}$/), places, places, async (text, here, there) => {
        const [pool, ns, token] = cut(text, here);
        await store.create(ns, pool, 'd', token);
        const found = await store.find(tokenDigest(...cut(text, there)));
        expect(found !== null).toBe(here.join() === there.join());
        await store.delete({ pool, namespace: ns, token });
      }),
      { numRuns: 300 },
    );
  });

  it('D7: each token has its own limit', async () => {
    const limits = [1, 2, 3, 4, 5];
    for (const n of limits) {
      const token = await store.create(namespace, 'default', 'd', `token-${n}-of-many-tokens`);
      await store.setLimit(
        { pool: 'default', namespace, token },
        { read: n, write: 10 * n, intervalS: 100 * n },
        true,
      );
    }
    const listed = (await store.limits()).filter((record) => record.namespace === namespace);
    expect(listed.map(({ limit }) => limit)).toEqual(
      limits.map((n) => ({ read: n, write: 10 * n, intervalS: 100 * n })),
    );
    for (const n of limits) {
      const own = await store.limit({ pool: 'default', namespace, token: `token-${n}-of-many-tokens` });
      expect(own).toEqual({ read: n, write: 10 * n, intervalS: 100 * n });
    }
  });

  it('sets a limit only on a token that exists, and a new one only where there is none', async () => {
    const limit = { read: 1, write: 1, intervalS: 10 };
    expect(await store.setLimit({ pool: 'default', namespace, token: 'none' }, limit, false)).toBe(
      'no_token',
    );
    const id = { pool: 'default', namespace, token: await store.create(namespace, 'default', 'd') };
    expect(await store.setLimit(id, limit, true)).toBe('set');
    expect(await store.setLimit(id, { ...limit, read: 9 }, true)).toBe('has_one');
    expect(await store.limit(id)).toEqual(limit);
    expect(await store.setLimit(id, { ...limit, read: 9 }, false)).toBe('set');
    expect(await store.limit(id)).toMatchObject({ read: 9 });
    expect(await store.deleteLimit(id)).toBe(true);
    expect(await store.deleteLimit(id)).toBe(false);
    expect(await store.limit(id)).toBeNull();
  });

  describe('windows', () => {
    let id: { pool: string; namespace: string; token: string };
    let digest: string;

    beforeEach(async () => {
      id = { pool: 'default', namespace, token: await store.create(namespace, 'default', 'd') };
      digest = tokenDigest(id.pool, namespace, id.token);
    });

    it('count up to the limit, reads and writes apart, and not one more under a crowd', async () => {
      const counted = await Promise.all(Array.from({ length: 50 }, () => store.count(digest, 'read', 7, 60)));
      expect(counted.filter((started) => started > 0)).toHaveLength(7);
      expect(new Set(counted.filter((started) => started > 0)).size).toBe(1);
      expect(await store.count(digest, 'write', 1, 60)).toBeGreaterThan(0);
      expect(await store.count(digest, 'write', 1, 60)).toBe(0);
    });

    it('D19: give a request back in the window that counted it, and in no other', async () => {
      const started = await store.count(digest, 'read', 1, 60);
      expect(await store.count(digest, 'read', 1, 60)).toBe(0);
      expect(await store.refund(digest, 'read', started)).toBe(true);
      const again = await store.count(digest, 'read', 1, 60);
      expect(again).toBe(started);

      // The window ends, and the next one is used up: what an old request is owed must not make room in it.
      await redis.read('DEL', keys.window(digest, 'read'));
      await new Promise((resolve) => setTimeout(resolve, 2));
      const next = await store.count(digest, 'read', 1, 60);
      expect(next).toBeGreaterThan(started);
      expect(await store.refund(digest, 'read', started)).toBe(false);
      expect(await store.count(digest, 'read', 1, 60)).toBe(0);
    });

    it('never owe more than they counted', async () => {
      const started = await store.count(digest, 'read', 1, 60);
      expect(await store.refund(digest, 'read', started)).toBe(true);
      expect(await store.refund(digest, 'read', started)).toBe(false);
      await store.count(digest, 'read', 1, 60);
      expect(await store.count(digest, 'read', 1, 60)).toBe(0);
    });

    it('end by themselves', async () => {
      await store.count(digest, 'read', 1, 60);
      const leftMs = Number(await redis.read('PTTL', keys.window(digest, 'read')));
      expect(leftMs).toBeGreaterThan(59_000);
      expect(leftMs).toBeLessThanOrEqual(60_000);
    });

    it('start anew when the limit changes', async () => {
      await store.count(digest, 'read', 1, 3_600);
      expect(await store.count(digest, 'read', 1, 3_600)).toBe(0);
      await store.setLimit(id, { read: 1, write: 1, intervalS: 1 }, false);
      expect(await store.count(digest, 'read', 1, 1)).toBeGreaterThan(0);
    });

    it('D19: are exact over servers, whatever fails: refused requests take no room', async () => {
      const throttle = new Throttle(store);
      const token = { digest, text: 'abcdefghijklmnop', pool: 'default', namespace: 'ns' };
      const limit = { read: 3, write: 0, intervalS: 60 };
      for (let i = 0; i < 10; i++) {
        const counted = await throttle.count(token, 'read', limit);
        await throttle.refund(counted!);
      }
      for (let i = 0; i < 3; i++) await throttle.count(token, 'read', limit);
      await expect(throttle.count(token, 'read', limit)).rejects.toMatchObject({
        code: 'rate_limited',
        message: 'token(abcd…) consume reach the limit rate, please retry later',
      });
      expect(await throttle.count(token, 'write', limit)).toBeNull();
    });
  });

  it.each(TOKEN_SCRIPTS.map((binding) => [binding.name, binding] as const))(
    '%s: its header names the same keys and arguments as its binding, and all of them are read',
    (name, binding) => {
      const lua = loadScript(name);
      const [header = '', code = ''] = lua.split(']]\n');
      const named = (word: string) =>
        [...header.matchAll(RegExp(`^${word}\\[\\d+\\] (\\S+)`, 'gm'))].map((m) => m[1]);
      expect(named('KEYS')).toEqual(binding.keys);
      expect(named('ARGV')).toEqual(binding.args);
      for (const i of binding.keys.keys()) expect(code).toContain(`KEYS[${i + 1}]`);
      for (const i of binding.args.keys()) expect(code).toContain(`ARGV[${i + 1}]`);
    },
  );
});

describe('a token store that is away or full', () => {
  it('D6: known tokens serve their second, then 503 and never 401, and all is well when it is back', async () => {
    const server = await startRedis();
    const options = { ...optionsFor({ url: server.url }), commandTimeoutMs: 300 };
    const redis = await RedisPool.connect('tokens', options, quiet);
    try {
      const store = new TokenStore(redis);
      const cache = new TokenCache((digest) => store.find(digest));
      const digest = tokenDigest('default', 'ns', await store.create('ns', 'default', 'd'));
      expect(await cache.get(digest)).not.toBeNull();
      await server.kill9();
      await expect(cache.get(tokenDigest('default', 'ns', 'unknown'))).rejects.toMatchObject({
        code: 'pool_unavailable',
      });
      const startedMs = Date.now();
      expect(await cache.get(digest)).not.toBeNull();
      const error = await waitFor(async () => {
        try {
          expect(await cache.get(digest)).not.toBeNull();
          return null;
        } catch (failure) {
          return failure;
        }
      }, 5_000);
      expect(error).toBeInstanceOf(QueueError);
      expect(error).toMatchObject({ code: 'pool_unavailable' });
      expect(Date.now() - startedMs).toBeLessThan(3_000);

      const again = await startRedis({ dir: server.dir, port: server.port });
      try {
        expect(await waitFor(() => cache.get(digest), 5_000)).toMatchObject({ record: { namespace: 'ns' } });
      } finally {
        await again.stop();
      }
    } finally {
      await redis.close();
      await server.stop();
    }
  });

  it('lets requests through that a full Redis cannot count, so that it can be drained; deleting works', async () => {
    const server = await startRedis();
    const redis = await RedisPool.connect('tokens', optionsFor({ url: server.url }), quiet);
    try {
      const store = new TokenStore(redis);
      const id = { pool: 'default', namespace: 'ns', token: await store.create('ns', 'default', 'd') };
      await store.setLimit(id, { read: 1, write: 1, intervalS: 60 }, true);
      await redis.read('CONFIG', 'SET', 'maxmemory', '1');
      const digest = tokenDigest('default', 'ns', id.token);
      const throttle = new Throttle(store);
      const limit = { read: 1, write: 1, intervalS: 60 };
      for (let i = 0; i < 3; i++)
        expect(
          await throttle.count({ digest, text: id.token, pool: 'default', namespace: 'ns' }, 'read', limit),
        ).toBeNull();
      await expect(store.create('ns', 'default', 'd')).rejects.toMatchObject({ code: 'store_full' });
      expect(await store.deleteLimit(id)).toBe(true);
      expect(await store.delete(id)).toBe(true);
    } finally {
      await redis.close();
      await server.stop();
    }
  });
});
