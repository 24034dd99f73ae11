import type { LeasedJob } from '../../src/domain/job/job.js';
import type { NewExtendedJob } from '../../src/contract/job/extended-job.js';
import type { SettingsChange } from '../../src/contract/queue-settings.js';
import { Redis } from 'ioredis';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { EngineFixture } from './fixture.js';

const TTR_MS = 10_000;
const TTL_MS = 60_000;
/** The default retry policy of the native API: exponential from a second on, with up to a fifth taken off by chance. */
const SECOND_MS = 1_000;
const JITTER = 0.2;

describe('an expired lease', () => {
  let f: EngineFixture;
  beforeEach(async () => {
    f = await EngineFixture.withClock();
  });
  afterEach(async () => {
    const redis = new Redis(testRedisUrl());
    try {
      expect(await Audit.of(redis, f.ns)).toEqual([]);
    } finally {
      redis.disconnect();
      await f.close();
    }
  });

  const native = async (job: Partial<NewExtendedJob> = {}): Promise<string> => {
    const [one] = await f.engine.jobs.publish(f.ns, [{ queue: 'q', body: Buffer.from('x'), ...job }]);
    return one!.id;
  };
  const settings = (change: SettingsChange): Promise<boolean> =>
    f.engine.components.queueControls.change(f.ns, 'q', change);
  const lease = async (): Promise<LeasedJob> => {
    const [job] = await f.lease('q', { ttrMs: TTR_MS, worker: 'w1' });
    return job!;
  };
  /** Leases the only ready job and lets the lease expire. */
  const crash = async (): Promise<LeasedJob> => {
    const job = await lease();
    await f.pass(TTR_MS);
    return job;
  };
  const ack = async (job: LeasedJob) =>
    f.engine.ackMany(f.ns, [{ queue: job.queue, id: job.id, lease: job.lease }]);

  it('returns a job from lmstfy’s API at once, without a failure', async () => {
    const id = await f.publish('q', { tries: 2 });
    await crash();
    expect(await f.find(id)).toMatchObject({ state: 'ready', failure: null, attempts: 1 });
    await crash();
    // The header has no field for it: the state says why.
    const failure = {
      group: 'lease_expired',
      message: 'its last lease ran out',
      atMs: f.nowMs,
      worker: null,
    };
    expect(await f.find(id)).toMatchObject({ state: 'dead', failure, tries: 2, triesLeft: 0 });
    const { items } = await f.engine.jobs.list(f.ns, { queue: 'q', state: 'dead' }, { limit: 9 });
    expect(items).toMatchObject([{ id, failure }]);
    const ofGroup = async (): Promise<number> =>
      (await f.engine.components.deadJobs.count(f.ns, { group: 'lease_expired' })).done;
    expect(await ofGroup()).toBe(0);
    await f.engine.jobs.addTags(f.ns, id, ['t']);
    expect(await f.find(id)).toMatchObject({ state: 'dead', failure, endedAtMs: f.nowMs });
    expect(await ofGroup()).toBe(1);
    await f.engine.deadLetter.respawn(f.ns, 'q', 1, 0);
    expect(await f.find(id)).toMatchObject({ state: 'ready', failure: null });
  });

  it.each([
    ['without options', {}],
    ['with an id of its own and a ttl', { id: 'mine', ttlMs: 3_600_000 }],
    ['with attributes', { attributes: { a: 'b' } }],
    ['with a type and tags', { type: 't', tags: ['x'] }],
    ['with a priority', { priority: -3 }],
  ])('delays a native job %s by the default policy, with its failure', async (_name, options) => {
    const id = await native(options);
    for (const [crashes, delayMs] of [1, 2, 4, 8].map((times, i) => [i + 1, times * SECOND_MS] as const)) {
      await crash();
      const job = await f.find(id);
      expect(job).toMatchObject({
        state: 'scheduled',
        crashes,
        failures: 0,
        tries: 5,
        triesLeft: 5 - crashes,
      });
      expect(job?.failure).toMatchObject({ group: 'lease_expired', atMs: f.nowMs });
      expect(job!.dueAtMs! - f.nowMs).toBeLessThanOrEqual(delayMs);
      expect(job!.dueAtMs! - f.nowMs).toBeGreaterThanOrEqual(delayMs * (1 - JITTER) - 1);
      expect(await f.lease('q')).toEqual([]);
      f.nowMs = job!.dueAtMs! - 1;
      await f.pass(0);
      expect(await f.lease('q')).toEqual([]);
      await f.pass(1);
    }
    await crash();
    expect(await f.find(id)).toMatchObject({
      state: 'dead',
      crashes: 5,
      triesLeft: 0,
      failure: { group: 'lease_expired' },
    });
  });

  it('keeps ttl, attributes, tries and publish time of a simple job that becomes extended', async () => {
    const id = await native({ id: 'mine', ttlMs: 3_600_000, attributes: { a: 'b' }, tries: 7 });
    const before = await f.find(id);
    await crash();
    const { publishedAtMs, expiresAtMs, attributes, tries, body } = (await f.find(id))!;
    expect({ expiresAtMs, attributes, tries, body }).toEqual({
      expiresAtMs: before!.expiresAtMs,
      attributes: { a: 'b' },
      tries: 7,
      body: Buffer.from('x'),
    });
    expect(Math.abs(publishedAtMs! - before!.publishedAtMs!)).toBeLessThanOrEqual(1);
    await f.pass(SECOND_MS);
    expect(await f.find(id)).toMatchObject({ state: 'ready' });
    await f.pass(3_600_000);
    expect(await f.keys()).not.toContainEqual(expect.stringContaining('mine'));
  });

  it.each([
    ['fixed', { kind: 'fixed', delayMs: 3_000 }, 3_000],
    ['a list', { kind: 'list', delaysMs: [500, 9_000] }, 500],
    ['a fixed one without delay', { kind: 'fixed', delayMs: 0 }, 0],
    ['none', { kind: 'none' }, null],
    ['one that names it as final', { kind: 'fixed', delayMs: 1, nonRetryable: ['lease_expired'] }, null],
  ] as const)('follows the job’s own policy: %s', async (_name, retry, delayMs) => {
    const id = await native({ retry });
    await crash();
    expect(await f.find(id)).toMatchObject({
      state: delayMs === null ? 'dead' : delayMs === 0 ? 'ready' : 'scheduled',
      dueAtMs: delayMs === null || delayMs === 0 ? null : f.nowMs + delayMs,
      failure: { group: 'lease_expired', worker: 'w1' },
    });
  });

  it('counts the job as stalled of its worker until the next lease of the job', async () => {
    await native({ type: 't' });
    const stalled = async () =>
      (await f.engine.sessions.list(f.ns, { limit: 9 })).items.map((worker) => worker.stalled);
    await crash();
    expect(await stalled()).toEqual([1]);
    await f.pass(SECOND_MS);
    expect(await f.counts()).toMatchObject({ ready: 1 });
    expect(await stalled()).toEqual([1]);
    await f.lease('q', { worker: 'w2' });
    expect(await stalled()).toEqual([0, 0]);
  });

  it('gives the job all its tries again in its next queue', async () => {
    const id = await native({ tries: 7 });
    await crash();
    await f.pass(SECOND_MS);
    const { lease: number } = await lease();
    await f.engine.settle.complete(f.ns, [{ id, lease: number, next: { queue: 'next' } }]);
    expect(await f.find(id)).toMatchObject({ queue: 'next', tries: 7, triesLeft: 7 });
  });

  it('lengthens the delay of the next failure by a linear policy', async () => {
    const id = await native({ retry: { kind: 'linear', delayMs: 1_000 } });
    await crash();
    await f.pass(1_000);
    const job = await lease();
    await f.engine.settle.retry(f.ns, { id, lease: job.lease, group: 'g', message: 'm' });
    expect(await f.find(id)).toMatchObject({ crashes: 1, failures: 1, dueAtMs: f.nowMs + 2_000 });
  });

  it('has the default policy of a retry, which delays a failed native job by about a second', async () => {
    const id = await native();
    const job = await lease();
    await f.engine.settle.retry(f.ns, { id, lease: job.lease, group: 'g', message: 'm' });
    const { state, dueAtMs } = (await f.find(id))!;
    expect(state).toBe('scheduled');
    expect(dueAtMs! - f.nowMs).toBeGreaterThanOrEqual(SECOND_MS * (1 - JITTER) - 1);
  });

  describe('the last lease holder after an expired lease', () => {
    const verbs = {
      ack: (job: LeasedJob) => ack(job),
      heartbeat: (job: LeasedJob) => f.engine.settle.heartbeat(f.ns, job),
      release: (job: LeasedJob) => f.engine.settle.release(f.ns, job),
      retry: (job: LeasedJob) => f.engine.settle.retry(f.ns, { ...job, group: 'g', message: 'm' }),
      fail: (job: LeasedJob) => f.engine.settle.fail(f.ns, { ...job, group: 'g', message: 'm' }),
    };
    const after = { ack: null, heartbeat: 'leased', release: 'ready', retry: 'scheduled', fail: 'dead' };

    it.each(Object.keys(verbs) as (keyof typeof verbs)[])(
      'is accepted while the job waits for its delay: %s',
      async (verb) => {
        const id = await native();
        const job = await crash();
        expect(await f.find(id)).toMatchObject({ state: 'scheduled' });
        await verbs[verb](job);
        expect((await f.find(id))?.state ?? null).toBe(after[verb]);
      },
    );

    it.each(Object.keys(verbs) as (keyof typeof verbs)[])(
      'is refused after the next lease: %s',
      async (verb) => {
        const id = await native();
        const job = await crash();
        await f.pass(SECOND_MS);
        const next = await lease();
        expect(next.lease).toBeGreaterThan(job.lease);
        const outcome = await Promise.resolve(verbs[verb](job)).then(
          (codes) => (Array.isArray(codes) ? JSON.stringify(codes) : 'accepted'),
          (error: unknown) => String(error),
        );
        expect(outcome).toMatch(/lost/i);
        expect(await f.find(id)).toMatchObject({ state: 'leased', lease: next.lease });
      },
    );

    it.each([
      ['native', () => native({ tries: 1 })],
      ['lmstfy', () => f.publish('q', { tries: 1 })],
    ])('is accepted for the ack of a dead %s job, until its respawn', async (_api, publish) => {
      const id = await publish();
      const job = await crash();
      expect(await f.find(id)).toMatchObject({ state: 'dead' });
      for (const verb of ['heartbeat', 'release', 'retry', 'fail'] as const)
        await expect(verbs[verb](job)).rejects.toMatchObject({ code: 'lease_lost' });
      await verbs.ack(job);
      expect(await f.find(id)).toBeNull();

      const again = await publish();
      const late = await crash();
      await f.engine.components.deadJobs.respawn(f.ns, { queue: 'q' }, { ttlMs: 0, tries: 1 });
      expect(JSON.stringify(await ack(late))).toMatch(/lost/i);
      expect(await f.find(again)).toMatchObject({ state: 'ready' });
    });
  });

  it('makes late calls fail with lease_lost and the present state of the job: leased, dead', async () => {
    const id = await native({ type: 't' });
    const job = await crash();
    await f.pass(SECOND_MS);
    const next = await lease();
    const lost = (state: string | null) => ({ code: 'lease_lost', state });
    await expect(f.engine.settle.release(f.ns, job)).rejects.toMatchObject(lost('leased'));
    await expect(f.engine.ack(f.ns, 'q', id, job.lease)).rejects.toMatchObject(lost('leased'));
    const beat = () => f.engine.settle.heartbeatMany(f.ns, [job], TTR_MS);
    expect(await beat()).toMatchObject([{ status: 'lease_lost', state: 'leased' }]);
    await f.engine.settle.fail(f.ns, { ...next, group: 'g', message: 'm' });
    await expect(f.engine.settle.retry(f.ns, { ...job, group: 'g', message: 'm' })).rejects.toMatchObject(
      lost('dead'),
    );
    expect(await beat()).toMatchObject([{ status: 'lease_lost', state: 'dead' }]);

    const simple = await f.publish('q2');
    const [held] = await f.lease('q2', { ttrMs: TTR_MS });
    await expect(f.engine.ack(f.ns, 'q2', simple, held!.lease + 1)).rejects.toMatchObject(lost('leased'));
  });

  it.each<[string | null, (next: LeasedJob) => Promise<unknown>]>([
    ['ready', (next) => f.engine.settle.release(f.ns, next)],
    ['scheduled', (next) => f.engine.settle.release(f.ns, { ...next, delayMs: TTR_MS })],
    ['done', ({ id, lease: number }) => f.engine.settle.complete(f.ns, [{ id, lease: number }])],
    [
      'cancelled',
      async (next) => {
        await f.engine.settle.release(f.ns, next);
        await f.engine.jobs.cancel(f.ns, next.id);
      },
    ],
    // The pump has not removed it yet.
    [null, () => Promise.resolve((f.nowMs += TTL_MS))],
  ])('makes late calls fail with lease_lost and the present state of the job: %s', async (state, act) => {
    await native({ type: 't', ttlMs: TTL_MS, retentionMs: TTL_MS * 9 });
    const job = await crash();
    await f.pass(SECOND_MS);
    await act(await lease());

    const lost = { code: 'lease_lost', state };
    const failure = { ...job, group: 'g', message: 'm' };
    await expect(f.engine.settle.heartbeat(f.ns, job)).rejects.toMatchObject(lost);
    await expect(f.engine.settle.release(f.ns, job)).rejects.toMatchObject(lost);
    await expect(f.engine.settle.retry(f.ns, failure)).rejects.toMatchObject(lost);
    await expect(f.engine.settle.fail(f.ns, failure)).rejects.toMatchObject(lost);
    expect(await f.engine.settle.heartbeatMany(f.ns, [job], TTR_MS)).toMatchObject([
      { status: 'lease_lost', state },
    ]);
    await f.pass(0);
  });

  it('makes the ack of a dead native job fail if the lease is not the last one', async () => {
    const id = await native({ tries: 2, type: 't', retry: { kind: 'fixed', delayMs: 0 } });
    const early = await crash();
    await crash();
    expect(await f.find(id)).toMatchObject({ state: 'dead' });
    expect(await ack(early)).toEqual(['lease_lost']);
    expect(await f.find(id)).toMatchObject({ state: 'dead' });
  });

  describe('a queue with `lease_grace_ms`', () => {
    it.each([
      ['a job of lmstfy’s API waits so long, without a failure', 0, () => f.publish('q', { tries: 3 })],
      [
        'a native job waits the longer of grace and policy',
        1,
        () => native({ retry: { kind: 'fixed', delayMs: 1 } }),
      ],
    ])('delays expired jobs: %s', async (_name, failures, publish) => {
      await settings({ leaseGraceMs: 30_000 });
      const id = await publish();
      await crash();
      expect(await f.find(id)).toMatchObject({ state: 'scheduled', dueAtMs: f.nowMs + 30_000, crashes: 1 });
      expect((await f.find(id))?.failure === null).toBe(failures === 0);
      await f.pass(30_000);
      expect(await f.lease('q')).toHaveLength(1);
    });

    it("uses the policy if it is longer, and the job's lease_grace_ms before its own", async () => {
      await settings({ leaseGraceMs: 30_000 });
      const slow = await native({ retry: { kind: 'fixed', delayMs: 50_000 } });
      await crash();
      expect(await f.find(slow)).toMatchObject({ dueAtMs: f.nowMs + 50_000 });
      const own = await native({ retry: { kind: 'fixed', delayMs: 0 }, leaseGraceMs: 5 });
      await crash();
      expect(await f.find(own)).toMatchObject({ dueAtMs: f.nowMs + 5 });
    });

    it('delays no expired job after the setting is removed', async () => {
      await settings({ leaseGraceMs: 30_000 });
      await settings({ leaseGraceMs: null });
      const id = await f.publish('q', { tries: 3 });
      await crash();
      expect(await f.find(id)).toMatchObject({ state: 'ready' });
    });
  });

  describe('a namespace with `lease_grace_ms`', () => {
    beforeEach(() => f.engine.settings.set(f.ns, 'lease_grace_ms', 30_000));

    it.each([
      ['lmstfy’s API', () => f.publish('q', { tries: 3 })],
      ['the native API', () => native({ retry: { kind: 'fixed', delayMs: 1 } })],
    ])('delays expired jobs of %s in all of its queues, until it is reset', async (_api, publish) => {
      const id = await publish();
      await crash();
      expect(await f.find(id)).toMatchObject({ state: 'scheduled', dueAtMs: f.nowMs + 30_000, crashes: 1 });
      await f.pass(30_000);
      await f.engine.settings.unset(f.ns, 'lease_grace_ms');
      await crash();
      const { dueAtMs } = (await f.find(id))!;
      expect(dueAtMs === null || dueAtMs <= f.nowMs + 1).toBe(true);
    });

    it('gives way to lease_grace_ms of a queue, and of a job', async () => {
      const own = await native({ retry: { kind: 'fixed', delayMs: 0 }, leaseGraceMs: 0 });
      await crash();
      expect(await f.find(own)).toMatchObject({ state: 'ready' });
      await f.engine.ack(f.ns, 'q', own);
      await settings({ leaseGraceMs: 5 });
      const ofQueue = await native({ retry: { kind: 'fixed', delayMs: 0 } });
      await crash();
      expect(await f.find(ofQueue)).toMatchObject({ dueAtMs: f.nowMs + 5 });
    });
  });

  describe('a queue with `expired: front`', () => {
    it.each([
      ['lmstfy’s API', (text: string) => f.publish('q', { text, tries: 3 })],
      [
        'the native API',
        (text: string) => native({ body: Buffer.from(text), retry: { kind: 'fixed', delayMs: 2_000 } }),
      ],
      ['the native API with a priority', (text: string) => native({ body: Buffer.from(text), priority: 1 })],
    ])('puts expired jobs of %s before the other ready jobs', async (_api, publish) => {
      await settings({ expired: 'front' });
      for (const text of ['a', 'b', 'c']) await publish(text);
      for (let i = 0; i < 3; i++) await lease();
      for (const text of ['d', 'e']) await publish(text);
      await f.pass(TTR_MS);
      await f.pass(2_000);
      expect((await f.drain('q')).join('')).toMatch(/^[abc]{3}de$/);
    });

    it('orders jobs that return at the same moment by the end of their leases', async () => {
      await settings({ expired: 'front' });
      // The ids are in the other order than the leases.
      for (const text of ['c', 'b', 'a']) await f.publish('q', { text, tries: 3, id: `id-${text}` });
      for (const text of ['c', 'b', 'a']) {
        const [job] = await f.lease('q', { ttrMs: TTR_MS - 'abc'.indexOf(text) - 1 });
        expect(job?.body.toString()).toBe(text);
      }
      await f.publish('q', { text: 'd' });
      await f.pass(TTR_MS);
      expect((await f.drain('q')).join('')).toBe('cbad');
    });

    it('puts an expired job at the end that is moved to another queue while it waits', async () => {
      await settings({ expired: 'front' });
      const id = await native({ body: Buffer.from('a') });
      await crash();
      await native({ queue: 'other', body: Buffer.from('b') });
      await f.engine.jobs.change(f.ns, id, { queue: 'other', delayMs: 100 });
      await f.pass(100);
      expect((await f.drain('other')).join('')).toBe('ba');
    });
  });
});
