import type { NewExtendedJob } from '../../src/contract/job/extended-job.js';
import type { LeasedJob } from '../../src/domain/job/job.js';
import { EngineFixture } from './fixture.js';

const TTR_MS = 60_000;

describe('a strict order per concurrency key', () => {
  let f: EngineFixture;
  beforeEach(async () => {
    f = await EngineFixture.withClock();
    await set({ order: 'strict' });
  });
  afterEach(async () => {
    const problems = await f.audit();
    await f.close();
    expect(problems).toEqual([]);
  });

  const set = (change: object): Promise<unknown> => f.engine.queues.change(f.ns, 'q', change);
  const put = async (ids: string, more: Partial<NewExtendedJob> = {}): Promise<void> => {
    for (const id of ids.split(' '))
      await f.put('q', { id, text: id, concurrencyKey: id[0]!, tries: 5, ...more });
  };
  const take = (count = 100): Promise<LeasedJob[]> => f.lease('q', { count, ttrMs: TTR_MS, worker: 'w' });
  /** Leases all that may run. */
  const ids = async (): Promise<string> => (await take()).map(({ id }) => id).join(' ');
  const ack = async ({ id, lease }: LeasedJob): Promise<void> => {
    expect(await f.engine.ackMany(f.ns, [{ queue: 'q', id, lease }])).toEqual(['acked']);
  };
  /** Leases and acknowledges jobs until none is left. */
  const rest = async (): Promise<string> => {
    const found: string[] = [];
    for (;;) {
      const jobs = await take(1);
      if (jobs.length === 0) return found.join(' ');
      found.push(jobs[0]!.id);
      await ack(jobs[0]!);
    }
  };
  const stateOf = async (id: string): Promise<string | undefined> => (await f.find(id))?.state;
  const respawn = (id: string) =>
    f.engine.components.deadJobs.respawnIds(f.ns, [id], { ttlMs: 0, tries: 'reset' });
  const failing = (job: LeasedJob) => ({ ...job, group: 'g', message: 'm' });

  it('leases one job of a key at a time, in the order of publishing', async () => {
    await put('a1 a2 a3 b1');
    expect(await stateOf('a2')).toBe('held');
    const [first, other] = await take();
    expect([first?.id, other?.id]).toEqual(['a1', 'b1']);
    expect(await ids()).toBe('');
    await ack(first!);
    expect(await rest()).toBe('a2 a3');
  });

  it.each([
    ['a retry at once', (job: LeasedJob) => f.engine.settle.retry(f.ns, { ...failing(job), delayMs: 0 })],
    ['a release', (job: LeasedJob) => f.engine.settle.release(f.ns, job)],
    ['a lease that was undone', (job: LeasedJob) => f.engine.undo(f.ns, [job])],
    ['an expired lease', () => f.pass(TTR_MS + 1_000)],
  ])('leases the same job again after %s', async (_name, end) => {
    await put('a1 a2 a3');
    const [first] = await take();
    await end(first!);
    expect([await stateOf('a1'), await stateOf('a2')]).toEqual(['ready', 'held']);
    expect(await rest()).toBe('a1 a2 a3');
  });

  it.each([
    ['retry', (job: LeasedJob) => f.engine.settle.retry(f.ns, { ...failing(job), delayMs: 30_000 })],
    ['release', (job: LeasedJob) => f.engine.settle.release(f.ns, { ...job, delayMs: 30_000 })],
  ])('waits for the delay of a %s', async (_name, end) => {
    await put('a1 a2 b1');
    const [first] = await take(1);
    await end(first!);
    expect(await ids()).toBe('b1');
    await put('a3');
    await f.pass(29_000);
    expect(await ids()).toBe('');
    await f.pass(1_100);
    expect(await rest()).toBe('a1 a2 a3');
  });

  it('puts a job that is ready again before all other keys: its key has waited', async () => {
    await put('a1 b1 b2 c1');
    const [first] = await take(1);
    await f.engine.settle.retry(f.ns, { ...failing(first!), delayMs: 30_000 });
    await f.pass(30_100);
    expect((await take(1))[0]?.id).toBe('a1');
  });

  it('gives the place when a job is due for the first time', async () => {
    await put('a1', { delayMs: 10_000 });
    await put('a2 a3');
    const [second] = await take();
    expect(second?.id).toBe('a2');
    await f.pass(10_100);
    await ack(second!);
    expect(await rest()).toBe('a3 a1');
  });

  it('does not count priorities within a key', async () => {
    await put('a1 a2');
    await put('a3', { priority: -5 });
    await f.engine.components.jobUpdater.change(f.ns, 'a2', { priority: 7 });
    await put('b1', { priority: -1 });
    expect(await rest()).toBe('b1 a1 a2 a3');
  });

  it('lets jobs without a key run as in any other queue', async () => {
    for (let i = 0; i < 3; i++) await f.put('q');
    await f.publish('q');
    expect(await take()).toHaveLength(4);
  });

  it.each([
    ['cancelled', () => f.engine.jobs.cancel(f.ns, 'a1')],
    ['deleted', () => f.engine.components.jobCanceller.remove(f.ns, 'a1')],
  ])('goes on when a job that waits for its next attempt is %s', async (_name, end) => {
    await put('a1 a2');
    const [first] = await take();
    await f.engine.settle.retry(f.ns, { ...failing(first!), delayMs: 30_000 });
    await end();
    expect(await rest()).toBe('a2');
  });

  it('goes on when a job that waits for its next attempt expires', async () => {
    await put('a1', { ttlMs: 40_000 });
    await put('a2');
    const [first] = await take();
    await f.engine.settle.retry(f.ns, { ...failing(first!), delayMs: 3_600_000 });
    await f.pass(41_000);
    expect(await rest()).toBe('a2');
  });

  it('goes on after a job that is dead, and takes it up at the end of its key', async () => {
    await put('a1 a2 a3');
    const [first] = await take();
    await f.engine.settle.fail(f.ns, failing(first!));
    const [second] = await take();
    expect(second?.id).toBe('a2');
    await respawn('a1');
    await put('a4');
    await ack(second!);
    expect(await rest()).toBe('a3 a1 a4');
  });

  describe('a key with a dead job and `block`', () => {
    beforeEach(async () => {
      await set({ onDead: 'block' });
      await put('a1 a2 b1');
      const [first] = await take(1);
      await f.engine.settle.fail(f.ns, failing(first!));
    });

    it('leases no later job of the key, and those of other keys', async () => {
      await put('a3');
      expect(await ids()).toBe('b1');
    });

    it('runs the dead job first when it is respawned', async () => {
      await respawn('a1');
      expect((await take(1))[0]?.id).toBe('a1');
      expect(await ids()).toBe('b1');
    });

    it('goes on when the dead job is deleted', async () => {
      await f.engine.components.jobCanceller.remove(f.ns, 'a1');
      expect(await rest()).toBe('a2 b1');
    });

    it('goes on when dead jobs no longer block', async () => {
      await set({ onDead: 'continue' });
      await f.pass(1);
      expect(await rest()).toBe('a2 b1');
    });

    it('blocks after a job whose last lease expired', async () => {
      await put('c1', { tries: 1 });
      await put('c2');
      expect(await ids()).toBe('b1 c1');
      await f.pass(TTR_MS + 1_000);
      expect(await stateOf('c1')).toBe('dead');
      expect(await ids()).toBe('b1');
    });
  });

  it.each([
    ['another queue', { queue: 'other' }],
    ['another queue, later', { queue: 'other', delayMs: 60_000 }],
  ])('frees the key of a job that goes on in %s', async (_name, next) => {
    await put('a1 a2');
    const [first] = await take();
    await f.engine.settle.complete(f.ns, [{ id: 'a1', lease: first!.lease, next }]);
    expect(await rest()).toBe('a2');
  });

  it('frees the key of a waiting job that moves to another queue', async () => {
    await put('a1 a2');
    await f.engine.components.jobUpdater.change(f.ns, 'a1', { queue: 'other' });
    expect(await rest()).toBe('a2');
  });

  it('keeps the key of a job that goes on in the same queue', async () => {
    await put('a1 a2');
    const [first] = await take();
    await f.engine.settle.complete(f.ns, [
      { id: 'a1', lease: first!.lease, next: { queue: 'q', delayMs: 5_000 } },
    ]);
    expect(await ids()).toBe('');
    await f.pass(5_100);
    expect(await rest()).toBe('a1 a2');
  });

  describe('a dependency on a later job of the key', () => {
    const dependOn = (id: string, change: object): Promise<unknown> =>
      f.engine.components.jobUpdater.change(f.ns, id, change);

    it('is refused in the next step of a job that goes on in the same queue', async () => {
      await put('a1');
      const [first] = await take();
      await put('a2 a3');
      const goOn = (queue: string) =>
        f.engine.settle.complete(f.ns, [
          { id: 'a1', lease: first!.lease, next: { queue, dependsOn: ['a2'] } },
        ]);
      expect(await goOn('q')).toEqual(['dependency_cycle']);
      expect(await stateOf('a1')).toBe('leased');
      expect(await goOn('other')).toEqual(['done']);
      expect(await rest()).toBe('a2 a3');
      await f.pass(0);
      expect(await stateOf('a1')).toBe('ready');
    });

    it.each([
      ['added', { moreDependencies: ['b1', 'a2'] }],
      ['set', { dependsOn: ['a2'] }],
    ])('is refused for a waiting job when it is %s', async (_name, change) => {
      await put('a1 a2 b1');
      const code = 'dependency_cycle';
      await expect(dependOn('a1', change)).rejects.toMatchObject({ code });
      const [first, other] = await take();
      await f.engine.settle.retry(f.ns, { ...failing(first!), delayMs: 30_000 });
      await expect(dependOn('a1', change)).rejects.toMatchObject({ code });
      await ack(other!);
      await f.pass(30_100);
      expect(await rest()).toBe('a1 a2');
    });

    it('is refused if the later one is not ready yet, too', async () => {
      await put('a1');
      await put('a2', { delayMs: 1_000 });
      await put('a3', { dependsOn: ['a2'] });
      for (const id of ['a2', 'a3'])
        await expect(dependOn('a1', { moreDependencies: [id] })).rejects.toMatchObject({
          code: 'dependency_cycle',
        });
    });

    it.each([
      ['another key', 'b2', {}],
      ['another queue', 'a2', { queue: 'other' }],
    ])('is none on a held job of %s', async (_name, id, more) => {
      await f.engine.queues.change(f.ns, 'other', { order: 'strict' });
      await put('a1 b1');
      if (id === 'a2') await put('a0', more);
      await put(id, more);
      expect(await stateOf(id)).toBe('held');
      await dependOn('a1', { moreDependencies: [id] });
      expect(await stateOf('a1')).toBe('blocked');
    });

    it('is accepted for a held job, which is behind it', async () => {
      await put('a1 a2 a3');
      await dependOn('a2', { moreDependencies: ['a3'] });
      expect(await rest()).toBe('a1 a3');
      await f.pass(0);
      expect(await rest()).toBe('a2');
    });
  });

  it('accepts a late ack of a job whose lease expired, and goes on', async () => {
    await put('a1 a2');
    const [first] = await take();
    await f.pass(TTR_MS + 1_000);
    await ack(first!);
    expect(await rest()).toBe('a2');
  });

  it('gives a late lease holder its job again', async () => {
    await put('a1 a2');
    const [first] = await take();
    await f.pass(TTR_MS + 1_000);
    await f.engine.settle.heartbeat(f.ns, first!, { ttrMs: TTR_MS });
    expect(await ids()).toBe('');
    await ack(first!);
    expect(await rest()).toBe('a2');
  });

  it('is kept by the rate of a key', async () => {
    await set({ ratePerKey: { rate: 1, periodMs: 10_000, burst: 1 } });
    await put('a1 a2');
    const [first] = await take();
    await f.engine.settle.retry(f.ns, { ...failing(first!), delayMs: 0 });
    expect(await ids()).toBe('');
    await f.pass(10_100);
    expect((await take())[0]?.id).toBe('a1');
  });

  it('takes jobs of lease requests by type, and holds up a key whose next type no worker takes', async () => {
    await put('a1', { type: 'one' });
    await put('a2', { type: 'two' });
    await put('b1', { type: 'two' });
    const typed = async (type: string): Promise<string[]> =>
      (await f.lease('q', { count: 9, types: [type] })).map(({ id }) => id);
    expect(await typed('two')).toEqual(['b1']);
    expect(await typed('one')).toEqual(['a1']);
  });

  it('holds in a fair queue', async () => {
    await set({ fair: true });
    await put('a1 a2 b1');
    const [first] = await take();
    await f.engine.settle.retry(f.ns, { ...failing(first!), delayMs: 1_000 });
    await f.pass(1_100);
    expect(await rest()).toBe('a1 a2');
  });

  describe('a queue with jobs', () => {
    beforeEach(() => set({ order: null }));

    it('lets running jobs of a key end, then runs one at a time', async () => {
      await put('a1 a2 a3 a4');
      const [first, second] = await take(2);
      await set({ order: 'strict' });
      await put('a5');
      expect(await ids()).toBe('');
      await ack(first!);
      expect(await ids()).toBe('');
      await f.engine.settle.retry(f.ns, { ...failing(second!), delayMs: 0 });
      expect(await rest()).toBe('a2 a3 a4 a5');
    });

    it('frees all keys when it is removed', async () => {
      await set({ order: 'strict' });
      await put('a1 a2 a3');
      const [first] = await take();
      await f.engine.settle.retry(f.ns, { ...failing(first!), delayMs: 30_000 });
      await set({ order: null });
      for (let i = 0; i < 5; i++) await f.pass(1);
      expect(await ids()).toBe('a2 a3');
      await f.pass(30_100);
      expect(await ids()).toBe('a1');
    });
  });

  it.each([
    ['is set beside a higher limit per key', { maxRunningPerKey: 2 }, { order: 'strict' }, 'order'],
    ['meets a higher limit per key', { order: 'strict' }, { maxRunningPerKey: 2 }, 'maxRunningPerKey'],
    ['comes with a higher limit per key', {}, { order: 'strict', maxRunningPerKey: 2 }, 'order'],
  ])('is refused when it %s', async (_name, before, change, field) => {
    await set({ order: null });
    await set(before);
    await expect(set(change)).rejects.toMatchObject({ code: 'invalid_argument', field });
    expect(await f.engine.components.queueControls.settings(f.ns, ['q'])).toMatchObject([
      { order: null, maxRunningPerKey: null, ...before },
    ]);
    await set({ order: 'strict', maxRunningPerKey: 1 });
  });

  it('delays no job of another key, with 10,000 jobs behind a failed one', async () => {
    const jobs = Array.from({ length: 50 }, () => ({
      ...{ queue: 'q', body: Buffer.from('x'), concurrencyKey: 'a', type: 't' },
    }));
    for (let i = 0; i < 200; i++) await f.engine.jobs.publish(f.ns, jobs);
    const [first] = await take(1);
    await f.engine.settle.retry(f.ns, { ...failing(first!), delayMs: 30_000 });
    await put('b1');
    expect(await ids()).toBe('b1');
    expect(await f.counts()).toMatchObject({ held: 9_999, scheduled: 1, ready: 0 });
  });
});
