import { head, type RawConnection, TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';

const MOST = 100_000;
const BODY = 30_000;
/** Two bodies are less than three quarters of what is allowed, three are more. */
const FEW = 2;

/** The way over the hot lane and the way over the router: an escape in the path is all that it takes. */
describe.each([
  ['the hot lane', 'q', 'acks'],
  ['the router', '%71', '%61cks'],
])('a flood of bodies, over %s', (_way, q, acks) => {
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
  async function begin(method: string, path: string, headers: object, body: string): Promise<RawConnection> {
    const connection = await app.open();
    open.push(connection);
    connection.write(head(method, path, { 'X-Token': app.token, ...headers }) + body);
    return connection;
  }
  const publish = (): Promise<RawConnection> =>
    begin('PUT', `/api/${app.namespace}/${q}`, { 'Content-Length': String(BODY) }, 'x');

  it('is refused before it is read, with a time to come back, and counted', async () => {
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
    const body = JSON.stringify({ acks: [{ queue: 'q', id }] }).padEnd(BODY);
    expect(await app.put(q, body)).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    expect(await app.call('POST', `/v1/${app.namespace}/${acks}`, { body })).toMatchObject({
      status: 200,
      json: { results: [{ id, status: 'acked' }] },
    });
  });

  it('is over when the bodies have come: each is stored, and there is room again', async () => {
    const begun = [await publish(), await publish()];
    await held(FEW * BODY);
    for (const connection of begun) connection.write('x'.repeat(BODY - 1));
    for (const connection of begun) await connection.until('HTTP/1.1 201');
    await held(0);
    expect(await app.put(q, 'x'.repeat(BODY))).toMatchObject({ status: 201 });
  });

  it('counts what comes in chunks as it comes', async () => {
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

  it('lets a body in that is larger than all of the room, when it is alone', async () => {
    const body = JSON.stringify(Array<string>(4).fill('x'.repeat(BODY)));
    expect(body.length).toBeGreaterThan(MOST);
    expect(await app.put(`${q}/bulk`, body)).toMatchObject({ status: 201 });
  });
});
