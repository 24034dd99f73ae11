import { jest } from '@jest/globals';
import fc from 'fast-check';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { binOf, BINS } from '../../src/engine/stats/bins.js';
import type { Moments } from '../../src/engine/stats/moments.js';
import { OTHER_QUEUES } from '../../src/engine/stats/statistics.js';
import type { Tally } from '../../src/engine/stats/tally.js';
import { unavailable } from '../../src/redis/errors.js';
import { waitFor } from '../support/redis.js';
import { EngineFixture, newJob } from './fixture.js';
import { propertyRuns, SEED } from '../support/scale.js';

const DAY_MS = 86_400_000;
const RUNS = propertyRuns(10);

/** Bins with something in them, by name. */
function named({ bins }: Moments): Record<string, number> {
  return Object.fromEntries(bins.flatMap((many, bin) => (many > 0 ? [[BINS[bin]!.name, many]] : [])));
}

describe('statistics', () => {
  let f: EngineFixture;
  let second: PoolEngine;

  beforeEach(async () => {
    f = await EngineFixture.withClock();
    // Well within a day, so that what is due in hours is so on the same one.
    f.nowMs = Math.floor(Date.now() / DAY_MS) * DAY_MS + 1_000;
    second = new PoolEngine(f.pool, { clock: () => f.nowMs });
  });
  afterEach(() => f.close());

  const today = (): number => Math.floor(f.nowMs / DAY_MS);
  const read = (queue = 'q', day = today()): Promise<Tally> => f.engine.stats.read(f.ns, queue, day);

  it('have wait and run times of all servers together', async () => {
    for (let i = 0; i < 3; i++) await f.publish('q');
    f.nowMs += 2_500;
    const [first] = await f.lease('q');
    f.nowMs += 1_000;
    await f.engine.ack(f.ns, 'q', first!.id, first!.lease);
    f.nowMs += 61_500;
    const [one, two] = await second.lease(f.ns, { queues: ['q'], count: 2, ttrMs: 4_000_000, waitMs: 0 });
    f.nowMs += 3_600_000;
    await second.ackMany(f.ns, [{ queue: 'q', id: one!.id, lease: one!.lease }]);
    await f.engine.ack(f.ns, 'q', two!.id);
    await Promise.all([f.engine.stats.flush(), second.stats.flush()]);

    const { waits, runs, failures, retries } = await read();
    expect(waits.count).toBe(3);
    expect(waits.meanMs).toBeCloseTo((2_500 + 65_000 * 2) / 3, 0);
    expect(named(waits)).toEqual({ s2: 1, m1: 2 });
    // The third one was acknowledged to another process than the one that gave it out.
    expect(named(runs)).toEqual({ s1: 1, h1: 1 });
    expect({ failures, retries }).toEqual({ failures: 0, retries: 0 });
  });

  it('keep a queue on the list until the end of the next day, also when it is empty', async () => {
    const { queues: admin } = f.engine;
    const listed = async (): Promise<string[]> =>
      (await admin.list(f.ns, { after: '', limit: 10 })).queues.map(({ counts }) => counts.queue);
    await f.publish('q');
    const [job] = await f.lease('q');
    await f.engine.ack(f.ns, 'q', job!.id, job!.lease);
    await f.engine.stats.flush();
    await f.engine.tidyNow(f.ns);
    expect((await admin.find(f.ns, 'q')).exists).toBe(false);
    expect(await listed()).toEqual(['q']);
    f.nowMs = (today() + 2) * DAY_MS - 1;
    expect(await listed()).toEqual(['q']);
    f.nowMs += 1;
    expect(await listed()).toEqual([]);
  });

  it('list a queue that is only published to, up to the limit of a day', async () => {
    await f.publish('q');
    await f.engine.queues.destroy(f.ns, 'q');
    await f.engine.stats.flush();
    expect(await f.engine.stats.queuesOf(f.ns, today())).toEqual(['q']);
    expect(await f.engine.stats.queuesOf(f.ns, today() + 1)).toEqual([]);

    const small = new PoolEngine(f.pool, {
      clock: () => f.nowMs,
      // One is q.
      stats: { historyDays: 1, maxQueues: 2 },
    });
    for (const queue of ['r', 's', 't']) await small.publish(f.ns, queue, newJob());
    await small.stats.flush();
    expect(await small.stats.queuesOf(f.ns, today())).toHaveLength(2);
    await small.stop();
  });

  it('have the run time of a simple job acknowledged with a result', async () => {
    await f.engine.components.queueControls.change(f.ns, 'q', { maxRunning: 5 });
    await f.publish('q');
    const [job] = await f.lease('q');
    f.nowMs += 1_500;
    const result = { body: Buffer.from('1'), contentType: 'application/json' };
    await f.engine.settle.complete(f.ns, [{ queue: 'q', id: job!.id, lease: job!.lease, result }]);
    await f.engine.stats.flush();

    expect(named((await read()).runs)).toEqual({ s1: 1 });
  });

  it('count an expired lease as a retry, or as a failure without tries', async () => {
    await f.publish('q', { tries: 2 });
    await f.publish('other', { tries: 1 });
    for (const queues of [['q', 'other'], ['q']]) {
      await f.engine.lease(f.ns, { queues, count: 2, ttrMs: 1_000, waitMs: 0 });
      f.nowMs += 1_000;
      await f.engine.pumpNow(f.ns);
    }
    await f.engine.stats.flush();

    expect(await read('q')).toMatchObject({ failures: 1, retries: 1, runs: { count: 0 } });
    expect(await read('other')).toMatchObject({ failures: 1, retries: 0 });
  });

  it('count lease operations of native workers for jobs of both APIs', async () => {
    const body = Buffer.from('{}');
    for (const [queue, tries] of [
      ['done', 9],
      ['moved', 9],
      ['retried', 2],
      ['failed', 9],
      ['late', 2],
    ] as const) {
      await f.engine.components.extendedPublisher.publish(f.ns, [
        { queue, body, tries, priority: 1, retry: { kind: 'fixed', delayMs: 0 } },
      ]);
    }
    const lease = async (queue: string): Promise<{ id: string; lease: number }> => {
      const [job] = await f.engine.lease(f.ns, { queues: [queue], count: 1, ttrMs: 9_000, waitMs: 0 });
      return { id: job!.id, lease: job!.lease };
    };
    const [done, moved] = [await lease('done'), await lease('moved')];
    f.nowMs += 1_500;
    const { leaseOperations } = second.components;
    await leaseOperations.complete(f.ns, [done, { ...moved, next: { queue: 'done' } }]);
    const given = { group: 'disk', message: 'full' };
    await leaseOperations.retry(f.ns, { ...(await lease('retried')), ...given });
    await leaseOperations.retry(f.ns, { ...(await lease('retried')), ...given });
    await leaseOperations.fail(f.ns, { ...(await lease('failed')), ...given });
    for (let i = 0; i < 2; i++) {
      await lease('late');
      f.nowMs += 9_000;
      await f.engine.pumpNow(f.ns);
    }
    await Promise.all([f.engine.stats.flush(), second.stats.flush()]);

    for (const queue of ['done', 'moved']) {
      const { runs, failures, retries } = await read(queue);
      expect({ bins: named(runs), failures, retries }).toEqual({ bins: { s1: 1 }, failures: 0, retries: 0 });
    }
    expect(await read('retried')).toMatchObject({ failures: 1, retries: 1, runs: { count: 0 } });
    expect(await read('failed')).toMatchObject({ failures: 1, retries: 0 });
    expect(await read('late')).toMatchObject({ failures: 1, retries: 1 });
  });

  it('count a death by a failed dependency as a failure for every call', async () => {
    const on = { dependsOn: ['base'], onDependencyFailure: 'fail' as const };
    await f.put('base', { id: 'base' });
    await f.put('clock', on);
    const [base] = await f.lease('base');
    await second.components.leaseOperations.fail(f.ns, {
      id: 'base',
      lease: base!.lease,
      group: 'g',
      message: 'm',
    });
    await second.pumpNow(f.ns);
    await f.put('publish', on);
    const changed = await f.put('change', { onDependencyFailure: 'fail' });
    await f.engine.jobs.change(f.ns, changed, { dependsOn: ['base'] });
    await f.engine.jobs.log(f.ns, changed, 'it is dead: this is no failure');
    const moved = await f.put('from', { onDependencyFailure: 'fail' });
    const [job] = await f.lease('from');
    const next = { queue: 'move', dependsOn: ['base'] };
    await f.engine.settle.complete(f.ns, [{ id: moved, lease: job!.lease, next }]);
    await f.put('ignore', { ...on, onDependencyFailure: 'cancel' });
    await Promise.all([f.engine.stats.flush(), second.stats.flush()]);

    const failures = async (queue: string): Promise<number> => (await read(queue)).failures;
    for (const queue of ['base', 'clock', 'publish', 'change', 'move'])
      expect([queue, await failures(queue)]).toEqual([queue, 1]);
    for (const queue of ['from', 'ignore']) expect([queue, await failures(queue)]).toEqual([queue, 0]);
  });

  it('count no retry for an expired lease of a job that is cancelled', async () => {
    for (const tries of [1, 3]) {
      const id = await f.put('q', { tries });
      await f.lease('q', { ttrMs: 1_000 });
      await f.engine.jobs.cancel(f.ns, id, { graceMs: 60_000 });
      await f.pass(1_000);
      expect(await f.find(id)).toMatchObject({ state: 'cancelled' });
    }
    await f.engine.stats.flush();

    expect(await read()).toMatchObject({ failures: 0, retries: 0 });
  });

  it('count no run time for an ack after the lease', async () => {
    await f.publish('q', { tries: 2 });
    const [job] = await f.lease('q', { ttrMs: 1_000 });
    f.nowMs += 1_001;
    await f.engine.ack(f.ns, 'q', job!.id);
    await f.engine.stats.flush();

    expect((await read()).runs.count).toBe(0);
  });

  it('are exact for all values on every server', async () => {
    const duration = fc.oneof(fc.nat({ max: 3_000 }), fc.nat({ max: 9 * DAY_MS }));
    const seen = fc.array(fc.tuple(fc.boolean(), duration), { minLength: 1, maxLength: 30 });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(seen, { minLength: 1, maxLength: 4 }), async (windows) => {
        const queue = `q${++run}`;
        for (const window of windows) {
          for (const [ours, ms] of window) (ours ? f.engine : second).stats.of(f.ns, queue).runs.add(ms);
          await Promise.all([f.engine.stats.flush(), second.stats.flush()]);
        }
        const values = windows.flat().map(([, ms]) => ms);
        const mean = values.reduce((sum, ms) => sum + ms, 0) / values.length;
        const squares = values.reduce((sum, ms) => sum + (ms - mean) ** 2, 0);
        const { runs } = await read(queue);
        expect(runs.count).toBe(values.length);
        expect(Math.abs(runs.meanMs - mean)).toBeLessThanOrEqual(1e-9 * Math.max(mean, 1));
        const std = values.length < 2 ? 0 : Math.sqrt(squares / (values.length - 1));
        expect(Math.abs(runs.stdMs - std)).toBeLessThanOrEqual(1e-6 * Math.max(std, 1));
        const bins = BINS.map((_, bin) => runs.bins[bin] ?? 0);
        expect(bins).toEqual(BINS.map((_, bin) => values.filter((ms) => binOf(ms) === bin).length));
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });

  it('drop no value at the top', async () => {
    for (const days of [6.9, 7, 8, 400]) f.engine.stats.of(f.ns, 'q').waits.add(days * DAY_MS);
    await f.engine.stats.flush();

    const { waits } = await read();
    expect(named(waits)).toEqual({ d6: 1, d7: 3 });
  });

  it('are kept by day until their history ends', async () => {
    f.engine.stats.of(f.ns, 'q').failures += 1;
    await f.engine.stats.flush();
    const begun = today();
    f.nowMs += DAY_MS;
    f.engine.stats.of(f.ns, 'q').failures += 2;
    await f.engine.stats.flush();

    expect((await read('q', begun)).failures).toBe(1);
    expect((await read('q', begun + 1)).failures).toBe(2);
    expect((await read('q', begun + 2)).failures).toBe(0);
    for (const day of [begun, begun + 1]) {
      const endsAtMs = await f.pool.read('PEXPIRETIME', f.pool.keys.day(f.ns, day));
      expect(endsAtMs).toBe((day + 31) * DAY_MS);
    }
  });

  it('outlive their queue and their namespace', async () => {
    await f.publish('q');
    const [job] = await f.lease('q');
    await f.engine.ack(f.ns, 'q', job!.id);
    await f.engine.stats.flush();
    await f.engine.tidyNow(f.ns);
    expect(await f.engine.namespaces()).not.toContain(f.ns);

    const reader = new PoolEngine(f.pool);
    expect((await reader.stats.read(f.ns, 'q', today())).waits.count).toBe(1);
  });

  it('are summed under one name for queues beyond the bound of queues a day', async () => {
    const engine = new PoolEngine(f.pool, { clock: () => f.nowMs, stats: { historyDays: 1, maxQueues: 3 } });
    for (let i = 0; i < 10; i++) engine.stats.of(f.ns, `q${i}`).retries += 1;
    await engine.stats.flush();
    for (let i = 0; i < 10; i++) engine.stats.of(f.ns, `q${i}`).retries += 1;
    await engine.stats.flush();

    expect((await read('q0')).retries).toBe(2);
    const own = await Promise.all(Array.from({ length: 10 }, (_, i) => read(`q${i}`)));
    const named = own.reduce((sum, { retries }) => sum + retries, 0);
    expect(named).toBeLessThanOrEqual(6);
    expect((await read(OTHER_QUEUES)).retries).toBe(20 - named);
  });

  it('take no place of a queue for each server that has started today', async () => {
    for (let i = 0; i < 5; i++) {
      const engine = new PoolEngine(f.pool, {
        clock: () => f.nowMs,
        stats: { historyDays: 1, maxQueues: 3 },
      });
      for (const queue of ['q0', 'q1', 'q2']) engine.stats.of(f.ns, queue).retries += 1;
      await engine.stats.flush();
    }
    const own = await Promise.all(['q0', 'q1', 'q2'].map((queue) => read(queue)));
    expect(own.map(({ retries }) => retries)).toEqual([5, 5, 5]);
  });

  it('are bounded on a day that an older server has begun, too', async () => {
    const engine = new PoolEngine(f.pool, { clock: () => f.nowMs, stats: { historyDays: 1, maxQueues: 2 } });
    const count = async (queue: string): Promise<void> => {
      engine.stats.of(f.ns, queue).retries += 1;
      await engine.stats.flush();
    };
    await count('q0');
    await f.pool.read('HDEL', f.pool.keys.day(f.ns, today()), ':queues');
    for (const queue of ['q1', 'q2']) await count(queue);
    expect((await read('q1')).retries).toBe(1);
    expect((await read(OTHER_QUEUES)).retries).toBe(1);
  });

  it('are sent under one name for queues that Redis has reported as beyond the bound', async () => {
    const engine = new PoolEngine(f.pool, { clock: () => f.nowMs, stats: { historyDays: 1, maxQueues: 3 } });
    const run = jest.spyOn(f.pool, 'run');
    const all = Array.from({ length: 10 }, (_, i) => `q${i}`);
    const travel = async (queues: readonly string[], ns = f.ns): Promise<string[]> => {
      for (const queue of queues) engine.stats.of(ns, queue).retries += 1;
      run.mockClear();
      await engine.stats.flush();
      return run.mock.calls.flatMap(([, , , items]) => (items ?? []).map(([queue]) => String(queue)));
    };
    expect(await travel(all)).toHaveLength(10);
    const named = await travel(all);
    expect(named).toEqual(['q0', 'q1', 'q2', OTHER_QUEUES]);
    const own = await Promise.all(named.map((queue) => read(queue)));
    expect(own.map(({ retries }) => retries)).toEqual([2, 2, 2, 14]);
    // Of this namespace only, and of this day.
    expect(await travel(['q9'], `${f.ns}-other`)).toEqual(['q9']);
    f.nowMs += DAY_MS;
    expect(await travel(['q9'])).toEqual(['q9']);
    expect(await travel(all)).toHaveLength(10);

    // The history was purged, and another server was there first: after a minute it is found out anew.
    await f.pool.read('DEL', f.pool.keys.day(f.ns, today()));
    second.stats.of(f.ns, 'q8').retries += 1;
    await second.stats.flush();
    expect(await travel(['q8'])).toEqual([OTHER_QUEUES]);
    for (let i = 0; i < 60; i++) await engine.stats.flush();
    expect(await travel(['q8'])).toEqual(['q8']);
    expect((await read('q8')).retries).toBe(2);
  });

  it('leave room for named queues if queues beyond the bound are stored first', async () => {
    const engine = new PoolEngine(f.pool, { clock: () => f.nowMs, stats: { historyDays: 1, maxQueues: 3 } });
    // What tells of this server takes one.
    for (const queues of [[OTHER_QUEUES, 'p'], ['q']]) {
      for (const queue of queues) engine.stats.of(f.ns, queue).retries += 1;
      await engine.stats.flush();
    }

    expect((await read('p')).retries).toBe(1);
    expect((await read(OTHER_QUEUES)).retries).toBe(1);
  });

  it('count a batch once that is repeated after a lost answer', async () => {
    f.engine.stats.of(f.ns, 'q').failures += 1;
    const run = Reflect.get(f.pool, 'run');
    // The script runs, but its reply is lost.
    Reflect.set(f.pool, 'run', async (...args: Parameters<typeof run>) => {
      await run.apply(f.pool, args);
      throw unavailable('default');
    });
    await expect(f.engine.stats.flush()).rejects.toMatchObject({ code: 'pool_unavailable' });
    Reflect.set(f.pool, 'run', run);
    expect((await read()).failures).toBe(1);

    f.engine.stats.of(f.ns, 'q').failures += 1;
    await f.engine.stats.flush();
    expect((await read()).failures).toBe(2);
  });

  it('T66: are not written after a purge if another server counted them before the purge', async () => {
    await f.publish('old');
    await second.lease(f.ns, { queues: ['old'], count: 1, ttrMs: 60_000, waitMs: 0 });
    f.nowMs += 1_000;
    expect(await f.engine.purge.run(f.ns)).toMatchObject({ isDone: true });
    expect(await f.keys()).toEqual([]);
    await second.stats.flush();
    expect(await f.keys()).toEqual([]);

    // The namespace is made again at once, and its own numbers count.
    f.nowMs += 1_000;
    await f.publish('new');
    await second.lease(f.ns, { queues: ['new'], count: 1, ttrMs: 60_000, waitMs: 0 });
    await second.stats.flush();
    expect(await f.engine.stats.queuesOf(f.ns, today())).toEqual(['new']);
  });

  it('T66: are not affected by an answer from before a purge that a server reads after the purge', async () => {
    await f.publish('q');
    await f.engine.purge.run(f.ns);
    f.nowMs += 1_500;
    // The longest round trip tells how old a reply can be: this one took two seconds.
    const nowMs = performance.now();
    f.pool.clock.sample(nowMs - 2_000, nowMs, Date.now());
    second.stats.of(f.ns, 'old').retries += 1;
    await second.stats.flush();

    expect(await f.engine.stats.queuesOf(f.ns, today())).toEqual([]);
  });

  it('are written once a second, and at the stop', async () => {
    const engine = new PoolEngine(f.pool);
    const day = engine.stats.today();
    const total = async (): Promise<number> =>
      (await read('q', day)).failures + (await read('q', day + 1)).failures;
    engine.start();
    try {
      engine.stats.of(f.ns, 'q').failures += 1;
      await waitFor(async () => (await total()) === 1, 10_000);
      engine.stats.of(f.ns, 'q').failures += 1;
    } finally {
      await engine.stop();
    }
    expect(await total()).toBe(2);
  });

  it('are not made with a history of zero days', async () => {
    const engine = new PoolEngine(f.pool, { stats: { historyDays: 0, maxQueues: 10 } });
    await engine.publish(f.ns, 'q', newJob());
    await engine.lease(f.ns, { queues: ['q'], count: 1, ttrMs: 1_000, waitMs: 0 });
    await engine.stats.flush();

    expect((await f.keys()).filter((key) => key.includes('}:t'))).toEqual([]);
  });
});
