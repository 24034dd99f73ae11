import { setTimeout as sleep } from 'node:timers/promises';
import { head, TestApp } from '../support/app.js';

/** Traps of Node and Fastify: their own limits, and what a connection is like after a refusal. */
describe('limits of the HTTP layer', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start({
      PUMPHOUSE_SERVER__REQUEST_TIMEOUT_MS: '400',
      PUMPHOUSE_SERVER__KEEP_ALIVE_MS: '300',
    });
  });
  afterAll(() => app.stop());

  const auth = (headers: Record<string, string> = {}): Record<string, string> => ({
    'X-Token': app.token,
    ...headers,
  });
  const path = (rest: string): string => `/api/${app.namespace}/${rest}`;

  it('hold a long poll for longer than any time-out of a request or an idle connection', async () => {
    const answer = app.get('long?timeout=5');
    await sleep(1_500);
    await app.publish('long');
    expect(await answer).toMatchObject({ status: 200 });
  });

  it('end a request that does not come in', async () => {
    const connection = await app.open();
    connection.write(`${head('PUT', path('slow'), auth({ 'Content-Length': '10' }))}abc`);
    const all = await connection.untilClosed();
    expect(all).toContain('HTTP/1.1 408');
    expect(all).toContain('X-Request-Id: ');
  });

  it('let a list of queues be as long as the headers may be', async () => {
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

  it('answer a request without a Host with 400, and HTTP/1.0 as ever', async () => {
    expect(await app.raw(`GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n`)).toMatch(
      /^HTTP\/1.1 400 [^]*X-Request-Id/,
    );
    expect(await app.raw('GET /healthz HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 200 [^]*X-Request-Id/);
  });

  it('keep a connection whose body was refused, when little is left of it', async () => {
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

  it('refuse a huge body before it has come, and close', async () => {
    const connection = await app.open();
    connection.write(head('PUT', path('huge'), auth({ 'Content-Length': '10000000000' })));
    const answer = await connection.until('{"error":"body too large"}');
    expect(answer).toContain('Connection: close');
    connection.cut();
  });

  it('let a client that only writes see its refusal', async () => {
    const connection = await app.open();
    connection.write(
      head('PUT', path('huge'), auth({ 'Content-Length': '5000000' })) + 'x'.repeat(5_000_000),
    );
    expect(await connection.untilClosed()).toContain('{"error":"body too large"}');
  });

  it('count the bytes of chunks', async () => {
    const connection = await app.open();
    connection.write(head('PUT', path('chunks'), auth({ 'Transfer-Encoding': 'chunked' })));
    const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`;
    for (let i = 0; i < 5; i++) connection.write(chunk);
    expect(await connection.until('{"error":"body too large"}')).toContain('HTTP/1.1 413');
    connection.cut();
    expect(await app.get('chunks/size')).toMatchObject({ json: { size: 0 } });
  });

  it('take a body of exactly the limit in chunks', async () => {
    const connection = await app.open();
    connection.write(head('PUT', path('exact'), auth({ 'Transfer-Encoding': 'chunked' })));
    connection.write(`ffff\r\n${'x'.repeat(0xffff)}\r\n0\r\n\r\n`);
    await connection.until('201 Created');
    connection.cut();
  });
});
