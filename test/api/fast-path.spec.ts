import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ErrorCode, QueueError } from '../../src/domain/errors.js';
import { Engines } from '../../src/engine/engines.js';
import type { Engine } from '../../src/engine/engine.js';
import { FastPath } from '../../src/jobs/fast-path.js';
import { head, TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';

describe('frequent HTTP calls', () => {
  /** A request, its path without the part that says which queue, and what is before and after it on the wire. */
  interface Call {
    readonly method?: string;
    readonly version?: string;
    /** By default `api`. */
    readonly api?: 'v1';
    readonly namespace?: string;
    /** By default `q`. */
    readonly queue?: string;
    /** What follows the queue in the path. */
    readonly after?: string;
    readonly headers?: Record<string, string | null>;
    /** Written one after the other, with a pause between. */
    readonly body?: readonly string[];
  }

  const CODES: readonly ErrorCode[] = [
    'job_exists',
    'idempotency_key_reused',
    'too_many_queues',
    'queue_full',
    'namespace_full',
    'store_full',
    'disk_full',
    'durability_unavailable',
    'not_replicated',
    'pool_unavailable',
    'shutting_down',
    'too_many_waiters',
    'overloaded',
    'uri_too_long',
    'headers_too_large',
    'coding_not_supported',
    'internal',
  ];

  /** The fast path answers as the router does, byte for byte. One escape in the path selects the router. */
  describe('the fast path', () => {
    let app: TestApp;
    let engine: Engine;
    /** For each request so far, true if the fast path took it. */
    const taken: boolean[] = [];
    const take = Reflect.get(FastPath.prototype, 'take');

    beforeAll(async () => {
      FastPath.prototype.take = function (...args) {
        const isTaken = take.apply(this, args);
        taken.push(isTaken);
        return isTaken;
      };
      app = await TestApp.start({ PUMPHOUSE_LIMITS__MAX_BODY_BYTES: '1000' });
      engine = app.server.api.app.get(Engines, { strict: false }).of('default');
    });
    afterAll(async () => {
      FastPath.prototype.take = take;
      await app.stop();
    });
    afterEach(() => (taken.length = 0));

    function bytes(call: Call, isEscaped: boolean): string[] {
      const { method = 'PUT', version = '1.1', queue = 'q', after = '', body = [] } = call;
      const second = isEscaped
        ? `%${queue.charCodeAt(0).toString(16).padStart(2, '0')}${queue.slice(1)}`
        : queue;
      const headers: Record<string, string | null> = { Host: 'h', 'X-Token': app.token };
      if (body.length > 0) headers['Content-Length'] = String(body.join('').length);
      const lines = Object.entries({ ...headers, ...call.headers })
        .filter(([, value]) => value !== null)
        .map(([name, value]) => `${name}: ${value ?? ''}\r\n`);
      const path = `/${call.api ?? 'api'}/${call.namespace ?? app.namespace}/${second}${after}`;
      const top = `${method} ${path} HTTP/${version}\r\n${lines.join('')}\r\n`;
      return [top + (body[0] ?? ''), ...body.slice(1)];
    }

    /** What comes back, with that blanked which no two answers share; the last request asks for the end of the connection. */
    async function play(calls: readonly Call[], isEscaped: boolean, last = true): Promise<string> {
      const connection = await app.open();
      for (const call of calls) {
        for (const packet of bytes(call, isEscaped)) {
          connection.write(packet);
          await sleep(15);
        }
      }
      if (last) connection.write('GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n');
      const text = await connection.untilClosed();
      return text
        .replace(/^Date: .*$/gm, 'Date')
        .replace(/\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b/g, 'ULID')
        .replace(/"elapsed_ms":\d+/g, '"elapsed_ms"')
        .replace(/"lease":\d+/g, '"lease"')
        .replace(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, 'TIME');
    }

    /** @param again what the router is asked, where no two calls may be the same */
    async function expectEqualAnswers(
      calls: readonly Call[],
      expected: RegExp | string,
      again = calls,
    ): Promise<void> {
      const hot = await play(calls, false);
      const wasTaken = taken.slice(0, calls.length);
      taken.length = 0;
      const routed = await play(again, true);

      expect(hot).toBe(routed);
      expect(hot).toMatch(expected);
      expect(wasTaken).toEqual(calls.map(() => true));
      expect(taken.some(Boolean)).toBe(false);
    }

    const v1 = (name: string, ...body: string[]): Call => ({ method: 'POST', api: 'v1', queue: name, body });
    const acks = (...bodies: string[]): Call => v1('acks', ...bodies);
    const get = (after = '', queue = 'q'): Call => ({ method: 'GET', after, queue });

    it.each<[string, Call, string]>([
      ['publish', { body: ['hello'] }, '201 Created'],
      ['publish with parameters', { body: ['hello'], after: '?delay=1&ttl=100&tries=2' }, '201 Created'],
      ['publish without a body', {}, '201 Created'],
      ['publish of a declared nothing', { headers: { 'Content-Length': '0' } }, '201 Created'],
      [
        'publish with attributes',
        { body: ['x'], headers: { 'Enable-Job-Version': 'yes', 'Job-Attr-A': 'b' } },
        '201 Created',
      ],
      ['publish with a key', { body: ['x'], headers: { 'Idempotency-Key': 'k1' } }, '201 Created'],
      [
        'bulk with a key',
        { body: ['[1,2]'], after: '/bulk', headers: { 'Idempotency-Key': 'k2' } },
        '"job_ids":[',
      ],
      ['bulk', { body: ['[1,"two"]'], after: '/bulk' }, '"job_ids":["ULID","ULID"]'],
      ['ack', { method: 'DELETE', after: '/job/01M7Z17XME660YPHBY512QCVQF' }, '204 No Content'],
      ['ack of what is no id', { method: 'DELETE', after: '/job/-!' }, '204 No Content'],
      ['ack with a body', { method: 'DELETE', after: '/job/x', body: ['why'] }, '204 No Content'],
      ['batch ack', acks('{"acks":[{"queue":"q","id":"x","lease":1}]}'), '"status":"not_found"'],
      ['native publish', v1('jobs', '{"queue":"q","data":"x"}'), '201 Created'],
      [
        'native publish of two',
        v1('jobs', '{"jobs":[{"queue":"q"},{"queue":"q","type":"t"}]}'),
        '201 Created',
      ],
      ['native lease, nothing there', v1('leases', '{"queues":["none"]}'), '"jobs":[]'],
      ['consume, nothing there', get('', 'none'), 'no job available'],
      ['consume, nothing comes', get('?timeout=1', 'none'), 'no job available'],
      ['consume of a list', get('', 'none,missing'), 'no job available'],
      ['consume with a body', { ...get('', 'none'), body: ['?'] }, 'no job available'],
    ])('answers as the router does: %s', async (_name, call, expected) => {
      // A second publish with a key would be a replay, which the answer says.
      const key = call.headers?.['Idempotency-Key'];
      const again =
        key === undefined
          ? call
          : { ...call, headers: { ...call.headers, 'Idempotency-Key': `${key}-again` } };
      await expectEqualAnswers([call], expected, [again]);
    });

    it.each<[string, Call, string]>([
      ['delay', { after: '?delay=x' }, 'invalid delay'],
      ['tries', { after: '?tries=0' }, "tries shouldn't be zero"],
      ['ttl', { after: '?ttl=1&delay=2' }, 'ttl is shorter than delay'],
      ['a key', { body: ['x'], headers: { 'Idempotency-Key': 'two words' } }, 'invalid Idempotency-Key'],
      [
        'an empty key',
        { after: '/bulk', body: ['[1]'], headers: { 'Idempotency-Key': '' } },
        'invalid Idempotency-Key',
      ],
      ['ttr', get('?ttr=-1'), 'invalid ttr'],
      ['timeout', get('?timeout='), 'invalid timeout'],
      ['count', get('?count=101'), 'invalid count'],
      ['an empty list', get('', ','), 'invalid queue name(s)'],
      ['a forbidden queue', { queue: 'q$' }, 'queue name contains forbidden characters'],
      ['a reserved queue', { queue: '_q' }, 'queue name contains forbidden characters'],
      ['a long queue', { queue: 'q'.repeat(256) }, 'namespace or queue name too long'],
      ['a forbidden namespace', { namespace: 'a.b' }, 'namespace name contains forbidden characters'],
      ['no token', { headers: { 'X-Token': null } }, 'token not found'],
      ['a wrong token', { headers: { 'X-Token': 'wrong' } }, 'invalid token'],
      ['an unknown pool', { headers: { 'X-Token': 'nowhere:x' } }, 'pool not found'],
      [
        'a wrong token in the query',
        { headers: { 'X-Token': null }, after: '?token=a%20b' },
        'invalid token',
      ],
      ['an ack without an id', acks('{"acks":[{"queue":"q"}]}'), '"field":"acks[0].id"'],
      ['acks without a token', { ...acks('{}'), headers: { 'X-Token': null } }, '"code":"token_missing"'],
      ['no array', { after: '/bulk', body: ['{}'] }, 'should be an array'],
      ['no jobs', { after: '/bulk', body: ['[]'] }, 'no jobs'],
      ['a large element', { after: '/bulk', body: [`["${'x'.repeat(1_000)}"]`] }, 'job too large'],
      ['a large body', { body: ['x'.repeat(1_001)] }, 'body too large'],
      ['a body that is said to be huge', { headers: { 'Content-Length': '99999999' } }, 'body too large'],
      ['a wrong parameter and a body', { after: '?ttl=x', body: ['hello', 'world'] }, 'invalid ttl'],
    ])('refuses as the router does: %s', async (_name, call, expected) => {
      await expectEqualAnswers([call], expected);
    });

    const chunks = (...texts: readonly string[]): string[] =>
      [...texts, ''].map((text) => `${text.length.toString(16)}\r\n${text}\r\n`);
    const CHUNKED = { 'Transfer-Encoding': 'chunked', 'Content-Length': null };
    const EXPECT = { Expect: '100-continue' };

    it.each<[string, readonly Call[], RegExp | string]>([
      ['HTTP/1.0', [{ version: '1.0', body: ['x'] }], 'Connection: close'],
      [
        'HTTP/1.0, kept alive',
        [{ version: '1.0', body: ['x'], headers: { Connection: 'keep-alive' } }],
        'keep-alive',
      ],
      ['Connection: close', [{ body: ['x'], headers: { Connection: 'close' } }], 'Connection: close'],
      ['several packets', [{ body: ['one ', 'two ', 'three'] }], '201 Created'],
      ['a body after its head', [{ body: ['', 'late'] }], '201 Created'],
      ['chunks', [{ headers: CHUNKED, body: chunks('one', 'two') }], '201 Created'],
      [
        'chunks beyond the limit',
        [{ headers: CHUNKED, body: chunks('x'.repeat(600), 'x'.repeat(600)) }],
        '413 Payload',
      ],
      ['Expect', [{ headers: EXPECT, body: ['', 'go on'] }], /100 Continue\r\n\r\n.*201 Created/s],
      [
        'Expect, refused',
        [{ headers: { ...EXPECT, 'Content-Length': '5' }, after: '?ttl=x' }],
        /^HTTP\/1.1 400/,
      ],
      ['another expectation', [{ headers: { Expect: 'x' }, body: ['go on'] }], '201 Created'],
      [
        'pipelined requests',
        [{ body: ['x'] }, get('', 'none'), { after: '?ttl=x' }, { body: ['y'] }, get('?timeout=1', 'none')],
        /201 .*404 .*400 .*201 .*404 /s,
      ],
    ])('speaks HTTP as the router does: %s', async (_name, calls, expected) => {
      await expectEqualAnswers(calls, expected);
    });

    /** Plays while a method of the engine is another one. */
    async function replacing<M extends 'publish' | 'lease'>(
      method: M,
      other: Engine[M],
      play: () => Promise<void>,
    ): Promise<void> {
      Object.assign(engine, { [method]: other });
      try {
        await play();
      } finally {
        Reflect.deleteProperty(engine, method);
      }
    }

    it.each([1, 2])('leases jobs as the router does, count=%i', async (count) => {
      for (let i = 0; i < 2 * count; i++) await app.publish('full?ttl=600&tries=3', 'hello');
      const lease = engine.lease.bind(engine);
      const timeless: typeof lease = async (...args) =>
        (await lease(...args)).map((job) => ({ ...job, elapsedMs: 7, ttlLeftMs: 9_000 }));
      await replacing('lease', timeless, () =>
        expectEqualAnswers([get(`?ttr=60&count=${String(count)}`, 'full')], /"msg":"new job"/),
      );
    });

    it.each([{}, { type: 't', tags: ['a'] }])('leases native jobs as the router does: %j', async (more) => {
      const queue = 'native';
      for (let i = 0; i < 2; i++) {
        const body = JSON.stringify({ queue, data: { to: 'ada' }, ...more });
        await app.call('POST', `/v1/${app.namespace}/jobs`, { body });
      }
      await expectEqualAnswers([v1('leases', '{"queues":["native"],"worker":"w"}')], '"data":{"to":"ada"}');
    });

    it.each(
      ['ack', 'heartbeat', 'retry', 'fail', 'release'].flatMap((verb) => [
        [verb, 'simple', {}] as const,
        [verb, 'extended', { type: 't' }] as const,
      ]),
    )('settles native jobs as the router does: %s, %s', async (verb, _kind, more) => {
      const queue = 'settled';
      const call = (name: string, body: object) =>
        app.call('POST', `/v1/${app.namespace}/${name}`, { body: JSON.stringify(body) });
      await call('jobs', { jobs: [1, 2].map((data) => ({ queue, data, tries: 1, ...more })) });
      const { json } = await call('leases', { queues: [queue], count: 2 });
      const { jobs } = json as { jobs: { id: string; lease: number }[] };
      const calls = jobs.map(({ id, lease }): Call[] => {
        const body = JSON.stringify({ lease });
        const missing = { ...v1('jobs', body), after: `/missing/${verb}` };
        return [{ ...v1('jobs', body), after: `/${id}/${verb}` }, missing];
      });
      expect(calls).toHaveLength(2);
      await expectEqualAnswers(calls[0]!, /200 OK.*404 Not Found.*job_not_found/s, calls[1]);
    });

    it.each(CODES)('answers errors of the engine as the router does: %s', async (code) => {
      const refusing = (): Promise<string> => Promise.reject(new QueueError(code, 'no'));
      await replacing('publish', refusing, () => expectEqualAnswers([{ body: ['x'] }], /^HTTP\/1.1 [45]/));
    });

    it.each<[string, () => Promise<string>]>([
      ['rejects', () => Promise.reject(new TypeError('a bug'))],
      [
        'throws',
        () => {
          throw new TypeError('a bug');
        },
      ],
    ])('answers "internal error" and logs the error if the engine %s a TypeError', async (_how, bug) => {
      app.log.length = 0;
      await replacing('publish', bug, () =>
        expectEqualAnswers([{ body: ['x'] }], '{"error":"internal error"}'),
      );
      expect(app.log).toHaveLength(2);
      for (const { message } of app.log) expect(message).toBe('request failed');
    });

    it('releases jobs that it could not write into an answer', async () => {
      const id = await app.publish('broken?tries=1');
      const lease = engine.lease.bind(engine);
      const broken: typeof lease = async (...args) =>
        (await lease(...args)).map((job) => ({ ...job, body: null as unknown as Buffer }));
      await replacing('lease', broken, async () => {
        expect(await app.get('broken')).toMatchObject({ status: 500 });
      });
      await waitFor(async () => (await app.engine.queues.size(app.namespace, 'broken')) === 1);
      expect(await app.get('broken')).toMatchObject({ status: 200, json: { job_id: id, remain_tries: 0 } });
    });

    it.each([
      ['PUT', 'q/'],
      ['PUT', '%71'],
      ['PUT', 'q/bulk/'],
      ['PUT', 'q/job/x'],
      ['GET', 'q/size'],
      ['GET', 'q#x'],
      ['GET', '/q'],
      ['POST', 'q'],
      ['HEAD', 'q'],
      ['DELETE', 'q'],
      ['DELETE', 'q/job/'],
      ['DELETE', 'q/job/a/b'],
    ])('leaves other routes to the router: %s %s', async (method, path) => {
      const connection = await app.open();
      connection.write(
        `${method} /api/${app.namespace}/${path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`,
      );

      expect(await connection.untilClosed()).toMatch(/^HTTP\/1.1 4/);
      expect(taken).toEqual([false]);
    });

    it.each([
      ['PUT', '/api/$/q', ''],
      ['PUT', '/api/$/%71', ''],
      ['POST', '/v1/$/jobs', ''],
      ['GET', '/healthz', ''],
      ['GET', '/nope', ''],
      ['OPTIONS', '/v1/$/jobs', 'Origin: https://a.example\r\nAccess-Control-Request-Method: POST\r\n'],
    ])(
      'answers a request with two Host headers with 400 and closes its connection, also where the router answers: %s %s',
      async (method, path, more) => {
        for (const hosts of ['Host: h\r\nHost: h\r\n', 'host: h\r\nX-A: b\r\nHOST: other\r\n']) {
          const connection = await app.open();
          const line = `${method} ${path.replace('$', app.namespace)} HTTP/1.1\r\n`;
          connection.write(`${line}${hosts}X-Token: ${app.token}\r\n${more}Content-Length: 0\r\n\r\n`);
          expect(await connection.until('\r\n\r\n', 1, 30_000)).toMatch(/^HTTP\/1\.1 400 /);
          expect(await connection.untilClosed()).toContain('more than one Host header');
        }
      },
    );

    it('leaves a request without a Host to the router', async () => {
      const text = await play([{ headers: { Host: null } }], false);

      expect(text).toContain('missing required Host header');
      expect(taken[0]).toBe(false);
    });

    /** How many answers of a kind were counted so far. */
    async function answered(api: string, method: string, code: number): Promise<number> {
      const { text } = await app.admin('GET', '/metrics');
      const labels = `namespace="${app.namespace}",api="/api/:namespace/:queue${api}",method="${method}",code="${String(code)}"`;
      const line = text.split('\n').find((one) => one.includes(labels));
      return Number(line?.split(' ').at(-1) ?? 0);
    }

    it.each<[string, string, number, Call]>([
      ['', 'PUT', 201, { body: ['x'] }],
      ['', 'PUT', 400, { after: '?ttl=x' }],
      ['/bulk', 'PUT', 201, { body: ['[1]'], after: '/bulk' }],
      ['', 'GET', 404, get('', 'none')],
      ['/job/:job_id', 'DELETE', 204, { method: 'DELETE', after: '/job/x' }],
    ])('counts its answers under the name of the route: %s %s %i', async (api, method, code, call) => {
      const before = await answered(api, method, code);
      await expectEqualAnswers([call], String(code));

      expect(await answered(api, method, code)).toBe(before + 2);
    });

    it('counts a request whose client disconnects within the body as 400', async () => {
      const before = await answered('', 'PUT', 400);
      const connection = await app.open();
      connection.write(bytes({ body: ['abc'], headers: { 'Content-Length': '10' } }, false)[0]!);
      await waitFor(() => Promise.resolve(taken.length === 1));
      connection.cut();

      await waitFor(async () => (await answered('', 'PUT', 400)) === before + 1);
      expect(taken).toEqual([true]);
    });

    it('refuses a token beyond its limit as the router does', async () => {
      const limit = JSON.stringify({ read: 1_000, write: 2, interval: 3_600 });
      await app.admin('POST', `/token/${app.namespace}/${app.token}/limit`, { body: limit });
      await app.put('q');
      await app.put('q');
      taken.length = 0;
      await expectEqualAnswers([{ body: ['x'] }], '"msg":"token(');
      await app.admin('DELETE', `/token/${app.namespace}/${app.token}/limit`);
    });

    it('requires a token on each request of a connection', async () => {
      const other = { 'X-Token': 'another' };
      const calls: Call[] = [{ body: ['x'] }, { body: ['x'] }, { body: ['x'], headers: other }];
      await expectEqualAnswers(
        [...calls, { namespace: 'foreign', body: ['x'] }, ...calls],
        /(201 .*){2}401 .*401 .*(201 .*){2}401 /s,
      );
    });

    it('closes connections while the server drains, as the router does', async () => {
      app.server.announceEnd();
      const hot = await play([{ body: ['x'] }], false, false);
      const routed = await play([{ body: ['x'] }], true, false);

      expect(hot).toBe(routed);
      expect(hot).toMatch(/^HTTP\/1.1 201 [^]*Connection: close/);
    });
  });
});

describe('answers of the HTTP server', () => {
  /** Jobs whose leases did not reach the client go back to the front of the ready list, without using a try. */
  describe('clients that disconnect before their answer', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await TestApp.start();
    });
    afterAll(() => app.stop());

    const consume = (queue: string, query = ''): string =>
      head('GET', `/api/${app.namespace}/${queue}${query}`, { 'X-Token': app.token });
    const size = async (queue: string): Promise<number> =>
      ((await app.get(`${queue}/size`)).json as { size: number }).size;

    it('D2: cost no job: 20 of 40 stop waiting, the others get a job each, the rest stays ready', async () => {
      const polls = await Promise.all(Array.from({ length: 40 }, () => app.open()));
      for (const poll of polls) poll.write(consume('herd', '?timeout=20&ttr=600'));
      await waitFor(async () => (await app.engine.queues.counts(app.namespace, ['herd'])).length > 0);
      await sleep(100);
      const [stay, go] = [polls.filter((_, i) => i % 2 === 0), polls.filter((_, i) => i % 2 === 1)];
      for (const poll of go) poll.cut();
      await sleep(50);
      for (let i = 0; i < 40; i++) await app.publish('herd?tries=1', String(i));
      await Promise.all(stay.map((poll) => poll.until('"msg":"new job"')));
      expect(await size('herd')).toBe(20);
      for (const poll of stay) poll.cut();
    });

    it('give back the jobs of a large answer that they did not read, without using a try', async () => {
      const body = Buffer.alloc(65_000, 'x');
      for (let i = 0; i < 100; i++) await app.publish('heavy?tries=1', body);
      const connection = await app.open();
      connection.socket.pause();
      connection.write(consume('heavy', '?count=100&ttr=600'));
      await waitFor(async () => (await size('heavy')) < 100);
      await sleep(100);
      connection.cut();
      await waitFor(async () => (await size('heavy')) === 100, 5_000);
      expect(await app.get('heavy/peek')).toMatchObject({ json: { remain_tries: 1 } });
    });

    it('give back the jobs of an answer that they did not read when the server stops', async () => {
      const other = await TestApp.start({ PUMPHOUSE_SERVER__DRAIN_MS: '100' });
      const { namespace, token } = other;
      for (let i = 0; i < 70; i++) await other.publish('heavy?tries=1', Buffer.alloc(65_000, 'x'));
      const connection = await other.open();
      connection.socket.pause();
      connection.write(head('GET', `/api/${namespace}/heavy?count=100&ttr=600`, { 'X-Token': token }));
      await waitFor(async () => (await app.engine.queues.size(namespace, 'heavy')) < 70);
      await sleep(100);
      await other.stop();
      expect(await app.engine.queues.size(namespace, 'heavy')).toBe(70);
      await app.engine.queues.destroy(namespace, 'heavy');
    });

    it('get no job for a consume that was pipelined behind their long poll', async () => {
      const connection = await app.open();
      connection.write(consume('first', '?timeout=20') + consume('second', '?timeout=20&ttr=600'));
      await sleep(50);
      connection.cut();
      await sleep(50);
      await app.publish('second?tries=1');
      expect(await app.get('second')).toMatchObject({ status: 200 });
    });

    it.each(['q', '%71'])('are answered after they closed only their sending side: %s', async (q) => {
      const connection = await app.openHalf();
      const put = head('PUT', `/api/${app.namespace}/${q}`, { 'X-Token': app.token, 'Content-Length': '1' });
      connection.socket.end(`${put}x${put}y${head('GET', `/api/${app.namespace}/q/size`)}`);
      const answer = await connection.untilClosed();

      expect([...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual([
        ...['201', '201', '401'],
      ]);
      expect(await size('q')).toBe(2);
      await app.delete('q');
    });

    it.each([
      ['GET', '', '', /^HTTP\/1.1 404 /],
      ['GET', '?timeout=20', '', /^HTTP\/1.1 404 /],
      ['POST', '', '{"queues":["half-closed"]}', /^HTTP\/1.1 200 [^]*\{"jobs":\[\]\}/],
      ['POST', '', '{"queues":["half-closed"],"wait_ms":20000}', /^HTTP\/1.1 200 [^]*\{"jobs":\[\]\}/],
    ])(
      'get no lease after they closed their sending side: %s %s %s',
      async (method, query, body, expected) => {
        await app.publish('half-closed?tries=1');
        // Jobs are leased before the client closes its side, and the answer is written after that.
        const closed = new Promise<void>((resolve) => {
          const server: Server = app.server.api.app.getHttpServer();
          server.once('connection', (socket) => socket.once('end', resolve));
        });
        const engine = app.server.api.app.get(Engines, { strict: false }).of('default');
        const lease: Engine['lease'] = engine.lease.bind(engine);
        Object.assign(engine, {
          lease: async (...args: Parameters<Engine['lease']>) => {
            const jobs = await lease(...args);
            await closed;
            return jobs;
          },
        });
        const path =
          method === 'GET' ? `/api/${app.namespace}/half-closed${query}` : `/v1/${app.namespace}/leases`;
        const connection = await app.openHalf();
        connection.socket.end(
          head(method, path, { 'X-Token': app.token, 'Content-Length': String(body.length) }) + body,
        );

        expect(await connection.untilClosed()).toMatch(expected);
        Reflect.deleteProperty(engine, 'lease');
        await waitFor(async () => (await size('half-closed')) === 1);
        expect(await app.get('half-closed?ttr=600')).toMatchObject({ status: 200 });
        await app.delete('half-closed');
      },
    );

    it('are answered before the wait ends when they close their sending side during a long poll', async () => {
      const connection = await app.openHalf();
      connection.write(consume('quiet', '?timeout=20'));
      await waitFor(async () => (await app.engine.queues.counts(app.namespace, ['quiet'])).length > 0);
      const endMs = performance.now();
      connection.socket.end();
      expect(await connection.untilClosed()).toMatch(/^HTTP\/1.1 404 [^]*no job available/);
      expect(performance.now() - endMs).toBeLessThan(10_000);

      const waiting = await app.openHalf();
      const body = '{"queue":"quiet","id":"waited-for"}';
      const headers = { 'X-Token': app.token, 'Content-Length': String(body.length) };
      waiting.write(head('POST', `/v1/${app.namespace}/jobs?wait_ms=20000`, headers) + body);
      await waitFor(async () => (await size('quiet')) === 1);
      const laterMs = performance.now();
      waiting.socket.end();
      expect(await waiting.untilClosed()).toMatch(/^HTTP\/1.1 202 [^]*"id":"waited-for"/);
      expect(performance.now() - laterMs).toBeLessThan(10_000);
    });

    it('store no job when they disconnect within a body', async () => {
      const connection = await app.open();
      connection.write(
        `${head('PUT', `/api/${app.namespace}/half`, { 'X-Token': app.token, 'Content-Length': '10' })}abc`,
      );
      await sleep(50);
      connection.cut();
      await sleep(50);
      expect(await size('half')).toBe(0);
    });
  });
});
