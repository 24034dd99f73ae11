import { Redis } from 'ioredis';
import type { LeasedJob } from '../../src/domain/job/job.js';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { startRedis, testRedisUrl, waitFor } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { Audit } from './audit.js';
import { EngineFixture } from './fixture.js';

const TTR_MS = 5_000;
/** Uncharged returns that a job may get: lua/modules/jobs/deliveries.lua. */
const MAX_FREE_RETRIES = 3;

describe('leases whose answers may not have been sent', () => {
  let f: EngineFixture;
  let redis: Redis;
  /** Another server on the same Redis: it leases, and then nothing is heard of it. */
  let killed: PoolEngine;
  beforeEach(async () => {
    f = await EngineFixture.withClock();
    killed = new PoolEngine(f.pool, { clock: () => f.nowMs });
    redis = new Redis(testRedisUrl(), { protocol: 2 });
  });
  afterEach(async () => {
    expect(await Audit.of(redis, f.ns)).toEqual([]);
    await killed.stop();
    await f.close();
    redis.disconnect();
  });

  const records = (): Promise<number> => redis.hlen(`{${f.ns}}:sending`);
  const reserve = (engine = killed, count = 1, ttrMs = TTR_MS): Promise<LeasedJob[]> =>
    engine.lease(f.ns, { queues: ['q'], count, ttrMs, waitMs: 0, confirms: true });
  async function expireLeases(): Promise<void> {
    f.nowMs += TTR_MS;
    await f.engine.pumpNow(f.ns);
  }

  it('expire without using a try when their server died', async () => {
    const id = await f.publish('q', { tries: 1 });
    const other = await f.publish('q', { tries: 7 });
    await reserve(killed, 2);
    f.nowMs += TTR_MS - 1;
    await f.engine.pumpNow(f.ns);
    // A worker may have it and work on it: the lease holds until its end.
    expect(await f.size('q')).toBe(0);

    f.nowMs += 1;
    await f.engine.pumpNow(f.ns);
    expect(await f.engine.deadLetter.head(f.ns, 'q')).toMatchObject({ size: 0 });
    const again = await f.lease('q', { count: 2 });
    expect(again.map((job) => [job.id, job.triesLeft, job.attempts, job.lease]).sort()).toEqual(
      [
        [id, 0, 2, 2],
        [other, 6, 2, 2],
      ].sort(),
    );
  });

  it('are counted as attempts and never as tries of the job, also when it is dead', async () => {
    const id = await f.publish('q', { tries: 1 });
    await reserve();
    await expireLeases();
    expect(await f.find(id)).toMatchObject({ state: 'ready', tries: 1, triesLeft: 1, attempts: 1 });
    await f.lease('q', { ttrMs: TTR_MS });
    await expireLeases();
    expect(await f.find(id)).toMatchObject({ state: 'dead', tries: 1, triesLeft: 0, attempts: 2 });

    await f.engine.components.deadJobs.respawnIds(f.ns, [id], { ttlMs: 0, tries: 'reset' });
    expect(await f.find(id)).toMatchObject({ state: 'ready', triesLeft: 1 });
  });

  it('do not save the try of the next lease, whose answer was sent', async () => {
    const id = await f.publish('q', { tries: 1 });
    const [{ lease } = { lease: 0 }] = await reserve();
    await f.engine.undo(f.ns, [{ id, lease }]);
    const [job] = await reserve(f.engine);
    job?.receipt?.arrived();
    await expireLeases();
    expect(await f.engine.deadLetter.head(f.ns, 'q')).toMatchObject({ id, size: 1 });
  });

  it('use a try if they expire after the answer was sent, on the server that sent it', async () => {
    const id = await f.publish('q', { tries: 1 });
    const [job] = await reserve(f.engine);
    job?.receipt?.arrived();
    await expireLeases();
    expect(await f.engine.deadLetter.head(f.ns, 'q')).toMatchObject({ id, size: 1 });
  });

  it('use a try if they expire after the answer was sent, on another server', async () => {
    const id = await f.publish('q', { tries: 1 });
    const [job] = await reserve();
    job?.receipt?.arrived();
    await waitFor(async () => (await records()) === 0);
    await expireLeases();
    expect(await f.engine.deadLetter.head(f.ns, 'q')).toMatchObject({ id, size: 1 });
  });

  it('use a try in a program without a server, which has the lease when the call returns', async () => {
    const id = await f.publish('q', { tries: 1 });
    await f.lease('q', { ttrMs: TTR_MS });
    await expireLeases();
    expect(await f.engine.deadLetter.head(f.ns, 'q')).toMatchObject({ id, size: 1 });
  });

  it('use a try at a late ack without a lease number, which proves that the answer arrived', async () => {
    const [{ id } = { id: '' }] = await f.engine.jobs.publish(f.ns, [
      { queue: 'q', body: Buffer.from('x'), type: 't', tries: 1, retentionMs: 60_000 },
    ]);
    await reserve();
    await expireLeases();
    expect(await f.find(id)).toMatchObject({ state: 'ready', triesLeft: 1 });
    await f.engine.ack(f.ns, 'q', id);
    expect(await f.find(id)).toMatchObject({ state: 'done', triesLeft: 0, attempts: 1 });
  });

  it('use no try three times, and one try at the fourth lease, so that the job dies', async () => {
    const id = await f.publish('q', { tries: 1 });
    for (let i = 0; i < MAX_FREE_RETRIES; i++) {
      await reserve();
      await expireLeases();
      expect(await f.size('q')).toBe(1);
      // Undone in between: it is remembered all the same.
      await f.engine.undo(f.ns, await f.lease('q'));
    }
    await reserve();
    await expireLeases();
    expect(await f.engine.deadLetter.head(f.ns, 'q')).toMatchObject({ id, size: 1 });
    expect(await f.find(id)).toMatchObject({ state: 'dead', tries: 1, triesLeft: 0 });

    await f.engine.deadLetter.respawn(f.ns, 'q', 1, 0);
    await reserve();
    await expireLeases();
    expect(await f.size('q')).toBe(1);
    await f.engine.ack(f.ns, 'q', id);
  });

  it('use no try three times on the extended path, and return the job without its backoff', async () => {
    const retry = { kind: 'fixed', delayMs: 3_600_000 } as const;
    const [{ id } = { id: '' }] = await f.engine.jobs.publish(f.ns, [
      { queue: 'q', body: Buffer.from('x'), type: 't', tries: 1, retry },
    ]);
    for (let i = 0; i < MAX_FREE_RETRIES; i++) {
      await reserve();
      await expireLeases();
      expect(await f.find(id)).toMatchObject({ state: 'ready', triesLeft: 1, crashes: 0 });
    }
    const [last] = await reserve();
    await expireLeases();
    expect(await f.find(id)).toMatchObject({ state: 'dead', triesLeft: 0, crashes: 1 });
    await f.engine.settle.complete(f.ns, [{ id, lease: last!.lease }]);
    expect(await f.find(id)).toBeNull();
  });

  describe('expired leases whose worker reports late', () => {
    /** Two kinds of jobs: a simple one, and one of the extended path. Both have three tries. */
    const KINDS = { simple: {}, extended: { type: 't' } };
    const late = async (kind: keyof typeof KINDS): Promise<LeasedJob> => {
      const retry = { kind: 'fixed', delayMs: 0 } as const;
      const options = kind === 'simple' ? KINDS.simple : { ...KINDS.extended, retry };
      await f.engine.jobs.publish(f.ns, [{ queue: 'q', body: Buffer.from('x'), tries: 3, ...options }]);
      const [job] = await reserve();
      await expireLeases();
      expect(await f.find(job!.id)).toMatchObject({ state: 'ready', tries: 3, triesLeft: 3, attempts: 1 });
      return job!;
    };

    it.each(Object.keys(KINDS) as (keyof typeof KINDS)[])(
      'are not counted as attempts after a release of a job, %s',
      async (kind) => {
        const job = await late(kind);
        await f.engine.settle.release(f.ns, job);
        expect(await f.find(job.id)).toMatchObject({ state: 'ready', tries: 3, triesLeft: 3, attempts: 0 });
      },
    );

    it.each(Object.keys(KINDS) as (keyof typeof KINDS)[])(
      'use a try after a retry of a job, %s',
      async (kind) => {
        const job = await late(kind);
        await f.engine.settle.retry(f.ns, { ...job, group: 'g', message: 'm', delayMs: 0 });
        expect(await f.find(job.id)).toMatchObject({ state: 'ready', tries: 3, triesLeft: 2, attempts: 1 });
      },
    );

    it.each(Object.keys(KINDS) as (keyof typeof KINDS)[])(
      'use a try after a heartbeat of a job, %s',
      async (kind) => {
        const job = await late(kind);
        await f.engine.settle.heartbeat(f.ns, job);
        expect(await f.find(job.id)).toMatchObject({ state: 'leased', tries: 3, triesLeft: 2, attempts: 1 });
        await f.engine.settle.release(f.ns, job);
        expect(await f.find(job.id)).toMatchObject({ state: 'ready', tries: 3, triesLeft: 3, attempts: 0 });
      },
    );

    it.each(Object.keys(KINDS) as (keyof typeof KINDS)[])(
      'use no try when a later lease expires, of a job, %s',
      async (kind) => {
        const job = await late(kind);
        const [next] = await f.lease('q', { ttrMs: TTR_MS });
        expect(next).toMatchObject({ id: job.id, triesLeft: 2 });
        await expireLeases();
        expect(await f.find(job.id)).toMatchObject({ triesLeft: 2, attempts: 2 });
        await f.engine.settle.release(f.ns, next!);
        expect(await f.find(job.id)).toMatchObject({ state: 'ready', tries: 3, triesLeft: 3, attempts: 1 });
      },
    );
  });

  it('stay in the delivery log for many consumers of one batch until the last answer was sent', async () => {
    await Promise.all(['a', 'b', 'c'].map((text) => f.publish('q', { text, tries: 1 })));
    const jobs = (await Promise.all([1, 2, 3].map(() => reserve(f.engine)))).flat();
    expect(jobs).toHaveLength(3);
    expect(await records()).toBe(1);
    jobs[0]?.receipt?.arrived();
    await f.engine.undo(f.ns, jobs.slice(1, 2));
    await expireLeases();
    // One was undone, the others stand in the record still: it is of the whole batch.
    expect(await f.engine.queues.counts(f.ns, ['q'])).toMatchObject([{ ready: 3, dead: 0 }]);
    jobs[2]?.receipt?.arrived();
    await waitFor(async () => (await records()) === 0);
  });

  it('overwrite the delivery log entry of an answered batch, and need none if no job was leased', async () => {
    for (let i = 0; i < 20; i++) await f.publish('q');
    for (let i = 0; i < 20; i++) {
      const [job] = await reserve(f.engine);
      job?.receipt?.arrived();
    }
    expect(await records()).toBe(1);
    await waitFor(async () => (await records()) === 0);
    expect(await reserve(f.engine)).toEqual([]);
    expect(await records()).toBe(0);
  });

  it('have no entry in the delivery log if they are shorter than a second', async () => {
    await f.publish('q');
    await reserve(killed, 1, 999);
    expect(await records()).toBe(0);
  });

  it('leave nothing behind: an entry is removed when its leases have ended', async () => {
    const id = await f.publish('q');
    await reserve();
    await f.engine.ack(f.ns, 'q', id);
    // The namespace stays, for another queue has a job.
    await f.publish('other');
    f.nowMs += TTR_MS + 60_001;
    // What is due has not been looked at yet: the record may be needed.
    await f.engine.tidyNow(f.ns);
    expect(await records()).toBe(1);
    await f.engine.pumpNow(f.ns);
    f.nowMs -= 1;
    await f.engine.tidyNow(f.ns);
    expect(await records()).toBe(1);
    f.nowMs += 1;
    await f.engine.tidyNow(f.ns);
    expect(await records()).toBe(0);
  });

  it('leave nothing behind in a removed namespace', async () => {
    const id = await f.publish('q');
    await reserve();
    await f.engine.ack(f.ns, 'q', id);
    await f.engine.tidyNow(f.ns);
    expect(await f.keys()).toEqual([]);
  });
});

describe('a lease call whose reply was lost', () => {
  it.each([1, 64])('is undone to the front as soon as Redis is reachable: %i jobs', async (count) => {
    const redis = await startRedis();
    const proxy = await TcpProxy.start(redis.port);
    const witness = await EngineFixture.open({}, { url: redis.url });
    const f = await EngineFixture.open({}, { url: proxy.url, commandTimeoutMs: 1_000 });
    const ids = await f.engine.publishMany(
      f.ns,
      'q',
      Array.from({ length: count }, () => ({ body: Buffer.from('x'), delayMs: 0, ttlMs: 0, tries: 1 })),
    );
    const last = await f.publish('q', { tries: 1 });
    const request = { queues: ['q'], count: 1, ttrMs: 3_600_000, waitMs: 0 };
    // Redis knows the script from here on: else the lost reply would be that it does not.
    await witness.engine.lease(f.ns, { ...request, queues: ['empty'] });
    proxy.dropsReplies = true;
    const refused = Promise.allSettled(ids.map(() => f.engine.lease(f.ns, request)));
    await waitFor(async () => (await witness.engine.queues.counts(f.ns, ['q']))[0]?.leased === count);
    proxy.dropsReplies = false;
    proxy.cut();
    for (const { status } of await refused) expect(status).toBe('rejected');
    await waitFor(async () => (await witness.engine.queues.size(f.ns, 'q')) === count + 1, 2_000);

    const given = await witness.engine.lease(f.ns, { ...request, count: 100 });
    expect(given.map(({ id }) => id)).toEqual([...ids, last]);
    expect(given[0]).toMatchObject({ triesLeft: 0, attempts: 1, lease: 2 });
    const client = new Redis(redis.port, '127.0.0.1', { protocol: 2 });
    await waitFor(async () => (await client.exists(`{${f.ns}}:sending`)) === 0);
    expect(await Audit.of(client, f.ns)).toEqual([]);
    client.disconnect();
    await f.close();
    await witness.close();
    await proxy.stop();
    await redis.stop();
  });

  // Its record has the name of one whose answers have left, and which is there still.
  it.each(['that never ran', 'that found nothing'])(
    'does not undo the lease of the call before it, if it is one %s',
    async (kind) => {
      const redis = await startRedis();
      const proxy = await TcpProxy.start(redis.port);
      const witness = await EngineFixture.open({}, { url: redis.url });
      const f = await EngineFixture.open({}, { url: proxy.url, commandTimeoutMs: 300 });
      const request = { queues: ['q'], count: 1, ttrMs: 3_600_000, waitMs: 0 };
      await witness.engine.lease(f.ns, { ...request, queues: ['empty'] });
      await f.publish('q', { tries: 1 });
      const client = new Redis(redis.port, '127.0.0.1', { protocol: 2 });

      const [job] = await f.engine.lease(f.ns, request);
      expect(await client.hlen(`{${f.ns}}:sending`)).toBe(1);
      if (kind === 'that never ran') proxy.halfOpen();
      else proxy.dropsReplies = true;
      await expect(f.engine.lease(f.ns, request)).rejects.toMatchObject({ code: 'pool_unavailable' });
      proxy.dropsReplies = false;
      proxy.cut();
      await waitFor(async () => (await client.exists(`{${f.ns}}:sending`)) === 0, 5_000);

      expect((await witness.engine.queues.counts(f.ns, ['q']))[0]).toMatchObject({ leased: 1, ready: 0 });
      expect(await f.engine.ack(f.ns, 'q', job!.id, job!.lease)).toBe(true);
      client.disconnect();
      await f.close();
      await witness.close();
      await proxy.stop();
      await redis.stop();
    },
  );

  it('wakes a long poll on another server when its job is returned', async () => {
    const redis = await startRedis();
    const proxy = await TcpProxy.start(redis.port);
    const witness = await EngineFixture.open({}, { url: redis.url });
    const f = await EngineFixture.open({}, { url: proxy.url, commandTimeoutMs: 1_000 });
    const request = { queues: ['q'], count: 1, ttrMs: 3_600_000 };
    // Redis knows the script from here on: else the lost reply would be that it does not.
    await witness.engine.lease(f.ns, { ...request, waitMs: 0 });
    const id = await f.publish('q', { tries: 1 });
    proxy.dropsReplies = true;
    const refused = f.engine.lease(f.ns, { ...request, waitMs: 0 }).catch(() => null);
    await waitFor(async () => (await witness.engine.queues.counts(f.ns, ['q']))[0]?.leased === 1);
    const next = witness.engine.lease(f.ns, { ...request, waitMs: 9_000 });
    proxy.dropsReplies = false;
    proxy.cut();
    expect(await refused).toBeNull();
    expect(await next).toMatchObject([{ id, triesLeft: 0, lease: 2 }]);
    await f.close();
    await witness.close();
    await proxy.stop();
    await redis.stop();
  });
});

describe('a full Redis', () => {
  it('stores the delivery log entry of a lease', async () => {
    const redis = await startRedis();
    const admin = new Redis(redis.port, '127.0.0.1', { protocol: 2 });
    const f = await EngineFixture.open({}, { url: redis.url });
    await f.publish('q', { body: Buffer.alloc(1_000, 'x') });
    await admin.config('SET', 'maxmemory', 1_000_000);
    await expect(f.publish('q')).rejects.toMatchObject({ code: 'store_full' });
    const request = { queues: ['q'], count: 1, ttrMs: TTR_MS, waitMs: 0, confirms: true };
    expect(await f.engine.lease(f.ns, request)).toHaveLength(1);
    expect(await admin.hlen(`{${f.ns}}:sending`)).toBe(1);
    admin.disconnect();
    await f.close();
    await redis.stop();
  });
});
