import { Redis } from 'ioredis';
import type { LeasedJob } from '../../src/domain/job/job.js';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { encodeId } from '../../src/engine/core/ids.js';
import { silentObserver } from '../../src/engine/core/observer.js';
import { ScriptRunner } from '../../src/engine/core/scripts.js';
import { DATA_FORMAT, RAISED_TO } from '../../src/domain/data-format.js';
import { RedisPool } from '../../src/redis/pool.js';
import { recount } from '../../src/redis/scripts/simple.js';
import { TestApp } from '../support/app.js';
import { type OldStore, restoreStore } from '../support/old-store.js';
import { randomNamespace, type RedisProcess, startRedis, testRedisUrl, waitFor } from '../support/redis.js';
import { Audit } from './audit.js';
import { edgeProblems } from './edge-audit.js';
import { auditIndexes } from './index-audit.js';
import { newJob, silentLog, testPoolOptions } from './fixture.js';

describe('data formats', () => {
  const [READY, SCHEDULED, LEASED] = [1, 2, 3];
  const NS = 'old';
  /** So long do Redis's own TTLs last here: a moment, where format 1 left ten minutes beyond a job's ttl. */
  const TTL_MS = 3_000;

  interface Old {
    readonly id: string;
    readonly state: number;
    readonly tries: number;
    readonly expiresMs?: number;
    readonly body?: string;
    readonly attributes?: string;
  }

  /** A header as format 1 had it: the same 24 bytes as now. */
  function header({ state, tries, expiresMs = 0, attributes }: Old): Buffer {
    const bytes = Buffer.alloc(24);
    bytes.writeUInt8(1, 0);
    bytes.writeUInt8(state, 1);
    bytes.writeUInt8(attributes === undefined ? 0 : 1, 2);
    bytes.writeUInt16BE(tries, 4);
    bytes.writeUInt16BE(state === LEASED ? 1 : 0, 6);
    bytes.writeUInt32BE(state === LEASED ? 1 : 0, 8);
    bytes.writeUInt32BE(1, 12);
    bytes.writeUInt8(state === READY ? 1 : 0, 16);
    bytes.writeUIntBE(expiresMs, 17, 6);
    return bytes;
  }

  describe('a server', () => {
    let prefix: string;
    let redis: Redis;
    let nowMs: number;
    const closing: (() => Promise<void>)[] = [];
    beforeEach(() => {
      prefix = `${randomNamespace('format')}:`;
      redis = new Redis(testRedisUrl(), { protocol: 2, keyPrefix: prefix });
      nowMs = Date.now();
    });
    afterEach(async () => {
      for (const close of closing.splice(0)) await close();
      redis.disconnect();
    });

    async function connect(): Promise<PoolEngine> {
      const pool = await RedisPool.connect('default', testPoolOptions({ keyPrefix: prefix }), silentLog);
      const engine = new PoolEngine(pool, { clock: () => nowMs });
      closing.push(async () => {
        await engine.stop();
        await pool.close();
      });
      return engine;
    }

    /** A queue as a server of format 1 left it. */
    async function leave(jobs: readonly Old[], endsMs = nowMs): Promise<void> {
      const base = `{${NS}}`;
      await redis.set('pumphouse:format', 1);
      await redis.sadd('pumphouse:namespaces', NS);
      await redis.hset(`${base}:meta`, 'format', 1, 'last_queue', 1, 'tidied', nowMs);
      await redis.hset(`${base}:queues`, 'q', 1);
      await redis.hset(`${base}:i1`, 'name', 'q');
      for (const job of jobs) {
        const id = encodeId(job.id)!;
        const key = Buffer.concat([Buffer.from(`${base}j`), id]);
        const value = Buffer.concat([header(job), Buffer.from(job.body ?? 'body')]);
        if (job.expiresMs === undefined) await redis.set(key, value);
        else await redis.set(key, value, 'PX', TTL_MS);
        if (job.attributes !== undefined) {
          const extras = Buffer.concat([Buffer.from(`${base}x`), id]);
          await redis.hset(extras, 'attributes', job.attributes);
          await redis.pexpire(extras, TTL_MS);
        }
        if (job.state === READY) {
          await redis.rpush(`${base}:r1`, Buffer.concat([id, Buffer.from([1])]));
          if (job.expiresMs) await redis.zadd(`${base}:expiries`, 'LT', job.expiresMs, 1);
        } else {
          await redis.zadd(`${base}:${job.state === LEASED ? 'l' : 's'}1`, endsMs, id);
          await redis.zadd(`${base}:due`, 'LT', endsMs, 1);
        }
      }
    }

    /** Redis has removed by now what it was told to remove. */
    async function outlast(): Promise<void> {
      await redis.set('control', '', 'PX', TTL_MS);
      await waitFor(async () => (await redis.exists('control')) === 0);
    }

    it('writes the present format number into a new store, and 3 into an older one', async () => {
      await connect();
      expect(await redis.get('pumphouse:format')).toBe(String(DATA_FORMAT));
      for (const older of [1, 2, 3]) {
        await redis.set('pumphouse:format', older);
        await connect();
        expect(await redis.get('pumphouse:format')).toBe(String(RAISED_TO));
      }
    });

    it('raises the format when it is told to, and not while a server of an older version is connected', async () => {
      await redis.set('pumphouse:format', RAISED_TO);
      const pool = await RedisPool.connect('default', testPoolOptions({ keyPrefix: prefix }), silentLog);
      const engine = new PoolEngine(pool);
      closing.push(async () => {
        await engine.stop();
        await pool.close();
      });
      const byType = { queues: ['q'], types: ['mail'], count: 1, ttrMs: 1_000, waitMs: 0 };
      await expect(engine.lease(NS, byType)).rejects.toMatchObject({ code: 'format_too_old' });
      for (const [field, value] of [
        ['fair', true],
        ['order', 'strict'],
      ] as const)
        await expect(engine.queues.change(NS, 'q', { [field]: value })).rejects.toMatchObject({
          code: 'format_too_old',
          message: expect.stringContaining(`leave \`${field}\` out`) as unknown,
        });
      await expect(engine.queues.pause(NS, 'q', undefined, { type: 'mail' })).rejects.toMatchObject({
        code: 'format_too_old',
      });
      const older = new Redis(testRedisUrl(), { connectionName: 'pumphouse' });
      await older.ping();
      await expect(pool.raiseFormat()).rejects.toThrow(/older version are connected, from 127\.0\.0\.1:/);
      expect(await redis.get('pumphouse:format')).toBe(String(RAISED_TO));
      older.disconnect();
      await waitFor(async () => !String(await redis.client('LIST')).includes(' name=pumphouse '));

      await pool.raiseFormat();
      expect([pool.format, await redis.get('pumphouse:format')]).toEqual([DATA_FORMAT, String(DATA_FORMAT)]);
      expect(await engine.lease(NS, byType)).toEqual([]);
      await engine.queues.change(NS, 'q', { fair: true, order: 'strict' });
      await pool.raiseFormat();
      expect(pool.format).toBe(DATA_FORMAT);
    });

    it('refuses to start on a store of a newer format, and leaves its number', async () => {
      await redis.set('pumphouse:format', DATA_FORMAT + 1);
      await expect(connect()).rejects.toThrow(`data format ${DATA_FORMAT + 1}, which is newer`);
      expect(await redis.get('pumphouse:format')).toBe(String(DATA_FORMAT + 1));
    });

    it.each([
      ['short', 'body'],
      ['long', 'x'.repeat(3_000)],
    ])(
      'keeps jobs of format 1 that die later, beyond the TTL that format 1 set (%s body)',
      async (_name, body) => {
        const expiresMs = nowMs + 3_600_000;
        const tries = 0;
        await leave([
          { id: 'plain', state: LEASED, tries, expiresMs, body },
          { id: 'noted', state: LEASED, tries, expiresMs, body, attributes: '{"a":"b"}' },
          { id: 'forever', state: LEASED, tries, body },
        ]);
        const engine = await connect();
        await engine.pumpNow(NS);
        expect(await engine.deadLetter.head(NS, 'q')).toMatchObject({ size: 3 });
        await outlast();

        expect(await engine.deadLetter.respawn(NS, 'q', 3, 60_000)).toBe(3);
        const jobs = await engine.lease(NS, { queues: ['q'], count: 9, ttrMs: 1_000, waitMs: 0 });
        expect(jobs.map(({ id }) => id).sort()).toEqual(['forever', 'noted', 'plain']);
        for (const job of jobs) expect(job.body.toString()).toBe(body);
        expect(jobs.find(({ id }) => id === 'noted')?.attributes).toEqual({ a: 'b' });
      },
    );

    it('leases the ready jobs, returns the expired leases, and runs the scheduled jobs of format 1', async () => {
      const expiresMs = nowMs + 3_600_000;
      await leave([
        { id: 'ready', state: READY, tries: 2, expiresMs },
        { id: 'leased', state: LEASED, tries: 1, expiresMs },
        { id: 'scheduled', state: SCHEDULED, tries: 1, expiresMs },
      ]);
      const engine = await connect();
      expect(await engine.queues.counts(NS, ['q'])).toMatchObject([{ ready: 1, scheduled: 1, leased: 1 }]);
      await engine.pumpNow(NS);
      const jobs = await engine.lease(NS, { queues: ['q'], count: 9, ttrMs: 1_000, waitMs: 0 });

      expect(jobs.map(({ id, lease }) => [id, lease])).toEqual([
        ['ready', 1],
        ['scheduled', 1],
        ['leased', 2],
      ]);
      for (const { id, lease } of jobs) expect(await engine.ack(NS, 'q', id, lease)).toBe(true);
      await engine.tidyNow(NS);
      expect(await redis.keys(`${prefix}{${NS}}*`)).toEqual([]);
    });

    it('removes the entries of jobs of format 1 that Redis expired', async () => {
      const expiresMs = nowMs + 1;
      const dueMs = nowMs + 5_000;
      await leave(
        [
          { id: 'ready', state: READY, tries: 2, expiresMs },
          { id: 'scheduled', state: SCHEDULED, tries: 1, expiresMs },
          { id: 'leased', state: LEASED, tries: 1, expiresMs },
        ],
        dueMs,
      );
      await outlast();
      const engine = await connect();
      nowMs = dueMs;
      await engine.pumpNow(NS);
      expect(await engine.lease(NS, { queues: ['q'], count: 9, ttrMs: 1_000, waitMs: 0 })).toEqual([]);
      await engine.tidyNow(NS);
      expect(await redis.keys(`${prefix}{${NS}}*`)).toEqual([]);
    });
  });

  describe('a full Redis with data format 1', () => {
    it('can be opened and drained, and gets the format number when there is room', async () => {
      const server = await startRedis();
      const redis = new Redis(server.url, { protocol: 2 });
      const connect = (): Promise<RedisPool> =>
        RedisPool.connect('default', testPoolOptions({ url: server.url }), silentLog);
      const request = { queues: ['q'], count: 9, ttrMs: 60_000, waitMs: 0 };
      try {
        const before = await connect();
        const publisher = new PoolEngine(before);
        for (let i = 0; i < 3; i++) await publisher.publish(NS, 'q', newJob());
        await publisher.stop();
        await before.close();
        await redis.set('pumphouse:format', 1);
        await redis.config('SET', 'maxmemory', 1);
        await expect(redis.set('control', '')).rejects.toThrow(/^OOM/);

        const pool = await connect();
        const engine = new PoolEngine(pool);
        expect(pool.status).toMatchObject({ up: true, degraded: ['full'] });
        expect(await redis.get('pumphouse:format')).toBe('1');
        const jobs = await engine.lease(NS, request);
        expect(jobs).toHaveLength(3);
        for (const { id, lease } of jobs) expect(await engine.ack(NS, 'q', id, lease)).toBe(true);

        await redis.config('SET', 'maxmemory', 0);
        // It is looked at every ten seconds.
        await waitFor(async () => (await redis.get('pumphouse:format')) === String(RAISED_TO), 15_000);
        await engine.stop();
        await pool.close();
      } finally {
        redis.disconnect();
        await server.stop();
      }
    });
  });
});

describe('stores of older builds', () => {
  const NS = 'shop';
  const HOUR_MS = 3_600_000;
  /** What was ready, in its order: body, tries that are left once it is leased, attributes. */
  const READY = [
    ['ready', 2, null],
    ['ready with attributes', 1, { color: 'green' }],
    ['ready for an hour', 2, null],
    ['long '.padEnd(2_000, 'x'), 2, null],
  ];

  /** A Redis of its own with a store of test/fixtures, and engines over it under the clock of that store. */
  function withStore(name: string) {
    const closing: (() => Promise<void>)[] = [];
    const given = {
      server: undefined as unknown as RedisProcess,
      redis: undefined as unknown as Redis,
      store: undefined as unknown as OldStore,
      nowMs: 0,
      closing,
      async open(): Promise<PoolEngine> {
        const pool = await RedisPool.connect(
          'default',
          testPoolOptions({ url: given.server.url }),
          silentLog,
        );
        const engine = new PoolEngine(pool, { clock: () => given.nowMs });
        closing.push(async () => {
          await engine.stop();
          await pool.close();
        });
        return engine;
      },
    };
    beforeEach(async () => {
      given.server = await startRedis();
      given.redis = new Redis(given.server.url, { protocol: 2 });
      given.store = await restoreStore(given.redis, name);
      given.nowMs = given.store.nowMs;
    });
    afterEach(async () => {
      for (const close of closing.splice(0)) await close();
      given.redis.disconnect();
      await given.server.stop();
    });
    return given;
  }

  describe.each([1, 2, 3])('a store of a server with data format %d', (format) => {
    const given = withStore(`format-${format}`);

    /** Leases and acknowledges all that is ready. */
    async function work(engine: PoolEngine, queue = 'mail'): Promise<[string, number, unknown][]> {
      const jobs = await engine.lease(NS, { queues: [queue], count: 50, ttrMs: 1_000, waitMs: 0 });
      for (const { id, lease } of jobs) expect(await engine.ack(NS, queue, id, lease)).toBe(true);
      return jobs.map(({ body, triesLeft, attributes }) => [body.toString(), triesLeft, attributes]);
    }

    it('keeps every job in its state and order, with its tries, attributes and times', async () => {
      expect(await given.redis.get('pumphouse:format')).toBe(String(format));
      const engine = await given.open();
      expect(await given.redis.get('pumphouse:format')).toBe(String(RAISED_TO));
      expect(await Audit.of(given.redis, NS)).toEqual([]);
      expect(await engine.queues.counts(NS, ['mail', 'news'])).toMatchObject([
        { ready: 4, scheduled: 3, leased: 2, dead: 2 },
        { ready: 1, scheduled: 1, leased: 0, dead: 0 },
      ]);
      expect(await work(engine)).toEqual(READY);
      expect(await work(engine, 'news')).toEqual([['chosen', 2, null]]);
      expect(await engine.deadLetter.respawn(NS, 'mail', 9, HOUR_MS)).toBe(2);
      expect(await work(engine)).toEqual([
        ['dead', 0, null],
        ['dead with attributes', 0, { color: 'red' }],
      ]);

      given.nowMs = given.store.nowMs + 4_999;
      await engine.pumpNow(NS);
      expect(await work(engine)).toEqual([]);
      given.nowMs += 1;
      await engine.pumpNow(NS);
      expect(await work(engine)).toEqual([['near', 2, null]]);
      given.nowMs = given.store.nowMs + 60_000;
      await engine.pumpNow(NS);
      expect(await work(engine)).toEqual([['leased', 0, null]]);
      expect(await engine.deadLetter.head(NS, 'mail')).toMatchObject({ size: 1 });
      given.nowMs = given.store.nowMs + 2 * HOUR_MS - 1;
      await engine.pumpNow(NS);
      expect(await work(engine)).toEqual([]);
      given.nowMs += 1;
      await engine.pumpNow(NS);
      expect(await work(engine)).toEqual([
        ['far', 2, null],
        ['far with attributes', 2, { color: 'blue' }],
      ]);
      expect(await work(engine, 'news')).toEqual([['chosen, far', 2, null]]);

      expect(await Audit.of(given.redis, NS)).toEqual([]);
      expect(await engine.deadLetter.delete(NS, 'mail', 1)).toBe(1);
      await engine.tidyNow(NS);
      expect(await given.redis.keys(`{${NS}}j*`)).toEqual([]);
    });

    it('takes the acknowledgements of earlier leases, and new operations', async () => {
      const engine = await given.open();
      for (const { id, lease } of given.store.leases)
        expect(await engine.ack(NS, 'mail', id, lease)).toBe(true);
      const extended = { queue: 'mail', body: Buffer.from('rich'), priority: -5, tags: ['new'] };
      await engine.components.extendedPublisher.publish(NS, [extended]);
      const request = { queues: ['mail'], count: 2, ttrMs: 10_000, waitMs: 0 };
      const [first, second] = await engine.lease(NS, request);
      expect([first, second].map((job) => job?.body.toString())).toEqual(['rich', 'ready']);
      // A simple job of the old format becomes an extended one.
      const { id, lease } = second!;
      const failure = { group: 'smtp', message: 'no', delayMs: 1_000 };
      expect(await engine.settle.retry(NS, { id, lease, ...failure })).toMatchObject({
        state: 'scheduled',
      });
      given.nowMs += 1_000;
      await engine.pumpNow(NS);
      expect((await work(engine)).map(([body]) => body)).toEqual([
        ...READY.slice(1).map(([body]) => body),
        'ready',
      ]);
      expect(await Audit.of(given.redis, NS)).toEqual([]);
    });

    it('accepts its tokens over HTTP, and no other token', async () => {
      const app = await TestApp.start({ PUMPHOUSE_POOLS__DEFAULT__URL: given.server.url }, () => given.nowMs);
      given.closing.push(() => app.stop());
      const options = { token: 'old-token' };
      expect(await app.get('/api/shop/mail/size', options)).toMatchObject({ status: 200, json: { size: 4 } });
      const { status, json } = await app.get('/api/shop/mail?ttr=5', options);
      expect({ status, json }).toMatchObject({ status: 200, json: { remain_tries: 2, data: 'cmVhZHk=' } });
      const { job_id } = json as { job_id: string };
      expect(await app.delete(`/api/shop/mail/job/${job_id}`, options)).toMatchObject({ status: 204 });
      expect(await app.get('/api/shop/mail/size', { token: 'another' })).toMatchObject({ status: 401 });
    });
  });

  describe('extended jobs that a server of data format 3 left', () => {
    const given = withStore('format-3');
    const MILL = 'mill';
    const work = (engine: PoolEngine, queues = ['work'], count = 50): Promise<LeasedJob[]> =>
      engine.lease(MILL, { queues, count, ttrMs: 600_000, waitMs: 0 });
    const idsOf = (jobs: readonly { readonly id: string }[]): string[] => jobs.map(({ id }) => id);
    /** But for what docs/storage.md says of early servers: a job that they cancelled has the place of a done one. */
    const audit = async (): Promise<string[]> =>
      [
        ...(await Audit.of(given.redis, MILL)),
        ...(await auditIndexes(given.redis, MILL)),
        ...(await edgeProblems(given.redis, MILL)),
      ].filter((problem) => !problem.startsWith('cancelled: kept at '));

    it('are found in their states, with their options and results', async () => {
      const engine = await given.open();
      expect(await audit()).toEqual([]);
      expect(await engine.queues.counts(MILL, ['work', 'limited'])).toMatchObject([
        { ready: 4, scheduled: 2, leased: 1, dead: 2, blocked: 2, stuck: 1, done: 2, cancelled: 0 },
        { ready: 0, held: 1, leased: 1 },
      ]);
      const { jobReader, lists, tags } = engine.components;
      const failure = { group: 'smtp', worker: 'host-1' };
      const known: Readonly<Record<string, object>> = {
        failed: { state: 'dead', type: 'mail', tags: ['t'], failures: 1, failure, attempts: 1 },
        expired: { state: 'dead', crashes: 1, tries: 1, triesLeft: 0, failure: { group: 'lease_expired' } },
        done: { state: 'done', triesLeft: 2 },
        cancelled: { state: 'cancelled', attempts: 0 },
        retried: { state: 'scheduled', failures: 1, failure, triesLeft: 2 },
        leased: { state: 'leased', type: 'mail', tags: ['t', 'u'], progress: { sent: 1 }, worker: 'host-1' },
        blocked: { state: 'blocked', dependsOn: ['leased'] },
        stuck: { state: 'blocked', failedDependencies: { failed: 'died' } },
        scheduled: { state: 'scheduled', uniqueKey: 'u' },
        'ready-last': {
          state: 'ready',
          priority: 5,
          attributes: { color: 'red' },
          contentType: 'text/plain',
        },
        'ready-first': { state: 'ready', priority: -5, tags: ['t'] },
        ready: { state: 'ready', type: 'mail' },
        simple: { state: 'ready', tries: 2 },
        running: { state: 'leased', concurrencyKey: 'k' },
        held: { state: 'held', concurrencyKey: 'k' },
      };
      for (const [id, facts] of Object.entries(known)) {
        const job = await jobReader.find(MILL, id);
        expect({ ...job, body: job?.body.toString() }).toMatchObject({ id, body: id, ...facts });
      }
      expect((await jobReader.find(MILL, 'done'))?.result?.body.toString()).toBe('[1]');
      const tagged = await lists.list(MILL, { tag: 't' }, { limit: 50 });
      expect(idsOf(tagged.items).sort()).toEqual(['failed', 'leased', 'ready-first']);
      expect((await tags.tags(MILL, { limit: 50 })).items).toEqual([
        { name: 't', jobs: 3 },
        { name: 'u', jobs: 1 },
      ]);
    });

    it('keep their order, limits, dependencies, policies, unique keys and leases', async () => {
      const engine = await given.open();
      const { components } = engine;
      expect(idsOf(await work(engine))).toEqual(['ready-first', 'ready', 'simple', 'ready-last']);
      // The key has one slot, which `running` has.
      expect(await work(engine, ['limited'])).toEqual([]);
      const [leased, running] = given.store.extended!;
      const unique = { key: 'u', mode: 'reject' as const };
      const another = { queue: 'work', body: Buffer.from('x'), unique };
      await expect(components.extendedPublisher.publish(MILL, [another])).rejects.toMatchObject({
        code: 'unique_key_taken',
      });
      expect(await components.leaseOperations.complete(MILL, [leased!, running!])).toEqual(['done', 'done']);
      await engine.pumpNow(MILL);
      expect(idsOf(await work(engine, ['work', 'limited']))).toEqual(['blocked', 'held']);
      expect(await components.jobReader.find(MILL, 'leased')).toMatchObject({ state: 'done' });

      await components.deadJobs.respawnIds(MILL, ['failed'], { ttlMs: 0, tries: 'reset' });
      await engine.pumpNow(MILL);
      expect(await components.jobReader.find(MILL, 'stuck')).toMatchObject({ dependsOn: ['failed'] });
      const [failed] = await work(engine);
      expect(await engine.ack(MILL, 'work', 'failed', failed?.lease)).toBe(true);
      await engine.pumpNow(MILL);
      expect(idsOf(await work(engine))).toEqual(['stuck']);
      given.nowMs += 10_000;
      await engine.pumpNow(MILL);
      expect(idsOf(await work(engine)).sort()).toEqual(['retried', 'scheduled']);
      expect(await audit()).toEqual([]);
    });

    it('return without a failure when their lease expires, as jobs of lmstfy’s API', async () => {
      const engine = await given.open();
      const [leased] = given.store.extended!;
      given.nowMs += 60_000;
      await engine.pumpNow(MILL);
      expect(await engine.jobs.find(MILL, 'leased')).toMatchObject({
        ...{ state: 'ready', crashes: 1, failure: null, triesLeft: 2 },
      });
      // Its last holder is accepted until the next lease.
      const late = { ...leased!, group: 'late', message: '', delayMs: 0, data: { body: Buffer.from('new') } };
      expect(await engine.settle.retry(MILL, late)).toMatchObject({ state: 'ready' });
      expect((await engine.jobs.find(MILL, 'leased'))?.body.toString()).toBe('new');
      expect(await audit()).toEqual([]);
    });

    it('accept calls that data format 3 did not have: put, revoke, change of tries, cancel of many, delete', async () => {
      const engine = await given.open();
      const { jobs, components } = engine;
      const body = Buffer.from('put');
      expect(await jobs.put(MILL, { queue: 'work', id: 'ready', body })).toMatchObject({
        ...{ id: 'ready', state: 'ready', isReplaced: true },
      });
      expect(await jobs.put(MILL, { queue: 'work', id: 'done', body })).toMatchObject({
        isReplaced: false,
      });
      await expect(jobs.put(MILL, { queue: 'work', id: 'leased', body })).rejects.toMatchObject({
        code: 'leased',
      });
      expect(await engine.settle.revoke(MILL, 'leased')).toMatchObject({ state: 'ready' });
      await components.jobUpdater.change(MILL, 'leased', { tries: 9, type: 'other', tags: [] });
      await components.jobUpdater.change(MILL, 'simple', { tries: 9, type: 'other' });
      for (const id of ['leased', 'simple'])
        expect(await components.jobReader.find(MILL, id)).toMatchObject({
          tries: 9,
          triesLeft: 9,
          type: 'other',
        });
      const cancelled = await components.jobCanceller.cancelMany(
        MILL,
        ['leased', 'blocked', 'cancelled'],
        {},
      );
      expect(cancelled.map(({ outcome }) => outcome)).toEqual([
        'cancelled',
        'cancelled',
        'already_cancelled',
      ]);
      for (const id of ['cancelled', 'expired', 'scheduled']) await components.jobCanceller.remove(MILL, id);
      await expect(components.jobCanceller.remove(MILL, 'failed')).rejects.toMatchObject({
        code: 'has_dependents',
      });
      await engine.pumpNow(MILL);
      expect(await audit()).toEqual([]);
    });
  });

  describe('a store in which a version before 0.2.0 put jobs into two places', () => {
    const given = withStore('damaged');
    const drain = async (engine: PoolEngine, queue: string): Promise<string[]> =>
      (await engine.lease(NS, { queues: [queue], count: 50, ttrMs: 60_000, waitMs: 0 })).map(({ id }) => id);

    it('has jobs in two places, wrong counts, and jobs without a queue', async () => {
      const problems = (await Audit.of(given.redis, NS)).join('; ');
      expect(problems).toMatch(/double-1: should be in p1 alone, is in \[r1,p1\]/);
      expect(problems).toMatch(/lost-extended: .*is in \[\]/);
      expect(problems).toMatch(/line 2: 1 stale entries counted, 0 are there/);
    });

    it('leases each job once from the start, before the janitor ran', async () => {
      const engine = await given.open();
      expect(await drain(engine, 'double')).toEqual(['double-2', 'double-1']);
      expect(await drain(engine, 'counted')).toEqual(['counted-3', 'counted-4', 'counted-5']);
    });

    it('keeps a queue whose jobs are not counted', async () => {
      const engine = await given.open();
      await engine.lease(NS, { queues: ['counted'], count: 2, ttrMs: 60_000, waitMs: 0 });
      for (const { id } of given.store.leases) await engine.ack(NS, 'counted', id);
      for (const id of ['counted-2', 'counted-3', 'counted-4']) await engine.ack(NS, 'counted', id);
      expect(await engine.queues.counts(NS, ['counted'])).toMatchObject([{ ready: 0, leased: 0 }]);
      await expect(engine.components.queueControls.forget(NS, 'counted')).rejects.toMatchObject({
        code: 'queue_not_empty',
      });
      await engine.tidyNow(NS);
      expect(await engine.queues.counts(NS, ['counted'])).toMatchObject([{ ready: 1 }]);
      expect(await drain(engine, 'counted')).toEqual(['counted-5']);
    });

    it('is repaired by the janitor: counts are right, and jobs without a queue are dead jobs of the queue recovered', async () => {
      const engine = await given.open();
      // Each queue that has stale entries is swept once in 32 minutes.
      for (let minute = 0; minute < 32; minute++) {
        given.nowMs += 60_000;
        await engine.tidyNow(NS);
      }
      expect(await engine.recoverNow()).toBe(2);
      await engine.pumpNow(NS);

      expect(await Audit.of(given.redis, NS)).toEqual([]);
      expect(await engine.queues.counts(NS, ['double', 'counted'])).toMatchObject([
        { ready: 2 },
        { ready: 5 },
      ]);
      const [, head] = await Promise.all([engine.recoverNow(), engine.deadLetter.head(NS, 'recovered')]);
      expect(head).toMatchObject({ size: 2 });
      expect(await engine.jobs.find(NS, 'lost-extended')).toMatchObject({
        queue: 'recovered',
        state: 'dead',
        tags: ['t'],
        failure: {
          group: 'queue_deleted',
          message: expect.stringContaining('queue 3 was deleted') as string,
        },
      });
      await engine.components.deadJobs.respawn(
        NS,
        { queue: 'recovered' },
        { queue: 'mail', ttlMs: 0, tries: 'reset' },
      );
      const back = await engine.lease(NS, { queues: ['mail'], count: 9, ttrMs: 60_000, waitMs: 0 });
      expect(back.map(({ body }) => body.toString()).sort()).toEqual(['lost and simple', 'lost-extended']);
      expect(await Audit.of(given.redis, NS)).toEqual([]);
    });

    it('keeps the count of a real stale entry at a recount', async () => {
      const engine = await given.open();
      for (const id of ['new-1', 'new-2', 'new-3']) await engine.publish(NS, 'mail', newJob({ id }));
      await engine.ack(NS, 'mail', 'new-2');
      const [number] = await given.redis.hmget(`{${NS}}:queues`, 'mail');
      // One that a sweep has not passed yet, for it is new.
      const pool = await RedisPool.connect('default', testPoolOptions({ url: given.server.url }), silentLog);
      given.closing.push(() => pool.close());
      const runner = new ScriptRunner(pool, silentObserver, () => given.nowMs);
      await runner.run(recount, NS, { number: Number(number) });
      expect(await engine.queues.counts(NS, ['mail'])).toMatchObject([{ ready: 2 }]);
    });

    it('is marked as repaired, and the mark does not expire', async () => {
      const engine = await given.open();
      await engine.recoverNow();
      expect(await given.redis.get('pumphouse:recovered')).toBe('done');
      expect(await given.redis.pttl('pumphouse:recovered')).toBe(-1);
    });
  });
});
