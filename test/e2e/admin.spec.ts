import type { PoolOptions } from '../../src/domain/pool.js';
import { QueueEngine } from '../../src/engine/engine.js';
import { RedisPool } from '../../src/redis/pool.js';
import { randomNamespace } from '../support/redis.js';
import { type Answer, request, startAdmin, testParts, testPools } from './admin-fixture.js';

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

  const call = (method: string, path: string, init: RequestInit = {}): Promise<Answer> =>
    request(admin.url + path, { ...init, method });
  it('lists namespaces with their queues, indented', async () => {
    const quiet = {
      debug: () => undefined,
      info: () => undefined,
      warn: () => undefined,
      error: () => undefined,
    };
    const pool = await RedisPool.connect('default', pools['default']!, quiet);
    const job = { body: Buffer.from('x'), delayMs: 0, ttlMs: 60_000, tries: 1 };
    const engine = new QueueEngine(pool);
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

  it('tells its version, its pools and its metrics', async () => {
    const version = await call('GET', '/version');
    expect(version).toMatchObject({ status: 200, type: JSON_TYPE });
    expect(version.body).toEqual({
      build_commit: expect.any(String) as unknown,
      build_date: expect.any(String) as unknown,
      version: expect.stringMatching(/^\d+\.\d+\.\d+/) as unknown,
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

  it('switches the access log, by the query only', async () => {
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
  ])('%s %s is no page', async (method, path) => {
    const answer = await call(method, path);
    expect(answer).toMatchObject({ status: 404, type: 'text/plain' });
    if (method !== 'HEAD') expect(answer.text).toBe('404 page not found');
  });

  it('names each answer by a request id', async () => {
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

  it('takes no bodies that are too long', async () => {
    const body = new URLSearchParams({ description: 'd'.repeat(70_000) });
    expect(await call('POST', `/token/${namespace}`, { body })).toMatchObject({
      status: 413,
      body: { error: 'body too large' },
    });
  });
});
