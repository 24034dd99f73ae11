import { setTimeout as sleep } from 'node:timers/promises';
import { head, TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';

/** Leases whose answers reach nobody go back to the front of the line, the try not spent. */
describe('clients that go before their answer', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());

  const consume = (queue: string, query = ''): string =>
    head('GET', `/api/${app.namespace}/${queue}${query}`, { 'X-Token': app.token });
  const size = async (queue: string): Promise<number> =>
    ((await app.get(`${queue}/size`)).json as { size: number }).size;

  it('D2: lose no job when they stop waiting at random', async () => {
    const abandoned = Array.from({ length: 40 }, async (_, i) => {
      const connection = await app.open();
      connection.write(consume('herd', '?timeout=20&ttr=600'));
      await sleep(i * 4);
      connection.cut();
    });
    for (let i = 0; i < 40; i++) {
      await app.publish('herd?tries=1', String(i));
      await sleep(3);
    }
    await Promise.all(abandoned);
    // What went to a connection before it was cut is that client's; all else must be here.
    const lost = await waitFor(async () => {
      const answer = await app.get('herd?count=100&ttr=600');
      const jobs = answer.status === 200 ? (answer.json as { data: string }[]) : [];
      seen.push(...jobs.map(({ data }) => data));
      return seen.length + received >= 40 || undefined;
    }).catch(() => false);
    expect(lost).toBe(true);
  }, 20_000);
  const seen: string[] = [];
  const received = 0;

  it('give a try back that was spent on a big answer they did not read', async () => {
    const body = Buffer.alloc(65_000, 'x');
    for (let i = 0; i < 100; i++) await app.publish('heavy?tries=1', body);
    const connection = await app.open();
    connection.socket.pause();
    connection.write(consume('heavy', '?count=100&ttr=600'));
    await waitFor(async () => (await size('heavy')) < 100);
    await sleep(100);
    connection.cut();
    await waitFor(async () => (await size('heavy')) === 100, 5_000);
    const { json } = await app.get('heavy?count=1');
    expect(json).toMatchObject({ remain_tries: 0 });
  }, 20_000);

  it('free their pipelined requests too', async () => {
    const connection = await app.open();
    connection.write(consume('first', '?timeout=20') + consume('second', '?timeout=20&ttr=600'));
    await sleep(50);
    connection.cut();
    await sleep(50);
    await app.publish('second?tries=1');
    expect(await app.get('second')).toMatchObject({ status: 200 });
  });

  it('leave nothing behind when they break off a body', async () => {
    const connection = await app.open();
    connection.write(`${head('PUT', `/api/${app.namespace}/half`, { 'X-Token': app.token, 'Content-Length': '10' })}abc`);
    await sleep(50);
    connection.cut();
    await sleep(50);
    expect(await size('half')).toBe(0);
  });
});
