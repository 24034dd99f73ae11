import { Redis } from 'ioredis';
import type { PublishOptions } from '../../src/domain/job/job.js';
import { UnconfirmedError } from '../../src/domain/errors.js';
import { RedisPool } from '../../src/redis/pool.js';
import { EngineFixture, newJob, silentLog, testPoolOptions } from '../engine/fixture.js';
import { startRedis, type RedisProcess } from '../support/redis.js';

const AOF: PublishOptions = { durability: 'aof' };
const ROUNDS = 20;
const AT_ONCE = 20;

/** Debian's Redis is 7.0: `npm run chaos` fetches a Valkey. */
function program(): string {
  const named = process.env['PUMPHOUSE_TEST_WAITAOF_SERVER'];
  if (named === undefined) throw new Error('this needs a Redis 7.2 or a Valkey: see what was said before');
  return named;
}

describe('durability aof on a Redis with WAITAOF', () => {
  let redis: RedisProcess;
  let client: Redis;
  let f: EngineFixture | undefined;
  beforeEach(async () => {
    redis = await startRedis({ program: program() });
    client = new Redis(redis.port, '127.0.0.1', { protocol: 2 });
  });
  afterEach(async () => {
    await f?.close();
    f = undefined;
    client.disconnect();
    await redis.stop();
  });

  const open = async (pool: object = {}): Promise<EngineFixture> =>
    (f = await EngineFixture.open({}, { url: redis.url, waitTimeoutMs: 5_000, ...pool }));
  it('takes more than five times as long as durability memory', async () => {
    const { engine, ns } = await open();
    const roundsMs = async (options: PublishOptions): Promise<number> => {
      const begunMs = performance.now();
      for (let i = 0; i < ROUNDS; i++)
        await Promise.all(Array.from({ length: AT_ONCE }, () => engine.publish(ns, 'q', newJob(), options)));
      return (performance.now() - begunMs) / ROUNDS;
    };
    await roundsMs({ durability: 'memory' });
    const memoryMs = await roundsMs({ durability: 'memory' });
    const aofMs = await roundsMs(AOF);
    console.log(`fsync each second: memory ${memoryMs.toFixed(1)} ms, aof by WAITAOF ${aofMs.toFixed(0)} ms`);
    expect(aofMs).toBeGreaterThan(5 * memoryMs);
    expect(await engine.queues.size(ns, 'q')).toBe(3 * ROUNDS * AT_ONCE);
  });

  it('refuses a publish that is not on disk in time, with the job ids, and stores one job with the retry', async () => {
    // Now nothing is brought to the disk but by chance, and Redis says so.
    await client.config('SET', 'appendfsync', 'no');
    const { engine, ns } = await open({ waitTimeoutMs: 300 });
    const refused = await engine.publish(ns, 'q', newJob(), AOF).then(
      () => null,
      (error: unknown) => error,
    );
    expect(refused).toBeInstanceOf(UnconfirmedError);
    expect(refused).toMatchObject({ code: 'not_replicated' });
    const { jobIds } = refused as UnconfirmedError;

    await client.config('SET', 'appendfsync', 'everysec');
    await f?.close();
    const patient = await open();
    expect(await patient.engine.publish(ns, 'q', newJob(), { ...AOF, retryOf: jobIds })).toBe(jobIds[0]);
    expect(await patient.engine.queues.size(ns, 'q')).toBe(1);
  });

  it('can be the setting of a pool, and is refused without an AOF', async () => {
    const pool = await RedisPool.connect(
      'disk',
      testPoolOptions({ url: redis.url, durability: 'aof' }),
      silentLog,
    );
    await pool.close();
    await client.config('SET', 'appendonly', 'no');
    const options = testPoolOptions({ url: redis.url, durability: 'aof', allowUnsafe: true });
    await expect(RedisPool.connect('disk', options, silentLog)).rejects.toThrow(/durability aof needs/);
  });
});
