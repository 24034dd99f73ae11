import { randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import type { LeasedJob } from '../../src/domain/job/job.js';
import { MAX_LEASE_COUNT } from '../../src/domain/limits.js';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { silentObserver } from '../../src/engine/core/observer.js';
import { OwnTime } from '../support/own-time.js';
import { testRedisUrl, waitFor } from '../support/redis.js';
import { Audit, SLOT_MS } from './audit.js';
import { EngineFixture, newJob } from './fixture.js';
import { ExtendedFixture } from './extended-fixture.js';

describe('long polls', () => {
  /** By a wake-up: without one it is served when it looks again, 850 ms after it came. Idle it takes 2 ms. */
  const AT_ONCE_MS = 500;
  /** Half of them at least are served within this, in ms. */
  const USUALLY_MS = 100;
  /** A request whose wake-up was lost fetches again after this. */
  const FETCHES_AGAIN_MS = 850;

  /** Real time, real wake-ups: no test's clock here. */
  describe('a consumer that waits', () => {
    let f: EngineFixture;
    /** Scripts that ran since it was last emptied. */
    const calls: string[] = [];
    beforeEach(async () => {
      f = await EngineFixture.open({ observer: { ...silentObserver, script: (name) => calls.push(name) } });
      calls.length = 0;
    });
    afterEach(() => f.close());

    const registered = (queue: string, g = f): Promise<unknown> =>
      waitFor(() => g.pool.read('HEXISTS', `{${g.ns}}:waiting`, queue));
    const reserves = (): number => calls.filter((name) => name === 'simple_lease').length;

    it('gets a job that is published later at once', async () => {
      const took: number[] = [];
      for (let i = 0; i < 20; i++) {
        const wait = f.lease('q', { waitMs: 5_000 });
        await registered('q');
        const time = new OwnTime();
        const id = await f.publishFromOtherEngine('q');
        expect((await wait).map((job) => job.id)).toEqual([id]);
        took.push(time.end());
      }
      took.sort((a, b) => a - b);
      expect(took[10]).toBeLessThan(USUALLY_MS);
      expect(took.at(-1)).toBeLessThan(AT_ONCE_MS);
    });

    it('T21: is one of a thousand, of which one gets a published job by a wake-up and a lease call a second', async () => {
      const halt = new AbortController();
      EventEmitter.setMaxListeners(0, halt.signal);
      const served: string[] = [];
      const waits = Array.from({ length: 1_000 }, async () => {
        const jobs = await f.lease('q', { waitMs: 60_000, signal: halt.signal });
        served.push(...jobs.map((job) => job.id));
      });
      await registered('q');
      // The first lease calls of all of them are over: none came for this long.
      do {
        calls.length = 0;
        await sleep(300);
      } while (reserves() > 0);
      const fromMs = performance.now();

      const id = await f.publish('q', { tries: 1 });
      await waitFor(() => served.length > 0);
      await sleep(300);

      expect(served).toEqual([id]);
      // Two for the wake-up; without one, a single request fetches again as often as this.
      const again = Math.ceil((performance.now() - fromMs) / FETCHES_AGAIN_MS);
      expect(reserves()).toBeLessThanOrEqual(2 + again);
      halt.abort();
      await Promise.all(waits);
      expect(served).toEqual([id]);
    });

    it('is one of a thousand that get a thousand jobs, one each, within 3 s', async () => {
      const waits = Array.from({ length: 1_000 }, () => f.lease('q', { waitMs: 20_000 }));
      await registered('q');
      const time = new OwnTime();
      for (let i = 0; i < 1_000; i += 50) {
        await f.engine.publishMany(
          f.ns,
          'q',
          Array.from({ length: 50 }, () => newJob()),
        );
      }

      const ids = (await Promise.all(waits)).map(([job]) => job?.id);

      expect(new Set(ids).size).toBe(1_000);
      expect(time.end()).toBeLessThan(3_000);
    });

    it('gets its job within a second although the wake-up was lost', async () => {
      const wait = f.lease('q', { waitMs: 10_000 });
      await registered('q');
      await f.pool.read('HDEL', `{${f.ns}}:waiting`, 'q');
      const time = new OwnTime();
      const id = await f.publishFromOtherEngine('q');

      expect((await wait).map((job) => job.id)).toEqual([id]);
      expect(time.end()).toBeLessThan(1_000 + AT_ONCE_MS);
    });

    it('stays registered for longer than its flag lasts, without a lease call', async () => {
      const wait = f.lease('q', { waitMs: 7_000 });
      await registered('q');
      calls.length = 0;
      await sleep(6_000);
      const endsMs = Number(await f.pool.read('HGET', `{${f.ns}}:waiting`, 'q'));

      expect(endsMs).toBeGreaterThan(Date.now());
      // In a Cluster the namespace's channel was subscribed to only then, and what came before was not heard.
      expect(reserves()).toBeLessThanOrEqual(f.pool.options.clusterNodes ? 1 : 0);
      expect(calls.filter((name) => name === 'simple_register_waiters').length).toBeGreaterThan(3);
      const id = await f.publishFromOtherEngine('q');
      expect(await wait).toMatchObject([{ id }]);
    });

    it('waits on several queues, and gets the first job of any', async () => {
      const request = { queues: ['a', 'b', 'c'], count: 2, ttrMs: 1_000, waitMs: 5_000 };
      for (const queue of ['b', 'c', 'a']) {
        const wait = f.engine.lease(f.ns, request);
        await registered(queue);
        const time = new OwnTime();
        await f.publishFromOtherEngine(queue);
        expect((await wait).map((job) => job.queue)).toEqual([queue]);
        expect(time.end()).toBeLessThan(AT_ONCE_MS);
      }
    });

    it('leaves all jobs to other consumers after it disconnected', async () => {
      const halt = new AbortController();
      EventEmitter.setMaxListeners(0, halt.signal);
      const gone = Array.from({ length: 25 }, () => f.lease('q', { waitMs: 9_000, signal: halt.signal }));
      const stay = Array.from({ length: 25 }, () => f.lease('q', { waitMs: 9_000 }));
      await registered('q');
      const publishing = Array.from({ length: 50 }, () => f.publish('q', { tries: 1 }));
      halt.abort();
      await Promise.all(publishing);

      const served = (await Promise.all([...gone, ...stay])).flat().length;
      expect((await Promise.all(stay)).flat()).toHaveLength(25);
      await waitFor(async () => (await f.size('q')) === 50 - served);
    });

    it.each([
      ['does not wait', { waitMs: 0 }],
      ['waits', { waitMs: 5_000 }],
      ['waits as a worker with a name', { waitMs: 5_000, worker: 'w' }],
    ])('leases nothing if it disconnects before the script is sent, in case it %s', async (_how, request) => {
      await Promise.all([f.publish('q', { tries: 1 }), f.publish('q', { tries: 1 })]);
      const gone = new AbortController();
      const waits = [gone.signal, undefined, gone.signal].map((signal) =>
        f.lease('q', { ...request, ...(signal && { signal }) }),
      );
      gone.abort();

      expect((await Promise.all(waits)).map((jobs) => jobs.length)).toEqual([0, 1, 0]);
      expect(await f.size('q')).toBe(1);
      // Not given back: never leased.
      expect(calls.filter((name) => name.includes('undo'))).toEqual([]);

      calls.length = 0;
      const last = new AbortController();
      const wait = f.lease('q', { ...request, signal: last.signal });
      last.abort();
      expect(await wait).toEqual([]);
      await new Promise(setImmediate);
      expect(await f.size('q')).toBe(1);
      // Once a second the workers that were seen are recorded.
      expect(calls.filter((name) => name !== 'extended_record_workers')).toEqual(['simple_count_jobs']);
    });

    it.each([0, 5_000])(
      'has its job returned if it disconnects during the lease, with a wait of %i ms',
      async (waitMs) => {
        const id = await f.publish('q', { tries: 1 });
        let undone = 0;
        for (let i = 0; i < 40; i++) {
          const halt = new AbortController();
          const wait = f.lease('q', { waitMs, signal: halt.signal, ttrMs: 600_000 });
          // The batch has left with the second turn; its reply is under way or has come.
          for (let turn = 0; turn < 1 + (i % 4); turn++) await new Promise(setImmediate);
          halt.abort();
          const jobs = await wait;
          if (jobs.length > 0) await f.engine.undo(f.ns, jobs);
          else undone++;
          await waitFor(async () => (await f.size('q')) === 1);
        }
        expect(undone).toBeGreaterThan(0);
        expect(await f.engine.queues.peek(f.ns, 'q')).toMatchObject({ id, triesLeft: 1, attempts: 0 });
      },
    );

    it('is woken when a lease is undone and when a job is respawned, republished or due', async () => {
      f.engine.start();
      const other = new PoolEngine(f.pool);
      const next = async (act: () => Promise<unknown>): Promise<void> => {
        const wait = f.lease('q', { waitMs: 5_000, ttrMs: 600_000 });
        await registered('q');
        const time = new OwnTime();
        await act();
        expect(await wait).toHaveLength(1);
        expect(time.end()).toBeLessThan(AT_ONCE_MS);
      };
      const first = await f.publish('q', { tries: 3 });
      const [lease] = await f.lease('q', { ttrMs: 600_000 });
      await next(() => f.engine.undo(f.ns, [lease!]));
      await next(() => other.republish(f.ns, 'q', first, newJob({ tries: 1 })));
      await next(() => f.publish('q', { delayMs: 50 }));

      await f.publish('q', { tries: 1, text: 'dies' });
      await f.lease('q', { ttrMs: 1 });
      await waitFor(async () => (await f.engine.deadLetter.head(f.ns, 'q')).size === 1);
      await next(() => f.engine.deadLetter.respawn(f.ns, 'q', 1, 0));

      await f.publish('q', { tries: 2 });
      await f.lease('q', { ttrMs: 50 });
      await next(() => Promise.resolve());
      await other.stop();
    });

    it('is woken by the jobs of another server on the same Redis', async () => {
      const g = await EngineFixture.open();
      for (let i = 0; i < 10; i++) {
        const [here, there] = i % 2 === 0 ? [f, g] : [g, f];
        const wait = here.engine.lease(f.ns, { queues: ['q'], count: 1, ttrMs: 1_000, waitMs: 5_000 });
        await registered('q');
        const time = new OwnTime();
        const id = await there.engine.publish(f.ns, 'q', newJob());
        expect((await wait).map((job) => job.id)).toEqual([id]);
        expect(time.end()).toBeLessThan(AT_ONCE_MS);
      }
      await g.close();
    });

    it('gets a job at once that is published during its first lease call', async () => {
      const g = await EngineFixture.open();
      for (let i = 0; i < 100; i++) {
        const queue = `q${i}`;
        const wait = f.lease(queue, { waitMs: 5_000 });
        // The two travel on connections of their own, and arrive within a fraction of a millisecond, in either order.
        const time = new OwnTime();
        await g.engine.publish(f.ns, queue, newJob());
        expect(await wait).toHaveLength(1);
        expect(time.end()).toBeLessThan(AT_ONCE_MS);
      }
      await g.close();
    });

    it('gets an empty answer in time', async () => {
      const [beganMs, time] = [performance.now(), new OwnTime()];
      expect(await f.lease('q', { waitMs: 300 })).toEqual([]);
      const tookMs = performance.now() - beganMs;
      expect(tookMs).toBeGreaterThanOrEqual(299);
      expect(time.end()).toBeLessThan(300 + AT_ONCE_MS);
    });

    it('D3: waits for longer than the longest timer without ending at once', async () => {
      const halt = new AbortController();
      const timers = jest.spyOn(globalThis, 'setTimeout');
      let ended = false;
      const waits = [2 ** 31, 4_294_967_295_000].map((waitMs) =>
        f.lease('q', { waitMs, signal: halt.signal }).finally(() => (ended = true)),
      );
      await sleep(200);
      expect(ended).toBe(false);
      expect(reserves()).toBeLessThan(4);
      // Node takes a longer one for 1 ms.
      for (const [, ms] of timers.mock.calls) expect(ms).toBeLessThan(2 ** 31);
      timers.mockRestore();
      halt.abort();
      expect(await Promise.all(waits)).toEqual([[], []]);
    });

    it('gets an empty answer when the server stops, as do later requests', async () => {
      const waits = Array.from({ length: 200 }, (_, i) => f.lease(`q${i % 7}`, { waitMs: 60_000 }));
      await registered('q0');
      const time = new OwnTime();
      f.engine.endWaits();
      expect((await Promise.all(waits)).flat()).toEqual([]);
      expect(time.end()).toBeLessThan(AT_ONCE_MS);

      await f.publish('q0', { tries: 1 });
      expect(await f.lease('q0', { waitMs: 60_000 })).toEqual([]);
      expect(await f.lease('q0')).toHaveLength(1);
    });

    it("loses no job that it is given at the moment of the server's stop", async () => {
      await Promise.all(Array.from({ length: 50 }, () => f.publish('q', { tries: 1 })));
      const waits = Array.from({ length: 50 }, () => f.lease('q', { waitMs: 5_000, ttrMs: 600_000 }));
      await new Promise(setImmediate);
      await f.engine.stop();
      const served = (await Promise.all(waits)).flat().length;
      expect((await f.size('q')) + served).toBe(50);
    });
  });
});

describe('leasing from several queues in turns', () => {
  let f: EngineFixture;
  beforeEach(async () => (f = await EngineFixture.open()));
  afterEach(() => f.close());

  const LONG = 100_000;
  const SHORT = 10;

  async function fill(queue: string, count: number): Promise<void> {
    const bodies = Array.from({ length: 64 }, () => newJob());
    for (let left = count; left > 0;) {
      const calls: Promise<unknown>[] = [];
      for (let i = 0; i < 50 && left > 0; i++, left -= 64)
        calls.push(f.engine.publishMany(f.ns, queue, bodies.slice(0, Math.min(left, 64))));
      await Promise.all(calls);
    }
  }

  function take(engine: PoolEngine, queues: string[], count = 1): Promise<LeasedJob[]> {
    return engine.lease(f.ns, { queues, count, ttrMs: 60_000, waitMs: 0, inTurns: true });
  }

  it('T22: leases from a short and a very long queue in turns, on any server', async () => {
    await fill('long', LONG);
    await fill('short', SHORT);
    const other = new PoolEngine(f.pool);

    const queues: string[] = [];
    for (let claim = 0; claim < 2 * SHORT; claim++) {
      const [job] = await take(claim % 3 === 0 ? f.engine : other, ['long', 'short']);
      queues.push(job?.queue ?? '');
    }

    expect(queues.filter((queue) => queue === 'short')).toHaveLength(SHORT);
    await other.stop();
  });

  it('gets jobs of a short and a long queue in turns in one call', async () => {
    await fill('long', 128);
    await fill('short', SHORT);

    const jobs = await take(f.engine, ['long', 'short'], 2 * SHORT);

    expect(jobs.filter(({ queue }) => queue === 'short')).toHaveLength(SHORT);
    expect(jobs.map(({ queue }) => queue).slice(0, 4)).toEqual(['long', 'short', 'long', 'short']);
  });
});

describe('parts of a lease', () => {
  describe('a lease of more extended jobs than one script takes', () => {
    let f: EngineFixture;
    let extended: ExtendedFixture;
    let scripts: number[];
    beforeEach(async () => {
      scripts = [];
      const observer = {
        ...silentObserver,
        script: (name: string, items: number) => {
          if (name === 'extended_lease') scripts.push(items);
        },
      };
      f = await EngineFixture.withClock({ observer });
      extended = new ExtendedFixture(f);
    });
    afterEach(() => f.close());

    const put = async (count: number, size = 1): Promise<string[]> => {
      const ids: string[] = [];
      for (let i = 0; i < count; i++) ids.push(await extended.put('q', { text: 'x'.repeat(size) }));
      return ids;
    };

    it('gets all jobs in two scripts, each once, in order, and can be undone as a whole', async () => {
      const ids = await put(MAX_LEASE_COUNT);
      const jobs = await extended.lease('q', MAX_LEASE_COUNT);
      expect(jobs.map(({ id }) => id)).toEqual(ids);
      expect(scripts).toHaveLength(2);
      await f.engine.undo(f.ns, jobs);
      expect((await extended.lease('q', MAX_LEASE_COUNT)).map(({ id }) => id)).toEqual(ids);
    });

    it('is undone in order if a script is slow and another one fails', async () => {
      const ids = await put(70);
      const jobs = await extended.lease('q', MAX_LEASE_COUNT);
      const run = f.pool.run.bind(f.pool);
      let calls = 0;
      f.pool.run = (async (...args: Parameters<typeof run>) => {
        if (args[0].name !== 'extended/settle') return run(...args);
        calls += 1;
        if (calls === 1) await sleep(50);
        if (calls === 2) throw new Error('away');
        return run(...args);
      }) as typeof f.pool.run;
      await expect(f.engine.undo(f.ns, jobs)).rejects.toThrow('away');
      expect(calls).toBe(3);
      f.pool.run = run;
      const rest = [...ids.slice(0, 6), ...ids.slice(38)];
      expect((await extended.lease('q', MAX_LEASE_COUNT)).map(({ id }) => id)).toEqual(rest);
    });

    it('needs one script if the first finds fewer jobs than it may take', async () => {
      await put(49);
      expect(await extended.lease('q', MAX_LEASE_COUNT)).toHaveLength(49);
      expect(scripts).toHaveLength(1);
    });

    it('ends at 50 jobs when the answer is large', async () => {
      await put(60, 50_000);
      expect(await extended.lease('q', MAX_LEASE_COUNT)).toHaveLength(50);
      expect(await extended.lease('q', MAX_LEASE_COUNT)).toHaveLength(10);
    });

    it('shares a script among at most 50 consumers', async () => {
      await put(60);
      const found = await Promise.all(Array.from({ length: 60 }, () => extended.lease('q')));
      expect(found.flat()).toHaveLength(60);
      expect(Math.max(...scripts)).toBeLessThanOrEqual(50);
    });

    it('returns the jobs of its first script when the second fails', async () => {
      await put(60);
      const run = f.pool.run.bind(f.pool);
      let calls = 0;
      f.pool.run = ((...args: Parameters<typeof run>) =>
        args[0].name === 'extended/lease' && ++calls === 2
          ? Promise.reject(new Error('away'))
          : run(...args)) as typeof f.pool.run;
      expect(await extended.lease('q', MAX_LEASE_COUNT)).toHaveLength(50);
    });

    it('stores at most 1,000 tags in one publish', async () => {
      const tags = Array.from({ length: 32 }, (_, i) => `tag${String(i)}`);
      const jobs = Array.from({ length: 32 }, () => ({ queue: 'q', body: Buffer.from('x'), tags }));
      await expect(extended.components.extendedPublisher.publish(f.ns, jobs)).rejects.toMatchObject({
        code: 'invalid_argument',
        message: 'tags are at most 1000 in one call, of all of its jobs together',
      });
      await extended.components.extendedPublisher.publish(f.ns, jobs.slice(0, 31));
    });
  });
});

describe('long payloads', () => {
  /** Around every length at which scripts take another way: values of 512 and 1,024 bytes, each with 24 of header. */
  const SIZES = [0, 1, 300, 487, 488, 489, 512, 513, 999, 1_000, 1_001, 1_024, 5_000, 65_536];
  const LONGEST = 65_536;

  describe('payloads of every length', () => {
    let f: EngineFixture;
    let redis: Redis;
    const bodies = new Map<string, Buffer>();
    beforeEach(async () => {
      bodies.clear();
      redis = new Redis(testRedisUrl(), { protocol: 2 });
      f = await EngineFixture.withClock();
    });
    afterEach(async () => {
      redis.disconnect();
      await f.close();
    });

    /** One turn: these jobs travel together, so far as a script takes them. */
    async function publish(sizes: readonly number[], job = {}): Promise<void> {
      await Promise.all(
        sizes.map(async (size) => {
          const body = randomBytes(size);
          bodies.set(await f.engine.publish(f.ns, 'q', newJob({ ...job, body })), body);
        }),
      );
    }

    /** Leases all, 100 at a time, and holds their bodies to what was published. */
    async function leaseAll(): Promise<LeasedJob[]> {
      const all: LeasedJob[] = [];
      for (;;) {
        const jobs = await f.lease('q', { count: 100, ttrMs: 1_000 });
        if (jobs.length === 0) break;
        all.push(...jobs);
      }
      expect(all.map(({ id }) => id).sort()).toEqual([...bodies.keys()].sort());
      for (const { id, body } of all)
        if (!body.equals(bodies.get(id)!)) throw new Error(`${id} has another body`);
      return all;
    }

    async function later(ms: number): Promise<void> {
      f.nowMs += ms;
      await f.engine.pumpNow(f.ns);
      expect(await Audit.of(redis, f.ns)).toEqual([]);
    }

    /** Everything that may happen to a job between its publish and its end. */
    async function wholeLife(): Promise<void> {
      const first = await leaseAll();
      await later(1_000);
      const second = await leaseAll();
      expect(second.map(({ lease }) => lease)).toEqual(first.map(() => 2));
      for (let i = 0; i < second.length; i += 50) await f.engine.undo(f.ns, second.slice(i, i + 50));
      await leaseAll();
      await later(1_000);
      expect(await f.engine.deadLetter.head(f.ns, 'q')).toMatchObject({ size: bodies.size });
      expect(await f.engine.deadLetter.respawn(f.ns, 'q', bodies.size, 60_000)).toBe(bodies.size);
      const last = await leaseAll();
      const results = await f.engine.ackMany(
        f.ns,
        last.map(({ id, lease }) => ({ queue: 'q', id, lease })),
      );
      expect(new Set(results)).toEqual(new Set(['acked']));
      await f.engine.tidyNow(f.ns);
      expect(await f.keys()).toEqual([]);
    }

    it.each(SIZES)('are returned byte for byte by every operation: %i', async (size) => {
      await publish([size], { tries: 2 });
      await wholeLife();
    });

    it.each([
      ['short ones first', (i: number) => (i < 75 ? 100 : 5_000)],
      ['long ones first', (i: number) => (i < 75 ? 5_000 : 100)],
      ['mixed', (i: number) => SIZES[(i * 5) % SIZES.length]!],
      ['a long one among short ones', (i: number) => (i % 50 === 30 ? LONGEST : 100)],
    ])('are returned byte for byte when 150 are leased together: %s', async (_name, sizeOf) => {
      await publish(
        Array.from({ length: 150 }, (_, i) => sizeOf(i)),
        { tries: 2 },
      );
      await wholeLife();
    });

    it('are returned byte for byte when 100 of the longest exceed one answer', async () => {
      await publish(new Array<number>(100).fill(LONGEST), { tries: 2 });
      const part = await f.lease('q', { count: 100, ttrMs: 1_000 });
      expect(part.length).toBeGreaterThan(60);
      expect(part.length).toBeLessThan(100);
      await f.engine.undo(f.ns, part);
      const all = await leaseAll();
      expect(all.map(({ id }) => id)).toEqual([...bodies.keys()]);
    });

    it('are returned byte for byte from the list of a far slot', async () => {
      await publish([...SIZES, ...SIZES], { delayMs: 3_600_000, tries: 2 });
      await later(3_600_000 - 30_000 - SLOT_MS);
      await later(30_000 + SLOT_MS);
      await wholeLife();
    });

    it('are acknowledged together, 64 in a call, during other calls', async () => {
      await publish(Array.from({ length: 64 }, (_, i) => SIZES[i % SIZES.length]!));
      const leased = await f.lease('q', { count: 40 });
      const results = await Promise.all([...bodies.keys()].map((id) => f.engine.ack(f.ns, 'q', id)));

      expect(results.every(Boolean)).toBe(true);
      expect(leased.length).toBeGreaterThan(0);
      expect(await Audit.of(redis, f.ns)).toEqual([]);
      expect((await f.keys()).filter((key) => key.startsWith(`{${f.ns}}j`))).toEqual([]);
    });
  });
});
