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

  it('D2: lose no job when some of them stop waiting', async () => {
    const polls = await Promise.all(Array.from({ length: 40 }, () => app.open()));
    for (const poll of polls) poll.write(consume('herd', '?timeout=20&ttr=600'));
    await waitFor(async () => (await app.engine.counts(app.namespace, ['herd'])).length > 0);
    await sleep(100);
    const [stay, go] = [polls.filter((_, i) => i % 2 === 0), polls.filter((_, i) => i % 2 === 1)];
    for (const poll of go) poll.cut();
    await sleep(50);
    for (let i = 0; i < 40; i++) await app.publish('herd?tries=1', String(i));
    await Promise.all(stay.map((poll) => poll.until('"msg":"new job"')));
    expect(await size('herd')).toBe(20);
    for (const poll of stay) poll.cut();
  });

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
    expect(await app.get('heavy/peek')).toMatchObject({ json: { remain_tries: 1 } });
  }, 20_000);

  it('are cut when the server stops, and what they had not read is undone first', async () => {
    const other = await TestApp.start({ PUMPHOUSE_SERVER__DRAIN_MS: '100' });
    const { namespace, token } = other;
    for (let i = 0; i < 70; i++) await other.publish('heavy?tries=1', Buffer.alloc(65_000, 'x'));
    const connection = await other.open();
    connection.socket.pause();
    connection.write(head('GET', `/api/${namespace}/heavy?count=100&ttr=600`, { 'X-Token': token }));
    await waitFor(async () => (await app.engine.size(namespace, 'heavy')) < 70);
    await sleep(100);
    await other.stop();
    expect(await app.engine.size(namespace, 'heavy')).toBe(70);
    await app.engine.destroy(namespace, 'heavy');
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
    connection.write(
      `${head('PUT', `/api/${app.namespace}/half`, { 'X-Token': app.token, 'Content-Length': '10' })}abc`,
    );
    await sleep(50);
    connection.cut();
    await sleep(50);
    expect(await size('half')).toBe(0);
  });
});
