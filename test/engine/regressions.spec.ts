import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Quotas } from '../../src/domain/job/quotas.js';
import { Janitor } from '../../src/engine/maintenance/janitor.js';
import { silentObserver } from '../../src/engine/core/observer.js';
import { ScriptRunner } from '../../src/engine/core/scripts.js';
import { NodeTimers } from '../../src/engine/timers/timers.js';
import { LongPollManager } from '../../src/engine/lease/long-poll-manager.js';
import { unavailable } from '../../src/redis/errors.js';
import { testRedisUrl, waitFor } from '../support/redis.js';
import { Audit } from './audit.js';
import { edgeProblems } from './edge-audit.js';
import { Listening } from './events-fixture.js';
import { EngineFixture, newJob } from './fixture.js';
import { ExtendedPathFixture } from './extended-path-fixture.js';

describe('regressions of simple jobs', () => {
  const ignore = (): void => undefined;
  /** Any queue may have jobs. */
  const all = (_namespace: string, queues: readonly string[]): Promise<number[]> =>
    Promise.resolve(queues.map((_queue, i) => i));
  const request = { queues: ['q'], count: 1, ttrMs: 60_000 };

  describe('a long poll', () => {
    it('ends when its timer fires a moment early during a fetch', async () => {
      const answers: (() => void)[] = [];
      const reserve2 = (): Promise<undefined> =>
        new Promise((resolve) => answers.push(() => resolve(undefined)));
      const room = new LongPollManager(reserve2, all, () => true, ignore, ignore);
      const clock = jest.spyOn(performance, 'now').mockReturnValue(1_000);
      // The first waiter fetches again for all of them.
      void room.wait('ns', { ...request, waitMs: 60_000 });
      const ended = room.wait('ns', { ...request, waitMs: 50 });
      clock.mockReturnValue(1_049.5);
      await sleep(100);
      for (const answer of answers.splice(0)) answer();

      expect(await Promise.race([ended, sleep(200, 'goes on')])).toEqual([]);
      clock.mockRestore();
      room.close();
    });

    it('ends in time although a wake-up follows each fetch', async () => {
      const reserve2 = async (): Promise<undefined> => {
        await sleep(5);
        room.wake('ns', 'q');
      };
      const room: LongPollManager = new LongPollManager(reserve2, all, () => true, ignore, ignore);

      const ended = room.wait('ns', { ...request, waitMs: 100 });
      expect(await Promise.race([ended, sleep(600, 'goes on')])).toEqual([]);
      room.close();
    });
  });

  describe('long polls on many queues', () => {
    it('leave no flags behind while others wait on', async () => {
      const f = await EngineFixture.withClock();
      const { waiting } = f.pool.keys.namespace(f.ns);
      const queues = Array.from({ length: 200 }, (_, i) => `reply-${i}`);
      await f.lease('', { queues, waitMs: 1 });
      expect(await f.pool.read('HLEN', waiting)).toBe(200);

      f.nowMs += 6_000;
      for (let i = 0; i < 400; i++) await f.lease('busy', { waitMs: 1 });
      expect(await f.pool.read('HLEN', waiting)).toBeLessThan(40);
      await f.close();
    });

    it('fetch in short scripts', async () => {
      const batches: number[] = [];
      const script = (_name: string, items: number): void => void batches.push(items);
      const f = await EngineFixture.open({ observer: { ...silentObserver, script } });
      const queues = Array.from({ length: 400 }, (_, i) => `q${i}`);
      // Equal ones would be asked as one.
      const turned = (n: number): string[] => [...queues.slice(n), ...queues.slice(0, n)];
      await Promise.all(Array.from({ length: 8 }, (_, n) => f.lease('', { queues: turned(n) })));

      expect(batches).toEqual([2, 2, 2, 2]);
      await f.close();
    });
  });

  describe('a namespace that was just registered', () => {
    it('keeps its marker until its first job is stored, while janitors run', async () => {
      const f = await EngineFixture.open();
      const runner = new ScriptRunner(f.pool, silentObserver, undefined);
      const janitor = new Janitor(f.pool, runner, silentObserver, new NodeTimers());
      await runner.register(f.ns);
      await janitor.tidyNow(f.ns, 15_000);
      expect(await f.pool.read('EXISTS', f.pool.keys.namespace(f.ns).meta)).toBe(1);

      await janitor.tidyNow(f.ns);
      expect(await f.keys()).toEqual([]);
      expect(await f.engine.namespaces()).not.toContain(f.ns);
      await f.close();
    });
  });

  describe('a namespace that returns while it is removed', () => {
    it('is on the list again after a connection failure', async () => {
      const f = await EngineFixture.open();
      const runner = new ScriptRunner(f.pool, silentObserver, undefined);
      const janitor = new Janitor(f.pool, runner, silentObserver, new NodeTimers());
      await runner.register(f.ns);
      const read = f.pool.read.bind(f.pool);
      const reading = jest.spyOn(f.pool, 'read').mockImplementation(async (command, ...rest) => {
        if (command === 'SREM') {
          await f.publish('q');
          await read(command, ...rest);
        } else if (command !== 'EXISTS') return read(command, ...rest);
        else reading.mockRestore();
        throw unavailable('default');
      });

      await janitor.tidyNow(f.ns).catch(ignore);
      expect(await f.engine.namespaces()).toContain(f.ns);
      await f.close();
    });
  });

  describe('attributes that their caller changes and uses again', () => {
    it('are stored as they were at each publish', async () => {
      const f = await EngineFixture.open();
      const attributes: Record<string, string> = { n: '1' };
      await f.publish('q', { attributes });
      attributes['n'] = '2';
      await f.publish('q', { attributes });

      const jobs = await f.lease('q', { count: 2 });
      expect(jobs.map((job) => job.attributes)).toEqual([{ n: '1' }, { n: '2' }]);
      await f.close();
    });
  });
});

describe('regressions of extended jobs', () => {
  /** Beyond all that a test stores: bytes are counted, and nothing is refused. */
  const VAST: Partial<Quotas> = { queues: 0, jobsPerQueue: 0, bytes: 1_000_000 };

  let redis: Redis;
  beforeAll(() => (redis = new Redis(testRedisUrl())));
  afterAll(() => redis.disconnect());

  describe('bytes that count for a quota', () => {
    let f: EngineFixture;
    beforeEach(async () => (f = await EngineFixture.withClock({ quotas: VAST })));
    afterEach(() => f.close());

    async function leased(text: string): Promise<{ id: string; lease: number }> {
      await f.engine.components.extendedPublisher.publish(f.ns, [
        { queue: 'q', body: Buffer.from(text), type: 't' },
      ]);
      const [job] = await f.lease('q');
      return { id: job?.id ?? '', lease: job?.lease ?? 0 };
    }
    const heartbeat = (ref: { id: string; lease: number }, text: string) =>
      f.engine.settle.heartbeat(f.ns, ref, { data: Buffer.from(text) });
    const bytes = async (): Promise<number> =>
      Number(await f.pool.read('HGET', f.pool.keys.namespace(f.ns).meta, 'bytes'));

    it('follow the data of heartbeats, longer and shorter, and are freed with the job', async () => {
      const job = await leased('four');
      await heartbeat(job, 'x'.repeat(1_000));
      expect(await bytes()).toBe(1_000);
      await heartbeat(job, 'xy');
      expect(await bytes()).toBe(2);
      await f.engine.ack(f.ns, 'q', job.id, job.lease);
      expect(await bytes()).toBe(0);
    });

    it('are counted for several operations on one job in a batch', async () => {
      const job = await leased('four');
      await Promise.all([heartbeat(job, 'x'.repeat(100)), heartbeat(job, 'x'.repeat(50))]);
      expect(await bytes()).toBe(50);
      await Promise.all([heartbeat(job, 'x'.repeat(70)), f.engine.settle.complete(f.ns, [job])]);
      expect(await bytes()).toBe(0);
    });

    it('are not counted for a job that ends as it is published', async () => {
      const [on] = await f.engine.components.extendedPublisher.publish(f.ns, [
        { queue: 'q', body: Buffer.from('on'), retentionMs: 60_000 },
      ]);
      await f.engine.jobs.cancel(f.ns, on?.id ?? '');
      const [ended] = await f.engine.components.extendedPublisher.publish(f.ns, [
        { queue: 'q', body: Buffer.from('four'), dependsOn: [on?.id ?? ''], onDependencyFailure: 'cancel' },
      ]);
      expect(ended?.state).toBe('cancelled');
      expect(await bytes()).toBe(2);
      expect(await Audit.of(redis, f.ns)).toEqual([]);
    });
  });

  describe('jobs with chosen ids', () => {
    let f: ExtendedPathFixture;
    beforeEach(async () => (f = await ExtendedPathFixture.open()));
    afterEach(async () => {
      expect(await edgeProblems(redis, f.ns)).toEqual([]);
      expect(await Audit.of(redis, f.ns)).toEqual([]);
      await f.close();
    });

    it('do not wait for a dead dependency to be done after its purge', async () => {
      await f.put('on');
      await f.put('waits', { dependsOn: ['on'] });
      await f.fail('on');
      expect(await f.find('waits')).toMatchObject({ dependsOn: [], failedDependencies: { on: 'died' } });

      await f.components.queuePurger.purge(f.ns, 'q', ['dead']);
      await f.pump();

      expect(await f.find('waits')).toMatchObject({ dependsOn: [], failedDependencies: { on: 'deleted' } });
    });

    it('are purged with their dependents, and leave nothing behind', async () => {
      await f.put('on');
      await f.put('waits', { dependsOn: ['on'] });
      await f.fail('on');
      await f.components.queuePurger.purge(f.ns, 'q', ['dead', 'blocked']);
      await f.pump();
      expect(await f.leftovers()).toEqual([]);
    });

    it('refuse a late ack after the data changed', async () => {
      await f.put('a', { unique: { key: 'k', mode: 'debounce' }, tries: 5 });
      for (const change of [
        () => f.put('b', { unique: { key: 'k', mode: 'debounce' } }),
        () => f.components.jobUpdater.change(f.ns, 'a', { data: { body: Buffer.from('other') } }),
      ]) {
        const [late] = await f.lease();
        await f.pass(10_000);
        await change();
        const ref = { id: 'a', lease: late?.lease ?? 0 };
        await expect(f.components.leaseOperations.heartbeat(f.ns, ref)).rejects.toMatchObject({
          code: 'lease_lost',
        });
      }
      expect(await f.counts()).toMatchObject({ ready: 1, leased: 0 });
    });

    it('are cancelled when their last lease expires during the grace', async () => {
      await f.put('a', { tries: 1, retentionMs: 60_000 });
      await f.lease();
      await f.components.jobCanceller.cancel(f.ns, 'a', { graceMs: 30_000 });
      await f.pass(10_000);
      expect(await f.find('a')).toMatchObject({ state: 'cancelled' });
    });

    it('keep their log entries unchanged', async () => {
      await f.put('a');
      const data = {
        n: 1_234_567_890_123_456,
        none: [],
        deep: JSON.parse('['.repeat(1_500) + ']'.repeat(1_500)) as unknown,
      };
      await f.components.jobUpdater.log(f.ns, 'a', 'line', data);
      expect((await f.find('a'))?.timeline.at(-1)).toEqual({
        what: 'log',
        atMs: f.nowMs,
        message: 'line',
        data,
      });
    });

    it('are changed in no other queue by a unique key of their own queue', async () => {
      await f.put('a', { unique: { key: 'k', mode: 'reject' } });
      for (const mode of ['replace', 'debounce', 'existing'] as const) {
        const job = { queue: 'other', unique: { key: 'k', mode, isOwnQueueOnly: true } };
        await expect(f.put('b', job)).rejects.toMatchObject({ code: 'unique_key_taken' });
        if (mode !== 'existing') await f.put(mode, { ...job, queue: 'q', body: Buffer.from(mode) });
      }
      expect(await f.find('replace')).toMatchObject({ state: 'ready', body: Buffer.from('debounce') });
      expect(await f.counts('other')).toMatchObject({ ready: 0 });
    });
  });

  describe('the wait for a rate', () => {
    const RATE = { rate: 1, periodMs: 3_600_000, burst: 2 };
    let f: ExtendedPathFixture;
    beforeEach(async () => (f = await ExtendedPathFixture.open()));
    afterEach(() => f.close());

    it('ends although the clock is set back by a day', async () => {
      await f.components.queueControls.change(f.ns, 'q', { rate: { rate: 1, periodMs: 100, burst: 2 } });
      for (const id of 'abcdef') await f.put(id);
      expect(await f.lease()).toHaveLength(2);

      f.fixture.nowMs -= 500;
      expect(await f.lease()).toHaveLength(0);
      f.fixture.nowMs -= 86_400_000;

      expect(await f.lease()).toHaveLength(2);
      expect(await f.lease()).toHaveLength(0);
      await f.pass(200);
      expect(await f.lease()).toHaveLength(2);
    });

    it('ends for the held jobs of a key when the clock is set back, and not early otherwise', async () => {
      const { recurrings } = f.components;
      const day = 86_400_000;
      await f.components.queueControls.change(f.ns, 'q', {
        ratePerKey: { rate: 1, periodMs: day, burst: 1 },
      });
      for (const key of ['a', 'b'])
        for (let i = 0; i < 3; i++) await f.put(`${key}${String(i)}`, { concurrencyKey: key });
      for (const { id, lease } of await f.lease()) await f.fixture.engine.ack(f.ns, 'q', id, lease);
      await f.pass(1_000);
      expect(await recurrings.renew(f.ns)).toBe(0);
      expect(await f.lease()).toHaveLength(0);

      f.fixture.nowMs -= day / 24;
      expect(await recurrings.renew(f.ns)).toBe(2);
      await f.pump();
      expect((await f.lease()).map(({ id }) => id).sort()).toEqual(['a1', 'b1']);
      expect(await recurrings.renew(f.ns)).toBe(0);
    });

    it('is not inherited from another rate of the key', async () => {
      await f.components.queueControls.change(f.ns, 'q', { ratePerKey: RATE });
      for (const id of 'abcd') await f.put(id, { concurrencyKey: 'k' });
      expect(await f.lease()).toHaveLength(2);
      await f.components.queueControls.change(f.ns, 'q', {
        ratePerKey: { rate: 10, periodMs: 1_000, burst: 2 },
      });
      await f.pump();

      await f.pass(200);
      expect(await f.lease()).toHaveLength(2);
    });
  });

  describe('an event stream created again by a slower clock', () => {
    it('is read from its beginning, with a gap', async () => {
      const f = await EngineFixture.open({ eventsKeepMs: 3_000 });
      const listening = await Listening.to(f.engine, f.ns);
      const { events } = f.pool.keys.namespace(f.ns);
      const fields = ['e', 'acked', 'q', 'q', 'i', '', 't', '', 'g', '', 'd', ''];
      await f.pool.read('XADD', events, `${String(Date.now() + 3_600_000)}-1`, ...fields);
      await listening.received(1);

      await f.pool.read('DEL', events);
      await waitFor(async () => (await f.pool.read('EXISTS', events)) === 1, 5_000);
      await f.pool.read('XADD', events, '*', ...fields);

      await listening.received(2);
      expect(listening.gaps).toEqual([1]);
      await f.close();
    });
  });
});

describe('defects of lmstfy', () => {
  /** Defects of the server whose API we speak: those that show at the engine. The others are tested over HTTP. */
  describe('lmstfy defects that the engine does not have', () => {
    it('D1: a job that was taken by a server that then died is not lost', async () => {
      const dying = await EngineFixture.open();
      const ids = await dying.engine.publishMany(
        dying.ns,
        'q',
        Array.from({ length: 50 }, () => newJob({ tries: 2 })),
      );
      // The answer is never read: the server is gone in the moment in which Redis has run the script.
      void dying.lease('q', { count: 50, ttrMs: 200 }).catch(() => undefined);
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
      await dying.pool.close();

      const other = await EngineFixture.open();
      other.engine.start();
      const found = new Set<string>();
      for (let i = 0; i < 50 && found.size < ids.length; i++) {
        const request = { queues: ['q'], count: 50, ttrMs: 60_000, waitMs: 500 };
        for (const { id } of await other.engine.lease(dying.ns, request)) found.add(id);
      }
      expect(found).toEqual(new Set(ids));
      await other.close();
    });

    it('D11: every body has an entry in a ready list, and every entry a body', async () => {
      const f = await EngineFixture.withClock();
      for (let i = 0; i < 100; i++) {
        const delayMs = i % 3 === 0 ? 60_000 : 0;
        await f.publish('q', { id: `job-${i % 40}`, delayMs }).catch(() => undefined);
        if (i % 7 === 0) await f.engine.republish(f.ns, 'q', `job-${(i * 3) % 40}`, newJob());
      }

      const keys = await f.keys();
      const bodies = keys.filter((key) => key.startsWith(`{${f.ns}}j`)).length;
      const [counts] = await f.engine.queues.counts(f.ns, ['q']);
      expect(bodies).toBe((counts?.ready ?? 0) + (counts?.scheduled ?? 0));
      expect(await f.drain('q')).toHaveLength(counts?.ready ?? 0);
      await f.close();
    });

    it('D15: every queue has its own timer set', async () => {
      const f = await EngineFixture.withClock();
      for (const queue of ['a', 'b', 'c']) await f.publish(queue, { delayMs: 1_000 });

      const scheduled = (await f.keys()).filter((key) => /:s\d+$/.test(key));
      expect(scheduled).toHaveLength(3);
      f.nowMs += 1_000;
      expect(await f.engine.pumpNow(f.ns)).toBe(0);
      for (const queue of ['a', 'b', 'c']) expect(await f.drain(queue)).toEqual(['body']);
      await f.close();
    });

    it('D18: the sizes of 64 queues cost four calls', async () => {
      const calls: string[] = [];
      const f = await EngineFixture.withClock({
        observer: { ...silentObserver, script: (name) => calls.push(name) },
      });
      const queues = Array.from({ length: 64 }, (_, i) => `q${i}`);
      await Promise.all(queues.map((queue) => f.publish(queue)));
      calls.length = 0;

      const counts = await f.engine.queues.counts(f.ns, queues);

      expect(counts.map(({ ready }) => ready)).toEqual(queues.map(() => 1));
      expect(calls).toEqual(Array.from({ length: 4 }, () => 'simple_count_jobs'));
      await f.close();
    });

    it('D17: ten thousand request and reply cycles leave no key behind', async () => {
      const f = await EngineFixture.open();
      const cycle = async (): Promise<void> => {
        const id = await f.publish('requests', { ttlMs: 60_000 });
        const [request] = await f.lease('requests');
        const reply = await f.publish(id, { ttlMs: 60_000 });
        await f.lease(id, { waitMs: 1_000 });
        await f.engine.ack(f.ns, id, reply);
        await f.engine.ack(f.ns, 'requests', request?.id ?? '');
      };
      for (let i = 0; i < 10_000; i += 100) await Promise.all(Array.from({ length: 100 }, cycle));
      await f.engine.tidyNow(f.ns);

      // Only the flags of waiters are left; they end within seconds by themselves.
      expect((await f.keys()).filter((key) => !key.endsWith(':waiting'))).toEqual([]);
      await f.close();
    });
  });
});

describe('qless defects that the engine does not have', () => {
  /** Defects of qless (docs/how-to/from-qless.md) that have no other test here that bears their number. */
  let f: ExtendedPathFixture;
  beforeEach(async () => (f = await ExtendedPathFixture.open()));
  afterEach(async () => {
    jest.restoreAllMocks();
    await f.close();
  });

  const DAY_MS = 86_400_000;
  const SECOND = 1_000;
  const body = Buffer.from('x');
  const lost = { code: 'lease_lost' };

  it('Q1: a script sets no global and runs on a Redis later than 6.2.7', async () => {
    const info = String(await f.fixture.pool.read('INFO', 'server'));
    const [major = 0, minor = 0] = (/redis_version:([\d.]+)/.exec(info)?.[1] ?? '').split('.').map(Number);
    expect(major * 100 + minor).toBeGreaterThan(602);

    await f.put('a', { tries: 5, tags: ['t'], unique: { key: 'u', mode: 'reject' }, concurrencyKey: 'c' });
    await f.put('b', { dependsOn: ['a'] });
    await f.components.recurrings.set(f.ns, {
      id: 'r',
      schedule: { everyMs: SECOND },
      template: { queue: 'q', body },
    });
    await f.pass(1);
    const [job] = (await f.lease()).filter(({ id }) => id === 'a');
    await f.components.leaseOperations.retry(f.ns, {
      id: 'a',
      lease: job?.lease ?? 0,
      group: 'g',
      message: 'm',
    });

    expect(await f.work()).toEqual(['a']);
    expect(await f.work()).toEqual(['b']);
  });

  it('Q2: a late lease holder that is accepted has a whole lease again, and may be late again', async () => {
    await f.put('a', { tries: 9 });
    const [owned] = await f.lease();
    const { lease } = owned!;
    for (let times = 0; times < 3; times++) {
      await f.pass(10_000);
      expect(await f.find('a')).toMatchObject({ state: 'ready', crashes: times + 1 });
      await f.components.leaseOperations.heartbeat(f.ns, { id: 'a', lease }, { ttrMs: 10_000 });
      await f.pass(9_999);
      expect(await f.find('a')).toMatchObject({ state: 'leased', lease });
      expect(await f.lease()).toEqual([]);
    }
    expect(await f.components.leaseOperations.complete(f.ns, [{ id: 'a', lease }])).toEqual(['done']);
  });

  it('Q8: a job moved by any call shows its new queue everywhere', async () => {
    const isAllIn = async (queue: string): Promise<void> => {
      expect(await f.find('a')).toMatchObject({ queue });
      for (const one of ['q', 'next', 'other', 'again']) {
        const { items } = await f.components.lists.list(f.ns, { queue: one }, { limit: 10 });
        const counts = await f.counts(one);
        const all = (counts?.ready ?? 0) + (counts?.leased ?? 0) + (counts?.dead ?? 0);
        const isHere = one === queue ? 1 : 0;
        expect([one, items.map((item) => item.queue), all]).toEqual([one, isHere ? [one] : [], isHere]);
      }
    };
    await f.put('a', { tries: 9 });
    const [owned] = await f.lease();
    await f.components.leaseOperations.complete(f.ns, [
      { id: 'a', lease: owned!.lease, next: { queue: 'next' } },
    ]);
    await isAllIn('next');
    const [moved] = await f.lease('next');
    const given = { id: 'a', lease: moved?.lease ?? 0, group: 'g', message: 'm' };
    await f.components.leaseOperations.retry(f.ns, given);
    await isAllIn('next');
    await f.components.jobUpdater.change(f.ns, 'a', { queue: 'other' });
    await isAllIn('other');
    await f.fail('a', 'other');
    await isAllIn('other');
    await f.components.deadJobs.respawnIds(f.ns, ['a'], { tries: 'reset', ttlMs: 0, queue: 'again' });
    await isAllIn('again');
    expect((await f.lease('again')).map(({ id }) => id)).toEqual(['a']);
  });

  it('Q12: a due job moves by itself without a lease request', async () => {
    const real = await EngineFixture.open();
    try {
      const put = (id: string, job: object) =>
        real.engine.components.extendedPublisher.publish(real.ns, [{ queue: 'q', body, id, ...job }]);
      const listening = await Listening.to(real.engine, real.ns);
      real.engine.start();
      await put('leased', { tries: 2 });
      await real.lease('q', { ttrMs: 50 });
      // In one call: on a busy machine the first could expire before the second is published.
      await real.engine.components.extendedPublisher.publish(real.ns, [
        { queue: 'q', body, id: 'short', ttlMs: 50, history: true },
        { queue: 'q', body, id: 'child', dependsOn: ['short'], onDependencyFailure: 'ignore' },
      ]);
      await put('late', { delayMs: 50 });
      await real.engine.recurring.set(real.ns, {
        id: 'r',
        schedule: { everyMs: DAY_MS, offsetMs: 50 },
        template: { queue: 'q', body },
      });

      const due = ['timed_out leased', 'expired short', 'ready child', 'ready late', 'published r-1'];
      const received = (): string[] => listening.events.map(({ name, id }) => `${name} ${id}`);
      await waitFor(() => due.every((one) => received().includes(one)), 10_000).catch(() => undefined);
      expect(received()).toEqual(expect.arrayContaining(due));
    } finally {
      await real.close();
    }
  });

  it('Q13: time is that of Redis, not of a server or worker', async () => {
    const now = Date.now;
    for (const aheadMs of [DAY_MS, -DAY_MS]) {
      jest.spyOn(Date, 'now').mockImplementation(() => now() + aheadMs);
      const wrong = await EngineFixture.open();
      try {
        const seconds = Number(((await wrong.pool.read('TIME')) as string[])[0]);
        const isNear = (ms: number | null | undefined, fromNowMs: number): void =>
          expect(Math.abs((ms ?? 0) - seconds * 1_000 - fromNowMs)).toBeLessThan(60_000);
        const publishing = wrong.engine.components.extendedPublisher;
        const [late] = await publishing.publish(wrong.ns, [
          { queue: 'q', body, type: 't', delayMs: 3_600_000 },
        ]);
        const [soon] = await publishing.publish(wrong.ns, [
          { queue: 'q', body, type: 't', ttlMs: 7_200_000 },
        ]);
        const [job, ...none] = await wrong.lease('q', { count: 9, ttrMs: 1_800_000 });

        expect([job?.id, none]).toEqual([soon?.id, []]);
        const find = (id = '') => wrong.engine.jobs.find(wrong.ns, id);
        isNear((await find(soon?.id))?.publishedAtMs, 0);
        isNear((await find(soon?.id))?.leaseEndsAtMs, 1_800_000);
        isNear((await find(soon?.id))?.expiresAtMs, 7_200_000);
        isNear((await find(late?.id))?.dueAtMs, 3_600_000);
      } finally {
        await wrong.close();
        jest.restoreAllMocks();
      }
    }
  });

  it('Q14: an ack removes nothing old; retention is applied in bounded steps', async () => {
    const steps: number[] = [];
    const observer = {
      ...silentObserver,
      script: (name: string) => name === 'extended_run_timers' && steps.push(1),
    };
    const pumper = await EngineFixture.open({ clock: () => f.nowMs, observer });
    try {
      const jobs = Array.from({ length: 320 }, () => ({ queue: 'q', body, retentionMs: SECOND }));
      for (let i = 0; i < jobs.length; i += 64)
        await f.components.extendedPublisher.publish(f.ns, jobs.slice(i, i + 64));
      for (let i = 0; i < jobs.length; i += 64)
        await f.components.leaseOperations.complete(f.ns, await f.lease('q', 64));
      f.fixture.nowMs += 2 * SECOND;
      await f.put('last', { retentionMs: SECOND });
      await f.components.leaseOperations.complete(f.ns, await f.lease());
      expect(await f.counts()).toMatchObject({ done: 321 });

      await pumper.engine.pumpNow(f.ns);

      expect(await f.counts()).toMatchObject({ done: 1 });
      expect(steps.length).toBeGreaterThanOrEqual(320 / 64);
    } finally {
      await pumper.close();
    }
  });

  it('Q16: a job of a recurring job has events and dependencies as any other', async () => {
    await f.put('gate', { queue: 'gates' });
    const listening = await Listening.to(f.fixture.engine, f.ns);
    const template = { queue: 'q', body, dependsOn: ['gate'] };
    await f.components.recurrings.set(f.ns, { id: 'r', schedule: { everyMs: DAY_MS }, template });
    await f.pass(1);

    expect(await listening.received(1)).toEqual(['published q r-1']);
    expect(await f.find('r-1')).toMatchObject({ state: 'blocked', dependsOn: ['gate'] });
    expect(await f.lease()).toEqual([]);
    await f.work('gates');
    expect(await f.work()).toEqual(['r-1']);
    listening.leave();
  });

  it('Q17: a worker name proves nothing: each lease has its own number', async () => {
    const request = { queues: ['q'], count: 1, ttrMs: 10_000, waitMs: 0, worker: 'same' };
    await f.put('a', { tries: 9 });
    const [first] = await f.fixture.engine.lease(f.ns, request);
    await f.pass(10_000);
    const [second] = await f.fixture.engine.lease(f.ns, request);
    const stale = { id: 'a', lease: first?.lease ?? 0 };
    const { leaseOperations } = f.components;

    await expect(leaseOperations.heartbeat(f.ns, stale)).rejects.toMatchObject(lost);
    await expect(leaseOperations.release(f.ns, stale)).rejects.toMatchObject(lost);
    const given = { ...stale, group: 'g', message: 'm' };
    await expect(leaseOperations.retry(f.ns, given)).rejects.toMatchObject(lost);
    await expect(leaseOperations.fail(f.ns, given)).rejects.toMatchObject(lost);
    expect(await leaseOperations.complete(f.ns, [stale])).toEqual(['lease_lost']);
    await expect(f.fixture.engine.ack(f.ns, 'q', 'a', stale.lease)).rejects.toMatchObject(lost);
    expect(await f.find('a')).toMatchObject({ state: 'leased', lease: second?.lease, worker: 'same' });
    expect(await leaseOperations.complete(f.ns, [{ id: 'a', lease: second?.lease ?? 0 }])).toEqual(['done']);
  });
});

describe('regressions of the model', () => {
  let f: ExtendedPathFixture;
  beforeEach(async () => (f = await ExtendedPathFixture.open()));
  afterEach(() => f.close());

  async function leaseOf(id: string): Promise<{ id: string; lease: number }> {
    const [job] = (await f.lease('q', 1)).filter((one) => one.id === id);
    return { id, lease: job?.lease ?? 0 };
  }

  const revokedAt = async (id: string, graceMs: number): Promise<number> => {
    const answer = await f.components.jobCanceller.cancel(f.ns, id, { graceMs });
    return answer.outcome === 'requested' ? answer.revokedAtMs - f.nowMs : 0;
  };

  describe('failures found by random sequences beside a model in memory', () => {
    it('a second cancel returns the original deadline, and does not extend it', async () => {
      await f.put('a');
      await leaseOf('a');
      expect(await revokedAt('a', 500)).toBe(500);
      expect(await revokedAt('a', 1_000)).toBe(500);
      expect(await revokedAt('a', 200)).toBe(200);
      await f.pass(200);
      expect(await f.find('a')).toMatchObject({ state: 'cancelled' });
    });

    it('the grace of a former job does not shorten that of the present one', async () => {
      await f.put('a');
      await f.components.jobCanceller.cancel(f.ns, 'a', { graceMs: 0 }).catch(() => undefined);
      await f.put('b');
      const lease = await leaseOf('b');
      await revokedAt('b', 500);
      await f.components.leaseOperations.fail(f.ns, { ...lease, group: 'g', message: 'm' });
      await f.revive('b');
      await leaseOf('b');
      expect(await revokedAt('b', 2_000)).toBe(2_000);
      await f.pass(500);
      expect(await f.find('b')).toMatchObject({ state: 'leased' });
    });

    it('a job that is to be cancelled is cancelled when its last lease expires, and is not dead', async () => {
      await f.put('a', { tries: 1 });
      await leaseOf('a');
      await revokedAt('a', 60_000);
      await f.pass(10_000);
      expect(await f.find('a')).toMatchObject({ state: 'cancelled', crashes: 1 });
    });

    it('a job that is to be cancelled and moves behind a dead one is cancelled, and is not dead', async () => {
      await f.put('dead');
      await f.components.leaseOperations.fail(f.ns, { ...(await leaseOf('dead')), group: 'g', message: 'm' });
      await f.put('a', { onDependencyFailure: 'fail', retentionMs: 60_000 });
      const lease = await leaseOf('a');
      await revokedAt('a', 60_000);
      await f.components.leaseOperations.complete(f.ns, [
        { ...lease, queue: 'q', next: { queue: 'q', dependsOn: ['dead'] } },
      ]);
      expect(await f.find('a')).toMatchObject({ state: 'cancelled' });
    });

    it('a release of a job that is to be cancelled reports the cancel', async () => {
      await f.put('a', { tries: 2 });
      const lease = await leaseOf('a');
      await revokedAt('a', 60_000);
      const received = await f.components.leaseOperations.retry(f.ns, {
        ...lease,
        group: 'g',
        message: 'm',
        delayMs: 500,
      });
      expect(received).toMatchObject({ state: 'cancelled', dueAtMs: null });
    });

    it('a simple job released for longer than its ttl is gone when its ttl ends', async () => {
      await f.components.queueControls.change(f.ns, 'q', {});
      const id = await f.fixture.publish('q', { ttlMs: 1_000 });
      await f.components.leaseOperations.release(f.ns, { ...(await leaseOf(id)), delayMs: 3_600_000 });
      expect(await f.counts()).toMatchObject({ scheduled: 1 });
      await f.pass(1_000);
      expect(await f.counts()).toMatchObject({ scheduled: 0 });
    });

    it('a cancel with dependents includes those added during the grace', async () => {
      await f.put('a');
      await leaseOf('a');
      await f.components.jobCanceller.cancel(f.ns, 'a', { cascade: true, graceMs: 500 });
      await f.put('b', { dependsOn: ['a'], retentionMs: 60_000 });
      await f.pass(500);
      expect(await f.find('b')).toMatchObject({ state: 'cancelled' });
    });

    it('a job may depend on a former dependent', async () => {
      await f.put('a');
      await f.put('b', { dependsOn: ['a'] });
      await f.components.jobUpdater.change(f.ns, 'b', { dependsOn: [] });
      expect(await f.components.jobUpdater.change(f.ns, 'a', { dependsOn: ['b'] })).toMatchObject({
        state: 'blocked',
      });
      await expect(f.components.jobUpdater.change(f.ns, 'b', { dependsOn: ['a'] })).rejects.toMatchObject({
        code: 'dependency_cycle',
      });
      expect(await f.work()).toEqual(['b']);
      expect(await f.work()).toEqual(['a']);
    });

    it('dependents of a dead job notice its purge, and do not wait for it', async () => {
      await f.put('a');
      await f.put('b', { dependsOn: ['a'] });
      await f.fail('a');
      await f.components.queuePurger.purge(f.ns, 'q', ['dead']);
      await f.pump();
      expect(await f.find('b')).toMatchObject({
        state: 'blocked',
        dependsOn: [],
        failedDependencies: { a: 'deleted' },
      });
      expect(await f.counts()).toMatchObject({ blocked: 1, stuck: 1 });
      await f.components.jobCanceller.cancel(f.ns, 'b');
      expect(await f.leftovers()).toEqual([]);
    });

    it('a job made due now is not delayed again by a later change', async () => {
      await f.put('a', { delayMs: 60_000 });
      await f.components.jobUpdater.change(f.ns, 'a', { delayMs: 0 });
      expect(await f.components.jobUpdater.change(f.ns, 'a', { queue: 'r' })).toEqual({
        state: 'ready',
        dueAtMs: null,
      });
    });

    it('a respawned job is not delayed by the time of its publish', async () => {
      await f.put('a');
      await f.put('b', { dependsOn: ['a'], onDependencyFailure: 'fail', delayMs: 60_000 });
      await f.fail('a');
      await f.revive('b');
      expect(await f.components.jobUpdater.change(f.ns, 'b', { queue: 'r' })).toEqual({
        state: 'ready',
        dueAtMs: null,
      });
    });

    it('an update shows when a retried job is due', async () => {
      await f.put('a');
      await f.components.leaseOperations.retry(f.ns, {
        ...(await leaseOf('a')),
        group: 'g',
        message: 'm',
        delayMs: 700,
      });
      expect(await f.components.jobUpdater.change(f.ns, 'a', { priority: 1 })).toEqual({
        state: 'scheduled',
        dueAtMs: f.nowMs + 700,
      });
    });

    describe('jobs under a limit of their key', () => {
      const put = (id: string, priority = 0) => f.put(id, { concurrencyKey: 'k', priority });
      const states = async (...ids: string[]) =>
        Promise.all(ids.map(async (id) => (await f.find(id))?.state));

      beforeEach(async () => {
        await f.components.queueControls.change(f.ns, 'q', { maxRunningPerKey: 1 });
        await put('runs');
        await leaseOf('runs');
        for (const id of ['a', 'b']) await put(id);
        await f.lease();
        expect(await states('a', 'b')).toEqual(['held', 'held']);
      });

      it('are released by their present priority if held', async () => {
        await f.components.jobUpdater.change(f.ns, 'b', { priority: -1 });
        await f.fixture.engine.ack(f.ns, 'q', 'runs');
        expect(await states('a', 'b')).toEqual(['held', 'ready']);
      });

      it("keep a released job's slot when its priority is changed", async () => {
        await f.fixture.engine.ack(f.ns, 'q', 'runs');
        expect(await states('a', 'b')).toEqual(['ready', 'held']);
        await f.components.jobUpdater.change(f.ns, 'a', { priority: -5 });
        expect(await states('a', 'b')).toEqual(['ready', 'held']);
        expect(await f.work()).toEqual(['a']);
        expect(await f.work()).toEqual(['b']);
      });

      it('take no place along when a held job moves to another queue', async () => {
        await f.components.queueControls.change(f.ns, 'r', { maxRunningPerKey: 1 });
        for (const id of ['r1', 'r2', 'r3']) await f.put(id, { queue: 'r', concurrencyKey: 'k' });
        expect((await f.lease('r')).map(({ id }) => id)).toEqual(['r1']);
        await f.components.jobUpdater.change(f.ns, 'a', { queue: 'r' });
        await f.lease('r');
        expect(await states('r2', 'r3', 'a')).toEqual(['held', 'held', 'held']);
        await f.fixture.engine.ack(f.ns, 'r', 'r1');
        expect(await f.work('r')).toEqual(['r2']);
        expect(await f.work('r')).toEqual(['r3']);
        expect(await f.work('r')).toEqual(['a']);
      });
    });
  });
});
