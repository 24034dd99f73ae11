import { setTimeout as sleep } from 'node:timers/promises';
import { head, type RawConnection, TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';

/** The way over the hot lane and the way over the router: an escape in the path is all that it takes. */
const WAYS = [
  ['the hot lane', 'q'],
  ['the router', '%71'],
] as const;

/** The value of a metric, all its series together. */
async function metric(app: TestApp, name: string): Promise<number> {
  const { text } = await app.admin('GET', '/metrics');
  const lines = text.split('\n').filter((line) => line.startsWith(name));
  if (lines.length === 0) throw new Error(`no metric ${name}`);
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

describe('bounds on what is under way', () => {
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
  const begin = async (rest = 'q', door = ''): Promise<RawConnection> => {
    const connection = await app.open();
    const [method, url] = door === '' ? ['PUT', path(rest)] : ['POST', door];
    connection.write(`${head(method, url, auth({ 'Content-Length': '2' }))}x`);
    return connection;
  };
  const inFlight = (count: number): Promise<boolean> =>
    waitFor(async () => (await metric(app, 'pumphouse_http_in_flight')) === count);

  it.each(WAYS)(
    'refuse what is too much with 503, but no acknowledgement and no probe: %s',
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

  it('forget a request whose client has gone', async () => {
    const begun = [await begin(), await begin(), await begin()];
    await inFlight(3);
    for (const connection of begun) connection.cut();

    await inFlight(0);
  });

  it.each(WAYS)('refuse one long poll more than a token may have with 429: %s', async (_way, q) => {
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

  it('refuse one long poll more than the process may have with 503, and take it when one has gone', async () => {
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

describe('bounds on connections', () => {
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

  it('answer one too many with 503 and close it, and take the next when one has gone', async () => {
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
    ['says nothing', ''],
    ['begins its headers', 'GET / HTTP/1.1\r\nHost: x\r\n'],
  ])('end one that %s', async (_what, bytes) => {
    const connection = await app.open();
    if (bytes !== '') connection.write(bytes);

    expect(await connection.untilClosed()).toMatch(/^HTTP\/1.1 408 [^]*X-Request-Id/);
  });

  it('end one that sends a byte now and then', async () => {
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

  it('answer a long address of the native API in its own words', async () => {
    const url = `/v1/${app.namespace}/acks?x=${'x'.repeat(1_000)}`;
    const answer = await app.raw(head('POST', url, { 'X-Token': app.token, Connection: 'close' }));

    expect(answer).toMatch(/^HTTP\/1.1 414 [^]*"code":"uri_too_long"/);
  });

  it('answer headers beyond their limit with 431', async () => {
    const answer = await app.raw(head('GET', '/healthz', { 'X-Long': 'x'.repeat(8_000) }));

    expect(answer).toMatch(/^HTTP\/1.1 431 [^]*request header fields too large/);
  });
});

describe('a client that does not read its answer', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start({ PUMPHOUSE_SERVER__ANSWER_TIMEOUT_MS: '300' });
  });
  afterAll(() => app.stop());

  it('is cut in the end, and its jobs come back with their tries', async () => {
    const body = Buffer.alloc(65_535, 'x');
    for (let i = 0; i < 60; i++) await app.put('big?tries=1', body);
    const connection = await app.open();
    connection.socket.pause();
    const url = `/api/${app.namespace}/big?count=100&ttr=3600`;
    connection.write(head('GET', url, { 'X-Token': app.token }));

    await waitFor(async () => (await metric(app, 'pumphouse_unread_answers_total')) === 1, 5_000);
    await waitFor(async () => (await app.engine.size(app.namespace, 'big')) === 60, 5_000);
    connection.cut();
    expect(await app.get('big')).toMatchObject({ status: 200, json: { remain_tries: 0 } });
  });

  it('is left alone while it reads, and while it waits', async () => {
    const before = await metric(app, 'pumphouse_unread_answers_total');
    const waiting = app.get('later?timeout=20');
    await sleep(900);
    await app.publish('later');

    expect(await waiting).toMatchObject({ status: 200 });
    expect(await metric(app, 'pumphouse_unread_answers_total')).toBe(before);
  });
});
