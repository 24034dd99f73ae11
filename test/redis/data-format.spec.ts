import { Redis } from 'ioredis';
import { QueueEngine } from '../../src/engine/engine.js';
import { encodeId } from '../../src/engine/ids.js';
import { DATA_FORMAT } from '../../src/redis/inspect.js';
import { RedisPool } from '../../src/redis/pool.js';
import { randomNamespace, startRedis, testRedisUrl, waitFor } from '../support/redis.js';
import { newJob, silentLog, testPoolOptions } from './fixture.js';

const [READY, SCHEDULED, LEASED] = [1, 2, 3];
const NS = 'old';
/** So long do Redis's own TTLs last here: a moment, where format 1 left ten minutes beyond a job's ttl. */
const TTL_MS = 400;

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

describe('a Redis with another data format', () => {
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

  async function connect(): Promise<QueueEngine> {
    const pool = await RedisPool.connect('default', testPoolOptions({ keyPrefix: prefix }), silentLog);
    const engine = new QueueEngine(pool, { clock: () => nowMs });
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

  it('is given the number of ours, the first time and after an older one', async () => {
    await connect();
    expect(await redis.get('pumphouse:format')).toBe(String(DATA_FORMAT));
    await redis.set('pumphouse:format', 1);
    await connect();
    expect(await redis.get('pumphouse:format')).toBe(String(DATA_FORMAT));
  });

  it('is refused when it is newer than ours, and stays as it is', async () => {
    await redis.set('pumphouse:format', DATA_FORMAT + 1);
    await expect(connect()).rejects.toThrow(`data format ${DATA_FORMAT + 1}, which is newer`);
    expect(await redis.get('pumphouse:format')).toBe(String(DATA_FORMAT + 1));
  });

  it.each([
    ['short', 'body'],
    ['long', 'x'.repeat(3_000)],
  ])(
    'keeps its dead: jobs that die now outlive the TTL that format 1 gave them (%s)',
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
      expect(await engine.deadLetterHead(NS, 'q')).toMatchObject({ size: 3 });
      await outlast();

      expect(await engine.respawn(NS, 'q', 3, 60_000)).toBe(3);
      const jobs = await engine.reserve(NS, { queues: ['q'], count: 9, ttrMs: 1_000, waitMs: 0 });
      expect(jobs.map(({ id }) => id).sort()).toEqual(['forever', 'noted', 'plain']);
      for (const job of jobs) expect(job.body.toString()).toBe(body);
      expect(jobs.find(({ id }) => id === 'noted')?.attributes).toEqual({ a: 'b' });
    },
  );

  it('gives out what is ready, comes back with what was leased, and brings what was scheduled', async () => {
    const expiresMs = nowMs + 3_600_000;
    await leave([
      { id: 'ready', state: READY, tries: 2, expiresMs },
      { id: 'leased', state: LEASED, tries: 1, expiresMs },
      { id: 'scheduled', state: SCHEDULED, tries: 1, expiresMs },
    ]);
    const engine = await connect();
    expect(await engine.counts(NS, ['q'])).toMatchObject([{ ready: 1, scheduled: 1, leased: 1 }]);
    await engine.pumpNow(NS);
    const jobs = await engine.reserve(NS, { queues: ['q'], count: 9, ttrMs: 1_000, waitMs: 0 });

    expect(jobs.map(({ id, lease }) => [id, lease])).toEqual([
      ['ready', 1],
      ['scheduled', 1],
      ['leased', 2],
    ]);
    for (const { id, lease } of jobs) expect(await engine.ack(NS, 'q', id, lease)).toBe(true);
    await engine.tidyNow(NS);
    expect(await redis.keys(`${prefix}{${NS}}*`)).toEqual([]);
  });

  it('is rid of the places of jobs that Redis removed itself', async () => {
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
    expect(await engine.reserve(NS, { queues: ['q'], count: 9, ttrMs: 1_000, waitMs: 0 })).toEqual([]);
    await engine.tidyNow(NS);
    expect(await redis.keys(`${prefix}{${NS}}*`)).toEqual([]);
  });
});

describe('a full Redis with an older data format', () => {
  it('can be opened and drained, and is given the number of ours when there is room', async () => {
    const server = await startRedis();
    const redis = new Redis(server.url, { protocol: 2 });
    const connect = (): Promise<RedisPool> =>
      RedisPool.connect('default', testPoolOptions({ url: server.url }), silentLog);
    const question = { queues: ['q'], count: 9, ttrMs: 60_000, waitMs: 0 };
    try {
      const before = await connect();
      const publisher = new QueueEngine(before);
      for (let i = 0; i < 3; i++) await publisher.publish(NS, 'q', newJob());
      await publisher.stop();
      await before.close();
      await redis.set('pumphouse:format', 1);
      await redis.config('SET', 'maxmemory', 1);
      await expect(redis.set('control', '')).rejects.toThrow(/^OOM/);

      const pool = await connect();
      const engine = new QueueEngine(pool);
      expect(pool.status).toMatchObject({ up: true, degraded: ['full'] });
      expect(await redis.get('pumphouse:format')).toBe('1');
      const jobs = await engine.reserve(NS, question);
      expect(jobs).toHaveLength(3);
      for (const { id, lease } of jobs) expect(await engine.ack(NS, 'q', id, lease)).toBe(true);

      await redis.config('SET', 'maxmemory', 0);
      // It is looked at every ten seconds.
      await waitFor(async () => (await redis.get('pumphouse:format')) === String(DATA_FORMAT), 15_000);
      await engine.stop();
      await pool.close();
    } finally {
      redis.disconnect();
      await server.stop();
    }
  });
});
