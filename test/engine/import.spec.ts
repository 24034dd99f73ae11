import { Redis } from 'ioredis';
import type { ImportedJob } from '../../src/domain/job/job.js';
import type { PoolEngine } from '../../src/engine/pool-engine.js';
import { Tally } from '../../packages/cli/src/import/counts.js';
import { ImportLock } from '../../packages/cli/src/import/lock.js';
import { LmstfySource } from '../../packages/cli/src/import/source.js';
import { Transfer } from '../../packages/cli/src/import/transfer.js';
import { LmstfyStore } from '../support/lmstfy-store.js';
import { type RedisProcess, startRedis, testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { EngineFixture, newJob } from './fixture.js';

/** Ends no import. */
const { signal: NEVER } = new AbortController();

describe('import from lmstfy', () => {
  const ID = '01M7Z17XME660YPHBY512QCV';

  describe('jobs imported from lmstfy', () => {
    let f: EngineFixture;
    let redis: Redis;
    beforeEach(async () => {
      f = await EngineFixture.withClock();
      redis = new Redis(testRedisUrl(), { protocol: 2 });
    });
    afterEach(async () => {
      expect(await Audit.of(redis, f.ns)).toEqual([]);
      redis.disconnect();
      await f.close();
    });

    const job = (number: number, more: Partial<ImportedJob> = {}): ImportedJob => {
      const id = more.id ?? `${ID}${String(number).padStart(2, '0')}`;
      return {
        ...{
          id,
          source: `q/${id}`,
          queue: 'q',
          body: Buffer.from(`job ${number}`),
          state: 'ready',
          triesLeft: 3,
        },
        ...{ attempts: 0, ttlLeftMs: 0, atMs: 0, attributes: null },
        ...more,
      };
    };
    const take = async (...jobs: ImportedJob[]): Promise<string> =>
      (await f.engine.importJobs(f.ns, jobs)).join();

    it('keep ids, bodies, tries, attributes, remaining ttl and order, behind existing jobs', async () => {
      await f.publish('q', { text: 'here' });
      const attributes = { a: 'b' };
      expect(await take(job(2, { attributes, ttlLeftMs: 5_000 }), job(1))).toBe('stored,stored');

      const [here, second, first] = await f.lease('q', { count: 9 });
      expect(here?.body.toString()).toBe('here');
      expect(second).toMatchObject({
        id: `${ID}02`,
        triesLeft: 2,
        ttlLeftMs: 5_000,
        attributes,
        attempts: 1,
      });
      expect(first).toMatchObject({
        id: `${ID}01`,
        ttlLeftMs: 0,
        attributes: null,
        body: Buffer.from('job 1'),
      });
    });

    it('are due at their time, not before', async () => {
      await take(job(1, { state: 'scheduled', atMs: f.nowMs + 90_000_000, triesLeft: 2 }));
      expect(await f.engine.queues.counts(f.ns, ['q'])).toMatchObject([{ ready: 0, scheduled: 1 }]);
      f.nowMs += 90_000_000 - 1;
      await f.engine.pumpNow(f.ns);
      expect(await f.drain('q')).toEqual([]);
      f.nowMs += 1;
      await f.engine.pumpNow(f.ns);
      expect(await f.drain('q')).toEqual(['job 1']);
    });

    it('keep their leases: they can be acknowledged, return when the lease ends, or die', async () => {
      const leased = { state: 'leased', attempts: 1, atMs: f.nowMs + 1_000 } as const;
      await take(job(1, leased), job(2, { ...leased, triesLeft: 1 }), job(3, { ...leased, triesLeft: 0 }));
      expect(await f.engine.queues.counts(f.ns, ['q'])).toMatchObject([{ ready: 0, leased: 3 }]);
      expect(await f.engine.ack(f.ns, 'q', `${ID}01`)).toBe(true);
      f.nowMs += 1_000;
      await f.engine.pumpNow(f.ns);

      expect(await f.lease('q', { count: 9 })).toMatchObject([{ id: `${ID}02`, triesLeft: 0, attempts: 2 }]);
      expect(await f.engine.deadLetter.head(f.ns, 'q')).toEqual({ id: `${ID}03`, size: 1 });
    });

    it('are dead in their former order', async () => {
      const ids = [7, 3, 9, 1];
      for (const number of ids)
        await take(job(number, { state: 'dead', triesLeft: 0, attempts: 1, ttlLeftMs: 1_000 }));
      f.nowMs += 60_000;
      expect(await f.engine.deadLetter.respawn(f.ns, 'q', 9, 0)).toBe(4);

      expect((await f.lease('q', { count: 9 })).map(({ id }) => id)).toEqual(
        ids.map((number) => `${ID}0${number}`),
      );
    });

    it('are imported once, even if they were done meanwhile, until they are forgotten', async () => {
      expect(await take(job(1), job(1), job(2))).toBe('stored,known,stored');
      await f.engine.ack(f.ns, 'q', `${ID}01`);
      expect(await take(job(1), job(2))).toBe('known,known');
      expect(await f.drain('q')).toEqual(['job 2']);

      await f.engine.forgetImported(f.ns, [`q/${ID}01`, `q/${ID}02`]);
      expect(await take(job(1), job(2))).toBe('stored,known');
      expect(await redis.pttl(`{${f.ns}}:imported`)).toBeGreaterThan(6 * 24 * 3_600_000);
    });

    it('replace no job of another queue, but an expired one', async () => {
      await f.publish('other', { id: 'mine' });
      await f.publish('other', { id: 'old', ttlMs: 1_000 });
      f.nowMs += 1_000;

      expect(await take(job(1, { id: 'mine' }), job(2, { id: 'old' }))).toBe('taken,stored');
      expect((await f.engine.jobs.peekJob(f.ns, 'q', 'old'))?.body.toString()).toBe('job 2');
      expect(await f.engine.queues.names(f.ns)).toEqual(['other', 'q']);
    });

    it('are imported in thousands, and with long bodies', async () => {
      const many = Array.from({ length: 1_000 }, (_, i) => job(i, { id: `many-${i}` }));
      const long = Array.from({ length: 3 }, (_, i) =>
        job(i, { id: `long-${i}`, body: Buffer.alloc(1_048_576, 120) }),
      );
      const results = await f.engine.importJobs(f.ns, [...many, ...long]);

      expect(new Set(results)).toEqual(new Set(['stored']));
      expect(results).toHaveLength(1_003);
      expect(await f.size('q')).toBe(1_003);
    });

    it.each<[Partial<ImportedJob>, RegExp]>([
      [{ triesLeft: 0 }, /triesLeft/],
      [{ state: 'leased' }, /attempts/],
      [{ id: 'a b' }, /job id/],
      [{ queue: 'a/b' }, /queue/],
      [{ ttlLeftMs: -1 }, /ttlLeftMs/],
      [{ atMs: 1.5 }, /atMs/],
    ])('are refused if they are invalid: %j', async (more, message) => {
      await expect(take(job(1, more))).rejects.toThrow(message);
      await f.publish('q', newJob());
    });
  });
});

describe('an import that is resumed', () => {
  class Broken extends Error {}

  /** An object whose `at`-th asynchronous call, counted over all of them, fails: before it is done, or just after it. */
  class Breaker {
    calls = 0;

    constructor(
      private readonly at: number,
      private readonly isAfter: boolean,
    ) {}

    over<T extends object>(target: T): T {
      return new Proxy(target, {
        get: (_target, name) => {
          const value: unknown = Reflect.get(target, name, target);
          if (typeof value !== 'function') return value;
          return (...args: unknown[]) => {
            const call = (): unknown => Reflect.apply(value, target, args);
            if (name.toString().startsWith('scan')) return call();
            return this.count(call);
          };
        },
      });
    }

    private async count(call: () => unknown): Promise<unknown> {
      const isHere = ++this.calls === this.at;
      if (isHere && !this.isAfter) throw new Broken();
      const result = await call();
      if (isHere) throw new Broken();
      return result;
    }
  }

  describe('a drain of a lmstfy server', () => {
    let redis: RedisProcess;
    let lmstfy: LmstfyStore;
    let source: LmstfySource;
    beforeAll(async () => {
      redis = await startRedis();
      lmstfy = new LmstfyStore(redis.url);
      source = await LmstfySource.open(redis.url);
    });
    afterAll(async () => {
      source.close();
      lmstfy.close();
      await redis.stop();
    });

    async function fill(ns: string): Promise<void> {
      await lmstfy.redis.flushall(); // its own Redis
      for (const body of ['dead', 'leased', 'one', 'two', 'three'])
        await lmstfy.publish(ns, 'q', { body, tries: 1 });
      await lmstfy.consume(ns, 'q', 0);
      await lmstfy.pump();
      await lmstfy.consume(ns, 'q', 600);
      await lmstfy.publish(ns, 'q', { body: 'later', delayS: 600 });
    }

    /** @returns false if it was broken off */
    async function drain(engine: PoolEngine, breaker: Breaker): Promise<boolean> {
      const lock = await ImportLock.take(source);
      const plan = { namespaces: null, isStopped: true, signal: NEVER };
      try {
        await new Transfer(breaker.over(source), breaker.over(engine), plan, new Tally()).drain(lock, true);
        return true;
      } catch (error) {
        if (error instanceof Broken) return false;
        throw error;
      } finally {
        await lock.release();
      }
    }

    it.each([
      ['before', false],
      ['after', true],
    ])('resumes after a stop just %s any of its steps, and moves each job once', async (_name, isAfter) => {
      let isWhole = false;
      let steps = 0;
      for (let at = 1; !isWhole; at++) {
        const f = await EngineFixture.open();
        await fill(f.ns);
        const breaker = new Breaker(at, isAfter);
        isWhole = await drain(f.engine, breaker);
        steps = breaker.calls;
        const done: string[] = [];
        const work = async (): Promise<void> => {
          for (const job of await f.lease('q', { count: 9 })) {
            done.push(job.body.toString());
            await f.engine.ack(f.ns, 'q', job.id, job.lease);
          }
        };
        await work();
        expect(await drain(f.engine, new Breaker(0, false))).toBe(true);
        await work();

        expect([at, ...done]).toEqual([at, 'one', 'two', 'three']);
        expect(await f.engine.queues.counts(f.ns, ['q'])).toMatchObject([
          { ready: 0, scheduled: 1, leased: 1, dead: 1 },
        ]);
        expect((await lmstfy.redis.keys('*')).filter((key) => !key.startsWith('m/'))).toEqual([]);
        await f.close();
      }
      expect(steps).toBeGreaterThan(20);
    });

    it.each([
      ['moves a job from the timer to its list', true],
      ['leases a job that came from the timer', false],
    ])('finds every job although the server %s between its two reads', async (_name, isMoved) => {
      const f = await EngineFixture.open();
      await lmstfy.redis.flushall(); // its own Redis
      const id = await lmstfy.publish(f.ns, 'q', { delayS: 600, tries: 3 });
      let isFirst = true;
      const busy = new Proxy(source, {
        get: (target, name) => {
          if (name !== 'readTimer') return Reflect.get(target, name, target) as unknown;
          return async (...args: Parameters<LmstfySource['readTimer']>) => {
            if (!isFirst) return source.readTimer(...args);
            isFirst = false;
            await lmstfy.pump(Math.floor(Date.now() / 1_000) + 700);
            const found = await source.readTimer(...args);
            if (!isMoved) await lmstfy.consume(f.ns, 'q', 900);
            return found;
          };
        },
      });
      const tally = new Tally();
      const lock = await ImportLock.take(source);
      await new Transfer(
        busy,
        f.engine,
        { namespaces: null, isStopped: false, signal: NEVER },
        tally,
      ).drainAll(lock);
      await lock.release();

      const counts = tally.entries()[0]?.[1];
      expect(counts).toMatchObject(isMoved ? { ready: 1, left: 0 } : { ready: 0, left: 1 });
      expect(await f.engine.jobs.peekJob(f.ns, 'q', id)).toEqual(
        isMoved ? expect.objectContaining({ state: 'ready' }) : null,
      );
      await f.close();
    });

    it('ends before its next batch after a signal, and leaves nothing half done', async () => {
      const f = await EngineFixture.open();
      await lmstfy.redis.flushall(); // its own Redis
      for (let i = 0; i < 100; i++) await lmstfy.publish(f.ns, 'q', { body: String(i) });
      const halt = new AbortController();
      const halting = new Proxy(source, {
        get: (target, name) => {
          if (name !== 'take') return Reflect.get(target, name, target) as unknown;
          return (...args: Parameters<LmstfySource['take']>) => {
            halt.abort(new Error('SIGINT'));
            return source.take(...args);
          };
        },
      });
      const lock = await ImportLock.take(source);
      const plan = { namespaces: null, isStopped: false, signal: halt.signal };
      const ended = new Transfer(halting, f.engine, plan, new Tally()).drainAll(lock);
      await expect(ended).rejects.toThrow('SIGINT');
      expect([await f.size('q'), await lmstfy.redis.llen(`q/${f.ns}/q`)]).toEqual([64, 36]);
      await lock.release();
      await f.close();
    });

    it('misses nothing in a copy while workers lease jobs: it starts again, or fails', async () => {
      const f = await EngineFixture.open();
      await lmstfy.redis.flushall(); // its own Redis
      for (let i = 0; i < 100; i++) await lmstfy.publish(f.ns, 'q', { body: String(i) });
      let taken = 0;
      const consumed = (most: number): LmstfySource =>
        new Proxy(source, {
          get: (target, name) => {
            if (name !== 'read') return Reflect.get(target, name, target) as unknown;
            return async (...args: Parameters<LmstfySource['read']>) => {
              // Between two looks at a list.
              if (args[3] > 1 && args[2] > 0 && taken < most) {
                taken++;
                await lmstfy.consume(f.ns, 'q', 600);
              }
              return source.read(...args);
            };
          },
        });
      const copy = (most: number): Promise<void> =>
        new Transfer(
          consumed(most),
          f.engine,
          { namespaces: null, isStopped: false, signal: NEVER },
          new Tally(),
        ).copy();

      await copy(1);
      expect(await f.size('q')).toBe(100);
      await expect(copy(99)).rejects.toThrow(
        /is consumed while it is copied: stop its workers, or use --drain/,
      );
      await f.close();
    });
  });
});
