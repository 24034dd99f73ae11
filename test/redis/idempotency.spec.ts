import { Redis } from 'ioredis';
import type { NewJob } from '../../src/domain/job.js';
import { digestOf } from '../../src/engine/notes.js';
import { startRedis, testRedisUrl, waitFor, type RedisProcess } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { EngineFixture, newJob } from './fixture.js';

const KEY = { idempotencyKey: 'order-17' };
const SHORT_TTL_MS = 40;

describe('an idempotency key', () => {
  let f: EngineFixture;
  let redis: Redis;
  beforeEach(async () => {
    f = await EngineFixture.withClock();
    redis = new Redis(testRedisUrl(), { protocol: 2 });
  });
  afterEach(async () => {
    redis.disconnect();
    await f.close();
  });

  const publish = (job: Partial<NewJob> = {}, queue = 'q', options = KEY): Promise<string> =>
    f.engine.publish(f.ns, queue, newJob(job), options);
  const note = (): Buffer => f.pool.keys.note(f.ns, digestOf('q', KEY.idempotencyKey));
  const jobs = async (...queues: string[]): Promise<number> => {
    const counts = await f.engine.counts(f.ns, queues.length > 0 ? queues : ['q']);
    return counts.reduce(
      (sum, { ready, scheduled, leased, dead }) => sum + ready + scheduled + leased + dead,
      0,
    );
  };

  it('makes of one request, sent twice, one job and two equal answers', async () => {
    const id = await publish();
    expect(await publish()).toBe(id);
    expect(await jobs()).toBe(1);
    expect((await f.reserve('q'))[0]?.id).toBe(id);
  });

  it('is good for all servers at once', async () => {
    const others = [await EngineFixture.open(), await EngineFixture.open()];
    const engines = [f.engine, ...others.map(({ engine }) => engine)];
    const ids = await Promise.all(
      Array.from({ length: 60 }, (_, i) => engines[i % 3]!.publish(f.ns, 'q', newJob(), KEY)),
    );
    expect(new Set(ids).size).toBe(1);
    expect(await jobs()).toBe(1);
    await Promise.all(others.map((one) => one.close()));
  });

  it('is good although the job is done, and its queue and namespace are forgotten', async () => {
    const id = await publish();
    await f.engine.ack(f.ns, 'q', id);
    await f.engine.tidyNow(f.ns);
    expect(await f.engine.namespaces()).not.toContain(f.ns);

    expect(await publish()).toBe(id);
    expect(await jobs()).toBe(0);
    expect(await f.engine.namespaces()).not.toContain(f.ns);
  });

  it('counts for its queue and its namespace alone', async () => {
    const other = await EngineFixture.open();
    const ids = [
      await publish(),
      await publish({}, 'r'),
      await other.engine.publish(other.ns, 'q', newJob(), KEY),
    ];
    expect(new Set(ids).size).toBe(3);
    expect(await jobs('q', 'r')).toBe(2);
    await other.close();
  });

  it.each<[string, Partial<NewJob>]>([
    ['body', { body: Buffer.from('another') }],
    ['delay', { delayMs: 1_000 }],
    ['ttl', { ttlMs: 1_000 }],
    ['tries', { tries: 2 }],
    ['attributes', { attributes: { color: 'red' } }],
    ['id', { id: 'chosen' }],
  ])('is refused with another %s, and nothing is stored', async (_what, other) => {
    const id = await publish();
    await expect(publish(other)).rejects.toMatchObject({ code: 'idempotency_key_reused' });
    expect(await jobs()).toBe(1);
    expect(await publish()).toBe(id);
  });

  it('is refused for another kind of call', async () => {
    await publish();
    const bulk = f.engine.publishMany(f.ns, 'q', [newJob()], KEY);
    await expect(bulk).rejects.toMatchObject({ code: 'idempotency_key_reused' });
    const republish = f.engine.republish(f.ns, 'q', 'old', newJob(), KEY);
    await expect(republish).rejects.toMatchObject({ code: 'idempotency_key_reused' });
  });

  it.each([1, 2, 64])('gives the ids of a bulk of %i again, in their order', async (count) => {
    const bulk = Array.from({ length: count }, (_, i) =>
      newJob({ body: Buffer.from(String(i)), delayMs: i % 2 === 0 ? 0 : 3_600_000 }),
    );
    const ids = await f.engine.publishMany(f.ns, 'q', bulk, KEY);
    expect(await f.engine.publishMany(f.ns, 'q', bulk, KEY)).toEqual(ids);
    expect(new Set(ids).size).toBe(count);
    expect(await jobs()).toBe(count);
  });

  it('republishes once: what took the place of a job is not replaced again', async () => {
    const old = await f.publish('q');
    const id = await f.engine.republish(f.ns, 'q', old, newJob(), KEY);
    await f.publish('q', { id: 'bystander' });
    expect(await f.engine.republish(f.ns, 'q', old, newJob(), KEY)).toBe(id);
    expect(await jobs()).toBe(2);
  });

  it.each(['a', 'fifteen-letters', 'thirty-one_letters-thirty-one_l', 'x'.repeat(64)])(
    'answers success for a chosen id that its own first publish has taken: %s',
    async (id) => {
      expect(await publish({ id })).toBe(id);
      expect(await publish({ id })).toBe(id);
      await expect(f.publish('q', { id })).rejects.toMatchObject({ code: 'job_exists' });
      expect(await jobs()).toBe(1);
    },
  );

  it('is not used up by an id that another job has', async () => {
    await f.publish('q', { id: 'taken' });
    await expect(publish({ id: 'taken' })).rejects.toMatchObject({ code: 'job_exists' });
    expect(await redis.exists(note())).toBe(0);
    await f.engine.ack(f.ns, 'q', 'taken');
    expect(await publish({ id: 'taken' })).toBe('taken');
  });

  it('is noted in 32 bytes for a day, with the name that keys.ts says', async () => {
    await publish({ body: Buffer.alloc(10_000) });
    expect(await redis.strlen(note())).toBe(32);
    const ttlMs = await redis.pttl(note());
    expect(ttlMs).toBeGreaterThan(86_390_000);
    expect(ttlMs).toBeLessThanOrEqual(86_400_000);
  });

  it('may be used anew when its time is over', async () => {
    const short = await EngineFixture.open({ idempotencyTtlMs: SHORT_TTL_MS });
    const id = await short.engine.publish(f.ns, 'q', newJob(), KEY);
    await waitFor(async () => (await redis.exists(note())) === 0);
    expect(await short.engine.publish(f.ns, 'q', newJob({ tries: 2 }), KEY)).not.toBe(id);
    await short.close();
  });

  it.each(['', 'x'.repeat(256), 'two words', 'käse', 'line\n'])('must be visible ASCII: %j', async (key) => {
    await expect(publish({}, 'q', { idempotencyKey: key })).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('idempotencyKey') as string,
    });
  });

  it('has the pump come for a delayed job, and wakes who waits for a ready one', async () => {
    const live = await EngineFixture.open();
    live.engine.start();
    const waits = live.reserve('q', { waitMs: 10_000 });
    await live.engine.publish(live.ns, 'q', newJob({ delayMs: 30 }), KEY);
    expect(await waits).toHaveLength(1);
    await live.close();
  });
});

describe('an idempotency key, with a Redis in trouble', () => {
  let redis: RedisProcess;
  let proxy: TcpProxy;
  let f: EngineFixture;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());
  beforeEach(async () => {
    proxy = await TcpProxy.start(redis.port);
    f = await EngineFixture.open({}, { url: proxy.url, commandTimeoutMs: 300 });
  });
  afterEach(async () => {
    await f.close();
    await proxy.stop();
  });

  const many = [newJob({ body: Buffer.from('1') }), newJob({ body: Buffer.from('2') })];

  it.each<[string, () => Promise<string | string[]>, number]>([
    ['publish', () => f.engine.publish(f.ns, 'q', newJob(), KEY), 1],
    ['publish with an id', () => f.engine.publish(f.ns, 'q', newJob({ id: 'mine' }), KEY), 1],
    ['publishMany', () => f.engine.publishMany(f.ns, 'q', many, KEY), 2],
    ['republish', () => f.engine.republish(f.ns, 'q', 'old', newJob(), KEY), 1],
  ])('makes it safe to send a %s again whose answer was lost', async (_name, send, count) => {
    const witness = await EngineFixture.open({}, { url: redis.url });
    // Redis knows the script, and the namespace is there: what is lost is the answer to the publish itself.
    await f.engine.publish(f.ns, 'warm', newJob(), KEY);
    proxy.dropsReplies = true;
    await expect(send()).rejects.toMatchObject({ code: 'pool_unavailable' });
    const stored = (
      await witness.engine.reserve(f.ns, { queues: ['q'], count: 9, ttrMs: 60_000, waitMs: 0 })
    ).map(({ id }) => id);
    expect(stored).toHaveLength(count);
    for (const id of stored) await witness.engine.ack(f.ns, 'q', id);

    proxy.dropsReplies = false;
    proxy.cut();
    const answer = await waitFor(send, 5_000);
    expect([answer].flat()).toEqual(stored);
    expect(await witness.engine.counts(f.ns, ['q'])).toMatchObject([{ ready: 0, leased: 0 }]);
    await witness.close();
  });

  it('is not noted when Redis is full, and stores when there is room again', async () => {
    const admin = new Redis(redis.url, { protocol: 2 });
    await f.publish('q');
    await admin.config('SET', 'maxmemory', '1');
    const before = await admin.dbsize();
    await expect(f.engine.publish(f.ns, 'q', newJob(), KEY)).rejects.toMatchObject({ code: 'store_full' });
    await admin.config('SET', 'maxmemory', '0');
    expect(await admin.dbsize()).toBe(before);
    await f.engine.publish(f.ns, 'q', newJob(), KEY);
    expect(await f.size('q')).toBe(2);
    admin.disconnect();
  });
});
