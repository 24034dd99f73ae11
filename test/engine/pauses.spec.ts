import { setTimeout as sleep } from 'node:timers/promises';
import type { NewExtendedJob } from '../../src/contract/job/extended-job.js';
import type { SomeJobs } from '../../src/contract/queue-settings.js';
import type { LeaseRequest } from '../../src/domain/job/job.js';
import { runTimers } from '../../src/redis/scripts/extended.js';
import { EngineFixture } from './fixture.js';

const PAUSER = { by: 'ops', note: 'provider is down' };

describe('pauses of some jobs', () => {
  let f: EngineFixture;
  beforeEach(async () => {
    f = await EngineFixture.withClock();
  });
  afterEach(async () => {
    const problems = await f.audit();
    await f.close();
    expect(problems).toEqual([]);
  });

  const set = (change: object): Promise<unknown> => f.engine.queues.change(f.ns, 'q', change);
  const pause = (jobs: SomeJobs, forMs?: number): Promise<unknown> =>
    f.engine.queues.pause(f.ns, 'q', { ...PAUSER, forMs }, jobs);
  const resume = async (jobs: SomeJobs): Promise<void> => {
    await f.engine.queues.resume(f.ns, 'q', jobs);
    for (let i = 0; i < 5; i++) await f.pass(1);
  };
  /** Ids with a number behind their type or key. */
  const put = async (ids: string, more: (name: string) => Partial<NewExtendedJob>): Promise<void> => {
    for (const id of ids.split(' ')) await f.put('q', { id, ...more(id.replace(/\d+$/, '')) });
  };
  const byType = (type: string): Partial<NewExtendedJob> => ({ type });
  const byKey = (concurrencyKey: string): Partial<NewExtendedJob> => ({ concurrencyKey });
  const byFairKey = (fairKey: string): Partial<NewExtendedJob> => ({ fairKey });
  /** Leases until nothing more comes. */
  const leased = async (more: Partial<LeaseRequest> = {}): Promise<string> => {
    const found: string[] = [];
    for (let jobs = 1; jobs > 0;) {
      const some = await f.lease('q', { count: 100, ...more });
      jobs = some.length;
      found.push(...some.map(({ id }) => id));
    }
    return found.join(' ');
  };

  it('let the timers of a queue come to an end, whatever rate its keys have', async () => {
    await set({ ratePerKey: { rate: 1, periodMs: 1_000, burst: 1 } });
    await pause({ concurrencyKey: 'k' });
    await put('k1 k2', byKey);
    f.nowMs += 10;
    const ended = await Promise.race([f.engine.pumpNow(f.ns), sleep(2_000, 'goes on', { ref: false })]);
    await resume({ concurrencyKey: 'k' });
    expect(ended).toBe(0);
    expect(await leased()).toBe('k1');
    await f.pass(1_000);
    expect(await leased()).toBe('k2');
  });

  describe('the pause of a type', () => {
    it.each([
      ['before jobs are published', true],
      ['behind which jobs wait already', false],
    ])('leases all other jobs: a pause %s', async (_name, isFirst) => {
      if (isFirst) await pause({ type: 'sms' });
      await put('sms1 mail1 sms2 fax1', byType);
      await f.publish('q', { text: 'simple' });
      if (!isFirst) await pause({ type: 'sms' });
      const ids = (await leased()).split(' ');
      expect(ids).toHaveLength(3);
      expect(ids).toEqual(expect.arrayContaining(['mail1', 'fax1']));
      await resume({ type: 'sms' });
      expect(await leased()).toBe('sms1 sms2');
    });

    it('leases no job of the type to a request that names it', async () => {
      await put('sms1 mail1', byType);
      await pause({ type: 'sms' });
      expect(await leased({ types: ['sms'] })).toBe('');
      expect(await leased({ types: ['sms', 'mail'] })).toBe('mail1');
      await resume({ type: 'sms' });
      expect(await leased({ types: ['sms'] })).toBe('sms1');
    });

    it('pauses jobs without a type, simple ones too', async () => {
      await put('mail1', byType);
      await f.put('q', { id: 'none' });
      const simple = await f.publish('q');
      await pause({ type: null });
      expect(await leased()).toBe('mail1');
      await resume({ type: null });
      expect((await leased()).split(' ').toSorted()).toEqual([simple, 'none'].toSorted());
    });

    it('holds in a fair queue, for any request and for one that names types', async () => {
      await set({ fair: true });
      await put('a1 b1 a2', (fairKey) => ({ fairKey, type: 'sms' }));
      await put('a3 b2', (fairKey) => ({ fairKey, type: 'mail' }));
      await pause({ type: 'sms' });
      expect(await leased({ types: ['sms'] })).toBe('');
      expect(await leased()).toBe('a3 b2');
      await put('c1', (fairKey) => ({ fairKey, type: 'sms' }));
      expect(await leased()).toBe('');
      await resume({ type: 'sms' });
      expect((await leased()).split(' ').toSorted()).toEqual(['a1', 'a2', 'b1', 'c1']);
    });

    it('passes 3,000 paused jobs at the head in one lease', async () => {
      const jobs = Array.from({ length: 60 }, () => ({ queue: 'q', body: Buffer.from('x'), type: 'sms' }));
      for (let i = 0; i < 50; i++) await f.engine.jobs.publish(f.ns, jobs);
      await put('mail1', byType);
      await pause({ type: 'sms' });
      // The queue is put in order by type.
      await leased({ types: ['none'] });
      expect((await f.lease('q', { count: 1 })).map(({ id }) => id)).toEqual(['mail1']);
    });
  });

  describe('the pause of a fair key', () => {
    beforeEach(() => set({ fair: true }));

    it('leases jobs of other keys, and no credit is left for the paused one', async () => {
      await put('a1 a2 a3 a4 b1 b2 b3 b4 b5 b6', byFairKey);
      await pause({ fairKey: 'a' });
      expect(await f.lease('q', { count: 4 })).toHaveLength(4);
      expect(await leased({ types: ['x'] })).toBe('');
      await resume({ fairKey: 'a' });
      const ids = (await f.lease('q', { count: 4 })).map(({ id }) => id);
      // With credit it would be a1 a2 a3 a4. Of equal turns the first name counts.
      expect(ids.join(' ')).toBe('a1 a2 b5 a3');
    });

    it('pauses jobs that come later, and long keys', async () => {
      const long = 'k'.repeat(200);
      await pause({ fairKey: long });
      await f.put('q', { id: 'one', fairKey: long });
      await put('b1', byFairKey);
      expect(await leased()).toBe('b1');
      await resume({ fairKey: long });
      expect(await leased()).toBe('one');
    });

    it('is refused in a queue that is not fair', async () => {
      await set({ fair: false });
      await expect(pause({ fairKey: 'a' })).rejects.toMatchObject({
        code: 'invalid_argument',
        field: 'fairKey',
      });
    });
  });

  describe('the pause of a concurrency key', () => {
    it.each([
      ['without limits', {}],
      ['with a limit per key', { maxRunningPerKey: 5 }],
      ['with a strict order', { order: 'strict' }],
    ])('holds its jobs in a queue %s, and resumes them', async (_name, settings) => {
      await set({ maxKept: 10, ...settings });
      await put('a1 b1 a2', byKey);
      await pause({ concurrencyKey: 'a' });
      await put('a3 b2', byKey);
      expect((await f.lease('q', { count: 1 })).map(({ id }) => id)).toEqual(['b1']);
      expect(await f.find('a3')).toMatchObject({ state: 'held' });
      await resume({ concurrencyKey: 'a' });
      const order: string[] = [];
      for (let jobs = await f.lease('q', { count: 1 }); jobs[0]; jobs = await f.lease('q', { count: 1 })) {
        order.push(jobs[0].id);
        await f.engine.ackMany(f.ns, [jobs[0]]);
      }
      const ofKey = order.filter((id) => id.startsWith('a'));
      expect('order' in settings ? ofKey : ofKey.toSorted()).toEqual(['a1', 'a2', 'a3']);
    });

    it('lets a job that runs go on, and holds its next attempt', async () => {
      await put('a1', byKey);
      const [job] = await f.lease('q');
      await pause({ concurrencyKey: 'a' });
      expect(await f.engine.settle.heartbeat(f.ns, job!, { ttrMs: 60_000 })).toMatchObject({});
      await f.engine.settle.retry(f.ns, { ...job!, group: 'g', message: 'm', delayMs: 0 });
      expect(await leased()).toBe('');
      await resume({ concurrencyKey: 'a' });
      expect(await leased()).toBe('a1');
    });
  });

  describe('a queue whose held jobs are looked at, eight in each step', () => {
    const step = (): Promise<unknown> => {
      const args = { clock_ms: f.nowMs, deadline_ms: 0, limit: 8, quotas: '', checks_rights: '1' };
      return f.pool.run(runTimers, f.pool.keys.namespace(f.ns), args);
    };

    it('calls those that were passed before their pause ended', async () => {
      await pause({ concurrencyKey: 'a' }, 10_000);
      await put('a1', byKey);
      await set({ maxKept: 10 });
      await step();
      f.nowMs += 10_001;
      for (let i = 0; i < 3; i++) await step();
      expect(await leased()).toBe('a1');
    });

    it('passes none because another one is cancelled meanwhile', async () => {
      await pause({ concurrencyKey: 'a' });
      await pause({ concurrencyKey: 'b' });
      for (const id of ['b1', 'b2', 'b3', 'b4', 'b5', 'b6', 'b7', 'b8', 'a1']) {
        await put(id, byKey);
        f.nowMs += 1;
      }
      await f.engine.queues.resume(f.ns, 'q', { concurrencyKey: 'a' });
      await step();
      await f.engine.jobs.cancel(f.ns, 'b1');
      for (let i = 0; i < 3; i++) await step();
      expect(await leased()).toBe('a1');
    });
  });

  it.each<[string, SomeJobs, (name: string) => Partial<NewExtendedJob>]>([
    ['type', { type: 'a' }, byType],
    ['fair key', { fairKey: 'a' }, byFairKey],
    ['concurrency key', { concurrencyKey: 'a' }, byKey],
  ])('end by themselves: by %s', async (_name, jobs, more) => {
    await set({ fair: true });
    await put('a1', more);
    await pause(jobs, 10_000);
    const { engine } = f;
    expect(await engine.queues.find(f.ns, 'q')).toMatchObject({
      pauses: [{ ...jobs, pausedBy: 'ops', note: PAUSER.note, endsAtMs: f.nowMs + 10_000 }],
    });
    await f.pass(9_000);
    expect(await leased()).toBe('');
    await f.pass(1_002);
    for (let i = 0; i < 5; i++) await f.pass(1);
    expect(await leased()).toBe('a1');
    expect(await engine.queues.find(f.ns, 'q')).toMatchObject({ pauses: [] });
  });

  it('end by themselves: of a whole queue', async () => {
    await put('a1', byType);
    await f.engine.queues.pause(f.ns, 'q', { ...PAUSER, forMs: 10_000 });
    expect(await leased()).toBe('');
    await f.pass(10_002);
    expect(await leased()).toBe('a1');
    expect(await f.engine.queues.find(f.ns, 'q')).toMatchObject({ pausedAtMs: null, pauseEndsAtMs: null });
  });

  it('are refused for two kinds of jobs in one call, and beyond 100', async () => {
    await expect(pause({ type: 'a', concurrencyKey: 'b' })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    for (let i = 0; i < 100; i++) await pause({ type: `t${String(i)}` });
    await pause({ type: 't5' });
    await expect(pause({ concurrencyKey: 'b' })).rejects.toMatchObject({ code: 'invalid_argument' });
  });
});
