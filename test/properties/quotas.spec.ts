import fc from 'fast-check';
import { Redis } from 'ioredis';
import type { Quotas } from '../../src/domain/job/quotas.js';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { RedisPool } from '../../src/redis/pool.js';
import { startRedis, randomNamespace, type RedisProcess } from '../support/redis.js';
import { Audit } from '../engine/audit.js';
import { newJob, silentLog, testPoolOptions, type EngineFixture } from '../engine/fixture.js';
import { QUEUES, Twin } from '../engine/twin.js';
import { SEED, SLOWNESS, propertyRuns } from '../support/scale.js';

const RUNS = Math.ceil(propertyRuns(40) / 4);
const SETTINGS = {
  numRuns: RUNS,
  seed: SEED,
  interruptAfterTimeLimit: 150_000 * SLOWNESS,
  markInterruptAsFailure: true,
};
/** Beyond all that a run stores: bytes are counted, and nothing is refused. */
const VAST: Partial<Quotas> = { queues: 1_000, jobsPerQueue: 1_000_000, bytes: 1_000_000_000 };

const queue = fc.constantFrom(...QUEUES);
const small = fc.nat({ max: 7 });

/** A server with a quota on bytes and one without, of which each operation takes one. */
class Mixed {
  nowMs = Date.now();
  engine: PoolEngine;
  private readonly engines: readonly PoolEngine[];

  constructor(readonly pool: RedisPool) {
    const clock = (): number => this.nowMs;
    this.engines = [new PoolEngine(pool, { clock, quotas: VAST }), new PoolEngine(pool, { clock })];
    this.engine = this.with(true);
  }

  with(quota: boolean): PoolEngine {
    return (this.engine = this.engines[quota ? 0 : 1]!);
  }
}

type Act = (twin: Twin, a: number, b: number, queue: string) => Promise<void>;
const job = (a: number, b: number): Omit<ReturnType<typeof newJob>, 'id'> =>
  newJob({
    body: Buffer.alloc(a * 37),
    delayMs: [0, 0, 0, 500, 700_000][b % 5]!,
    ttlMs: [0, 0, 900, 1_000_000][(a + b) % 4]!,
    tries: 1 + (b % 2),
    ...(a === 3 ? { attributes: { color: 'red' } } : {}),
  });
const id = (a: number): string | null => (a % 3 === 0 ? `chosen-${String(a)}` : null);
const ACTS: Readonly<Record<string, Act>> = {
  publish: (twin, a, b, name) =>
    twin.publish(
      Array.from({ length: 1 + (a % 4) }, (_, i) => ({ queue: name, id: id(a + i), job: job(a, b) })),
    ),
  republish: (twin, a, b, name) =>
    twin.republish(name, twin.ids.at(-1 - (b % twin.ids.length))!, {
      queue: name,
      id: id(a),
      job: job(b, a),
    }),
  lease: (twin, a, b, name) => twin.lease([{ queues: [name], count: 1 + a, ttrMs: 120 * b }]),
  ack: (twin, a, _b, name) => twin.ack(name, twin.ids.at(-1 - (a % twin.ids.length))!, 0),
  undo: (twin, a) => twin.undo(twin.leases.slice(-1 - (a % 3))),
  later: async (twin, a, b) => {
    twin.advance(b === 7 ? 720_000 : a * 200);
    if (b % 2 === 0) await twin.pump();
  },
  tidy: (twin) => twin.tidy(),
  destroy: (twin, a, _b, name) => (a === 0 ? twin.destroy(name) : twin.tidy()),
  respawn: (twin, a, b, name) => twin.respawn(name, 1 + a, b % 2 === 0 ? 0 : 500),
  deleteDead: (twin, a, _b, name) => twin.deleteDead(name, 1 + (a % 3)),
};
const step = fc.record({
  act: fc.constantFrom(...Object.keys(ACTS), 'publish', 'publish', 'lease', 'lease', 'later', 'later'),
  a: small,
  b: small,
  queue,
  quota: fc.integer({ min: 0, max: 3 }).map((die) => die > 0),
});

describe('a namespace under quotas', () => {
  let process_: RedisProcess;
  let redis: Redis;
  let pool: RedisPool;
  beforeAll(async () => {
    // Its own: to count walks over all keys there are, those of other specs too.
    process_ = await startRedis();
    redis = new Redis(process_.url, { protocol: 2 });
    pool = await RedisPool.connect('default', testPoolOptions({ url: process_.url }), silentLog);
  });
  afterAll(async () => {
    redis.disconnect();
    await pool.close();
    await process_.stop();
  });

  it(`has exactly the counted bytes, over ${RUNS} random sequences`, async () => {
    let steps = 0;
    const play = async (
      plan: readonly { act: string; a: number; b: number; queue: string; quota: boolean }[],
    ): Promise<void> => {
      const mixed = new Mixed(pool);
      const twin = new Twin(mixed as unknown as EngineFixture, redis);
      for (const [i, { act, a, b, queue: name, quota }] of plan.entries()) {
        mixed.with(quota);
        await ACTS[act]!(twin, a, b, name);
        steps++;
        // The audit holds the sum against what the jobs say; so does each comparison.
        if (i % 8 === 7) await twin.compare();
      }
      await mixed.with(true).countBytesNow();
      const keys = await redis.keysBuffer(`{${twin.ns}}j*`);
      const lengths = await Promise.all(keys.map((key) => redis.strlen(key)));
      const there = lengths.reduce((sum, length) => sum + length - 24, 0);
      expect(Number((await redis.hget(`{${twin.ns}}:meta`, 'bytes')) ?? 0)).toBe(there);
      await twin.compare();
      await twin.clear();
    };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 90, size: 'max' }), play),
      SETTINGS,
    );
    console.log(`seed ${SEED}, ${steps} operations`);
    expect(steps).toBeGreaterThan(RUNS * 20);
  }, 200_000);

  it(`refuses only what exceeds a quota, over ${RUNS} random sequences`, async () => {
    const quotas = { queues: 2, jobsPerQueue: 6, bytes: 100 };
    const engine = new PoolEngine(pool, { quotas });
    const seen = new Map<string, number>();
    const call = fc.record({
      queue,
      count: fc.integer({ min: 1, max: 4 }),
      bytes: fc.nat({ max: 30 }),
      ack: small,
    });

    /** What must become of a call, by what is there now. */
    const expected = async (ns: string, name: string, count: number, bytes: number): Promise<string> => {
      const names = await engine.queues.names(ns);
      const [there] = await engine.queues.counts(ns, [name]);
      const keys = await redis.keysBuffer(`{${ns}}j*`);
      const lengths = await Promise.all(keys.map((key) => redis.strlen(key)));
      const jobs = there!.ready + there!.scheduled + there!.leased + there!.dead;
      if (!names.includes(name) && names.length >= quotas.queues) return 'too_many_queues';
      if (jobs + count > quotas.jobsPerQueue) return 'queue_full';
      return lengths.reduce((sum, length) => sum + length - 24, count * bytes) > quotas.bytes
        ? 'namespace_full'
        : 'stored';
    };
    const play = async (
      calls: readonly { queue: string; count: number; bytes: number; ack: number }[],
    ): Promise<void> => {
      const ns = randomNamespace('quota');
      const ids: [string, string][] = [];
      for (const { queue: name, count, bytes, ack } of calls) {
        const right = await expected(ns, name, count, bytes);
        const jobs = Array.from({ length: count }, () =>
          newJob({ body: Buffer.alloc(bytes), delayMs: ack === 7 ? 10_000 : 0 }),
        );
        const outcome = await engine.publishMany(ns, name, jobs).then(
          (stored) => {
            ids.push(...stored.map((one): [string, string] => [name, one]));
            return 'stored';
          },
          (error: unknown) => String(Reflect.get(Object(error) as object, 'code')),
        );
        expect(outcome).toBe(right);
        seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
        for (const [of, one] of ids.splice(0, ack % 4)) await engine.ack(ns, of, one);
        if (ack === 6) await engine.tidyNow(ns);
      }
      expect(await Audit.of(redis, ns)).toEqual([]);
    };
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 15, maxLength: 40, size: 'max' }), play),
      SETTINGS,
    );
    console.log(`seed ${SEED}, ${JSON.stringify(Object.fromEntries(seen))}`);
    for (const outcome of ['stored', 'too_many_queues', 'queue_full', 'namespace_full'])
      expect(seen.get(outcome)).toBeGreaterThan(RUNS / 4);
  }, 200_000);
});
