import { jest } from '@jest/globals';
import { EventEmitter } from 'node:events';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { silentObserver } from '../../src/engine/observer.js';
import { waitFor } from '../support/redis.js';
import { EngineFixture, newJob } from './fixture.js';

/** By a wake-up, on however busy a machine: who has none is served when it looks again, 850 ms after it came. Idle it takes 2 ms. */
const AT_ONCE_MS = 500;
/** Half of them at least are served within this, in ms. */
const USUALLY_MS = 100;

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
  const reserves = (): number => calls.filter((name) => name === 'reserve').length;

  it('gets a job that is published later, at once', async () => {
    const took: number[] = [];
    for (let i = 0; i < 20; i++) {
      const wait = f.reserve('q', { waitMs: 5_000 });
      await registered('q');
      const publishedMs = performance.now();
      const id = await f.publish('q');
      expect((await wait).map((job) => job.id)).toEqual([id]);
      took.push(performance.now() - publishedMs);
    }
    took.sort((a, b) => a - b);
    expect(took[10]).toBeLessThan(USUALLY_MS);
    expect(took.at(-1)).toBeLessThan(AT_ONCE_MS);
  });

  it('T21: is one of a thousand, and one job is served to one of them by few calls', async () => {
    const halt = new AbortController();
    EventEmitter.setMaxListeners(0, halt.signal);
    const served: string[] = [];
    const waits = Array.from({ length: 1_000 }, async () => {
      const jobs = await f.reserve('q', { waitMs: 60_000, signal: halt.signal });
      served.push(...jobs.map((job) => job.id));
    });
    await registered('q');
    calls.length = 0;

    const id = await f.publish('q', { tries: 1 });
    await waitFor(() => served.length > 0);
    await sleep(300);

    expect(served).toEqual([id]);
    // One for the wake-up, one for whoever looks again in this time.
    expect(reserves()).toBeLessThanOrEqual(3);
    halt.abort();
    await Promise.all(waits);
    expect(served).toEqual([id]);
  });

  it('is one of a thousand, and a thousand jobs serve all of them', async () => {
    const waits = Array.from({ length: 1_000 }, () => f.reserve('q', { waitMs: 20_000 }));
    await registered('q');
    const publishedMs = performance.now();
    for (let i = 0; i < 1_000; i += 50) {
      await f.engine.publishMany(
        f.ns,
        'q',
        Array.from({ length: 50 }, () => newJob()),
      );
    }

    const ids = (await Promise.all(waits)).map(([job]) => job?.id);

    expect(new Set(ids).size).toBe(1_000);
    expect(performance.now() - publishedMs).toBeLessThan(3_000);
  });

  it('gets its job within a second although the wake-up was lost', async () => {
    const wait = f.reserve('q', { waitMs: 10_000 });
    await registered('q');
    await f.pool.read('HDEL', `{${f.ns}}:waiting`, 'q');
    const publishedMs = performance.now();
    const id = await f.publish('q');

    expect((await wait).map((job) => job.id)).toEqual([id]);
    expect(performance.now() - publishedMs).toBeLessThan(1_000 + AT_ONCE_MS);
  });

  it('is still registered when its flag would have ended, and asks nothing for that', async () => {
    const wait = f.reserve('q', { waitMs: 7_000 });
    await registered('q');
    calls.length = 0;
    await sleep(6_000);
    const endsMs = Number(await f.pool.read('HGET', `{${f.ns}}:waiting`, 'q'));

    expect(endsMs).toBeGreaterThan(Date.now());
    // In a Cluster the namespace's channel was subscribed to only then, and what came before was not heard.
    expect(reserves()).toBeLessThanOrEqual(f.pool.options.clusterNodes ? 1 : 0);
    expect(calls.filter((name) => name === 'renew').length).toBeGreaterThan(3);
    const id = await f.publish('q');
    expect(await wait).toMatchObject([{ id }]);
  });

  it('waits on several queues, and the first that has a job serves it', async () => {
    const request = { queues: ['a', 'b', 'c'], count: 2, ttrMs: 1_000, waitMs: 5_000 };
    for (const queue of ['b', 'c', 'a']) {
      const wait = f.engine.reserve(f.ns, request);
      await registered(queue);
      const publishedMs = performance.now();
      await f.publish(queue);
      expect((await wait).map((job) => job.queue)).toEqual([queue]);
      expect(performance.now() - publishedMs).toBeLessThan(AT_ONCE_MS);
    }
  });

  it('takes no job with it when it goes', async () => {
    const halt = new AbortController();
    EventEmitter.setMaxListeners(0, halt.signal);
    const gone = Array.from({ length: 25 }, () => f.reserve('q', { waitMs: 9_000, signal: halt.signal }));
    const stay = Array.from({ length: 25 }, () => f.reserve('q', { waitMs: 9_000 }));
    await registered('q');
    const publishing = Array.from({ length: 50 }, () => f.publish('q', { tries: 1 }));
    halt.abort();
    await Promise.all(publishing);

    const served = (await Promise.all([...gone, ...stay])).flat().length;
    expect((await Promise.all(stay)).flat()).toHaveLength(25);
    await waitFor(async () => (await f.size('q')) === 50 - served);
  });

  it.each([0, 5_000])('gives back what was leased while it went, its wait being %i ms', async (waitMs) => {
    const id = await f.publish('q', { tries: 1 });
    let undone = 0;
    for (let i = 0; i < 40; i++) {
      const halt = new AbortController();
      const wait = f.reserve('q', { waitMs, signal: halt.signal, ttrMs: 600_000 });
      // The batch has left with the second turn; its reply is under way or has come.
      for (let turn = 0; turn < 1 + (i % 4); turn++) await new Promise(setImmediate);
      halt.abort();
      const jobs = await wait;
      if (jobs.length > 0) await f.engine.undo(f.ns, jobs);
      else undone++;
      await waitFor(async () => (await f.size('q')) === 1);
    }
    expect(undone).toBeGreaterThan(0);
    expect(await f.engine.peekQueue(f.ns, 'q')).toMatchObject({ id, triesLeft: 1, attempts: 0 });
  });

  it('is woken when a lease is given back, a job respawned or republished, or its time has come', async () => {
    f.engine.start();
    const next = async (act: () => Promise<unknown>): Promise<void> => {
      const wait = f.reserve('q', { waitMs: 5_000, ttrMs: 600_000 });
      await registered('q');
      const begunMs = performance.now();
      await act();
      expect(await wait).toHaveLength(1);
      expect(performance.now() - begunMs).toBeLessThan(AT_ONCE_MS);
    };
    const first = await f.publish('q', { tries: 3 });
    const [lease] = await f.reserve('q', { ttrMs: 600_000 });
    await next(() => f.engine.undo(f.ns, [lease!]));
    await next(() => f.engine.republish(f.ns, 'q', first, newJob({ tries: 1 })));
    await next(() => f.publish('q', { delayMs: 50 }));

    await f.publish('q', { tries: 1, text: 'dies' });
    await f.reserve('q', { ttrMs: 1 });
    await waitFor(async () => (await f.engine.deadLetterHead(f.ns, 'q')).size === 1);
    await next(() => f.engine.respawn(f.ns, 'q', 1, 0));

    await f.publish('q', { tries: 2 });
    await f.reserve('q', { ttrMs: 50 });
    await next(() => Promise.resolve());
  });

  it('is woken by the jobs of another server on the same Redis', async () => {
    const g = await EngineFixture.open();
    for (let i = 0; i < 10; i++) {
      const [here, there] = i % 2 === 0 ? [f, g] : [g, f];
      const wait = here.engine.reserve(f.ns, { queues: ['q'], count: 1, ttrMs: 1_000, waitMs: 5_000 });
      await registered('q');
      const publishedMs = performance.now();
      const id = await there.engine.publish(f.ns, 'q', newJob());
      expect((await wait).map((job) => job.id)).toEqual([id]);
      expect(performance.now() - publishedMs).toBeLessThan(AT_ONCE_MS);
    }
    await g.close();
  });

  it('is registered in the step that found nothing: no job slips in between', async () => {
    const g = await EngineFixture.open();
    for (let i = 0; i < 100; i++) {
      const queue = `q${i}`;
      const wait = f.reserve(queue, { waitMs: 5_000 });
      // The two travel on connections of their own, and arrive within a fraction of a millisecond, in either order.
      const sentMs = performance.now();
      await g.engine.publish(f.ns, queue, newJob());
      expect(await wait).toHaveLength(1);
      expect(performance.now() - sentMs).toBeLessThan(AT_ONCE_MS);
    }
    await g.close();
  });

  it('leaves in time, with nothing', async () => {
    const beganMs = performance.now();
    expect(await f.reserve('q', { waitMs: 300 })).toEqual([]);
    const tookMs = performance.now() - beganMs;
    expect(tookMs).toBeGreaterThanOrEqual(299);
    expect(tookMs).toBeLessThan(300 + AT_ONCE_MS);
  });

  it('D3: waits for longer than the longest timer without ending at once', async () => {
    const halt = new AbortController();
    const timers = jest.spyOn(globalThis, 'setTimeout');
    let ended = false;
    const waits = [2 ** 31, 4_294_967_295_000].map((waitMs) =>
      f.reserve('q', { waitMs, signal: halt.signal }).finally(() => (ended = true)),
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

  it('is sent away, with nothing, when the server ends; so is whoever comes after', async () => {
    const waits = Array.from({ length: 200 }, (_, i) => f.reserve(`q${i % 7}`, { waitMs: 60_000 }));
    await registered('q0');
    const endedMs = performance.now();
    f.engine.endWaits();
    expect((await Promise.all(waits)).flat()).toEqual([]);
    expect(performance.now() - endedMs).toBeLessThan(AT_ONCE_MS);

    await f.publish('q0', { tries: 1 });
    expect(await f.reserve('q0', { waitMs: 60_000 })).toEqual([]);
    expect(await f.reserve('q0')).toHaveLength(1);
  });

  it('gives back what it gets in the moment in which the server ends', async () => {
    await Promise.all(Array.from({ length: 50 }, () => f.publish('q', { tries: 1 })));
    const waits = Array.from({ length: 50 }, () => f.reserve('q', { waitMs: 5_000, ttrMs: 600_000 }));
    await new Promise(setImmediate);
    await f.engine.stop();
    const served = (await Promise.all(waits)).flat().length;
    expect((await f.size('q')) + served).toBe(50);
  });
});
