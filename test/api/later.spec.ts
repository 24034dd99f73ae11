import { jest } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RawConnection, TestApp } from '../support/app.js';
import { CallbackSink, code } from '../support/callback-sink.js';
import { TestCluster } from '../support/cluster.js';
import { OwnTime } from '../support/own-time.js';
import { randomNamespace, type RedisProcess, startRedis, waitFor } from '../support/redis.js';

const UUID4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const QUEUE = 'callbacks';
const NOWHERE = 'https://nowhere.invalid';
const DAY_S = 86_400;

describe('the later API', () => {
  let app: TestApp;
  let redis: RedisProcess;
  let sink: CallbackSink;
  let namespace: string;
  /** The time of the queues is ahead by this, in milliseconds. */
  let aheadMs = 0;

  beforeAll(async () => {
    sink = await CallbackSink.start();
    // Its own: the loops of other specs would not know the time of this one.
    redis = await startRedis();
    namespace = randomNamespace('later');
    app = await TestApp.start(
      {
        PUMPHOUSE_POOLS__DEFAULT__URL: redis.url,
        PUMPHOUSE_LATER__PORT: '0',
        PUMPHOUSE_LATER__NAMESPACE: namespace,
        PUMPHOUSE_LATER__ALLOW: `${sink.origin},${NOWHERE}`,
        PUMPHOUSE_PUSH__ALLOW: '127.0.0.1',
      },
      () => Date.now() + aheadMs,
    );
  });
  afterAll(async () => {
    await app.stop();
    await redis.stop();
    await sink.stop();
  });

  const port = (): number => app.server.api.laterPort ?? 0;
  const call = async (path: string, body: string | Buffer, init: RequestInit = {}) => {
    const answer = await fetch(`http://127.0.0.1:${String(port())}${path}`, {
      ...{ method: 'POST', body, redirect: 'manual' as const },
      ...init,
    });
    return { status: answer.status, text: await answer.text(), headers: answer.headers };
  };
  const create = async (path: string, more: object = {}): Promise<string> => {
    const request = { topic: 't', delay: 0, retry: 0, callback: sink.origin + path, content: 'c', ...more };
    const { status, text } = await call('/create', JSON.stringify(request));
    expect([status, text]).toEqual([200, expect.stringMatching(/^\{"id":"[-0-9a-f]{36}"\}$/)]);
    return (JSON.parse(text) as { id: string }).id;
  };
  const query = (id: string) => call('/query', JSON.stringify({ id }));
  const failuresOf = async (id: string) => (await app.engine.jobs.find(namespace, id))?.failures;
  const stateOf = async (id: string) => (await app.engine.jobs.find(namespace, id))?.state;
  /** Moves the time of the queues, and what is due by it. */
  const pass = async (ms: number): Promise<void> => {
    aheadMs += ms;
    await app.engine.pumpNow(namespace);
  };
  const open = async (): Promise<RawConnection> => {
    const socket = connect({ port: port(), host: '127.0.0.1' });
    await new Promise((resolve) => socket.once('connect', resolve));
    return new RawConnection(socket);
  };

  describe('the wire format', () => {
    it('creates, shows and deletes a job', async () => {
      const before = Math.floor(Date.now() / 1_000);
      const id = await create('/far', { topic: '<a>&', delay: 4_000, retry: 3, content: '\b\u2028é"' });
      expect(id).toMatch(UUID4);

      const { status, text, headers } = await query(id);
      const { creat_time: createdAt } = JSON.parse(text) as { creat_time: number };
      expect(createdAt - before).toBeLessThanOrEqual(1);
      expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
      expect(text).toBe(
        `{"id":"${id}","topic":"\\u003ca\\u003e\\u0026","execute_time":${String(createdAt + 4_000)},"max_retry":3,` +
          `"has_retry":0,"callback":"${sink.origin}/far","content":"\\u0008\\u2028é\\"","creat_time":${String(createdAt)}}`,
      );

      const deleted = await call('/delete', JSON.stringify({ id }));
      expect([deleted.status, deleted.text, deleted.headers.get('content-type')]).toEqual([200, '', null]);
      expect(await query(id)).toMatchObject({ status: 404, text: '' });
      expect((await call('/delete', JSON.stringify({ id }))).status).toBe(200);
    });

    it("uses the time of Redis, not the server's clock", async () => {
      const now = Date.now();
      const clock = jest.spyOn(Date, 'now').mockReturnValue(now + 2 * 86_400_000);
      const id = await create('/clock', { delay: 60 }).finally(() => clock.mockRestore());
      const { creat_time, execute_time } = JSON.parse((await query(id)).text) as Record<string, number>;
      expect(Math.abs(creat_time! - now / 1_000)).toBeLessThan(3_600);
      expect(execute_time! - creat_time!).toBe(60);
    });

    it('keeps a job as an ordinary job of its queue', async () => {
      const id = await create('/far', { delay: 4_000, topic: 'orders' });
      const job = await app.engine.jobs.find(namespace, id);
      expect(job).toMatchObject({ id, queue: QUEUE, state: 'scheduled', expiresAtMs: null });
      expect(JSON.parse(String(job?.body))).toMatchObject({
        topic: 'orders',
        callback: `${sink.origin}/far`,
      });
    });

    it('reads absent and null fields as zero', async () => {
      const { status, text } = await call('/create', `{"callback":"${NOWHERE}/x","topic":null,"delay":100}`);
      expect(status).toBe(200);
      const { id } = JSON.parse(text) as { id: string };
      expect((await query(id)).text).toContain('"topic":""');
      expect((await query(id)).text).toContain('"max_retry":0');
    });

    it.each(['9007199254740993', '9223372036854775807', '-1'])('keeps a retry of %s', async (retry) => {
      const body = `{"callback":"${NOWHERE}/x","delay":100,"retry":${retry}}`;
      const { text } = await call('/create', body);
      expect((await query((JSON.parse(text) as { id: string }).id)).text).toContain(`"max_retry":${retry},`);
    });

    it.each<[string, string]>([
      ['/create', ''],
      ['/create', '{"topic":"x"'],
      ['/create', '[]'],
      ['/create', '{"delay":1.5}'],
      ['/create', '{"retry":"1"}'],
      ['/create', '{"content":{"a":1}}'],
      ['/create', '{"delay":9223372036854775808}'],
      ['/query', '{}'],
      ['/query', '{"id":""}'],
      ['/query', '{"id":5}'],
      ['/query', 'null'],
      ['/delete', '{}'],
      ['/delete', '{id:1}'],
      ['/delete', '{"id":["a"]}'],
    ])('answers %s %s with 400 and no body', async (path, body) => {
      const { status, text, headers } = await call(path, body);
      expect([status, text, headers.get('content-type')]).toEqual([400, '', null]);
    });

    it.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'])(
      'answers the method %s with 400',
      async (method) => {
        for (const path of ['/create', '/delete', '/query']) {
          const answer = await fetch(`http://127.0.0.1:${String(port())}${path}`, { method });
          expect([answer.status, await answer.text()]).toEqual([400, '']);
        }
      },
    );

    it.each(['/', '/Create', '/create/', '/metrics', '/v1/x/jobs', '/api/ns/q'])(
      'has no path %s',
      async (path) => {
        const { status, text, headers } = await call(path, '{}');
        expect([status, text]).toEqual([404, '404 page not found\n']);
        expect(headers.get('x-content-type-options')).toBe('nosniff');
      },
    );

    it('redirects unclean paths to clean ones of the same host, and refuses two Host headers', async () => {
      const connection = await open();
      const twice = await open();
      twice.write('POST /query HTTP/1.1\r\nHost: x\r\nHost: y\r\nContent-Length: 13\r\n\r\n{"id":"none"}');
      expect(await twice.until('\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
      twice.cut();
      connection.write('POST //create HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n');
      expect(await connection.until('\r\n\r\n')).toMatch(/^HTTP\/1\.1 301 [\s\S]*\r\nLocation: \/create\r\n/);
      connection.cut();
      const other = await open();
      other.write('GET //evil.example/..//%2fother.example HTTP/1.1\r\nHost: x\r\n\r\n');
      expect(await other.until('\r\n\r\n')).toMatch(/\r\nLocation: \/other\.example\r\n/);
      other.cut();
    });

    it('accepts a chunked body without a content type', async () => {
      const body = JSON.stringify({ callback: `${NOWHERE}/x`, delay: 100 });
      const connection = await open();
      connection.write(
        `POST /create HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      );
      expect(await connection.until('"}')).toMatch(/^HTTP\/1\.1 200 /);
      connection.cut();
    });

    it('neither shows nor deletes a job that it did not create', async () => {
      const [{ id } = { id: '' }] = await app.engine.jobs.publish(namespace, [
        { queue: QUEUE, body: Buffer.from('{}'), delayMs: 100_000 },
      ]);
      const given = '11111111-2222-4333-8444-555555555555';
      await app.engine.jobs.publish(namespace, [
        { queue: 'other', id: given, body: Buffer.from('{}'), delayMs: 100_000 },
      ]);
      for (const one of [id, given, 'later_delay', '../../etc', 'a\u0000\r\nFLUSHALL', 'x'.repeat(10_000)]) {
        expect((await query(one)).status).toBe(404);
        expect((await call('/delete', JSON.stringify({ id: one }))).status).toBe(200);
      }
      expect(await stateOf(id)).toBe('scheduled');
      expect(await stateOf(given)).toBe('scheduled');
    });
  });

  describe('hostile requests', () => {
    it('are refused with a body that is too large, and store nothing', async () => {
      const before = (await app.engine.queues.counts(namespace, [QUEUE]))[0]?.scheduled;
      const body = JSON.stringify({ callback: `${NOWHERE}/x`, delay: 100, content: 'x'.repeat(70_000) });
      const connection = await open();
      connection.write(
        `POST /create HTTP/1.1\r\nHost: x\r\nContent-Length: ${String(body.length)}\r\n\r\n${body}`,
      );
      expect(await connection.until('\r\n\r\n')).toMatch(/^HTTP\/1\.1 413 [\s\S]*Connection: close/);
      connection.cut();
      expect((await app.engine.queues.counts(namespace, [QUEUE]))[0]?.scheduled).toBe(before);
    });

    it('store nothing if the client disconnects within the body', async () => {
      const before = (await app.engine.queues.counts(namespace, [QUEUE]))[0]?.scheduled;
      const body = JSON.stringify({ callback: `${NOWHERE}/x`, delay: 100 });
      const connections = await Promise.all(Array.from({ length: 20 }, open));
      for (const connection of connections) {
        connection.write(
          `POST /create HTTP/1.1\r\nHost: x\r\nContent-Length: ${String(body.length + 1)}\r\n\r\n${body}`,
        );
      }
      await sleep(50);
      for (const connection of connections) connection.cut();
      await sleep(50);
      expect((await app.engine.queues.counts(namespace, [QUEUE]))[0]?.scheduled).toBe(before);
      expect(app.log.filter(({ message }) => message.startsWith('later: a call failed'))).toEqual([]);
    });

    it('get two answers for two requests in one packet', async () => {
      const one = 'POST /query HTTP/1.1\r\nHost: x\r\nContent-Length: 13\r\n\r\n{"id":"none"}';
      const connection = await open();
      connection.write(one + one);
      const all = await connection.until('HTTP/1.1 404', 2);
      expect(all).not.toContain('500');
      connection.cut();
    });

    it('get an answer after the client closed its sending side', async () => {
      const socket = connect({ port: port(), host: '127.0.0.1', allowHalfOpen: true });
      const connection = new RawConnection(socket);
      // Of the form of an id: the server has to look into the store.
      const body = '{"id":"11111111-2222-4333-8444-555555555556"}';
      socket.end(`POST /query HTTP/1.1\r\nHost: x\r\nContent-Length: ${String(body.length)}\r\n\r\n${body}`);
      expect(await connection.until('\r\n\r\n')).toMatch(/^HTTP\/1\.1 404 /);
      connection.cut();
    });

    it('get 400 for bytes that are not HTTP', async () => {
      const connection = await open();
      connection.write('hello\r\n\r\n');
      expect(await connection.until('\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
    });

    it('are refused from web pages', async () => {
      const body = JSON.stringify({ callback: `${sink.origin}/page` });
      const headers = { origin: 'https://evil.example', 'content-type': 'text/plain' };
      expect((await call('/create', body, { headers })).status).toBe(403);
      await sleep(100);
      expect(sink.at('/page')).toEqual([]);
    });

    it.each([
      ...['', 'not a url', '/relative', 'ftp://127.0.0.1/x', 'file:///etc/passwd', 'javascript:alert(1)'],
      ...['http://169.254.169.254/latest/', 'http://localhost/', 'https://nowhere.invalid:8443/'],
      ...[
        'http://nowhere.invalid/',
        'https://nowhere.invalid.evil.example/',
        'https://nowhere.invalid@evil.example/',
      ],
      ...['https://a%zz:b@nowhere.invalid/', 'https://evil.example/#https://nowhere.invalid'],
    ])('are refused with the callback %j', async (callback) => {
      const { status, text, headers } = await call('/create', JSON.stringify({ callback, delay: 100 }));
      expect([status, text]).toEqual([400, expect.stringMatching(/^callback (must|has) .*\n$/)]);
      expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
    });

    it('are refused with the reason', async () => {
      const refusal = async (callback: string, delay = 100) =>
        (await call('/create', JSON.stringify({ callback, delay }))).text;
      expect(await refusal('mailto:a@b')).toBe('callback must be a URL with http or https\n');
      expect(await refusal('http://10.0.0.1:8080/x')).toBe(
        'callback must have an origin of later.allow of this server: http://10.0.0.1:8080 is none\n',
      );
      expect(await refusal(`${NOWHERE}/x`, 4_294_967_296)).toBe('delay must be at most 4294967295\n');
    });
  });

  describe('callbacks', () => {
    it('post id, topic and content once, within a second', async () => {
      const time = new OwnTime();
      const id = await create('/now?a=1', { topic: '<t>', content: 'a"\u2028' });
      const [received] = await waitFor(() => (sink.at('/now?a=1').length > 0 ? sink.at('/now?a=1') : null));
      expect(time.end()).toBeLessThan(1_000);
      expect(received).toMatchObject({
        line: 'POST /now?a=1',
        headers: { 'content-type': 'application/json', 'accept-encoding': 'gzip' },
        body: `{"id":"${id}","topic":"\\u003ct\\u003e","content":"a\\"\\u2028"}`,
      });
      await waitFor(async () => (await query(id)).status === 404);
      expect(await stateOf(id)).toBeUndefined();
      expect(sink.at('/now?a=1')).toHaveLength(1);
    });

    it('are sent after the delay, not before', async () => {
      const [startMs, time] = [Date.now(), new OwnTime()];
      await create('/second', { delay: 1 });
      const [received] = await waitFor(
        () => (sink.at('/second').length > 0 ? sink.at('/second') : null),
        5_000,
      );
      expect(time.end()).toBeLessThan(2_500);
      expect(Number(received?.atMs) - startMs).toBeGreaterThanOrEqual(990);
    });

    it('are sent at once with a negative delay', async () => {
      await create('/past', { delay: -100_000 });
      await waitFor(() => sink.at('/past').length === 1);
    });

    it('send user and password of the URL as Basic authentication', async () => {
      const { host } = new URL(sink.origin);
      await create('', { callback: `http://us%20er:pa:ss@${host}/basic` });
      const [received] = await waitFor(() => (sink.at('/basic').length > 0 ? sink.at('/basic') : null));
      expect(received?.headers.authorization).toBe(`Basic ${Buffer.from('us er:pa:ss').toString('base64')}`);
    });

    it('are sent again 10 s and 20 s after a failure, and are dead after the last retry', async () => {
      sink.answers.set('/fails', code(1));
      const id = await create('/fails', { retry: 2 });
      for (const [tries, delayMs] of [
        [1, 10_000],
        [2, 20_000],
      ] as const) {
        await waitFor(async () => (await failuresOf(id)) === tries);
        expect((await query(id)).text).toContain(`"max_retry":2,"has_retry":${String(tries)},`);
        await pass(delayMs - 1_500);
        await sleep(100);
        expect(sink.at('/fails')).toHaveLength(tries);
        await pass(1_500);
        await waitFor(() => sink.at('/fails').length === tries + 1);
      }
      await waitFor(async () => (await stateOf(id)) === 'dead');
      expect(await query(id)).toMatchObject({ status: 404, text: '' });
      const dead = await app.engine.jobs.find(namespace, id);
      expect(dead?.failure).toMatchObject({
        group: 'not_done',
        message: 'HTTP 200 without code 100: {"code":1}',
      });
      expect(sink.at('/fails')).toHaveLength(3);
    });

    it('are sent again when the dead-letter queue is replayed', async () => {
      const id = await create('/replayed', { callback: `${sink.origin}/replayed` });
      sink.answers.set('/replayed', (response, times) => code(times === 1 ? 1 : 100)(response, times));
      await waitFor(async () => (await stateOf(id)) === 'dead');
      await app.engine.deadLetter.respawn(namespace, QUEUE, 100, 0);
      await waitFor(() => sink.at('/replayed').length === 2);
      await waitFor(async () => (await stateOf(id)) === undefined);
    });

    it('fail with the group dns or timeout if their host does not exist', async () => {
      const id = await create('', { callback: `${NOWHERE}/x` });
      await waitFor(async () => (await stateOf(id)) === 'dead', 8_000);
      const dead = await app.engine.jobs.find(namespace, id);
      expect(dead?.failure?.group).toMatch(/^(?:dns|timeout)$/);
    });

    it('fail with the group timeout after one request if the answer takes longer than 3 s', async () => {
      sink.answers.set('/hangs', () => undefined);
      const id = await create('/hangs');
      await waitFor(async () => (await stateOf(id)) === 'dead', 6_000);
      expect((await app.engine.jobs.find(namespace, id))?.failure?.group).toBe('timeout');
      expect(sink.at('/hangs')).toHaveLength(1);
    });

    it.each([301, 302, 303, 307, 308])('do not follow a redirect %d', async (status) => {
      const path = `/moved-${String(status)}`;
      sink.answers.set(path, (response) => {
        response.writeHead(status, { location: `${sink.origin}/landing` }).end();
      });
      const id = await create(path);
      await waitFor(async () => (await stateOf(id)) === 'dead');
      expect(sink.at('/landing')).toEqual([]);
    });

    it('use the answer after an unsolicited 100 Continue', async () => {
      sink.answers.set('/continue', (response, times) => {
        response.writeContinue();
        code(100)(response, times);
      });
      const id = await create('/continue');
      await waitFor(async () => (await stateOf(id)) === undefined);

      expect(sink.at('/continue')).toHaveLength(1);
    });

    it('are sent again after a kept connection broke, without a failure', async () => {
      const used = new WeakSet<object>();
      sink.answers.set('/kept', (response, times) => {
        const { socket } = response;
        if (socket && used.has(socket)) socket.destroy();
        else code(100)(response, times);
        if (socket) used.add(socket);
      });
      for (let i = 0; i < 3; i++) {
        const id = await create('/kept');
        await waitFor(async () => (await stateOf(id)) === undefined);
      }
      // One over a new connection, then each over the kept one and over a new one.
      expect(sink.at('/kept').length).toBeGreaterThan(3);
    });

    it('succeed if the answer has code 100, even if its status is a redirect', async () => {
      sink.answers.set('/status', (response) => {
        response.writeHead(302, { location: `${sink.origin}/landing` }).end('{"code":100}');
      });
      const id = await create('/status');
      await waitFor(() => sink.at('/status').length === 1);
      await waitFor(async () => (await stateOf(id)) === undefined);
      expect(sink.at('/landing')).toEqual([]);
    });

    it('are sent again if the answer has code 101, without using a try', async () => {
      sink.answers.set('/busy', (response, times) => code(times < 3 ? 101 : 100)(response, times));
      const id = await create('/busy');
      for (const [tries, delayMs] of [
        [1, 10_000],
        [2, 20_000],
      ] as const) {
        await waitFor(async () => sink.at('/busy').length === tries && (await stateOf(id)) === 'scheduled');
        expect((await query(id)).text).toContain('"max_retry":0,"has_retry":0,');
        await pass(delayMs);
      }
      await waitFor(async () => (await stateOf(id)) === undefined);
      expect(sink.at('/busy')).toHaveLength(3);
    });

    it('are not sent again for a job that was deleted during the request', async () => {
      sink.answers.set('/deleted', (response, times) => {
        setTimeout(() => code(1)(response, times), 300);
      });
      const id = await create('/deleted', { retry: 3 });
      await waitFor(() => sink.at('/deleted').length === 1);
      expect((await query(id)).text).toContain('"has_retry":0');
      expect((await call('/delete', JSON.stringify({ id }))).status).toBe(200);
      await sleep(500);
      await pass(60_000);
      await sleep(200);
      expect(await stateOf(id)).toBeUndefined();
      expect(sink.at('/deleted')).toHaveLength(1);
    });

    it('are all sent again if 60 of them fail at the same time', async () => {
      sink.answers.set('/many', code(1));
      const ids = await Promise.all(Array.from({ length: 60 }, () => create('/many', { retry: 1 })));
      await waitFor(
        async () => (await Promise.all(ids.map(failuresOf))).every((failures) => failures === 1),
        5_000,
      );
      await pass(10_000);
      await waitFor(() => sink.at('/many').length === 120, 5_000);
    });

    it('are sent after a delay of three days, not before', async () => {
      const id = await create('/days', { delay: 3 * DAY_S });
      await pass(2 * DAY_S * 1_000);
      expect((await query(id)).status).toBe(200);
      expect(sink.at('/days')).toEqual([]);
      await pass(DAY_S * 1_000);
      await waitFor(() => sink.at('/days').length === 1, 5_000);
    });

    it('are refused with a delay of more than 4,294,967,295 s', async () => {
      await create('/far', { delay: 4_294_967_295 });
      const body = JSON.stringify({ callback: `${sink.origin}/far`, delay: 4_294_967_296 });
      expect((await call('/create', body)).status).toBe(400);
    });

    it('fail for a job of another producer with a forbidden origin or with data of another form', async () => {
      const data = { topic: '', execute_time: 0, max_retry: 5, content: '', creat_time: 0 };
      const publish = async (body: string): Promise<string> => {
        const [job] = await app.engine.jobs.publish(namespace, [{ queue: QUEUE, body: Buffer.from(body) }]);
        return job?.id ?? '';
      };
      const outside = await publish(JSON.stringify({ ...data, callback: 'http://127.0.0.1:1/' }));
      const foreign = await publish('hello');
      await waitFor(async () => (await stateOf(outside)) === 'dead' && (await stateOf(foreign)) === 'dead');
      expect((await app.engine.jobs.find(namespace, outside))?.failure?.group).toBe('blocked');
      expect((await app.engine.jobs.find(namespace, foreign))?.failure?.group).toBe('foreign');
    });

    it('are sent again after each of 100 answers with code 101, and fail after the next', async () => {
      sink.answers.set('/always-busy', code(101));
      const id = await create('/always-busy');
      for (let times = 1; times <= 100; times++) {
        await waitFor(
          async () => sink.at('/always-busy').length === times && (await stateOf(id)) === 'scheduled',
        );
        await pass(3_600_000);
      }
      await waitFor(async () => (await stateOf(id)) === 'dead');
      const dead = await app.engine.jobs.find(namespace, id);
      expect(dead).toMatchObject({ failures: 1, failure: { group: 'throttled' } });
      expect(sink.at('/always-busy')).toHaveLength(101);
    });
  });

  it('refuses every callback with the reason while later.allow is empty', async () => {
    const other = await TestApp.start({
      PUMPHOUSE_POOLS__DEFAULT__URL: redis.url,
      PUMPHOUSE_LATER__PORT: '0',
    });
    const answer = await fetch(`http://127.0.0.1:${String(other.server.api.laterPort)}/create`, {
      method: 'POST',
      body: JSON.stringify({ callback: 'https://shop.example.com/hook' }),
    });
    expect([answer.status, await answer.text()]).toEqual([
      400,
      expect.stringMatching(/^this server allows no callbacks: its later\.allow is empty, and must have/),
    ]);
    await other.stop();
  });

  it('is off unless a port is set', async () => {
    const other = await TestApp.start({ PUMPHOUSE_POOLS__DEFAULT__URL: redis.url });
    expect(other.server.api.laterPort).toBeNull();
    await other.stop();
  });

  it('refuses an address that push must not connect to, though its origin is allowed', async () => {
    const other = await TestApp.start({
      PUMPHOUSE_POOLS__DEFAULT__URL: redis.url,
      PUMPHOUSE_LATER__PORT: '0',
      PUMPHOUSE_LATER__NAMESPACE: 'guarded',
      PUMPHOUSE_LATER__ALLOW: sink.origin,
    });
    const answer = await fetch(`http://127.0.0.1:${String(other.server.api.laterPort)}/create`, {
      method: 'POST',
      body: JSON.stringify({ callback: `${sink.origin}/guarded` }),
    });
    const { id } = (await answer.json()) as { id: string };
    await waitFor(async () => (await other.engine.jobs.find('guarded', id))?.state === 'dead');
    expect((await other.engine.jobs.find('guarded', id))?.failure?.group).toBe('blocked');
    expect(sink.at('/guarded')).toEqual([]);
    await other.stop();
  });

  it('sends each callback once from two servers on a Cluster', async () => {
    const cluster = await TestCluster.start();
    const nodes = cluster.addresses.map(({ host, port }) => `${host}:${String(port)}`);
    const settings = {
      PUMPHOUSE_POOLS__DEFAULT__CLUSTER: nodes.join(','),
      PUMPHOUSE_LATER__PORT: '0',
      PUMPHOUSE_LATER__NAMESPACE: randomNamespace('later'),
      PUMPHOUSE_LATER__ALLOW: sink.origin,
      PUMPHOUSE_PUSH__ALLOW: '127.0.0.1',
    };
    const servers = await Promise.all([TestApp.start(settings), TestApp.start(settings)]);
    const url = (i: number, path: string): string =>
      `http://127.0.0.1:${String(servers[i % 2]!.server.api.laterPort)}${path}`;
    const paths = Array.from({ length: 60 }, (_, i) => `/cluster/${String(i)}`);
    const created = await Promise.all(
      paths.map(async (path, i) => {
        const delay = i < 40 ? i % 3 : 600;
        const body = JSON.stringify({ topic: 't', delay, retry: 0, callback: sink.origin + path });
        const answer = await fetch(url(i, '/create'), { method: 'POST', body });
        return JSON.stringify(await answer.json());
      }),
    );
    await waitFor(() => paths.slice(0, 40).every((path) => sink.at(path).length > 0), 20_000);
    await sleep(500);
    expect(paths.map((path) => sink.at(path).length)).toEqual(paths.map((_, i) => (i < 40 ? 1 : 0)));
    // Each server shows and deletes what the other one took.
    const statuses = async (path: string, add: number): Promise<number[]> =>
      Promise.all(
        created
          .slice(40)
          .map(async (body, i) => (await fetch(url(i + add, path), { method: 'POST', body })).status),
      );
    expect(new Set(await statuses('/query', 1))).toEqual(new Set([200]));
    expect(new Set(await statuses('/delete', 1))).toEqual(new Set([200]));
    expect(new Set(await statuses('/query', 0))).toEqual(new Set([404]));

    await Promise.all(servers.map((server) => server.stop()));
    await cluster.stop();
  });

  it('finishes a running callback when it shuts down, and accepts no more requests', async () => {
    const other = await TestApp.start({
      PUMPHOUSE_POOLS__DEFAULT__URL: redis.url,
      PUMPHOUSE_LATER__PORT: '0',
      PUMPHOUSE_LATER__NAMESPACE: 'ending',
      PUMPHOUSE_LATER__ALLOW: sink.origin,
      PUMPHOUSE_PUSH__ALLOW: '127.0.0.1',
    });
    const url = `http://127.0.0.1:${String(other.server.api.laterPort)}/create`;
    sink.answers.set('/ending', (response, times) => {
      setTimeout(() => code(100)(response, times), 500);
    });
    const answer = await fetch(url, {
      method: 'POST',
      body: JSON.stringify({ callback: `${sink.origin}/ending` }),
    });
    const { id } = (await answer.json()) as { id: string };
    await waitFor(() => sink.at('/ending').length === 1);
    await other.stop();

    expect(await app.engine.jobs.find('ending', id)).toBeNull();
    await expect(fetch(url, { method: 'POST', body: '{}' })).rejects.toThrow('fetch failed');
  });

  it('aborts a callback that has no answer drain_ms after the start of a stop, without using a try', async () => {
    const other = await TestApp.start({
      PUMPHOUSE_POOLS__DEFAULT__URL: redis.url,
      PUMPHOUSE_SERVER__DRAIN_MS: '100',
      PUMPHOUSE_LATER__PORT: '0',
      PUMPHOUSE_LATER__NAMESPACE: 'cut-off',
      PUMPHOUSE_LATER__ALLOW: sink.origin,
      PUMPHOUSE_PUSH__ALLOW: '127.0.0.1',
    });
    sink.answers.set('/cut-off', () => undefined);
    const answer = await fetch(`http://127.0.0.1:${String(other.server.api.laterPort)}/create`, {
      method: 'POST',
      body: JSON.stringify({ callback: `${sink.origin}/cut-off` }),
    });
    const { id } = (await answer.json()) as { id: string };
    await waitFor(() => sink.at('/cut-off').length === 1);
    await other.stop();

    expect(await app.engine.jobs.find('cut-off', id)).toMatchObject({
      ...{ state: 'ready', failures: 0, crashes: 0, attempts: 0 },
    });
  });

  it('answers 500 while Redis is down, and recovers', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'pumphouse-later-'));
    const durable = { dir, args: ['--appendfsync', 'always'] };
    let store = await startRedis(durable);
    const other = await TestApp.start({
      PUMPHOUSE_POOLS__DEFAULT__URL: store.url,
      PUMPHOUSE_REDIS__COMMAND_TIMEOUT_MS: '500',
      PUMPHOUSE_LATER__PORT: '0',
      PUMPHOUSE_LATER__ALLOW: sink.origin,
      PUMPHOUSE_PUSH__ALLOW: '127.0.0.1',
    });
    const send = async (path: string, body: object): Promise<[number, string]> => {
      const url = `http://127.0.0.1:${String(other.server.api.laterPort)}${path}`;
      const answer = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
      return [answer.status, await answer.text()];
    };
    const stored = { callback: `${sink.origin}/stored`, delay: 3 };
    expect(await send('/create', stored)).toMatchObject([200, expect.any(String)]);
    await store.kill9();
    expect(await send('/create', { callback: `${sink.origin}/away` })).toEqual([500, '']);
    const id = '11111111-2222-4333-8444-555555555555';
    expect(await send('/query', { id })).toEqual([500, '']);
    expect(await send('/delete', { id })).toEqual([500, '']);

    store = await startRedis({ ...durable, port: store.port });
    await waitFor(() => sink.at('/stored').length === 1, 10_000);
    expect(sink.at('/away')).toEqual([]);
    await waitFor(async () => (await send('/delete', { id }))[0] === 200, 5_000);
    await other.stop();
    await store.stop();
    rmSync(dir, { recursive: true, force: true });
  });
});
