import { PoolEngine } from '../../src/engine/pool-engine.js';
import { RedisPool } from '../../src/redis/pool.js';
import { randomNamespace, waitFor } from '../support/redis.js';
import { SentinelGroup } from '../support/sentinel.js';
import { newJob, silentLog } from '../engine/fixture.js';

describe('a Sentinel group', () => {
  const ns = randomNamespace();
  let group: SentinelGroup;
  let pool: RedisPool;
  let engine: PoolEngine;
  beforeAll(async () => {
    group = await SentinelGroup.start();
    const options = { allowUnsafe: false, keyPrefix: '', commandTimeoutMs: 1_000 };
    const target = { sentinels: group.addresses, masterName: 'mymaster' };
    pool = await RedisPool.connect('default', { ...options, ...target }, silentLog);
    engine = new PoolEngine(pool);
    engine.start();
  });
  afterAll(async () => {
    await engine.stop();
    await pool.close();
    await group.stop();
  });

  function reserve(waitMs: number): ReturnType<PoolEngine['lease']> {
    return engine.lease(ns, { queues: ['q'], count: 1, ttrMs: 60_000, waitMs });
  }

  it('is found through its sentinels', async () => {
    const id = await engine.publish(ns, 'q', newJob());
    const [job] = await reserve(0);
    expect(job?.id).toBe(id);
    expect(await engine.ack(ns, 'q', id, job?.lease)).toBe(true);
  });

  it('is followed to its new master, where long polls get their jobs', async () => {
    const kept = await engine.publish(ns, 'kept', newJob());
    await pool.read('WAIT', 1, 1_000);
    const waiting = reserve(25_000);
    await waitFor(async () => (await pool.read('EXISTS', `{${ns}}:waiting`)) === 1);

    await group.master.kill9();
    await expect(engine.publish(ns, 'q', newJob())).rejects.toMatchObject({ code: 'pool_unavailable' });
    // As another process does: the waiter gets it by a wake-up, or by a check.
    const producer = new PoolEngine(pool);
    const after = await waitFor(() => producer.publish(ns, 'q', newJob()), 20_000);

    expect((await waiting).map((one) => one.id)).toEqual([after]);
    await producer.stop();
    expect(await engine.queues.peek(ns, 'kept')).toMatchObject({ id: kept });
  });
});
