import { Redis } from 'ioredis';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { silentObserver } from '../../src/engine/core/observer.js';
import { PUMP_STEP } from '../../src/engine/timers/pump.js';
import { ScriptRunner } from '../../src/engine/core/scripts.js';
import { pump as pumpScript } from '../../src/redis/scripts/simple.js';
import { randomFrom } from '../support/random.js';
import { testRedisUrl } from '../support/redis.js';
import { Audit, LEAD_MS, SLOT_MS } from './audit.js';
import { EngineFixture, newJob } from './fixture.js';

describe('slots of far jobs', () => {
  const HOUR_MS = 3_600_000;
  /** What is due later than this is kept in the list of its slot, as lua/modules/jobs/schedule.lua has it. */
  const FAR_MS = 600_000;

  describe('a job far ahead', () => {
    let f: EngineFixture;
    let redis: Redis;
    beforeEach(async () => {
      redis = new Redis(testRedisUrl(), { protocol: 2 });
      f = await EngineFixture.withClock();
      // So that every run finds slots at the same distance.
      f.nowMs = Math.floor(f.nowMs / SLOT_MS) * SLOT_MS + 1_000;
    });
    afterEach(async () => {
      redis.disconnect();
      await f.close();
    });

    /** Moves the clock and what is due by then. Nothing may be wrong with the namespace, whatever the moment. */
    async function at(ms: number): Promise<void> {
      f.nowMs = ms;
      await f.engine.pumpNow(f.ns);
      expect(await Audit.of(redis, f.ns)).toEqual([]);
    }

    /** Where the scheduled jobs of the first queue are: in the zset, and in the lists of slots. */
    async function places(): Promise<{ near: number; far: number }> {
      const slots = (await f.keys()).filter((key) => key.startsWith(`{${f.ns}}:f1:`));
      const lengths = await Promise.all(slots.map((key) => redis.llen(key)));
      return {
        near: await redis.zcard(`{${f.ns}}:s1`),
        far: lengths.reduce((sum, length) => sum + length, 0),
      };
    }

    async function counts(): Promise<{ ready: number; scheduled: number }> {
      const [{ ready, scheduled } = { ready: -1, scheduled: -1 }] = await f.engine.queues.counts(f.ns, ['q']);
      return { ready, scheduled };
    }

    it.each([
      ['at the begin of its slot', 0],
      ['in the midst of it', 100_000],
      ['in its last millisecond', SLOT_MS - 1],
    ])('is ready on time and never early, with the time %s', async (_where, intoMs) => {
      const beginMs = Math.floor((f.nowMs + HOUR_MS) / SLOT_MS) * SLOT_MS;
      const dueMs = beginMs + intoMs;
      const id = await f.publish('q', { delayMs: dueMs - f.nowMs, attributes: { a: 'b' } });
      const moments = [f.nowMs, beginMs - LEAD_MS - 1, beginMs - LEAD_MS, beginMs - 1, beginMs, dueMs - 1];

      for (const moment of moments.filter((ms) => ms < dueMs)) {
        await at(moment);
        const isFar = moment < beginMs - LEAD_MS;
        expect(await places()).toEqual(isFar ? { near: 0, far: 1 } : { near: 1, far: 0 });
        expect(await counts()).toEqual({ ready: 0, scheduled: 1 });
        expect(await f.engine.jobs.peekJob(f.ns, 'q', id)).toMatchObject({ id, state: 'scheduled' });
        expect(await f.drain('q')).toEqual([]);
      }
      await at(dueMs);
      expect(await counts()).toEqual({ ready: 1, scheduled: 0 });
      expect(await f.lease('q')).toMatchObject([{ id, lease: 1, attributes: { a: 'b' } }]);
    });

    it('starts a millisecond beyond the near due times', async () => {
      await f.publish('q', { delayMs: FAR_MS });
      expect(await places()).toEqual({ near: 1, far: 0 });
      await f.publish('q', { delayMs: FAR_MS + 1 });
      expect(await places()).toEqual({ near: 1, far: 1 });
      expect(await counts()).toEqual({ ready: 0, scheduled: 2 });
    });

    it('is ready in time without a notification, also after a clock jump', async () => {
      await f.publish('q', { delayMs: HOUR_MS });
      f.engine.start();
      const got = f.lease('q', { waitMs: 20_000 });
      f.nowMs += HOUR_MS;

      expect(await got).toHaveLength(1);
    });

    it('is counted exactly at all times', async () => {
      const ids = await f.engine.publishMany(
        f.ns,
        'q',
        Array.from({ length: 5 }, () => newJob({ delayMs: HOUR_MS, ttlMs: 2 * HOUR_MS })),
      );
      await f.publish('q', { delayMs: 1_000 });
      await f.publish('q', { id: 'mine', delayMs: HOUR_MS });
      expect(await counts()).toEqual({ ready: 0, scheduled: 7 });

      expect(await f.engine.ack(f.ns, 'q', ids[0] ?? '')).toBe(true);
      expect(await f.engine.ack(f.ns, 'q', ids[0] ?? '')).toBe(false);
      expect(await counts()).toEqual({ ready: 0, scheduled: 6 });
      await at(f.nowMs + 1_000);
      expect(await counts()).toEqual({ ready: 1, scheduled: 5 });
      await f.engine.republish(f.ns, 'q', ids[1] ?? '', newJob({ delayMs: 3 * HOUR_MS }));
      expect(await counts()).toEqual({ ready: 1, scheduled: 5 });
      await at(f.nowMs + HOUR_MS);
      expect(await counts()).toEqual({ ready: 5, scheduled: 1 });
      expect(await places()).toEqual({ near: 0, far: 1 });
      await at(f.nowMs + 2 * HOUR_MS);
      expect(await counts()).toEqual({ ready: 6, scheduled: 0 });
      await f.engine.tidyNow(f.ns);
      expect(await counts()).toEqual({ ready: 3, scheduled: 0 });
    });

    it('leaves only its entry after an ack, until its slot is opened', async () => {
      const id = await f.publish('q', { delayMs: HOUR_MS, attributes: { a: 'b' } });
      await f.publish('q', { delayMs: HOUR_MS, text: 'other' });
      expect(await f.engine.ack(f.ns, 'q', id)).toBe(true);

      expect(await f.engine.jobs.peekJob(f.ns, 'q', id)).toBeNull();
      expect(await places()).toEqual({ near: 0, far: 2 });
      expect(await Audit.of(redis, f.ns)).toEqual([]);
      await at(f.nowMs + HOUR_MS);
      expect(await places()).toEqual({ near: 0, far: 0 });
      expect(await f.drain('q')).toEqual(['other']);
    });

    it('is replaced by exactly one job at a republish that makes it due soon, and so is a job due soon that is made far', async () => {
      const old = await f.publish('q', { delayMs: HOUR_MS, text: 'old' });
      const sooner = await f.engine.republish(f.ns, 'q', old, newJob({ delayMs: 1_000 }));
      expect(await counts()).toEqual({ ready: 0, scheduled: 1 });
      await f.engine.republish(f.ns, 'q', sooner, newJob({ delayMs: HOUR_MS, body: Buffer.from('new') }));
      expect(await counts()).toEqual({ ready: 0, scheduled: 1 });

      await at(f.nowMs + HOUR_MS);
      expect(await f.drain('q')).toEqual(['new']);
      expect(await counts()).toEqual({ ready: 0, scheduled: 0 });
    });

    it.each([
      ['near', 300_000],
      ['far', 2 * HOUR_MS],
    ])('is removed when its ttl ends before it is due (%s)', async (_name, ttlMs) => {
      await f.publish('q', { delayMs: 10 * HOUR_MS, ttlMs, attributes: { a: 'b' } });
      const endMs = f.nowMs + ttlMs;
      await at(endMs - 1);
      expect(await counts()).toEqual({ ready: 0, scheduled: 1 });

      await at(endMs);
      expect(await counts()).toEqual({ ready: 0, scheduled: 0 });
      expect((await f.keys()).filter((key) => /\}[jx]/.test(key))).toEqual([]);
      await f.engine.tidyNow(f.ns);
      expect(await f.keys()).toEqual([]);
    });

    it('is stored in a far slot only with a generated id', async () => {
      await f.publish('q', { id: 'mine', delayMs: HOUR_MS, text: 'first' });
      expect(await places()).toEqual({ near: 1, far: 0 });
      await f.engine.ack(f.ns, 'q', 'mine');
      await f.publish('q', { id: 'mine', delayMs: 2 * HOUR_MS, text: 'second' });
      expect(await places()).toEqual({ near: 1, far: 0 });

      await at(f.nowMs + HOUR_MS);
      expect(await f.drain('q')).toEqual([]);
      await at(f.nowMs + HOUR_MS);
      expect(await f.drain('q')).toEqual(['second']);
    });

    it.each(['q', 'p'])(
      'leaves an entry that is not taken for a later job of its id, in queue %s',
      async (queue) => {
        const id = await f.publish('q', { delayMs: HOUR_MS, text: 'first' });
        await f.publish('q', { delayMs: HOUR_MS, text: 'other' });
        await f.engine.ack(f.ns, 'q', id);
        await f.publish(queue, { id, delayMs: 2 * HOUR_MS, text: 'second' });
        expect(await Audit.of(redis, f.ns)).toEqual([]);

        await at(f.nowMs + HOUR_MS);
        expect(await counts()).toEqual({ ready: 1, scheduled: queue === 'q' ? 1 : 0 });
        expect(await f.drain('q')).toEqual(['other']);
        await at(f.nowMs + HOUR_MS);
        expect(await f.drain(queue)).toEqual(['second']);
      },
    );
  });
});

describe('opening slots of far jobs', () => {
  const HOUR_MS = 3_600_000;
  const DAY_MS = 24 * HOUR_MS;

  describe('slots of far jobs', () => {
    let f: EngineFixture;
    let redis: Redis;
    let moved = 0;
    const observer = {
      ...silentObserver,
      pumped: (_namespace: string, counts: { due: number }) => void (moved += counts.due),
    };
    beforeEach(async () => {
      moved = 0;
      redis = new Redis(testRedisUrl(), { protocol: 2 });
      f = await EngineFixture.withClock({ observer });
      f.nowMs = Math.floor(f.nowMs / SLOT_MS) * SLOT_MS + 1_000;
    });
    afterEach(async () => {
      redis.disconnect();
      await f.close();
    });

    async function publishMany(delaysMs: readonly number[], queue = 'q'): Promise<string[]> {
      const ids: string[] = [];
      for (let i = 0; i < delaysMs.length; i += 64) {
        const jobs = delaysMs
          .slice(i, i + 64)
          .map((delayMs) => newJob({ delayMs, body: Buffer.from(String(delayMs)) }));
        ids.push(...(await f.engine.publishMany(f.ns, queue, jobs)));
      }
      return ids;
    }

    /** Everything that is ready, in the order in which it is given out. */
    async function drainAll(queue = 'q'): Promise<string[]> {
      const bodies: string[] = [];
      for (let some = await f.drain(queue); some.length > 0; some = await f.drain(queue))
        bodies.push(...some);
      return bodies;
    }

    function slotKeys(): Promise<string[]> {
      return f.keys().then((keys) => keys.filter((key) => /:f\d+:/.test(key)));
    }

    /** Numbers of queues, each with the time at which the pump comes to it, Unix ms. */
    function dueQueues(): Promise<string[]> {
      return redis.zrange(`{${f.ns}}:due`, '0', '-1', 'WITHSCORES');
    }

    it('are opened in bounded consistent steps: 5,000 jobs in one', async () => {
      await publishMany(new Array<number>(5_000).fill(HOUR_MS));
      const [slot = ''] = await slotKeys();
      const runner = new ScriptRunner(f.pool, silentObserver, () => f.nowMs);
      // Its slot is open by then, but has not begun.
      f.nowMs = Math.floor((f.nowMs + HOUR_MS) / SLOT_MS) * SLOT_MS - 30_000;
      let steps = 0;
      for (let left = await redis.llen(slot); left > 0; steps++) {
        const { nextDueMs } = await runner.run(pumpScript, f.ns, { limit: PUMP_STEP });
        const rest = await redis.llen(slot);
        expect(left - rest).toBeGreaterThan(0);
        expect(left - rest).toBeLessThanOrEqual(PUMP_STEP);
        if (rest > 0) expect(nextDueMs).toBeLessThanOrEqual(f.nowMs);
        const [counts] = await f.engine.queues.counts(f.ns, ['q']);
        expect(counts).toMatchObject({ ready: 0, scheduled: 5_000 });
        left = rest;
      }
      expect(steps).toBe(Math.ceil(5_000 / PUMP_STEP));
      expect(await Audit.of(redis, f.ns)).toEqual([]);

      f.nowMs += HOUR_MS;
      await f.engine.pumpNow(f.ns);
      expect(await f.size('q')).toBe(5_000);
      expect(moved).toBe(5_000);
      expect(await slotKeys()).toEqual([]);
    });

    it('keep the order of due times over an outage of days, with near jobs and chosen ids', async () => {
      const random = randomFrom(7);
      const delays = Array.from({ length: 700 }, (_, i) => 610_000 + i * 7_919).sort(() => random() - 0.5);
      const near = [1_000, 599_999];
      await publishMany(near);
      await publishMany(delays);
      const chosen = [650_001, 3_000_001];
      for (const delayMs of chosen)
        await f.publish('q', { id: `at-${delayMs}`, delayMs, text: String(delayMs) });
      expect((await slotKeys()).length).toBeGreaterThan(15);

      f.nowMs += 10 * DAY_MS;
      await f.engine.pumpNow(f.ns);
      const inOrder = [...near, ...delays, ...chosen].sort((a, b) => a - b).map(String);
      expect(await drainAll()).toEqual(inOrder);
      expect(await Audit.of(redis, f.ns)).toEqual([]);
    });

    it('run late far jobs before jobs that are due later', async () => {
      await publishMany([700_000]);
      // Due a minute after it, and published when it was near.
      f.nowMs += 200_000;
      await publishMany([560_000]);
      f.nowMs += DAY_MS;
      await f.engine.pumpNow(f.ns);

      expect(await drainAll()).toEqual(['700000', '560000']);
    });

    it('delay the leases of their queue for a few steps only if they are late', async () => {
      await f.publish('q', { tries: 2, text: 'leased' });
      await f.lease('q', { ttrMs: 1_000 });
      await publishMany(new Array<number>(600).fill(HOUR_MS));
      f.nowMs += DAY_MS;
      await f.engine.pumpNow(f.ns);

      expect(await f.engine.queues.counts(f.ns, ['q'])).toMatchObject([
        { ready: 601, scheduled: 0, leased: 0 },
      ]);
      expect(await Audit.of(redis, f.ns)).toEqual([]);
    });

    it('delay no lease of another queue with any number of jobs', async () => {
      await publishMany(new Array<number>(20_000).fill(HOUR_MS), 'huge');
      const [, opensMs] = await dueQueues();
      f.nowMs = Number(opensMs) + 1_000;
      await f.publish('small', { tries: 2 });
      await f.lease('small', { ttrMs: 100 });
      // The slot is due before the lease, and stays so for some eighty steps.
      f.nowMs += 500;
      const runner = new ScriptRunner(f.pool, silentObserver, () => f.nowMs);
      for (let step = 0; step < 2; step++) await runner.run(pumpScript, f.ns, { limit: PUMP_STEP });

      expect(await f.engine.queues.counts(f.ns, ['small'])).toMatchObject([{ ready: 1, leased: 0 }]);
      const [slot = ''] = await slotKeys();
      expect(await redis.llen(slot)).toBeGreaterThan(19_000);
      expect(await redis.llen(slot)).toBeLessThan(20_000);
    });

    it('are opened by several servers at once for many queues, and each job moves once', async () => {
      const servers = [
        f.engine,
        ...[1, 2, 3].map(() => new PoolEngine(f.pool, { observer, clock: () => f.nowMs })),
      ];
      const ids = new Set<string>();
      for (let i = 0; i < 40; i++) {
        const delays = Array.from({ length: 50 }, (_, k) => HOUR_MS + ((i + k) % 7) * 200_000);
        for (const id of await publishMany(delays, `q${i}`)) ids.add(id);
      }
      // Through the move near, and past the last due time.
      for (let i = 0; i < 30; i++) {
        f.nowMs += 200_000;
        await Promise.all(servers.map((server) => server.pumpNow(f.ns)));
      }
      expect(moved).toBe(2_000);
      expect(await Audit.of(redis, f.ns)).toEqual([]);
      const got: string[] = [];
      for (let i = 0; i < 40; i++) got.push(...(await f.lease(`q${i}`, { count: 100 })).map(({ id }) => id));
      expect(got).toHaveLength(2_000);
      expect(new Set(got)).toEqual(ids);
      await Promise.all(servers.map((server) => server.stop()));
    });

    it('are removed with a queue whose jobs were all acknowledged', async () => {
      const ids = await publishMany(Array.from({ length: 250 }, (_, i) => DAY_MS + i * SLOT_MS));
      expect(await slotKeys()).toHaveLength(250);
      await f.engine.ackMany(
        f.ns,
        ids.map((id) => ({ queue: 'q', id })),
      );
      expect(await f.engine.queues.counts(f.ns, ['q'])).toMatchObject([{ scheduled: 0 }]);
      expect(await Audit.of(redis, f.ns)).toEqual([]);

      expect(await f.engine.tidyNow(f.ns)).toBe(0);
      expect(await slotKeys()).toHaveLength(150);
      expect(await Audit.of(redis, f.ns)).toEqual([]);
      await f.engine.tidyNow(f.ns);
      expect(await f.engine.tidyNow(f.ns)).toBe(1);
      expect(await f.keys()).toEqual([]);
    });

    it('are kept for a queue with one job left, which runs in its time', async () => {
      const ids = await publishMany(Array.from({ length: 120 }, (_, i) => DAY_MS + i * SLOT_MS));
      await f.engine.ackMany(
        f.ns,
        ids.slice(0, -1).map((id) => ({ queue: 'q', id })),
      );
      for (let i = 0; i < 3; i++) expect(await f.engine.tidyNow(f.ns)).toBe(0);
      expect(await f.engine.queues.names(f.ns)).toEqual(['q']);

      f.nowMs += DAY_MS + 120 * SLOT_MS;
      await f.engine.pumpNow(f.ns);
      expect(await f.lease('q')).toMatchObject([{ id: ids.at(-1) }]);
      expect(await slotKeys()).toEqual([]);
    });

    it('run in time after a server of an older version dropped them from the due set', async () => {
      const [id] = await publishMany([HOUR_MS]);
      const before = await dueQueues();
      expect(await redis.zrem(`{${f.ns}}:due`, before[0] ?? '')).toBe(1);
      expect(await f.engine.tidyNow(f.ns)).toBe(0);
      expect(await dueQueues()).toEqual(before);

      f.nowMs += HOUR_MS;
      await f.engine.pumpNow(f.ns);
      expect(await f.lease('q')).toMatchObject([{ id }]);
      expect(await Audit.of(redis, f.ns)).toEqual([]);
    });
  });
});
