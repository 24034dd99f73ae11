import { type AddressInfo, connect, createServer } from 'node:net';
import { jest } from '@jest/globals';
import { loadConfig } from '../../src/config/load.js';
import { TokenStore } from '../../src/auth/token-store.js';
import { RedisPool } from '../../src/redis/pool.js';
import { poolsOf } from '../../src/app/embedded-pools.js';
import { checkSurroundings } from '../../src/app/surroundings.js';
import { TestApp } from '../support/app.js';
import { startRedis, testTargetEnv, waitFor, type RedisProcess } from '../support/redis.js';

describe('HTTP API for operations', () => {
  describe('probes', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await TestApp.start();
    });
    afterAll(() => app.stop());
    afterEach(() => jest.restoreAllMocks());

    const state = (up: boolean, ...degraded: string[]): void =>
      void jest.spyOn(RedisPool.prototype, 'status', 'get').mockReturnValue({ up, degraded });

    it('answer on both ports', async () => {
      for (const call of [app.get.bind(app), (path: string) => app.admin('GET', path)]) {
        expect(await call('/healthz')).toMatchObject({ status: 200, json: { status: 'ok' } });
        expect(await call('/readyz')).toMatchObject({ status: 200, json: { degraded: [], status: 'ready' } });
      }
    });

    it.each(['/healthz', '/readyz', '/readyz?pool=default', '/readyz?pool=nopool'])(
      'answer HEAD of %s as GET without a body, on both ports, with any Host header',
      async (path) => {
        const headers = { host: 'pumphouse.internal:7778' };
        for (const call of [app.call.bind(app), app.admin.bind(app)]) {
          const [whole, bare] = [await call('GET', path, { headers }), await call('HEAD', path, { headers })];
          expect(bare).toMatchObject({ status: whole.status, text: '' });
          expect(bare.headers['content-length']).toBe(String(whole.text.length));
          expect(bare.headers['content-type']).toBe(whole.headers['content-type']);
        }
        expect(await app.admin('HEAD', '/info', { headers })).toMatchObject({ status: 403 });
      },
    );

    it.each(['OPTIONS / HTTP/1.0', 'OPTIONS * HTTP/1.1\r\nHost: pumphouse.internal'])(
      'answer OPTIONS with all methods, on both ports: %j',
      async (request) => {
        for (const port of [app.port, app.server.admin.port]) {
          const socket = connect(port, '127.0.0.1').setEncoding('latin1');
          socket.write(`${request}\r\nConnection: close\r\n\r\n`);
          let answer = '';
          for await (const chunk of socket) answer += String(chunk);

          expect(answer).toMatch(/^HTTP\/1.1 204 No Content\r\n/);
          expect(answer).toContain('Allow: DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT\r\n');
          expect(answer.split('\r\n\r\n')[1]).toBe('');
        }
      },
    );

    it('answer 200 with the status degraded while Redis is full', async () => {
      state(true, 'full');
      const expected = { status: 200, json: { degraded: ['default: full'], status: 'degraded' } };
      expect(await app.get('/readyz')).toMatchObject(expected);
      expect(await app.get('/readyz?pool=default')).toMatchObject(expected);
      expect(await app.admin('GET', '/readyz')).toMatchObject(expected);
    });

    it('answer 503 on /readyz and 200 on /healthz while no pool works', async () => {
      state(false);
      expect(await app.get('/readyz')).toMatchObject({ status: 503, json: { status: 'unavailable' } });
      expect(await app.get('/readyz?pool=default')).toMatchObject({ status: 503 });
      expect(await app.get('/healthz')).toMatchObject({ status: 200 });
    });

    it('answer 503 on /readyz, also of a pool, while the Redis of the tokens is away', async () => {
      jest.spyOn(TokenStore.prototype, 'status', 'get').mockReturnValue({ up: false, degraded: [] });
      for (const path of ['/readyz', '/readyz?pool=default'])
        expect(await app.get(path)).toMatchObject({ status: 503, json: { status: 'unavailable' } });
    });

    it('answer 404 for an unknown pool', async () => {
      const refused = { status: 404, json: { error: 'pool not found' } };
      expect(await app.get('/readyz?pool=nopool')).toMatchObject(refused);
      expect(await app.admin('GET', '/readyz?pool=nopool')).toMatchObject(refused);
    });

    it('answer 503 on /readyz while the server drains, and a publish is accepted', async () => {
      const other = await TestApp.start();
      other.server.announceEnd();
      expect(await other.get('/readyz')).toMatchObject({ status: 503, json: { status: 'draining' } });
      expect(await other.admin('GET', '/readyz')).toMatchObject({ status: 503 });
      expect(await other.put('q')).toMatchObject({ status: 201 });
      await other.stop();
    });
  });
});

describe('logs of requests', () => {
  describe('the access log', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await TestApp.start();
    });
    afterAll(() => app.stop());

    const lines = (): object[] =>
      app.log.filter(({ message }) => message === 'access').map(({ details }) => details);
    const turn = (status: string): Promise<unknown> => app.admin('POST', `/accesslog?status=${status}`);

    it('is written while it is switched on', async () => {
      await app.put('q');
      expect(lines()).toHaveLength(0);
      await turn('enable');
      const { headers } = await app.put('q?ttl=60');
      await app.get('/nope');
      await turn('disable');
      await app.put('q');
      expect(lines()).toEqual([
        {
          request_id: headers['x-request-id'],
          method: 'PUT',
          url: `/api/${app.namespace}/q?ttl=60`,
          status: 201,
          ms: expect.any(Number) as number,
          remote: '127.0.0.1',
        },
        expect.objectContaining({ url: '/nope', status: 404 }),
      ]);
    });

    it('never contains a token or a body', async () => {
      await turn('enable');
      const secret = 'the-secret-body';
      for (const query of [
        'token=',
        '%74oken=',
        'ttl=1&token=',
        'token=x&token=',
        'x;token=',
        'token=x;token=',
      ])
        await app.put(`q?${query}${app.token}`, secret, { token: null });
      const token = app.token;
      for (const path of [token, `q/job/${token}`, `q?ttl=${token}`, `q?${token}`, `q?token%3D${token}`])
        await app.put(path, secret);
      await app.put(`${token}?token=${token}`, secret, { token: null });
      await app.put('q?ttl=x', secret);
      await app.put(`q?token=${app.token}&ttl=x`, secret, { token: null });
      await app.put('q', secret, { token: `wrong-${app.token}` });
      const everything = JSON.stringify(app.log);
      expect(lines().length).toBeGreaterThanOrEqual(15);
      expect(everything).not.toContain(app.token);
      expect(everything).not.toContain(secret);
    });
  });
});

describe('the start of a server', () => {
  let redis: RedisProcess;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  /** A Redis that rejects this user. */
  const shut = (): string => redis.url.replace('redis://', 'redis://unknown:wrong@');

  function check(env: Record<string, string> = {}): Promise<void> {
    const config = loadConfig({ env: { PUMPHOUSE_ADMIN__PORT: '0', ...testTargetEnv(), ...env } });
    return checkSurroundings(config, poolsOf(config, {}));
  }

  describe('the checks before workers start', () => {
    it('fail if the Redis of a pool or of the tokens refuses the password', async () => {
      await expect(check()).resolves.toBeUndefined();
      await expect(check({ PUMPHOUSE_POOLS__OTHER__URL: shut() })).rejects.toThrow(
        /pool other at .*WRONGPASS/,
      );
      await expect(check({ PUMPHOUSE_TOKENS__URL: shut() })).rejects.toThrow(/pool tokens at .*WRONGPASS/);
    });

    it('fail if the admin port is in use by another process', async () => {
      const other = createServer().listen(0, '127.0.0.1');
      try {
        await waitFor(() => other.listening);
        const { port } = other.address() as AddressInfo;
        await expect(check({ PUMPHOUSE_ADMIN__PORT: String(port) })).rejects.toThrow('EADDRINUSE');
      } finally {
        other.close();
      }
    });
  });
});
