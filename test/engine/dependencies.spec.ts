import type { DependencyFailure } from '../../src/domain/job/extended-job.js';
import type { NewExtendedJob } from '../../src/contract/job/extended-job.js';
import { EngineFixture, newJob } from './fixture.js';
import { ExtendedPathFixture } from './extended-path-fixture.js';
import { LIMIT_MS, ScriptWatch } from './script-watch.js';

describe('dependencies', () => {
  let f: ExtendedPathFixture;
  beforeEach(async () => (f = await ExtendedPathFixture.open()));
  afterEach(() => f.close());

  it('stay when a blocked job is published again in mode debounce, with the new payload', async () => {
    const unique = { key: 'k', mode: 'debounce' } as const;
    await f.put('a');
    await f.put('b', { dependsOn: ['a'], unique });
    await f.put('c', { body: Buffer.from('new'), unique });

    expect(await f.find('b')).toMatchObject({ state: 'blocked', dependsOn: ['a'] });
    expect(await f.work()).toEqual(['a']);
    expect(await f.find('b')).toMatchObject({ state: 'ready', body: Buffer.from('new') });
  });

  it('block a job until all are done, and leave nothing behind', async () => {
    await f.put('a');
    await f.put('b');
    expect(await f.put('c', { dependsOn: ['a', 'b', 'missing'] })).toBe('blocked');
    expect(await f.find('c')).toMatchObject({ state: 'blocked', dependsOn: ['a', 'b'] });
    expect(await f.find('a')).toMatchObject({ dependents: ['c'] });

    expect(await f.work()).toEqual(['a', 'b']);

    expect(await f.find('c')).toMatchObject({ state: 'ready', dependsOn: [] });
    expect(await f.work()).toEqual(['c']);
    expect(await f.leftovers()).toEqual([]);
  });

  it('connect jobs of one call in any order', async () => {
    const job = (id: string, dependsOn: string[]): NewExtendedJob => ({
      queue: 'q',
      body: Buffer.from(id),
      id,
      dependsOn,
    });
    const published = await f.components.extendedPublisher.publish(f.ns, [
      job('c', ['b']),
      job('b', ['a']),
      job('a', []),
    ]);

    expect(published.map(({ state }) => state)).toEqual(['blocked', 'blocked', 'ready']);
    expect([await f.work(), await f.work(), await f.work()]).toEqual([['a'], ['b'], ['c']]);
  });

  it('may be simple jobs in any state, whose end is noticed', async () => {
    const ready = await f.fixture.publish('plain');
    const far = await f.fixture.publish('plain', { delayMs: 3_600_000 });
    const near = await f.fixture.publish('plain', { delayMs: 60_000 });
    await f.put('c', { dependsOn: [ready, far, near] });
    expect((await f.find('c'))?.dependsOn).toHaveLength(3);

    expect(await f.work('plain')).toEqual([ready]);
    await f.pass(60_000);
    expect(await f.work('plain')).toEqual([near]);
    await f.pass(3_539_999);
    expect(await f.work('plain')).toEqual([]);
    await f.pass(1);
    expect(await f.work('plain')).toEqual([far]);

    expect(await f.work()).toEqual(['c']);
    expect(await f.leftovers()).toEqual([]);
  });

  it('refuse circles and store nothing (Q5, T32)', async () => {
    const job = (id: string, dependsOn: string[]): NewExtendedJob => ({
      queue: 'q',
      body: Buffer.from(id),
      id,
      dependsOn,
    });
    const publish = (...jobs: NewExtendedJob[]) => f.components.extendedPublisher.publish(f.ns, jobs);

    await expect(publish(job('a', ['a']))).rejects.toMatchObject({ code: 'dependency_cycle' });
    await expect(publish(job('a', ['b']), job('b', ['c']), job('c', ['a']))).rejects.toMatchObject({
      code: 'dependency_cycle',
    });
    expect(await f.find('a')).toBeNull();

    await publish(job('a', []), job('b', ['a']), job('c', ['b']));
    await expect(
      f.components.jobUpdater.change(f.ns, 'a', { moreDependencies: ['c'] }),
    ).rejects.toMatchObject({
      code: 'dependency_cycle',
    });
    await expect(f.components.jobUpdater.change(f.ns, 'a', { dependsOn: ['a'] })).rejects.toMatchObject({
      code: 'dependency_cycle',
    });
    expect(await f.find('a')).toMatchObject({ state: 'ready', dependsOn: [] });
  });

  describe('more than 40 of a job', () => {
    const others = Array.from({ length: 41 }, (_, i) => `o${String(i).padStart(2, '0')}`);

    it.each(['j', 'k'])('refuse circles before they are stored, too: on %s', async (needed) => {
      for (const id of [...others, 'x']) await f.put(id);
      await f.put('j', { dependsOn: [...others, 'x'] });
      await f.put('k', { dependsOn: ['j'] });
      for (const isStored of [false, true]) {
        if (isStored) await f.pump();
        await expect(
          f.components.jobUpdater.change(f.ns, 'x', { moreDependencies: [needed] }),
        ).rejects.toMatchObject({ code: 'dependency_cycle' });
      }
      expect((await f.work()).sort()).toEqual([...others, 'x']);
    });

    it('wait for no job that was missing at their publish', async () => {
      for (const id of others) await f.put(id);
      await f.put('j', { dependsOn: ['x', ...others, 'y'] });
      await f.put('x', { dependsOn: ['j'] });
      await f.pump();

      expect((await f.work()).sort()).toEqual(others);
      await f.pump();
      const [job] = await f.lease();
      expect(job?.id).toBe('j');
      const missing = job?.extended?.dependencies?.filter(({ state }) => state === 'missing');
      expect(missing?.map(({ id }) => id)).toEqual(['x', 'y']);
      await f.components.leaseOperations.complete(f.ns, [job!]);
      await f.pump();
      expect(await f.work()).toEqual(['x']);
      expect(await f.leftovers()).toEqual([]);
    });

    it('wait for none if all of them are missing', async () => {
      await f.put('j', { dependsOn: others });
      await f.pump();
      expect(await f.work()).toEqual(['j']);
      expect(await f.leftovers()).toEqual([]);
    });
  });

  it('make a job scheduled if its time is still to come, also when they are removed (Q7)', async () => {
    await f.put('a');
    await f.put('b', { dependsOn: ['a'], delayMs: 60_000 });
    await f.put('c', { dependsOn: ['a'], delayMs: 60_000 });

    await f.components.jobUpdater.change(f.ns, 'c', { dependsOn: [] });
    expect(await f.find('c')).toMatchObject({ state: 'scheduled', dueAtMs: f.nowMs + 60_000 });
    expect(await f.work()).toEqual(['a']);
    expect(await f.find('b')).toMatchObject({ state: 'scheduled', dueAtMs: f.nowMs + 60_000 });
    await f.pass(60_000);

    expect((await f.work()).sort()).toEqual(['b', 'c']);
  });

  describe.each<[DependencyFailure, object]>([
    ['block', { state: 'blocked', failedDependencies: { a: 'died' } }],
    ['ignore', { state: 'ready', dependsOn: [] }],
    ['fail', { state: 'dead', failure: { group: 'dependency_failed' } }],
  ])('a job with the policy %s for failed dependencies', (onDependencyFailure, expected) => {
    it('follows the policy when a dependency dies before or after its publish', async () => {
      await f.put('a');
      await f.put('b', { dependsOn: ['a'], onDependencyFailure });
      await f.fail('a');
      expect(await f.find('b')).toMatchObject(expected);

      await f.put('c', { dependsOn: ['a'], onDependencyFailure });
      expect(await f.find('c')).toMatchObject(expected);
    });
  });

  it('cancel a job with its dependents by policy', async () => {
    await f.put('a');
    await f.put('b', { dependsOn: ['a'], onDependencyFailure: 'cancel', retentionMs: 60_000 });
    await f.put('c', { dependsOn: ['b'], onDependencyFailure: 'cancel' });
    await f.put('d', { dependsOn: ['c'] });
    await f.fail('a');

    expect(await f.find('b')).toMatchObject({ state: 'cancelled' });
    expect(await f.find('c')).toBeNull();
    expect(await f.find('d')).toMatchObject({ state: 'blocked', failedDependencies: { c: 'cancelled' } });
    expect(await f.counts()).toMatchObject({ blocked: 1, stuck: 1 });
  });

  it('count a job as stuck while its dependency is dead, until the dead job is respawned (Q6)', async () => {
    await f.put('a');
    await f.put('b', { dependsOn: ['a'] });
    expect(await f.counts()).toMatchObject({ blocked: 1, stuck: 0 });
    await f.fail('a');
    expect(await f.counts()).toMatchObject({ blocked: 1, stuck: 1, dead: 1 });

    await f.revive('a');
    expect(await f.counts()).toMatchObject({ blocked: 1, stuck: 0, ready: 1 });
    expect(await f.find('b')).toMatchObject({ dependsOn: ['a'], failedDependencies: {} });
    expect(await f.work()).toEqual(['a']);

    expect(await f.work()).toEqual(['b']);
    expect(await f.leftovers()).toEqual([]);
  });

  it('notice that a dependency dies again before they were told that it was put back', async () => {
    const lease = async (ttrMs: number) => (await f.fixture.lease('q', { ttrMs }))[0]!;
    await f.put('a', { tries: 1 });
    await f.put('b', { dependsOn: ['a'] });
    await f.fail('a');
    // No server runs timers from here on. The timer of leases is due before that of the respawn, as another lease ends sooner.
    await f.put('sooner', { tries: 1 });
    await lease(1_000);
    f.fixture.nowMs += 2_000;
    await f.components.deadJobs.respawnIds(f.ns, ['a'], { tries: 'reset', ttlMs: 0 });
    expect(await lease(1_000)).toMatchObject({ id: 'a' });
    await f.pass(2_000);
    await f.pump();
    expect(await f.find('a')).toMatchObject({ state: 'dead' });
    expect(await f.find('b')).toMatchObject({ state: 'blocked', failedDependencies: { a: 'died' } });
    expect(await f.counts()).toMatchObject({ blocked: 1, stuck: 1 });
  });

  it('notice that a dependency expires, or is acknowledged before its lease', async () => {
    await f.put('expires', { ttlMs: 1_000, delayMs: 5_000 });
    await f.put('b', { dependsOn: ['expires'] });
    await f.pass(1_001);
    expect(await f.find('b')).toMatchObject({ state: 'blocked', failedDependencies: { expires: 'expired' } });

    await f.put('removed');
    await f.put('c', { dependsOn: ['removed'] });
    await f.fixture.engine.ack(f.ns, 'q', 'removed');
    await f.pump();
    expect(await f.find('c')).toMatchObject({ state: 'ready' });
  });

  it('ignore a job that was created again under its old id', async () => {
    await f.put('a');
    await f.put('b');
    await f.put('c', { dependsOn: ['a'], onDependencyFailure: 'fail' });
    await f.components.jobCanceller.cancel(f.ns, 'c');
    await f.put('c', { dependsOn: ['b'], onDependencyFailure: 'fail' });
    await f.fail('a');

    expect(await f.find('c')).toMatchObject({ state: 'blocked', dependsOn: ['b'] });
    expect(await f.work()).toEqual(['b']);
    expect(await f.work()).toEqual(['c']);
  });

  it('keep the id of a done job in use until its dependents have ended', async () => {
    await f.put('a');
    await f.put('b', { dependsOn: ['a'] });
    const [job] = await f.lease();
    await f.fixture.engine.ack(f.ns, 'q', 'a', job?.lease);

    await expect(f.put('a')).rejects.toMatchObject({ code: 'job_exists' });
    await f.pump();
    expect(await f.find('b')).toMatchObject({ state: 'ready' });
    // It is kept for them.
    await expect(f.put('a')).rejects.toMatchObject({ code: 'job_exists' });
    expect(await f.work()).toEqual(['b']);
    expect(await f.put('a')).toBe('ready');
  });

  it.each(['cancelled', 'purged'])(
    'keep the id of a %s job in use until its dependents know it',
    async (how) => {
      await f.put('a');
      await f.put('b', { dependsOn: ['a'] });
      if (how === 'cancelled') await f.components.jobCanceller.cancel(f.ns, 'a', { cascade: true });
      else await f.components.queuePurger.purge(f.ns, 'q', ['ready']);
      const publish = (job: object) =>
        f.fixture.engine.jobs.publish(f.ns, [{ queue: 'q', body: Buffer.from('x'), id: 'a', ...job }]);
      for (const job of [{}, { type: 't' }, { priority: 1 }])
        await expect(publish(job)).rejects.toMatchObject({ code: 'job_exists' });
      await f.pump();
      expect(await publish({})).toMatchObject([{ id: 'a', state: 'ready' }]);
    },
  );

  it('notice a deleted dead job, which can never be done', async () => {
    await f.put('a');
    await f.put('b', { dependsOn: ['a'] });
    await f.put('c', { dependsOn: ['a'], onDependencyFailure: 'ignore' });
    await f.fail('a');
    expect(await f.fixture.engine.deadLetter.delete(f.ns, 'q', 10)).toBe(1);
    await f.pump();

    expect(await f.find('b')).toMatchObject({ state: 'blocked', failedDependencies: { a: 'deleted' } });
    expect(await f.work()).toEqual(['c']);
    expect(await f.components.jobUpdater.change(f.ns, 'b', { lessDependencies: ['a'] })).toMatchObject({
      state: 'ready',
    });
    expect(await f.work()).toEqual(['b']);
    expect(await f.leftovers()).toEqual([]);
  });

  it('are purged with their namespace', async () => {
    await f.put('a');
    await f.put('b', { dependsOn: ['a'] });
    await f.put('c', { dependsOn: ['a', 'b'] });
    await f.fail('a');

    expect(await f.fixture.engine.purge.run(f.ns)).toMatchObject({ isDone: true });
    expect(await f.fixture.keys()).toEqual([]);
  });

  it('are added to and removed from a ready, a scheduled and a far job', async () => {
    await f.put('a');
    await f.put('b');
    await f.put('s', { delayMs: 60_000 });
    const far = await f.fixture.publish('q', { delayMs: 3_600_000 });

    expect(await f.components.jobUpdater.change(f.ns, 'b', { moreDependencies: ['a'] })).toMatchObject({
      state: 'blocked',
    });
    expect(await f.components.jobUpdater.change(f.ns, 's', { moreDependencies: ['a'] })).toMatchObject({
      state: 'blocked',
    });
    expect(await f.components.jobUpdater.change(f.ns, far, { moreDependencies: ['a'] })).toMatchObject({
      state: 'scheduled',
    });
    expect(await f.components.jobUpdater.change(f.ns, 'b', { lessDependencies: ['a'] })).toMatchObject({
      state: 'ready',
    });
    await f.pass(3_600_000);
    expect(await f.find(far)).toMatchObject({ state: 'blocked', dependsOn: ['a'] });
    expect(await f.find('s')).toMatchObject({ state: 'blocked', dependsOn: ['a'] });
    expect(await f.work()).toEqual(['a', 'b']);

    expect((await f.work()).sort()).toEqual([far, 's'].sort());
    expect(await f.leftovers()).toEqual([]);
  });

  it('are added by a move to a next queue', async () => {
    await f.put('a');
    await f.put('b', { queue: 'slow' });
    await f.put('user', { dependsOn: ['a'] });
    const [job] = await f.lease();
    const next = { queue: 'next', delayMs: 1_000, dependsOn: ['b'] };

    const lost = { id: 'a', lease: job?.lease ?? 0 };
    expect(
      await f.components.leaseOperations.complete(f.ns, [
        { ...lost, next: { queue: 'next', dependsOn: ['user'] } },
      ]),
    ).toEqual(['dependency_cycle']);
    expect(await f.components.leaseOperations.complete(f.ns, [{ ...lost, next }])).toEqual(['done']);
    expect(await f.find('a')).toMatchObject({ state: 'blocked', queue: 'next', dependsOn: ['b'] });
    expect(await f.work('slow')).toEqual(['b']);
    expect(await f.find('a')).toMatchObject({ state: 'scheduled', dueAtMs: f.nowMs + 1_000 });
    await f.pass(1_000);

    expect(await f.work('next')).toEqual(['a']);
    expect(await f.work()).toEqual(['user']);
    expect(await f.leftovers()).toEqual([]);
  });

  describe('missing jobs', () => {
    const job = (id: string, dependsOn: string[], more: Partial<NewExtendedJob> = {}): NewExtendedJob => ({
      ...{ queue: 'q', body: Buffer.from(id), id, dependsOn },
      ...more,
    });
    const publish = (...jobs: NewExtendedJob[]) => f.fixture.engine.jobs.publish(f.ns, jobs);
    const refuse = { onMissingDependency: 'refuse' } as const;
    const problemOf = (field: string) => ({
      code: 'missing_dependency',
      problems: [expect.objectContaining({ field })],
    });
    /** A job in each state that counts, and one that expires. */
    async function existing(): Promise<string[]> {
      const simple = await f.fixture.publish('plain', { delayMs: 60_000 });
      await f.put('kept', { queue: 'kept', retentionMs: 3_600_000 });
      await f.work('kept');
      await f.put('dead', { queue: 'dying', tries: 1 });
      await f.fail('dead', 'dying');
      await f.put('waits', { dependsOn: [simple] });
      return [simple, 'kept', 'dead', 'waits'];
    }

    it('are listed in the answer to a publish, in their order, each once', async () => {
      const there = await existing();
      const [one, two, three] = await publish(
        job('one', ['typo', ...there, 'two', 'other-typo', 'typo']),
        job('two', []),
        job('three', there),
      );
      expect(one).toMatchObject({ missingDependencies: ['typo', 'other-typo'] });
      for (const published of [two, three]) expect(published).not.toHaveProperty('missingDependencies');
    });

    it('are listed of a job that is done and not kept, and of one that has expired', async () => {
      await f.put('done');
      await f.put('brief', { queue: 'r', ttlMs: 1_000 });
      await f.work();
      f.fixture.nowMs += 1_000;
      expect(await publish(job('a', ['done', 'brief']))).toMatchObject([
        { missingDependencies: ['done', 'brief'] },
      ]);
    });

    it('are listed of more dependencies than one script stores', async () => {
      await f.put('live');
      const unknown = Array.from({ length: 99 }, (_, i) => `id${String(i)}`);
      expect(await publish(job('a', [...unknown, 'live']))).toMatchObject([{ missingDependencies: unknown }]);
      expect(await f.fixture.engine.jobs.put(f.ns, { ...job('b', ['live', 'no']), id: 'b' })).toMatchObject({
        missingDependencies: ['no'],
      });
    });

    it('refuse a publish as a whole, and store nothing, if one of its jobs says so', async () => {
      const there = await existing();
      const keys = await f.fixture.keys();
      await expect(
        publish(job('a', ['typo']), job('b', [...there, 'typo'], refuse), job('c', [], { queue: 'new' })),
      ).rejects.toMatchObject(problemOf('jobs[1].dependsOn[4]'));
      await expect(publish(job('a', ['typo'], refuse))).rejects.toMatchObject(problemOf('dependsOn[0]'));
      await expect(
        f.fixture.engine.jobs.put(f.ns, { ...job('waits', ['typo'], refuse), id: 'waits' }),
      ).rejects.toMatchObject(problemOf('dependsOn[0]'));
      // No job can have such an id.
      await expect(publish(job('a', ['no id'], refuse))).rejects.toMatchObject(problemOf('dependsOn[0]'));
      expect(await f.fixture.keys()).toEqual(keys);
      expect(await f.find('waits')).toMatchObject({ state: 'blocked' });

      expect(await publish(job('d', [...there, 'e'], refuse), job('e', [], refuse))).toMatchObject([
        { state: 'blocked' },
        { state: 'ready' },
      ]);
    });

    it('are listed in the answer to a change, or refuse it', async () => {
      await f.put('a');
      await f.put('b');
      const { jobs } = f.fixture.engine;
      for (const change of [{ dependsOn: ['a', 'typo'] }, { moreDependencies: ['a', 'typo'] }]) {
        await expect(jobs.change(f.ns, 'b', { ...change, ...refuse })).rejects.toMatchObject(
          problemOf('dependsOn[1]'),
        );
        expect(await f.find('b')).toMatchObject({ state: 'ready' });
        expect(await jobs.change(f.ns, 'b', change)).toMatchObject({
          state: 'blocked',
          missingDependencies: ['typo'],
        });
        expect(await jobs.change(f.ns, 'b', { dependsOn: [], ...refuse })).toEqual({
          state: 'ready',
          dueAtMs: null,
        });
      }
      await expect(jobs.change(f.ns, 'unknown', { dependsOn: ['typo'], ...refuse })).rejects.toMatchObject({
        code: 'job_not_found',
      });
    });

    it('refuse a move to a next queue that says so: the lease stays', async () => {
      await f.put('a');
      await f.put('b', { queue: 'slow' });
      const [leased] = await f.lease();
      const complete = (dependsOn: string[]) =>
        f.components.leaseOperations.complete(f.ns, [
          { id: 'a', lease: leased!.lease, next: { queue: 'next', dependsOn, ...refuse } },
        ]);
      expect(await complete(['b', 'typo'])).toEqual(['missing_dependency']);
      expect(await f.find('a')).toMatchObject({ state: 'leased', queue: 'q' });
      expect(await complete(['b'])).toEqual(['done']);
      expect(await f.find('a')).toMatchObject({ state: 'blocked', queue: 'next' });
    });

    it('skip the slots of a recurring job that says so, until they exist', async () => {
      const { recurring } = f.fixture.engine;
      const template = { queue: 'q', body: Buffer.from('x'), dependsOn: ['needed'], ...refuse };
      await recurring.set(f.ns, { id: 'r', schedule: { everyMs: 10_000 }, template });
      await f.pass(1);
      expect(await recurring.get(f.ns, 'r')).toMatchObject({
        ...{ made: 0, skipped: 1, lastSkip: { reason: 'missing_dependency' } },
      });
      await expect(recurring.run(f.ns, 'r')).rejects.toMatchObject({ code: 'missing_dependency' });

      await f.put('needed', { queue: 'other' });
      await f.pass(10_000);
      expect(await recurring.get(f.ns, 'r')).toMatchObject({ made: 1, skipped: 1 });
      expect(await f.find('r-1')).toMatchObject({ state: 'blocked' });
    });
  });

  describe('T32: a thousand dependent jobs', () => {
    const MANY = 1_000;
    const publishMany = async (job: Partial<NewExtendedJob> = {}): Promise<string[]> => {
      const ids: string[] = [];
      for (let left = MANY; left > 0; left -= 50) {
        const jobs = Array.from({ length: 50 }, () => ({ queue: 'many', body: Buffer.from('x'), ...job }));
        ids.push(...(await f.components.extendedPublisher.publish(f.ns, jobs)).map(({ id }) => id));
      }
      return ids;
    };

    it('release one job that runs once, in any order of their ends', async () => {
      const ids: string[] = [];
      for (let i = 0; i < 20; i++)
        ids.push(
          ...(await f.fixture.engine.publishMany(
            f.ns,
            'many',
            Array.from({ length: MANY / 20 }, () => ({
              ...{ body: Buffer.from('x'), delayMs: 0, ttlMs: 0, tries: 1 },
            })),
          )),
        );
      expect(await f.put('parent', { dependsOn: ids })).toBe('blocked');
      // Some end before the clock has tied it to them.
      expect(await f.lease('many', 1)).toHaveLength(1);
      await f.fixture.engine.ackMany(
        f.ns,
        ids.slice(500, 600).map((id) => ({ queue: 'many', id })),
      );
      await f.pump();
      expect((await f.find('parent'))?.dependsOn).toHaveLength(MANY - 100);

      const others = [...ids.slice(0, 500), ...ids.slice(600)].toReversed();
      const last = others.pop() ?? '';
      for (let i = 0; i < others.length; i += 50)
        await f.fixture.engine.ackMany(
          f.ns,
          others.slice(i, i + 50).map((id) => ({ queue: 'many', id })),
        );
      await f.pump();
      expect(await f.find('parent')).toMatchObject({ state: 'blocked', dependsOn: [last] });
      await f.fixture.engine.ack(f.ns, 'many', last);
      await f.pump();

      expect(await f.work()).toEqual(['parent']);
      expect(await f.work()).toEqual([]);
      expect(await f.leftovers()).toEqual([]);
    });

    it('are released by one job in steps', async () => {
      await f.put('one');
      await publishMany({ dependsOn: ['one'] });
      expect(await f.counts('many')).toMatchObject({ blocked: MANY, ready: 0 });
      expect((await f.find('one'))?.dependents).toHaveLength(100);
      await f.work();

      expect(await f.counts('many')).toMatchObject({ blocked: 0, ready: MANY });
    });

    it('are accepted, and one more is refused', async () => {
      const dependsOn = Array.from({ length: MANY + 1 }, (_, i) => `id${String(i)}`);

      await expect(f.put('a', { dependsOn })).rejects.toMatchObject({ code: 'invalid_argument' });
      expect(await f.put('b', { dependsOn: dependsOn.slice(1) })).toBe('blocked');
      await f.pump();
      expect(await f.find('b')).toMatchObject({ state: 'ready' });
    });

    it('are all connected before the waiting job may run', async () => {
      await f.put('live');
      const unknown = Array.from({ length: MANY - 1 }, (_, i) => `id${String(i)}`);
      await f.put('a', { dependsOn: ['live', ...unknown] });
      await f.pump();

      expect(await f.find('a')).toMatchObject({ state: 'blocked', dependsOn: ['live'] });
      expect(await f.work()).toEqual(['live']);
      expect(await f.work()).toEqual(['a']);
    });
  });
});

describe('many dependents', () => {
  const MANY = 1_000;

  describe('scripts of dependencies', () => {
    let watch: ScriptWatch;
    let f: EngineFixture;
    beforeAll(async () => {
      watch = await ScriptWatch.start();
    });
    beforeEach(open);
    afterEach(() => f.close());
    afterAll(() => watch.stop());

    /** A namespace of its own. */
    async function open(): Promise<void> {
      const nowMs = Date.now();
      f = await EngineFixture.open({ clock: () => nowMs }, { url: watch.url });
    }

    async function simpleJobs(): Promise<string[]> {
      const ids: string[] = [];
      for (let left = MANY; left > 0; left -= 50) {
        const jobs = Array.from({ length: 50 }, () => newJob({ ttlMs: 600_000 }));
        ids.push(...(await f.engine.publishMany(f.ns, 'q', jobs)));
      }
      return ids;
    }

    const put = (
      id: string,
      dependsOn: readonly string[],
      onDependencyFailure: DependencyFailure = 'block',
    ) =>
      f.engine.components.extendedPublisher.publish(f.ns, [
        { queue: 'users', id, body: Buffer.from('x'), dependsOn, onDependencyFailure },
      ]);

    /** Jobs that wait for one, until it is cancelled. */
    async function users(policy: DependencyFailure): Promise<void> {
      await put('one', []);
      for (let i = 0; i < MANY; i++) await put(`user${String(i)}`, ['one'], policy);
    }

    /** A ladder: each job waits for the one before it, and for many others that are not done. */
    async function ladder(): Promise<void> {
      const others = await simpleJobs();
      for (let i = 0; i < 100; i++) {
        const below = i === 0 ? [] : [`step${String(i - 1)}`];
        await put(`step${String(i)}`, [...below, ...others.slice(i * 9, i * 9 + 9)]);
      }
    }

    async function cancelAll(): Promise<void> {
      await f.engine.jobs.cancel(f.ns, 'one', { cascade: true });
      await f.engine.pumpNow(f.ns);
    }

    /** What is prepared, and then timed. */
    const cases: Record<string, () => Promise<() => Promise<unknown>>> = {
      'to tie a job to 1,000 plain ones, and tell it of their ends': async () => {
        const ids = await simpleJobs();
        return async () => {
          await put('parent', ids);
          await f.engine.pumpNow(f.ns);
          for (let i = 0; i < MANY; i += 50)
            await f.engine.ackMany(
              f.ns,
              ids.slice(i, i + 50).map((id) => ({ queue: 'q', id })),
            );
          await f.engine.pumpNow(f.ns);
        };
      },
      'to have 1,000 jobs die with one': async () => (await users('fail'), cancelLeased),
      'to block 1,000 jobs with one': async () => (await users('block'), cancelLeased),
      'to cancel 1,000 jobs with one': async () => (await users('cancel'), cancelAll),
      'to look for a circle along a thousand ways': async () => {
        await ladder();
        return () => f.engine.jobs.change(f.ns, 'step0', { moreDependencies: ['step99'] }).catch(() => 0);
      },
      'to look at a job with a thousand of each': async () => {
        await users('block');
        await f.engine.jobs.change(f.ns, 'one', { dependsOn: await simpleJobs() });
        await f.engine.pumpNow(f.ns);
        return () => f.engine.jobs.find(f.ns, 'one');
      },
    };

    /** Its lease holder fails it, so that its dependents follow their policy. */
    async function cancelLeased(): Promise<void> {
      const [job] = await f.lease('users');
      await f.engine.settle.fail(f.ns, {
        id: 'one',
        lease: job?.lease ?? 0,
        group: 'g',
        message: '',
      });
      await f.engine.pumpNow(f.ns);
    }

    it.each(Object.keys(cases))('hold Redis only briefly: %s', async (name) => {
      const prepare = async (): Promise<() => Promise<unknown>> => {
        await f.close();
        await open();
        return cases[name]!();
      };
      expect(await watch.slowest(name, prepare)).toBeLessThan(LIMIT_MS);
    });
  });
});
