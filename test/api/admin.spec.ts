import { run } from '../../packages/cli/src/program.js';
import type { PoolOptions } from '../../src/domain/pool.js';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { DATA_FORMAT } from '../../src/domain/data-format.js';
import { RedisPool } from '../../src/redis/pool.js';
import { TestApp } from '../support/app.js';
import { randomNamespace, testKeys, waitFor } from '../support/redis.js';
import {
  type Answer,
  type CallOptions,
  type LogLine,
  request,
  startAdmin,
  testParts,
  testPools,
} from './admin-fixture.js';

describe('admin calls', () => {
  const JSON_TYPE = 'application/json';
  const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

  type Admin = Awaited<ReturnType<typeof startAdmin>>;

  describe('the admin port', () => {
    let pools: Record<string, PoolOptions>;
    let admin: Admin;
    let namespace: string;

    beforeAll(async () => {
      pools = testPools();
      admin = await startAdmin(testParts(pools).parts);
    });

    afterAll(() => admin.server.stop());

    beforeEach(() => {
      namespace = randomNamespace();
    });

    const call = (method: string, path: string, options: CallOptions = {}): Promise<Answer> =>
      request(admin.url + path, { ...options, method });
    it('lists namespaces with their queues, indented', async () => {
      const quiet = {
        debug: () => undefined,
        info: () => undefined,
        warn: () => undefined,
        error: () => undefined,
      };
      const pool = await RedisPool.connect('default', pools['default']!, quiet);
      const job = { body: Buffer.from('x'), delayMs: 0, ttlMs: 60_000, tries: 1 };
      const engine = new PoolEngine(pool);
      await engine.publish(namespace, 'b', job);
      await engine.publish(namespace, 'a', job);
      await engine.stop();
      await pool.close();
      const info = await call('GET', '/info');
      expect(info).toMatchObject({ status: 200, type: 'text/plain', body: { [namespace]: ['a', 'b'] } });
      expect(info.text).toContain(`{\n    "${namespace}": [\n        "a",\n`);
      expect(await call('GET', '/info?pool=other')).toMatchObject({ status: 200, text: '{}\n' });
      expect(await call('GET', '/info?pool=nopool')).toMatchObject({ status: 400 });
    });

    it('shows its version, its pools and its metrics', async () => {
      const version = await call('GET', '/version');
      expect(version).toMatchObject({ status: 200, type: JSON_TYPE });
      expect(version.body).toEqual({
        build_commit: expect.any(String) as unknown,
        build_date: expect.any(String) as unknown,
        version: expect.stringMatching(/^\d+\.\d+\.\d+/) as unknown,
        data_format: DATA_FORMAT,
      });
      for (const path of ['/pools', '/pools/']) {
        expect(await call('GET', path)).toMatchObject({
          status: 200,
          type: JSON_TYPE,
          body: ['default', 'other'],
        });
      }
      expect(await call('GET', '/metrics')).toMatchObject({
        status: 200,
        type: 'text/plain',
        text: expect.stringContaining('up 1') as unknown,
      });
    });

    it('shows the Redis of each pool with measurements', async () => {
      const { status, body } = await call('GET', '/redis');
      expect(status).toBe(200);
      const { pools } = body as { pools: { facts: { latency_ms: number; clock_offset_ms: number } }[] };
      const facts = {
        aof_enabled: true,
        maxmemory_policy: 'noeviction',
        appendfsync: expect.any(String) as string,
      };
      expect(pools).toEqual(
        ['default', 'other'].map((pool) => ({
          ...{ pool, up: true, degraded: [], error: null },
          facts: expect.objectContaining(facts) as object,
        })),
      );
      for (const { facts: measured } of pools) {
        expect(measured.latency_ms).toBeGreaterThan(0);
        expect(Math.abs(measured.clock_offset_ms)).toBeLessThan(1_000);
      }
    });

    it('switches the access log by query parameters only', async () => {
      const status = async () => (await call('GET', '/accesslog')).body;
      expect(await status()).toEqual({ status: 'disabled' });
      expect(await call('POST', '/accesslog?status=enable')).toMatchObject({
        status: 200,
        body: { status: 'enabled' },
      });
      expect(await status()).toEqual({ status: 'enabled' });
      const body = new URLSearchParams({ status: 'disable' });
      for (const bad of ['/accesslog?status=foo', '/accesslog']) {
        expect(await call('POST', bad, { body })).toMatchObject({
          status: 400,
          body: { error: 'invalid status' },
        });
      }
      expect(await call('POST', '/accesslog?status=disable')).toMatchObject({ body: { status: 'disabled' } });
    });

    it.each([
      ['GET', '/nope'],
      ['POST', '/version'],
      ['HEAD', '/version'],
      ['GET', '/debug/pprof/'],
      ['GET', '/pools/x'],
      ['GET', '/'],
      ['GET', '/token'],
      ['PATCH', '/limits'],
    ])('answers 404 for %s %s', async (method, path) => {
      const answer = await call(method, path);
      expect(answer).toMatchObject({ status: 404, type: 'text/plain' });
      if (method !== 'HEAD') expect(answer.text).toBe('404 page not found');
    });

    it('sends a browser at the bare address to the console', async () => {
      const headers = { Accept: 'text/html,application/xhtml+xml;q=0.9' };
      const answer = await fetch(`${admin.url}/`, { headers, redirect: 'manual' });
      expect([answer.status, answer.headers.get('location')]).toEqual([302, 'ui/']);
    });

    it('gives each answer an X-Request-Id', async () => {
      for (const [method, path] of [
        ['GET', '/version'],
        ['GET', '/nope'],
        ['GET', '/metrics'],
        ['GET', '/%zz'],
        ['POST', `/token/${namespace}`],
        ['DELETE', `/token/${namespace}/x`],
      ] as const) {
        expect((await call(method, path)).headers.get('x-request-id')).toMatch(ULID);
      }
    });

    it('refuses a body of 70,000 bytes', async () => {
      const body = new URLSearchParams({ description: 'd'.repeat(70_000) });
      expect(await call('POST', `/token/${namespace}`, { body })).toMatchObject({
        status: 413,
        body: { error: 'body too large' },
      });
    });
  });
});

describe('admin calls about tokens', () => {
  const JSON_TYPE = 'application/json';
  const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

  type Admin = Awaited<ReturnType<typeof startAdmin>>;

  describe('tokens and limits on the admin port', () => {
    let pools: Record<string, PoolOptions>;
    let admin: Admin;
    let log: LogLine[];
    let namespace: string;

    beforeAll(async () => {
      pools = testPools();
      const made = testParts(pools);
      log = made.log;
      admin = await startAdmin(made.parts);
    });

    afterAll(() => admin.server.stop());

    beforeEach(() => {
      namespace = randomNamespace();
      log.length = 0;
    });

    const call = (method: string, path: string, options: CallOptions = {}): Promise<Answer> =>
      request(admin.url + path, { ...options, method });
    const limit = (method: string, path: string, body: string): Promise<Answer> =>
      call(method, path, { body, headers: { 'Content-Type': JSON_TYPE } });

    async function newToken(query = ''): Promise<string> {
      const { body } = await call('POST', `/token/${namespace}?description=d${query}`);
      return (body as { token: string }).token;
    }

    describe('tokens', () => {
      it('are created with a description from the query or a form', async () => {
        const made = await call('POST', `/token/${namespace}?description=golden`);
        expect(made).toMatchObject({
          status: 201,
          type: JSON_TYPE,
          body: { token: expect.stringMatching(ULID) as unknown },
        });
        const body = new URLSearchParams({ description: 'from form', token: 'f'.repeat(20), pool: 'other' });
        const formed = await call('POST', `/token/${namespace}`, { body });
        expect(formed).toMatchObject({ status: 201, body: { token: `other:${'f'.repeat(20)}` } });
      });

      it.each([
        [
          'verb=consume',
          'the parameter verb is unknown; known: description, token, pool, verbs, queues, expires',
        ],
        ['queue=a', 'the parameter queue is unknown'],
        ['expire=1h', 'the parameter expire is unknown'],
        ['verbs=consume&verbs=publish', 'the parameter verbs may be given once'],
      ])('are not created, in a query or a form, with %s', async (restriction, error) => {
        const text = `description=d&${restriction}`;
        const refused = { status: 400, body: { error: expect.stringContaining(error) as unknown } };
        expect(await call('POST', `/token/${namespace}?${text}`)).toMatchObject(refused);
        const body = new URLSearchParams(text);
        expect(await call('POST', `/token/${namespace}`, { body })).toMatchObject(refused);
        expect((await call('GET', `/token/${namespace}`)).body).toEqual({ tokens: {} });
      });

      it.each(['queues=a;b', 'verbs=consume%zz'])(
        'are not created with %s, which is not readable',
        async (part) => {
          const made = await call('POST', `/token/${namespace}?description=d&${part}`);
          expect(made).toMatchObject({
            status: 400,
            body: { error: expect.stringContaining('cannot be read') as unknown },
          });
        },
      );

      it('are not rotated with a misspelt parameter', async () => {
        const token = await newToken();
        const rotated = await call('POST', `/token/${namespace}/${token}/rotate?expire=1h`);
        expect(rotated).toMatchObject({
          status: 400,
          body: { error: 'the parameter expire is unknown; known: token, grace, expires' },
        });
        expect((await call('GET', `/token/${namespace}`)).body).toEqual({ tokens: { [token]: 'd' } });
      });

      it("are created, listed and deleted as by lmstfy's token-cli", async () => {
        // As it sends them: an empty pool for the default one, and a form without a token if none is given.
        const pool = '?pool=';
        const type = 'application/x-www-form-urlencoded';
        const create = (body: string): Promise<Answer> =>
          call('POST', `/token/${namespace}${pool}`, { body, headers: { 'content-type': type } });
        const made = await create('description=test+ns+apply+by+%40hulk');
        const { token } = made.body as { token: string };
        const own = 'o'.repeat(26);
        expect(await create(`description=mine&token=${own}`)).toMatchObject({
          status: 201,
          body: { token: own },
        });
        expect((await call('GET', `/token/${namespace}${pool}`)).body).toEqual({
          tokens: { [token]: 'test ns apply by @hulk', [own]: 'mine' },
        });
        expect(await call('DELETE', `/token/${namespace}/${own}${pool}`)).toMatchObject({ status: 204 });
        expect((await call('GET', `/token/${namespace}${pool}`)).body).toEqual({
          tokens: { [token]: 'test ns apply by @hulk' },
        });
        expect((await call('GET', '/pools')).body).toEqual(['default', 'other']);
      });

      it('get one limit each, and a second limit is refused', async () => {
        const { body } = await call('POST', `/token/${namespace}?description=d`);
        const { token } = body as { token: string };
        const limit = (name: string): Promise<Answer> =>
          call('POST', `/token/${namespace}/${name}/limit`, { body: '{"read":1,"write":1,"interval":1}' });
        expect(await limit('nosuch')).toMatchObject({ status: 404 });
        expect(await limit(token)).toMatchObject({ status: 201 });
        expect(await limit(token)).toMatchObject({ status: 409 });
        expect(await call('GET', '/debug/pprof/')).toMatchObject({ status: 404 });
      });

      it.each([
        ['', '', 'invalid description'],
        ['', '?description=', 'invalid description'],
        ['', '?description=d&token=short', 'the user token was too short'],
        ['', `?description=d&token=default:${'u'.repeat(19)}`, 'the user token was too short'],
        ['', `?description=d&token=${'u'.repeat(600)}`, 'the user token was too long'],
        ['', `?description=d&token=${'u'.repeat(20)}%20x`, 'the user token contains forbidden characters'],
        ['', `?description=d&token=nopool:${'u'.repeat(20)}`, 'the pool was not exists'],
        ['', '?description=d&pool=nopool', 'the pool was not exists'],
        ['g.2', '?description=d', 'namespace name contains forbidden characters'],
        ['n'.repeat(256), '?description=d', 'the namespace name was too long'],
      ])('are refused: /token/%s%s', async (name, query, error) => {
        const answer = await call('POST', `/token/${name === '' ? namespace : name}${query}`);
        expect(answer).toMatchObject({ status: 400, type: JSON_TYPE, body: { error } });
      });

      it('may be chosen by the caller, once per pool and namespace', async () => {
        const chosen = randomNamespace('a-token-of-my-own');
        const path = `/token/${namespace}?description=d&token=`;
        expect(await call('POST', path + chosen)).toMatchObject({ status: 201, body: { token: chosen } });
        expect(await call('POST', path + chosen)).toMatchObject({
          status: 400,
          body: { error: 'the token has already existed' },
        });
        const prefixed = await call('POST', `${path}default:${chosen}x`);
        expect(prefixed).toMatchObject({ status: 201, body: { token: `${chosen}x` } });
        const other = await call('POST', `${path}other:${chosen}`);
        expect(other).toMatchObject({ status: 201, body: { token: `other:${chosen}` } });
      });

      it('are listed in clear, with a prefix if the call names the pool', async () => {
        const token = await newToken();
        const elsewhere = await newToken('&pool=other');
        expect((await call('GET', `/token/${namespace}`)).body).toEqual({ tokens: { [token]: 'd' } });
        expect((await call('GET', `/token/${namespace}?pool=default`)).body).toEqual({
          tokens: { [`default:${token}`]: 'd' },
        });
        expect((await call('GET', `/token/${namespace}?pool=other`)).body).toEqual({
          tokens: { [elsewhere]: 'd' },
        });
        expect(await call('GET', `/token/${namespace}?pool=nopool`)).toMatchObject({
          status: 400,
          body: { error: 'the pool was not exists' },
        });
        expect((await call('GET', '/token/never-made')).body).toEqual({ tokens: {} });

        // A token with a colon is listed as it must be sent.
        const own = `default:abc:${'0'.repeat(20)}`;
        const withColon = `/token/${namespace}?description=d&token=${own}`;
        expect(await call('POST', withColon)).toMatchObject({ body: { token: own } });
        const listed = (await call('GET', `/token/${namespace}`)).body as { tokens: object };
        expect(Object.keys(listed.tokens).sort()).toEqual([token, own].sort());
        expect(await call('DELETE', `/token/${namespace}/${own}`)).toMatchObject({ status: 204 });
      });

      it('are deleted with their limits, repeatedly without an error', async () => {
        const token = await newToken();
        await limit('POST', `/token/${namespace}/${token}/limit`, '{"read":1,"write":1,"interval":1}');
        for (let i = 0; i < 2; i++) {
          expect(await call('DELETE', `/token/${namespace}/${token}`)).toMatchObject({
            status: 204,
            text: '',
          });
        }
        const { body } = await call('GET', '/limits');
        expect(JSON.stringify(body)).not.toContain(token);
        expect(await call('DELETE', `/token/${namespace}/nopool:${token}`)).toMatchObject({
          status: 400,
          body: { error: 'the pool was not exists' },
        });
        expect(await call('DELETE', `/token/${namespace}/default:${token}`)).toMatchObject({ status: 204 });
      });
    });

    describe('limits', () => {
      let path: string;
      let token: string;

      beforeEach(async () => {
        token = await newToken();
        path = `/token/${namespace}/${token}/limit`;
      });

      it('are added once, shown, changed, listed and deleted', async () => {
        expect(await call('GET', path)).toMatchObject({ status: 404, type: JSON_TYPE, body: null });
        const limiter = { interval: 3, read: 2, write: 3 };
        const text = JSON.stringify(limiter);
        expect(await limit('POST', path, text)).toMatchObject({
          status: 201,
          type: JSON_TYPE,
          body: { limiter },
        });
        const again = await limit('POST', path, text);
        expect(again).toMatchObject({
          status: 409,
          body: { error: `throttler token(${token.slice(0, 4)}…) has already exists` },
        });
        expect(again.text).not.toContain(token);
        expect(await call('GET', path)).toMatchObject({ status: 200, type: JSON_TYPE, body: limiter });
        for (const list of ['/limits', '/limits?force_update=true']) {
          expect((await call('GET', list)).body).toContainEqual({ limiter, namespace, token });
        }
        const changed = { interval: 5, read: 9, write: 9 };
        expect(await limit('PUT', path, JSON.stringify(changed))).toMatchObject({
          status: 200,
          body: { limiter: changed },
        });
        expect(await call('GET', path)).toMatchObject({ status: 200, body: changed });
        for (let i = 0; i < 2; i++) {
          expect(await call('DELETE', path)).toMatchObject({
            status: 200,
            type: JSON_TYPE,
            body: { msg: 'success' },
          });
        }
        expect(await call('GET', path)).toMatchObject({ status: 404 });
      });

      it('are added by PUT too', async () => {
        expect(await limit('PUT', path, '{"read":5,"write":5,"interval":10}')).toMatchObject({ status: 200 });
      });

      it.each([
        ['{bad', { error: 'invalid limiter' }],
        ['', { error: 'invalid limiter' }],
        ['{"read":"1","write":1,"interval":3}', { error: 'invalid limiter' }],
        ['{}', { error: 'read or write should be > 0', limiter: { interval: 0, read: 0, write: 0 } }],
        ['{"read":0,"write":0,"interval":10}', { limiter: { interval: 10, read: 0, write: 0 } }],
        ['{"read":1,"write":1}', { error: 'interval should be > 0' }],
        ['{"read":1,"write":1,"interval":-3}', { error: 'limiter interval should be > 0' }],
        [
          '{"read":-5,"write":3,"interval":60}',
          { error: 'the read and write of limiter should be >= 0; 0 = no limit' },
        ],
        [
          '{"read":-1,"write":-1,"interval":10}',
          { error: "the read and write of limiter can't be <= 0 at the same time" },
        ],
      ])('are refused: %s', async (text, body) => {
        for (const method of ['POST', 'PUT']) {
          expect(await limit(method, path, text)).toMatchObject({ status: 400, type: JSON_TYPE, body });
        }
        expect(await call('GET', path)).toMatchObject({ status: 404 });
      });

      it('are read from a body of the content type that curl sends', async () => {
        const body = '{"read":1,"write":1,"interval":1}';
        const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
        expect(await call('POST', path, { body, headers })).toMatchObject({ status: 201 });
      });

      it('are refused for a token or a pool that does not exist', async () => {
        const text = '{"read":1,"write":1,"interval":1}';
        expect(await limit('POST', `/token/${namespace}/missing/limit`, text)).toMatchObject({ status: 404 });
        expect(await limit('POST', `/token/${namespace}/nopool:${token}/limit`, text)).toMatchObject({
          status: 400,
        });
        expect(await call('DELETE', `/token/${namespace}/missing/limit`)).toMatchObject({ status: 200 });
      });
    });

    it('are logged: one audit line per change, with four characters of the token', async () => {
      const token = await newToken();
      const path = `/token/${namespace}/${token}/limit`;
      await limit('POST', path, '{"read":1,"write":2,"interval":3}');
      await limit('POST', path, '{"read":1,"write":2,"interval":3}');
      await call('DELETE', path);
      await call('DELETE', `/token/${namespace}/${token}`);
      await call('GET', `/token/${namespace}`);
      await call('GET', '/limits');
      const lines = log.filter(({ details }) => details['audit'] !== undefined);
      expect(lines.map(({ details }) => details['audit'])).toEqual([
        'token.create',
        'limit.set',
        'limit.delete',
        'token.delete',
      ]);
      for (const { details, level } of lines) {
        expect(level).toBe('info');
        expect(details).toMatchObject({
          account: null,
          pool: 'default',
          namespace,
          token_hint: `${token.slice(0, 4)}…`,
        });
      }
      expect(JSON.stringify(log)).not.toContain(token);
      expect(JSON.stringify(log)).not.toContain(token.slice(0, 5));
    });

    it('are set by the command line', async () => {
      const cli = async (...args: string[]) => {
        let [out, err] = ['', ''];
        const code = await run([...args, '--admin', admin.url], {
          out: (text) => (out += text),
          err: (text) => (err += text),
        });
        return { code, out, err };
      };
      const { out } = await cli('token', 'create', namespace, '--description', 'the mailer');
      const token = out.trim();
      const listed = await cli('token', 'list', namespace);
      expect(listed).toMatchObject({ code: 0, err: '' });
      expect(listed.out.split(/ {2,}|\n/)).toEqual([
        ...['TOKEN', 'VERBS', 'QUEUES', 'EXPIRES', 'LAST USED', 'DESCRIPTION'],
        ...[token, 'publish,consume,admin,push', '*', 'never', 'never', 'the mailer', ''],
      ]);
      expect((await cli('token', 'show', namespace, token)).out).toMatch(
        /^verbs {9}publish,consume,admin,push$/m,
      );
      const rotated = await cli('token', 'rotate', namespace, token, '--grace', '1h');
      expect(rotated).toMatchObject({
        code: 0,
        err: '',
        out: expect.stringMatching(/^\w{26}\n$/) as unknown,
      });
      expect((await cli('token', 'list', namespace)).out).toContain('(replaced)');
      expect(await cli('token', 'rotate', namespace, 'missing')).toEqual({
        code: 1,
        out: '',
        err: 'pumphouse: token not found\n',
      });
      const set = await cli('limit', 'set', namespace, token, '--read', '5', '--interval', '2', '--json');
      expect(set).toMatchObject({ code: 0, out: '{"interval":2,"consume":5,"publish":0}\n' });
      expect(await cli('limit', 'get', namespace, token)).toMatchObject({ code: 0 });
      expect(await cli('limit', 'delete', namespace, token)).toMatchObject({ code: 0 });
      expect(await cli('limit', 'get', namespace, token)).toMatchObject({ code: 1 });
      expect(await cli('token', 'delete', namespace, token)).toMatchObject({ code: 0 });
      expect(await cli('token', 'create', 'n.s', '-d', 'x')).toMatchObject({
        code: 1,
        err: 'pumphouse: namespace name contains forbidden characters\n',
      });
      expect(await cli('pools')).toMatchObject({ code: 0, out: 'default\nother\n' });
      expect((await cli('info', '--json')).code).toBe(0);
    });
  });
});

describe('admin calls about namespaces', () => {
  describe('whole namespaces', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await TestApp.start();
    });
    afterAll(() => app.stop());

    const keys = (): Promise<string[]> => testKeys(`{${app.namespace}}*`);

    it('are purged over the admin port, and used again with the same token', async () => {
      for (let i = 0; i < 3; i++) await app.publish('mail');
      await app.publish('later?delay=3600');
      await app.get('mail?ttr=60');
      await app.call('PUT', `/v1/${app.namespace}/settings/grace_ms`, { body: '{"value":1}' });
      const path = `/namespaces/${app.namespace}`;

      const dry = await app.admin('DELETE', `${path}?dry_run=true`);
      expect(dry).toMatchObject({
        status: 200,
        json: {
          dry_run: true,
          pool: 'default',
          queues: 2,
          jobs: { ready: 2, scheduled: 1, leased: 1, dead: 0 },
        },
      });
      expect((await app.get('mail/size')).json).toMatchObject({ size: 2 });

      const purged = await app.admin('DELETE', path);
      expect(purged).toMatchObject({
        status: 200,
        json: { dry_run: false, done: true, in_use: false, removed: { jobs: 4, queues: 2 } },
      });
      // What was given out within the last second may be counted a moment later: a key with an end.
      await waitFor(async () => (await keys()).every((key) => /\}:t\d+$/.test(key)));
      expect(app.log.filter(({ message }) => message === 'audit').at(-1)?.details).toMatchObject({
        audit: 'namespace.purge',
        namespace: app.namespace,
        removed: { jobs: 4 },
      });
      const id = await app.publish('mail');
      expect((await app.get('mail?ttr=60')).json).toMatchObject({ job_id: id });
    });

    it.each([
      ['?pool=nowhere', 400, 'the pool was not exists'],
      ['?dry_run=maybe', 400, 'invalid dry_run'],
      ['?dry_run=', 400, 'invalid dry_run'],
      ['?dryrun=true', 400, 'the parameter dryrun is unknown; known: pool, dry_run'],
      ['?Pool=other', 400, 'the parameter Pool is unknown'],
      ['?dry_run=true;', 400, 'the parameter dry_run=true; cannot be read'],
      ['?dry_run=false&dry_run=true', 400, 'the parameter dry_run may be given once'],
    ])('are not purged with %s', async (query, status, error) => {
      await app.publish('not-purged');
      const before = (await app.get('not-purged/size')).json;
      const refused = await app.admin('DELETE', `/namespaces/${app.namespace}${query}`);

      expect(refused.status).toBe(status);
      expect(refused.text).toContain(error);
      expect((await app.get('not-purged/size')).json).toEqual(before);
      expect((await app.admin('DELETE', '/namespaces/a%7Db')).status).toBe(400);
    });

    it('are not purged by a call with a form, whose dry_run nothing would read', async () => {
      const body = 'dry_run=true';
      const refused = await app.admin('DELETE', `/namespaces/${app.namespace}`, { body });
      expect(refused).toMatchObject({
        status: 400,
        json: { error: expect.stringContaining('has no body') as unknown },
      });
    });

    it('have no quotas in a pool that was misspelt', async () => {
      const path = `/namespaces/${app.namespace}/quotas?Pool=other`;
      for (const [method, body] of [['GET'], ['PUT', '{"max_jobs_per_queue":3}']] as const)
        expect(await app.admin(method, path, body === undefined ? {} : { body })).toMatchObject({
          status: 400,
        });
    });

    it('refuse bodies of any depth', async () => {
      const body = `{"max_jobs_per_queue":${'['.repeat(30_000)}${']'.repeat(30_000)}}`;
      const refused = await app.admin('PUT', `/namespaces/${app.namespace}/quotas`, { body });
      expect(refused).toMatchObject({ status: 400 });
    });

    it('keep their jobs when their tokens are deleted', async () => {
      await app.publish('kept');
      await app.publish('kept?delay=3600');
      const made = await app.admin('POST', `/token/${app.namespace}?description=second`);
      const second = (made.json as { token: string }).token;
      const before = await keys();
      expect((await app.admin('DELETE', `/token/${app.namespace}/${app.token}`)).status).toBe(204);
      expect((await app.get('kept/size')).status).toBe(401);

      // Statistics, the pace of queues and records of requests and deliveries come and go with time.
      const lasting = (key: string): boolean => !/\}:(?:t\d+|pace\d+|sending|requested)$/.test(key);
      expect((await keys()).filter(lasting)).toEqual(before.filter(lasting));
      expect((await app.get('kept/size', { token: second })).json).toMatchObject({ size: 1 });
      expect((await app.get('kept?ttr=60', { token: second })).status).toBe(200);
    });
  });
});
