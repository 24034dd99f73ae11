import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Audit } from '../engine/audit.js';
import { head, RawConnection, TestApp } from '../support/app.js';
import { startRedis, waitFor, type RedisProcess } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';

/** Between taking a job and the last byte of the answer, the connection may break at any point. */
describe('an answer that does not arrive', () => {
  let redis: RedisProcess;
  let toRedis: TcpProxy;
  let toServer: TcpProxy;
  let app: TestApp;
  beforeAll(async () => {
    redis = await startRedis();
    toRedis = await TcpProxy.start(redis.port);
    app = await TestApp.start({ PUMPHOUSE_POOLS__DEFAULT__URL: toRedis.url });
    toServer = await TcpProxy.start(app.port);
  });
  afterAll(async () => {
    await app.stop();
    await toServer.stop();
    await toRedis.stop();
    await redis.stop();
  });

  async function consume(port: number, queue: string, ttrS: number): Promise<RawConnection> {
    const socket = connect(port, '127.0.0.1');
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    const connection = new RawConnection(socket);
    const path = `/api/${app.namespace}/${queue}?ttr=${ttrS}`;
    connection.write(head('GET', path, { 'X-Token': app.token }));
    return connection;
  }

  it('T4: returns its job when the ttr ends, with a try used, if it is cut before or within its head or body', async () => {
    const port = Number(new URL(toServer.url).port);
    const cuts = [0, 1, 60, 250, 330];
    for (const [i] of cuts.entries()) await app.publish(`cut${i}?tries=2&ttl=0`, Buffer.alloc(100, 'x'));
    const begunMs = performance.now();
    for (const [i, bytes] of cuts.entries()) {
      toServer.cutAfterReplyBytes(bytes);
      const answer = await (await consume(port, `cut${i}`, 1)).untilClosed();
      expect(answer.length).toBe(bytes);
    }
    toServer.cutAfterReplyBytes(Number.POSITIVE_INFINITY);

    const again = await Promise.all(cuts.map((_, i) => app.get(`cut${i}?timeout=10&ttr=60`)));
    for (const { status, json } of again) {
      expect(status).toBe(200);
      // The server had handed its answer over: it cannot know, and the try is spent.
      expect(json).toMatchObject({ remain_tries: 0 });
    }
    expect(performance.now() - begunMs).toBeGreaterThan(1_000);
  });

  it('T4: returns its job at once, without using a try, if the client disconnects between the lease and the answer', async () => {
    const id = await app.publish('taken?tries=1&ttl=0');
    toRedis.replyDelayMs = 300;
    const client = new Redis(redis.port, '127.0.0.1', { protocol: 2 });
    const connection = await consume(app.port, 'taken', 3_600);
    const number = await client.hget(`{${app.namespace}}:queues`, 'taken');
    await waitFor(async () => (await client.zcard(`{${app.namespace}}:l${String(number)}`)) === 1);
    connection.cut();
    await sleep(300);
    toRedis.replyDelayMs = 0;

    const answer = await app.get('taken?timeout=10&ttr=60');
    expect(answer).toMatchObject({ status: 200, json: { job_id: id, remain_tries: 0 } });
    expect(await Audit.of(client, app.namespace)).toEqual([]);
    client.disconnect();
  });
});

describe('an acknowledgement without a lease, as in lmstfy', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());

  it('T6: removes a job that another worker has leased since, and is counted as possibly stale', async () => {
    const id = await app.publish('slow?tries=3&ttl=0');
    expect((await app.get('slow?ttr=1')).status).toBe(200);
    expect(await app.get('slow?ttr=60&timeout=10')).toMatchObject({ json: { job_id: id, remain_tries: 1 } });
    expect((await app.delete(`slow/job/${id}`)).status).toBe(204);

    expect((await app.get(`slow/job/${id}`)).status).toBe(404);
    const metrics = (await app.admin('GET', '/metrics')).text.split('\n');
    const stale = metrics.filter(
      (line) => line.startsWith('pumphouse_stale_acks_total{') && line.includes(app.namespace),
    );
    expect(stale.find((line) => line.includes('kind="possible"'))).toMatch(/ 1$/);
    // The ack of the real lease holder has no effect, but it cannot see that: lmstfy always answers 204.
    expect((await app.delete(`slow/job/${id}`)).status).toBe(204);
  });
});
