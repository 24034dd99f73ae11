import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Webhook } from 'standardwebhooks';
import { freePort } from '../../scripts/setup/free-port.mjs';
import { AckLinks, type AckRef } from '../../src/push/ack-links.js';
import { Seal } from '../../src/push/seal.js';
import { QueueError } from '../../src/domain/errors.js';
import { Engines } from '../../src/engine/engines.js';
import type { PoolEngine } from '../../src/engine/pool-engine.js';
import { PoolRegistry } from '../../src/redis/redis.module.js';
import { type Answer, TestApp } from '../support/app.js';
import { type AnswerCheck, answerCheck } from '../support/openapi.js';
import { answerWith, PUSH, Receiver, type Received } from '../support/receiver.js';
import { testRedisUrl, waitFor } from '../support/redis.js';
import { EventClient } from '../support/sse.js';

interface TargetJson {
  readonly name: string;
  readonly url: string;
  readonly secret?: string;
  readonly header_names: string[];
  readonly queues: string[];
  readonly paused_at: string | null;
  readonly pause_reason: string | null;
  readonly old_secret_until: string | null;
  readonly timeout_ms: number;
  readonly breaker: { state: string; open_until: string | null; openings: number; settings: object | null };
}

interface JobJson {
  readonly state: string;
  readonly attempts: number;
  readonly tries_left: number;
  readonly failure: { group: string; message: string } | null;
  readonly result: { data: unknown; content_type: string } | null;
}

/** Calls of the native API on a server, for its own namespace or that of another one on the same Redis. */
const callsOn =
  (server: TestApp, { namespace, token }: Pick<TestApp, 'namespace' | 'token'> = server) =>
  (method: string, path: string, body?: object): Promise<Answer> =>
    server.call(method, `/v1/${namespace}/${path}`, { ...(body && { body: JSON.stringify(body) }), token });

describe('HTTP push', () => {
  let app: TestApp;
  let receiver: Receiver;
  let check: AnswerCheck;
  let redis: Redis;
  let number = 0;
  const fresh = (what: string): string => `${what}${String(number++)}`;

  beforeAll(async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'pumphouse-push-')), 'key');
    writeFileSync(file, `${randomBytes(32).toString('base64')}\n`);
    app = await TestApp.start({
      ...PUSH,
      PUMPHOUSE_PUSH__KEY_FILE: file,
      PUMPHOUSE_SERVER__PUBLIC_URL: 'https://queue.example/base/',
    });
    check = answerCheck((await app.get('/v1/openapi.json', { token: null })).json);
    redis = new Redis(testRedisUrl(), { protocol: 2 });
  });
  afterAll(async () => {
    redis.disconnect();
    await app.stop();
  });
  // One for each test: a job that an earlier test left comes back later, and must not be counted.
  beforeEach(async () => {
    receiver = await Receiver.start();
  });
  afterEach(() => receiver.stop());

  async function call(method: string, path: string, body?: object, token?: string): Promise<Answer> {
    const answer = await app.call(method, `/v1/${app.namespace}/${path}`, {
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(token === undefined ? {} : { token }),
    });
    check(method, `/${path.split('?')[0]!}`, answer);
    return answer;
  }

  async function given<T>(method: string, path: string, body?: object): Promise<T> {
    const { status, json, text } = await call(method, path, body);
    if (status >= 300) throw new Error(`${method} ${path}: ${String(status)} ${text}`);
    return json as T;
  }

  const put = (name: string, more: object = {}): Promise<TargetJson> =>
    given<TargetJson>('PUT', `targets/${name}`, { url: receiver.url, ...more });
  const target = (name: string): Promise<TargetJson> => given<TargetJson>('GET', `targets/${name}`);
  const job = (id: string): Promise<JobJson> => given<JobJson>('GET', `jobs/${id}`);
  const publish = async (queue: string, more: object = {}): Promise<string> =>
    (await given<{ id: string }>('POST', 'jobs', { queue, data: { n: 1 }, ...more })).id;

  /** A queue that is pushed to a target of its own. */
  async function pushed(more: object = {}): Promise<{ queue: string; name: string; secret: string }> {
    const [queue, name] = [fresh('q'), fresh('t')];
    const { secret = '' } = await put(name, more);
    await given('PATCH', `queues/${queue}`, { push: { target: name } });
    return { queue, name, secret };
  }

  async function stateOf(id: string, state: string): Promise<JobJson> {
    await waitFor(async () => (await job(id)).state === state, 5_000);
    return job(id);
  }

  describe('push targets', () => {
    it('show their secret only when they are created, and their header values never', async () => {
      const name = fresh('t');
      const made = await put(name, { headers: { Authorization: 'Bearer hush-hush' } });
      expect(made.secret).toMatch(/^whsec_/);
      expect(made.header_names).toEqual(['authorization']);

      const texts = [
        (await call('GET', `targets/${name}`)).text,
        (await call('GET', 'targets')).text,
        (await call('PATCH', `targets/${name}`, { timeout_ms: 5_000 })).text,
        (await call('POST', `targets/${name}/pause`)).text,
        (await call('PUT', `targets/${name}`, { url: receiver.url, headers: { a: 'hush-hush' } })).text,
        JSON.stringify(app.log),
        JSON.stringify(await redis.hgetall(`{${app.namespace}}:targets`)),
      ];
      for (const text of texts) {
        expect(text).not.toContain('hush-hush');
        expect(text).not.toContain(made.secret);
      }
    });

    it('have the defaults of the API, and are changed field by field', async () => {
      const name = fresh('t');
      await put(name);
      expect(await target(name)).toMatchObject({
        ...{ method: 'POST', timeout_ms: 30_000, body: 'raw', sign: 'standard', on_status: {}, queues: [] },
        ...{ max_retry_after_ms: 3_600_000, paused_at: null, breaker: { state: 'closed', openings: 0 } },
      });
      await given('PATCH', `targets/${name}`, { method: 'PUT', on_status: { '4xx': 'fail' } });
      expect(await target(name)).toMatchObject({
        method: 'PUT',
        on_status: { '4xx': 'fail' },
        timeout_ms: 30_000,
      });
    });

    it.each<[string, object]>([
      ['no URL', { url: 'nope' }],
      ['another scheme', { url: 'ftp://example.com/' }],
      ['a password in the URL', { url: 'https://a:b@example.com/' }],
      ['a fragment', { url: 'https://example.com/#a' }],
      ['a header of the server', { url: 'https://example.com/', headers: { 'Webhook-Id': 'a' } }],
      ['another header of the server', { url: 'https://example.com/', headers: { HOST: 'a' } }],
      ['a line break in a header', { url: 'https://example.com/', headers: { a: 'b\r\nc: d' } }],
      ['a header twice', { url: 'https://example.com/', headers: { a: 'b', A: 'c' } }],
      ['a short secret', { url: 'https://example.com/', secret: 'whsec_YWJj' }],
      ['an unknown way to acknowledge', { url: 'https://example.com/', ack: 'never' }],
      ['an unknown action', { url: 'https://example.com/', on_status: { '404': 'ignore' } }],
      ['an unknown status', { url: 'https://example.com/', on_status: { '700': 'fail' } }],
      ['a breaker that opens at no failure', { url: 'https://example.com/', breaker: { failures: 0 } }],
      ['a share above 100', { url: 'https://example.com/', breaker: { failure_percent: 101 } }],
      [
        'a breaker that is open for longer than it may',
        { url: 'https://example.com/', breaker: { open_ms: 400_000 } },
      ],
      ['a field that is not known', { url: 'https://example.com/', retries: 3 }],
    ])('are refused with %s', async (_what, body) => {
      expect((await call('PUT', `targets/${fresh('t')}`, body)).status).toBe(400);
    });

    it('are refused with an invalid name', async () => {
      expect((await call('PUT', 'targets/a.b', { url: 'https://example.com/' })).status).toBe(400);
    });

    it('are refused with an http URL if push.allow_http is false', async () => {
      const strict = await TestApp.start({ ...PUSH, PUMPHOUSE_PUSH__ALLOW_HTTP: 'false' });
      const body = JSON.stringify({ url: 'http://example.com/' });
      const answer = await strict.call('PUT', `/v1/${strict.namespace}/targets/t`, { body });
      await strict.stop();

      expect(answer.status).toBe(400);
      expect(answer.text).toContain('http:// needs push.allow_http of the server');
    });

    it('are refused with a port that the server does not push to', async () => {
      const strict = await TestApp.start({ ...PUSH, PUMPHOUSE_PUSH__PORTS: '443,8000-8999' });
      const set = (body: object): Promise<Answer> => callsOn(strict)('PUT', 'targets/t', body);
      const url = 'https://example.com:8443/';
      for (const fields of [
        { url: 'https://example.com:9099/' },
        { url, origins: ['https://a.example:9099'] },
      ])
        expect(await set(fields)).toMatchObject({
          status: 400,
          json: { detail: expect.stringContaining('push.ports of the server: 443, 8000-8999') as string },
        });
      expect(await set({ url, origins: ['https://a.example'] })).toMatchObject({ status: 200 });
      await strict.stop();
    });

    it('cannot be removed while a queue uses them', async () => {
      const { queue, name } = await pushed();
      expect(await target(name)).toMatchObject({ queues: [queue] });
      expect((await call('DELETE', `targets/${name}`)).json).toMatchObject({ code: 'target_in_use' });

      await given('PATCH', `queues/${queue}`, { push: null });
      expect((await call('DELETE', `targets/${name}`)).status).toBe(204);
      expect((await call('GET', `targets/${name}`)).json).toMatchObject({ code: 'target_not_found' });
    });

    it('must exist before a queue uses them', async () => {
      const answer = await call('PATCH', `queues/${fresh('q')}`, { push: { target: 'nowhere' } });
      expect(answer.json).toMatchObject({ code: 'target_not_found' });
    });

    it('need the permission push to be shown, admin to be changed, and both to be set on a queue', async () => {
      const { queue, name } = await pushed();
      const tokenOf = async (verbs: string): Promise<string> => {
        const path = `/token/${app.namespace}?description=d&verbs=${verbs}`;
        return ((await app.admin('POST', path)).json as { token: string }).token;
      };
      const [user, admin, both] = [
        await tokenOf('push'),
        await tokenOf('admin'),
        await tokenOf('admin,push'),
      ];
      const statuses = async (token: string): Promise<number[]> =>
        Promise.all([
          call('GET', `targets/${name}`, undefined, token).then(({ status }) => status),
          call('PATCH', `targets/${name}`, {}, token).then(({ status }) => status),
          call('POST', `targets/${name}/test`, undefined, token).then(({ status }) => status),
          call('PATCH', `queues/${queue}`, { push: { target: name } }, token).then(({ status }) => status),
        ]);

      expect(await statuses(user)).toEqual([200, 403, 403, 403]);
      expect(await statuses(admin)).toEqual([403, 200, 200, 403]);
      expect(await statuses(both)).toEqual([200, 200, 200, 200]);
    });

    it('are set on five queues at the same time, and list all five', async () => {
      const name = fresh('t');
      await put(name);
      await Promise.all(
        Array.from({ length: 8 }, (_, i) =>
          given('PATCH', `targets/${name}`, { on_status: { [`40${String(i)}`]: 'fail' } }),
        ),
      );
      const queues = Array.from({ length: 5 }, () => fresh('q'));
      await Promise.all(queues.map((queue) => given('PATCH', `queues/${queue}`, { push: { target: name } })));
      expect((await target(name)).queues).toEqual(queues.sort());
    });

    it('are tested by a signed request, whose answer and action are returned', async () => {
      const name = fresh('t');
      const { secret = '' } = await put(name);
      receiver.respond = answerWith(503, {}, 'come back');
      expect(await given('POST', `targets/${name}/test`)).toMatchObject({
        ...{ status: 503, body: 'come back', action: 'retry', problem: null, signed: true },
      });
      const { headers, body } = receiver.received.at(-1)!;
      expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toEqual({ test: true });

      await put(name, { url: 'http://10.0.0.1:8080/' });
      expect(await given('POST', `targets/${name}/test`)).toMatchObject({ status: null, problem: 'blocked' });
    });

    it('are removed with their namespace', async () => {
      const token = 'a-token-for-the-namespace-that-goes';
      const ns = `${app.namespace}-gone`;
      await app.admin('POST', `/token/${ns}?description=d&token=${token}`);
      const body = JSON.stringify({ url: receiver.url });
      expect((await app.call('PUT', `/v1/${ns}/targets/t`, { body, token })).status).toBe(200);
      const isListed = () =>
        app.server.api.app
          .get(PoolRegistry, { strict: false })
          .get('default')!
          .read('SISMEMBER', 'pumphouse:pushed', ns);
      expect(await isListed()).toBe(1);
      await app.engine.purge.run(ns);

      expect(await redis.keys(`{${ns}}*`)).toEqual([]);
      expect(await isListed()).toBe(0);
    });
  });

  it('measures the duration of push requests in seconds', async () => {
    const sum = async (): Promise<number> => {
      const { text } = await app.admin('GET', '/metrics');
      return Number(/^pumphouse_push_seconds_sum\{pool="default"\} (\S+)$/m.exec(text)?.[1] ?? 0);
    };
    const before = await sum();
    receiver.respond = (response) => void setTimeout(() => response.end('ok'), 300);
    const { queue } = await pushed();
    await publish(queue);
    await waitFor(async () => (await sum()) - before >= 0.3);
    expect((await sum()) - before).toBeLessThan(30);
  });

  it('counts jobs by target in metrics, and logs changes of targets in the audit log', async () => {
    const { queue, name } = await pushed();
    await publish(queue);
    receiver.respond = answerWith(503);
    const failed = await publish(queue, { tries: 1 });
    await stateOf(failed, 'dead');
    await given('POST', `targets/${name}/pause`);
    const { text } = await app.admin('GET', '/metrics');
    const of = `pool="default",namespace="${app.namespace}",target="${name}"`;

    expect(text).toContain(`pumphouse_push_jobs_total{${of},outcome="retry"} `);
    expect(text).toContain(`pumphouse_push_jobs_total{${of},outcome="held"} 0`);
    expect(text).toContain(`pumphouse_push_breakers_opened_total{${of}} 0`);
    expect(text).toMatch(/pumphouse_push_seconds_count\{pool="default"\} [1-9]/);
    expect(text).toContain('pumphouse_push_in_flight 0');
    await given('PATCH', `targets/${name}`, { timeout_ms: 2_000 });
    await given('POST', `targets/${name}/rotate`);
    await given('POST', `targets/${name}/resume`);
    await given('POST', `targets/${name}/test`);
    await given('PATCH', `queues/${queue}`, { push: null });
    await given('DELETE', `targets/${name}`);
    const lines = app.log.filter(({ message, details }) => message === 'audit' && 'target' in details);
    const by = {
      ...{ pool: 'default', namespace: app.namespace, token_hint: `${app.token.slice(0, 4)}…` },
      target: name,
    };
    expect(lines.map(({ details }) => details).slice(-9)).toEqual([
      { audit: 'target.put', ...by },
      { audit: 'queue.push', ...by, queue },
      { audit: 'target.pause', ...by },
      ...['update', 'rotate', 'resume', 'test'].map((what) => ({ audit: `target.${what}`, ...by })),
      { audit: 'queue.push', ...by, queue, target: null },
      { audit: 'target.delete', ...by },
    ]);
  });

  it('shows secrets and headers of a target in no event, metric, failure or log line', async () => {
    const header = 'Bearer value-of-the-header-of-a-target';
    const client = await EventClient.open(app.port, `/v1/${app.namespace}/events`, app.token);
    await client.begun();
    const { queue, name, secret } = await pushed({ headers: { Authorization: header } });
    receiver.respond = answerWith(503);
    const id = await publish(queue, { tries: 1 });
    await stateOf(id, 'dead');
    const { secret: rotated = '' } = await given<TargetJson>('POST', `targets/${name}/rotate`);
    await given('POST', `targets/${name}/test`);
    await given('POST', `targets/${name}/pause`);
    await waitFor(() => client.body.includes(name) && client.body.includes(id), 5_000);
    client.socket.destroy();
    expect(receiver.of(id).map(({ headers }) => headers.authorization)).toEqual([header]);

    const shown = [
      client.body,
      (await app.admin('GET', '/metrics')).text,
      (await call('GET', `jobs/${id}`)).text,
      (await call('GET', 'targets')).text,
      (await call('GET', `dead-letter?queue=${queue}`)).text,
      JSON.stringify(app.log),
    ];
    expect(shown.filter((text) => text.includes(name) || text.includes(id))).toHaveLength(shown.length);
    for (const hidden of [
      header,
      secret,
      rotated,
      secret.slice('whsec_'.length),
      rotated.slice('whsec_'.length),
    ]) {
      expect(hidden.length).toBeGreaterThan(20);
      expect(shown.filter((text) => text.includes(hidden))).toEqual([]);
    }
  });

  describe('a push request', () => {
    it('has the data of the job, headers about it, and a signature that Standard Webhooks accepts', async () => {
      const { queue, secret } = await pushed({ headers: { 'X-Own': 'mine' } });
      const id = await publish(queue, { data: { to: 'ada' }, tries: 3 });
      await waitFor(() => receiver.of(id).length === 1, 5_000);
      const [{ method, url, headers, body }] = receiver.of(id) as [Received];

      expect([method, url, body.toString()]).toEqual(['POST', '/hook', '{"to":"ada"}']);
      expect(headers).toMatchObject({
        ...{ 'content-type': 'application/json', 'idempotency-key': id, 'pumphouse-queue': queue },
        ...{
          'pumphouse-attempt': '1',
          'pumphouse-tries-left': '2',
          'x-own': 'mine',
          'user-agent': 'Pumphouse',
        },
      });
      expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toEqual({ to: 'ada' });
      await waitFor(async () => (await call('GET', `jobs/${id}`)).status === 404);
    });

    it('has the published bytes and content type', async () => {
      const { queue } = await pushed();
      const bytes = randomBytes(200);
      const id = await publish(queue, {
        data: undefined,
        ...{ data_base64: bytes.toString('base64'), content_type: 'image/png' },
      });
      const other = await app.publish(queue, Buffer.from([0xff, 0xfe]));
      await waitFor(() => receiver.of(id).length === 1 && receiver.of(other).length === 1, 5_000);

      expect(receiver.of(id)[0]!.body.equals(bytes)).toBe(true);
      expect(receiver.of(id)[0]!.headers['content-type']).toBe('image/png');
      expect(receiver.of(other)[0]!.headers['content-type']).toBe('application/octet-stream');
    });

    it('has the fields of the job in its body if the target has body: job', async () => {
      const { queue, secret } = await pushed({ body: 'job' });
      const id = await publish(queue, { data: { to: 'ada' }, type: 'mail', tags: ['a'] });
      await waitFor(() => receiver.of(id).length === 1, 5_000);
      const [{ headers, body }] = receiver.of(id) as [Received];

      expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toMatchObject({
        ...{
          id,
          queue,
          type: 'mail',
          tags: ['a'],
          attempt: 1,
          data: { to: 'ada' },
          content_type: 'application/json',
        },
      });
    });

    it('has signatures by the old and the new secret after a rotation, until keep_old_ms ends', async () => {
      const { queue, name, secret: old } = await pushed();
      const { secret = '' } = await given<TargetJson>('POST', `targets/${name}/rotate`, {
        keep_old_ms: 60_000,
      });
      expect(secret).not.toBe(old);
      await sleep(1_100);
      const id = await publish(queue);
      await waitFor(() => receiver.of(id).length === 1, 5_000);
      const [{ headers, body }] = receiver.of(id) as [Received];
      for (const one of [old, secret]) new Webhook(one).verify(body, headers as Record<string, string>);

      await given('POST', `targets/${name}/rotate`, { keep_old_ms: 0 });
      await sleep(1_100);
      const next = await publish(queue);
      await waitFor(() => receiver.of(next).length === 1, 5_000);
      const [last] = receiver.of(next) as [Received];
      expect(() => new Webhook(secret).verify(last.body, last.headers as Record<string, string>)).toThrow();
    });
  });

  it.each(['generated before', 'given before'])(
    'a repeated rotation keeps the secret that was %s',
    async (how) => {
      const { queue, name, secret: generated } = await pushed();
      const secretOf = (): string => `whsec_${randomBytes(32).toString('base64')}`;
      const [first, secret] = [secretOf(), secretOf()];
      if (how === 'given before') await given('PATCH', `targets/${name}`, { secret: first });
      const old = how === 'given before' ? first : generated;
      const rotate = (more: object = {}) =>
        given<TargetJson & { old_secret_until: string | null }>('POST', `targets/${name}/rotate`, {
          ...{ keep_old_ms: 60_000, secret },
          ...more,
        });
      const { old_secret_until: until } = await rotate();
      expect((await rotate({ keep_old_ms: 120_000 })).old_secret_until).not.toBe(until);
      // What is deployed again with the same secret does not end it, either.
      await given('PATCH', `targets/${name}`, { secret });
      await put(name, { secret });
      await sleep(1_100);
      const id = await publish(queue);
      await waitFor(() => receiver.of(id).length === 1, 5_000);
      const [{ headers, body }] = receiver.of(id) as [Received];
      for (const one of [old, secret]) new Webhook(one).verify(body, headers as Record<string, string>);

      expect(await rotate({ keep_old_ms: 0 })).toMatchObject({ old_secret_until: null });
      // What has ended does not come back.
      expect(await rotate()).toMatchObject({ old_secret_until: null });
    },
  );

  describe('the answer to a push request', () => {
    it('is stored as the result of a job with retention_ms', async () => {
      const { queue } = await pushed();
      receiver.respond = answerWith(200, { 'Content-Type': 'application/json; charset=utf-8' }, '{"sum":3}');
      const id = await publish(queue, { retention_ms: 60_000 });

      expect(await stateOf(id, 'done')).toMatchObject({ result: { data: { sum: 3 } } });
    });

    it('is the result for a job that depends on a plain one, and is published during the request', async () => {
      const { queue } = await pushed();
      receiver.respond = (response) => {
        const answer = answerWith(200, { 'Content-Type': 'application/json' }, '{"sum":3}');
        setTimeout(() => answer(response, receiver.received[0]!), 300);
      };
      const id = await publish(queue);
      await waitFor(() => receiver.of(id).length === 1, 5_000);
      const other = fresh('q');
      await publish(other, { depends_on: [id] });

      const { jobs } = await given<{ jobs: { dependencies: unknown[] }[] }>('POST', 'leases', {
        ...{ queues: [other], wait_ms: 5_000 },
      });
      expect(jobs[0]?.dependencies).toMatchObject([{ id, state: 'done', result: { sum: 3 } }]);
    });

    it('is a success if it is 200 and its body breaks off', async () => {
      const { queue } = await pushed();
      receiver.respond = (response) => {
        response.writeHead(200, { 'Content-Length': '100' }).write('abc', () => response.destroy());
      };
      const id = await publish(queue, { retention_ms: 60_000 });

      expect(await stateOf(id, 'done')).toMatchObject({ result: null });
    });

    it.each<[number, Record<string, string>, string]>([
      [500, {}, 'http_500'],
      [503, {}, 'http_503'],
      [404, {}, 'http_404'],
      [302, { Location: '/elsewhere' }, 'http_302'],
    ])('costs a try if it is %d', async (status, headers, group) => {
      const { queue } = await pushed();
      receiver.respond = answerWith(status, headers, 'no');
      const id = await publish(queue, { tries: 2, retry: { kind: 'fixed', delay_ms: 0 } });

      expect(await stateOf(id, 'dead')).toMatchObject({
        attempts: 2,
        failure: { group, message: `HTTP ${String(status)}: no` },
      });
      expect(receiver.of(id).map(({ url }) => url)).toEqual(['/hook', '/hook']);
    });

    it.each<[number, Record<string, string>]>([
      [429, {}],
      [503, { 'Retry-After': '30' }],
    ])('releases the job without a try if it is %d with %j', async (status, headers) => {
      const { queue } = await pushed();
      receiver.respond = answerWith(status, headers);
      const id = await publish(queue, { tries: 2, retry: { kind: 'none' } });

      expect(await stateOf(id, 'scheduled')).toMatchObject({ attempts: 0, tries_left: 2 });
    });

    it('uses a try if it is 429 after 100 releases of the job by 429', async () => {
      const { queue } = await pushed();
      receiver.respond = answerWith(429);
      const id = await publish(queue, { id: fresh('busy'), tries: 1 });
      await stateOf(id, 'scheduled');
      const [hash = ''] = await redis.keys(`*}x*${id}`);
      expect(await redis.hget(hash, 'released')).toBe('1');

      await redis.hset(hash, 'released', '100');
      expect(await stateOf(id, 'dead')).toMatchObject({ attempts: 1, failure: { group: 'http_429' } });

      await given('POST', 'dead-letter/respawn', { ids: [id] });
      expect(await stateOf(id, 'scheduled')).toMatchObject({ attempts: 0 });
      expect(await redis.hget(hash, 'released')).toBe('1');
    });

    it('fails the job at once if it has Pumphouse-Retry: no', async () => {
      const { queue } = await pushed();
      receiver.respond = answerWith(500, { 'Pumphouse-Retry': 'no' });
      const id = await publish(queue, { tries: 9 });

      expect(await stateOf(id, 'dead')).toMatchObject({ attempts: 1, failure: { group: 'http_500' } });
    });

    it('is handled by the status rules of the target', async () => {
      const { queue } = await pushed({ on_status: { '404': 'fail', '4xx': 'ack' } });
      receiver.respond = answerWith(404);
      const failed = await publish(queue, { tries: 9 });
      expect(await stateOf(failed, 'dead')).toMatchObject({ attempts: 1 });

      receiver.respond = answerWith(400);
      const done = await publish(queue, { retention_ms: 60_000 });
      await stateOf(done, 'done');
    });

    it('fails the job and pauses the target if it is 410', async () => {
      const path = `/v1/${app.namespace}/events?event=target_paused`;
      const events = await EventClient.open(app.port, path, app.token);
      await events.begun();
      const { queue, name } = await pushed();
      receiver.respond = answerWith(410);
      const id = await publish(queue, { tries: 9 });
      expect(await stateOf(id, 'dead')).toMatchObject({ attempts: 1, failure: { group: 'http_410' } });
      await waitFor(async () => (await target(name)).pause_reason === 'gone');
      const [paused] = await events.until(1);
      events.cut();
      expect(paused?.data).toMatchObject({ event: 'target_paused', target: name, reason: 'gone' });
      const audited = () => app.log.find(({ details }) => 'reason' in details && 'audit' in details)?.details;
      await waitFor(() => audited() !== undefined);
      expect(audited()).toEqual({
        ...{ audit: 'target.pause', pool: 'default', namespace: app.namespace, token_hint: null },
        ...{ target: name, reason: 'gone' },
      });

      receiver.respond = (response) => void response.end('ok');
      await sleep(1_200);
      const waits = await publish(queue);
      await sleep(500);
      expect((await job(waits)).state).toBe('ready');

      await given('POST', `targets/${name}/resume`);
      await waitFor(() => receiver.of(waits).length === 1, 5_000);
    });

    it('pauses nothing if it is 410 from a former URL', async () => {
      const { queue, name } = await pushed();
      let answer: () => void = () => undefined;
      receiver.respond = (response) => {
        answer = () => void response.writeHead(410).end();
      };
      const id = await publish(queue);
      await waitFor(() => receiver.of(id).length === 1, 5_000);
      await given('PATCH', `targets/${name}`, { url: `${receiver.url}/new` });
      answer();
      await stateOf(id, 'dead');
      receiver.respond = (response) => void response.end('ok');
      const next = await publish(queue);
      await waitFor(() => receiver.of(next).length === 1, 5_000);
      expect(await target(name)).toMatchObject({ paused_at: null });
    });

    it('is read after an unsolicited 100 Continue, and the job is sent once', async () => {
      const { queue } = await pushed();
      receiver.respond = (response) => {
        response.writeContinue();
        setTimeout(() => response.end('late'), 50);
      };
      const id = await publish(queue, { tries: 1, retention_ms: 60_000 });

      expect((await stateOf(id, 'done')).failure).toBeNull();
      expect(receiver.of(id)).toHaveLength(1);
    });

    it('costs no try if a kept connection breaks: the request is sent again', async () => {
      const { queue } = await pushed();
      const used = new WeakSet<object>();
      receiver.respond = (response) => {
        const { socket } = response;
        if (socket === null) return;
        if (used.has(socket)) socket.destroy();
        else response.end('ok');
        used.add(socket);
      };
      for (let i = 0; i < 4; i++) {
        const id = await publish(queue, { tries: 1, retention_ms: 60_000 });
        expect((await stateOf(id, 'done')).failure).toBeNull();
      }
      expect(receiver.received.filter(({ headers }) => headers['pumphouse-queue'] === queue).length).toBe(7);
    });

    it('is a failure of the group timeout if it does not come within timeout_ms', async () => {
      const { queue } = await pushed({ timeout_ms: 1_000 });
      receiver.respond = () => undefined;
      const id = await publish(queue, { tries: 1 });

      expect(await stateOf(id, 'dead')).toMatchObject({ failure: { group: 'timeout' } });
    });

    it('is waited for no longer than the max_run_ms of the job, which fails then', async () => {
      // No heartbeat, which would see that the lease is lost, is sent for so short a request.
      const { queue } = await pushed({ timeout_ms: 60_000 });
      let waitedMs = 0;
      receiver.respond = (response) => {
        const sinceMs = performance.now();
        response.on('close', () => (waitedMs = performance.now() - sinceMs));
      };
      const id = await publish(queue, { tries: 1, max_run_ms: 300 });

      expect(await stateOf(id, 'dead')).toMatchObject({ failure: { group: 'max_run_exceeded' } });
      await waitFor(() => waitedMs > 0, 65_000);
      expect(waitedMs).toBeLessThan(50_000);
    });

    it.each<[string, () => Promise<string>]>([
      ['connect', async () => `http://127.0.0.1:${String(await freePort())}/hook`],
      ['tls', () => Promise.resolve(receiver.url.replace('http:', 'https:'))],
    ])('is a failure of the group %s if no connection can be made', async (group, urlOf) => {
      const { queue } = await pushed({ url: await urlOf() });
      const id = await publish(queue, { tries: 2, retry: { kind: 'fixed', delay_ms: 0 } });

      expect(await stateOf(id, 'dead')).toMatchObject({ attempts: 2, failure: { group } });
    });

    it('is a failure of the group blocked if the address of the target is forbidden', async () => {
      const { queue } = await pushed({ url: 'http://[::ffff:169.254.169.254]:8080/latest/meta-data' });
      const id = await publish(queue, { tries: 1 });

      expect(await stateOf(id, 'dead')).toMatchObject({ failure: { group: 'blocked' } });
    });
  });

  describe('an explanation of a job that is to be pushed', () => {
    interface Found {
      readonly cause: string;
      readonly message: string;
      readonly facts: Record<string, unknown>;
      readonly next_at: string | null;
      readonly remedies: readonly { call: string }[];
      readonly also: readonly { cause: string }[];
    }
    const causeOf = (id: string): Promise<Found> => given<Found>('GET', `jobs/${id}/explain`);
    /** Makes the call of the first remedy. */
    const doRemedy = async ({ remedies }: Found): Promise<void> => {
      const [, method = '', path = '', body] = /^(\w+) \/v1\/[^/]+\/(\S+)(?: (.*))?$/.exec(
        remedies[0]!.call,
      )!;
      await given(method, path, body === undefined ? undefined : (JSON.parse(body) as object));
    };

    it('says that the target is paused, and the remedy resumes it', async () => {
      const { queue, name } = await pushed();
      await given('POST', `targets/${name}/pause`);
      const id = await publish(queue);
      const found = await causeOf(id);
      expect(found).toMatchObject({
        ...{ cause: 'target_paused', facts: { queue, target: name, reason: 'operator' } },
        remedies: [{ call: `POST /v1/${app.namespace}/targets/${name}/resume` }],
      });
      expect(found.message).toContain('an operator paused it');
      await doRemedy(found);
      await waitFor(() => receiver.of(id).length === 1, 5_000);
    });

    it('does not name the lease requests of the server for its own pushes among those of workers', async () => {
      const { queue } = await pushed();
      const id = await publish(queue);
      await waitFor(() => receiver.of(id).length === 1, 5_000);
      const leased = `leased-${queue}`;
      await given('POST', 'leases', { queues: [leased], worker: 'w' });
      const { id: other } = await given<{ id: string }>('POST', 'jobs', { queue: `other-${queue}` });
      const requests = async (): Promise<readonly string[]> => {
        const { facts } = await causeOf(other);
        return (facts['requests'] as { queue: string }[]).map((one) => one.queue);
      };
      // Requests are recorded together, in the order in which they came.
      await waitFor(async () => (await requests()).includes(leased), 5_000);
      expect(await requests()).not.toContain(queue);
    });

    it('says that a target is paused because it answered 410', async () => {
      const { queue, name } = await pushed();
      receiver.respond = (response) => void response.writeHead(410).end();
      await publish(queue);
      await waitFor(async () => (await target(name)).paused_at !== null, 5_000);
      // A worker may lease one more before it learns of the pause.
      const found = await waitFor(async () => {
        const explained = await causeOf(await publish(queue));
        return explained.cause === 'target_paused' ? explained : null;
      }, 5_000);
      expect(found.facts).toMatchObject({ target: name, reason: 'gone' });
      expect(found.message).toContain('it answered 410');
    });

    it('says until when the breaker of the target is open, and by which answer; the remedy closes it', async () => {
      const { queue, name } = await pushed({ breaker: { failures: 1, open_ms: 60_000 } });
      receiver.respond = (response) => void response.destroy();
      await publish(queue, { retry: { kind: 'fixed', delay_ms: 60_000 } });
      await waitFor(async () => (await target(name)).breaker.state === 'open', 5_000);
      const id = await publish(queue);
      const { open_until } = (await target(name)).breaker;
      await waitFor(async () => (await causeOf(id)).cause === 'breaker_open', 5_000);
      const found = await causeOf(id);
      expect(found).toMatchObject({ next_at: open_until, facts: { target: name, open_until } });
      expect(found.facts['last_answer']).toEqual(expect.any(String));
      expect(found.message).toContain(`(the last one: ${String(found.facts['last_answer'])})`);
      receiver.respond = (response) => void response.end('ok');
      await doRemedy(found);
      await waitFor(() => receiver.of(id).length === 1, 5_000);
    });

    it('says that the breaker of the origin of its URL is open; the remedy closes it', async () => {
      const second = await Receiver.start();
      const { queue, name } = await pushed({
        ...{ origins: [second.origin], breaker: { failures: 1, open_ms: 60_000 } },
      });
      second.respond = (response) => void response.writeHead(503).end('no');
      const options = { push: { url: second.url }, retry: { kind: 'fixed', delay_ms: 60_000 } };
      for (let i = 0; i < 10; i++) await publish(queue, options);
      await waitFor(async () => {
        const { origin_breakers: open } = await given<{ origin_breakers: object[] }>(
          'GET',
          `targets/${name}`,
        );
        return open.length === 1;
      }, 10_000);
      const id = await publish(queue, options);
      await waitFor(async () => (await causeOf(id)).cause === 'breaker_open', 5_000);
      const found = await causeOf(id);
      expect(found.facts).toMatchObject({ target: name, origin: second.origin, last_answer: 'HTTP 503: no' });
      expect(found.message).toContain(
        `The job is held: the circuit breaker of ${second.origin} is open because its requests failed (the last one: HTTP 503: no)`,
      );
      // The answer may repeat data of jobs of other queues.
      const limited = await app.admin('POST', `/token/${app.namespace}?description=d&queues=${queue}`);
      const { token } = limited.json as { token: string };
      const { json } = await call('GET', `jobs/${id}/explain`, undefined, token);
      expect(json).toMatchObject({ facts: { last_answer: 'HTTP 503' } });
      second.respond = (response) => void response.end('ok');
      await doRemedy(found);
      await waitFor(() => second.of(id).length === 1, 10_000);
      await second.stop();
    });

    it('says that the target does not exist, and the remedy ends the push', async () => {
      const { queue, name } = await pushed();
      await redis.hdel(`{${app.namespace}}:targets`, `t:${name}`);
      // Servers read all targets again.
      await redis.hincrby(`{${app.namespace}}:targets`, 'v', 1);
      await given('POST', `queues/${queue}/pause`);
      await sleep(1_100);
      await given('POST', `queues/${queue}/resume`);
      const id = await publish(queue);
      const found = await causeOf(id);
      expect(found).toMatchObject({ cause: 'target_missing', facts: { queue, target: name } });
      expect(found.message).toContain(`pushed to the target ${name}, which does not exist`);
      await doRemedy(found);
      expect((await causeOf(id)).cause).toBe('no_worker');
    });
  });

  describe('the breaker', () => {
    it('opens after failures in a row, keeps later jobs ready, and closes by a resume', async () => {
      const names =
        'target_changed,target_paused,target_resumed,target_deleted,breaker_opened,breaker_closed';
      const events = await EventClient.open(
        app.port,
        `/v1/${app.namespace}/events?event=${names}`,
        app.token,
      );
      await events.begun();
      const { queue, name } = await pushed();
      const dead = await Receiver.start();
      const { url } = dead;
      await dead.stop();
      await given('PATCH', `targets/${name}`, { url });
      await sleep(1_100);
      const ids: string[] = [];
      for (let i = 0; i < 6; i++)
        ids.push(await publish(queue, { tries: 2, retry: { kind: 'fixed', delay_ms: 200 } }));
      await waitFor(async () => (await target(name)).breaker.state === 'open', 5_000);
      await sleep(1_500);
      const waits = await publish(queue, { tries: 1 });
      await sleep(1_000);
      expect(await job(waits)).toMatchObject({ state: 'ready', attempts: 0 });

      await given('PATCH', `targets/${name}`, { url: receiver.url });
      await given('POST', `targets/${name}/resume`);
      await waitFor(() => receiver.of(waits).length === 1, 5_000);
      expect(await target(name)).toMatchObject({
        breaker: { state: 'closed', open_until: null, openings: 0 },
      });

      // Twice is once.
      for (const action of ['pause', 'pause', 'resume', 'resume'])
        await given('POST', `targets/${name}/${action}`);
      await given('PATCH', `queues/${queue}`, { push: null });
      await given('DELETE', `targets/${name}`);
      const seen = await events.until(8);
      events.cut();
      expect(seen.map(({ data }) => data)).toMatchObject([
        { event: 'target_changed', queue: '', target: name },
        { event: 'target_changed', target: name },
        { event: 'breaker_opened', target: name, open_until: expect.stringMatching(/^20.*Z$/) as string },
        { event: 'target_changed', target: name },
        { event: 'breaker_closed', target: name },
        { event: 'target_paused', target: name, reason: 'operator' },
        { event: 'target_resumed', target: name },
        { event: 'target_deleted', target: name },
      ]);
    });

    it('has settings of the target, changed field by field', async () => {
      const name = fresh('t');
      const defaults = {
        ...{ failures: 5, failure_percent: 50, min_requests: 10 },
        ...{ open_ms: 30_000, max_open_ms: 300_000 },
      };
      expect((await put(name)).breaker.settings).toEqual(defaults);
      const change = (breaker: object | null): Promise<TargetJson> =>
        given<TargetJson>('PATCH', `targets/${name}`, { breaker });
      expect((await change({ failures: 2 })).breaker.settings).toEqual({ ...defaults, failures: 2 });
      expect((await change({ open_ms: 1_000 })).breaker.settings).toEqual({
        ...{ ...defaults, failures: 2, open_ms: 1_000 },
      });
      await given('PATCH', `targets/${name}`, { timeout_ms: 1_000 });
      expect((await target(name)).breaker.settings).toMatchObject({ failures: 2 });
      expect((await change(null)).breaker).toEqual({
        ...{ state: 'off', open_until: null, openings: 0, settings: null },
      });
      expect((await change({ failures: 3 })).breaker).toMatchObject({
        ...{ state: 'closed', settings: { ...defaults, failures: 3 } },
      });
      expect((await put(name)).breaker.settings).toEqual(defaults);
      // As the first servers stored it.
      const key = `{${app.namespace}}:targets`;
      const stored = JSON.parse((await redis.hget(key, `t:${name}`))!) as { target: Record<string, unknown> };
      delete stored.target['breakerSettings'];
      await redis.hset(key, `t:${name}`, JSON.stringify(stored));
      expect((await target(name)).breaker.settings).toEqual(defaults);
    });

    it('opens after the configured failures, for the configured time', async () => {
      const { queue, name } = await pushed({ breaker: { failures: 1, open_ms: 1_000 } });
      receiver.respond = (response) => response.destroy();
      await publish(queue, { tries: 1 });
      await waitFor(async () => (await target(name)).breaker.openings === 1, 5_000);
      const { open_until } = (await target(name)).breaker;
      const openMs = Date.parse(open_until!) - Date.now();
      expect(openMs).toBeLessThanOrEqual(1_000);
    });

    it('closes when the target gets another URL, and ignores failures of the old URL', async () => {
      const { queue, name } = await pushed({ breaker: { failures: 1 } });
      const fails: (() => void)[] = [];
      receiver.respond = (response) => void fails.push(() => void response.destroy());
      for (let i = 0; i < 3; i++) await publish(queue, { tries: 1 });
      await waitFor(() => fails.length === 3, 5_000);
      fails[0]!();
      await waitFor(async () => (await target(name)).breaker.state === 'open', 5_000);

      const next = `${receiver.origin}/next`;
      const changed = await given<TargetJson>('PATCH', `targets/${name}`, { url: next });
      expect(changed.breaker).toMatchObject({ state: 'closed', open_until: null });
      await sleep(1_500);
      receiver.respond = (response) => void response.end();
      for (const fail of fails) fail();
      await sleep(500);
      expect(await target(name)).toMatchObject({ url: next, breaker: { state: 'closed' } });
      const id = await publish(queue, { tries: 1 });
      await waitFor(() => receiver.of(id).length === 1, 5_000);
    });

    it('stops no delivery if its state cannot be stored', async () => {
      const { queue, name } = await pushed();
      const key = `{${app.namespace}}:targets`;
      const breaker = { openUntilMs: Date.now() + 1_000, openings: 1, probeUntilMs: 0 };
      await redis.hset(key, `b:${name}`, JSON.stringify(breaker));
      await redis.hincrby(key, 'v', 1);
      await sleep(1_200);
      // Each change of a field is logged in this key: with another type of value none can be.
      const log = `{${app.namespace}}:target_changes`;
      const kept = await redis.dumpBuffer(log);
      await redis.set(log, 'not a sorted set');
      const ids = [await publish(queue), await publish(queue), await publish(queue)];
      await waitFor(() => ids.every((id) => receiver.of(id).length === 1), 10_000);
      await redis.restore(log, 0, kept, 'REPLACE');
      await given('POST', `targets/${name}/resume`);
    });

    it('is closed in the store by a later answer, if the store did not take the first one', async () => {
      const { queue, name } = await pushed();
      const key = `{${app.namespace}}:targets`;
      const [{ targets }] = app.server.api.app.get(Engines, { strict: false }).all() as [PoolEngine];
      const change = targets.changeBreaker.bind(targets);
      let refused = 0;
      const spy = jest.spyOn(targets, 'changeBreaker').mockImplementation((namespace, one) => {
        if (one.action !== 'close' || refused++ > 0) return change(namespace, one);
        return Promise.reject(new QueueError('store_full', 'full'));
      });
      const breaker = { openUntilMs: Date.now() + 500, openings: 1, probeUntilMs: 0 };
      await redis.hset(key, `b:${name}`, JSON.stringify(breaker));
      await redis.hincrby(key, 'v', 1);
      await publish(queue);
      await waitFor(() => refused === 1, 10_000);
      expect(await redis.hexists(key, `b:${name}`)).toBe(1);
      await publish(queue);
      await waitFor(async () => (await redis.hexists(key, `b:${name}`)) === 0, 5_000);
      spy.mockRestore();
    });

    it('never opens while it is switched off', async () => {
      const { queue, name } = await pushed({ breaker: { failures: 1 } });
      receiver.respond = (response) => response.destroy();
      const first = await publish(queue, { tries: 1 });
      await waitFor(async () => (await target(name)).breaker.state === 'open', 5_000);
      expect((await given<TargetJson>('PATCH', `targets/${name}`, { breaker: null })).breaker).toMatchObject({
        state: 'off',
      });
      expect(await redis.hexists(`{${app.namespace}}:targets`, `b:${name}`)).toBe(0);
      // Servers use the change within a second.
      await sleep(1_100);
      const warnings = () => app.log.filter(({ level }) => level === 'warn').length;
      const before = warnings();
      for (const id of [first, await publish(queue, { tries: 1 }), await publish(queue, { tries: 1 })])
        await stateOf(id, 'dead');
      await sleep(200);
      expect(warnings()).toBe(before);
      expect(await redis.hexists(`{${app.namespace}}:targets`, `b:${name}`)).toBe(0);
    });

    it('is shared by the servers, and closes by one successful job', async () => {
      const { queue, name } = await pushed();
      const field = `b:${name}`;
      const key = `{${app.namespace}}:targets`;
      const other = await TestApp.start(PUSH);
      const write = async (open_ms: number): Promise<void> => {
        const breaker = { openUntilMs: Date.now() + open_ms, openings: 1, probeUntilMs: 0 };
        await redis.hset(key, field, JSON.stringify(breaker));
        await redis.hincrby(key, 'v', 1);
      };
      await write(3_000);
      await sleep(1_100);
      const ids: string[] = [];
      for (let i = 0; i < 5; i++) ids.push(await publish(queue));
      await sleep(700);
      for (const id of ids) expect(receiver.of(id)).toEqual([]);

      await waitFor(() => ids.every((id) => receiver.of(id).length === 1), 10_000);
      expect(await redis.hexists(key, field)).toBe(0);
      await other.stop();
    });
  });

  describe('a job that names a URL', () => {
    let second: Receiver;
    beforeAll(async () => {
      second = await Receiver.start();
    });
    afterAll(() => second.stop());
    beforeEach(() => {
      second.respond = (response) => void response.end('ok');
    });

    it('is sent to its URL, signed, if the target allows the origin of the URL', async () => {
      const { queue, name, secret } = await pushed({ origins: [second.origin] });
      const url = `${second.origin}/orders/17?a=b`;
      const id = await publish(queue, { push: { url }, attributes: { own: 'x' } });
      await waitFor(() => second.of(id).length === 1, 5_000);
      const [{ headers, body, url: path }] = second.of(id) as [Received];

      expect(path).toBe('/orders/17?a=b');
      expect(receiver.of(id)).toEqual([]);
      expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toEqual({ n: 1 });
      expect(await target(name)).toMatchObject({ origins: [second.origin], origin_breakers: [] });
      const other = await publish(queue);
      await waitFor(() => receiver.of(other).length === 1, 5_000);
    });

    it('is sent to its URL when an undo has brought it back', async () => {
      const { queue, name } = await pushed({ origins: [second.origin] });
      await given('POST', `targets/${name}/pause`);
      const url = `${second.origin}/orders/18`;
      const id = await publish(queue, { push: { url }, attributes: { own: 'x' } });
      const before = await job(id);
      const filter = { queue };
      const path = `operations/${(await given<{ id: string }>('POST', 'operations', { action: 'delete', filter, undo_ms: 60_000 })).id}`;
      const operation = (): Promise<{ state: string; undo: { state: string; restored: number } }> =>
        given('GET', path);
      await waitFor(async () => (await operation()).state === 'done');
      expect((await call('GET', `jobs/${id}`)).status).toBe(404);
      // Without the permission push: the job is sent where its publisher wanted it.
      const query = '?description=d&verbs=consume';
      const { token } = (await app.admin('POST', `/token/${app.namespace}${query}`)).json as {
        token: string;
      };
      expect((await call('POST', `${path}/undo`, undefined, token)).status).toBe(202);
      await waitFor(async () => (await operation()).undo.state === 'done');
      expect((await operation()).undo.restored).toBe(1);
      expect(await job(id)).toMatchObject({ ...before, timeline: expect.any(Array) as unknown });
      await given('POST', `targets/${name}/resume`);
      await waitFor(() => second.of(id).length === 1, 5_000);
      expect(second.of(id)[0]).toMatchObject({ url: '/orders/18', body: Buffer.from('{"n":1}') });
      expect(receiver.of(id)).toEqual([]);
    });

    it.each<[string, (origin: string) => string, boolean]>([
      ['of another port', () => 'http://127.0.0.1:1/', true],
      [
        'whose name begins as the origin does',
        (origin) => origin.replace('127.0.0.1', '127.0.0.1.evil.example'),
        true,
      ],
      ['of another scheme', (origin) => `${origin.replace('http:', 'https:')}/`, true],
      ['of a target without origins', (origin) => `${origin}/hook`, false],
    ])('fails at once and is not sent: %s', async (_what, url, hasOrigins) => {
      const { queue } = await pushed(hasOrigins ? { origins: [second.origin] } : {});
      const before = second.received.length;
      const id = await publish(queue, { push: { url: url(second.origin) }, tries: 9 });

      expect(await stateOf(id, 'dead')).toMatchObject({ attempts: 1, failure: { group: 'blocked' } });
      expect(second.received.length).toBe(before);
    });

    it.each([
      ['push', { url: 'ftp://a.example/' }],
      ['push', { url: 'http://a:b@a.example/' }],
      ['push', { url: 'http://a.example/#a' }],
      ['push', {}],
      ['attributes', { 'push/url': 'http://a.example/' }],
    ])('is refused with %s of %j', async (field, value) => {
      expect((await call('POST', 'jobs', { queue: 'q', [field]: value })).status).toBe(400);
    });

    it.each([
      ['example.com'],
      ['https://a.example/'],
      ['https://A.example'],
      ['https://a:b@a.example'],
      ['*'],
    ])('has no target with the malformed origin %s: the target is refused', async (origin) => {
      const body = { url: receiver.url, origins: [origin] };
      expect((await call('PUT', `targets/${fresh('t')}`, body)).status).toBe(400);
    });

    it('needs the permission push in every call', async () => {
      const path = `/token/${app.namespace}?description=d&verbs=publish,consume,admin`;
      const { token } = (await app.admin('POST', path)).json as { token: string };
      const job = { queue: 'q', push: { url: 'https://a.example/' } };
      const recurring = { schedule: { every_ms: 60_000 }, job };
      for (const [method, to, body] of [
        ['POST', 'jobs', job],
        ['POST', 'jobs', { jobs: [{ queue: 'q' }, job] }],
        ['PUT', `jobs/${fresh('j')}`, job],
        ['PUT', 'recurring/r', recurring],
      ] as const) {
        expect((await call(method, to, body, token)).json).toMatchObject({ code: 'verb_missing' });
      }
    });

    it('waits while the breaker of its origin is open, without using a try, until one probe succeeds', async () => {
      const { queue, name } = await pushed({ origins: [receiver.origin, second.origin] });
      await sleep(1_100);
      const key = `{${app.namespace}}:targets`;
      const breaker = { openUntilMs: Date.now() + 3_000, openings: 1, probeUntilMs: 0 };
      await redis.hset(key, `b:${name} ${second.origin}`, JSON.stringify(breaker));
      await redis.hincrby(key, 'v', 1);
      await sleep(1_200);
      expect(await given('GET', `targets/${name}`)).toMatchObject({
        origin_breakers: [{ origin: second.origin, state: 'open', openings: 1 }],
      });
      const held: (() => void)[] = [];
      second.respond = (response) => void held.push(() => void response.end());
      const ids: string[] = [];
      for (let i = 0; i < 5; i++) {
        ids.push(await publish(queue, { push: { url: second.url }, tries: 1, retention_ms: 60_000 }));
      }
      const other = await publish(queue, { push: { url: receiver.url } });
      await waitFor(() => receiver.of(other).length === 1, 1_500);
      await waitFor(async () => (await job(ids[4]!)).state === 'held', 1_000);
      expect(await job(ids[4]!)).toMatchObject({ attempts: 0, tries_left: 1 });
      expect(ids.flatMap((id) => second.of(id))).toEqual([]);

      await waitFor(() => held.length > 0, 6_000);
      await sleep(1_500);
      expect(held).toHaveLength(1);
      second.respond = (response) => void response.end();
      held[0]!();
      for (const id of ids) await waitFor(async () => (await job(id)).state === 'done', 10_000);
      expect(await target(name)).toMatchObject({ origin_breakers: [] });
    });

    it('is sent while the breaker of the target is open, which holds jobs without a URL', async () => {
      const { queue, name } = await pushed({ origins: [second.origin] });
      await sleep(1_100);
      const key = `{${app.namespace}}:targets`;
      const breaker = { openUntilMs: Date.now() + 5_000, openings: 1, probeUntilMs: 0 };
      await redis.hset(key, `b:${name}`, JSON.stringify(breaker));
      await redis.hincrby(key, 'v', 1);
      const ids: string[] = [];
      for (let i = 0; i < 5; i++) ids.push(await publish(queue, { tries: 1, retention_ms: 60_000 }));
      const other = await publish(queue, { push: { url: second.url } });
      await waitFor(() => second.of(other).length === 1);
      for (const id of ids) await waitFor(async () => (await job(id)).state === 'held');
      // No lease is granted in vain.
      for (const id of ids) expect(await job(id)).toMatchObject({ attempts: 0, tries_left: 1 });
      for (const id of ids) await waitFor(async () => (await job(id)).state === 'done', 15_000);
      expect(ids.map((id) => receiver.of(id).length)).toEqual(ids.map(() => 1));
      expect(await target(name)).toMatchObject({ breaker: { state: 'closed' } });
    });

    it('counts only against the breaker of its origin', async () => {
      const { queue, name } = await pushed({ origins: [receiver.origin, second.origin] });
      second.respond = (response) => response.destroy();
      const options = { tries: 3, retry: { kind: 'fixed', delay_ms: 50 } };
      for (let i = 0; i < 4; i++) await publish(queue, { push: { url: second.url }, ...options });
      const isOpen = async (): Promise<boolean> =>
        (await given<{ origin_breakers: object[] }>('GET', `targets/${name}`)).origin_breakers.length === 1;
      await waitFor(isOpen, 10_000);
      const id = await publish(queue, { push: { url: receiver.url } });
      const own = await publish(queue);
      await waitFor(() => receiver.of(id).length + receiver.of(own).length === 2, 5_000);
      expect(await target(name)).toMatchObject({ breaker: { state: 'closed' } });

      second.respond = (response) => void response.end();
      await given('POST', `targets/${name}/resume`);
      await waitFor(async () => !(await isOpen()), 5_000);
    });

    it('counts for max_running_per_key together with the jobs of its origin', async () => {
      const { queue } = await pushed({ origins: [receiver.origin, second.origin] });
      await given('PATCH', `queues/${queue}`, { max_running_per_key: 1 });
      const held: (() => void)[] = [];
      receiver.respond = (response, { headers }) => {
        // Jobs of the other tests may still come.
        if (headers['pumphouse-queue'] !== queue) response.end();
        else held.push(() => void response.end());
      };
      second.respond = receiver.respond;
      for (const one of [receiver, second, receiver, second])
        await publish(queue, { push: { url: one.url } });
      await waitFor(() => held.length === 2, 5_000);
      await sleep(500);
      expect(held).toHaveLength(2);
      for (const end of held) end();
      await waitFor(() => held.length === 4, 5_000);
      for (const end of held) end();
    });
  });

  describe('a target that acknowledges later', () => {
    /** Leases of its queues last a while. */
    async function later(ttr_ms: number): Promise<string> {
      const { queue } = await pushed({ ack: 'later' });
      await given('PATCH', `queues/${queue}`, { defaults: { ttr_ms } });
      receiver.respond = answerWith(202);
      return queue;
    }
    const linkOf = ({ headers }: Received): string =>
      String(headers['pumphouse-ack-url']).replace('https://queue.example/base', '');
    const follow = (link: string, body = '', type?: string): Promise<Answer> =>
      app.call('POST', link, { token: null, body, ...(type ? { headers: { 'content-type': type } } : {}) });
    const first = async (id: string): Promise<Received> => {
      await waitFor(() => receiver.of(id).length === 1, 5_000);
      return receiver.of(id)[0]!;
    };

    it('ends the job by calling the signed URL, once and without a token', async () => {
      const queue = await later(60_000);
      const id = await publish(queue, { retention_ms: 60_000 });
      const received = await first(id);
      expect(received.headers['pumphouse-ack-url']).toMatch(
        /^https:\/\/queue\.example\/base\/push\/ack\?token=/,
      );
      await sleep(300);
      expect(await job(id)).toMatchObject({ state: 'leased', attempts: 1 });

      const link = linkOf(received);
      expect((await follow(link, '{"sum":3}', 'application/json')).status).toBe(204);
      expect(await job(id)).toMatchObject({ state: 'done', result: { data: { sum: 3 } } });
      expect(await follow(link)).toMatchObject({ status: 409, json: { code: 'lease_lost', state: 'done' } });
      expect(JSON.stringify(app.log)).not.toContain(link.split('=')[1]);
    });

    it('has as long as the ttr_ms of the job says, also in a namespace with shorter heartbeats', async () => {
      const queue = await later(60_000);
      await given('PUT', 'settings/heartbeat_ms', { value: 200 });
      const id = await publish(queue, { tries: 1 });
      await first(id);
      await sleep(600);
      expect(await job(id)).toMatchObject({ state: 'leased', attempts: 1 });
      await given('DELETE', 'settings/heartbeat_ms');
    });

    it("may call the signed URL without a result, for a job of lmstfy's API", async () => {
      const queue = await later(60_000);
      const id = await app.publish(queue, 'x');
      expect((await follow(linkOf(await first(id)))).status).toBe(204);
      expect((await call('GET', `jobs/${id}`)).status).toBe(404);
    });

    it('gets the job again when its lease ends, and the old URL has no effect', async () => {
      const queue = await later(500);
      const id = await publish(queue, { tries: 2, retention_ms: 60_000 });
      const old = linkOf(await first(id));
      await waitFor(() => receiver.of(id).length === 2, 10_000);
      expect((await follow(old)).json).toMatchObject({ code: 'lease_lost', state: 'leased' });
      expect((await job(id)).state).not.toBe('done');
    });

    it('gets 401 for a changed signed URL', async () => {
      const queue = await later(60_000);
      const id = await publish(queue, { retention_ms: 60_000 });
      const [path = '', token = ''] = linkOf(await first(id)).split('=');
      const [text = '', signature = ''] = token.split('.');
      const other = Buffer.from(Buffer.from(text, 'base64url').toString().replace(queue, 'other'));
      for (const bad of [
        ...['', '.', text, `${text}.`, `.${signature}`, `${text}.${signature.slice(1)}`, `${text}.AAAA`],
        `${other.toString('base64url')}.${signature}`,
      ]) {
        expect(await follow(`${path}=${bad}`)).toMatchObject({
          status: 401,
          json: { code: 'token_invalid' },
        });
      }
      expect((await app.call('POST', '/push/ack', { token: null })).status).toBe(401);
      expect((await job(id)).state).toBe('leased');
    });

    it('gets 400 for a signed URL with malformed contents', async () => {
      const links = app.server.api.app.get<AckLinks>(AckLinks, { strict: false });
      const good = { pool: 'default', namespace: app.namespace, queue: 'q', id: 'x', lease: 1 };
      const linkTo = (ref: object) => links.urlOf(ref as AckRef).replace('https://queue.example/base', '');
      expect((await follow(linkTo(good))).status).toBe(409);
      const bad = [
        { ...good, lease: 0 },
        { ...good, lease: '1' },
        { ...good, lease: 1.5 },
        { ...good, lease: 2 ** 32 },
        { ...good, id: '' },
        { ...good, id: 'a b' },
        { ...good, queue: null },
        { ...good, namespace: '{x}' },
        { ...good, pool: 7 },
        {},
      ].map(linkTo);
      const seal = app.server.api.app.get(Seal, { strict: false });
      for (const text of ['', 'x', '[1,2]', '{}', 'null', '["default"', '['.repeat(1_000)]) {
        const part = Buffer.from(text).toString('base64url');
        bad.push(`/push/ack?token=${part}.${seal.sign(`ack ${part}`).toString('base64url')}`);
      }
      for (const link of bad) {
        expect(await follow(link)).toMatchObject({ status: 400, json: { code: 'invalid_argument' } });
      }
      expect((await follow(`${linkTo(good)}.more`)).status).toBe(401);
    });

    it('ends the job by the answer 200, and fails it by 500', async () => {
      const queue = await later(60_000);
      receiver.respond = answerWith(200);
      const id = await publish(queue, { retention_ms: 60_000 });
      await stateOf(id, 'done');
      receiver.respond = answerWith(500);
      const failed = await publish(queue, { tries: 1 });
      await stateOf(failed, 'dead');
    });

    it('is refused by a server without push.key_file', async () => {
      const bare = await TestApp.start({ ...PUSH, PUMPHOUSE_SERVER__PUBLIC_URL: 'https://queue.example' });
      const body = JSON.stringify({ url: receiver.url, ack: 'later' });
      const answer = await bare.call('PUT', `/v1/${bare.namespace}/targets/t`, { body });
      const linked = await bare.call('POST', '/push/ack?token=a.b', { token: null });
      await bare.stop();
      expect([answer.status, linked.status]).toEqual([400, 401]);
    });
  });

  describe('the pusher', () => {
    it('sends the jobs of a target while another target hangs', async () => {
      // Over a Redis of its own: the other server of this file would send these jobs, too.
      const { app: small } = await TestApp.alone({ ...PUSH, PUMPHOUSE_PUSH__MAX_IN_FLIGHT: '4' });
      const v1 = callsOn(small);
      const hangs = await Receiver.start();
      hangs.respond = () => undefined;
      for (const [name, url] of [
        ['slow', hangs.url],
        ['quick', receiver.url],
      ] as const) {
        expect((await v1('PUT', `targets/${name}`, { url })).status).toBe(200);
        expect((await v1('PATCH', `queues/${name}`, { push: { target: name } })).status).toBe(200);
      }
      for (let i = 0; i < 20; i++) await v1('POST', 'jobs', { queue: 'slow', data: 1 });
      await waitFor(() => hangs.received.length > 0, 5_000);
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => v1('POST', 'jobs', { queue: 'quick', data: 1 })),
      );
      const ids = answers.map(({ json }) => (json as { id: string }).id);
      await waitFor(() => ids.every((id) => receiver.of(id).length === 1), 5_000);
      expect(hangs.received.length).toBeLessThan(4);
      await small.stop();
      await hangs.stop();
    });

    it.each([
      ['a namespace', true, 10],
      ['a namespace that is pushed only later', false, 14],
    ])('sends the jobs of %s while 24 targets of another namespace hang', async (_, isKnown, most) => {
      const { app: small, redis: alone } = await TestApp.alone({
        ...PUSH,
        PUMPHOUSE_PUSH__MAX_IN_FLIGHT: '16',
      });
      // It does not push: it is there for its namespace.
      const second = await TestApp.start({ PUMPHOUSE_POOLS__DEFAULT__URL: alone.url });
      const hangs = await Receiver.start();
      hangs.respond = () => undefined;
      const [first, other] = [callsOn(small), callsOn(small, second)];
      for (let i = 0; i < 24; i++) {
        const name = `t${String(i)}`;
        await first('PUT', `targets/${name}`, { url: hangs.url });
        await first('PATCH', `queues/${name}`, { push: { target: name } });
      }
      const known = fresh('known');
      const pushOther = async (): Promise<void> => {
        await other('PUT', 'targets/t', { url: receiver.url });
        await other('PATCH', 'queues/q', { push: { target: 't' } });
        // Once it is delivered, the server knows both.
        await other('POST', 'jobs', { queue: 'q', data: 1, id: known });
        await waitFor(() => receiver.of(known).length === 1, 10_000);
      };
      if (isKnown) await pushOther();
      for (let i = 0; i < 24; i++) await first('POST', 'jobs', { queue: `t${String(i)}`, data: 1 });
      await waitFor(() => hangs.received.length >= most, 5_000);
      if (!isKnown) await pushOther();
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => other('POST', 'jobs', { queue: 'q', data: 1 })),
      );
      const ids = answers.map(({ json }) => (json as { id: string }).id);
      await waitFor(() => ids.every((id) => receiver.of(id).length === 1), 10_000);

      expect(hangs.received).toHaveLength(most);
      await second.stop();
      await small.stop();
      await hangs.stop();
    });

    it('sends the jobs of two queues with the same target', async () => {
      const { queue, name } = await pushed();
      const second = fresh('q');
      await given('PATCH', `queues/${second}`, { push: { target: name, max_running: 2 } });
      expect(await given('GET', `queues/${second}`)).toMatchObject({
        max_running: 2,
        push: { target: name },
      });
      const ids: string[] = [];
      for (let i = 0; i < 10; i++) ids.push(await publish(queue), await publish(second));
      await waitFor(() => ids.every((id) => receiver.of(id).length === 1), 10_000);
    });

    it('is no waiting long poll in the metrics while it waits for jobs', async () => {
      const queues = [await pushed(), await pushed(), await pushed()];
      for (const { queue } of queues) await stateOf(await publish(queue, { retention_ms: 60_000 }), 'done');
      const waiters = async (): Promise<number> =>
        Number(/^pumphouse_waiters\S* (\d+)$/m.exec((await app.admin('GET', '/metrics')).text)?.[1]);
      const before = await waiters();
      const polling = call('POST', 'leases', { queues: [fresh('polled')], wait_ms: 2_000 });

      await waitFor(async () => (await waiters()) === 1);
      await polling;
      expect([before, await waiters()]).toEqual([0, 0]);
    });

    it('keeps the rate of a queue', async () => {
      const { queue } = await pushed();
      await given('PATCH', `queues/${queue}`, { rate: { rate: 2, period_ms: 1_000, burst: 1 } });
      const timesMs: number[] = [];
      receiver.respond = (response) => {
        timesMs.push(Date.now());
        response.end('ok');
      };
      for (let i = 0; i < 6; i++) await publish(queue);
      await waitFor(() => timesMs.length === 6, 10_000);

      // Of the second one on, one each 500 ms; a request may be late by more than the one after it.
      expect(timesMs[5]! - timesMs[0]!).toBeGreaterThan(2_300);
      expect(timesMs[3]! - timesMs[0]!).toBeGreaterThan(1_300);
    });

    it('keeps max_running of a queue', async () => {
      const { queue } = await pushed();
      await given('PATCH', `queues/${queue}`, { max_running: 2 });
      let [now, most] = [0, 0];
      receiver.respond = (response) => {
        most = Math.max(most, ++now);
        setTimeout(() => {
          now--;
          response.end();
        }, 50);
      };
      const ids: string[] = [];
      for (let i = 0; i < 10; i++) ids.push(await publish(queue));
      await waitFor(() => ids.every((id) => receiver.of(id).length === 1), 10_000);
      expect(most).toBe(2);
    });
  });

  describe('a server with push targets', () => {
    it('releases a job whose request has no answer at a stop, without using a try', async () => {
      // A Redis of its own: the other server of this file would take the job.
      const { app: staying, redis: alone } = await TestApp.alone();
      const leaving = await TestApp.start({ ...PUSH, PUMPHOUSE_POOLS__DEFAULT__URL: alone.url });
      const v1 = callsOn(leaving);
      const hangs = await Receiver.start();
      hangs.respond = () => undefined;
      await v1('PUT', 'targets/t', { url: hangs.url });
      await v1('PATCH', 'queues/q', { push: { target: 't' } });
      const { json } = await v1('POST', 'jobs', { queue: 'q', data: 1, tries: 1 });
      const { id } = json as { id: string };
      await waitFor(() => hangs.received.length === 1, 5_000);
      await leaving.stop();

      const found = await staying.engine.jobs.find(leaving.namespace, id);
      expect(found).toMatchObject({ state: 'ready', triesLeft: 1, attempts: 0 });
      await staying.stop();
      await hangs.stop();
    });

    it('waits at a stop up to drain_ms for answers, records them, and sends no other job', async () => {
      const { app: staying, redis: alone } = await TestApp.alone();
      const leaving = await TestApp.start({
        ...PUSH,
        PUMPHOUSE_POOLS__DEFAULT__URL: alone.url,
        PUMPHOUSE_SERVER__DRAIN_MS: '20000',
      });
      const v1 = callsOn(leaving);
      const slow = await Receiver.start();
      const answers: (() => void)[] = [];
      slow.respond = (response) => void answers.push(() => response.end('done'));
      await v1('PUT', 'targets/t', { url: slow.url });
      await v1('PATCH', 'queues/q', { push: { target: 't' } });
      const { json } = await v1('POST', 'jobs', { queue: 'q', data: 1, retention_ms: 60_000 });
      const { id } = json as { id: string };
      await waitFor(() => slow.received.length === 1, 5_000);
      const stopped = leaving.stop();
      const { json: later } = await callsOn(staying, leaving)('POST', 'jobs', { queue: 'q', data: 2 });
      await sleep(300);
      for (const respond of answers) respond();
      await stopped;

      const states = [id, (later as { id: string }).id].map(
        async (one) => (await staying.engine.jobs.find(leaving.namespace, one))?.state,
      );
      expect(await Promise.all(states)).toEqual(['done', 'ready']);
      expect(slow.received).toHaveLength(1);
      await staying.stop();
      await slow.stop();
    });

    it('sends nothing with another push.key_file, and reports it in the log and in a test of the target', async () => {
      const { app: keyless, redis: alone } = await TestApp.alone();
      const withKey = (key: string): Promise<TestApp> => {
        const file = join(mkdtempSync(join(tmpdir(), 'pumphouse-push-')), 'key');
        writeFileSync(file, key);
        return TestApp.start({
          ...PUSH,
          PUMPHOUSE_POOLS__DEFAULT__URL: alone.url,
          PUMPHOUSE_PUSH__KEY_FILE: file,
        });
      };
      const [key, other] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
      const first = await withKey(key);
      await callsOn(first)('PUT', 'targets/t', { url: receiver.url, headers: { 'X-Own': 'mine' } });
      await first.stop();

      const wrong = await withKey(other);
      const v1 = callsOn(wrong, first);
      await v1('PATCH', 'queues/q', { push: { target: 't' } });
      const { json } = await v1('POST', 'jobs', { queue: 'q', data: 1 });
      const { id } = json as { id: string };
      await waitFor(() => wrong.log.some(({ message }) => message.includes('another push.key_file')), 5_000);
      await sleep(1_500);
      expect(receiver.of(id)).toEqual([]);
      expect((await v1('GET', `jobs/${id}`)).json).toMatchObject({ state: 'ready', attempts: 0 });
      expect((await v1('GET', 'targets/t')).status).toBe(200);
      const tested = await v1('POST', 'targets/t/test');
      expect([tested.status, tested.json]).toMatchObject([
        409,
        { code: 'push_key_mismatch', detail: expect.stringContaining('push.key_file') as string },
      ]);

      const right = await withKey(key);
      await waitFor(() => receiver.of(id).length === 1, 5_000);
      expect(receiver.of(id)[0]?.headers['x-own']).toBe('mine');
      await Promise.all([wrong.stop(), right.stop()]);
      await keyless.stop();
    });

    it('is the cause of a job that waits while push is off', async () => {
      // On a Redis of its own: any server with push would deliver the job.
      const { app: off } = await TestApp.alone({ PUMPHOUSE_PUSH__ALLOW_HTTP: 'true' });
      const v1 = callsOn(off);
      await v1('PUT', 'targets/t', { url: receiver.url });
      await v1('PATCH', 'queues/q', { push: { target: 't' } });
      const { id } = (await v1('POST', 'jobs', { queue: 'q' })).json as { id: string };
      const found = await v1('GET', `jobs/${id}/explain`);
      expect(found.json).toMatchObject({
        cause: 'push_off',
        facts: { queue: 'q', target: 't', seen_by: 'this server' },
        remedies: [{ call: `PATCH /v1/${off.namespace}/queues/q {"push":null}` }],
      });
      await v1('PATCH', 'queues/q', { push: null });
      expect((await v1('GET', `jobs/${id}/explain`)).json).toMatchObject({ cause: 'no_worker' });
      await off.stop();
    });

    it('answers a test of a target with push_disabled while push is off', async () => {
      const off = await TestApp.start({ PUMPHOUSE_PUSH__ALLOW_HTTP: 'true' });
      const v1 = callsOn(off);
      expect((await v1('PUT', 'targets/t', { url: receiver.url })).status).toBe(200);
      expect((await v1('POST', 'targets/t/test')).json).toMatchObject({
        code: 'push_disabled',
      });
      await off.stop();
    });
  });
});
