import { setTimeout as sleep } from 'node:timers/promises';
import { head, TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';

/** What has been used against HTTP servers: two readers of the same bytes must not see different requests in them. */
describe('requests that are not what they seem', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start({ PUMPHOUSE_SERVER__REQUEST_TIMEOUT_MS: '1000' });
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
    ['another coding', () => put('q', 'Transfer-Encoding: xchunked') + '0\r\n\r\n' + inner(), '400'],
    ['a coding after a tab', () => put('q', 'Transfer-Encoding:\x0bchunked') + '0\r\n\r\n' + inner(), '400'],
    [
      'a blank before the colon',
      () => put('q', 'Transfer-Encoding : chunked') + '0\r\n\r\n' + inner(),
      '400',
    ],
    ['a folded line', () => put('q', 'X-A: b', ' Transfer-Encoding: chunked') + '0\r\n\r\n' + inner(), '400'],
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
    ['chunks with extensions', () => put('q', CHUNKED) + '1;a=b;c="d"\r\nx\r\n0\r\n\r\n' + last(), '201 200'],
    [
      'chunks with trailers',
      () => put('q', CHUNKED) + '1\r\nx\r\n0\r\nX-Token: other\r\n\r\n' + last(),
      '201 200',
    ],
    ['a body that ends early', () => put('q', 'Content-Length: 500') + inner(), '408'],
    ['a whole address', () => get('http://elsewhere/healthz', 'Connection: close'), '200'],
    ['an asterisk', () => 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', '404'],
    ['two hosts', () => get('/healthz', 'Host: y', 'Connection: close'), '200'],
    [
      '3,000 headers',
      () => get('/healthz', ...Array<string>(3_000).fill('A: b'), 'Connection: close'),
      '200',
    ],
  ])('%s', async (_what, bytes, expected) => {
    expect(await statuses(bytes())).toBe(expected);
    expect(await stored('smuggled')).toMatchObject({ size: 0 });
    expect(app.log.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([]);
  });

  it('bytes behind the last request of a connection do not cost it its answer', async () => {
    const connection = await app.open();
    connection.write(put('closing', 'Content-Length: 1', 'Connection: close') + 'x' + inner());

    expect(await connection.untilClosed()).toMatch(/^HTTP\/1.1 201 /);
    expect(await stored('smuggled')).toMatchObject({ size: 0 });
  });

  it('bytes behind a long poll that is the last do not hide that its client has gone', async () => {
    const connection = await app.open();
    connection.write(get(`/api/${app.namespace}/closing-poll?timeout=20`, 'Connection: close'));
    connection.write(inner());
    const waiters = async (): Promise<string> => (await app.admin('GET', '/metrics')).text;
    await waitFor(async () => (await waiters()).includes('pumphouse_waiters{pool="default"} 1'));
    connection.socket.end();

    await waitFor(async () => (await waiters()).includes('pumphouse_waiters{pool="default"} 0'));
    connection.cut();
  });

  it('a publish with garbage behind it is not told that it was refused', async () => {
    const connection = await app.open();
    connection.write(put('behind', 'Content-Length: 1') + 'x' + 'garbage\r\n\r\n');
    const answer = await connection.untilClosed();

    await waitFor(async () => JSON.stringify(await stored('behind')).includes('"size":1'));
    expect(answer).not.toContain('HTTP/1.1 400');
  });

  it('a consume with garbage behind it has taken nothing', async () => {
    await app.publish('once?tries=1');
    const connection = await app.open();
    connection.write(get(`/api/${app.namespace}/once`) + 'garbage\r\n\r\n');
    expect(await connection.untilClosed()).not.toContain('HTTP/1.1 400');

    await waitFor(async () => (await app.get('once')).status === 200);
  });

  it.each(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf'])(
    'a name that means something to JavaScript is a name: %s',
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

  it('attributes of such names are attributes', async () => {
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
  ])('a bulk publish bears %s', async (_what, body, status, text) => {
    const answer = await app.put('bulk/bulk', body);

    expect(answer.status).toBe(status);
    expect(answer.text).toMatch(text);
    expect(await app.get('/healthz')).toMatchObject({ status: 200 });
  });

  it.each<[string, string]>([
    ['nesting', `{"acks":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ['open brackets', '['.repeat(500_000)],
    ['a foreign prototype', '{"__proto__":{"acks":[]}}'],
    ['an item with a foreign prototype', '{"acks":[{"__proto__":{"queue":"q","id":"x"}}]}'],
    ['a list that is none', '{"acks":{"length":1e9}}'],
    ['too many', `{"acks":[${Array<string>(1_001).fill('{"queue":"q","id":"x"}').join()}]}`],
  ])('a batch acknowledgement refuses %s', async (_what, body) => {
    const answer = await app.call('POST', `/v1/${app.namespace}/acks`, { body });

    expect(answer).toMatchObject({ status: 400, json: { code: 'invalid_argument' } });
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
});
