import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { decodeTime } from 'ulid';
import { silentObserver } from '../../src/engine/core/observer.js';
import { RedisClock } from '../../src/redis/calls.js';
import { type RedisProcess, startRedis, waitFor } from '../support/redis.js';
import { SteppedClock } from '../support/stepped-clock.js';
import { EngineFixture } from './fixture.js';

/** A C compiler is not on every machine; without it the tests on a real Redis are left out. */
const clock = await SteppedClock.create();
afterAll(() => clock?.remove());

const HOUR_MS = 3_600_000;

describe("the estimate of Redis's clock", () => {
  const base = 5_000;
  beforeEach(() => void jest.spyOn(performance, 'now').mockReturnValue(base + 100));
  afterEach(() => void jest.restoreAllMocks());

  it('uses the fastest answer', () => {
    const clock = new RedisClock();
    clock.sample(base, base + 1, 1_000_000);
    clock.sample(base + 10, base + 60, 1_000_020);

    expect(Math.abs(clock.now() - 1_000_100)).toBeLessThan(2);
  });

  it.each([HOUR_MS, -HOUR_MS, 500, -500])(
    'follows a step of %d ms at once after faster answers',
    (stepMs) => {
      const clock = new RedisClock();
      clock.sample(base, base + 0.2, 1_000_000);
      clock.sample(base + 1, base + 9, 1_000_005 + stepMs);

      expect(Math.abs(clock.now() - (1_000_100 + stepMs))).toBeLessThan(10);
    },
  );
});

describe('a Redis whose clock is stepped', () => {
  if (clock === null) return;
  let dir: string;
  let redis: RedisProcess;
  let f: EngineFixture;
  const scripts: string[] = [];
  const before = process.env['PUMPHOUSE_REDIS_SERVER'];

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'pumphouse-clock-'));
    step(0);
    const program = join(dir, 'redis-server');
    const environment = Object.entries(clock.env).map((pair) => pair.join('='));
    const real = before ?? 'redis-server';
    writeFileSync(program, `#!/bin/sh\nexec env ${environment.join(' ')} ${real} "$@"\n`, { mode: 0o755 });
    process.env['PUMPHOUSE_REDIS_SERVER'] = program;
    redis = await startRedis();
    scripts.length = 0;
    const observer = { ...silentObserver, script: (name: string) => scripts.push(name) };
    f = await EngineFixture.open({ observer }, { url: redis.url, commandTimeoutMs: 1_000 });
    f.engine.start();
  });
  afterEach(async () => {
    await f.close();
    await redis.stop();
    if (before === undefined) delete process.env['PUMPHOUSE_REDIS_SERVER'];
    else process.env['PUMPHOUSE_REDIS_SERVER'] = before;
    rmSync(dir, { recursive: true });
  });

  /** Sets Redis's clock so many seconds ahead of this machine's, or behind. */
  function step(seconds: number): void {
    clock!.step(seconds);
  }

  async function redisMs(): Promise<number> {
    const [seconds, micros] = ((await f.pool.read('TIME')) as string[]).map(Number);
    return (seconds ?? 0) * 1_000 + (micros ?? 0) / 1_000;
  }

  /** The pass of the start is not the one that a step calls. */
  async function firstRenewal(): Promise<void> {
    const hasRun = (): boolean =>
      f.engine.loops().some(({ name, lastRunMs }) => name === 'slot_renewal' && lastRunMs !== null);
    await waitFor(hasRun, 15_000);
  }

  it.each([60, 86_400, -60, -86_400])(
    'serves on without a refusal when it jumps by %d s',
    async (seconds) => {
      const ids = [await f.publish('q')];
      step(seconds);
      for (let i = 0; i < 20; i++) ids.push(await f.publish('q'));
      expect(Math.abs((await redisMs()) - Date.now() - seconds * 1_000)).toBeLessThan(20_000);

      expect(ids).toEqual([...ids].sort());
      const before = await redisMs();
      const jobs = await f.lease('q', { count: 5, ttrMs: 5_000 });
      expect(jobs.map(({ id }) => id)).toEqual(ids.slice(0, 5));
      const after = await redisMs();
      for (const { leaseEndsAtMs } of jobs) {
        expect(leaseEndsAtMs).toBeGreaterThanOrEqual(before + 4_999);
        expect(leaseEndsAtMs).toBeLessThanOrEqual(after + 5_001);
      }
    },
  );

  it('gives jobs that have one id after each other different lease numbers, also if it was started while it was ahead', async () => {
    // Else a Redis that is killed while an fsync is under way may lose the job.
    await f.pool.read('CONFIG', 'SET', 'appendfsync', 'always');
    await f.publish('q');
    step(3_600);
    await redis.kill9();
    redis = { ...(await startRedis({ port: redis.port, dir: redis.dir })), stop: redis.stop.bind(redis) };
    await waitFor(async () => (await f.pool.read('PING').catch(() => null)) === 'PONG', 10_000);
    const [held] = await f.lease('q');
    expect(held!.lease).toBeGreaterThan(2 ** 31);

    step(0);
    const beganMs = async (): Promise<number> => Number(await f.pool.read('HGET', f.pool.keys.run, 'began'));
    await waitFor(async () => (await beganMs()) <= Date.now(), 10_000);
    const leases: number[] = [];
    for (let i = 0; i < 2; i++) {
      await f.publish('q', { id: 'again' });
      const [job] = await f.lease('q');
      leases.push(job!.lease);
      expect(await f.engine.ack(f.ns, 'q', 'again', job!.lease)).toBe(true);
    }
    expect(new Set([...leases, held!.lease]).size).toBe(3);
  });

  it('runs nothing early or late after a step back', async () => {
    await f.publish('q');
    step(-60);
    await f.publish('later', { delayMs: 700 });
    const since = performance.now();
    const [lease] = await f.lease('q', { ttrMs: 700 });
    await f.engine.ack(f.ns, 'q', lease?.id ?? '');

    const [job] = await f.lease('later', { waitMs: 10_000 });

    expect(job?.queue).toBe('later');
    expect(performance.now() - since).toBeGreaterThanOrEqual(695);
    expect(performance.now() - since).toBeLessThan(20_000);
  });

  it.each([{ type: 'sms' }, { fairKey: 'acme' }, { concurrencyKey: 'disk' }])(
    'ends a pause of %j when it jumps beyond its end, and not before',
    async (jobs) => {
      await f.engine.queues.change(f.ns, 'q', { fair: true });
      await f.put('q', { id: 'paused', ...jobs });
      await f.engine.queues.pause(f.ns, 'q', { by: null, note: null, forMs: 60_000 }, jobs);
      step(-60);
      expect(await f.lease('q')).toEqual([]);
      const waiting = f.lease('q', { waitMs: 10_000 });
      step(61);
      expect(await waiting).toMatchObject([{ id: 'paused' }]);
    },
  );

  it('keeps recurring jobs running when it is set back after it was ahead', async () => {
    const { recurrings } = f.engine.components;
    const template = { queue: 'q', body: Buffer.from('x') };
    await recurrings.set(f.ns, { id: 'r', schedule: { everyMs: 2_000 }, template });
    const ahead = 300 * 86_400;
    await firstRenewal();
    step(ahead);
    await waitFor(
      async () => ((await recurrings.get(f.ns, 'r')).lastAtMs ?? 0) > Date.now() + ahead * 500,
      10_000,
    );
    step(0);
    const { made } = await recurrings.get(f.ns, 'r');
    const after = await waitFor(async () => {
      const one = await recurrings.get(f.ns, 'r');
      return one.made > made && (one.nextAtMs ?? 0) < Date.now() + 10_000 ? one : null;
    }, 15_000);
    expect(after.lastAtMs).toBeLessThan(Date.now() + 10_000);
  });

  it('does not hold the jobs of a key with a rate until the old time comes again', async () => {
    await firstRenewal();
    await f.engine.queues.change(f.ns, 'q', { ratePerKey: { rate: 1, periodMs: 1_000, burst: 1 } });
    for (let i = 0; i < 10; i++) await f.put('q', { id: `a${String(i)}`, concurrencyKey: 'a' });
    const [first] = await f.lease('q');
    await f.engine.ack(f.ns, 'q', first?.id ?? '', first?.lease);
    step(-3_600);

    for (const id of ['a1', 'a2', 'a3']) {
      const [job] = await f.lease('q', { waitMs: 15_000 });
      expect(job?.id).toBe(id);
      await f.engine.ack(f.ns, 'q', id, job?.lease);
    }
  });

  it('is not pumped without end by a server with the old time', async () => {
    await f.publish('q', { delayMs: 1_000 });
    step(-60);
    await f.publish('q', { delayMs: 1_500 });
    scripts.length = 0;
    await sleep(1_000);

    expect(scripts.filter((name) => name === 'maintenance_pump').length).toBeLessThan(20);
  });

  it('is the only clock: a server ten minutes off creates the same ids and deadlines', async () => {
    const spy = jest
      .spyOn(Date, 'now')
      .mockImplementation(() => performance.timeOrigin + performance.now() + 600_000);
    const other = await EngineFixture.open({}, { url: redis.url });
    spy.mockRestore();
    const mine = await f.publish('q');
    const theirs = await other.engine.publish(f.ns, 'q', {
      body: Buffer.alloc(0),
      delayMs: 0,
      ttlMs: 1_000,
      tries: 1,
    });

    const [first, second] = await other.engine.lease(f.ns, {
      queues: ['q'],
      count: 2,
      ttrMs: 1_000,
      waitMs: 0,
    });
    expect([first?.id, second?.id]).toEqual([mine, theirs]);
    expect(decodeTime(theirs) - decodeTime(mine)).toBeLessThan(300_000);
    expect(second?.elapsedMs).toBeLessThan(1_000);
    expect(Math.abs((first?.elapsedMs ?? 0) - (second?.elapsedMs ?? 0))).toBeLessThan(1_000);
    await other.close();
  });
});
