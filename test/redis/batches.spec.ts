import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { LeasedJob } from '../../src/domain/job.js';
import { QueueEngine } from '../../src/engine/engine.js';
import { silentObserver, type EngineObserver } from '../../src/engine/observer.js';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { EngineFixture, newJob } from './fixture.js';

describe('calls of one turn', () => {
  let f: EngineFixture;
  let redis: Redis;
  const batches: [string, number][] = [];
  beforeEach(async () => {
    batches.length = 0;
    redis = new Redis(testRedisUrl(), { protocol: 2 });
    const script = (name: string, items: number): void => void batches.push([name, items]);
    f = await EngineFixture.withClock({ observer: { ...silentObserver, script } });
  });
  afterEach(async () => {
    expect(await Audit.of(redis, f.ns)).toEqual([]);
    redis.disconnect();
    await f.close();
  });

  const take = (...queues: string[]): Promise<LeasedJob[]> => f.reserve('', { queues });
  const bodies = (leased: LeasedJob[][]): (string | undefined)[] =>
    leased.map(([job]) => job?.body.toString());

  it('that ask for the same share one look, and are served in their order', async () => {
    for (const text of ['a', 'b', 'c']) await f.publish('q', { text });
    batches.length = 0;
    const got = await Promise.all(Array.from({ length: 50 }, () => take('q')));

    expect(batches).toEqual([['reserve', 1]]);
    expect(bodies(got)).toEqual(['a', 'b', 'c', ...new Array<undefined>(47).fill(undefined)]);
  });

  it('do not overtake one another where their queues meet', async () => {
    for (const text of ['first', 'second']) await f.publish('b', { text });
    const got = await Promise.all([take('a', 'b'), take('b'), take('a', 'b')]);

    expect(bodies(got)).toEqual(['first', 'second', undefined]);
  });

  it('that want more than one answer may hold ask again, each for itself', async () => {
    // An answer takes no more jobs at 4 MiB: 21 of these.
    const job = newJob({ body: Buffer.alloc(200_000, 'x') });
    const ids = await Promise.all(Array.from({ length: 40 }, () => f.engine.publish(f.ns, 'q', job)));
    batches.length = 0;
    const got = (await Promise.all(ids.map(() => take('q')))).map(([one]) => one?.id);

    expect(batches).toEqual([
      ['reserve', 1],
      ['reserve', 1],
    ]);
    expect(new Set(got)).toEqual(new Set(ids));
  });

  it('are served behind thousands of ghosts, though a script looks at a thousand at most', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 2_500; i += 50)
      ids.push(
        ...(await f.engine.publishMany(
          f.ns,
          'q',
          Array.from({ length: 50 }, () => newJob()),
        )),
      );
    for (const text of ['x', 'y']) await f.publish('q', { text });
    for (let i = 0; i < ids.length; i += 500) {
      const acks = ids.slice(i, i + 500).map((id) => ({ queue: 'q', id }));
      await f.engine.ackMany(f.ns, acks);
    }

    expect(bodies(await Promise.all([take('q'), take('q'), take('q')]))).toEqual(['x', 'y', undefined]);
    expect(await f.size('q')).toBe(0);
  });

  it('publish a chosen id once, and put its expired life away once', async () => {
    await f.publish('q', { id: 'mine', delayMs: 60_000, ttlMs: 1_000 });
    await f.publish('q', { delayMs: 3_600_000 });
    f.nowMs += 1_000;
    const twice = await Promise.allSettled([
      f.publish('q', { id: 'mine', text: 'one' }),
      f.publish('q', { id: 'mine', text: 'other' }),
    ]);

    expect(twice.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(await f.engine.counts(f.ns, ['q'])).toMatchObject([{ ready: 1, scheduled: 1 }]);
    expect(await f.drain('q')).toEqual(['one']);
  });
});

describe('an observer that throws', () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  beforeEach(() => {
    unhandled.length = 0;
    process.on('unhandledRejection', note);
  });
  afterEach(() => void process.off('unhandledRejection', note));

  const CALLS: readonly [keyof EngineObserver, (f: EngineFixture, id: string) => Promise<unknown>][] = [
    ['published', (f) => f.publish('q')],
    ['leased', (f) => f.reserve('q')],
    ['acked', (f, id) => f.engine.ack(f.ns, 'q', id)],
  ];

  it.each(CALLS)('(%s) fails the call of which it was told, and no other', async (method, call) => {
    let told = 0;
    const throwing = (): void => {
      if (told++ === 0) throw new Error('of the observer');
    };
    const f = await EngineFixture.open({ observer: { ...silentObserver, [method]: throwing } });
    const quiet = new QueueEngine(f.pool, {});
    const ids = await quiet.publishMany(
      f.ns,
      'q',
      Array.from({ length: 3 }, () => newJob()),
    );
    if (method === 'acked') await quiet.reserve(f.ns, { queues: ['q'], count: 3, ttrMs: 60_000, waitMs: 0 });
    const ends = await Promise.race([
      Promise.allSettled(ids.map((id) => call(f, id))),
      sleep(2_000, 'some never end', { ref: false }),
    ]);
    const stopped = await Promise.race([
      f.engine.stop().then(() => 'stopped'),
      sleep(2_000, 'does not stop', { ref: false }),
    ]);
    await quiet.stop();
    await f.pool.close();

    expect(ends).toMatchObject([
      { status: 'rejected', reason: { message: 'of the observer' } },
      { status: 'fulfilled' },
      { status: 'fulfilled' },
    ]);
    expect(stopped).toBe('stopped');
    expect(unhandled).toEqual([]);
  });
});
