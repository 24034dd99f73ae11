import { Redis } from 'ioredis';
import type { NewRichJob, PublishedJob } from '../../src/domain/rich-job.js';
import { digestOf, nativeNoteOf } from '../../src/engine/notes.js';
import { startRedis, testRedisUrl, waitFor, type RedisProcess } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { Audit } from './audit.js';
import { EngineFixture, newJob } from './fixture.js';

const KEY = { idempotencyKey: 'order-17' };
const job = (more: Partial<NewRichJob> = {}): NewRichJob => ({
  queue: 'q',
  body: Buffer.from('body'),
  priority: 1,
  ...more,
});

describe('an idempotency key on the full lane', () => {
  let f: EngineFixture;
  let redis: Redis;
  beforeEach(async () => {
    f = await EngineFixture.withClock();
    redis = new Redis(testRedisUrl(), { protocol: 2 });
  });
  afterEach(async () => {
    expect(await Audit.of(redis, f.ns)).toEqual([]);
    redis.disconnect();
    await f.close();
  });

  const publish = (jobs: readonly NewRichJob[] = [job()], options: object = KEY) =>
    f.engine.full.publishing.publish(f.ns, jobs, options);
  const count = async (...queues: string[]): Promise<number> => {
    const counts = await f.engine.counts(f.ns, queues.length > 0 ? queues : ['q']);
    return counts.reduce((sum, one) => sum + one.ready + one.scheduled + one.leased + one.blocked, 0);
  };

  it('makes of one request, sent twice, one job and two equal answers', async () => {
    const first = await publish();
    expect(await publish()).toEqual(first);
    expect(await count()).toBe(1);
  });

  it('gives the answers of jobs of many queues, states and kinds of id again, whatever became of them', async () => {
    const jobs = [
      job({ id: 'a', queue: 'r' }),
      job({ delayMs: 60_000 }),
      job({ id: 'c', dependsOn: ['a'] }),
      job({ id: 'a-very-long-id-of-the-caller-s-own-that-is-none-of-our-ulids', type: 't' }),
    ];
    const first = await publish(jobs);
    expect(first.map(({ state }) => state)).toEqual(['ready', 'scheduled', 'blocked', 'ready']);
    await f.engine.ack(f.ns, 'r', 'a');
    await f.engine.pumpNow(f.ns);
    expect(await publish(jobs)).toEqual(first);
    expect(await count('q', 'r')).toBe(3);
  });

  it('is good for all servers at once', async () => {
    const others = [await EngineFixture.open(), await EngineFixture.open()];
    const engines = [f.engine, ...others.map(({ engine }) => engine)];
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) => engines[i % 3]!.full.publishing.publish(f.ns, [job()], KEY)),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(await count()).toBe(1);
    await Promise.all(others.map((one) => one.close()));
  });

  it('is good although the job is done, and its queue and namespace are forgotten', async () => {
    const first = await publish();
    await f.engine.ack(f.ns, 'q', first[0]!.id);
    await f.engine.tidyNow(f.ns);
    expect(await f.engine.namespaces()).not.toContain(f.ns);
    expect(await publish()).toEqual(first);
    expect(await f.engine.namespaces()).not.toContain(f.ns);
  });

  it('remembers who stood for the job, also when he has gone', async () => {
    const unique = { key: 'k', mode: 'existing' as const };
    const [holder] = await publish([job({ unique })], {});
    const first = await publish([job({ unique })]);
    expect(first).toEqual([{ id: holder!.id, state: 'ready', existing: true }]);
    await f.engine.ack(f.ns, 'q', holder!.id);
    expect(await publish([job({ unique })])).toEqual(first);
    expect(await count()).toBe(0);
  });

  it.each<[string, Partial<NewRichJob>]>([
    ['body', { body: Buffer.from('another') }],
    ['queue', { queue: 'r' }],
    ['priority', { priority: 2 }],
    ['tags', { tags: ['a'] }],
    ['retry policy', { retry: { kind: 'fixed', delayMs: 1 } }],
    ['id', { id: 'chosen' }],
  ])('is refused with another %s, and nothing is stored', async (_what, other) => {
    const first = await publish();
    await expect(publish([job(other)])).rejects.toMatchObject({ code: 'idempotency_key_reused' });
    expect(await count('q', 'r')).toBe(1);
    expect(await publish()).toEqual(first);
  });

  it('is not used up by a call that is refused', async () => {
    const unique = { key: 'k', mode: 'reject' as const };
    const [holder] = await publish([job({ unique })], {});
    await expect(publish([job(), job({ unique })])).rejects.toMatchObject({ code: 'unique_key_taken' });
    expect(await redis.exists(f.pool.keys.note(f.ns, digestOf('', KEY.idempotencyKey)))).toBe(0);
    await f.engine.ack(f.ns, 'q', holder!.id);
    expect(await publish([job(), job({ unique })])).toHaveLength(2);
  });

  it('is another one than the same on a queue of lmstfy’s calls, and is noted for a day', async () => {
    await f.engine.publish(f.ns, 'q', newJob(), KEY);
    await publish();
    expect(await count()).toBe(2);
    const ttlMs = await redis.pttl(f.pool.keys.note(f.ns, digestOf('', KEY.idempotencyKey)));
    expect(ttlMs).toBeGreaterThan(86_390_000);
    expect(ttlMs).toBeLessThanOrEqual(86_400_000);
  });

  it.each(['plain', 'full'])('finds what it stored by the other lane: %s first', async (first) => {
    const plain = [
      { queue: 'q', body: Buffer.from('1') },
      { queue: 'q', body: Buffer.from('2'), delayMs: 60_000 },
    ];
    const note = nativeNoteOf(KEY.idempotencyKey, plain);
    const byPlain = () =>
      f.engine.publishMany(
        f.ns,
        'q',
        plain.map((one) => newJob(one)),
        { note },
      );
    const byFull = async () => (await publish(plain, { note })).map(({ id }) => id);
    const [one, other] = first === 'plain' ? [byPlain, byFull] : [byFull, byPlain];
    const ids = await one();
    expect(await other()).toEqual(ids);
    expect((await publish(plain, { note })).map(({ state }) => state)).toEqual(['ready', 'scheduled']);
    expect(await count()).toBe(2);
  });

  it('must be visible ASCII', async () => {
    await expect(publish([job()], { idempotencyKey: 'two words' })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
  });
});

describe('a publish of the full lane, with a Redis in trouble', () => {
  let redis: RedisProcess;
  let admin: Redis;
  let proxy: TcpProxy;
  let f: EngineFixture;
  let witness: EngineFixture;
  beforeAll(async () => {
    redis = await startRedis();
    admin = new Redis(redis.url, { protocol: 2 });
  });
  afterAll(async () => {
    admin.disconnect();
    await redis.stop();
  });
  beforeEach(async () => {
    proxy = await TcpProxy.start(redis.port);
    f = await EngineFixture.open({}, { url: proxy.url, commandTimeoutMs: 2_000 });
    witness = await EngineFixture.open({}, { url: redis.url });
    // Redis knows the script, and the namespace is there: what is lost is the answer to the publish itself.
    await f.engine.full.publishing.publish(f.ns, [job({ queue: 'warm' })]);
  });
  afterEach(async () => {
    expect(await Audit.of(admin, f.ns)).toEqual([]);
    await witness.close();
    await f.close();
    await proxy.stop();
  });

  it('is safe to send again under a key, whatever became of the jobs', async () => {
    const short = await EngineFixture.open({}, { url: proxy.url, commandTimeoutMs: 300 });
    const send = (): Promise<readonly PublishedJob[]> =>
      short.engine.full.publishing.publish(f.ns, [job(), job({ id: 'mine' })], KEY);
    proxy.dropsReplies = true;
    await expect(send()).rejects.toMatchObject({ code: 'pool_unavailable' });
    const stored = await witness.engine.reserve(f.ns, { queues: ['q'], count: 9, ttrMs: 60_000, waitMs: 0 });
    expect(stored).toHaveLength(2);
    for (const { id } of stored) await witness.engine.ack(f.ns, 'q', id);
    proxy.dropsReplies = false;
    proxy.cut();
    const answer = await waitFor(send, 5_000);
    expect(answer.map(({ id }) => id)).toEqual(stored.map(({ id }) => id));
    expect(await witness.engine.counts(f.ns, ['q'])).toMatchObject([{ ready: 0, leased: 0 }]);
    await short.close();
  });

  it('that the driver sends again stores each job once, and knows its state', async () => {
    proxy.dropsReplies = true;
    // In the list of the queue: a job has one place in an index by priority, however often it is put there.
    const jobs = [job({ priority: 0, type: 't' }), job({ delayMs: 60_000 })];
    const answer = f.engine.full.publishing.publish(f.ns, jobs);
    await waitFor(async () => ((await witness.engine.counts(f.ns, ['q']))[0]?.ready ?? 0) > 0);
    proxy.dropsReplies = false;
    proxy.cut();
    expect((await answer).map(({ state }) => state)).toEqual(['ready', 'scheduled']);
    expect(await witness.engine.counts(f.ns, ['q'])).toMatchObject([{ ready: 1, scheduled: 1 }]);
  });
});
