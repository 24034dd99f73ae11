import type { Redis } from 'ioredis';
import { run } from '../../packages/cli/src/program.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { Engines } from '../../src/engine/engines.js';
import { type Answer, head, type RawConnection, TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';

describe('limits of requests', () => {
  /** Traps of Node and Fastify: their own limits, and what a connection is like after a refusal. */
  describe('limits of the HTTP layer', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await TestApp.start({
        PUMPHOUSE_SERVER__REQUEST_TIMEOUT_MS: '1000',
        PUMPHOUSE_SERVER__KEEP_ALIVE_MS: '300',
      });
    });
    afterAll(() => app.stop());

    const auth = (headers: Record<string, string> = {}): Record<string, string> => ({
      'X-Token': app.token,
      ...headers,
    });
    const path = (rest: string): string => `/api/${app.namespace}/${rest}`;

    it('allow a long poll longer than request_timeout_ms and keep_alive_ms', async () => {
      const answer = app.get('long?timeout=5');
      await sleep(1_500);
      await app.publish('long');
      expect(await answer).toMatchObject({ status: 200 });
    });

    it('answer a request that is not complete after request_timeout_ms with 408', async () => {
      const connection = await app.open();
      connection.write(`${head('PUT', path('slow'), auth({ 'Content-Length': '10' }))}abc`);
      const all = await connection.untilClosed();
      expect(all).toContain('HTTP/1.1 408');
      expect(all).toContain('X-Request-Id: ');
    });

    it('allow a consume with a list of 300 long queue names', async () => {
      const queues = Array.from({ length: 300 }, (_, i) => `${'q'.repeat(250)}-${String(i)}`).join(',');
      expect(await app.get(queues)).toMatchObject({ status: 404, json: { msg: 'no job available' } });
    });

    it('answer headers that are too large with 431', async () => {
      const all = await app.raw(head('GET', path('q'), auth({ 'X-Big': 'x'.repeat(200_000) })));
      expect(all).toContain('HTTP/1.1 431');
      expect(all).toMatch(/X-Request-Id: [0-9A-Z]{26}\r\n/);
    });

    it.each([
      'nonsense\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      'PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n',
    ])('answer %j with 400', async (bytes) => {
      const all = await app.raw(bytes);
      expect(all).toContain('HTTP/1.1 400');
      expect(all).toMatch(/X-Request-Id: [0-9A-Z]{26}\r\n/);
    });

    it('answer a request without a Host with 400, and HTTP/1.0 normally', async () => {
      expect(await app.raw(`GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n`)).toMatch(
        /^HTTP\/1.1 400 [^]*X-Request-Id/,
      );
      expect(await app.raw('GET /healthz HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 200 [^]*X-Request-Id/);
    });

    it('keep the connection after a refused body of 100,000 bytes', async () => {
      const connection = await app.open();
      connection.write(head('PUT', path('big'), auth({ 'Content-Length': '100000' })) + 'x'.repeat(100_000));
      await connection.until('413 Payload Too Large');
      connection.write(head('GET', path('big/size'), auth()));
      await connection.until('"size":0');
      connection.write(
        head('PUT', path('big?ttl=x'), auth({ 'Content-Length': '100000' })) + 'x'.repeat(100_000),
      );
      await connection.until('invalid ttl');
      connection.write(head('GET', path('big/size'), auth()));
      expect(await connection.until('"size":0', 2)).not.toContain('Connection: close');
      connection.cut();
    });

    it('refuse a body of 10 GB before it arrives, and close the connection', async () => {
      const connection = await app.open();
      connection.write(head('PUT', path('huge'), auth({ 'Content-Length': '10000000000' })));
      const answer = await connection.until('{"error":"body too large"}');
      expect(answer).toContain('Connection: close');
      connection.cut();
    });

    it('send the refusal of a body to a client that first writes the whole body', async () => {
      const connection = await app.open();
      connection.write(
        head('PUT', path('huge'), auth({ 'Content-Length': '5000000' })) + 'x'.repeat(5_000_000),
      );
      expect(await connection.untilClosed()).toContain('{"error":"body too large"}');
    });

    it('refuse a chunked body beyond the limit with 413', async () => {
      const connection = await app.open();
      connection.write(head('PUT', path('chunks'), auth({ 'Transfer-Encoding': 'chunked' })));
      const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`;
      for (let i = 0; i < 5; i++) connection.write(chunk);
      expect(await connection.until('{"error":"body too large"}')).toContain('HTTP/1.1 413');
      connection.cut();
      expect(await app.get('chunks/size')).toMatchObject({ json: { size: 0 } });
    });

    it('accept a chunked body of exactly 65,535 bytes', async () => {
      const connection = await app.open();
      connection.write(head('PUT', path('exact'), auth({ 'Transfer-Encoding': 'chunked' })));
      connection.write(`ffff\r\n${'x'.repeat(0xffff)}\r\n0\r\n\r\n`);
      await connection.until('201 Created');
      connection.cut();
    });
  });
});

describe('quotas of the configuration', () => {
  /**
   * Through the fast path, and through the router: one escape in the path is enough. With its own Redis, because all
   * bytes in it count.
   */
  describe.each([
    ['the fast path', 'q'],
    ['the router', '%71'],
  ])('quotas, over %s', (_way, q) => {
    let app: TestApp;
    beforeAll(async () => {
      ({ app } = await TestApp.alone({
        PUMPHOUSE_LIMITS__MAX_QUEUES_PER_NAMESPACE: '2',
        PUMPHOUSE_LIMITS__MAX_JOBS_PER_QUEUE: '3',
        PUMPHOUSE_LIMITS__MAX_BYTES_PER_NAMESPACE: '100',
      }));
    });
    afterAll(() => app.stop());
    afterEach(async () => {
      for (const queue of await app.engine.queues.names(app.namespace)) await app.delete(queue);
      await app.engine.tidyNow(app.namespace);
    });

    const refusal = (code: string, present: string, quota: string): string =>
      JSON.stringify({ code, error: `${present}: quota ${quota} of namespace ${app.namespace}` });
    const full = (jobs: number): string =>
      refusal('queue_full', `${String(jobs)} of 3 jobs`, 'max_jobs_per_queue');

    function expectRefused(answer: Answer, text: string, retryAfter: string | undefined): void {
      expect(answer).toMatchObject({ status: 429, text });
      expect(answer.headers['retry-after']).toBe(retryAfter);
    }

    it('refuse a publish and a bulk to a full queue, whose jobs can be consumed and replaced', async () => {
      expectRefused(await app.put(`${q}/bulk`, '[1,2,3,4]'), full(0), '1');
      expect(await app.put(`${q}/bulk`, '[1,2]')).toMatchObject({ status: 201 });
      expectRefused(await app.put(`${q}/bulk`, '[3,4]'), full(2), '1');
      const id = await app.publish(q, '3');
      expectRefused(await app.put(q, '4'), full(3), '1');
      expectRefused(await app.put(q, '4', { headers: { 'Idempotency-Key': 'k' } }), full(3), '1');
      expectRefused(await app.put(`${q}/job/missing`, '4'), full(3), '1');

      expect(await app.put(`${q}/job/${id}`, '3 anew')).toMatchObject({ status: 201 });
      const { json } = await app.get(q);
      expect(await app.delete(`${q}/job/${(json as { job_id: string }).job_id}`)).toMatchObject({
        status: 204,
      });
      expect(await app.put(q, '4', { headers: { 'Idempotency-Key': 'k' } })).toMatchObject({ status: 201 });
    });

    it('count refusals by kind in a metric, also those of the native API', async () => {
      const counts = async (): Promise<number[]> => {
        const { text } = await app.admin('GET', '/metrics');
        const value = (kind: string): number =>
          Number(
            new RegExp(`^pumphouse_quota_refusals_total\\{kind="${kind}"\\} (\\d+)`, 'm').exec(text)?.[1],
          );
        return ['queues', 'jobs', 'bytes'].map(value);
      };
      const before = await counts();
      await app.put(`${q}/bulk`, '[1,2,3,4]');
      await app.put(q, 'x'.repeat(101));
      const jobs = ['a', 'b', 'c'].map((queue) => ({ queue, tags: ['rich'] }));
      const { status, json } = await app.call('POST', `/v1/${app.namespace}/jobs`, {
        body: JSON.stringify({ jobs }),
      });
      const detail = `2 of 2 queues: quota max_queues_per_namespace of namespace ${app.namespace}`;
      const remedy = 'use fewer queues, or raise the quota';
      expect([status, json]).toMatchObject([429, { detail: `${detail}; ${remedy}` }]);
      expect(await counts()).toEqual(before.map((count) => count + 1));
    });

    it('refuse a body beyond max_bytes_per_namespace', async () => {
      await app.publish(q, 'x'.repeat(60));
      await app.publish('other', 'x'.repeat(40));
      expectRefused(
        await app.put(q, 'x'),
        refusal('namespace_full', '100 of 100 bytes', 'max_bytes_per_namespace'),
        '1',
      );
      await app.delete('other');
      await app.publish(q, 'x'.repeat(40));
    });

    it('refuse a third queue if max_queues_per_namespace is 2', async () => {
      await app.publish(q, '1');
      await app.publish('b', '1');
      expectRefused(
        await app.put('c', '1'),
        refusal('too_many_queues', '2 of 2 queues', 'max_queues_per_namespace'),
        undefined,
      );
      await app.publish('b', '2');
    });

    it('count dead jobs, but refuse no respawn', async () => {
      for (const body of ['1', '2', '3']) await app.publish(`${q}?tries=1`, body);
      await app.get(`${q}?count=3&ttr=0`);
      await waitFor(async () => (await app.engine.deadLetter.head(app.namespace, 'q')).size === 3, 5_000);
      expectRefused(await app.put(q, '4'), full(3), '1');
      expect(await app.call('PUT', `${q}/deadletter?limit=3`)).toMatchObject({ json: { count: 3 } });
    });
  });
});

describe('quotas of a namespace', () => {
  let app: TestApp;
  /** Another server on the same Redis, started before any quota is set. */
  let other: TestApp;
  let redisUrl: string;
  let redis: Redis;
  beforeAll(async () => {
    const env = { PUMPHOUSE_LIMITS__MAX_JOBS_PER_QUEUE: '100' };
    const alone = await TestApp.alone(env);
    app = alone.app;
    redisUrl = alone.redis.url;
    redis = alone.client;
    other = await TestApp.start({ ...env, PUMPHOUSE_POOLS__DEFAULT__URL: redisUrl });
  });
  afterAll(async () => {
    await other.stop();
    await app.stop();
  });

  const path = (namespace: string): string => `/namespaces/${namespace}/quotas`;
  const set = (values: unknown, namespace = app.namespace, query = ''): Promise<Answer> =>
    app.admin('PUT', path(namespace) + query, { body: JSON.stringify(values) });
  const shown = async (namespace = app.namespace): Promise<unknown> =>
    ((await app.admin('GET', path(namespace))).json as { quotas: unknown }).quotas;
  /** A publish over a server to the namespace of the first one. */
  const publish = (server: TestApp, queue: string, body = 'x'): Promise<Answer> =>
    server.call('PUT', `/api/${app.namespace}/${queue}`, { body, token: app.token });
  const refuses = (server: TestApp, queue: string, why: string, body = 'x'): Promise<unknown> =>
    waitFor(async () => {
      const { status, text } = await publish(server, queue, body);
      return status === 429 && text.includes(why);
    }, 10_000);
  const quota = (value: number, byDefault: number): object => ({ value, default: byDefault });

  it('apply on every server within seconds, and to no other namespace', async () => {
    expect((await set({ max_jobs_per_queue: 2 })).status).toBe(200);
    expect(await shown()).toMatchObject({ max_jobs_per_queue: quota(2, 100) });
    for (const body of ['1', '2']) await app.publish('live', body);
    await refuses(app, 'live', ' of 2 jobs: quota max_jobs_per_queue of namespace ');
    await refuses(other, 'live', ' of 2 jobs: quota max_jobs_per_queue of namespace ');
    for (let i = 0; i < 3; i++) await other.publish('live', '1');

    expect(await shown(other.namespace)).toMatchObject({ max_jobs_per_queue: quota(100, 100) });
    expect((await set({ max_jobs_per_queue: null })).status).toBe(200);
    for (const server of [app, other])
      await waitFor(async () => (await publish(server, 'live')).status === 201, 5_000);
  });

  it('apply in each pool to which theirs moves by way of another one', async () => {
    const pool = (name: string, db: number, to?: string): Record<string, string> => ({
      [`PUMPHOUSE_POOLS__${name}__URL`]: redisUrl,
      [`PUMPHOUSE_POOLS__${name}__DB`]: String(db),
      ...(to === undefined ? {} : { [`PUMPHOUSE_POOLS__${name}__MIGRATE_TO`]: to }),
    });
    const moving = await TestApp.start({
      ...{ ...pool('DEFAULT', 1, 'second'), ...pool('SECOND', 2, 'third'), ...pool('THIRD', 3) },
    });
    const body = '{"max_jobs_per_queue":1}';
    expect((await moving.admin('PUT', path(moving.namespace), { body })).status).toBe(200);
    await moving.publish('q');
    await waitFor(async () => (await moving.put('q')).status === 429, 5_000);
    await moving.stop();
  });

  it('count bytes that were stored before the quota was set, and refuse nothing with a quota of 0', async () => {
    // A pass for another namespace has ended, and does not count for this one.
    await set({ max_bytes_per_namespace: 10_000 }, other.namespace);
    await waitFor(async () => (await redis.get('pumphouse:counted')) === 'done', 60_000);
    for (let i = 0; i < 5; i++) await app.publish('old', 'x'.repeat(100));
    await set({ max_bytes_per_namespace: 600 });
    // Too large by itself, so that the jobs that are stored are all there is.
    await waitFor(async () => {
      const { status, text } = await app.put('old', 'y'.repeat(610));
      const counted = /"(\d+) of 600 bytes: quota max_bytes_per_namespace of namespace /.exec(text)?.[1];
      return status === 429 && Number(counted) >= 500;
      // A pass begins when all servers know the quota, and does not wait for the next check.
    }, 8_000);
    // Another value of a quota in effect needs no other pass.
    await waitFor(async () => (await redis.get('pumphouse:counted')) === 'done', 8_000);
    await set({ max_bytes_per_namespace: 550 });
    await refuses(app, 'old', ' of 550 bytes: quota max_bytes_per_namespace of ', 'y'.repeat(610));
    expect(await redis.get('pumphouse:counted')).toBe('done');
    await set({ max_bytes_per_namespace: 0 });

    await waitFor(async () => (await publish(app, 'old', 'y'.repeat(5_000))).status === 201, 5_000);
    await set({ max_bytes_per_namespace: null });
  });

  it('apply on a server that starts later from its first request', async () => {
    await set({ max_queues_per_namespace: 1 }, other.namespace);
    await waitFor(async () => (await other.put('new', '1')).status === 429, 5_000);
    const late = await TestApp.start({ PUMPHOUSE_POOLS__DEFAULT__URL: redisUrl });
    const answer = await late.call('PUT', `/api/${other.namespace}/newer`, { body: '1', token: other.token });
    await late.stop();
    await set({ max_queues_per_namespace: null }, other.namespace);

    expect(answer).toMatchObject({ status: 429, json: { code: 'too_many_queues' } });
  });

  it('refuse a recurring job that is run by a call, and are named in the answer', async () => {
    const v1 = (method: string, at: string, body?: object): Promise<Answer> =>
      app.call(method, `/v1/${app.namespace}/${at}`, { ...(body && { body: JSON.stringify(body) }) });
    await app.publish('often', '1');
    await set({ max_jobs_per_queue: 1 });
    const definition = { schedule: { every_ms: 3_600_000, offset_ms: 3_600_000 }, job: { queue: 'often' } };
    expect((await v1('PUT', 'recurring/r', definition)).status).toBeLessThan(300);
    await refuses(app, 'often', 'max_jobs_per_queue');
    const { status, json } = await v1('POST', 'recurring/r/run');
    await set({ max_jobs_per_queue: null });

    expect(status).toBe(429);
    expect((json as { detail: string }).detail).toMatch(
      /^\d+ of 1 jobs: quota max_jobs_per_queue of namespace /,
    );
  });

  it.each([
    [{}, 'name one of'],
    [{ max_jobs: 1 }, 'there is no quota max_jobs'],
    [{ max_jobs_per_queue: -1 }, 'must be a whole number from 0'],
    [{ max_jobs_per_queue: 1.5 }, 'must be a whole number from 0'],
    [{ max_jobs_per_queue: '1' }, 'must be a whole number from 0'],
    [[1], 'must be a JSON object'],
    [null, 'must be a JSON object'],
  ])('are refused as %j', async (values, rule) => {
    const { status, text } = await set(values);
    expect(status).toBe(400);
    expect(text).toContain(rule);
    expect((await set({ max_jobs_per_queue: 1 }, app.namespace, '?pool=none')).status).toBe(400);
  });

  it('are shown and set by the command line, and logged', async () => {
    const call = async (...args: string[]): Promise<{ code: number; out: string; err: string }> => {
      let [out, err] = ['', ''];
      const url = `http://127.0.0.1:${String(app.server.admin.port)}`;
      const code = await run(['quota', ...args, '--admin', url], {
        out: (text) => (out += text),
        err: (text) => (err += text),
      });
      return { code, out, err };
    };
    const row = (value: string): RegExp => new RegExp(`max_jobs_per_queue +${value} +default 100\n`);
    const ns = app.namespace;

    expect((await call('set', ns, '--max-jobs-per-queue', '7')).out).toMatch(row('7'));
    expect((await call('get', ns)).out).toMatch(row('7'));
    expect((await call('set', ns, '--max-jobs-per-queue', 'default')).out).toMatch(row('100'));
    const nothing = await call('set', ns);
    expect([nothing.code, nothing.err]).toEqual([2, expect.stringContaining('name a quota')]);
    expect(await call('set', ns, '--max-jobs-per-queue', 'many')).toMatchObject({ code: 2 });
    const changes = app.log.map(({ details }) => details);
    expect(changes).toContainEqual(
      expect.objectContaining({ audit: 'namespace.quotas', namespace: ns, max_jobs_per_queue: 7 }),
    );
  });
});

describe('bodies of requests', () => {
  const MOST = 200_000;
  const BODY = 30_000;
  /** A token has half: two bodies are less than three quarters of that, three are more. */
  const FEW = 2;

  /** The spelling for the fast path and the one for the router: one escape in the path is enough. */
  describe.each([
    ['the fast path', 'q', 'acks'],
    ['the router', '%71', '%61cks'],
  ])('the limit on buffered body bytes, over %s', (_way, q, acks) => {
    let app: TestApp;
    const open: RawConnection[] = [];
    beforeAll(async () => {
      app = await TestApp.start({ PUMPHOUSE_SERVER__MAX_BODY_BYTES_IN_FLIGHT: String(MOST) });
    });
    afterEach(async () => {
      for (const connection of open.splice(0)) connection.cut();
      await held(0);
    });
    afterAll(() => app.stop());

    const metric = async (name: string): Promise<number> => {
      const { text } = await app.admin('GET', '/metrics');
      return Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${name} `))
          ?.split(' ')[1],
      );
    };
    const held = (bytes: number): Promise<boolean> =>
      waitFor(async () => (await metric('pumphouse_http_body_bytes')) === bytes, 5_000);

    /** Begins a request, and sends no more of its body than this. */
    async function begin(
      method: string,
      path: string,
      headers: object,
      body: string,
    ): Promise<RawConnection> {
      const connection = await app.open();
      open.push(connection);
      connection.write(head(method, path, { 'X-Token': app.token, ...headers }) + body);
      return connection;
    }
    const publish = (): Promise<RawConnection> =>
      begin('PUT', `/api/${app.namespace}/${q}`, { 'Content-Length': String(BODY) }, 'x');

    it('refuses a body beyond it before reading it, with Retry-After, and counts the refusal', async () => {
      const before = await metric('pumphouse_refusals_total{reason="body_bytes"}');
      for (let i = 0; i < FEW; i++) await publish();
      await held(FEW * BODY);
      const many = await Promise.all(Array.from({ length: 20 }, publish));
      for (const connection of many) {
        const answer = await connection.until('overloaded');
        expect(answer).toMatch(/^HTTP\/1.1 503 [^]*Retry-After: 1\r\n/);
      }
      expect(await metric('pumphouse_refusals_total{reason="body_bytes"}')).toBe(before + many.length);
      expect(await metric('pumphouse_http_body_bytes')).toBe(FEW * BODY);
      // What has no body, or a short one, has room.
      expect(await app.get(`${q}/size`)).toMatchObject({ status: 200 });
      expect(await app.put(q, 'short')).toMatchObject({ status: 201 });
    });

    it('leaves room for acknowledgements', async () => {
      const id = await app.publish(q, 'work');
      for (let i = 0; i < FEW; i++) await publish();
      await held(FEW * BODY);
      const body = JSON.stringify({ acks: [{ queue: 'q', id, force: true }] }).padEnd(BODY);
      expect(await app.put(q, body)).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
      expect(await app.call('POST', `/v1/${app.namespace}/${acks}`, { body })).toMatchObject({
        status: 200,
        json: { results: [{ id, status: 'acked' }] },
      });
    });

    it('has room again when the bodies have arrived, and each is stored', async () => {
      const begun = [await publish(), await publish()];
      await held(FEW * BODY);
      for (const connection of begun) connection.write('x'.repeat(BODY - 1));
      for (const connection of begun) await connection.until('HTTP/1.1 201');
      await held(0);
      expect(await app.put(q, 'x'.repeat(BODY))).toMatchObject({ status: 201 });
    });

    it('leaves room for other tokens', async () => {
      for (let i = 0; i < FEW; i++) await publish();
      await held(FEW * BODY);
      const path = `/token/${app.namespace}?description=other`;
      const { token } = (await app.admin('POST', path)).json as { token: string };
      expect(await app.put(q, 'x'.repeat(BODY), { token })).toMatchObject({ status: 201 });
      expect(await app.put(q, 'x'.repeat(BODY))).toMatchObject({ status: 503 });
    });

    it('stores a body that comes in chunks of one byte', async () => {
      const connection = await begin(
        'PUT',
        `/api/${app.namespace}/tiny`,
        { 'Transfer-Encoding': 'chunked' },
        '',
      );
      const text = 'abcdefghij'.repeat(100);
      for (const letter of text) connection.write(`1\r\n${letter}\r\n`);
      connection.write('0\r\n\r\n');
      await connection.until('HTTP/1.1 201');
      const { json } = await app.get('tiny');
      expect(Buffer.from((json as { data: string }).data, 'base64').toString()).toBe(text);
    });

    it('counts chunked bodies as they arrive', async () => {
      const headers = { 'Transfer-Encoding': 'chunked' };
      const chunk = `${BODY.toString(16)}\r\n${'x'.repeat(BODY)}\r\n`;
      const path = `/api/${app.namespace}/${q}`;
      await publish();
      const connection = await begin('PUT', path, headers, chunk);
      await held(FEW * BODY);
      connection.write(chunk);
      expect(await connection.until('overloaded')).toMatch(/^HTTP\/1.1 503 /);
      await held(BODY);
    });

    it('admits a body larger than the limit if it is alone', async () => {
      const body = JSON.stringify(Array<string>(7).fill('x'.repeat(BODY)));
      expect(body.length).toBeGreaterThan(MOST);
      expect(await app.put(`${q}/bulk`, body)).toMatchObject({ status: 201 });
    });
  });
});

describe('bounds of connections', () => {
  /** The spelling for the fast path and the one for the router: one escape in the path is enough. */
  const WAYS = [
    ['the fast path', 'q'],
    ['the router', '%71'],
  ] as const;

  /** The value of a metric, all its series together. */
  async function metric(app: TestApp, name: string): Promise<number> {
    const { text } = await app.admin('GET', '/metrics');
    const lines = text.split('\n').filter((line) => line.startsWith(name));
    if (lines.length === 0) throw new Error(`no metric ${name}`);
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }

  describe('limits on concurrent requests', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await TestApp.start({
        PUMPHOUSE_SERVER__MAX_IN_FLIGHT: '8',
        PUMPHOUSE_LIMITS__MAX_WAITERS: '4',
        PUMPHOUSE_LIMITS__MAX_WAITERS_PER_TOKEN: '3',
      });
    });
    afterAll(() => app.stop());

    const path = (rest: string): string => `/api/${app.namespace}/${rest}`;
    const auth = (more: Record<string, string> = {}): Record<string, string> => ({
      'X-Token': app.token,
      ...more,
    });
    /** A request whose body does not come. */
    const begin = async (rest = 'q', api = ''): Promise<RawConnection> => {
      const connection = await app.open();
      const [method, url] = api === '' ? ['PUT', path(rest)] : ['POST', api];
      connection.write(`${head(method, url, auth({ 'Content-Length': '2' }))}x`);
      return connection;
    };
    const inFlight = (count: number): Promise<boolean> =>
      waitFor(async () => (await metric(app, 'pumphouse_http_in_flight')) === count);

    it.each(WAYS)(
      'refuse publishes and consumes at three quarters of the limit, acknowledgements at the limit, probes never: %s',
      async (_way, q) => {
        const refusedBefore = await metric(app, 'pumphouse_refusals_total{reason="in_flight"}');
        const begun = await Promise.all(Array.from({ length: 6 }, () => begin()));
        await inFlight(6);

        for (const refused of [await app.put(q), await app.get(q), await app.put(`${q}/bulk`, '[1]')]) {
          expect(refused).toMatchObject({
            status: 503,
            json: { code: 'overloaded', error: 'service unavailable' },
            headers: { 'retry-after': '1' },
          });
        }
        expect(await app.delete(`${q}/job/none`)).toMatchObject({ status: 204 });
        expect(await app.get('/healthz')).toMatchObject({ status: 200 });
        expect(await app.get('/readyz')).toMatchObject({ status: 200 });

        for (let i = 0; i < 2; i++) begun.push(await begin('', `/v1/${app.namespace}/acks`));
        await inFlight(8);
        expect(await app.delete(`${q}/job/none`)).toMatchObject({ status: 503 });
        expect(await app.get('/healthz')).toMatchObject({ status: 200 });
        expect(await metric(app, 'pumphouse_refusals_total{reason="in_flight"}')).toBe(refusedBefore + 4);

        for (const connection of begun) connection.write('x');
        for (const connection of begun) await connection.until('HTTP/1.1 ');
        await inFlight(0);
        expect(await app.put(q)).toMatchObject({ status: 201 });
        for (const connection of begun) connection.cut();
        await app.delete('q');
      },
    );

    it('no longer count a request whose client disconnected', async () => {
      const begun = [await begin(), await begin(), await begin()];
      await inFlight(3);
      for (const connection of begun) connection.cut();

      await inFlight(0);
    });

    it.each(WAYS)('refuse a long poll beyond the limit of its token with 429: %s', async (_way, q) => {
      const polls = [1, 2, 3].map(() => app.get('idle?timeout=20'));
      await waitFor(async () => (await metric(app, 'pumphouse_waiters')) === 3);
      expect(await metric(app, 'pumphouse_http_in_flight')).toBe(0);

      const idle = q === 'q' ? 'idle' : '%69dle';
      expect(await app.get(`${idle}?timeout=20`)).toMatchObject({
        status: 429,
        json: { code: 'too_many_waiters' },
        headers: { 'retry-after': '1' },
      });
      expect(await app.get(idle)).toMatchObject({ status: 404 });

      for (let i = 0; i < 3; i++) await app.publish('idle');
      expect((await Promise.all(polls)).map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(await app.get('idle?timeout=1')).toMatchObject({ status: 404 });
    });

    it('refuse a long poll beyond the limit of the process with 503, and accept one after another ended', async () => {
      const created = await app.admin('POST', `/token/${app.namespace}?description=other`);
      const { token } = created.json as { token: string };
      const gone = new AbortController();
      const first = app.get('wait?timeout=20', { signal: gone.signal }).catch(() => undefined);
      const polls = [1, 2].map(() => app.get('wait?timeout=20'));
      const other = app.get('wait?timeout=20', { token });
      await waitFor(async () => (await metric(app, 'pumphouse_waiters')) === 4);

      expect(await app.get('wait?timeout=20', { token })).toMatchObject({
        status: 503,
        json: { code: 'overloaded' },
      });
      gone.abort();
      await first;
      await waitFor(async () => (await metric(app, 'pumphouse_waiters')) === 3);
      const again = app.get('wait?timeout=20', { token });
      await waitFor(async () => (await metric(app, 'pumphouse_waiters')) === 4);
      for (let i = 0; i < 4; i++) await app.publish('wait');
      const answers = await Promise.all([...polls, other, again]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    });
  });

  describe('limits on connections', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await TestApp.start({
        PUMPHOUSE_SERVER__MAX_CONNECTIONS: '3',
        PUMPHOUSE_SERVER__HEADER_TIMEOUT_MS: '400',
        PUMPHOUSE_SERVER__MAX_URL_BYTES: '1000',
        PUMPHOUSE_SERVER__MAX_HEADER_BYTES: '4000',
      });
    });
    afterAll(() => app.stop());

    it('answer a connection beyond the limit with 503, and accept one after another closed', async () => {
      const poll = head('GET', `/api/${app.namespace}/q?timeout=20`, { 'X-Token': app.token });
      const held = [await app.open(), await app.open(), await app.open()];
      for (const connection of held) connection.write(poll);
      await waitFor(async () => (await metric(app, 'pumphouse_waiters')) === 3);

      for (const extra of [await app.open(), await app.open()]) {
        extra.write(poll);
        const answer = await extra.untilClosed();
        expect(answer).toMatch(
          /^HTTP\/1.1 503 [^]*Retry-After: 1\r\n[^]*Connection: close\r\n\r\n\{"code":"overloaded"/,
        );
        expect(answer).toMatch(/X-Request-Id: [0-9A-Z]{26}\r\n/);
      }
      expect(await metric(app, 'pumphouse_refusals_total{reason="connections"}')).toBe(2);
      expect(await metric(app, 'pumphouse_http_connections')).toBe(3);

      held.pop()!.cut();
      await waitFor(async () => (await metric(app, 'pumphouse_http_connections')) === 2);
      expect(await app.raw(head('GET', '/healthz', { Connection: 'close' }))).toContain('HTTP/1.1 200');
      for (const connection of held) connection.cut();
      await waitFor(async () => (await metric(app, 'pumphouse_http_connections')) === 0);
    });

    it.each([
      ['sends nothing', ''],
      ['sends a part of its headers only', 'GET / HTTP/1.1\r\nHost: x\r\n'],
    ])('answer a connection with 408 and close it if it %s', async (_what, bytes) => {
      const connection = await app.open();
      if (bytes !== '') connection.write(bytes);

      expect(await connection.untilClosed()).toMatch(/^HTTP\/1.1 408 [^]*X-Request-Id/);
    });

    it('answer a connection that sends its headers byte by byte with 408 and close it', async () => {
      const connection = await app.open();
      const drip = setInterval(() => connection.write('X'), 20);
      try {
        connection.write('GET / HTTP/1.1\r\nHost: x\r\nX-Long: ');
        expect(await connection.untilClosed()).toContain('HTTP/1.1 408');
      } finally {
        clearInterval(drip);
      }
    });

    it.each(['q', '%71'])('answer a long address with 414: %s', async (q) => {
      const url = `/api/${app.namespace}/${q}?x=${'x'.repeat(1_000)}`;
      const answer = await app.raw(head('GET', url, { 'X-Token': app.token, Connection: 'close' }));

      expect(answer).toMatch(/^HTTP\/1.1 414 [^]*\{"error":"request URI too long"\}$/);
    });

    it('answer a long address of the native API with problem details', async () => {
      const url = `/v1/${app.namespace}/acks?x=${'x'.repeat(1_000)}`;
      const answer = await app.raw(head('POST', url, { 'X-Token': app.token, Connection: 'close' }));

      expect(answer).toMatch(/^HTTP\/1.1 414 [^]*"code":"uri_too_long"/);
    });

    it('answer headers beyond their limit with 431', async () => {
      const answer = await app.raw(head('GET', '/healthz', { 'X-Long': 'x'.repeat(8_000) }));

      expect(answer).toMatch(/^HTTP\/1.1 431 [^]*request header fields too large/);
    });
  });

  describe('more than 2,000 headers', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await TestApp.start();
    });
    afterAll(() => app.stop());

    /** A request with so many headers, the token the last of them. */
    const request = (method: string, path: string, count: number): string => {
      const others = 'A: b\r\n'.repeat(count - 2);
      return `${method} ${path} HTTP/1.1\r\nHost: x\r\n${others}X-Token: ${app.token}\r\n\r\n`;
    };

    it.each(WAYS)('are answered with 431, as the token may be cut off: %s', async (_way, q) => {
      const path = `/api/${app.namespace}/${q}`;
      expect(await app.raw(request('GET', path, 2_001))).toMatch(
        /^HTTP\/1.1 431 [^]*Connection: close[^]*\{"error":"request header fields too large"\}$/,
      );
      const connection = await app.open();
      connection.write(request('GET', path, 2_000));
      expect(await connection.until('no job available')).toMatch(/^HTTP\/1.1 404 /);
      connection.cut();
    });

    it('are answered with problem details on the native API, and refused on the admin port', async () => {
      const path = `/v1/${app.namespace}/leases`;
      expect(await app.raw(request('POST', path, 2_001))).toMatch(/^HTTP\/1.1 431 [^]*"headers_too_large"/);
      const headers = Array.from({ length: 2_000 }, (_, i) => [`a${String(i)}`, 'b']);
      expect(
        await app.admin('GET', '/version', {
          headers: Object.fromEntries(headers) as Record<string, string>,
        }),
      ).toMatchObject({ status: 431 });
    });
  });

  describe('a client that does not read its answer', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await TestApp.start({ PUMPHOUSE_SERVER__ANSWER_TIMEOUT_MS: '300' });
    });
    afterAll(() => app.stop());

    it('is disconnected after answer_timeout_ms, and its jobs are ready again, without a try used', async () => {
      const body = Buffer.alloc(65_535, 'x');
      for (let i = 0; i < 60; i++) await app.put('big?tries=1', body);
      const connection = await app.open();
      connection.socket.pause();
      const url = `/api/${app.namespace}/big?count=100&ttr=3600`;
      connection.write(head('GET', url, { 'X-Token': app.token }));

      await waitFor(async () => (await metric(app, 'pumphouse_unread_answers_total')) === 1, 5_000);
      await waitFor(async () => (await app.engine.queues.size(app.namespace, 'big')) === 60, 5_000);
      connection.cut();
      expect(await app.get('big')).toMatchObject({ status: 200, json: { remain_tries: 0 } });
    });

    it('is disconnected if it closed its sending side and no answer comes', async () => {
      const engine = app.server.api.app.get(Engines, { strict: false }).of('default');
      Object.assign(engine, { lease: () => new Promise(() => undefined) });
      const connection = await app.openHalf();
      connection.socket.end(head('GET', `/api/${app.namespace}/never`, { 'X-Token': app.token }));

      expect(await connection.untilClosed()).toBe('');
      expect(await metric(app, 'pumphouse_http_in_flight')).toBe(0);
      Reflect.deleteProperty(engine, 'lease');
    });

    it('is not disconnected while it waits in a long poll', async () => {
      const before = await metric(app, 'pumphouse_unread_answers_total');
      const waiting = app.get('later?timeout=20');
      await sleep(900);
      await app.publish('later');

      expect(await waiting).toMatchObject({ status: 200 });
      expect(await metric(app, 'pumphouse_unread_answers_total')).toBe(before);
    });
  });
});
