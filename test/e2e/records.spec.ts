import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { head, TestApp } from '../support/app.js';
import { testRedisUrl, waitFor } from '../support/redis.js';

/** Between two ticks in which a record could go, and more. */
const A_WHILE_MS = 800;

describe('the record of an answer that carries leases', () => {
  let app: TestApp;
  let redis: Redis;
  beforeAll(async () => {
    app = await TestApp.start();
    redis = new Redis(testRedisUrl(), { protocol: 2 });
  });
  afterAll(async () => {
    redis.disconnect();
    await app.stop();
  });
  const records = (): Promise<number> => redis.hlen(`{${app.namespace}}:sending`);

  it.each([
    ['over the hot lane', 'quick'],
    ['over the router', 'quic%6B'],
  ])('goes when it has left, %s', async (_way, path) => {
    await app.publish('quick?tries=1');
    expect(await app.get(`${path}?ttr=600`)).toMatchObject({ status: 200 });
    await waitFor(async () => (await records()) === 0);
  });

  it('stays while its client does not read it, and goes when the client has', async () => {
    for (let i = 0; i < 70; i++) await app.publish('heavy?tries=1', Buffer.alloc(65_000, 'x'));
    const connection = await app.open();
    connection.socket.pause();
    connection.write(head('GET', `/api/${app.namespace}/heavy?count=100&ttr=600`, { 'X-Token': app.token }));
    await waitFor(async () => (await app.engine.size(app.namespace, 'heavy')) < 70);
    await sleep(A_WHILE_MS);
    expect(await records()).toBe(1);
    connection.socket.resume();
    await waitFor(async () => (await records()) === 0, 5_000);
    connection.cut();
  }, 20_000);

  it('goes when its client has gone, and the leases are undone', async () => {
    for (let i = 0; i < 70; i++) await app.publish('left?tries=1', Buffer.alloc(65_000, 'x'));
    const connection = await app.open();
    connection.socket.pause();
    connection.write(head('GET', `/api/${app.namespace}/left?count=100&ttr=600`, { 'X-Token': app.token }));
    await waitFor(async () => (await records()) === 1);
    await sleep(100);
    connection.cut();
    await waitFor(async () => (await app.engine.size(app.namespace, 'left')) === 70, 5_000);
    await waitFor(async () => (await records()) === 0);
  }, 20_000);
});
