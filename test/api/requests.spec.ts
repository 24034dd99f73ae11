import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Agent, request, RetryAgent } from 'undici';
import { QueueError } from '../../src/domain/errors.js';
import { Engines } from '../../src/engine/engines.js';
import { head, TestApp } from '../support/app.js';
import { OwnTime } from '../support/own-time.js';
import { waitFor } from '../support/redis.js';

describe('routing', () => {
  const NOT_FOUND = { status: 404, json: { error: 'api not found' } };
  const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
  const FORBIDDEN_QUEUE = { status: 400, json: { error: 'queue name contains forbidden characters' } };
  const FORBIDDEN_NAMESPACE = {
    status: 400,
    json: { error: 'namespace name contains forbidden characters' },
  };
  const TOO_LONG = { status: 400, json: { error: 'namespace or queue name too long' } };

  describe('the API of the queues', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await TestApp.start();
    });
    afterAll(() => app.stop());

    it.each([
      ['GET', '/'],
      ['GET', '/nope'],
      ['GET', '/api'],
      ['GET', '/api/g1'],
      ['GET', '/api/g1/'],
      ['PUT', '/api/g1/'],
      ['GET', '/api//'],
      ['PUT', '/api/g1/p1/'],
      ['GET', '/api/g1/p1/size/'],
      ['GET', '/api/g1/p1/unknown'],
      ['GET', '/api/g1/p1/job/'],
      ['DELETE', '/api/g1/p1/job/'],
      ['GET', '/API/g1/p1/size'],
      ['GET', '/api//g1/p1/size'],
      ['GET', '/api/g1/p1/../p1/size'],
      ['GET', '/metrics'],
      ['GET', '/token/g1'],
      ['POST', '/api/g1/p1'],
      ['PATCH', '/api/g1/p1'],
      ['OPTIONS', '/api/g1/p1'],
      ['HEAD', '/api/g1/p1'],
      ['HEAD', '/api/g1/p1/size'],
      ['HEAD', '/metrics'],
      ['OPTIONS', '/healthz'],
      ['PUT', '/'],
      ['GET', '/api/g1/p1/bulk'],
      ['DELETE', '/api/g1/p1/bulk'],
      ['POST', '/api/g1/p1/bulk'],
      ['POST', '/api/g1/p1/job/abc'],
      ['PUT', '/api/g1/p1/peek'],
      ['DELETE', '/api/g1/p1/size'],
      ['POST', '/api/g1/p1/deadletter'],
      ['PROPFIND', '/api/g1/p1'],
      ['SEARCH', '/api/g1/p1'],
      ['QUERY', '/api/g1/p1'],
      ['PURGE', '/api/g1/p1'],
    ])('answers 404 for %s %s', async (method, path) => {
      const text = await app.raw(head(method, path, { 'X-Token': app.token, Connection: 'close' }));
      const [top = '', body] = text.split('\r\n\r\n');
      expect(top).toMatch(/^HTTP\/1.1 404 /);
      expect(top).toMatch(/\r\nX-Request-Id: [0-9A-Z]{26}(\r\n|$)/);
      expect(top).toContain('Content-Type: application/json; charset=utf-8');
      expect(body).toBe(method === 'HEAD' ? '' : '{"error":"api not found"}');
    });

    it.each(['application/json', 'nonsense'])(
      'answers 404 for an unknown path with a broken body of type %s',
      async (type) => {
        expect(
          await app.call('POST', '/nope', { body: '{', headers: { 'content-type': type } }),
        ).toMatchObject(NOT_FOUND);
      },
    );

    it.each([
      ['p.1', FORBIDDEN_QUEUE],
      ['p%201', FORBIDDEN_QUEUE],
      ['p%2F1', FORBIDDEN_QUEUE],
      ['p%C3%A9', FORBIDDEN_QUEUE],
      ['p:1', FORBIDDEN_QUEUE],
      ['p,1', FORBIDDEN_QUEUE],
      ['p%2C1', FORBIDDEN_QUEUE],
      ['p@1', FORBIDDEN_QUEUE],
      ['p%001', FORBIDDEN_QUEUE],
      ['_p1', FORBIDDEN_QUEUE],
      ['q'.repeat(256), TOO_LONG],
    ])('refuses the queue name %s', async (queue, refusal) => {
      expect(await app.put(queue)).toMatchObject(refusal);
      expect(await app.get(`${queue}/size`)).toMatchObject(refusal);
      expect(await app.put(queue, 'x', { token: null })).toMatchObject(refusal);
    });

    it.each(['p_-1', '-p1', 'q'.repeat(255), '0'])('accepts the queue name %s', async (queue) => {
      expect(await app.put(queue)).toMatchObject({ status: 201 });
      expect(await app.get(queue)).toMatchObject({ status: 200 });
    });

    it.each([
      ['p.1', FORBIDDEN_NAMESPACE],
      ['p%001', FORBIDDEN_NAMESPACE],
      ['p%2C1', FORBIDDEN_NAMESPACE],
      ['p%C3%A9', FORBIDDEN_NAMESPACE],
      ['n'.repeat(256), TOO_LONG],
    ])('refuses the namespace name %s', async (namespace, refusal) => {
      expect(await app.get(`/api/${namespace}/q/size`, { token: null })).toMatchObject(refusal);
    });

    it('refuses an empty namespace name and an empty queue name', async () => {
      expect(await app.put('/api//p1')).toMatchObject(FORBIDDEN_NAMESPACE);
      expect(await app.get('/api/g1//size')).toMatchObject(FORBIDDEN_QUEUE);
    });

    it.each(['/api/g1/p%zz', '/api/p%zz/p1/size', '/%'])(
      'answers the broken escape of %s with 400',
      async (path) => {
        const { status, json, headers } = await app.get(path);
        expect(status).toBe(400);
        expect(json).toHaveProperty('error');
        expect(headers['x-request-id']).toMatch(ULID);
      },
    );

    it('accepts a token in X-Token or the query, and refuses a missing or wrong token with 401', async () => {
      const missing = { status: 401, json: { error: 'token not found' } };
      const invalid = { status: 401, json: { error: 'invalid token' } };
      expect(await app.put('q', 'x', { token: null })).toMatchObject(missing);
      expect(await app.put('q', 'x', { token: '' })).toMatchObject(missing);
      expect(await app.put('q', 'x', { token: 'nope' })).toMatchObject(invalid);
      expect(await app.put('q', 'x', { token: 'default:a:b' })).toMatchObject(invalid);
      expect(await app.put('/api/another/q')).toMatchObject(invalid);
      expect(await app.put('q', 'x', { token: `nopool:${app.token}` })).toMatchObject({
        status: 404,
        json: { error: 'pool not found' },
      });
      expect(await app.put('q', 'x', { token: `default:${app.token}` })).toMatchObject({ status: 201 });
      expect(await app.put('q', 'x', { token: `:${app.token}` })).toMatchObject({ status: 201 });
      expect(await app.put(`q?token=${app.token}`, 'x', { token: null })).toMatchObject({ status: 201 });
      expect(await app.put(`q?token=${app.token}`, 'x', { token: 'bad' })).toMatchObject(invalid);
      expect(await app.put('q?token=bad')).toMatchObject({ status: 201 });
      expect(
        await app.put('q', 'x', { token: null, headers: { Authorization: `Bearer ${app.token}` } }),
      ).toMatchObject(missing);
      expect(await app.get('q/size', { token: null })).toMatchObject(missing);
      expect(await app.get('q/deadletter/size', { token: null })).toMatchObject(missing);
    });

    it('gives every answer an X-Request-Id of its own', async () => {
      const answers = await Promise.all([
        app.put('q'),
        app.get('q'),
        app.get('none'),
        app.delete('q/job/x'),
        app.put('q?ttl=x'),
        app.get('/nope'),
        app.get('/healthz'),
        app.get('/readyz'),
        app.admin('GET', '/version'),
        app.admin('GET', '/nope'),
        app.admin('GET', '/healthz'),
      ]);
      const ids = answers.map(({ headers }) => headers['x-request-id']);
      for (const id of ids) expect(id).toMatch(ULID);
      expect(new Set(ids).size).toBe(ids.length);
    });

    it('answers the size calls without a token if lmstfy.public_sizes is set', async () => {
      const open = await TestApp.start({ PUMPHOUSE_LMSTFY__PUBLIC_SIZES: 'true' });
      try {
        await open.publish('q');
        expect(await open.get('q/size', { token: null })).toMatchObject({ status: 200, json: { size: 1 } });
        expect(await open.get('q/deadletter/size', { token: null })).toMatchObject({
          status: 200,
          json: { size: 0 },
        });
        expect(await open.get('q/size', { token: 'nopool:x' })).toMatchObject({ status: 404 });
        expect(await open.get('q/peek', { token: null })).toMatchObject({ status: 401 });
      } finally {
        await open.stop();
      }
    });
  });
});

describe('bad input', () => {
  /** What has been used against HTTP servers: two readers of the same bytes must not see different requests in them. */
  describe('malformed requests', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await TestApp.start({ PUMPHOUSE_SERVER__REQUEST_TIMEOUT_MS: '2500' });
    });
    afterAll(() => app.stop());

    const put = (queue: string, ...lines: readonly string[]): string =>
      [
        `PUT /api/${app.namespace}/${queue} HTTP/1.1`,
        'Host: x',
        `X-Token: ${app.token}`,
        ...lines,
        '',
        '',
      ].join('\r\n');
    const get = (path: string, ...lines: readonly string[]): string =>
      [`GET ${path} HTTP/1.1`, 'Host: x', `X-Token: ${app.token}`, ...lines, '', ''].join('\r\n');
    const last = (): string => get('/healthz', 'Connection: close');

    /** The statuses of all answers to some bytes, in order; and `open` if the server leaves the connection so. */
    const statuses = async (bytes: string): Promise<string> => {
      const connection = await app.open();
      connection.write(Buffer.from(bytes, 'latin1'));
      const end = await Promise.race([connection.untilClosed(), sleep(5_000).then(() => null)]);
      connection.cut();
      const answers = [...connection.received.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status);
      return [...answers, ...(end === null ? ['open'] : [])].join(' ');
    };
    const stored = async (queue: string): Promise<unknown> => (await app.get(`${queue}/size`)).json;

    const inner = (): string => put('smuggled', 'Content-Length: 1') + 'x';
    const CHUNKED = 'Transfer-Encoding: chunked';

    it.each<[string, () => string, string]>([
      ['both framings', () => put('q', 'Content-Length: 5', CHUNKED) + '0\r\n\r\n' + inner(), '400'],
      [
        'both framings, the other way round',
        () => put('q', CHUNKED, 'Content-Length: 200') + '0\r\n\r\n' + inner(),
        '400',
      ],
      ['two lengths', () => put('q', 'Content-Length: 0', 'Content-Length: 200') + inner(), '400'],
      ['two equal lengths', () => put('q', 'Content-Length: 0', 'Content-Length: 0') + inner(), '400'],
      ['a list of lengths', () => put('q', 'Content-Length: 0, 200') + inner(), '400'],
      ['a length with a sign', () => put('q', 'Content-Length: +0') + inner(), '400'],
      ['a length below nothing', () => put('q', 'Content-Length: -1') + inner(), '400'],
      ['a length in hex', () => put('q', 'Content-Length: 0x0') + inner(), '400'],
      ['a length beyond numbers', () => put('q', 'Content-Length: 99999999999999999999') + inner(), '400'],
      ['no length', () => put('q', 'Content-Length: ') + inner(), '400'],
      ['chunks that are not last', () => put('q', `${CHUNKED}, identity`) + '0\r\n\r\n' + inner(), '400'],
      [
        'a coding that Node does not decode',
        () => put('q', 'Transfer-Encoding: gzip, chunked') + '0\r\n\r\n' + last(),
        '501',
      ],
      [
        'the same in two headers and another case',
        () =>
          put('q', 'Transfer-Encoding: GZip', 'Transfer-Encoding: Chunked') + '1\r\nx\r\n0\r\n\r\n' + last(),
        '501',
      ],
      [
        'the same by the router',
        () => put('%71', 'Transfer-Encoding: deflate,chunked') + '1\r\nx\r\n0\r\n\r\n' + last(),
        '501',
      ],
      ['a coding without chunks', () => put('q', 'Transfer-Encoding: gzip') + inner(), '400'],
      [
        'a list of codings with an empty element',
        () => put('q', 'Transfer-Encoding: , chunked') + '1\r\nx\r\n0\r\n\r\n' + last(),
        '201 200',
      ],
      ['another coding', () => put('q', 'Transfer-Encoding: xchunked') + '0\r\n\r\n' + inner(), '400'],
      [
        'a coding after a tab',
        () => put('q', 'Transfer-Encoding:\x0bchunked') + '0\r\n\r\n' + inner(),
        '400',
      ],
      [
        'a blank before the colon',
        () => put('q', 'Transfer-Encoding : chunked') + '0\r\n\r\n' + inner(),
        '400',
      ],
      [
        'a folded line',
        () => put('q', 'X-A: b', ' Transfer-Encoding: chunked') + '0\r\n\r\n' + inner(),
        '400',
      ],
      [
        'a chunk that is too large for numbers',
        () => put('q', CHUNKED) + 'fffffffffffffffff\r\nx' + inner(),
        '400',
      ],
      ['a chunk below nothing', () => put('q', CHUNKED) + '-1\r\nx\r\n' + inner(), '400'],
      [
        'a chunk that is longer than it says',
        () => put('q', CHUNKED) + '1\r\nxx\r\n0\r\n\r\n' + inner(),
        '400',
      ],
      ['a chunk that ends with a bare line feed', () => put('q', CHUNKED) + '1\nx\n0\n\n' + inner(), '400'],
      ['bare line feeds', () => `PUT /api/${app.namespace}/q HTTP/1.1\nHost: x\n\n${inner()}`, '400'],
      ['bare carriage returns', () => `PUT /api/${app.namespace}/q HTTP/1.1\rHost: x\r\r${inner()}`, '400'],
      ['a NUL in a value', () => get('/healthz', 'X-A: b\0c') + inner(), '400'],
      ['a NUL in a name', () => get('/healthz', 'X\0A: b') + inner(), '400'],
      ['a NUL in the address', () => get('/health\0z') + inner(), '400'],
      ['a blank in the address', () => get('/health z') + inner(), '400'],
      ['a line without a colon', () => get('/healthz', 'X-A') + inner(), '400'],
      ['an unknown method', () => 'SMUGGLE / HTTP/1.1\r\nHost: x\r\n\r\n' + inner(), '400'],
      ['a later version', () => 'GET / HTTP/9.9\r\nHost: x\r\n\r\n' + inner(), '400'],
      ['HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + inner(), '400'],
      ['TLS', () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03' + inner(), '400'],
      ['a tunnel', () => 'CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n' + inner(), ''],
      [
        'a change of protocol',
        () => get('/healthz', 'Connection: upgrade', 'Upgrade: websocket') + inner(),
        '200',
      ],
      [
        'a change of protocol on the way',
        () => put('q', 'Connection: upgrade', 'Upgrade: h2c') + inner(),
        '201',
      ],
      [
        'chunks with extensions',
        () => put('q', CHUNKED) + '1;a=b;c="d"\r\nx\r\n0\r\n\r\n' + last(),
        '201 200',
      ],
      [
        'chunks with trailers',
        () => put('q', CHUNKED) + '1\r\nx\r\n0\r\nX-Token: other\r\n\r\n' + last(),
        '201 200',
      ],
      ['a body that ends early', () => put('q', 'Content-Length: 500') + inner(), '408'],
      ['a whole address', () => get('http://elsewhere/healthz', 'Connection: close'), '200'],
      ['an asterisk', () => 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', '204'],
      ['two hosts', () => get('/healthz', 'Host: y', 'Connection: close'), '400'],
      [
        '3,000 headers',
        () => get('/healthz', ...Array<string>(3_000).fill('A: b'), 'Connection: close'),
        '431',
      ],
    ])(
      'get the expected answers, hide no second request and log no error: %s',
      async (_what, bytes, expected) => {
        expect(await statuses(bytes())).toBe(expected);
        expect(await stored('smuggled')).toMatchObject({ size: 0 });
        expect(app.log.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([]);
      },
    );

    it.each([
      ['a whole URL', 'http://some.example/v1/NAMESPACE/jobs/none/ack', 'job_not_found'],
      ['a whole URL of no call', 'http://some.example/v1/NAMESPACE/jobs/none/nothing', 'not_found'],
      ['an escaped letter', '/%761/NAMESPACE/jobs/none/ack', 'job_not_found'],
    ])(
      'get problem details from the native API, whatever the form of their URL: %s',
      async (_form, url, code) => {
        const connection = await app.open();
        const headers = { 'X-Token': app.token, 'Content-Length': '11' };
        connection.write(`${head('POST', url.replace('NAMESPACE', app.namespace), headers)}{"lease":1}`);
        expect(await connection.until('"type":"about:blank"')).toContain(`"code":"${code}"`);
        connection.cut();
      },
    );

    it('are refused if they consume from more than 1,000 queues', async () => {
      const queues = (count: number): string =>
        Array.from({ length: count }, (_, i) => `q${String(i)}`).join();
      expect(await app.get(queues(1_000))).toMatchObject({ status: 404 });
      expect(await app.get(queues(1_001))).toMatchObject({
        status: 400,
        json: { error: 'invalid queue name(s)' },
      });
    });

    it('are not read behind a request with Connection: close', async () => {
      const connection = await app.open();
      connection.write(put('closing', 'Content-Length: 1', 'Connection: close') + 'x' + inner());

      expect(await connection.untilClosed()).toMatch(/^HTTP\/1.1 201 /);
      expect(await stored('smuggled')).toMatchObject({ size: 0 });
    });

    it('do not hide, behind a long poll, that the client disconnected', async () => {
      const connection = await app.open();
      connection.write(get(`/api/${app.namespace}/closing-poll?timeout=20`, 'Connection: close'));
      connection.write(inner());
      const waiters = async (): Promise<string> => (await app.admin('GET', '/metrics')).text;
      await waitFor(async () => (await waiters()).includes('pumphouse_waiters{pool="default"} 1'));
      connection.socket.end();

      await waitFor(async () => (await waiters()).includes('pumphouse_waiters{pool="default"} 0'));
      connection.cut();
    });

    it('do not change, behind a publish, its answer to 400', async () => {
      // The token is known: the publish does not wait for it when the connection ends.
      await app.get('behind');
      const connection = await app.open();
      connection.write(put('behind', 'Content-Length: 1') + 'x' + 'garbage\r\n\r\n');
      const answer = await connection.untilClosed();

      await waitFor(async () => JSON.stringify(await stored('behind')).includes('"size":1'));
      expect(answer).not.toContain('HTTP/1.1 400');
    });

    it('do not let a consume before them keep its job', async () => {
      await app.publish('once?tries=1');
      const connection = await app.open();
      connection.write(get(`/api/${app.namespace}/once`) + 'garbage\r\n\r\n');
      expect(await connection.untilClosed()).not.toContain('HTTP/1.1 400');

      await waitFor(async () => (await app.get('once')).status === 200);
    });

    it.each(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf'])(
      'are answered as usual if a name is a property of JavaScript objects: %s',
      async (name) => {
        const isLegal = !name.startsWith('_');
        expect((await app.put(name)).status).toBe(isLegal ? 201 : 400);
        expect((await app.get(`q-none?${name}=1&ttr=5`)).status).toBe(404);
        expect((await app.get(`/api/${name}/q/size`)).status).toBe(401);
        expect((await app.get(`/v1/${name}/acks`)).status).toBe(405);
        expect((await app.get('q-none', { token: `${name}:x` })).status).toBe(404);
        if (!isLegal) return;
        expect(await app.get(name)).toMatchObject({ status: 200, json: { queue: name, data: 'aGVsbG8=' } });
      },
    );

    it('store attributes named as properties of JavaScript objects', async () => {
      const request = head('PUT', `/api/${app.namespace}/attributes`, {
        'X-Token': app.token,
        'Enable-Job-Version': 'YES',
        'Job-Attr-__proto__': 'a',
        'Job-Attr-constructor': 'b',
        Connection: 'close',
      });
      expect(await app.raw(request)).toContain('201 Created');
      const { text } = await app.get('attributes');

      expect(text).toContain('"attributes":{"__proto__":"a","constructor":"b"}');
    });

    it.each<[string, string, number, RegExp]>([
      ['nesting', '['.repeat(200_000) + ']'.repeat(200_000), 400, /array of objects/],
      ['open brackets', '['.repeat(1_000_000), 400, /array of objects/],
      ['nested objects', '{"a":'.repeat(200_000), 400, /array of objects/],
      ['elements', `[${'0,'.repeat(2_000_000)}0]`, 400, /too many jobs/],
      ['keys', `[{${Array.from({ length: 5_000 }, (_, i) => `"k${String(i)}":0`).join()}}]`, 201, /job_ids/],
      ['a long string', `["${'\\u0041'.repeat(100_000)}"]`, 413, /job too large/],
      ['a long number', `[${'9'.repeat(60_000)}]`, 201, /job_ids/],
    ])(
      'are answered with 201, 400 or 413 if a bulk publish has much of: %s',
      async (_what, body, status, text) => {
        const answer = await app.put('bulk/bulk', body);

        expect(answer.status).toBe(status);
        expect(answer.text).toMatch(text);
        expect(await app.get('/healthz')).toMatchObject({ status: 200 });
      },
    );

    it.each<[string, string]>([
      ['nesting', `{"acks":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
      ['open brackets', '['.repeat(500_000)],
      ['a foreign prototype', '{"__proto__":{"acks":[]}}'],
      ['an item with a foreign prototype', '{"acks":[{"__proto__":{"queue":"q","id":"x"}}]}'],
      ['a list that is none', '{"acks":{"length":1e9}}'],
      ['too many', `{"acks":[${Array<string>(1_001).fill('{"queue":"q","id":"x"}').join()}]}`],
    ])('are refused in a batch acknowledgement: %s', async (_what, body) => {
      const answer = await app.call('POST', `/v1/${app.namespace}/acks`, { body });

      expect(answer).toMatchObject({ status: 400, json: { code: 'invalid_argument' } });
      expect(Object.keys(Object.prototype)).toEqual([]);
    });
  });
});

describe('HTTP connections', () => {
  /** What lmstfy's clients do and rely on. */
  describe('lmstfy clients', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await TestApp.start();
    });
    afterAll(() => app.stop());

    const auth = (): Record<string, string> => ({ 'X-Token': app.token });

    it('use one connection for all calls, also after a 404', async () => {
      const connection = await app.open();
      const queue = `/api/${app.namespace}/keep`;
      connection.write(`${head('PUT', queue, { ...auth(), 'Content-Length': '2' })}hi`);
      await connection.until('"msg":"published"}');
      connection.write(head('GET', queue, auth()));
      await connection.until('"msg":"new job"');
      connection.write(head('GET', `${queue}?timeout=1`, auth()));
      await connection.until('no job available');
      connection.write(head('GET', '/nope', auth()));
      await connection.until('api not found');
      connection.write(head('GET', `${queue}/size`, auth()));
      const all = await connection.until('"size":0');
      expect(all).not.toContain('Connection: close');
      connection.cut();
    });

    it('send requests before the answer to the first, and get all answers', async () => {
      const connection = await app.open();
      const queue = `/api/${app.namespace}/pipe`;
      const publish = (body: string): string =>
        head('PUT', queue, { ...auth(), 'Content-Length': '1' }) + body;
      connection.write(publish('1') + publish('2') + head('GET', `${queue}?count=2`, auth()));
      const all = await connection.until('"msg":"new job"', 2);
      expect(all.match(/HTTP\/1.1 20[01]/g)).toHaveLength(3);
      connection.cut();
    });

    it.each([1, 2, 33, 200])(
      'pipeline %i publishes and a size call, which are served in order',
      async (many) => {
        const queue = `/api/${app.namespace}/pipe-${String(many)}`;
        const publishes = Array.from({ length: many }, (_, i) => {
          const body = String(i);
          return head('PUT', `${queue}?tries=2`, { ...auth(), 'Content-Length': String(body.length) }) + body;
        });
        const last = head('GET', `${queue}/size`, { ...auth(), Connection: 'close' });
        const answers = await app.raw(publishes.join('') + last);

        expect(answers.match(/HTTP\/1.1 201/g)).toHaveLength(many);
        expect(answers).toContain(`"size":${String(many)}`);
        const { json } = await app.get(`pipe-${String(many)}?count=100`);
        const bodies = (json as { data: string }[]).map(({ data }) =>
          Number(Buffer.from(data, 'base64').toString()),
        );
        expect(bodies).toEqual(Array.from({ length: Math.min(many, 100) }, (_, i) => i));
      },
    );

    it('pipeline a publish, a destroy of the queue and a size call, which are served in order', async () => {
      const queue = `/api/${app.namespace}/undone`;
      const publish = `${head('PUT', queue, { ...auth(), 'Content-Length': '1' })}x`;
      for (let round = 0; round < 10; round++) {
        const connection = await app.open();
        connection.write(`${publish}${head('DELETE', queue, auth())}${head('GET', `${queue}/size`, auth())}`);
        expect(await connection.until('"size":')).toContain('"size":0');
        connection.cut();
      }
    });

    it('pipeline a publish behind a long poll, which is answered at once', async () => {
      const queue = `/api/${app.namespace}/behind-a-poll`;
      const connection = await app.open();
      connection.write(head('GET', `${queue}?timeout=60`, auth()));
      connection.write(`${head('PUT', queue, { ...auth(), 'Content-Length': '1' })}x`);
      connection.write(head('GET', queue, auth()));
      const answers = await connection.until('"msg":"new job"');

      expect(answers).toMatch(/404 [^]*no job available[^]* 201 [^]* 200 /);
      connection.cut();
    });

    it('pipeline safe requests, which are served at the same time', async () => {
      const connection = await app.open();
      connection.write(head('GET', `/v1/${app.namespace}/events`, auth()).repeat(2));
      await waitFor(async () =>
        (await app.admin('GET', '/metrics')).text.includes('pumphouse_event_streams 2'),
      );
      connection.cut();
    });

    it('pipeline a publish behind a stream of events, which ends with its connection', async () => {
      const connection = await app.open();
      const queue = 'behind-a-stream';
      connection.write(head('GET', `/v1/${app.namespace}/events`, auth()));
      await connection.until(' 200 OK');
      connection.write(
        `${head('PUT', `/api/${app.namespace}/${queue}`, { ...auth(), 'Content-Length': '1' })}x`,
      );

      await connection.until('the server ends the stream');
      expect(await connection.untilClosed()).not.toContain(' 201 Created');
      expect(await app.get(`${queue}/size`)).toMatchObject({ json: { size: 0 } });
    });

    it.each(['/api/NS/QUEUE?ttr=60', '/%61pi/NS/QUEUE?ttr=60', 'http://host/api/NS/QUEUE'])(
      'pipeline a consume and the size, in their order: %s',
      async (path) => {
        for (let round = 0; round < 10; round++) {
          const queue = `consumed-${String(round)}`;
          await app.publish(queue);
          const url = path.replace('NS', app.namespace).replace('QUEUE', queue);
          const size = head('GET', `/api/${app.namespace}/${queue}/size`, { ...auth(), Connection: 'close' });
          const answers = await app.raw(head('GET', url, auth()) + size);
          expect(answers).toMatch(/ 200 [^]*"msg":"new job"[^]* 200 [^]*"size":0/);
          await app.delete(queue);
        }
      },
    );

    it('get no answer to a request behind one with Connection: close', async () => {
      const queue = `/api/${app.namespace}/after-the-end`;
      const put = (connection: string): string =>
        `${head('PUT', queue, { ...auth(), 'Content-Length': '1', Connection: connection })}x`;
      const answers = await app.raw(put('keep-alive') + put('close') + put('close'));

      expect(answers.match(/HTTP\/1.1 201/g)).toHaveLength(2);
      expect(await app.get('after-the-end/size')).toMatchObject({ json: { size: 2 } });
    });

    it('are refused with two X-Token headers', async () => {
      const queue = `/api/${app.namespace}/two-tokens`;
      for (const second of [app.token, 'another']) {
        const tokens = `X-Token: ${app.token}\r\nX-Token: ${second}`;
        const answer = await app.raw(
          `PUT ${queue} HTTP/1.1\r\nHost: h\r\n${tokens}\r\nConnection: close\r\n\r\n`,
        );
        expect(answer).toMatch(/^HTTP\/1.1 401 [^]*\{"error":"invalid token"\}$/);
      }
    });

    it('get all ready jobs when the first arrives, up to their count', async () => {
      const waiting = app.get('many?count=3&timeout=20');
      await waitFor(async () =>
        (await app.admin('GET', '/metrics')).text.includes('pumphouse_waiters{pool="default"} 1'),
      );
      await app.put('many/bulk', '[1,2,3,4]');

      expect((await waiting).json).toHaveLength(3);
      expect((await app.get('many?count=3')).json).toHaveLength(1);
    });

    it('send freeze_tries, which has no effect', async () => {
      await app.publish('freeze?tries=2');
      expect(await app.get('freeze?ttr=1&freeze_tries=true')).toMatchObject({ json: { remain_tries: 1 } });
      expect(await app.get('freeze?ttr=1&freeze_tries=false&timeout=3')).toMatchObject({
        json: { remain_tries: 0 },
      });
    });

    it('publish again after a 503 and a broken connection of a proxy, and one job is stored', async () => {
      const front = await flaky(app.port);
      const agent = new RetryAgent(new Agent(), {
        maxRetries: 3,
        minTimeout: 10,
        statusCodes: [500, 502, 503],
        methods: ['PUT'],
      });
      try {
        const { statusCode, body } = await request(
          `http://127.0.0.1:${String((front.address() as AddressInfo).port)}/api/${app.namespace}/retry`,
          { method: 'PUT', headers: auth(), body: 'x', dispatcher: agent },
        );
        expect(statusCode).toBe(201);
        await body.dump();
        expect(await app.get('retry/size')).toMatchObject({ json: { size: 1 } });
      } finally {
        await agent.close();
        front.close();
      }
    });

    it('send their body in chunks', async () => {
      const connection = await app.open();
      connection.write(
        head('PUT', `/api/${app.namespace}/chunks`, { ...auth(), 'Transfer-Encoding': 'chunked' }) +
          '3\r\nabc\r\n',
      );
      connection.write('2\r\nde\r\n0\r\n\r\n');
      await connection.until('201 Created');
      connection.cut();
      expect(await app.get('chunks')).toMatchObject({
        json: { data: Buffer.from('abcde').toString('base64') },
      });
    });

    it('wait for 100 Continue before they send a body', async () => {
      const connection = await app.open();
      connection.write(
        head('PUT', `/api/${app.namespace}/expect`, {
          ...auth(),
          Expect: '100-continue',
          'Content-Length': '5',
        }),
      );
      await connection.until('HTTP/1.1 100 Continue');
      connection.write('hello');
      await connection.until('201 Created');
      connection.cut();
    });

    it('get 413 instead of 100 Continue for a body that is too large', async () => {
      const connection = await app.open();
      connection.write(
        head('PUT', `/api/${app.namespace}/expect`, {
          ...auth(),
          Expect: '100-continue',
          'Content-Length': '999999',
        }),
      );
      const all = await connection.untilClosed();
      expect(all).toContain('HTTP/1.1 413');
      expect(all).toContain('Connection: close');
      expect(all).not.toContain('100 Continue');
    });
  });

  /** A front that answers the first try with 503, breaks off the second, and passes the rest on. */
  async function flaky(port: number): Promise<Server> {
    let tries = 0;
    const front = createServer((incoming, outgoing) => {
      tries += 1;
      if (tries === 1) {
        outgoing.writeHead(503).end();
        return;
      }
      if (tries === 2) {
        incoming.socket.destroy();
        return;
      }
      void (async () => {
        const chunks: Buffer[] = [];
        for await (const chunk of incoming) chunks.push(chunk as Buffer);
        const { statusCode, body } = await request(`http://127.0.0.1:${String(port)}${incoming.url ?? ''}`, {
          method: 'PUT',
          headers: { 'x-token': incoming.headers['x-token'] as string },
          body: Buffer.concat(chunks),
        });
        outgoing.writeHead(statusCode).end(await body.text());
      })();
    });
    await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
    return front;
  }
});

describe("lmstfy's API", () => {
  /** What lmstfy does wrong, seen through HTTP; the numbers are those of its list of defects. */
  describe('lmstfy defects that this server does not have', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await TestApp.start();
    });
    afterAll(() => app.stop());
    afterEach(() => jest.restoreAllMocks());

    const size = async (queue: string): Promise<unknown> =>
      ((await app.get(`${queue}/size`)).json as { size: number }).size;

    it('D2: a client that disconnected gets no job', async () => {
      const connection = await app.open();
      connection.write(
        `GET /api/${app.namespace}/gone?timeout=8&ttr=1 HTTP/1.1\r\nHost: x\r\nX-Token: ${app.token}\r\n\r\n`,
      );
      await sleep(50);
      connection.cut();
      await sleep(50);
      const id = await app.publish('gone?tries=1');
      expect(await app.get('gone?timeout=1')).toMatchObject({ status: 200, json: { job_id: id } });
      expect(await app.get('gone/deadletter')).toMatchObject({ json: { deadletter_size: 0 } });
    });

    it('D3: a consume with the longest timeout waits, and gets a job that arrives', async () => {
      const answer = app.get('patient?timeout=4294967295&ttr=4294967295');
      await sleep(30);
      await app.publish('patient?ttl=4294967295');
      expect(await answer).toMatchObject({ status: 200, json: { ttl: 4_294_967_295 } });
    });

    it('D4: a consume skips an expired job and gets the next, with timeout=0 and with count=3', async () => {
      for (const [body, ttl] of [
        ['a', 60],
        ['b', 1],
        ['c', 60],
      ] as const)
        await app.publish(`hide?ttl=${String(ttl)}`, body);
      await app.publish('hide1?ttl=1');
      await app.publish('hide1?ttl=60', 'live');
      await sleep(1_100);
      expect(await app.get('hide1?timeout=0')).toMatchObject({ status: 200, json: { data: 'bGl2ZQ==' } });
      expect((await app.get('hide?count=3')).json).toMatchObject([{ data: 'YQ==' }, { data: 'Yw==' }]);
    });

    it('D9: a refused republish leaves the old job alone', async () => {
      const id = await app.publish('keep', 'keep me');
      expect(await app.put(`keep/job/${id}?tries=0`, 'new')).toMatchObject({ status: 400 });
      expect(await app.put(`keep/job/${id}?ttl=1&delay=2`, 'new')).toMatchObject({ status: 400 });
      expect(await app.put(`keep/job/${id}`, Buffer.alloc(65_536))).toMatchObject({ status: 413 });
      expect(await app.get(`keep/job/${id}`)).toMatchObject({ status: 200 });
      expect(await app.get('keep')).toMatchObject({ json: { job_id: id } });
    });

    it('D10: a job with a delay of 1 s is consumed after 1 s at the earliest', async () => {
      const [sent, time] = [performance.now(), new OwnTime()];
      await app.publish('early?delay=1');
      expect(await app.get('early?timeout=3')).toMatchObject({ status: 200 });
      const waited = performance.now() - sent;
      expect(waited).toBeGreaterThanOrEqual(1_000);
      expect(time.end()).toBeLessThan(2_500);
    });

    it('D12: a refused bulk publish publishes nothing', async () => {
      const tooLarge = JSON.stringify(['fine', 'fine', 'a'.repeat(65_535)]);
      expect(await app.put('bulk/bulk', tooLarge)).toMatchObject({ status: 413 });
      expect(await app.put('bulk/bulk', '["fine", nonsense]')).toMatchObject({ status: 400 });
      expect(await size('bulk')).toBe(0);
    });

    it('D13: a failed consume answers 503 with Retry-After, not "no job"', async () => {
      broken(app, 'lease');
      for (const query of ['', '?count=10', '?timeout=1']) {
        const { status, json, headers } = await app.get(`any${query}`);
        expect({ status, json }).toEqual({ status: 503, json: { error: 'service unavailable' } });
        expect(headers['retry-after']).toBe('1');
      }
    });

    it('D14: a failed peek answers 503', async () => {
      broken(app, 'peekJob');
      expect(await app.get('any/job/01KAK1N5VSJH40000000000000')).toMatchObject({
        status: 503,
        json: { error: 'service unavailable' },
      });
    });

    it('D16: a stop of the server answers long polls at once', async () => {
      const other = await TestApp.start();
      const { port } = other;
      const poll = other.get('long?timeout=600');
      await sleep(50);
      const time = new OwnTime();
      await other.server.stop();
      expect(time.end()).toBeLessThan(2_000);
      expect(await poll).toMatchObject({
        status: 404,
        json: { msg: 'no job available' },
        headers: { connection: 'close' },
      });
      await expect(open(port)).rejects.toThrow();
    });

    it('D1, D11: an answered publish is stored, and a leased job is always visible', async () => {
      const id = await app.publish('sight?tries=2');
      await app.get('sight?ttr=1');
      expect(await app.get(`sight/job/${id}`)).toMatchObject({ status: 200 });
      expect(await app.get('sight?timeout=3')).toMatchObject({ json: { job_id: id } });
    });

    it('errors have different codes for a full Redis, a full disk and a bug', async () => {
      const failures = [
        [new QueueError('store_full', 'x'), 507, { error: 'store is full' }],
        [new QueueError('disk_full', 'x'), 503, { code: 'disk_full', error: 'service unavailable' }],
        [new Error('secret inside'), 500, { error: 'internal error' }],
      ] as const;
      for (const [error, status, json] of failures) {
        broken(app, 'publish', error);
        const answer = await app.put('any');
        expect(answer).toMatchObject({ status, json });
        jest.restoreAllMocks();
      }
      const lines = app.log.filter(({ message }) => message === 'request failed');
      expect(lines).toHaveLength(1);
      expect(lines[0]?.details).toHaveProperty('request_id');
      await waitFor(() => true);
    });
  });

  type Method = 'lease' | 'peekJob' | 'publish';

  /** Makes one call of the API's engine fail. */
  function broken(
    app: TestApp,
    method: Method,
    error: Error = new QueueError('pool_unavailable', 'away'),
  ): void {
    const engine = app.server.api.app.get(Engines, { strict: false }).of('default');
    const { jobs } = engine;
    if (method === 'peekJob') jest.spyOn(jobs, method).mockRejectedValue(error);
    else jest.spyOn(engine, method).mockRejectedValue(error);
  }

  function open(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.destroy();
        resolve();
      });
      socket.once('error', reject);
    });
  }
});
