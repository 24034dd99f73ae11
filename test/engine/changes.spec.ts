import { Redis } from 'ioredis';
import { DependentsError } from '../../src/domain/errors.js';
import type { PoolEngine } from '../../src/engine/pool-engine.js';
import { randomNamespace, testRedisUrl, waitFor } from '../support/redis.js';
import { Audit } from './audit.js';
import { EngineFixture, newJob, type ExtendedJob } from './fixture.js';
import { ExtendedPathFixture } from './extended-path-fixture.js';

describe('an update of a job', () => {
  let f: ExtendedPathFixture;
  let redis: Redis;
  beforeEach(async () => {
    f = await ExtendedPathFixture.open();
    redis = new Redis(testRedisUrl(), { protocol: 2 });
  });
  afterEach(async () => {
    await redis.quit();
    await f.close();
  });

  const audit = () => Audit.of(redis, f.ns);

  it('sets the priority of a ready job, and keeps its publish order among equal priorities (Q9)', async () => {
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const [i, id] of ids.entries()) {
      await f.put(id, { priority: i % 2 === 0 ? 5 : 0 });
      await f.pass(1);
    }
    await f.components.jobUpdater.change(f.ns, 'd', { priority: 5 });
    await f.components.jobUpdater.change(f.ns, 'c', { priority: 0 });
    expect(await audit()).toEqual([]);

    expect((await f.lease()).map(({ id }) => id)).toEqual(['b', 'c', 'f', 'a', 'd', 'e']);
  });

  it.each(['c1', 'zz'])(
    'keeps the publish order of a job with the chosen id %s among jobs with generated ids',
    async (id) => {
      const publish = async (priority: number, own?: string): Promise<string> => {
        const given = own === undefined ? {} : { id: own };
        const [job] = await f.components.extendedPublisher.publish(f.ns, [
          { queue: 'q', body: Buffer.from('x'), priority, type: 't', ...given },
        ]);
        await f.pass(1);
        return job!.id;
      };
      const first = await publish(3);
      await publish(0, id);
      const last = await publish(3);
      await f.components.jobUpdater.change(f.ns, id, { priority: 3 });
      expect((await f.lease()).map((job) => job.id)).toEqual([first, id, last]);
    },
  );

  it('keeps the publish order of a simple job whose priority changes and changes back', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push(await f.fixture.publish('q'));
    for (const priority of [-4, 7, 0]) {
      await f.components.jobUpdater.change(f.ns, ids[2] ?? '', { priority });
      expect(await audit()).toEqual([]);
    }

    expect((await f.lease()).map(({ id }) => ids.indexOf(id))).toEqual([0, 1, 2, 3, 4]);
    expect(await audit()).toEqual([]);
  });

  it('sets the priority of a scheduled job', async () => {
    await f.put('late', { delayMs: 1_000 });
    await f.put('a', { delayMs: 1_000 });
    await f.components.jobUpdater.change(f.ns, 'late', { priority: 1 });
    await f.pass(1_000);

    expect((await f.lease()).map(({ id }) => id)).toEqual(['a', 'late']);
  });

  it('lists blocked and held jobs by publish time, also former simple ones', async () => {
    const listed = async (state: 'blocked' | 'held'): Promise<string[]> => {
      const filter = { queue: 'q', state };
      return (await f.components.lists.list(f.ns, filter, { limit: 10 })).items.map(({ id }) => id);
    };
    await f.put('running', { concurrencyKey: 'k' });
    await f.components.queueControls.change(f.ns, 'q', { maxRunningPerKey: 1 });
    expect(await f.lease()).toHaveLength(1);
    const simple = await f.fixture.publish('q', { delayMs: 60_000 });
    await f.put('second', { concurrencyKey: 'k', priority: 5 });
    await f.pass(10);
    await f.put('blocked', { dependsOn: ['running'] });
    await f.put('a-third', { concurrencyKey: 'k' });
    await f.pass(10);
    await f.components.jobUpdater.change(f.ns, simple, { dependsOn: ['running'] });
    expect(await f.lease()).toEqual([]);

    expect(await listed('blocked')).toEqual([simple, 'blocked']);
    expect(await listed('held')).toEqual(['second', 'a-third']);
  });

  it('changes data, tags and ttl, with an entry in the timeline', async () => {
    await f.put('a', { tags: ['x'] });
    await f.components.jobUpdater.change(f.ns, 'a', {
      data: { body: Buffer.from('new'), contentType: 'text/plain' },
      tags: ['y', 'z'],
      ttlMs: 1_000,
    });

    const job = await f.find('a');
    expect(job).toMatchObject({ tags: ['y', 'z'], contentType: 'text/plain', expiresAtMs: f.nowMs + 1_000 });
    expect(job?.body.toString()).toBe('new');
    expect(job?.timeline.map(({ what }) => what)).toEqual(['published', 'changed']);
    await f.components.jobUpdater.change(f.ns, 'a', { ttlMs: 0, tags: [] });
    await f.pass(1_000);
    expect(await f.find('a')).toMatchObject({ state: 'ready', tags: [], expiresAtMs: null });
    await f.components.jobUpdater.change(f.ns, 'a', { ttlMs: 10 });
    await f.pass(10);
    expect(await f.find('a')).toBeNull();
  });

  it('moves the due time of a ready, a scheduled, a blocked and a far job', async () => {
    await f.put('a');
    await f.put('ready');
    await f.put('scheduled', { delayMs: 1_000 });
    await f.put('blocked', { dependsOn: ['a'] });
    const far = await f.fixture.publish('q', { delayMs: 3_600_000 });
    const dueMs = f.nowMs + 5_000;
    for (const id of ['ready', 'scheduled', far])
      expect(await f.components.jobUpdater.change(f.ns, id, { dueMs })).toEqual({
        state: 'scheduled',
        dueAtMs: dueMs,
      });
    await f.components.jobUpdater.change(f.ns, 'blocked', { dueMs });
    expect(await audit()).toEqual([]);
    expect(await f.work()).toEqual(['a']);
    await f.pass(4_999);
    expect(await f.work()).toEqual([]);
    await f.pass(1);
    expect((await f.lease()).map(({ id }) => id).sort()).toEqual(
      ['ready', 'scheduled', 'blocked', far].sort(),
    );

    await f.put('now', { delayMs: 1_000 });
    expect(await f.components.jobUpdater.change(f.ns, 'now', { delayMs: 0 })).toMatchObject({
      state: 'ready',
    });
    await f.pass(3_600_000);
    expect(await audit()).toEqual([]);
  });

  it('moves a job to another queue in its state', async () => {
    await f.put('a');
    await f.put('b', { delayMs: 1_000 });
    await f.put('c', { dependsOn: ['a'] });
    for (const id of ['a', 'b', 'c']) await f.components.jobUpdater.change(f.ns, id, { queue: 'other' });
    expect(await audit()).toEqual([]);

    expect(await f.counts()).toMatchObject({ ready: 0, scheduled: 0, blocked: 0 });
    expect(await f.work('other')).toEqual(['a']);
    expect(await f.work('other')).toEqual(['c']);
    await f.pass(1_000);
    expect(await f.work('other')).toEqual(['b']);
  });

  it('changes tags and priority of a far job, which stays due at its time, and refuses to move it to another queue', async () => {
    const id = await f.fixture.publish('q', { delayMs: 3_600_000 });
    await f.components.jobUpdater.change(f.ns, id, { tags: ['t'], priority: 3 });
    expect(await f.find(id)).toMatchObject({ state: 'scheduled', tags: ['t'], priority: 3 });
    expect(await audit()).toEqual([]);
    await expect(f.components.jobUpdater.change(f.ns, id, { queue: 'other' })).rejects.toMatchObject({
      code: 'due_unknown',
    });
    await f.pass(3_599_999);
    expect(await f.lease()).toEqual([]);
    expect(await audit()).toEqual([]);
    await f.pass(1);

    expect((await f.lease()).map((job) => job.id)).toEqual([id]);
  });

  it('asks for the due time with a new ttl if the job was to expire before, also after another change', async () => {
    const id = await f.fixture.publish('q', { delayMs: 3_600_000, ttlMs: 60_000 });
    const { jobUpdater } = f.components;
    expect(await f.find(id)).toMatchObject({ state: 'scheduled', dueAtMs: null });
    await jobUpdater.change(f.ns, id, { priority: 1 });
    expect(await f.find(id)).toMatchObject({ state: 'scheduled', dueAtMs: null });
    await expect(jobUpdater.change(f.ns, id, { ttlMs: 0 })).rejects.toMatchObject({ code: 'due_unknown' });
    await jobUpdater.change(f.ns, id, { ttlMs: 0, delayMs: 3_600_000 });
    await f.pass(3_599_999);
    expect(await f.lease()).toEqual([]);
    await f.pass(1);
    expect((await f.lease()).map((job) => job.id)).toEqual([id]);
  });

  it.each([
    ['a simple job', {}],
    ['an extended job', { type: 'old', priority: 2 }],
  ])('changes tries, type and retry policy of %s in each waiting state', async (_, more) => {
    const { jobUpdater } = f.components;
    const publish = (queue: string, extra: object = {}): Promise<string> =>
      Object.keys(more).length === 0 && !('dependsOn' in extra)
        ? f.fixture.publish(queue, { tries: 3, ...extra })
        : f.fixture.put(queue, { tries: 3, ...more, ...extra });
    const first = await publish('first');
    const jobs = [
      ['ready', await publish('q')],
      ['scheduled', await publish('q', { delayMs: 60_000 })],
      ['scheduled', await publish('q', { delayMs: 86_400_000 })],
      ['blocked', await publish('q', { dependsOn: [first] })],
    ] as const;
    const retry = { kind: 'fixed', delayMs: 7_000 } as const;
    for (const [state, id] of jobs) {
      const published = await f.find(id);
      expect(await jobUpdater.change(f.ns, id, { tries: 2, type: 'new', retry })).toMatchObject({ state });
      expect(await f.find(id)).toMatchObject({
        ...{ state, tries: 2, triesLeft: 2, attempts: 0, type: 'new' },
        ...{ priority: published?.priority, publishedAtMs: published?.publishedAtMs },
      });
      const { items } = await f.components.lists.list(f.ns, { type: 'new' }, { limit: 100 });
      expect(items.map((one) => one.id)).toContain(id);
      expect((await f.components.lists.list(f.ns, { type: 'old' }, { limit: 100 })).items).not.toContainEqual(
        expect.objectContaining({ id }),
      );
      const changed = (await f.find(id))?.timeline.at(-1);
      expect(changed).toMatchObject({ what: 'changed', fields: ['tries', 'type', 'retry'] });
      await jobUpdater.change(f.ns, id, { tries: 2, type: 'new', retry });
      expect((await f.find(id))?.timeline.at(-1)).toEqual({ what: 'changed', atMs: f.nowMs });
    }
    expect(await audit()).toEqual([]);

    // The policy counts: the job is tried again after its delay, and is dead with its second failure.
    const [[, id]] = jobs;
    const fail = async (): Promise<void> => {
      const [job] = await f.fixture.lease('q', { ttrMs: 10_000 });
      expect(job).toMatchObject({ id });
      await f.components.leaseOperations.retry(f.ns, { id, lease: job!.lease, group: 'g', message: 'm' });
    };
    await fail();
    expect(await f.find(id)).toMatchObject({ state: 'scheduled', triesLeft: 1, attempts: 1 });
    await expect(jobUpdater.change(f.ns, id, { tries: 1 })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    expect(await f.find(id)).toMatchObject({ state: 'scheduled', tries: 2, triesLeft: 1 });
    await jobUpdater.change(f.ns, id, { tries: 65_535 });
    expect(await f.find(id)).toMatchObject({ tries: 65_535, triesLeft: 65_534, attempts: 1 });
    await jobUpdater.change(f.ns, id, { tries: 2 });
    await f.pass(7_000);
    await fail();
    expect(await f.find(id)).toMatchObject({ state: 'dead', triesLeft: 0, attempts: 2 });
    expect(await audit()).toEqual([]);
  });

  it('refuses tries that a publish refuses, and changes nothing', async () => {
    const id = await f.fixture.publish('q', { tries: 3 });
    for (const tries of [0, -1, 1.5, 65_536, Number.NaN])
      await expect(f.components.jobUpdater.change(f.ns, id, { tries, priority: 9 })).rejects.toMatchObject({
        code: 'invalid_argument',
      });
    await expect(f.components.jobUpdater.change(f.ns, id, { type: '\ud800' })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    expect(await f.find(id)).toMatchObject({ tries: 3, triesLeft: 3, priority: 0 });
  });

  it('refuses to change a job that does not wait', async () => {
    await f.put('a', { retentionMs: 1_000 });
    await f.lease();

    await expect(f.components.jobUpdater.change(f.ns, 'a', { priority: 1 })).rejects.toMatchObject({
      code: 'not_waiting',
    });
    await expect(f.components.jobUpdater.change(f.ns, 'b', { priority: 1 })).rejects.toMatchObject({
      code: 'job_not_found',
    });
    await expect(f.components.jobUpdater.change(f.ns, 'a', { priority: 128 })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
  });

  it('adds a line to the timeline of a job in any state', async () => {
    await f.put('a');
    await f.components.jobUpdater.log(f.ns, 'a', 'hello', { n: 1 });
    await f.lease();
    await f.components.jobUpdater.log(f.ns, 'a', 'again');
    const simple = await f.fixture.publish('p');
    await f.components.jobUpdater.log(f.ns, simple, 'plain');

    const lines = (await f.find('a'))?.timeline.filter(({ what }) => what === 'log');
    expect(lines).toEqual([
      { what: 'log', atMs: f.nowMs, message: 'hello', data: { n: 1 } },
      { what: 'log', atMs: f.nowMs, message: 'again' },
    ]);
    expect((await f.find(simple))?.timeline).toMatchObject([{ what: 'log', message: 'plain' }]);
    expect(await audit()).toEqual([]);
  });
});

describe('the cancel of a job', () => {
  let f: ExtendedPathFixture;
  beforeEach(async () => (f = await ExtendedPathFixture.open()));
  afterEach(() => f.close());

  const cancel = (id: string, request: { cascade?: boolean; graceMs?: number } = {}) =>
    f.components.jobCanceller.cancel(f.ns, id, request);

  it.each([
    ['ready', {}],
    ['of another priority', { priority: 3 }],
    ['scheduled', { delayMs: 60_000 }],
    ['blocked', { dependsOn: ['other'] }],
  ])('ends a waiting job: %s', async (_state, job) => {
    await f.put('other');
    await f.put('gone', job);
    await f.put('kept', { ...job, retentionMs: 60_000 });

    expect(await cancel('gone')).toEqual({ outcome: 'cancelled' });
    expect(await cancel('kept')).toEqual({ outcome: 'cancelled' });

    expect(await f.find('gone')).toBeNull();
    expect(await f.find('kept')).toMatchObject({ state: 'cancelled', endedAtMs: f.nowMs });
    expect(await f.counts()).toMatchObject({ ready: 1, scheduled: 0, blocked: 0, done: 0, cancelled: 1 });
    await f.pass(60_000);
    expect(await f.work()).toEqual(['other']);
  });

  it('ends a simple job, near and far', async () => {
    const ids = [
      await f.fixture.publish('p'),
      await f.fixture.publish('p', { delayMs: 60_000 }),
      await f.fixture.publish('p', { delayMs: 3_600_000 }),
    ];
    for (const id of ids) expect(await cancel(id)).toEqual({ outcome: 'cancelled' });

    expect(await f.counts('p')).toMatchObject({ ready: 0, scheduled: 0 });
    expect(await f.leftovers()).toEqual([]);
  });

  it('reports a done or cancelled job as such, and changes nothing (Q11)', async () => {
    await f.put('done', { retentionMs: 60_000 });
    await f.work();
    await f.put('cancelled', { retentionMs: 60_000 });
    await cancel('cancelled');
    const before = await Promise.all([f.find('done'), f.find('cancelled')]);

    await expect(cancel('done')).rejects.toMatchObject({ code: 'job_done' });
    expect(await cancel('cancelled')).toEqual({ outcome: 'already_cancelled' });
    await expect(cancel('missing')).rejects.toMatchObject({ code: 'job_not_found' });

    expect(await Promise.all([f.find('done'), f.find('cancelled')])).toEqual(before);
  });

  it('notifies the lease holder, and ends the lease after the grace', async () => {
    await f.put('a');
    const [job] = await f.lease();
    const lease = { id: 'a', lease: job?.lease ?? 0 };

    expect(await cancel('a', { graceMs: 5_000 })).toEqual({
      outcome: 'requested',
      revokedAtMs: f.nowMs + 5_000,
    });
    expect(await f.components.leaseOperations.heartbeat(f.ns, lease)).toMatchObject({
      cancelRequested: true,
    });
    await f.pass(4_999);
    expect(await f.find('a')).toMatchObject({ state: 'leased', cancelRequested: true });
    await f.pass(1);

    expect(await f.find('a')).toMatchObject({ state: 'cancelled', cancelRequested: false });
    await expect(f.components.leaseOperations.heartbeat(f.ns, lease)).rejects.toMatchObject({
      code: 'lease_lost',
    });
    expect(await f.components.leaseOperations.complete(f.ns, [lease])).toEqual(['lease_lost']);
    await f.pass(60_000);
    expect(await f.lease()).toEqual([]);
  });

  it('ends a lease at once without grace, also of a simple job', async () => {
    const id = await f.fixture.publish('p');
    const [job] = await f.lease('p');

    expect(await cancel(id, { graceMs: 0 })).toEqual({ outcome: 'cancelled' });

    await expect(f.fixture.engine.ack(f.ns, 'p', id, job?.lease)).rejects.toMatchObject({
      code: 'lease_lost',
    });
    await f.pass(60_000);
    expect(await f.lease('p')).toEqual([]);
  });

  it('lets the lease holder finish within the grace', async () => {
    await f.put('a', { retentionMs: 60_000 });
    const [job] = await f.lease();
    await cancel('a');
    expect(await f.components.leaseOperations.complete(f.ns, [{ id: 'a', lease: job?.lease ?? 0 }])).toEqual([
      'done',
    ]);
    await f.pass(30_000);

    expect(await f.find('a')).toMatchObject({ state: 'done' });
  });

  it.each(['release', 'retry', 'crash'])('ends a job that returns during the grace by: %s', async (how) => {
    await f.put('a');
    const [job] = await f.lease();
    const lease = { id: 'a', lease: job?.lease ?? 0 };
    await cancel('a', { graceMs: 20_000 });
    if (how === 'release') await f.components.leaseOperations.release(f.ns, lease);
    else if (how === 'retry')
      await f.components.leaseOperations.retry(f.ns, { ...lease, group: 'g', message: '' });
    else await f.pass(10_001);

    expect(await f.find('a')).toMatchObject({ state: 'cancelled' });
    await expect(f.components.leaseOperations.heartbeat(f.ns, lease)).rejects.toMatchObject({
      code: 'lease_lost',
    });
    expect(await f.lease()).toEqual([]);
  });

  it('refuses a job with dependents, and names them', async () => {
    await f.put('a');
    await f.put('b', { dependsOn: ['a'] });
    await f.put('c', { dependsOn: ['a'] });

    const refusal = await cancel('a').catch((error: unknown) => error);

    expect(refusal).toBeInstanceOf(DependentsError);
    expect((refusal as DependentsError).dependents.toSorted()).toEqual(['b', 'c']);
    expect(await f.find('a')).toMatchObject({ state: 'ready' });
    await f.components.jobUpdater.change(f.ns, 'b', { dependsOn: [] });
    await cancel('c');
    expect(await cancel('a')).toEqual({ outcome: 'cancelled' });
    expect(await f.work()).toEqual(['b']);
    expect(await f.leftovers()).toEqual([]);
  });

  it.each([0, 60_000])(
    'cancels all dependents with the option cascade, whatever their policy for failed dependencies: retention %i ms',
    async (retentionMs) => {
      await f.put('a', { retentionMs });
      await f.put('b', { dependsOn: ['a'], onDependencyFailure: 'ignore', retentionMs });
      await f.put('c', { dependsOn: ['b'], retentionMs });
      await f.put('d', { dependsOn: ['c'], onDependencyFailure: 'fail', retentionMs });

      await cancel('a', { cascade: true });
      await f.pump();

      const states = await Promise.all(
        ['a', 'b', 'c', 'd'].map(async (id) => (await f.find(id))?.state ?? null),
      );
      expect(new Set(states)).toEqual(new Set([retentionMs === 0 ? null : 'cancelled']));
      expect(await f.counts()).toMatchObject({ ready: 0, blocked: 0 });
    },
  );

  it('cancels the dependents of a leased job when the lease is revoked', async () => {
    await f.put('a');
    await f.put('b', { dependsOn: ['a'], onDependencyFailure: 'ignore' });
    await f.lease();
    await cancel('a', { cascade: true, graceMs: 5_000 });
    expect(await f.find('b')).toMatchObject({ state: 'blocked' });
    await f.pass(5_000);

    expect(await f.find('b')).toBeNull();
  });

  it('ends a dead job after its dependents, and refuses it before', async () => {
    await f.put('a');
    await f.put('b', { dependsOn: ['a'] });
    await f.fail('a');

    await expect(cancel('a')).rejects.toMatchObject({ code: 'has_dependents', dependents: ['b'] });
    await cancel('b');
    expect(await cancel('a')).toEqual({ outcome: 'cancelled' });

    expect(await f.counts()).toMatchObject({ dead: 0, blocked: 0 });
    expect(await f.leftovers()).toEqual([]);
  });
});

describe('purges', () => {
  const body = Buffer.from('{}');

  /**
   * Jobs in every state, simple and extended, in two queues, with everything else that a namespace can have. @returns
   * how many
   */
  async function fill(f: EngineFixture, each: number): Promise<number> {
    const { engine, ns } = f;
    for (const queue of ['plain', 'rich']) {
      const publish = async (job: { delayMs?: number; tries?: number } = {}): Promise<void> => {
        const extended = { priority: 3, tags: ['t'], type: 'mail', attributes: { a: 'b' } };
        for (let i = 0; i < each; i++) {
          if (queue === 'plain') await engine.publish(ns, queue, newJob({ ttlMs: 9e9, tries: 2, ...job }));
          else
            await engine.components.extendedPublisher.publish(ns, [
              { queue, body, ttlMs: 9e9, tries: 2, ...extended, ...job },
            ]);
        }
      };
      await publish({ tries: 1 });
      await engine.lease(ns, { queues: [queue], count: each, ttrMs: 1, waitMs: 0 });
      f.nowMs += 10;
      await engine.pumpNow(ns);
      await publish();
      await engine.lease(ns, { queues: [queue], count: each, ttrMs: 1_000_000, waitMs: 0 });
      await publish({ delayMs: 60_000 });
      await publish({ delayMs: 3_600_000 });
      await publish();
    }
    // A stale entry and a tombstone: one job was acknowledged by its id, one has expired.
    const gone = await engine.publish(ns, 'plain', newJob());
    await engine.ack(ns, 'plain', gone);
    await engine.publish(ns, 'plain', newJob({ ttlMs: 5 }));
    await engine.publish(ns, 'chosen', newJob({ id: 'my-own' }));
    await engine.publish(ns, 'kept', newJob(), { idempotencyKey: 'once' });
    f.nowMs += 10;
    await engine.tidyNow(ns);
    await engine.lease(ns, { queues: ['without-publishes'], count: 1, ttrMs: 1, waitMs: 1 });
    await engine.settings.set(ns, 'grace_ms', 1);
    return each * 10 + 2;
  }

  describe('the purge of a namespace', () => {
    let f: EngineFixture;
    beforeEach(async () => {
      f = await EngineFixture.withClock({ quotas: { queues: 0, jobsPerQueue: 0, bytes: 1e9 } });
    });
    afterEach(() => f.close());

    it('removes every key of the namespace, and none of another namespace', async () => {
      const other = await EngineFixture.open();
      await other.publish('q');
      const before = await other.keys();
      const jobs = await fill(f, 3);
      expect((await f.keys()).length).toBeGreaterThan(60);

      const purged = await f.engine.purge.run(f.ns);
      expect(purged).toMatchObject({ jobs, queues: 4, isDone: true, isInUse: false });
      expect(purged.keys).toBeGreaterThan(3);
      expect(await f.keys()).toEqual([]);
      expect(await f.engine.namespaces()).not.toContain(f.ns);
      expect(await other.keys()).toEqual(before);
      await other.close();
    });

    it('reports beforehand what it would remove, and changes nothing', async () => {
      await fill(f, 3);
      const redis = new Redis(testRedisUrl(), { protocol: 2 });
      const dump = async (): Promise<string[]> => {
        const keys = await redis.keysBuffer(`{${f.ns}}*`);
        const values = await Promise.all(
          // Hints, as to lease requests that wait, have a TTL, and end meanwhile.
          keys.map(async (key) => ((await redis.pttl(key)) === -1 ? redis.dumpBuffer(key) : null)),
        );
        return keys
          .flatMap((key, i) => (values[i] ? [`${key.toString('hex')} ${values[i].toString('hex')}`] : []))
          .sort();
      };
      const before = await dump();

      expect(await f.engine.purge.census(f.ns)).toEqual({
        ...{
          queues: 4,
          ready: 8,
          scheduled: 12,
          leased: 6,
          dead: 6,
          blocked: 0,
          stuck: 0,
          held: 0,
          done: 0,
          cancelled: 0,
        },
      });
      expect(await dump()).toEqual(before);
      expect(before.length).toBeGreaterThan(60);
      redis.disconnect();
    });

    it('goes on in a later call where it stopped at its time limit', async () => {
      const jobs = await fill(f, 40);
      let removed = 0;
      let calls = 0;
      for (let isDone = false; !isDone; calls++) {
        // No time at all: one step is made of some calls, none of others.
        const purged = await f.engine.purge.run(f.ns, calls === 0 ? 0 : 3);
        removed += purged.jobs;
        ({ isDone } = purged);
      }

      expect(calls).toBeGreaterThan(1);
      expect(removed).toBe(jobs);
      expect(await f.keys()).toEqual([]);
    });

    it('keeps a job that is published during the purge, and reports that it is not done', async () => {
      await fill(f, 2);
      const run = Reflect.get(f.pool, 'run');
      let isReceived = false;
      Reflect.set(f.pool, 'run', async (...args: Parameters<typeof run>) => {
        const [script] = args;
        if (script.name === 'maintenance/purge_namespace' && !isReceived) {
          isReceived = true;
          await f.publish('plain');
        }
        return run.apply(f.pool, args);
      });
      expect(await f.engine.purge.run(f.ns)).toMatchObject({ isDone: false, isInUse: true });
      Reflect.set(f.pool, 'run', run);

      expect(await f.engine.purge.census(f.ns)).toMatchObject({ queues: 1, ready: 1 });
      expect(await f.drain('plain')).toEqual(['body']);
    });

    it('keeps a job that is published after the marker of the namespace was removed', async () => {
      await fill(f, 2);
      const scan = Reflect.get(f.pool, 'scan');
      Reflect.set(f.pool, 'scan', async function* (...args: Parameters<typeof scan>) {
        await f.publish('fresh');
        yield* scan.apply(f.pool, args);
      });
      expect(await f.engine.purge.run(f.ns)).toMatchObject({ isDone: false, isInUse: true });
      Reflect.set(f.pool, 'scan', scan);

      expect(await f.drain('fresh')).toEqual(['body']);
      expect(await f.engine.namespaces()).toContain(f.ns);
      expect(await f.engine.purge.run(f.ns)).toMatchObject({ isDone: true });
      expect(await f.keys()).toEqual([]);
    });

    it('ends the leases of the namespace, and takes its bytes off the quota', async () => {
      await f.publish('q', { text: 'x'.repeat(50) });
      await f.publish('other', { text: 'y'.repeat(70) });
      const [job] = await f.lease('q');
      const bytes = (): Promise<unknown> => f.pool.read('HGET', f.pool.keys.namespace(f.ns).meta, 'bytes');
      expect(await bytes()).toBe('120');
      let seen: unknown;
      // The last thing that happens while the marker is there.
      Reflect.set(f.engine.stats, 'flush', async () => {
        seen = await bytes();
      });
      await f.engine.purge.run(f.ns);

      expect(seen).toBe('0');
      expect(await f.engine.ack(f.ns, 'q', job!.id, job!.lease)).toBe(false);
    });

    it('does nothing for an unknown namespace', async () => {
      const engine: PoolEngine = f.engine;
      const nowhere = randomNamespace();

      expect(await engine.purge.run(nowhere)).toEqual({
        ...{ jobs: 0, queues: 0, keys: 0, isDone: true, isInUse: false },
      });
      await expect(engine.purge.run('a}b')).rejects.toMatchObject({ code: 'invalid_argument' });
    });
  });
});

describe('waiting for the end of a job', () => {
  const LONG_MS = 60_000;

  describe('a wait for the end of a job', () => {
    let f: EngineFixture;
    beforeEach(async () => (f = await EngineFixture.open()));
    afterEach(() => f.close());

    const put = (job?: ExtendedJob): Promise<string> => f.put('q', job);
    const lease = async () => (await f.lease('q'))[0]!;
    const watch = (id: string, waitMs = LONG_MS, signal?: AbortSignal): Promise<void> =>
      f.engine.components.endWatch.wait(f.ns, id, waitMs, signal);

    /** What a wait has come to so far. */
    const follow = (wait: Promise<void>): { isOver: boolean } => {
      const followed = { isOver: false };
      void wait.then(() => (followed.isOver = true));
      return followed;
    };

    it.each<[string, object, (id: string, number: number) => Promise<unknown>]>([
      ['done and kept', { retentionMs: LONG_MS }, (id, number) => f.engine.ack(f.ns, 'q', id, number)],
      ['done and gone', {}, (id, number) => f.engine.ack(f.ns, 'q', id, number)],
      ['dead', {}, (id, lease) => f.engine.settle.fail(f.ns, { id, lease, group: 'g', message: '' })],
      ['done on lmstfy’s wire', { retentionMs: LONG_MS }, (id) => f.engine.ack(f.ns, 'q', id)],
    ])('ends when the job is %s, and not before', async (_name, job, end) => {
      const id = await put(job);
      const wait = watch(id);
      const followed = follow(wait);
      const { lease: number } = await lease();
      // Another one that is watched ends first: by then this one has been looked at.
      const other = watch(await put());
      await f.engine.ack(f.ns, 'q', (await lease()).id);
      await other;
      expect(followed.isOver).toBe(false);

      await end(id, number);
      await wait;
    });

    it('ends at once for a job that does not exist', async () => {
      await watch('missing');
      await watch('no id');
    });

    it('ends at its time limit, when the caller gives up, and when the engine stops', async () => {
      const id = await put();
      await watch(id, 1);
      const gone = new AbortController();
      const wait = watch(id, LONG_MS, gone.signal);
      gone.abort();
      await wait;
      await watch(id, LONG_MS, gone.signal);
      const last = watch(id);
      f.engine.endWaits();
      await last;
      await watch(id);
    });

    it('ends for 100 of 200 watched jobs when they end, and not for the others', async () => {
      const ids: string[] = [];
      for (let i = 0; i < 5; i++) {
        const jobs = Array.from({ length: 40 }, () => ({ queue: 'q', body: Buffer.from('x') }));
        ids.push(...(await f.engine.components.extendedPublisher.publish(f.ns, jobs)).map(({ id }) => id));
      }
      const followed = ids.map((id) => follow(watch(id)));
      await f.engine.ackMany(
        f.ns,
        ids.slice(100).map((id) => ({ queue: 'q', id })),
      );
      await waitFor(() => Promise.resolve(followed.slice(100).every(({ isOver }) => isOver)), 5_000);
      expect(followed.slice(0, 100).some(({ isOver }) => isOver)).toBe(false);
    });
  });
});
