import type { QueueEngine } from '../../src/engine/engine.js';
import { ImportLock } from '../../src/lmstfy-import/lock.js';
import { LmstfySource } from '../../src/lmstfy-import/source.js';
import { Transfer } from '../../src/lmstfy-import/transfer.js';
import { LmstfyStore } from '../support/lmstfy-store.js';
import { type RedisProcess, startRedis } from '../support/redis.js';
import { EngineFixture } from './fixture.js';

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
  async function drain(engine: QueueEngine, breaker: Breaker): Promise<boolean> {
    const lock = await ImportLock.take(source);
    const plan = { namespaces: null, isStopped: true };
    try {
      await new Transfer(breaker.over(source), breaker.over(engine), plan).drain(lock, true);
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
  ])(
    'goes on where it was, broken off just %s any of its steps, and brings each job once',
    async (_name, isAfter) => {
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
          for (const job of await f.reserve('q', { count: 9 })) {
            done.push(job.body.toString());
            await f.engine.ack(f.ns, 'q', job.id, job.lease);
          }
        };
        await work();
        expect(await drain(f.engine, new Breaker(0, false))).toBe(true);
        await work();

        expect([at, ...done]).toEqual([at, 'one', 'two', 'three']);
        expect(await f.engine.counts(f.ns, ['q'])).toMatchObject([
          { ready: 0, scheduled: 1, leased: 1, dead: 1 },
        ]);
        expect((await lmstfy.redis.keys('*')).filter((key) => !key.startsWith('m/'))).toEqual([]);
        await f.close();
      }
      expect(steps).toBeGreaterThan(20);
    },
  );

  it('passes nothing over in a copy while workers take jobs: it begins anew, or fails', async () => {
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
      new Transfer(consumed(most), f.engine, { namespaces: null, isStopped: false }).copy();

    await copy(1);
    expect(await f.size('q')).toBe(100);
    await expect(copy(99)).rejects.toThrow(
      /is consumed while it is copied: stop its workers, or use --drain/,
    );
    await f.close();
  });
});
