import { Redis } from 'ioredis';
import type { DependencyResult } from '../../src/domain/job/dependency.js';
import type { LeasedJob } from '../../src/domain/job/job.js';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { edgeProblems } from './edge-audit.js';
import { ExtendedPathFixture } from './extended-path-fixture.js';
import { auditIndexes } from './index-audit.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MOST_BYTES = 65_536;

describe('results of dependencies', () => {
  let f: ExtendedPathFixture;
  let redis: Redis;
  beforeEach(async () => {
    f = await ExtendedPathFixture.open();
    redis = new Redis(testRedisUrl(), { protocol: 2 });
  });
  afterEach(async () => {
    await f.pump();
    expect(await Audit.of(redis, f.ns)).toEqual([]);
    expect(await auditIndexes(redis, f.ns)).toEqual([]);
    expect(await edgeProblems(redis, f.ns)).toEqual([]);
    await redis.quit();
    await f.close();
  });

  const leaseOf = async (id: string): Promise<LeasedJob> => {
    const jobs = await f.lease();
    const others = jobs.filter((job) => job.id !== id);
    await f.fixture.engine.undo(f.ns, others);
    const found = jobs.find((job) => job.id === id);
    if (!found) throw new Error(`${id} was not leased, but ${jobs.map((job) => job.id).join()}`);
    return found;
  };
  const finish = async (job: LeasedJob, result?: string, contentType = 'application/json'): Promise<void> => {
    const { id, lease } = job;
    await f.components.leaseOperations.complete(f.ns, [
      { id, lease, ...(result === undefined ? {} : { result: { body: Buffer.from(result), contentType } }) },
    ]);
    await f.pump();
  };
  const finishAs = async (id: string, result?: string, contentType?: string): Promise<void> =>
    finish(await leaseOf(id), result, contentType);
  const shown = (list: readonly DependencyResult[] | undefined) =>
    list?.map(({ id, state, result, truncated }) => [
      id,
      state,
      truncated ? 'truncated' : (result?.body.toString() ?? null),
    ]);
  const found = async (id: string) => shown((await f.find(id))?.dependencies);
  const given = (job: LeasedJob) => shown(job.extended?.dependencies);
  const states = async (...ids: string[]): Promise<(string | null)[]> =>
    Promise.all(ids.map(async (id) => (await f.find(id))?.state ?? null));

  it('come with the leased job, in the order in which it names its dependencies', async () => {
    await f.put('a');
    await f.put('b', { type: 'blob' });
    await f.put('c', { dependsOn: ['b', 'never', 'a'] });
    expect(await found('c')).toEqual([
      ['b', 'ready', null],
      ['never', 'missing', null],
      ['a', 'ready', null],
    ]);
    await finishAs('a', '{"n":1}');
    await finishAs('b', '\u0000\u0001', 'application/octet-stream');
    const expected = [
      ['b', 'done', '\u0000\u0001'],
      ['never', 'missing', null],
      ['a', 'done', '{"n":1}'],
    ];
    const job = await leaseOf('c');
    expect(given(job)).toEqual(expected);
    expect(job.extended?.dependencies?.map(({ result }) => result?.contentType)).toEqual([
      'application/octet-stream',
      undefined,
      'application/json',
    ]);
    expect(await found('c')).toEqual(expected);
    // The same again after a failure.
    await f.components.leaseOperations.retry(f.ns, { id: 'c', lease: job.lease, group: 'g', message: 'm' });
    expect(given(await leaseOf('c'))).toEqual(expected);
  });

  it('are left out of a job without dependencies', async () => {
    await f.put('a', { type: 't' });
    expect((await leaseOf('a')).extended).not.toHaveProperty('dependencies');
    expect(await found('a')).toEqual([]);
  });

  it('are kept without a retention, until the last dependent has ended', async () => {
    await f.put('a');
    await f.put('b', { dependsOn: ['a'] });
    await f.put('c', { dependsOn: ['a', 'b'] });
    await finishAs('a', '1');
    expect(await states('a')).toEqual(['done']);
    await f.pass(DAY_MS);
    expect(await states('a')).toEqual(['done']);
    await finishAs('b', '2');
    const job = await leaseOf('c');
    expect(given(job)).toEqual([
      ['a', 'done', '1'],
      ['b', 'done', '2'],
    ]);
    await finish(job);
    expect(await states('a', 'b', 'c')).toEqual([null, null, null]);
    expect(await f.leftovers()).toEqual([]);
  });

  it('outlive a retention, and stay with a dead dependent until it is done', async () => {
    await f.put('a', { retentionMs: 1_000 });
    await f.put('b', { dependsOn: ['a'], retentionMs: DAY_MS });
    await finishAs('a', '1');
    await f.pass(HOUR_MS);
    await f.fail('b');
    await f.pass(HOUR_MS);
    expect(await states('a', 'b')).toEqual(['done', 'dead']);
    await f.revive('b');
    const job = await leaseOf('b');
    expect(given(job)).toEqual([['a', 'done', '1']]);
    await finish(job);
    expect(await states('a', 'b')).toEqual([null, 'done']);
    // It had been done, and is gone as nothing needs it.
    expect(await found('b')).toEqual([['a', 'done', null]]);
  });

  it('do not protect those that nothing needs, however many are needed', async () => {
    await f.components.queueControls.change(f.ns, 'q', { maxKept: 2 });
    const needed = Array.from({ length: 150 }, (_none, i) => `n${String(i)}`);
    for (const id of needed) await f.put(id, { retentionMs: DAY_MS });
    await f.put('whole', { queue: 'wholes', dependsOn: needed });
    for (let left = needed.length; left > 0; left -= 50) {
      for (const job of await f.lease('q', 50)) await finish(job);
    }
    for (const id of ['x1', 'x2', 'x3', 'x4']) {
      await f.put(id, { retentionMs: DAY_MS });
      await f.pass(1);
      await finishAs(id);
    }
    for (let i = 0; i < 5; i++) await f.pass(1);
    expect(await states('n0', 'n149', 'x1', 'x2', 'x3', 'x4')).toEqual([
      ...['done', 'done', null, null, 'done', 'done'],
    ]);
  });

  it('do not count among the jobs that a queue keeps', async () => {
    await f.components.queueControls.change(f.ns, 'q', { maxKept: 1 });
    for (const id of ['a', 'b']) {
      await f.put(id, { retentionMs: DAY_MS });
      await f.put(`of-${id}`, { dependsOn: [id], delayMs: HOUR_MS });
    }
    for (const id of ['a', 'b']) await finishAs(id, '1');
    for (const id of ['x', 'y', 'z']) {
      await f.put(id, { retentionMs: DAY_MS });
      await finishAs(id);
    }
    expect(await states('a', 'b', 'x', 'y', 'z')).toEqual(['done', 'done', null, null, 'done']);
    await f.pass(HOUR_MS);
    await finishAs('of-a');
    expect(await states('a', 'b', 'z')).toEqual([null, 'done', 'done']);
  });

  it('are kept for a dependent that is published after the end, and for one that lmstfy ends', async () => {
    await f.put('a', { retentionMs: HOUR_MS });
    await finishAs('a', '1');
    await f.put('b', { dependsOn: ['a'], delayMs: DAY_MS });
    await f.pass(DAY_MS);
    const job = await leaseOf('b');
    expect(given(job)).toEqual([['a', 'done', '1']]);
    await f.fixture.engine.ack(f.ns, 'q', 'b');
    await f.pump();
    expect(await states('a', 'b')).toEqual([null, null]);
  });

  it('tell of an lmstfy acknowledgement as done without a result', async () => {
    await f.put('a');
    await f.put('b', { dependsOn: ['a'] });
    await f.fixture.engine.ack(f.ns, 'q', 'a');
    await f.pump();
    expect(given(await leaseOf('b'))).toEqual([['a', 'done', null]]);
  });

  it('tell how dependencies ended that are ignored', async () => {
    const ends = ['cancelled', 'expired', 'deleted', 'replaced', 'dead'];
    for (const id of ends)
      await f.put(id, id === 'expired' ? { ttlMs: 1_000 } : { unique: { key: id, mode: 'replace' } });
    await f.put('b', { dependsOn: ends, onDependencyFailure: 'ignore' });
    await f.fail('dead');
    await f.fixture.engine.jobs.cancel(f.ns, 'cancelled', { cascade: true });
    await f.fixture.engine.jobs.remove(f.ns, 'deleted', { force: true, withDependents: true });
    await f.put('other', { unique: { key: 'replaced', mode: 'replace' } });
    await f.pass(1_000);
    await f.put('b2', { dependsOn: ['dead', 'other'], onDependencyFailure: 'ignore' });
    expect(await found('b2')).toEqual([
      ['dead', 'dead', null],
      ['other', 'ready', null],
    ]);
    // A cascade cancels whatever the policy says.
    expect(await f.find('b')).toBeNull();
    await f.put('c', { dependsOn: ['dead', 'other'], onDependencyFailure: 'ignore' });
    await f.fixture.engine.jobs.remove(f.ns, 'other', { force: true, withDependents: true });
    await f.fixture.engine.jobs.remove(f.ns, 'dead', { force: true, withDependents: true });
    await f.pump();
    expect(given(await leaseOf('c'))).toEqual([
      ['dead', 'deleted', null],
      ['other', 'deleted', null],
    ]);
  });

  it('come from a dead job that is respawned and done while its dependent runs', async () => {
    await f.put('a');
    await f.put('b', { dependsOn: ['a'], onDependencyFailure: 'ignore' });
    await f.fail('a');
    const job = await leaseOf('b');
    expect(given(job)).toEqual([['a', 'dead', null]]);
    await f.revive('a');
    expect(await found('b')).toEqual([['a', 'ready', null]]);
    await finishAs('a', '1');
    expect(await found('b')).toEqual([['a', 'done', '1']]);
  });

  it('are never those of a later job with the same id', async () => {
    await f.put('a');
    await f.put('b', { dependsOn: ['a'] });
    await finishAs('a', '"old"');
    await expect(f.put('a')).rejects.toMatchObject({ code: 'job_exists' });
    await f.fixture.engine.jobs.remove(f.ns, 'a', {});
    await f.put('a', { retentionMs: HOUR_MS });
    expect(await found('b')).toEqual([['a', 'deleted', null]]);
    await finishAs('a', '"new"');
    expect(given(await leaseOf('b'))).toEqual([['a', 'deleted', null]]);
  });

  it('have up to 64 KiB in all, and smaller ones follow one that is left out', async () => {
    const text = (length: number): string => JSON.stringify('x'.repeat(length - 2));
    for (const id of ['a', 'b', 'c', 'd']) await f.put(id);
    await f.put('e', { dependsOn: ['a', 'b', 'c', 'd'] });
    await finishAs('a', text(30_000));
    await finishAs('b', text(40_000));
    await finishAs('c', text(MOST_BYTES - 30_000));
    await finishAs('d', '1');
    const job = await leaseOf('e');
    expect(given(job)?.map(([, , result]) => result?.slice(0, 9))).toEqual([
      '"xxxxxxxx',
      'truncated',
      '"xxxxxxxx',
      'truncated',
    ]);
    expect((await f.find('b'))?.result?.body).toHaveLength(40_000);
  });

  it('count in the size of an answer, as payloads do', async () => {
    await f.put('a');
    const body = Buffer.alloc(40_000);
    for (let i = 0; i < 50; i++) await f.put(`b${String(i)}`, { dependsOn: ['a'], body });
    await finishAs('a', JSON.stringify('x'.repeat(60_000)));
    await f.pump();
    // 4 MiB: a script takes 50 jobs of this size without results.
    const jobs = await f.lease('q', 50);
    expect(jobs).toHaveLength(42);
    await f.fixture.engine.undo(f.ns, jobs);
  });

  it('are read for few jobs with many dependencies in one step', async () => {
    const ids = Array.from({ length: 120 }, (_, i) => `dependency-with-a-long-name-${String(i)}`);
    await f.put('first', { dependsOn: ids });
    await f.put('second', { dependsOn: ids });
    await f.pump();
    const jobs = await f.lease('q', 2);
    expect(jobs.map(({ id }) => id)).toEqual(['first']);
    expect(jobs[0]?.extended?.dependencies).toHaveLength(120);
    expect((await f.lease('q', 2)).map(({ id }) => id)).toEqual(['second']);
  });

  it('follow a change of the dependencies', async () => {
    for (const id of ['a', 'b', 'c']) await f.put(id);
    await f.put('d', { dependsOn: ['a', 'b'], delayMs: HOUR_MS });
    await finishAs('a', '1');
    const change = (changes: object) => f.components.jobUpdater.change(f.ns, 'd', changes);
    await change({ moreDependencies: ['c'] });
    expect(await found('d')).toEqual([
      ['a', 'done', '1'],
      ['b', 'ready', null],
      ['c', 'ready', null],
    ]);
    await change({ lessDependencies: ['a'] });
    await f.pump();
    expect(await states('a')).toEqual([null]);
    await change({ dependsOn: ['c', 'b'] });
    expect(await found('d')).toEqual([
      ['c', 'ready', null],
      ['b', 'ready', null],
    ]);
    await finishAs('b', '2');
    await finishAs('c', '3');
    await f.pass(HOUR_MS);
    expect(given(await leaseOf('d'))).toEqual([
      ['c', 'done', '3'],
      ['b', 'done', '2'],
    ]);
  });

  it('are those of the present step of a job that moves on', async () => {
    for (const id of ['a', 'b']) await f.put(id);
    await f.put('c', { dependsOn: ['a'] });
    await finishAs('a', '1');
    const { lease } = await leaseOf('c');
    const next = { queue: 'q', dependsOn: ['b'] };
    await f.components.leaseOperations.complete(f.ns, [{ id: 'c', lease, next }]);
    await f.pump();
    expect(await states('a', 'c')).toEqual([null, 'blocked']);
    await finishAs('b', '2');
    const job = await leaseOf('c');
    expect(given(job)).toEqual([['b', 'done', '2']]);
    await f.components.leaseOperations.complete(f.ns, [{ id: 'c', lease: job.lease, next: { queue: 'q' } }]);
    await f.pump();
    expect(await states('b')).toEqual([null]);
    expect((await leaseOf('c')).extended).not.toHaveProperty('dependencies');
  });

  it('reach the jobs of recurring jobs', async () => {
    await f.put('a', { retentionMs: HOUR_MS });
    await finishAs('a', '1');
    const schedule = { everyMs: 60_000 };
    const template = { queue: 'q', body: Buffer.from('x'), dependsOn: ['a'] };
    await f.fixture.engine.recurring.set(f.ns, { id: 'r', schedule, template });
    await f.pass(60_000);
    const [job] = await f.lease();
    expect(given(job!)).toEqual([['a', 'done', '1']]);
    await f.fixture.engine.recurring.remove(f.ns, 'r');
  });

  it('reach a job with more dependencies than one step stores', async () => {
    const ids = Array.from({ length: 100 }, (_, i) => `d${String(i)}`);
    for (const id of ids) await f.put(id);
    await f.put('all', { dependsOn: ids });
    await f.pump();
    for (const job of await f.lease()) await finish(job, `"${job.id}"`);
    for (let left = 20; left > 0; left--) await f.pump();
    const job = await leaseOf('all');
    expect(given(job)).toEqual(ids.map((id) => [id, 'done', `"${id}"`]));
    await finish(job);
    await f.pass(120_000);
    expect(await f.leftovers()).toEqual([]);
  });

  it('go at once with those that need them, or when the timer looks again', async () => {
    const ids = Array.from({ length: 50 }, (_, i) => `d${String(i)}`);
    for (const id of ids) await f.put(id);
    await f.put('all', { dependsOn: ids });
    for (let left = 20; left > 0; left--) await f.pump();
    for (const job of await f.lease()) await finish(job);
    for (let left = 20; left > 0; left--) await f.pump();
    await finishAs('all');
    expect(await states(ids[0]!, ids[39]!, ids[40]!)).toEqual([null, null, 'done']);
    await f.pass(60_000);
    expect(await states(ids[40]!, ids[49]!)).toEqual([null, null]);
  });

  it('are only of queues that the token may read, wherever a dependency is by then', async () => {
    const limited = { resultsOf: ['q', 'm*e'] };
    await f.put('a', { queue: 'mine' });
    await f.put('b', { queue: 'other' });
    await f.put('c');
    await f.put('d', { dependsOn: ['a', 'b', 'c'], ...limited });
    const [moves] = (await f.lease('mine')) as [LeasedJob];
    await f.components.leaseOperations.complete(f.ns, [
      { id: 'a', lease: moves.lease, next: { queue: 'mine2' } },
    ]);
    for (const queue of ['mine2', 'other', 'q'])
      for (const job of await f.lease(queue)) await finish(job, '1');
    expect(given(await leaseOf('d'))).toEqual([
      ['a', 'deleted', null],
      ['b', 'deleted', null],
      ['c', 'done', '1'],
    ]);
    // Another token, for other queues, has named one more: what only one of the two may read is for neither.
    await f.put('e', { dependsOn: ['c'], delayMs: HOUR_MS, ...limited });
    expect(await found('e')).toEqual([['c', 'done', '1']]);
    await f.components.jobUpdater.change(f.ns, 'e', { moreDependencies: ['b'], resultsOf: ['other'] });
    expect(await found('e')).toEqual([
      ['c', 'deleted', null],
      ['b', 'deleted', null],
    ]);
  });

  it('come back with the job that had them, if an operation had deleted it', async () => {
    await f.put('a', { retentionMs: HOUR_MS });
    await f.put('c');
    await f.put('b', { dependsOn: ['a', 'c'] });
    await finishAs('a', '1');
    const shownAs = { filter: {}, to: null, set: null } as never;
    const filter = { queue: 'q', state: ['done'] } as const;
    await f.pass(200);
    const { details } = await f.components.operations.start(f.ns, {
      ...{ action: 'delete', filter, shown: shownAs, undoMs: HOUR_MS },
    });
    await f.pass(200);
    await f.components.operationRunner.runNow();
    expect(await states('a')).toEqual([null]);
    await f.components.operations.undo(f.ns, details.id);
    await f.pass(100);
    await f.components.operationRunner.runNow();
    expect(await states('a')).toEqual(['done']);
    await finishAs('c', '2');
    expect(given(await leaseOf('b'))).toEqual([
      ['a', 'done', '1'],
      ['c', 'done', '2'],
    ]);
  });

  it('come back with a job that an operation had ended', async () => {
    await f.put('a', { retentionMs: HOUR_MS });
    await f.put('b', { dependsOn: ['a'], type: 't' });
    await finishAs('a', '1');
    const shownAs = { filter: {}, to: null, set: null } as never;
    await f.pass(200);
    const { details } = await f.components.operations.start(f.ns, {
      ...{ action: 'cancel', filter: { type: 't' }, shown: shownAs, undoMs: HOUR_MS },
    });
    await f.pass(200);
    await f.components.operationRunner.runNow();
    expect(await states('b')).toEqual([null]);
    await f.components.operations.undo(f.ns, details.id);
    for (let left = 10; left > 0; left--) {
      await f.pass(100);
      await f.components.operationRunner.runNow();
    }
    expect(given(await leaseOf('b'))).toEqual([['a', 'done', '1']]);
  });
});
