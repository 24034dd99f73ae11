import { Redis } from 'ioredis';
import { QueueEngine } from '../../src/engine/engine.js';
import { DATA_FORMAT } from '../../src/redis/inspect.js';
import { RedisPool } from '../../src/redis/pool.js';
import { TestApp } from '../support/app.js';
import { restoreStore, type OldStore } from '../support/old-store.js';
import { startRedis, type RedisProcess } from '../support/redis.js';
import { Audit } from './audit.js';
import { silentLog, testPoolOptions } from './fixture.js';

const NS = 'shop';
const HOUR_MS = 3_600_000;
/** What was ready, in its order: body, tries that are left once it is leased, attributes. */
const READY = [
  ['ready', 2, null],
  ['ready with attributes', 1, { color: 'green' }],
  ['ready for an hour', 2, null],
  ['long '.padEnd(2_000, 'x'), 2, null],
];

describe.each([1, 2])('a store that a server of data format %d left', (format) => {
  let server: RedisProcess;
  let redis: Redis;
  let store: OldStore;
  let nowMs: number;
  const closing: (() => Promise<void>)[] = [];
  beforeEach(async () => {
    server = await startRedis();
    redis = new Redis(server.url, { protocol: 2 });
    store = await restoreStore(redis, format);
    nowMs = store.nowMs;
  });
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
    redis.disconnect();
    await server.stop();
  });

  async function open(): Promise<QueueEngine> {
    const pool = await RedisPool.connect('default', testPoolOptions({ url: server.url }), silentLog);
    const engine = new QueueEngine(pool, { clock: () => nowMs });
    closing.push(async () => {
      await engine.stop();
      await pool.close();
    });
    return engine;
  }

  /** Leases and acknowledges all that is ready. */
  async function work(engine: QueueEngine, queue = 'mail'): Promise<[string, number, unknown][]> {
    const jobs = await engine.reserve(NS, { queues: [queue], count: 50, ttrMs: 1_000, waitMs: 0 });
    for (const { id, lease } of jobs) expect(await engine.ack(NS, queue, id, lease)).toBe(true);
    return jobs.map(({ body, triesLeft, attributes }) => [body.toString(), triesLeft, attributes]);
  }

  it('is served as it is: every job in its state, order, with its tries, attributes and times', async () => {
    expect(await redis.get('pumphouse:format')).toBe(String(format));
    const engine = await open();
    expect(await redis.get('pumphouse:format')).toBe(String(DATA_FORMAT));
    expect(await Audit.of(redis, NS)).toEqual([]);
    expect(await engine.counts(NS, ['mail', 'news'])).toMatchObject([
      { ready: 4, scheduled: 3, leased: 2, dead: 2 },
      { ready: 1, scheduled: 1, leased: 0, dead: 0 },
    ]);
    expect(await work(engine)).toEqual(READY);
    expect(await work(engine, 'news')).toEqual([['chosen', 2, null]]);
    expect(await engine.respawn(NS, 'mail', 9, HOUR_MS)).toBe(2);
    expect(await work(engine)).toEqual([
      ['dead', 0, null],
      ['dead with attributes', 0, { color: 'red' }],
    ]);

    nowMs = store.nowMs + 4_999;
    await engine.pumpNow(NS);
    expect(await work(engine)).toEqual([]);
    nowMs += 1;
    await engine.pumpNow(NS);
    expect(await work(engine)).toEqual([['near', 2, null]]);
    nowMs = store.nowMs + 60_000;
    await engine.pumpNow(NS);
    expect(await work(engine)).toEqual([['leased', 0, null]]);
    expect(await engine.deadLetterHead(NS, 'mail')).toMatchObject({ size: 1 });
    nowMs = store.nowMs + 2 * HOUR_MS - 1;
    await engine.pumpNow(NS);
    expect(await work(engine)).toEqual([]);
    nowMs += 1;
    await engine.pumpNow(NS);
    expect(await work(engine)).toEqual([
      ['far', 2, null],
      ['far with attributes', 2, { color: 'blue' }],
    ]);
    expect(await work(engine, 'news')).toEqual([['chosen, far', 2, null]]);

    expect(await Audit.of(redis, NS)).toEqual([]);
    expect(await engine.deleteDead(NS, 'mail', 1)).toBe(1);
    await engine.tidyNow(NS);
    expect(await redis.keys(`{${NS}}j*`)).toEqual([]);
  });

  it('takes the acknowledgements of those who leased before, and what jobs could not do then', async () => {
    const engine = await open();
    for (const { id, lease } of store.leases) expect(await engine.ack(NS, 'mail', id, lease)).toBe(true);
    const rich = { queue: 'mail', body: Buffer.from('rich'), priority: -5, tags: ['new'] };
    await engine.full.publishing.publish(NS, [rich]);
    const asked = { queues: ['mail'], count: 2, ttrMs: 10_000, waitMs: 0 };
    const [first, second] = await engine.reserve(NS, asked);
    expect([first, second].map((job) => job?.body.toString())).toEqual(['rich', 'ready']);
    // A plain job of that time becomes a rich one.
    const { id, lease } = second!;
    const failure = { group: 'smtp', message: 'no', delayMs: 1_000 };
    expect(await engine.full.owners.retry(NS, { id, lease, ...failure })).toMatchObject({
      state: 'scheduled',
    });
    nowMs += 1_000;
    await engine.pumpNow(NS);
    expect((await work(engine)).map(([body]) => body)).toEqual([
      ...READY.slice(1).map(([body]) => body),
      'ready',
    ]);
    expect(await Audit.of(redis, NS)).toEqual([]);
  });

  it('opens to its tokens, over HTTP', async () => {
    const app = await TestApp.start({ PUMPHOUSE_POOLS__DEFAULT__URL: server.url }, () => nowMs);
    closing.push(() => app.stop());
    const options = { token: 'old-token' };
    expect(await app.get('/api/shop/mail/size', options)).toMatchObject({ status: 200, json: { size: 4 } });
    const { status, json } = await app.get('/api/shop/mail?ttr=5', options);
    expect({ status, json }).toMatchObject({ status: 200, json: { remain_tries: 2, data: 'cmVhZHk=' } });
    const { job_id } = json as { job_id: string };
    expect(await app.delete(`/api/shop/mail/job/${job_id}`, options)).toMatchObject({ status: 204 });
    expect(await app.get('/api/shop/mail/size', { token: 'another' })).toMatchObject({ status: 401 });
  });
});
