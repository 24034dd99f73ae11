import { setTimeout as sleep } from 'node:timers/promises';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { jest } from '@jest/globals';
import fc from 'fast-check';
import { tokenDigest } from '../../src/auth/credentials.js';
import { Throttle } from '../../src/auth/throttle.js';
import { TokenCache } from '../../src/auth/token-cache.js';
import { TokenInventory } from '../../src/auth/token-inventory.js';
import { TokenKeys } from '../../src/auth/token-keys.js';
import { TokenStore } from '../../src/auth/token-store.js';
import { QueueError } from '../../src/domain/errors.js';
import type { PoolOptions, PoolTarget } from '../../src/domain/pool.js';
import { RedisPool } from '../../src/redis/pool.js';
import { OwnTime } from '../support/own-time.js';
import { randomNamespace, startRedis, testKeys, testTarget, waitFor } from '../support/redis.js';
import {
  type Answer,
  type LogLine,
  request,
  startAdmin,
  startApi,
  testParts,
  testPools,
} from './admin-fixture.js';

describe('tokens', () => {
  type Api = Awaited<ReturnType<typeof startApi>>;
  type Admin = Awaited<ReturnType<typeof startAdmin>>;

  describe('two servers over the same Redis', () => {
    let pools: Record<string, PoolOptions>;
    let admin: Admin;
    let servers: Api[];
    let log: LogLine[];
    let namespace: string;
    let token: string;

    /** Two servers over the same Redis, as replicas. */
    beforeAll(async () => {
      pools = testPools();
      const made = testParts(pools);
      log = made.log;
      admin = await startAdmin(testParts(pools).parts);
      servers = [await startApi(made.parts), await startApi(testParts(pools).parts)];
    });

    afterAll(async () => {
      for (const { server } of [...servers, admin]) await server.stop();
    });

    beforeEach(async () => {
      namespace = randomNamespace();
      token = await newToken();
      log.length = 0;
    });

    async function newToken(query = '', ns = namespace): Promise<string> {
      const { body } = await request(`${admin.url}/token/${ns}?description=d${query}`, { method: 'POST' });
      return (body as { token: string }).token;
    }

    interface Call {
      readonly method?: string;
      readonly token?: string | null;
      readonly server?: number;
    }

    /** A call on a queue; with the namespace's token unless another one or none is given. */
    function call(
      path: string,
      { method = 'GET', token: sent = token, server = 0 }: Call = {},
    ): Promise<Answer> {
      const headers: Record<string, string> = sent === null ? {} : { 'X-Token': sent };
      return request(`${servers[server]!.url}/api/${path}`, {
        method,
        headers,
        ...(method === 'PUT' ? { body: 'x' } : {}),
      });
    }
    const publish = (options: Call = {}, queue = 'q') =>
      call(`${namespace}/${queue}`, { method: 'PUT', ...options });

    describe('tokens on the queue API', () => {
      it.each([
        ['no token', null, 401, 'token not found'],
        ['an empty one', '', 401, 'token not found'],
        ['a prefix and nothing else', 'default:', 401, 'token not found'],
        ['a wrong one', 'nope', 401, 'invalid token'],
        ['two colons', 'default:a:b', 401, 'invalid token'],
        ['an unknown pool', 'nopool:x', 404, 'pool not found'],
      ])('are refused if they are missing or wrong: %s', async (_what, sent, status, error) => {
        expect(await publish({ token: sent })).toMatchObject({
          status,
          type: 'application/json',
          body: { error },
        });
      });

      it('are accepted with the default pool named, with an empty prefix, and in the query', async () => {
        for (const sent of [token, `default:${token}`, `:${token}`]) {
          expect(await publish({ token: sent })).toMatchObject({ status: 201 });
        }
        const path = `${namespace}/q?token=${token}`;
        expect(await call(path, { method: 'PUT', token: null })).toMatchObject({ status: 201 });
        expect(await call(`${path}&token=bad`, { method: 'PUT', token: null })).toMatchObject({
          status: 201,
        });
        expect(await call(path, { method: 'PUT', token: 'bad' })).toMatchObject({ status: 401 });
        expect(await call(`${namespace}/q?token=bad`, { method: 'PUT' })).toMatchObject({ status: 201 });
      });

      it('D5: open their own namespace in their own pool only', async () => {
        const neighbour = `${namespace}x`;
        const theirs = await newToken('', neighbour);
        const elsewhere = await newToken('&pool=other');
        expect(await publish()).toMatchObject({ status: 201 });
        expect(await publish({ token: elsewhere })).toMatchObject({ status: 201 });
        for (const sent of [
          theirs,
          `x${theirs}`,
          elsewhere.replace('other:', ''),
          `other:${token}`,
          `${token} `,
        ]) {
          if (sent.trim() === token) continue;
          expect(await publish({ token: sent })).toMatchObject({
            status: 401,
            body: { error: 'invalid token' },
          });
        }
        expect(await call(`${neighbour}/q`, { method: 'PUT' })).toMatchObject({ status: 401 });
        // Moved boundaries: namespace "ab" with token "c…" is not "a" with "bc…".
        const chosen = `${'c'.repeat(20)}-${namespace}`;
        await newToken(`&token=x${chosen}`);
        expect(await call(`${neighbour}/q`, { method: 'PUT', token: chosen })).toMatchObject({ status: 401 });
        expect(await publish({ token: `x${chosen}` })).toMatchObject({ status: 201 });
      });

      it('are checked after the queue name and the pool, also on the size calls', async () => {
        expect(await call(`${namespace}/p.1`, { token: null })).toMatchObject({ status: 400 });
        expect(await call(`${namespace}/q/size`, { token: null })).toMatchObject({ status: 401 });
        expect(await call(`${namespace}/q/deadletter/size`, { token: null })).toMatchObject({ status: 401 });
        expect(await call(`${namespace}/q/size`, { token: 'nopool:x' })).toMatchObject({ status: 404 });
        expect(await call(`${namespace}/q/size`)).toMatchObject({ status: 200, body: { size: 0 } });
      });

      it('are accepted at once by every server that refused them before their creation', async () => {
        const chosen = `${'n'.repeat(20)}-${namespace}`;
        for (const server of [0, 1])
          expect(await publish({ token: chosen, server })).toMatchObject({ status: 401 });
        await newToken(`&token=${chosen}`);
        for (const server of [0, 1])
          expect(await publish({ token: chosen, server })).toMatchObject({ status: 201 });
      });

      it('D6: are refused by every busy server within a second of being revoked', async () => {
        let isRevoked = false;
        let revokedAtMs = Number.POSITIVE_INFINITY;
        const lastServedMs = await Promise.all(
          [0, 1].map(async (server) => {
            for (let lastMs = 0; ;) {
              const sentMs = Date.now();
              const { status } = await call(`${namespace}/q/size`, { server });
              if (status === 401 && isRevoked) return lastMs;
              expect(status).toBe(200);
              lastMs = sentMs;
              if (sentMs > revokedAtMs + 3_000) return lastMs;
              if (server === 0 && !isRevoked) {
                await new Promise((resolve) => setTimeout(resolve, 700));
                isRevoked = true;
                await request(`${admin.url}/token/${namespace}/${token}`, { method: 'DELETE' });
                revokedAtMs = Date.now();
              }
            }
          }),
        );
        for (const lastMs of lastServedMs) expect(lastMs - revokedAtMs).toBeLessThanOrEqual(1_000);
        for (const server of [0, 1]) expect(await publish({ server })).toMatchObject({ status: 401 });
      });
    });

    describe('limits of tokens on the queue API', () => {
      async function setLimit(limit: object, of = token, ns = namespace): Promise<void> {
        const answer = await request(`${admin.url}/token/${ns}/${of}/limit`, {
          method: 'PUT',
          body: JSON.stringify(limit),
        });
        expect(answer.status).toBe(200);
      }

      it('D19: count over all servers, publish and consume separately, and show four characters of the token', async () => {
        await setLimit({ read: 1, write: 3, interval: 60 });
        const published = [];
        for (let i = 0; i < 5; i++) published.push(await publish({ server: i % 2 }));
        expect(published.map(({ status }) => status)).toEqual([201, 201, 201, 429, 429]);
        expect(published[4]).toMatchObject({
          type: 'application/json',
          body: { msg: `token(${token.slice(0, 4)}…) produce reach the limit rate, please retry later` },
        });
        expect(await call(`${namespace}/q`)).toMatchObject({ status: 200 });
        const refused = await call(`${namespace}/q?token=${token}`, { token: null, server: 1 });
        expect(refused).toMatchObject({
          status: 429,
          body: { msg: `token(${token.slice(0, 4)}…) consume reach the limit rate, please retry later` },
        });
        expect(JSON.stringify(log)).not.toContain(token.slice(0, 5));
      });

      it('D19: do not count requests answered with neither 200 nor 201', async () => {
        await setLimit({ read: 2, write: 1, interval: 60 });
        for (let i = 0; i < 5; i++) expect(await call(`${namespace}/empty`)).toMatchObject({ status: 404 });
        for (let i = 0; i < 5; i++) {
          const leased = await fetch(`${servers[0]!.url}/v1/${namespace}/leases`, {
            ...{ method: 'POST', headers: { 'X-Token': token }, body: '{"queues":["empty"]}' },
          });
          expect([leased.status, await leased.json()]).toEqual([200, { jobs: [] }]);
        }
        for (let i = 0; i < 3; i++) {
          expect(await call(`${namespace}/q?tries=0`, { method: 'PUT' })).toMatchObject({ status: 400 });
        }
        expect(await publish()).toMatchObject({ status: 201 });
        expect(await publish()).toMatchObject({ status: 429 });
        expect(await call(`${namespace}/q`)).toMatchObject({ status: 200 });
      });

      it('count a publish that waits for the end of its job, also if its client disconnects', async () => {
        const wait = (ms: number, own = token, signal?: AbortSignal) =>
          fetch(`${servers[0]!.url}/v1/${namespace}/jobs?wait_ms=${String(ms)}`, {
            ...{ method: 'POST', headers: { 'X-Token': own }, body: '{"queue":"q"}' },
            ...(signal && { signal }),
          });
        await setLimit({ read: 0, write: 1, interval: 60 });
        expect((await wait(1)).status).toBe(202);
        expect((await wait(1)).status).toBe(429);

        const other = await newToken();
        await setLimit({ read: 0, write: 1, interval: 60 }, other);
        const halt = new AbortController();
        const gone = wait(20_000, other, halt.signal).catch(() => null);
        const size = async (): Promise<unknown> => (await call(`${namespace}/q/size`)).body;
        await waitFor(async () => ((await size()) as { size: number }).size === 2);
        halt.abort();
        await gone;
        // Longer than the server needs to notice it, and to give a request back.
        for (let i = 0; i < 10; i++) {
          expect((await wait(1, other)).status).toBe(429);
          await sleep(50);
        }
      });

      it('D19: do not count a long poll whose client disconnected', async () => {
        await setLimit({ read: 1, write: 0, interval: 60 });
        const halt = new AbortController();
        const gone = fetch(`${servers[0]!.url}/api/${namespace}/q?timeout=20`, {
          headers: { 'X-Token': token },
          signal: halt.signal,
        }).catch(() => null);
        await waitFor(async () => (await call(`${namespace}/q`)).status === 429);
        halt.abort();
        await gone;
        await waitFor(async () => (await call(`${namespace}/q`)).status === 404);
      });

      it('D19: do not count a request whose client disconnected while the count was in Redis', async () => {
        await setLimit({ read: 1, write: 0, interval: 60 });
        const { server } = servers[0]!;
        const store = server.app.get(TokenStore, { strict: false });
        const count = store.count.bind(store);
        let counted = false;
        let goOn = (): void => undefined;
        const halt = new Promise<void>((resolve) => (goOn = resolve));
        const counting = jest.spyOn(store, 'count').mockImplementation(async (...args) => {
          const started = await count(...args);
          counted = true;
          await halt;
          return started;
        });
        const client = connect(server.port, '127.0.0.1');
        const [seen] = (await once(server.app.getHttpServer(), 'connection')) as [Socket];
        client.write(`GET /api/${namespace}/q HTTP/1.1\r\nHost: a\r\nX-Token: ${token}\r\n\r\n`);
        await waitFor(() => counted);
        client.resetAndDestroy();
        await waitFor(() => seen.destroyed);
        counting.mockRestore();
        expect(await call(`${namespace}/q`)).toMatchObject({ status: 429 });
        goOn();

        await waitFor(async () => (await call(`${namespace}/q`)).status === 404);
      });

      it('count a bulk once, and republish, ack, peek and size never', async () => {
        await setLimit({ read: 1, write: 2, interval: 60 });
        const bulk = await request(`${servers[0]!.url}/api/${namespace}/q/bulk`, {
          method: 'PUT',
          headers: { 'X-Token': token },
          body: '[1,2,3,4]',
        });
        expect(bulk).toMatchObject({ status: 201 });
        expect(await publish()).toMatchObject({ status: 201 });
        expect(await publish()).toMatchObject({ status: 429 });
        expect(await call(`${namespace}/q/job/abc`, { method: 'PUT' })).toMatchObject({ status: 201 });
        for (let i = 0; i < 3; i++) {
          expect(await call(`${namespace}/q/size`)).toMatchObject({ status: 200 });
          expect(await call(`${namespace}/q/peek`)).toMatchObject({ status: 200 });
          expect(await call(`${namespace}/q/job/x`, { method: 'DELETE' })).toMatchObject({ status: 204 });
        }
        expect(await call(`${namespace}/q`)).toMatchObject({ status: 200 });
      });

      it('D7: are separate for each token', async () => {
        const tokens = [];
        for (const allowed of [1, 2, 3]) {
          const own = await newToken();
          await setLimit({ read: 0, write: allowed, interval: 60 }, own);
          tokens.push({ own, allowed });
        }
        for (const { own, allowed } of tokens) {
          const statuses = [];
          for (let i = 0; i < 5; i++) statuses.push((await publish({ token: own, server: i % 2 })).status);
          expect(statuses.filter((status) => status === 201)).toHaveLength(allowed);
        }
        for (let i = 0; i < 5; i++) expect(await publish()).toMatchObject({ status: 201 });
      });

      it('end with their window, and follow a change within two seconds', async () => {
        await setLimit({ read: 0, write: 1, interval: 1 });
        expect(await publish()).toMatchObject({ status: 201 });
        expect(await publish()).toMatchObject({ status: 429 });
        await waitFor(async () => (await publish()).status === 201);
        await setLimit({ read: 0, write: 1_000, interval: 60 });
        const time = new OwnTime();
        await waitFor(
          async () => (await publish()).status === 201 && (await publish()).status === 201,
          5_000,
        );
        expect(time.end()).toBeLessThan(2_000);
      });
    });
  });

  describe('the queue API with public sizes', () => {
    it('needs no token on the size calls, but a pool that exists', async () => {
      const { parts } = testParts(testPools(), (config) => {
        config.lmstfy.public_sizes = true;
      });
      const { server, url } = await startApi(parts);
      try {
        for (const path of ['/api/ns/q/size', '/api/ns/q/deadletter/size']) {
          expect(await request(url + path)).toMatchObject({ status: 200, body: { size: 0 } });
          expect(await request(url + path, { headers: { 'X-Token': 'nopool:x' } })).toMatchObject({
            status: 404,
          });
        }
        expect(await request(`${url}/api/ns/q/peek`)).toMatchObject({ status: 401 });
      } finally {
        await server.stop();
      }
    });
  });

  describe('the queue API without the Redis of its tokens', () => {
    it('D6: accepts known tokens for about a second, then answers 503, never 401', async () => {
      const tokens = await startRedis();
      const { parts } = testParts(testPools(), (config) => {
        config.tokens.url = tokens.url;
        config.redis.command_timeout_ms = 300;
      });
      const admin = await startAdmin(parts);
      const api = await startApi(parts);
      try {
        const made = await request(`${admin.url}/token/ns?description=d`, { method: 'POST' });
        const { token } = made.body as { token: string };
        const size = (sent: string) => request(`${api.url}/api/ns/q/size`, { headers: { 'X-Token': sent } });
        expect(await size(token)).toMatchObject({ status: 200 });
        await tokens.kill9();
        const unknown = await size('unknown');
        expect(unknown).toMatchObject({ status: 503, body: { error: 'service unavailable' } });
        expect(unknown.headers.get('retry-after')).not.toBeNull();
        await waitFor(async () => {
          const { status } = await size(token);
          expect([200, 503]).toContain(status);
          return status === 503;
        });
      } finally {
        await api.server.stop();
        await admin.server.stop();
        await tokens.stop();
      }
    });
  });
});

describe('tokens in Redis', () => {
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

    it('finds a token by its digest, and lists it for its namespace and pool', async () => {
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

    it('lists tokens in the order of creation', async () => {
      const made = [];
      for (let i = 0; i < 20; i++) made.push(await store.create(namespace, 'default', 'd'));
      expect((await listed()).map(({ token }) => token)).toEqual(made);
    });

    it('refuses to create an existing token, and does not change it', async () => {
      await store.create(namespace, 'default', 'first', 'chosen');
      await expect(store.create(namespace, 'default', 'second', 'chosen')).rejects.toMatchObject({
        code: 'invalid_argument',
        message: 'the token has already existed',
      });
      expect(await find('chosen')).toMatchObject({ description: 'first' });
    });

    it('deletes a token with its limit, windows and indexes', async () => {
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

    it('has all of its keys under one hash tag, none of them a key of a namespace called tokens', () => {
      const spelt = [keys.token('d'), keys.index('p', 'n'), keys.limited, keys.window('d', 'read')];
      for (const key of spelt) {
        expect(key).toContain('{tokens}');
        expect(key.startsWith(`${redis.options.keyPrefix}{tokens}`)).toBe(false);
      }
    });

    it('D5: opens no other namespace or pool for names that are equal when joined', async () => {
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

    it('D7: stores a limit of its own for each token', async () => {
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

    it('sets a limit only on an existing token, and adds one only if there is none', async () => {
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

    describe('windows of limits', () => {
      let id: { pool: string; namespace: string; token: string };
      let digest: string;

      beforeEach(async () => {
        id = { pool: 'default', namespace, token: await store.create(namespace, 'default', 'd') };
        digest = tokenDigest(id.pool, namespace, id.token);
      });

      it('count up to the limit, reads and writes separately, under concurrency', async () => {
        const counted = await Promise.all(
          Array.from({ length: 50 }, () => store.count(digest, 'read', 7, 60)),
        );
        expect(counted.filter((started) => started > 0)).toHaveLength(7);
        expect(new Set(counted.filter((started) => started > 0)).size).toBe(1);
        expect(await store.count(digest, 'write', 1, 60)).toBeGreaterThan(0);
        const usedUp = await store.count(digest, 'write', 1, 60);
        expect(usedUp).toBeLessThan(0);
        expect(usedUp).toBeGreaterThanOrEqual(-60_000);
      });

      it('are over if the clock of Redis is set back behind their start', async () => {
        for (let i = 0; i < 2; i++) await store.count(digest, 'read', 1, 60);
        const ahead = Date.now() + 365 * 86_400_000;
        await redis.read('HSET', keys.window(digest, 'read'), 'started', ahead);
        await redis.read('PEXPIREAT', keys.window(digest, 'read'), ahead + 60_000);
        const started = await store.count(digest, 'read', 1, 60);
        expect(started).toBeGreaterThan(0);
        expect(started).toBeLessThan(ahead);
        expect(Number(await redis.read('PTTL', keys.window(digest, 'read')))).toBeLessThanOrEqual(60_000);
        expect(await store.count(digest, 'read', 1, 60)).toBeLessThan(0);
      });

      it('D19: return a request to the window that counted it only', async () => {
        const started = await store.count(digest, 'read', 1, 60);
        expect(await store.count(digest, 'read', 1, 60)).toBeLessThan(0);
        expect(await store.refund(digest, 'read', started)).toBe(true);
        const again = await store.count(digest, 'read', 1, 60);
        expect(again).toBe(started);

        // The window ends, and the next one is used up: what an old request is owed must not make room in it.
        await redis.read('DEL', keys.window(digest, 'read'));
        await new Promise((resolve) => setTimeout(resolve, 2));
        const next = await store.count(digest, 'read', 1, 60);
        expect(next).toBeGreaterThan(started);
        expect(await store.refund(digest, 'read', started)).toBe(false);
        expect(await store.count(digest, 'read', 1, 60)).toBeLessThan(0);
      });

      it('return a request once only, and never fall below zero', async () => {
        const started = await store.count(digest, 'read', 1, 60);
        expect(await store.refund(digest, 'read', started)).toBe(true);
        expect(await store.refund(digest, 'read', started)).toBe(false);
        await store.count(digest, 'read', 1, 60);
        expect(await store.count(digest, 'read', 1, 60)).toBeLessThan(0);
      });

      it('expire in Redis after their interval', async () => {
        await store.count(digest, 'read', 1, 60);
        const leftMs = Number(await redis.read('PTTL', keys.window(digest, 'read')));
        expect(leftMs).toBeGreaterThan(59_000);
        expect(leftMs).toBeLessThanOrEqual(60_000);
      });

      it('restart when the limit changes', async () => {
        await store.count(digest, 'read', 1, 3_600);
        expect(await store.count(digest, 'read', 1, 3_600)).toBeLessThan(0);
        await store.setLimit(id, { read: 1, write: 1, intervalS: 1 }, false);
        expect(await store.count(digest, 'read', 1, 1)).toBeGreaterThan(0);
      });

      it('D19: keep no room for requests that were returned, and refuse the fourth of three', async () => {
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
  });

  describe('a token store that is down or full', () => {
    it('D6: finds known tokens in its cache for about a second, then fails with pool_unavailable, and recovers', async () => {
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
        const time = new OwnTime();
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
        expect(time.end()).toBeLessThan(3_000);

        const again = await startRedis({ dir: server.dir, port: server.port });
        try {
          expect(await waitFor(() => cache.get(digest), 5_000)).toMatchObject({
            record: { namespace: 'ns' },
          });
        } finally {
          await again.stop();
        }
      } finally {
        await redis.close();
        await server.stop();
      }
    });

    it('accepts requests without counting them, and deletions, while Redis is full', async () => {
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
});
