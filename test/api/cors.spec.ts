import { fetchTransport } from '../../packages/client/src/transport/fetch-transport.js';
import { Pumphouse } from '../../packages/client/src/pumphouse.js';
import type { PumphouseError } from '../../packages/client/src/errors.js';
import type { Transport } from '../../packages/client/src/transport/transport.js';
import { head, TestApp } from '../support/app.js';
import { startRedis, waitFor } from '../support/redis.js';
import { EventClient } from '../support/sse.js';

const ONE = 'https://app.example.com';
const OTHER = 'http://localhost:5173';
const STRANGER = 'https://evil.example';
const ASKS = { 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'x-token' };

/** The head of an answer, without what differs from one to the next. */
async function sent(app: TestApp, request: string): Promise<string> {
  const text = await app.raw(request);
  const top = text.slice(0, text.indexOf('\r\n\r\n'));
  return top.replace(/^(Date|X-Request-Id|Connection|Keep-Alive): .*\r?\n?/gm, '');
}

/** Names and values of the headers of cross-origin requests, and `Vary`. */
function corsOf(top: string): Record<string, string> {
  const found = [...top.matchAll(/^(Vary|Access-Control-[\w-]+): (.*?)\r?$/gm)];
  return Object.fromEntries(found.map(([, name = '', value = '']) => [name, value]));
}

function request(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body: string | null = null,
): string {
  const length: Record<string, string> = body === null ? {} : { 'Content-Length': String(body.length) };
  return head(method, path, { Connection: 'close', ...headers, ...length }) + (body ?? '');
}

describe('web pages of listed origins', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start({
      PUMPHOUSE_SERVER__CORS_ORIGINS: `${ONE},${OTHER}`,
      PUMPHOUSE_EVENTS__MAX_STREAMS: '4',
    });
  });
  afterAll(() => app.stop());

  const path = (call: string): string => `/v1/${app.namespace}/${call}`;
  const allowed = (origin: string): Record<string, string> => ({
    Vary: 'Origin',
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Expose-Headers':
      'X-Request-Id, Retry-After, X-Job-ID, Location, Allow, Idempotency-Replayed',
  });

  it.each([ONE, OTHER])('get an answer to a preflight without a token: %s', async (Origin) => {
    for (const url of [path('jobs'), path('events'), path('%6aobs/x'), '/v1/other/no-such-call']) {
      const top = await sent(app, request('OPTIONS', url, { Origin, ...ASKS }));
      expect(top).toMatch(/^HTTP\/1\.1 204 No Content\r\n/);
      expect(corsOf(top)).toEqual({
        Vary: 'Origin',
        'Access-Control-Allow-Origin': Origin,
        'Access-Control-Allow-Methods': 'GET, POST, PUT, PATCH, DELETE',
        'Access-Control-Allow-Headers':
          'X-Token, Authorization, Content-Type, Idempotency-Key, Idempotency-TTL-Ms, X-Durability, X-Job-ID, If-None-Match, Last-Event-ID',
        'Access-Control-Max-Age': '7200',
      });
    }
  });

  it('may send every header that the native API reads', async () => {
    const { json } = await app.get('/v1/openapi.json', { token: null });
    const names = [
      ...JSON.stringify(json).matchAll(/"in":"header","name":"([^"]+)"|"name":"([^"]+)","in":"header"/g),
    ];
    const read = new Set(names.map(([, one, other]) => (one ?? other ?? '').toLowerCase()));
    const top = await sent(app, request('OPTIONS', path('jobs'), { Origin: ONE, ...ASKS }));
    const may = corsOf(top)['Access-Control-Allow-Headers']!.toLowerCase().split(', ');

    expect([...read]).toEqual(expect.arrayContaining(['x-token', 'idempotency-key', 'last-event-id']));
    expect([...read].filter((name) => !may.includes(name))).toEqual([]);
  });

  it('may use every method of the native API', async () => {
    const { json } = await app.get('/v1/openapi.json', { token: null });
    const { paths } = json as { paths: Record<string, object> };
    const used = new Set(Object.values(paths).flatMap((item) => Object.keys(item)));
    used.delete('parameters');
    const top = await sent(app, request('OPTIONS', path('jobs'), { Origin: ONE, ...ASKS }));

    expect(corsOf(top)['Access-Control-Allow-Methods']!.toLowerCase().split(', ').sort()).toEqual(
      [...used].sort(),
    );
  });

  it.each([
    ['the fast path', 'jobs'],
    ['the router', '%6aobs'],
  ])('may read the answers and errors of %s', async (_, jobs) => {
    const body = '{"queue":"q","data":1}';
    const own = { Origin: ONE, 'X-Token': app.token };
    const calls: readonly [string, string][] = [
      ['201 Created', request('POST', path(jobs), own, body)],
      ['400 Bad Request', request('POST', path(jobs), own, '{"queue":1}')],
      ['401 Unauthorized', request('POST', path(jobs), { Origin: ONE }, body)],
      ['404 Not Found', request('GET', path(`${jobs}/none`), own)],
      ['405 Method Not Allowed', request('PATCH', path(jobs), own)],
      ['413 Payload Too Large', request('POST', path(jobs), own, 'x'.repeat(9_000_000))],
    ];
    for (const [status, bytes] of calls) {
      const top = await sent(app, bytes);
      expect(top.split('\r\n')[0]).toBe(`HTTP/1.1 ${status}`);
      expect(corsOf(top)).toEqual(allowed(ONE));
    }
  });

  it('may read the answers to an unknown call and to a URL that is too long', async () => {
    expect(corsOf(await sent(app, request('GET', '/v1/none', { Origin: OTHER })))).toEqual(allowed(OTHER));
    const top = await sent(app, request('GET', path(`jobs?tag=${'x'.repeat(140_000)}`), { Origin: OTHER }));
    expect(top).toMatch(/^HTTP\/1\.1 414 /);
    expect(corsOf(top)).toEqual(allowed(OTHER));
  });

  it('may read the stream of events, and its refusal', async () => {
    const stream = await EventClient.open(app.port, path('events'), app.token, { Origin: OTHER });
    await stream.begun();
    expect(corsOf(stream.received)).toEqual(allowed(OTHER));
    const refused = await EventClient.open(app.port, path('events'), 'wrong', { Origin: OTHER });
    expect(await refused.status()).toBe(401);
    expect(corsOf(refused.received)).toEqual(allowed(OTHER));
    for (const client of [stream, refused]) client.cut();
  });

  it.each([
    ['another site', STRANGER],
    ['a host name that begins with the listed one', `${ONE}.evil.example`],
    ['another port', `${ONE}:8443`],
    ['another protocol', ONE.replace('https', 'http')],
    ['an upper-case origin', ONE.toUpperCase()],
    ['two origins', `${ONE}, ${OTHER}`],
    ['a sandbox', 'null'],
    ['a star', '*'],
    ['nothing', ''],
  ])('do not include pages of %s, whose answers no page may read', async (_, Origin) => {
    const answered = await sent(
      app,
      request('POST', path('jobs'), { Origin, 'X-Token': app.token }, '{"queue":"q"}'),
    );
    expect(answered).toMatch(/^HTTP\/1\.1 201 /);
    expect(corsOf(answered)).toEqual({ Vary: 'Origin' });
    const preflight = await sent(app, request('OPTIONS', path('jobs'), { Origin, ...ASKS }));
    expect(preflight).toMatch(/^HTTP\/1\.1 405 /);
    expect(corsOf(preflight)).toEqual({ Vary: 'Origin' });
  });

  it('make answers to programs have Vary: Origin for caches', async () => {
    const top = await sent(app, request('POST', path('jobs'), { 'X-Token': app.token }, '{"queue":"q"}'));
    expect(corsOf(top)).toEqual({ Vary: 'Origin' });
  });

  it('change no answer to OPTIONS requests that are not valid preflights', async () => {
    const none = await sent(app, request('OPTIONS', path('jobs'), { Origin: ONE }));
    expect(none).toMatch(/^HTTP\/1\.1 405 /);
    const body = await sent(app, request('OPTIONS', path('jobs'), { Origin: ONE, ...ASKS }, 'a body'));
    expect(body).toMatch(/^HTTP\/1\.1 405 /);
    const long = await sent(app, request('OPTIONS', path('x'.repeat(140_000)), { Origin: ONE, ...ASKS }));
    expect(long).toMatch(/^HTTP\/1\.1 414 /);
    const connection = await app.open();
    connection.write(
      `OPTIONS ${path('jobs')} HTTP/1.1\r\nOrigin: ${ONE}\r\nAccess-Control-Request-Method: GET\r\n\r\n`,
    );
    await connection.until('400 Bad Request');
    connection.cut();
  });

  it('get answers in the order of their pipelined requests', async () => {
    const connection = await app.open();
    const own = { Origin: ONE, 'X-Token': app.token, 'Content-Length': '13' };
    connection.write(
      head('POST', path('jobs'), own) +
        '{"queue":"q"}' +
        head('OPTIONS', path('jobs'), { Origin: STRANGER, ...ASKS }) +
        head('OPTIONS', path('jobs'), { Origin: OTHER, ...ASKS }) +
        request('GET', '/v1/none', { Origin: ONE }),
    );
    const text = await connection.untilClosed();
    const heads = text.split('HTTP/1.1 ').slice(1);
    expect(heads.map((each) => [each.slice(0, 3), corsOf(each)['Access-Control-Allow-Origin']])).toEqual([
      ['201', ONE],
      ['405', undefined],
      ['204', OTHER],
      ['404', ONE],
    ]);
  });

  it("may not read answers of lmstfy's API, of probes or of the admin port", async () => {
    for (const [method, url] of [
      ['PUT', `/api/${app.namespace}/q`],
      ['GET', '/healthz'],
      ['OPTIONS', `/api/${app.namespace}/q`],
    ] as const) {
      const top = await sent(app, request(method, url, { Origin: ONE, 'X-Token': app.token, ...ASKS }));
      expect(corsOf(top)).toEqual({});
    }
    const { headers } = await app.admin('GET', '/healthz', { headers: { origin: ONE } });
    expect(Object.keys(headers).filter((name) => /^access-control|^vary/.test(name))).toEqual([]);
  });

  it('are counted without the namespace of a preflight', async () => {
    const random = `made-up-${String(Date.now())}`;
    await sent(app, request('OPTIONS', `/v1/${random}/jobs`, { Origin: ONE, ...ASKS }));
    const { text } = await app.admin('GET', '/metrics');
    expect(text).toMatch(/api="preflight".*method="OPTIONS"|method="OPTIONS".*api="preflight"/);
    expect(text).not.toContain(random);
  });

  it('publish and listen with the client library in a browser', async () => {
    const allowedOrigins: (string | null)[] = [];
    const fetched = globalThis.fetch;
    // Node.js sends no Origin by itself, and hides no answer.
    globalThis.fetch = async (input, init) => {
      const headers = { ...(init?.headers as Record<string, string>), origin: ONE };
      const answer = await fetched(input, { ...init, headers });
      allowedOrigins.push(answer.headers.get('access-control-allow-origin'));
      return answer;
    };
    try {
      const transport = (url: URL): Transport => fetchTransport(url);
      const url = `http://127.0.0.1:${String(app.port)}`;
      const page = new Pumphouse({ url, namespace: app.namespace, token: app.token, transport });
      let isOpen = false;
      const events = page.events({ events: ['published'], onOpen: () => (isOpen = true) });
      const first = events.next();
      await waitFor(() => isOpen, 5_000);
      const { id } = await page.publish({ queue: 'from-page', data: { n: 1 } });
      expect((await first).value).toMatchObject({ event: 'published', id });
      await events.return();
      const refusal = await page.jobs.get('none').catch((error: unknown) => error as PumphouseError);
      expect(refusal).toMatchObject({ code: 'job_not_found', requestId: expect.any(String) as string });
      expect(allowedOrigins).toEqual([ONE, ONE, ONE]);
    } finally {
      globalThis.fetch = fetched;
    }
  });
});

describe('a server with * as its listed origin', () => {
  it('allows every web page to read its answers, also 503 while Redis is down', async () => {
    const redis = await startRedis();
    const app = await TestApp.start({
      PUMPHOUSE_POOLS__DEFAULT__URL: redis.url,
      PUMPHOUSE_SERVER__CORS_ORIGINS: '*',
      PUMPHOUSE_REDIS__COMMAND_TIMEOUT_MS: '300',
    });
    try {
      const url = `/v1/${app.namespace}/jobs`;
      const own = { Origin: STRANGER, 'X-Token': app.token };
      const preflight = await sent(app, request('OPTIONS', url, { Origin: 'null', ...ASKS }));
      expect(corsOf(preflight)).toMatchObject({ 'Access-Control-Allow-Origin': '*' });
      expect(corsOf(preflight)).not.toHaveProperty('Vary');
      const stored = await sent(app, request('POST', url, own, '{"queue":"q"}'));
      expect(corsOf(stored)).toMatchObject({ 'Access-Control-Allow-Origin': '*' });
      await redis.kill9();
      await waitFor(async () => {
        const top = await sent(app, request('POST', url, own, '{"queue":"q"}'));
        if (!top.startsWith('HTTP/1.1 503 ')) return false;
        expect(top).toMatch(/^Retry-After: 1\r?$/m);
        expect(corsOf(top)['Access-Control-Expose-Headers']).toContain('Retry-After');
        return corsOf(top)['Access-Control-Allow-Origin'] === '*';
      });
    } finally {
      await app.stop();
      await redis.stop();
    }
  });
});

describe('a server without listed origins', () => {
  it('gives a web page the answers that a program gets, without CORS headers', async () => {
    const app = await TestApp.start();
    try {
      const url = `/v1/${app.namespace}/jobs`;
      for (const origin of [ONE, STRANGER]) {
        const top = await sent(app, request('OPTIONS', url, { Origin: origin, ...ASKS }));
        expect(top).toMatch(/^HTTP\/1\.1 405 /);
        expect(corsOf(top)).toEqual({});
        const own = { 'X-Token': app.token };
        const page = await sent(app, request('POST', url, { ...own, Origin: origin }, '{"queue":"q"}'));
        const program = await sent(app, request('POST', url, own, '{"queue":"q"}'));
        expect(corsOf(page)).toEqual({});
        const withoutId = (text: string): string => text.replace(/^Location: .*$/gm, '');
        expect(withoutId(page)).toBe(withoutId(program));
      }
    } finally {
      await app.stop();
    }
  });
});
