import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Audit } from '../engine/audit.js';
import { EngineFixture, newJob } from '../engine/fixture.js';
import { randomFrom } from '../support/random.js';
import { Starvation } from '../support/own-time.js';
import { startRedis, waitFor, type RedisProcess } from '../support/redis.js';
import { IS_LONG, SEED } from '../support/scale.js';

/** Jobs, and the longest delay, in ms. */
const [JOBS, DELAY_MS] = IS_LONG ? [10_000, 5_000] : [400, 2_000];
/** Jobs of the load beside them, per second. */
const LOAD = IS_LONG ? 2_000 : 500;
/** Jobs of one instant. */
const HERD = IS_LONG ? 1_000_000 : 20_000;
/** A lost timer is later: the sweep of each second would find the job. */
const LATE_P50_MS = 250;
/** A job that is due is not later than so many times what a job without a delay takes on this machine, at the same time. */
const UNDELAYED = 5;

const random = randomFrom(SEED);

/** Numbers, sorted, to be asked by their share. */
function shares(numbers: readonly number[]): (share: number) => number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return (share) => sorted[Math.floor((sorted.length - 1) * share)]!;
}

describe('two servers with many delayed jobs', () => {
  let redis: RedisProcess;
  let f: EngineFixture;
  let g: EngineFixture;
  beforeEach(async () => {
    redis = await startRedis();
    f = await EngineFixture.open({}, { url: redis.url });
    g = await EngineFixture.open({}, { url: redis.url });
  });
  afterEach(async () => {
    await Promise.all([f.close(), g.close()]);
    await redis.stop();
  });

  it.each(['idle', 'under load'])(
    `T8: bring ${JOBS} delayed jobs never early, and soon: %s`,
    async (how) => {
      f.engine.start();
      g.engine.start();
      const state = { isOver: false };
      const load = how === 'idle' ? Promise.resolve() : work(() => !state.isOver);
      const sent = new Map<string, { sentMs: number; delayMs: number }>();
      const late: number[] = [];
      const undelayed: number[] = [];
      const starvation = new Starvation();
      const consumers = Array.from({ length: 20 }, async (_, i) => {
        const server = i % 2 === 0 ? f : g;
        const request = { queues: ['timed'], count: 1, ttrMs: 60_000, waitMs: 500 };
        while (late.length < JOBS) {
          for (const { body } of await server.engine.lease(f.ns, request)) {
            const { sentMs, delayMs } = sent.get(body.toString())!;
            expect(performance.now() - sentMs).toBeGreaterThanOrEqual(delayMs);
            const dueMs = sentMs + delayMs;
            (delayMs === 0 ? undelayed : late).push(performance.now() - dueMs - starvation.since(dueMs));
          }
        }
      });
      for (let i = 0; i < JOBS; i += 20) {
        const jobs = Array.from({ length: 20 }, (_, k) => {
          const delayMs = 1 + Math.floor(random() * DELAY_MS);
          sent.set(String(i + k), { sentMs: performance.now(), delayMs });
          return f.publish('timed', { text: String(i + k), delayMs });
        });
        sent.set(`undelayed ${i}`, { sentMs: performance.now(), delayMs: 0 });
        await Promise.all([...jobs, f.publish('timed', { text: `undelayed ${i}` })]);
        await sleep(random() * 40);
      }
      await Promise.all(consumers);
      state.isOver = true;
      await load;
      starvation.stop();

      const at = shares(late);
      const [first, p50, p99, last] = [0, 0.5, 0.99, 1].map((share) => at(share).toFixed(1));
      console.log(
        `PUMPHOUSE_CHAOS_SEED=${SEED}, ${how}: ${JOBS} jobs, ms late: min ${first} p50 ${p50} p99 ${p99} max ${last}`,
      );
      expect(late).toHaveLength(JOBS);
      expect(at(0.5)).toBeLessThan(Math.max(LATE_P50_MS, UNDELAYED * shares(undelayed)(0.5)));
    },
    120_000,
  );

  /** Milliseconds of one publish to another queue. */
  async function timeOfPublish(): Promise<number> {
    const sentMs = performance.now();
    await f.publish('other');
    return performance.now() - sentMs;
  }

  /** Publishes and consumes at a steady rate meanwhile. */
  async function work(goesOn: () => boolean): Promise<void> {
    const begunMs = performance.now();
    for (let done = 0; goesOn();) {
      const owed = ((performance.now() - begunMs) / 1_000) * LOAD - done;
      const batch = Math.max(0, Math.min(64, Math.floor(owed)));
      if (batch > 0) {
        await f.engine.publishMany(
          f.ns,
          'load',
          Array.from({ length: batch }, () => newJob()),
        );
        const jobs = await g.engine.lease(f.ns, {
          queues: ['load'],
          count: batch,
          ttrMs: 60_000,
          waitMs: 0,
        });
        await Promise.all(jobs.map(({ id, lease }) => g.engine.ack(f.ns, 'load', id, lease)));
        done += batch;
      }
      await sleep(5);
    }
  }

  it(`T9: make ${HERD} jobs of one instant ready while publishes to other queues stay fast`, async () => {
    const names = ['q0', 'q1', 'q2', 'q3'];
    const dueMs = Date.now() + (IS_LONG ? 60_000 : 2_500);
    for (let i = 0; i < HERD; i += 640) {
      const delayMs = Math.max(dueMs - Date.now(), 1);
      const batch = (k: number) =>
        Array.from({ length: Math.min(64, HERD - i - k * 64) }, () => newJob({ delayMs }));
      await Promise.all(
        Array.from({ length: Math.min(10, Math.ceil((HERD - i) / 64)) }, (_, k) =>
          f.engine.publishMany(f.ns, names[(i + k) % 4]!, batch(k)),
        ),
      );
    }
    const undisturbed: number[] = [];
    for (let i = 0; i < 20; i++) undisturbed.push(await timeOfPublish());
    await sleep(Math.max(dueMs - Date.now() - 50, 0));
    const beganMs = performance.now();
    f.engine.start();
    g.engine.start();
    const took: number[] = [];
    const ready = async (): Promise<number> =>
      (await g.engine.queues.counts(f.ns, names)).reduce((sum, count) => sum + count.ready, 0);
    while ((await ready()) < HERD) {
      took.push(await timeOfPublish());
      await sleep(2);
    }
    const seconds = (performance.now() - beganMs) / 1_000;
    const at = shares(took);
    console.log(
      `${HERD} due at once: ready after ${seconds.toFixed(2)} s; publishes meanwhile, ms: p50 ${at(0.5).toFixed(1)} p99 ${at(0.99).toFixed(1)} max ${at(1).toFixed(1)}`,
    );
    // Of a quiet machine: 50 ms.
    expect(at(0.5)).toBeLessThan(Math.max(250, 50 * shares(undisturbed)(0.5)));
    if (IS_LONG) return;
    await waitFor(() => f.engine.pumpNow(f.ns).then(() => true));
    const client = new Redis(redis.url, { protocol: 2 });
    expect(await Audit.of(client, f.ns)).toEqual([]);
    client.disconnect();
  }, 240_000);
});
