import { Redis } from 'ioredis';
import type { NewJob, PublishOptions } from '../../src/domain/job/job.js';
import { MAX_BULK_JOBS } from '../../src/domain/limits.js';
import type { NewExtendedJob } from '../../src/contract/job/extended-job.js';
import type { PublishedJob } from '../../src/domain/job/extended-job.js';
import { digestOf, nativeIdempotencyRecordOf } from '../../src/engine/publish/idempotency-records.js';
import { silentObserver } from '../../src/engine/core/observer.js';
import { type RedisProcess, startRedis, testRedisUrl, waitFor } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { Audit } from './audit.js';
import { EngineFixture, newJob } from './fixture.js';

describe('publishing many jobs', () => {
  describe('many jobs in one call', () => {
    let f: EngineFixture;
    beforeEach(async () => {
      f = await EngineFixture.withClock();
    });
    afterEach(() => f.close());

    const many = (count: number): Promise<string[]> =>
      f.engine.publishMany(
        f.ns,
        'q',
        Array.from({ length: count }, (_, i) => newJob({ body: Buffer.from(String(i)) })),
      );

    it('are stored in their order', async () => {
      expect(await many(MAX_BULK_JOBS)).toHaveLength(MAX_BULK_JOBS);
      expect(await f.drain('q')).toEqual(Array.from({ length: MAX_BULK_JOBS }, (_, i) => String(i)));
    });

    it('are all refused if they are too many', async () => {
      for (const count of [MAX_BULK_JOBS + 1, 9_000])
        await expect(many(count)).rejects.toMatchObject({ code: 'invalid_argument' });
      expect(await f.keys()).toEqual([]);
    });

    it('are all refused if one has a chosen id', async () => {
      await f.publish('q', { id: 'taken' });
      const jobs = [newJob(), newJob({ id: 'taken' })];

      await expect(f.engine.publishMany(f.ns, 'q', jobs)).rejects.toThrow('id may be given to a job');
      expect(await f.size('q')).toBe(1);
    });
  });

  describe('invalid input of a publish', () => {
    let f: EngineFixture;
    beforeAll(async () => {
      f = await EngineFixture.withClock();
    });
    afterAll(() => f.close());

    it.each([
      [{ tries: 0 }, 'tries is a whole number from 1 to 65535'],
      [{ tries: 65_536 }, 'tries is'],
      [{ delayMs: -1 }, 'delayMs is'],
      [{ ttlMs: 0.5 }, 'ttlMs is'],
      [{ delayMs: Number.NaN }, 'delayMs is'],
    ])('is refused in a job: %j', async (job, message) => {
      await expect(f.publish('q', job)).rejects.toThrow(message);
    });

    it.each([
      [{ count: 0 }, 'count is a whole number from 1 to 100'],
      [{ count: 101 }, 'count is'],
      [{ ttrMs: -1 }, 'ttrMs is'],
      [{ waitMs: 1.5 }, 'waitMs is'],
      [{ queues: [] }, 'queues names one'],
      [{ queues: ['a', 'b c'] }, 'queue has letters'],
      [{ queues: ['a,b'] }, 'queue has letters'],
    ])('is refused in a request: %j', async (request, message) => {
      await expect(f.lease('q', request)).rejects.toThrow(message);
    });

    it('is refused in the name of a queue or namespace', async () => {
      await expect(f.publish('a b')).rejects.toThrow('queue has letters');
      await expect(f.engine.publish('{x}', 'q', newJob())).rejects.toThrow('namespace has letters');
      expect(await f.keys()).toEqual([]);
    });

    it('is refused for a bulk with a chosen id, and no job is stored', async () => {
      await f.publish('q', { id: 'taken', text: 'first' });

      const both = f.engine.publishMany(f.ns, 'q', [newJob(), newJob({ id: 'taken' })]);
      await expect(both).rejects.toMatchObject({ code: 'invalid_argument' });
      expect(await f.drain('q')).toEqual(['first']);
    });
  });
});

describe('the publish time', () => {
  const DAY_MS = 86_400_000;

  describe('the publish time of a job with a chosen id', () => {
    let f: EngineFixture;
    const redis = new Redis(testRedisUrl(), { protocol: 2 });
    const ages: (number | null)[] = [];
    afterAll(() => redis.quit());
    beforeEach(async () => {
      ages.length = 0;
      const observer = {
        ...silentObserver,
        acked: (_ns: string, _queue: string, ageMs: number | null) => ages.push(ageMs),
      };
      f = await EngineFixture.withClock({ observer });
      f.nowMs = Math.floor(f.nowMs / DAY_MS) * DAY_MS;
    });
    afterEach(() => f.close());

    const publish = async (kind: string, queue = 'q'): Promise<string> => {
      if (kind === 'simple') return f.publish(queue, { id: 'order-17', tries: 9 });
      if (kind === 'extended') return f.put(queue, { id: 'order-17', tries: 9, type: 't' });
      if (kind === 'a ULID') return f.publish(queue, { id: '01ARZ3NDEKTSV4RRFFQ69G5FAV', tries: 9 });
      return f.publish(queue, { tries: 9 });
    };
    const KINDS = ['simple', 'extended', 'a ULID', 'minted'];

    it.each(KINDS)('is shown by each call: %s', async (kind) => {
      const atMs = f.nowMs;
      const id = await publish(kind);
      f.nowMs += 2_000;
      expect(await f.counts()).toMatchObject({ ready: 1, oldestReadyAgeMs: 2_000 });
      expect(await f.engine.queues.peek(f.ns, 'q')).toMatchObject({ id, elapsedMs: 2_000 });
      expect(await f.find(id)).toMatchObject({
        publishedAtMs: atMs,
        timeline: [{ what: 'published', atMs }],
      });
      const { items } = await f.engine.jobs.list(f.ns, { queue: 'q', state: 'ready' }, { limit: 9 });
      expect(items).toMatchObject([{ id, publishedAtMs: atMs }]);

      const [job] = await f.lease('q');

      expect(job).toMatchObject({ id, elapsedMs: 2_000 });
      await f.engine.stats.flush();
      const { waits } = await f.engine.stats.read(f.ns, 'q', Math.floor(f.nowMs / DAY_MS));
      expect([waits.count, Math.round(waits.meanMs)]).toEqual([1, 2_000]);
      f.nowMs += 500;
      expect(await f.engine.jobs.peekJob(f.ns, 'q', id)).toMatchObject({ elapsedMs: 2_500 });
      expect(await f.engine.ack(f.ns, 'q', id, job!.lease)).toBe(true);
      expect(ages).toEqual([2_500]);
    });

    it.each([20, 24.9, 50, 390])('is still known after %d days', async (days) => {
      await publish('simple');
      f.nowMs += days * DAY_MS;

      expect(await f.lease('q')).toMatchObject([{ elapsedMs: days * DAY_MS }]);
    });

    it('is exact to 2 ms after leases, undos, expired leases and a respawn', async () => {
      await publish('simple');
      const jobs = await f.lease('q');
      await f.engine.undo(f.ns, jobs);
      for (let i = 0; i < 9; i++) {
        await f.lease('q', { ttrMs: 1_000 });
        await f.pass(1_001);
      }
      expect(await f.engine.deadLetter.respawn(f.ns, 'q', 1, 0)).toBe(1);

      const [job] = await f.lease('q');

      expect(9 * 1_001 - (job?.elapsedMs ?? 0)).toBeLessThanOrEqual(2);
      expect(9 * 1_001 - (job?.elapsedMs ?? 0)).toBeGreaterThanOrEqual(0);
    });

    it('stays the same when the job becomes extended', async () => {
      const atMs = f.nowMs;
      const id = await publish('simple');
      f.nowMs += 1_000;
      await f.put('q', { type: 't' });
      expect(await f.lease('q')).toMatchObject([{ id, elapsedMs: 1_000, publishedAtMs: atMs, extended: {} }]);
      await f.engine.jobs.addTags(f.ns, id, ['one']);
      f.nowMs += 500;

      expect(await f.find(id)).toMatchObject({ tags: ['one'], publishedAtMs: atMs });
      expect(await redis.hget(`{${f.ns}}x\0${id}`, 'put')).toBe(String(atMs));
      expect(await f.engine.settle.complete(f.ns, [{ id, lease: (await f.find(id))!.lease }])).toEqual([
        'done',
      ]);
      expect(ages).toEqual([1_500]);
    });

    it('is the present time when the clock was set back', async () => {
      await publish('simple');
      f.nowMs -= 3_600_000;

      expect(await f.lease('q')).toMatchObject([{ elapsedMs: 0 }]);
    });

    it('is unknown for a job that an older version stored', async () => {
      const id = await publish('simple');
      // Its leases are numbered from 1, and it has none of the flags.
      await redis.setrange(`{${f.ns}}j\0${id}`, 2, '\0');
      await redis.setrange(`{${f.ns}}j\0${id}`, 8, '\0\0\0\0');
      f.nowMs += 2_000;

      expect(await f.find(id)).toMatchObject({ publishedAtMs: null });
      expect(await f.lease('q')).toMatchObject([{ id, elapsedMs: 0 }]);
    });

    it('takes no byte in the record of a simple job', async () => {
      const id = await publish('simple');
      expect((await redis.getBuffer(`{${f.ns}}j\0${id}`))?.length).toBe(24 + 'body'.length);
      expect(await f.keys()).not.toContain(`{${f.ns}}x\0${id}`);
    });
  });
});

describe('idempotency keys', () => {
  const KEY = { idempotencyKey: 'order-17' };
  const SHORT_TTL_MS = 40;

  describe('an idempotency key', () => {
    let f: EngineFixture;
    let redis: Redis;
    const scripts: string[] = [];
    beforeEach(async () => {
      const script = (name: string): void => void scripts.push(name);
      f = await EngineFixture.withClock({ observer: { ...silentObserver, script } });
      redis = new Redis(testRedisUrl(), { protocol: 2 });
    });
    afterEach(async () => {
      redis.disconnect();
      await f.close();
    });

    const publish = (
      job: Partial<NewJob> = {},
      queue = 'q',
      options: PublishOptions = KEY,
    ): Promise<string> => f.engine.publish(f.ns, queue, newJob(job), options);
    const record = (): Buffer => f.pool.keys.idempotencyRecord(f.ns, digestOf('q', KEY.idempotencyKey));
    const jobs = async (...queues: string[]): Promise<number> => {
      const counts = await f.engine.queues.counts(f.ns, queues.length > 0 ? queues : ['q']);
      return counts.reduce(
        (sum, { ready, scheduled, leased, dead }) => sum + ready + scheduled + leased + dead,
        0,
      );
    };

    it('makes one job and two equal answers of a request sent twice', async () => {
      const id = await publish();
      expect(await publish()).toBe(id);
      expect(await jobs()).toBe(1);
      expect((await f.lease('q'))[0]?.id).toBe(id);
    });

    it('is valid on all servers at once', async () => {
      const others = [await EngineFixture.open(), await EngineFixture.open()];
      const engines = [f.engine, ...others.map(({ engine }) => engine)];
      const ids = await Promise.all(
        Array.from({ length: 60 }, (_, i) => engines[i % 3]!.publish(f.ns, 'q', newJob(), KEY)),
      );
      expect(new Set(ids).size).toBe(1);
      expect(await jobs()).toBe(1);
      await Promise.all(others.map((one) => one.close()));
    });

    it('is valid after the job is done and its queue and namespace are removed', async () => {
      const id = await publish();
      await f.engine.ack(f.ns, 'q', id);
      await f.engine.tidyNow(f.ns);
      expect(await f.engine.namespaces()).not.toContain(f.ns);

      expect(await publish()).toBe(id);
      expect(await jobs()).toBe(0);
      expect(await f.engine.namespaces()).not.toContain(f.ns);
    });

    it('stores one job if used twice in one batch, beside other publishes', async () => {
      await f.publish('other');
      scripts.length = 0;
      const [first, second, other, plain] = await Promise.all([
        publish(),
        publish(),
        publish({}, 'r'),
        f.publish('q'),
      ]);

      expect(second).toBe(first);
      expect(new Set([first, other, plain]).size).toBe(3);
      // The second call of the same key goes once more, and finds the record.
      expect(scripts).toEqual(['simple_publish', 'simple_publish']);
      expect(await jobs('q', 'r')).toBe(3);
    });

    it('returns the first answer if used before, beside other publishes of a batch, and creates no queue', async () => {
      const id = await publish({}, 'gone');
      await f.engine.ack(f.ns, 'gone', id);
      await f.publish('stays');
      await f.engine.components.queueControls.forget(f.ns, 'gone');
      scripts.length = 0;
      const reused = publish({ tries: 9 }, 'gone');
      const [again, plain] = await Promise.all([
        publish({}, 'gone'),
        f.publish('q'),
        reused.catch(() => null),
      ]);

      expect(again).toBe(id);
      await expect(reused).rejects.toMatchObject({ code: 'idempotency_key_reused' });
      expect(scripts).toEqual(['simple_publish']);
      expect((await f.lease('q'))[0]?.id).toBe(plain);
      expect((await f.engine.queues.names(f.ns)).toSorted()).toEqual(['q', 'stays']);
    });

    it('is kept for the time that the publish gives', async () => {
      await publish({}, 'q', { ...KEY, idempotencyTtlMs: 5_000 });
      const leftMs = await redis.pttl(record());
      expect(leftMs).toBeGreaterThan(0);
      expect(leftMs).toBeLessThanOrEqual(5_000);
    });

    it('is valid for its queue and namespace only', async () => {
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

    it('is refused for bulk and republish if a publish used it', async () => {
      await publish();
      const bulk = f.engine.publishMany(f.ns, 'q', [newJob()], KEY);
      await expect(bulk).rejects.toMatchObject({ code: 'idempotency_key_reused' });
      const republish = f.engine.republish(f.ns, 'q', 'old', newJob(), KEY);
      await expect(republish).rejects.toMatchObject({ code: 'idempotency_key_reused' });
    });

    it.each([1, 2, 64])('returns the ids of a bulk of %i again, in order', async (count) => {
      const bulk = Array.from({ length: count }, (_, i) =>
        newJob({ body: Buffer.from(String(i)), delayMs: i % 2 === 0 ? 0 : 3_600_000 }),
      );
      const ids = await f.engine.publishMany(f.ns, 'q', bulk, KEY);
      expect(await f.engine.publishMany(f.ns, 'q', bulk, KEY)).toEqual(ids);
      expect(new Set(ids).size).toBe(count);
      expect(await jobs()).toBe(count);
    });

    it('makes a republish that is sent twice store one job', async () => {
      const old = await f.publish('q');
      const id = await f.engine.republish(f.ns, 'q', old, newJob(), KEY);
      await f.publish('q', { id: 'bystander' });
      expect(await f.engine.republish(f.ns, 'q', old, newJob(), KEY)).toBe(id);
      expect(await jobs()).toBe(2);
    });

    it.each(['a', 'fifteen-letters', 'thirty-one_letters-thirty-one_l', 'x'.repeat(128)])(
      'returns the first answer for a job with the chosen id %s',
      async (id) => {
        expect(await publish({ id })).toBe(id);
        expect(await publish({ id })).toBe(id);
        await expect(f.publish('q', { id })).rejects.toMatchObject({ code: 'job_exists' });
        expect(await jobs()).toBe(1);
      },
    );

    it('stays free after a conflict with the id of another job', async () => {
      await f.publish('q', { id: 'taken' });
      await expect(publish({ id: 'taken' })).rejects.toMatchObject({ code: 'job_exists' });
      expect(await redis.exists(record())).toBe(0);
      await f.engine.ack(f.ns, 'q', 'taken');
      expect(await publish({ id: 'taken' })).toBe('taken');
    });

    it('is recorded in 32 bytes for a day, under its documented name', async () => {
      await publish({ body: Buffer.alloc(10_000) });
      expect(await redis.strlen(record())).toBe(32);
      const ttlMs = await redis.pttl(record());
      expect(ttlMs).toBeGreaterThan(86_390_000);
      expect(ttlMs).toBeLessThanOrEqual(86_400_000);
    });

    it('is free again when its time is over', async () => {
      const short = await EngineFixture.open({ idempotencyTtlMs: SHORT_TTL_MS });
      const id = await short.engine.publish(f.ns, 'q', newJob(), KEY);
      await waitFor(async () => (await redis.exists(record())) === 0);
      expect(await short.engine.publish(f.ns, 'q', newJob({ tries: 2 }), KEY)).not.toBe(id);
      await short.close();
    });

    it.each(['', 'x'.repeat(256), 'two words', 'käse', 'line\n'])(
      'must be visible ASCII: %j',
      async (key) => {
        await expect(publish({}, 'q', { idempotencyKey: key })).rejects.toMatchObject({
          code: 'invalid_argument',
          message: expect.stringContaining('idempotencyKey') as string,
        });
      },
    );

    it('wakes the pump for a delayed job, and a long poll for a ready one', async () => {
      const live = await EngineFixture.open();
      live.engine.start();
      const waits = live.lease('q', { waitMs: 10_000 });
      await live.engine.publish(live.ns, 'q', newJob({ delayMs: 30 }), KEY);
      expect(await waits).toHaveLength(1);
      await live.close();
    });
  });

  describe('an idempotency key during trouble with Redis', () => {
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
    ])('stores the jobs of a %s once if it is sent again after a lost answer', async (_name, send, count) => {
      const witness = await EngineFixture.open({}, { url: redis.url });
      // Redis knows the script, and the namespace is there: what is lost is the answer to the publish itself.
      await f.engine.publish(f.ns, 'warm', newJob(), KEY);
      proxy.dropsReplies = true;
      await expect(send()).rejects.toMatchObject({ code: 'pool_unavailable' });
      const stored = (
        await witness.engine.lease(f.ns, { queues: ['q'], count: 9, ttrMs: 60_000, waitMs: 0 })
      ).map(({ id }) => id);
      expect(stored).toHaveLength(count);
      for (const id of stored) await witness.engine.ack(f.ns, 'q', id);

      proxy.dropsReplies = false;
      proxy.cut();
      const answer = await waitFor(send, 5_000);
      expect([answer].flat()).toEqual(stored);
      expect(await witness.engine.queues.counts(f.ns, ['q'])).toMatchObject([{ ready: 0, leased: 0 }]);
      await witness.close();
    });

    it('is not recorded when Redis is full, and works when there is room again', async () => {
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
});

describe('idempotency keys of the native API', () => {
  const KEY = { idempotencyKey: 'order-17' };
  const job = (more: Partial<NewExtendedJob> = {}): NewExtendedJob => ({
    queue: 'q',
    body: Buffer.from('body'),
    priority: 1,
    ...more,
  });

  describe('an idempotency key on the extended path', () => {
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

    const publish = (jobs: readonly NewExtendedJob[] = [job()], options: object = KEY) =>
      f.engine.components.extendedPublisher.publish(f.ns, jobs, options);
    const count = async (...queues: string[]): Promise<number> => {
      const counts = await f.engine.queues.counts(f.ns, queues.length > 0 ? queues : ['q']);
      return counts.reduce((sum, one) => sum + one.ready + one.scheduled + one.leased + one.blocked, 0);
    };

    it('makes one job and two equal answers of a request sent twice', async () => {
      const first = await publish();
      expect(await publish()).toEqual(first);
      expect(await count()).toBe(1);
    });

    it('repeats the answers for jobs of many queues, states and ids after any change', async () => {
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

    it('is valid on all servers at once', async () => {
      const others = [await EngineFixture.open(), await EngineFixture.open()];
      const engines = [f.engine, ...others.map(({ engine }) => engine)];
      const answers = await Promise.all(
        Array.from({ length: 60 }, (_, i) =>
          engines[i % 3]!.components.extendedPublisher.publish(f.ns, [job()], KEY),
        ),
      );
      expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
      expect(await count()).toBe(1);
      await Promise.all(others.map((one) => one.close()));
    });

    it('is valid after the job is done and its queue and namespace are removed', async () => {
      const first = await publish();
      await f.engine.ack(f.ns, 'q', first[0]!.id);
      await f.engine.tidyNow(f.ns);
      expect(await f.engine.namespaces()).not.toContain(f.ns);
      expect(await publish()).toEqual(first);
      expect(await f.engine.namespaces()).not.toContain(f.ns);
    });

    it('returns the same existing job again, also when that job is gone', async () => {
      const unique = { key: 'k', mode: 'existing' as const };
      const [holder] = await publish([job({ unique })], {});
      const first = await publish([job({ unique })]);
      expect(first).toEqual([{ id: holder!.id, state: 'ready', existing: true }]);
      await f.engine.ack(f.ns, 'q', holder!.id);
      expect(await publish([job({ unique })])).toEqual(first);
      expect(await count()).toBe(0);
    });

    it.each<[string, Partial<NewExtendedJob>]>([
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

    it('stays free after a refused call', async () => {
      const unique = { key: 'k', mode: 'reject' as const };
      const [holder] = await publish([job({ unique })], {});
      await expect(publish([job(), job({ unique })])).rejects.toMatchObject({ code: 'unique_key_taken' });
      expect(await redis.exists(f.pool.keys.idempotencyRecord(f.ns, digestOf('', KEY.idempotencyKey)))).toBe(
        0,
      );
      await f.engine.ack(f.ns, 'q', holder!.id);
      expect(await publish([job(), job({ unique })])).toHaveLength(2);
    });

    it('is separate from the same key of a lmstfy publish, and recorded for a day', async () => {
      await f.engine.publish(f.ns, 'q', newJob(), KEY);
      await publish();
      expect(await count()).toBe(2);
      const ttlMs = await redis.pttl(f.pool.keys.idempotencyRecord(f.ns, digestOf('', KEY.idempotencyKey)));
      expect(ttlMs).toBeGreaterThan(86_390_000);
      expect(ttlMs).toBeLessThanOrEqual(86_400_000);
    });

    it.each(['simple', 'extended'])(
      'returns the first answer on the other path: %s path first',
      async (first) => {
        const jobs = [
          { queue: 'q', body: Buffer.from('1') },
          { queue: 'q', body: Buffer.from('2'), delayMs: 60_000 },
        ];
        const record = nativeIdempotencyRecordOf(KEY.idempotencyKey, jobs);
        const bySimple = () =>
          f.engine.publishMany(
            f.ns,
            'q',
            jobs.map((one) => newJob(one)),
            { idempotencyRecord: record },
          );
        const byExtended = async () =>
          (await publish(jobs, { idempotencyRecord: record })).map(({ id }) => id);
        const [one, other] = first === 'simple' ? [bySimple, byExtended] : [byExtended, bySimple];
        const ids = await one();
        expect(await other()).toEqual(ids);
        expect((await publish(jobs, { idempotencyRecord: record })).map(({ state }) => state)).toEqual([
          'ready',
          'scheduled',
        ]);
        expect(await count()).toBe(2);
      },
    );

    it('must be visible ASCII', async () => {
      await expect(publish([job()], { idempotencyKey: 'two words' })).rejects.toMatchObject({
        code: 'invalid_argument',
      });
    });
  });

  describe('an extended publish during trouble with Redis', () => {
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
      await f.engine.components.extendedPublisher.publish(f.ns, [job({ queue: 'warm' })]);
    });
    afterEach(async () => {
      expect(await Audit.of(admin, f.ns)).toEqual([]);
      await witness.close();
      await f.close();
      await proxy.stop();
    });

    it('stores no job again under an idempotency key after its jobs are done', async () => {
      const short = await EngineFixture.open({}, { url: proxy.url, commandTimeoutMs: 300 });
      const send = (): Promise<readonly PublishedJob[]> =>
        short.engine.components.extendedPublisher.publish(f.ns, [job(), job({ id: 'mine' })], KEY);
      proxy.dropsReplies = true;
      await expect(send()).rejects.toMatchObject({ code: 'pool_unavailable' });
      const stored = await witness.engine.lease(f.ns, {
        queues: ['q'],
        count: 9,
        ttrMs: 60_000,
        waitMs: 0,
      });
      expect(stored).toHaveLength(2);
      for (const { id } of stored) await witness.engine.ack(f.ns, 'q', id);
      proxy.dropsReplies = false;
      proxy.cut();
      const answer = await waitFor(send, 5_000);
      expect(answer.map(({ id }) => id)).toEqual(stored.map(({ id }) => id));
      expect(await witness.engine.queues.counts(f.ns, ['q'])).toMatchObject([{ ready: 0, leased: 0 }]);
      await short.close();
    });

    it.each<[string, Partial<NewExtendedJob>]>([
      ['simple', { priority: 0 }],
      ['extended', {}],
    ])('reports no replay of a publish of %s jobs if the driver sends it again', async (_path, more) => {
      let replays = 0;
      const onReplay = (): void => void replays++;
      const send = (): Promise<readonly PublishedJob[]> =>
        f.engine.jobs.publish(f.ns, [job(more)], { ...KEY, onReplay });
      // Redis knows the script, and the namespace is there.
      await f.engine.jobs.publish(f.ns, [job(more)]);
      proxy.dropsReplies = true;
      const answer = send();
      await waitFor(async () => ((await witness.engine.queues.counts(f.ns, ['q']))[0]?.ready ?? 0) > 1);
      proxy.dropsReplies = false;
      proxy.cut();

      const [published] = await answer;
      expect(replays).toBe(0);
      expect(await send()).toEqual([published]);
      expect(replays).toBe(1);
    });

    it('stores each job once if the driver sends the publish again, and returns the states', async () => {
      proxy.dropsReplies = true;
      // In the list of the queue: a job has one place in an index by priority, however often it is put there.
      const jobs = [job({ priority: 0, type: 't' }), job({ delayMs: 60_000 })];
      const answer = f.engine.components.extendedPublisher.publish(f.ns, jobs);
      await waitFor(async () => ((await witness.engine.queues.counts(f.ns, ['q']))[0]?.ready ?? 0) > 0);
      proxy.dropsReplies = false;
      proxy.cut();
      expect((await answer).map(({ state }) => state)).toEqual(['ready', 'scheduled']);
      expect(await witness.engine.queues.counts(f.ns, ['q'])).toMatchObject([{ ready: 1, scheduled: 1 }]);
    });
  });
});
