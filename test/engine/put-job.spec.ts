import { Redis } from 'ioredis';
import type { NewExtendedJob } from '../../src/contract/job/extended-job.js';
import type { JobState } from '../../src/domain/job/states.js';
import type { InPlace } from '../../src/engine/publish/extended-options.js';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { EngineFixture } from './fixture.js';
import { ExtendedFixture } from './extended-fixture.js';

describe('a job that is put under an id', () => {
  let f: EngineFixture;
  let extended: ExtendedFixture;
  const redis = new Redis(testRedisUrl(), { protocol: 2 });
  afterAll(() => redis.quit());
  beforeEach(async () => {
    f = await EngineFixture.withClock();
    extended = new ExtendedFixture(f);
  });
  afterEach(async () => {
    expect(await Audit.of(redis, f.ns)).toEqual([]);
    await f.close();
  });

  const put = (id: string, job: Partial<NewExtendedJob> = {}, inPlace?: InPlace) =>
    extended.components.extendedPublisher.put(
      f.ns,
      { queue: 'q', body: Buffer.from('new'), ...job, id },
      inPlace,
    );
  const find = (id: string) => extended.components.jobReader.find(f.ns, id);

  /** Has a job with each id in the state of its name. */
  async function inEachState(): Promise<Record<string, JobState>> {
    const {
      extendedPublisher: publishing,
      queueControls: controls,
      jobCanceller,
      leaseOperations,
    } = extended.components;
    await controls.change(f.ns, 'h', { maxRunningPerKey: 1 });
    const make = (id: string, job: Partial<NewExtendedJob> = {}) =>
      publishing.publish(f.ns, [{ queue: 'q', body: Buffer.from('old'), id, ...job }]);
    await make('dead', { queue: 'e' });
    await extended.fail('e', 'g');
    await make('done', { queue: 'e', retentionMs: 60_000 });
    const [job] = await extended.lease('e');
    await leaseOperations.complete(f.ns, [job!]);
    await make('cancelled', { queue: 'e', retentionMs: 60_000 });
    await jobCanceller.cancel(f.ns, 'cancelled');
    await make('leased', { queue: 'e', type: 't' });
    await make('leased-simple', { queue: 'e2' });
    await extended.lease('e');
    await extended.lease('e2');
    await make('running', { queue: 'h', concurrencyKey: 'k' });
    await make('held', { queue: 'h', concurrencyKey: 'k' });
    await extended.lease('h', 2);
    await f.publish('q', { id: 'ready-simple' });
    await make('ready', { tags: ['old'], type: 'old', priority: 3, ttlMs: 500_000 });
    await make('scheduled', { delayMs: 60_000, tags: ['old'] });
    await f.publish('q', { id: 'scheduled-simple', delayMs: 60_000 });
    await f.publish('q', { id: 'far', delayMs: 86_400_000 });
    await make('base', { queue: 'b', delayMs: 600_000 });
    await make('blocked', { dependsOn: ['base'] });
    return {
      ...{ dead: 'dead', done: 'done', cancelled: 'cancelled', leased: 'leased', running: 'leased' },
      ...{
        'leased-simple': 'leased',
        held: 'held',
        'ready-simple': 'ready',
        ready: 'ready',
        far: 'scheduled',
      },
      ...{ scheduled: 'scheduled', 'scheduled-simple': 'scheduled', blocked: 'blocked', base: 'scheduled' },
    };
  }

  it('is created, replaces a waiting job, or is refused, by the state of the existing job', async () => {
    const states = await inEachState();
    const job = { tags: ['new'], tries: 7, body: Buffer.from('new') };
    for (const [id, state] of Object.entries(states)) {
      const before = await find(id);
      expect([id, before?.state]).toEqual([id, state]);
      await expect(put(id, job, { isOnlyNew: true })).rejects.toMatchObject({ code: 'job_exists' });
      const refusal = { leased: 'leased', dead: 'job_exists' }[state as string];
      const code = id === 'base' ? 'has_dependents' : refusal;
      if (id === 'blocked') continue; // `base` is no dependency of another one from then on.
      if (code === undefined) {
        const isReplaced = state !== 'done' && state !== 'cancelled';
        expect([id, await put(id, job)]).toMatchObject([id, { id, state: 'ready', isReplaced }]);
        expect(await find(id)).toMatchObject({
          queue: 'q',
          state: 'ready',
          tries: 7,
          attempts: 0,
          tags: ['new'],
        });
      } else {
        await expect(put(id, job)).rejects.toMatchObject({ code });
        expect(await find(id)).toEqual(before);
      }
      expect([id, await Audit.of(redis, f.ns)]).toEqual([id, []]);
    }
    expect(await put('blocked', { delayMs: 1_000 })).toMatchObject({ state: 'scheduled', isReplaced: true });
    // What depended on it does so no more.
    expect(await put('base', job)).toMatchObject({ state: 'ready', isReplaced: true });
    expect(await Audit.of(redis, f.ns)).toEqual([]);
    expect(await put('free', job, { isOnlyNew: true })).toMatchObject({ state: 'ready', isReplaced: false });
    expect(await extended.tags()).not.toHaveProperty('old');

    // Each of them is leased once: nothing of the former jobs is left behind, also when their times come.
    await f.pass(90_000_000);
    const leased = await f.lease('q', { count: 100, ttrMs: 10_000 });
    const ids = [
      'ready-simple',
      'ready',
      'scheduled',
      'scheduled-simple',
      'far',
      'held',
      'done',
      'cancelled',
    ];
    expect(leased.map(({ id }) => id).sort()).toEqual([...ids, 'base', 'blocked', 'free'].sort());
    expect(leased.every(({ body }) => body.toString() === 'new')).toBe(true);
  });

  it('is created once and leased once after 20 concurrent puts', async () => {
    const puts = await Promise.all(
      Array.from({ length: 20 }, (_, i) => put('one', { body: Buffer.from(String(i)) })),
    );
    expect(puts.filter(({ isReplaced }) => !isReplaced)).toHaveLength(1);
    expect(await f.lease('q', { count: 10, ttrMs: 10_000 })).toHaveLength(1);
    const races = await Promise.allSettled(
      Array.from({ length: 8 }, () => put('two', {}, { isOnlyNew: true })),
    );
    expect(races.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('is not acknowledged by a late lease holder of the former job', async () => {
    await f.publish('q', { id: 'one', tries: 3 });
    const [old] = await extended.lease('q');
    await f.pass(10_001);
    expect(await put('one')).toMatchObject({ isReplaced: true });

    await expect(f.engine.ack(f.ns, 'q', 'one', old!.lease)).rejects.toMatchObject({ code: 'lease_lost' });
    const [job] = await extended.lease('q');
    expect(job!.lease).toBeGreaterThan(old!.lease);
    await expect(f.engine.ack(f.ns, 'q', 'one', old!.lease)).rejects.toMatchObject({ code: 'lease_lost' });
  });

  it('keeps or takes a unique key, and does not replace the former job if another job holds the key', async () => {
    const unique = { key: 'k', mode: 'reject' } as const;
    await put('one', { unique });
    expect(await put('one', { unique })).toMatchObject({ isReplaced: true });
    await put('other');
    for (const mode of ['reject', 'existing', 'debounce'] as const)
      await expect(put('other', { unique: { key: 'k', mode } })).rejects.toMatchObject({
        code: 'unique_key_taken',
        holderId: 'one',
      });
    expect(await find('other')).toMatchObject({ state: 'ready', body: Buffer.from('new') });
    await put('one');
    expect(await put('other', { unique })).toMatchObject({ isReplaced: true });
  });

  it('replaces no job of another queue or namespace without permission', async () => {
    await put('one', { queue: 'theirs' });
    await expect(put('one', {}, { isOwnQueueOnly: true })).rejects.toMatchObject({ code: 'job_exists' });
    await extended.lease('theirs');
    await expect(put('one', {}, { isOwnQueueOnly: true })).rejects.toMatchObject({ code: 'job_exists' });
    const elsewhere = await EngineFixture.withClock();
    try {
      const { extendedPublisher: publishing } = elsewhere.engine.components;
      const job = { queue: 'q', body: Buffer.from('x'), id: 'one' };
      expect(await publishing.put(elsewhere.ns, job)).toMatchObject({ isReplaced: false });
      expect(await find('one')).toMatchObject({ queue: 'theirs', state: 'leased' });
    } finally {
      await elsewhere.close();
    }
  });

  it('may depend on others, and not on itself', async () => {
    await put('base', { delayMs: 60_000 });
    await put('one', { dependsOn: ['base'] });
    expect(await put('one', { dependsOn: ['base'] })).toMatchObject({ state: 'blocked', isReplaced: true });
    await expect(put('one', { dependsOn: ['one'] })).rejects.toMatchObject({ code: 'dependency_cycle' });
    expect(await put('one')).toMatchObject({ state: 'ready', isReplaced: true });
  });
});

it.each([{ jobsPerQueue: 1 }, { bytes: 10 }])(
  'a put replaces a job in a full queue or namespace: %p',
  async (quota) => {
    const none = { queues: 0, jobsPerQueue: 0, bytes: 0 };
    const f = await EngineFixture.withClock({ quotas: { ...none, ...quota } });
    const put = (id: string, bytes: number) =>
      f.engine.components.extendedPublisher.put(f.ns, { queue: 'q', body: Buffer.alloc(bytes), id });
    try {
      expect(await put('one', 10)).toMatchObject({ isReplaced: false });
      for (const bytes of [10, 4]) expect(await put('one', bytes)).toMatchObject({ isReplaced: true });
      const refused = { code: 'jobsPerQueue' in quota ? 'queue_full' : 'namespace_full' };
      await expect(put('other', 7)).rejects.toMatchObject(refused);
      expect(await f.lease('q', { count: 5, ttrMs: 1_000 })).toHaveLength(1);
    } finally {
      await f.close();
    }
  },
);
