import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { QueueError } from '../../src/domain/errors.js';
import { EngineRegistry } from '../../src/engine/engine.registry.js';
import { TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';

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

  it('D2: a client that hung up is given no job', async () => {
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

  it('D3: the longest timeout waits, and ends when a job comes', async () => {
    const answer = app.get('patient?timeout=4294967295&ttr=4294967295');
    await sleep(30);
    await app.publish('patient?ttl=4294967295');
    expect(await answer).toMatchObject({ status: 200, json: { ttl: 4_294_967_295 } });
  });

  it('D4: an expired job hides no other, at timeout=0 and in a batch', async () => {
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

  it('D9: a republish that is refused leaves the old job alone', async () => {
    const id = await app.publish('keep', 'keep me');
    expect(await app.put(`keep/job/${id}?tries=0`, 'new')).toMatchObject({ status: 400 });
    expect(await app.put(`keep/job/${id}?ttl=1&delay=2`, 'new')).toMatchObject({ status: 400 });
    expect(await app.put(`keep/job/${id}`, Buffer.alloc(65_536))).toMatchObject({ status: 413 });
    expect(await app.get(`keep/job/${id}`)).toMatchObject({ status: 200 });
    expect(await app.get('keep')).toMatchObject({ json: { job_id: id } });
  });

  it('D10: a delayed job does not come early', async () => {
    const sent = performance.now();
    await app.publish('early?delay=1');
    expect(await app.get('early?timeout=3')).toMatchObject({ status: 200 });
    const waited = performance.now() - sent;
    expect(waited).toBeGreaterThanOrEqual(1_000);
    expect(waited).toBeLessThan(2_500);
  });

  it('D12: a bulk publish that is refused publishes nothing', async () => {
    const tooLarge = JSON.stringify(['fine', 'fine', 'a'.repeat(65_535)]);
    expect(await app.put('bulk/bulk', tooLarge)).toMatchObject({ status: 413 });
    expect(await app.put('bulk/bulk', '["fine", nonsense]')).toMatchObject({ status: 400 });
    expect(await size('bulk')).toBe(0);
  });

  it('D13: a consume that fails says 503 with Retry-After, not "no job"', async () => {
    broken(app, 'reserve');
    for (const query of ['', '?count=10', '?timeout=1']) {
      const { status, json, headers } = await app.get(`any${query}`);
      expect({ status, json }).toEqual({ status: 503, json: { error: 'service unavailable' } });
      expect(headers['retry-after']).toBe('1');
    }
  });

  it('D14: a peek that fails says 503', async () => {
    broken(app, 'peekJob');
    expect(await app.get('any/job/01KAK1N5VSJH40000000000000')).toMatchObject({
      status: 503,
      json: { error: 'service unavailable' },
    });
  });

  it('D16: a stop ends long polls and does not wait for them', async () => {
    const other = await TestApp.start();
    const { port } = other;
    const poll = other.get('long?timeout=600');
    await sleep(50);
    const started = performance.now();
    await other.server.stop();
    expect(performance.now() - started).toBeLessThan(2_000);
    expect(await poll).toMatchObject({
      status: 404,
      json: { msg: 'no job available' },
      headers: { connection: 'close' },
    });
    await expect(open(port)).rejects.toThrow();
  });

  it('D1, D11: a job whose publish was answered is there, and a leased one is never out of sight', async () => {
    const id = await app.publish('sight?tries=2');
    await app.get('sight?ttr=1');
    expect(await app.get(`sight/job/${id}`)).toMatchObject({ status: 200 });
    expect(await app.get('sight?timeout=3')).toMatchObject({ json: { job_id: id } });
  });

  it('tells store_full, disk_full and bugs apart', async () => {
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

type Method = 'reserve' | 'peekJob' | 'publish';

/** Makes one call of the API's engine fail. */
function broken(
  app: TestApp,
  method: Method,
  error: Error = new QueueError('pool_unavailable', 'away'),
): void {
  const engine = app.server.api.app.get(EngineRegistry, { strict: false }).forPool('default');
  jest.spyOn(engine, method).mockRejectedValue(error);
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
