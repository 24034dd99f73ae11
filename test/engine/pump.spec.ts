import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { silentObserver, type PumpCounts } from '../../src/engine/core/observer.js';
import { Starvation } from '../support/own-time.js';
import { startRedis, waitFor, type RedisProcess } from '../support/redis.js';
import { EngineFixture, newJob } from './fixture.js';

/** How late jobs are at most: their middle one, 99 of 100, and all of them; the figures of an idle machine are printed. */
const LATE = { p50Ms: 40, p99Ms: 400, maxMs: 800 };
/** On a busy machine: not later than so many times what jobs without a delay take on it, at the same time. */
const UNDELAYED = 5;

/** Sorted; `at(0.99)` is the 99th percentile. */
class Figures {
  private readonly sorted: readonly number[];

  constructor(values: readonly number[]) {
    this.sorted = [...values].sort((a, b) => a - b);
  }

  at(share: number): number {
    return this.sorted[Math.ceil((this.sorted.length - 1) * share)] ?? Number.NaN;
  }

  toString(): string {
    return [0, 0.5, 0.99, 1].map((share) => this.at(share).toFixed(2)).join(' / ');
  }
}

/** Real time: what comes is measured on this process's monotonic clock. */
describe('the pump', () => {
  let f: EngineFixture;
  let starvation: Starvation;
  beforeEach(async () => {
    f = await EngineFixture.open();
    f.engine.start();
    starvation = new Starvation();
  });
  afterEach(async () => {
    starvation.stop();
    await f.close();
  });

  /** Publishes jobs without a delay, one after the other, to a waiting request. @returns how late they come, in ms */
  async function undelayed(count: number): Promise<Figures> {
    const took: number[] = [];
    for (let i = 0; i < count; i++) {
      const wait = f.lease(`undelayed${i}`, { waitMs: 10_000 });
      const sentMs = performance.now();
      await f.publish(`undelayed${i}`);
      expect(await wait).toHaveLength(1);
      took.push(lateAfter(sentMs));
      await sleep(10);
    }
    return new Figures(took);
  }

  /** Milliseconds since a job was due, without those in which this process got no CPU. */
  const lateAfter = (dueMs: number): number => performance.now() - dueMs - starvation.since(dueMs);

  /** How late a job may be now. */
  const mostLateMs = async (): Promise<number> =>
    Math.max(LATE.maxMs, UNDELAYED * (await undelayed(10)).at(1));

  /** @param beside of jobs without a delay, at the same time */
  function expectInTime(figures: Figures, beside: Figures): void {
    for (const [share, mostMs] of [
      [0.5, LATE.p50Ms],
      [0.99, LATE.p99Ms],
      [1, LATE.maxMs],
    ] as const)
      expect(figures.at(share)).toBeLessThan(Math.max(mostMs, UNDELAYED * beside.at(share)));
  }

  it('T8: brings delayed jobs on time, and never early', async () => {
    const late: number[] = [];
    const cycle = async (i: number): Promise<void> => {
      await sleep((i * 97) % 2_000);
      const delayMs = 200 + ((i * 37) % 1_300);
      const wait = f.lease(`q${i}`, { waitMs: 10_000 });
      const sentMs = performance.now();
      await f.publish(`q${i}`, { delayMs });
      expect(await wait).toHaveLength(1);
      expect(performance.now() - sentMs).toBeGreaterThanOrEqual(delayMs);
      late.push(lateAfter(sentMs + delayMs));
    };
    const [beside] = await Promise.all([
      undelayed(150),
      ...Array.from({ length: 150 }, (_, i) => cycle(i)),
    ] as const);

    const figures = new Figures(late);
    console.log(`jobs, ms late: min / p50 / p99 / max ${String(figures)}; without a delay ${String(beside)}`);
    expectInTime(figures, beside);
  });

  it('ends a lease of a second after a second, and never early', async () => {
    const late: number[] = [];
    const cycle = async (i: number): Promise<void> => {
      await sleep((i * 71) % 1_500);
      await f.publish(`q${i}`, { tries: 2 });
      const sentMs = performance.now();
      const [first] = await f.lease(`q${i}`, { ttrMs: 1_000 });
      const gotMs = performance.now();
      const [second] = await f.lease(`q${i}`, { ttrMs: 1_000, waitMs: 5_000 });
      expect([first?.lease, second?.lease]).toEqual([1, 2]);
      // From the moment in which the lease may have begun, to be never early; from its answer, to be not late.
      expect(performance.now() - sentMs).toBeGreaterThanOrEqual(1_000);
      late.push(lateAfter(gotMs + 1_000));
    };
    const [beside] = await Promise.all([
      undelayed(150),
      ...Array.from({ length: 100 }, (_, i) => cycle(i)),
    ] as const);

    const figures = new Figures(late);
    console.log(`leases of 1,000 ms, ms late: min / p50 / p99 / max ${String(figures)}`);
    expectInTime(figures, beside);
  });

  it('never sets an earlier time than requested, to the microsecond', async () => {
    // Each comes right after the reply to TIME, in the same millisecond more often than not: with what was left of it, it may not be due
    // before its full delay. Not in parallel: TIME may go to another node or connection, and be served later.
    const earliest = async (): Promise<number> => {
      const [seconds, micros] = ((await f.pool.read('TIME')) as string[]).map(Number) as [number, number];
      return seconds * 1_000 + micros / 1_000 + 600_000;
    };
    for (let i = 0; i < 50; i++) {
      await f.publish(`l${i}`);
      const publishMs = await earliest();
      await f.publish(`q${i}`, { delayMs: 600_000 });
      const dues = ((await f.pool.read('ZRANGE', `{${f.ns}}:due`, 0, -1, 'WITHSCORES')) as string[]).map(
        Number,
      );
      expect(Math.max(...dues.filter((_, at) => at % 2 === 1))).toBeGreaterThanOrEqual(publishMs);
      const leaseMs = await earliest();
      const [job] = await f.lease(`l${i}`, { ttrMs: 600_000 });
      expect(job?.leaseEndsAtMs).toBeGreaterThanOrEqual(leaseMs);
    }
  });

  it('T10: is woken by an earlier due time while it sleeps for a later one', async () => {
    const mostMs = await mostLateMs();
    const firstMs = performance.now();
    await f.publish('q', { delayMs: 2_000, text: 'later' });
    await sleep(50);
    const wait = f.lease('q', { waitMs: 10_000 });
    const sentMs = performance.now();
    await f.publish('q', { delayMs: 300, text: 'sooner' });

    const [job] = await wait;
    const tookMs = performance.now() - sentMs;
    expect(job?.body.toString()).toBe('sooner');
    expect(tookMs).toBeGreaterThanOrEqual(300);
    expect(tookMs).toBeLessThan(300 + mostMs);
    expect(await f.drain('q')).toEqual([]);
    expect((await f.lease('q', { waitMs: 5_000 }))[0]?.body.toString()).toBe('later');
    expect(performance.now() - firstMs).toBeGreaterThanOrEqual(1_990);
  });

  it('takes over the scheduled jobs of a dead server within a second', async () => {
    const dying = await EngineFixture.open();
    const mostMs = await mostLateMs();
    // Not started, so without a timer: as if it had died after Redis ran the script.
    const sentMs = performance.now();
    await dying.engine.publish(f.ns, 'q', newJob({ delayMs: 200 }));
    await dying.pool.close();

    expect(await f.lease('q', { waitMs: 5_000 })).toHaveLength(1);
    expect(performance.now() - sentMs).toBeLessThan(200 + 1_000 + mostMs);
  });

  it('takes over the jobs of a dead server beside 20 namespaces with damaged keys', async () => {
    const { namespaces } = f.pool.keys;
    const spoilt = Array.from({ length: 20 }, (_, i) => `${f.ns}-spoilt-${i}`);
    for (const name of spoilt) await f.pool.read('SET', f.pool.keys.namespace(name).due, 'no zset');
    await f.pool.read('SADD', namespaces, ...spoilt);
    const dying = await EngineFixture.open();
    await dying.engine.publish(f.ns, 'q', newJob({ delayMs: 200 }));
    await dying.pool.close();

    expect(await f.lease('q', { waitMs: 5_000 })).toHaveLength(1);
    await f.pool.read('SREM', namespaces, ...spoilt);
    for (const name of spoilt) await f.pool.read('DEL', f.pool.keys.namespace(name).due);
  });

  it('ends a lease that a dead server made, within a second of its end', async () => {
    const dying = await EngineFixture.open();
    const mostMs = await mostLateMs();
    await f.publish('q', { tries: 2 });
    const sentMs = performance.now();
    const request = { queues: ['q'], count: 1, ttrMs: 400, waitMs: 0 };
    expect(await dying.engine.lease(f.ns, request)).toHaveLength(1);
    await dying.pool.close();

    expect(await f.lease('q', { waitMs: 5_000 })).toHaveLength(1);
    const tookMs = performance.now() - sentMs;
    expect(tookMs).toBeGreaterThanOrEqual(400);
    expect(tookMs).toBeLessThan(400 + 1_000 + mostMs);
  });
});

describe('two servers that pump the same namespace', () => {
  const moved: PumpCounts[] = [];
  const observer = {
    ...silentObserver,
    pumped: (_namespace: string, counts: PumpCounts) => void moved.push(counts),
  };
  // Of their own: servers of other tests sweep all namespaces of a Redis, and what they move is not counted here.
  let redis: RedisProcess;
  let f: EngineFixture;
  let g: EngineFixture;
  beforeEach(async () => {
    moved.length = 0;
    redis = await startRedis();
    f = await EngineFixture.open({ observer }, { url: redis.url });
    g = await EngineFixture.open({ observer }, { url: redis.url });
  });
  afterEach(async () => {
    await Promise.all([f.close(), g.close()]);
    await redis.stop();
  });

  it('move every job exactly once', async () => {
    f.engine.start();
    g.engine.start();
    const published = new Set<string>();
    for (let i = 0; i < 2_000; i += 50) {
      const server = i % 100 === 0 ? f : g;
      const jobs = Array.from({ length: 50 }, (_, k) => newJob({ delayMs: 300 + ((i + k) % 700) }));
      for (const id of await server.engine.publishMany(f.ns, `q${i % 3}`, jobs)) published.add(id);
    }
    const due = (): number => moved.reduce((sum, counts) => sum + counts.due, 0);
    await waitFor(() => due() >= 2_000, 10_000);
    await sleep(300);

    expect(due()).toBe(2_000);
    const queues = ['q0', 'q1', 'q2'];
    const got: string[] = [];
    for (let jobs = await reserve(); jobs.length > 0; jobs = await reserve()) got.push(...jobs);
    expect(got).toHaveLength(2_000);
    expect(new Set(got)).toEqual(published);

    async function reserve(): Promise<string[]> {
      const request = { queues, count: 100, ttrMs: 600_000, waitMs: 0 };
      return (await f.engine.lease(f.ns, request)).map((job) => job.id);
    }
  });
});
