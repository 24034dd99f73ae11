import { Redis } from 'ioredis';
import type { PublishOptions } from '../../src/domain/job.js';
import { UnconfirmedError } from '../../src/domain/errors.js';
import { RedisPool } from '../../src/redis/pool.js';
import { EngineFixture, newJob, silentLog, testPoolOptions } from '../redis/fixture.js';
import { startRedis, type RedisProcess } from '../support/redis.js';

const AOF: PublishOptions = { durability: 'aof' };
const JOBS = 200;
const AT_ONCE = 20;

/** Debian's Redis is 7.0: `npm run chaos` fetches a Valkey. */
function program(): string {
  const named = process.env['PUMPHOUSE_TEST_WAITAOF_SERVER'];
  if (named === undefined) throw new Error('this needs a Redis 7.2 or a Valkey: see what was said before');
  return named;
}

describe('durability aof, of a Redis that can be asked to wait for its disk', () => {
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
  it('takes as long as the disk, and no job is accepted that is not on it', async () => {
    const { engine, ns } = await open();
    const begunMs = performance.now();
    let slowestMs = 0;
    for (let i = 0; i < JOBS; i += AT_ONCE) {
      const sentMs = performance.now();
      await Promise.all(Array.from({ length: AT_ONCE }, () => engine.publish(ns, 'q', newJob(), AOF)));
      slowestMs = Math.max(slowestMs, performance.now() - sentMs);
    }
    const perRoundMs = (performance.now() - begunMs) / (JOBS / AT_ONCE);
    console.log(
      `aof by WAITAOF, fsync each second: ${perRoundMs.toFixed(0)} ms a publish, ${slowestMs.toFixed(0)} at most`,
    );
    // Redis brings it to its disk each second: a publish that did not wait would be done in a millisecond.
    expect(perRoundMs).toBeGreaterThan(100);
    await redis.kill9();
    const again = await startRedis({ program: program(), dir: redis.dir, port: redis.port });
    try {
      const after = await EngineFixture.open({}, { url: again.url });
      expect(await after.engine.size(ns, 'q')).toBe(JOBS);
      await after.close();
    } finally {
      await again.stop();
    }
  });

  it('refuses with the ids what the disk does not have in time, and a retry with them stores nothing twice', async () => {
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
    expect(await patient.engine.size(ns, 'q')).toBe(1);
  });

  it('is what a pool can be opened with, and is refused when there is no AOF', async () => {
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
