import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { DATA_FORMAT } from '../../src/domain/data-format.js';
import { RedisPool } from '../../src/redis/pool.js';
import { EngineFixture, newJob, silentLog, testPoolOptions } from '../engine/fixture.js';
import { TestApp } from '../support/app.js';
import { startRedis, waitFor, type RedisProcess } from '../support/redis.js';

/** How long a change of its settings may stay unseen, in ms. */
const NOTICED_MS = 30_000;

/** Redis answers, and is not as it should be. */
describe('a full Redis', () => {
  let admin: Redis;
  let app: TestApp;
  beforeEach(async () => ({ client: admin, app } = await TestApp.alone()));
  afterEach(() => app.stop());

  it('T18: refuses publishes with 507, allows leases and acks, and accepts publishes when there is room', async () => {
    for (let i = 0; i < 50; i++) await app.publish('q?ttl=0&tries=2', Buffer.alloc(1_000, 'x'));
    await admin.config('SET', 'maxmemory', 1);
    const refused = await Promise.all(Array.from({ length: 20 }, () => app.put('q')));
    for (const { status } of refused) expect(status).toBe(507);
    expect(await app.get('/readyz')).toMatchObject({
      status: 200,
      json: { status: 'degraded', degraded: ['default: full'] },
    });
    expect((await app.delete('q/job/01M7Z17XME660YPHBY512QCVQF')).status).toBe(204);

    const waiting = app.get('later?timeout=20');
    for (let i = 0; i < 50; i++) {
      const { status, json } = await app.get('q');
      expect(status).toBe(200);
      expect((await app.delete(`q/job/${(json as { job_id: string }).job_id}`)).status).toBe(204);
    }
    expect(await app.get('q/size')).toMatchObject({ json: { size: 0 } });
    await admin.config('SET', 'maxmemory', 0);
    expect((await app.put('other')).status).toBe(201);
    // As another process does: by a wake-up, or by a check.
    await app.engine.publish(app.namespace, 'later', newJob());
    expect((await waiting).status).toBe(200);
  });
});

/** Servers look at these every ten seconds: both are changed first, and then waited for. */
describe('a Redis that is changed while servers run', () => {
  const servers: { redis: RedisProcess; admin: Redis; f: EngineFixture; warnings: string[] }[] = [];
  beforeAll(async () => {
    for (let i = 0; i < 2; i++) {
      const redis = await startRedis();
      const admin = new Redis(redis.port, '127.0.0.1', { protocol: 2 });
      const warnings: string[] = [];
      const warn = (details: object): void => void warnings.push(JSON.stringify(details));
      const pool = await RedisPool.connect('default', testPoolOptions({ url: redis.url }), {
        ...silentLog,
        warn,
      });
      servers.push({ redis, admin, f: EngineFixture.over(pool), warnings });
    }
    const [unsafe, future] = servers;
    await unsafe!.admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await unsafe!.admin.config('SET', 'appendonly', 'no');
    await future!.f.publish('q');
    await future!.admin.set('pumphouse:format', DATA_FORMAT + 1);
  });
  afterAll(async () => {
    for (const { redis, admin, f } of servers) {
      await f.close();
      admin.disconnect();
      await redis.stop();
    }
  });

  it('T19: makes its pool degraded, and is refused at start, with an eviction policy and without AOF', async () => {
    const { redis, f, warnings } = servers[0]!;
    await expect(
      RedisPool.connect('default', testPoolOptions({ url: redis.url }), silentLog),
    ).rejects.toThrow(/may lose jobs: it needs maxmemory-policy noeviction and appendonly yes/);
    await waitFor(() => f.pool.status.degraded.length > 0, NOTICED_MS);
    expect(f.pool.status).toEqual({ up: true, degraded: ['maxmemory_policy', 'aof_off'] });
    expect(warnings).toHaveLength(1);
    await f.publish('q');
  });

  it('T42: is not used while it has the data format of a later version', async () => {
    const { admin, f, warnings } = servers[1]!;
    const publish = (): Promise<boolean> =>
      f.publish('q').then(
        () => true,
        () => false,
      );
    await waitFor(async () => !(await publish()), NOTICED_MS);
    const length = await admin.llen(`{${f.ns}}:r1`);
    // Over the probes of two seconds, each of which finds it alive.
    for (let i = 0; i < 20; i++) {
      await expect(f.publish('q')).rejects.toMatchObject({ code: 'pool_unavailable' });
      await sleep(100);
    }
    expect(await admin.llen(`{${f.ns}}:r1`)).toBe(length);
    expect(f.pool.status.up).toBe(false);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(`holds data format ${DATA_FORMAT + 1}, which is newer than`);

    await admin.set('pumphouse:format', DATA_FORMAT);
    await waitFor(publish, NOTICED_MS);
    await waitFor(() => f.pool.status.up);
  }, 120_000);
});
