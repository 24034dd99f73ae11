import { Redis } from 'ioredis';
import type { OperationDetails } from '../../src/contract/operations.js';
import type { NewOperation } from '../../src/engine/operations/operations.js';
import { encodeId } from '../../src/engine/core/ids.js';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { pump } from '../../src/redis/scripts/simple.js';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { edgeProblems } from './edge-audit.js';
import { auditIndexes } from './index-audit.js';
import { ExtendedPathFixture } from './extended-path-fixture.js';
import { newJob } from './fixture.js';

const KEPT = { retentionMs: 60_000 };
const SHOWN = { filter: {}, to: null, set: null } as unknown as NewOperation['shown'];

describe('an operation', () => {
  let f: ExtendedPathFixture;
  let redis: Redis;
  beforeEach(async () => {
    f = await ExtendedPathFixture.open();
    redis = new Redis(testRedisUrl(), { protocol: 2 });
  });
  afterEach(async () => {
    expect(await Audit.of(redis, f.ns)).toEqual([]);
    expect(await auditIndexes(redis, f.ns)).toEqual([]);
    await f.pump();
    expect(await edgeProblems(redis, f.ns)).toEqual([]);
    await redis.quit();
    await f.close();
  });

  const start = async (operation: Omit<NewOperation, 'shown'>): Promise<OperationDetails> =>
    (await f.components.operations.start(f.ns, { shown: SHOWN, ...operation })).details;
  const find = async ({ id }: { readonly id: string }): Promise<OperationDetails> =>
    (await f.components.operations.find(f.ns, id))!.details;
  /** Does all steps that are due, a moment later than what was before. */
  const doSteps = async (ms = 200): Promise<number> => {
    await f.pass(ms);
    return f.components.operationRunner.runNow();
  };
  const run = async (operation: Omit<NewOperation, 'shown'>): Promise<OperationDetails> => {
    await f.pass(200);
    const started = await start(operation);
    await doSteps();
    return find(started);
  };
  const stateOf = async (id: string): Promise<string | null> => (await f.find(id))?.state ?? null;
  const states = (...ids: string[]): Promise<(string | null)[]> => Promise.all(ids.map(stateOf));
  const refusals = ({ refusals: all }: OperationDetails): Record<string, number> =>
    Object.fromEntries(all.map(({ reason, jobs }) => [reason, jobs]));

  /** A job in each state: all have the type `t`, and so a history; and simple ones. */
  const putAll = async (): Promise<void> => {
    await f.components.queueControls.change(f.ns, 'q', { maxRunningPerKey: 1 });
    await f.put('dead', { ...KEPT, type: 't', tries: 1 });
    await f.fail('dead');
    await f.put('done', { ...KEPT, type: 't' });
    await f.work();
    await f.put('leased', { ...KEPT, type: 't', concurrencyKey: 'k' });
    await f.put('held', { ...KEPT, type: 't', concurrencyKey: 'k' });
    await f.lease();
    await f.put('ready', { ...KEPT, type: 't' });
    await f.put('urgent', { ...KEPT, type: 't', priority: -3 });
    await f.put('scheduled', { ...KEPT, type: 't', delayMs: 60_000 });
    await f.put('blocked', { ...KEPT, type: 't', dependsOn: ['leased'] });
    await f.put('other', { type: 'other' });
  };
  const ALL = ['dead', 'done', 'leased', 'held', 'ready', 'urgent', 'scheduled', 'blocked', 'other'];

  it.each([
    ['cancel, of a queue', { action: 'cancel', filter: { queue: 'q' } }],
    ['cancel, of a type', { action: 'cancel', filter: { type: 't' } }],
    ['delete, of a queue', { action: 'delete', filter: { queue: 'q' } }],
    ['move, of a queue', { action: 'move', filter: { queue: 'q' }, to: 'other' }],
  ] as const)('acts on all jobs of a key that has room for one: %s', async (_what, operation) => {
    await f.components.queueControls.change(f.ns, 'q', { maxRunningPerKey: 1 });
    for (let i = 0; i < 70; i++) await f.put(`k${String(i)}`, { type: 't', concurrencyKey: 'k' });
    const ended = await run(operation);
    expect(ended).toMatchObject({ state: 'done', matched: 70, done: 70, failed: 0, skipped: 0 });
    expect(await f.counts('q')).toMatchObject({ ready: 0, held: 0 });
  });

  it('acts on jobs that became ready in their turn meanwhile, and not on those that failed meanwhile', async () => {
    await f.put('due', { type: 't', delayMs: 300 });
    await f.put('failed', { type: 't', retry: { kind: 'fixed', delayMs: 10 } });
    await f.pass(200);
    const started = await start({ action: 'cancel', filter: { type: 't' } });
    await f.pass(1);
    const [job] = await f.lease();
    await f.components.leaseOperations.retry(f.ns, {
      id: 'failed',
      lease: job!.lease,
      group: 'g',
      message: 'm',
    });
    await f.pass(200);
    expect(await states('due', 'failed')).toEqual(['ready', 'ready']);
    await doSteps();
    expect(refusals(await find(started))).toEqual({ changed: 1 });
    expect(await states('due', 'failed')).toEqual([null, 'ready']);
  });

  it('cancels waiting and leased jobs that match, and no other', async () => {
    await putAll();
    const ended = await run({ action: 'cancel', filter: { type: 't' }, graceMs: 0 });
    expect(ended).toMatchObject({ state: 'done', matched: 6, done: 5, failed: 1, skipped: 0 });
    // The walk meets it while the blocked job still depends on it.
    expect(refusals(ended)).toEqual({ has_dependents: 1 });
    expect(await states(...ALL)).toEqual([
      ...['dead', 'done', 'leased', 'cancelled', 'cancelled', 'cancelled', 'cancelled', 'cancelled', 'ready'],
    ]);
  });

  it('cancels jobs with their dependents if it cascades', async () => {
    await putAll();
    const ended = await run({
      action: 'cancel',
      filter: { queue: 'q', type: 't' },
      cascade: true,
      graceMs: 0,
    });
    expect(ended).toMatchObject({ state: 'done', failed: 0 });
    expect(await states('leased', 'blocked', 'dead', 'other')).toEqual([
      'cancelled',
      'cancelled',
      'dead',
      'ready',
    ]);
  });

  it('skips a job whose worker was asked to stop before', async () => {
    await f.put('leased', { type: 't', ...KEPT });
    await f.lease();
    await f.components.jobCanceller.cancel(f.ns, 'leased', { graceMs: 5_000 });
    const ended = await run({ action: 'cancel', filter: { queue: 'q' } });
    expect(ended).toMatchObject({ matched: 1, done: 0, skipped: 1 });
    expect(refusals(ended)).toEqual({ already_cancelled: 1 });
  });

  it('deletes jobs of the states that it names, simple ones too', async () => {
    await putAll();
    const far = await f.fixture.publish('q', { delayMs: 3_600_000 });
    const near = await f.fixture.publish('q', { delayMs: 60_000 });
    const simple = await f.fixture.publish('q');
    const state = ['ready', 'scheduled', 'held', 'dead', 'done', 'blocked'] as const;
    const ended = await run({ action: 'delete', filter: { queue: 'q', state } });
    expect(ended).toMatchObject({ state: 'done', matched: 11, done: 11 });
    expect(await states(...ALL, far, near, simple)).toEqual([
      ...[null, null, 'leased', null, null, null, null, null, null, null, null, null],
    ]);
  });

  it('deletes a ready list from its head without stale entries, and keeps the order of the others', async () => {
    for (let i = 0; i < 130; i++) await f.fixture.publish('q', { text: String(i) });
    for (let i = 0; i < 3; i++) await f.put(`kept-${String(i)}`, { type: 'kept' });
    for (let i = 0; i < 60; i++) await f.put(`gone-${String(i)}`, { type: 'gone' });
    const ended = await run({ action: 'delete', filter: { queue: 'q', state: ['ready'] } });
    expect(ended).toMatchObject({ state: 'done', done: 193 });
    const number = Math.abs(Number(await redis.hget(`{${f.ns}}:queues`, 'q')));
    expect(await redis.llen(`{${f.ns}}:r${String(number)}`)).toBe(0);
    expect(await redis.scard(`{${f.ns}}:g${String(number)}`)).toBe(0);
    for (let i = 0; i < 40; i++) await f.put(`a-${String(i)}`, { type: i % 2 === 0 ? 'kept' : 'gone' });
    expect(await run({ action: 'delete', filter: { queue: 'q', type: 'gone' } })).toMatchObject({ done: 20 });
    expect(await f.work()).toEqual(Array.from({ length: 20 }, (_, i) => `a-${String(2 * i)}`));
  });

  it('deletes a ready list whose head is mostly tombstones, and misses no job behind them', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 300; i++) ids.push(await f.fixture.publish('q'));
    const number = Math.abs(Number(await redis.hget(`{${f.ns}}:queues`, 'q')));
    // Fewer live ones than a step deletes come before them.
    for (let i = 20; i < 200; i++) {
      await redis.del(Buffer.concat([Buffer.from(`{${f.ns}}j`), encodeId(ids[i]!)!]));
      await redis.lset(`{${f.ns}}:r${String(number)}`, i, '');
    }
    await redis.hincrby(`{${f.ns}}:i${String(number)}`, 'blanks', 180);
    const ended = await run({ action: 'delete', filter: { queue: 'q' } });
    expect(ended).toMatchObject({ state: 'done', done: 120 });
    expect(await f.counts()).toMatchObject({ ready: 0 });
  });

  it('respawns dead jobs once, also if they die again before it has ended', async () => {
    for (let i = 0; i < 120; i++) await f.put(`d-${String(i).padStart(3, '0')}`, { tries: 1 });
    for (const { id, lease } of await f.lease('q', 100))
      await f.components.leaseOperations.fail(f.ns, { id, lease, group: 'g', message: 'm' });
    for (const { id, lease } of await f.lease('q', 100))
      await f.components.leaseOperations.fail(f.ns, { id, lease, group: 'g', message: 'm' });
    await f.pass(200);
    const started = await start({ action: 'respawn', filter: { group: 'g' } });
    let acted = 0;
    for (;;) {
      await f.pass(1);
      const steps = await f.components.operationRunner.runNow();
      const jobs = await f.lease('q', 100);
      acted += jobs.length;
      for (const { id, lease } of jobs)
        await f.components.leaseOperations.fail(f.ns, { id, lease, group: 'g', message: 'again' });
      if (steps === 0) break;
    }
    expect(acted).toBe(120);
    expect(await find(started)).toMatchObject({ state: 'done', done: 120 });
    expect((await f.counts())?.dead).toBe(120);
    expect((await f.find('d-000'))?.timeline.filter(({ what }) => what === 'respawned')).toEqual([
      expect.objectContaining({ operation: started.id }),
    ]);
  });

  it.each(['delete', 'cancel'] as const)(
    'acts on the jobs of all fair keys, however many: %s',
    async (action) => {
      await f.components.queueControls.change(f.ns, 'q', { fair: true });
      for (let i = 0; i < 400; i++) await f.put(`k${String(i)}`, { fairKey: `key-${String(i)}` });
      const ended = await run({ action, filter: { queue: 'q' } });
      expect(ended).toMatchObject({ state: 'done', matched: 400, done: 400, failed: 0, skipped: 0 });
      expect(await f.counts()).toMatchObject({ ready: 0 });
    },
  );

  it('acts on ready jobs that are held meanwhile', async () => {
    for (let i = 0; i < 60; i++) await f.put(`k${String(i)}`, { concurrencyKey: 'k' });
    await f.pass(200);
    const started = await start({ action: 'delete', filter: { queue: 'q' }, ratePerS: 50 });
    await doSteps();
    await f.components.queueControls.change(f.ns, 'q', { maxRunningPerKey: 1 });
    expect(await f.lease('q', 2)).toHaveLength(1);
    expect((await f.counts())?.held).toBeGreaterThan(0);
    for (let i = 0; i < 60 && (await find(started)).state === 'running'; i++) await doSteps();
    expect(await find(started)).toMatchObject({ state: 'done', done: 59, failed: 0 });
    expect(await f.counts()).toMatchObject({ ready: 0, held: 0, leased: 1 });
  });

  it('counts each job once, also those that are held and those that it does not change', async () => {
    await f.components.queueControls.change(f.ns, 'q', { maxRunningPerKey: 1 });
    for (let i = 0; i < 20; i++) await f.put(`k${String(i)}`, { concurrencyKey: 'k' });
    await f.put('needs', { dependsOn: ['k9'] });
    await f.pass(1_000);
    const filter = { queue: 'q', state: ['ready', 'held'] } as const;
    expect(await run({ action: 'cancel', filter, dryRun: true })).toMatchObject({ matched: 20 });
    const ended = await run({ action: 'cancel', filter });
    expect(ended).toMatchObject({ matched: 20, done: 19, failed: 1, skipped: 0 });
    expect(refusals(ended)).toEqual({ has_dependents: 1 });
  });

  it('counts a leased job once, although heartbeats move it behind others', async () => {
    for (let i = 0; i < 3; i++) await f.put(`k${String(i)}`);
    const leases = await f.lease();
    await f.pass(200);
    const started = await start({ action: 'cancel', filter: { queue: 'q' }, graceMs: 60_000, ratePerS: 1 });
    for (let i = 0; i < 20 && (await find(started)).state === 'running'; i++) {
      await doSteps(1_000);
      for (const { id, lease } of leases) await f.components.leaseOperations.heartbeat(f.ns, { id, lease });
    }
    expect(await find(started)).toMatchObject({ state: 'done', matched: 3, done: 3, skipped: 0, failed: 0 });
  });

  it('goes on after the clock of Redis was set back', async () => {
    for (let i = 0; i < 30; i++) await f.put(`k${String(i)}`);
    await f.pass(200);
    const started = await start({ action: 'delete', filter: { queue: 'q' }, ratePerS: 50 });
    await doSteps();
    f.fixture.nowMs -= 3_600_000;
    for (let i = 0; i < 20 && (await find(started)).state === 'running'; i++) await doSteps();
    expect(await find(started)).toMatchObject({ state: 'done', done: 30 });
  });

  it('leaves a dead job whose unique key another job holds', async () => {
    await f.put('first', { tries: 1, unique: { key: 'u', mode: 'reject' } });
    await f.fail('first');
    await f.put('second', { unique: { key: 'u', mode: 'reject' } });
    const ended = await run({ action: 'respawn', filter: { queue: 'q' } });
    expect(ended).toMatchObject({ done: 0, failed: 1 });
    expect(refusals(ended)).toEqual({ unique_key_taken: 1 });
    expect(await stateOf('first')).toBe('dead');
  });

  it('retries jobs that wait for their next attempt and dead ones, but none that was never tried', async () => {
    await f.put('dead', { tries: 1 });
    await f.fail('dead');
    await f.put('waits', { tries: 3, retry: { kind: 'fixed', delayMs: 600_000 } });
    const [job] = await f.lease();
    await f.components.leaseOperations.retry(f.ns, {
      id: job!.id,
      lease: job!.lease,
      group: 'g',
      message: 'm',
    });
    await f.put('later', { delayMs: 600_000 });
    const ended = await run({ action: 'retry', filter: {} });
    expect(ended).toMatchObject({ done: 2, skipped: 1 });
    expect(refusals(ended)).toEqual({ not_tried: 1 });
    expect(await states('dead', 'waits', 'later')).toEqual(['ready', 'ready', 'scheduled']);
    expect(await f.find('dead')).toMatchObject({ failures: 1 });
  });

  it('finds jobs by the group of their last failure in each state, not only dead ones', async () => {
    const fail = async (id: string, delayMs: number): Promise<void> => {
      await f.put(id, { tries: 3, retry: { kind: 'fixed', delayMs } });
      const [job] = await f.lease();
      const failure = { group: 'smtp', message: 'refused' };
      await f.components.leaseOperations.retry(f.ns, { id: job!.id, lease: job!.lease, ...failure });
    };
    await fail('waits', 600_000);
    await fail('other', 600_000);
    await fail('again', 0);
    for (let i = 0; i < 5; i++) await f.put(`never-${String(i)}`);
    const moved = await run({ action: 'move', filter: { group: 'smtp', state: ['ready'] }, to: 'aside' });
    expect(moved).toMatchObject({ state: 'done', matched: 1, done: 1 });
    expect((await f.find('again'))?.queue).toBe('aside');
    const retried = await run({ action: 'retry', filter: { group: 'smtp', state: ['scheduled'] } });
    expect(retried).toMatchObject({ state: 'done', matched: 2, done: 2 });
    expect(await states('waits', 'other')).toEqual(['ready', 'ready']);
  });

  it('refuses times of death beside states of living jobs', async () => {
    for (const times of [{ fromMs: 1 }, { toMs: 1 }])
      await expect(
        start({ action: 'delete', filter: { ...times, state: ['ready', 'done'] } }),
      ).rejects.toMatchObject({ code: 'invalid_argument', field: 'filter.state' });
    await expect(
      start({ action: 'delete', filter: { fromMs: 1, state: ['ready', 'dead'] } }),
    ).resolves.toMatchObject({ state: 'running' });
  });

  it('moves jobs to another queue, each once', async () => {
    for (let i = 0; i < 120; i++) await f.put(`m-${String(i).padStart(3, '0')}`, { type: 't' });
    const far = await f.fixture.publish('q', { delayMs: 3_600_000 });
    const ended = await run({ action: 'move', filter: {}, to: 'aside' });
    expect(ended).toMatchObject({ state: 'done', done: 120, failed: 1 });
    expect(refusals(ended)).toEqual({ due_unknown: 1 });
    expect(await stateOf(far)).toBe('scheduled');
    expect(await f.counts('aside')).toMatchObject({ ready: 120 });
    expect((await f.find('m-000'))?.timeline.filter(({ what }) => what === 'changed')).toHaveLength(1);
    expect((await f.work('aside')).slice(0, 3)).toEqual(['m-000', 'm-001', 'm-002']);
  });

  it('changes each job once, although it meets it again at its new place', async () => {
    for (let i = 0; i < 60; i++) await f.put(`p-${String(i)}`, { delayMs: 10_000 + i });
    await f.put('ready');
    const ended = await run({
      action: 'patch',
      filter: { queue: 'q' },
      change: { delayMs: 600_000, tags: ['late'], data: { body: Buffer.from('{"new":1}') } },
    });
    expect(ended).toMatchObject({ state: 'done', matched: 61, done: 61, skipped: 0 });
    for (const id of ['p-0', 'p-59', 'ready']) {
      const job = await f.find(id);
      expect(job).toMatchObject({ state: 'scheduled', tags: ['late'] });
      expect(job?.timeline.filter(({ what }) => what === 'changed')).toHaveLength(1);
    }
  });

  it('changes nothing in a dry run, and counts what it would do', async () => {
    await putAll();
    await f.pass(200);
    const dump = async (): Promise<string[]> => {
      const keys = await redis.keysBuffer(`{${f.ns}}*`);
      const others = keys.filter((key) => !/:(O:|operat|timers$|due$)/.test(key.toString('latin1')));
      const values = await Promise.all(others.map((key) => redis.dumpBuffer(key)));
      return others.map((key, i) => `${key.toString('hex')} ${values[i]!.toString('hex')}`).sort();
    };
    const before = await dump();
    const started = await start({ action: 'delete', filter: { queue: 'q' }, dryRun: true });
    await f.pass(1);
    await f.components.operationRunner.runNow();
    const ended = await find(started);
    expect(ended).toMatchObject({ state: 'done', dryRun: true, matched: 6, done: 0, failed: 0, skipped: 0 });
    expect(ended.samples).toHaveLength(5);
    expect(ended.samples).toContainEqual({ id: 'scheduled', queue: 'q', state: 'scheduled' });
    expect(await dump()).toEqual(before);
  });

  it('leaves jobs that came later, and skips those that have changed since', async () => {
    await f.put('before');
    await f.put('changed');
    await f.pass(200);
    const started = await start({ action: 'delete', filter: { queue: 'q' } });
    await f.pass(200);
    await f.put('later');
    const simple = await f.fixture.publish('q');
    await f.components.jobUpdater.change(f.ns, 'changed', { tags: ['a'] });
    await doSteps();
    expect(await find(started)).toMatchObject({ state: 'done', matched: 2, done: 1, skipped: 1 });
    expect(refusals(await find(started))).toEqual({ changed: 1 });
    expect(await states('before', 'changed', 'later', simple)).toEqual([null, 'ready', 'ready', 'ready']);
  });

  it('finds a far job although the pump opens its slot meanwhile', async () => {
    for (let i = 0; i < 300; i++) await f.fixture.publish('q', { delayMs: 700_000 });
    await f.pass(200);
    const started = await start({ action: 'cancel', filter: { queue: 'q' }, ratePerS: 100 });
    const doStep = async (ms: number): Promise<void> => {
      f.fixture.nowMs += ms;
      await f.components.operationRunner.runNow();
    };
    for (let i = 0; i < 5; i++) await doStep(100);
    f.fixture.nowMs += 650_000;
    // A part of the slot: what is left of it stands where other jobs stood.
    const args = { clock_ms: String(f.nowMs), deadline_ms: 0, limit: 100 };
    await f.fixture.pool.run(pump, f.fixture.pool.keys.namespace(f.ns), args);
    for (let i = 0; i < 40; i++) await doStep(100);
    expect(await find(started)).toMatchObject({ state: 'done', done: 300 });
    expect(await f.counts()).toMatchObject({ scheduled: 0 });
  });

  it('walks the index with the fewest entries', async () => {
    for (let i = 0; i < 20; i++) await f.put(`a-${String(i)}`, { type: 't', tags: i < 3 ? ['rare'] : [] });
    const ended = await run({ action: 'delete', filter: { queue: 'q', type: 't', tag: 'rare' } });
    expect(ended).toMatchObject({ done: 3, looked: 3, toLook: 3 });
    const rest = await run({ action: 'delete', filter: { queue: 'q', type: 't' } });
    expect(rest).toMatchObject({ done: 17, toLook: 17 });
  });

  it('acts on as many jobs in a second as it may', async () => {
    for (let i = 0; i < 30; i++) await f.put(`r-${String(i)}`);
    await f.pass(200);
    const started = await start({ action: 'delete', filter: { queue: 'q' }, ratePerS: 10 });
    for (const second of [1, 2]) {
      for (let i = 0; i < 10; i++) await doSteps(100);
      expect((await find(started)).done).toBeLessThanOrEqual(10 * second + 1);
      expect((await find(started)).done).toBeGreaterThanOrEqual(10 * second - 1);
    }
    expect((await find(started)).nextAtMs).toBeGreaterThan(f.nowMs);
    for (let i = 0; i < 12; i++) await doSteps(100);
    expect(await find(started)).toMatchObject({ state: 'done', done: 30, nextAtMs: null });
  });

  it('stops by a call, and stays stopped', async () => {
    for (let i = 0; i < 120; i++) await f.put(`s-${String(i)}`);
    await f.pass(200);
    const started = await start({ action: 'delete', filter: { queue: 'q' }, ratePerS: 10 });
    await doSteps(100);
    const { details } = await f.components.operations.stop(f.ns, started.id);
    expect(details).toMatchObject({ state: 'stopped', reason: 'stopped', endedAtMs: f.nowMs });
    const { done } = details;
    expect(done).toBeGreaterThan(0);
    await doSteps(10_000);
    expect(await find(started)).toMatchObject({ state: 'stopped', done });
    expect((await f.counts())?.ready).toBe(120 - done);
  });

  it('is taken over by another process five seconds after its last step', async () => {
    for (let i = 0; i < 120; i++) await f.put(`t-${String(i)}`);
    await f.pass(200);
    const started = await start({ action: 'delete', filter: { queue: 'q' }, ratePerS: 100 });
    await doSteps(100);
    const other = new PoolEngine(f.fixture.pool, { clock: () => f.fixture.nowMs });
    const steps = async (): Promise<number> => {
      await other.pumpNow(f.ns);
      return other.components.operationRunner.runNow();
    };
    f.fixture.nowMs += 4_900;
    expect(await steps()).toBe(0);
    f.fixture.nowMs += 300;
    expect(await steps()).toBeGreaterThan(0);
    for (let i = 0; i < 20; i++) {
      f.fixture.nowMs += 100;
      await steps();
    }
    expect(await find(started)).toMatchObject({ state: 'done', matched: 120, done: 120 });
    await other.stop();
  });

  it('does nothing twice if two processes do its steps', async () => {
    for (let i = 0; i < 300; i++) await f.put(`two-${String(i)}`, { tries: 1 });
    for (let i = 0; i < 3; i++)
      for (const { id, lease } of await f.lease('q', 100))
        await f.components.leaseOperations.fail(f.ns, { id, lease, group: 'g', message: 'm' });
    await f.pass(200);
    const started = await start({ action: 'respawn', filter: {} });
    const other = new PoolEngine(f.fixture.pool, { clock: () => f.fixture.nowMs });
    f.fixture.nowMs += 1;
    other.components.operationRunner.want(f.ns, started.id);
    await Promise.all([f.components.operationRunner.runNow(), other.components.operationRunner.runNow()]);
    expect(await find(started)).toMatchObject({ state: 'done', matched: 300, done: 300 });
    expect(await f.counts()).toMatchObject({ dead: 0, ready: 300 });
    await other.stop();
  });

  it('is refused while four others run, and when one has ended it is started', async () => {
    await f.put('a');
    const all = [];
    for (let i = 0; i < 4; i++)
      all.push(await start({ action: 'cancel', filter: { queue: 'q' }, ratePerS: 1 }));
    await expect(start({ action: 'cancel', filter: {} })).rejects.toMatchObject({
      code: 'too_many_operations',
    });
    await f.components.operations.stop(f.ns, all[0]!.id);
    await start({ action: 'cancel', filter: {} });
  });

  it('is kept with the last hundred, for a week', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 103; i++) ids.push((await run({ action: 'cancel', filter: { queue: 'none' } })).id);
    const kept = await f.components.operations.list(f.ns);
    expect(kept.map(({ details: { id } }) => id)).toEqual(ids.slice(3).reverse());
    const ttl = await redis.pttl(`{${f.ns}}:O:${ids[50]!}`);
    expect(ttl).toBeGreaterThan(604_000_000);
    expect(ttl).toBeLessThanOrEqual(604_800_000);
    expect(await redis.pttl(`{${f.ns}}:operations`)).toBeGreaterThan(604_000_000);
    expect(await redis.exists(`{${f.ns}}:operating`)).toBe(0);
  });

  it('is started once by the same idempotency key, which another request cannot use', async () => {
    const operation = {
      action: 'delete',
      filter: { queue: 'q' },
      shown: SHOWN,
      idempotencyKey: 'once',
    } as const;
    const first = await f.components.operations.start(f.ns, operation);
    const again = await f.components.operations.start(f.ns, operation);
    expect([first.isReplayed, again.isReplayed]).toEqual([false, true]);
    expect(again.details.id).toBe(first.details.id);
    await expect(
      f.components.operations.start(f.ns, { ...operation, action: 'cancel' }),
    ).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    });
  });

  it('keeps its namespace, and ends there when all jobs are gone', async () => {
    await f.put('a');
    await f.pass(200);
    const started = await start({ action: 'delete', filter: {} });
    await f.fixture.engine.jobs.remove(f.ns, 'a');
    await f.pass(3_600_000);
    await f.fixture.engine.tidyNow(f.ns);
    expect(await redis.exists(`{${f.ns}}:meta`)).toBe(1);
    await doSteps();
    expect(await find(started)).toMatchObject({ state: 'done', matched: 0 });
  });

  it('acts on jobs of all queues, and on none of a queue that its token is not for', async () => {
    for (const queue of ['a', 'b', 'c', 'd']) await f.put(`in-${queue}`, { queue, type: 't', ttlMs: 0 });
    // So that the index by type is the one with the fewest entries.
    for (let i = 0; i < 3; i++) await f.put(`other-${String(i)}`, { queue: 'b', type: 'other' });
    const grant = { by: 'digest', hint: 'abcd…', verbs: ['consume'], patterns: ['a', 'c*'] };
    f.components.operationRunner.useGrants(() => Promise.resolve({ reason: null, lacksPush: false }));
    for (const filter of [{}, { type: 't' }]) {
      const ended = await run({ action: 'cancel', filter, grant });
      expect(ended).toMatchObject({ state: 'done', createdBy: 'abcd…' });
      expect(await states('in-a', 'in-b', 'in-c', 'in-d')).toEqual([null, 'ready', null, 'ready']);
      for (const queue of ['a', 'c']) await f.put(`in-${queue}`, { queue, type: 't' });
    }
    expect(await run({ action: 'cancel', filter: {} })).toMatchObject({ done: 7 });
  });

  it('is left to servers by a process that knows no tokens', async () => {
    await f.put('a');
    const grant = { by: 'digest', hint: 'abcd…', verbs: ['consume'], patterns: null };
    const started = await start({ action: 'cancel', filter: {}, grant });
    await doSteps();
    expect(await find(started)).toMatchObject({ state: 'running', done: 0 });
    f.components.operationRunner.useGrants(() =>
      Promise.resolve({ reason: 'token_revoked', lacksPush: false }),
    );
    await doSteps(6_000);
    expect(await find(started)).toMatchObject({ state: 'stopped', reason: 'token_revoked', done: 0 });
    expect(await stateOf('a')).toBe('ready');
  });

  it('is taken over by a server although a process that knows no tokens runs the timers first', async () => {
    await f.put('a');
    await f.pass(200);
    const grant = { by: 'digest', hint: 'abcd…', verbs: ['consume'], patterns: null };
    const started = await start({ action: 'cancel', filter: {}, grant });
    await doSteps();
    f.fixture.nowMs += 5_100;
    await f.pump();
    const server = new PoolEngine(f.fixture.pool, { clock: () => f.fixture.nowMs });
    server.useGrants(() => Promise.resolve({ reason: null, lacksPush: false }));
    await server.pumpNow(f.ns);
    await server.components.operationRunner.runNow();
    expect(await find(started)).toMatchObject({ state: 'done', done: 1 });
    await server.stop();
  });

  it('refuses states that its action does not act on', async () => {
    await expect(start({ action: 'respawn', filter: { state: ['ready'] } })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    await expect(start({ action: 'patch', filter: { state: ['leased'] } })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
  });

  it('refuses a change that the quota on bytes has no room for', async () => {
    f.fixture.engine.useQuotas(new Map([[f.ns, { bytes: 10_000 }]]));
    for (let i = 0; i < 10; i++)
      await f.fixture.engine.publish(f.ns, 'q', newJob({ body: Buffer.from('x') }));
    const data = { body: Buffer.from(JSON.stringify('x'.repeat(2_500))) };
    const ended = await run({ action: 'patch', filter: {}, change: { data } });
    expect(ended).toMatchObject({ state: 'done', matched: 10 });
    expect(ended.done).toBeGreaterThan(0);
    expect(refusals(ended)).toEqual({ namespace_full: 10 - ended.done });
    expect(Number(await redis.hget(`{${f.ns}}:meta`, 'bytes'))).toBeLessThanOrEqual(10_000);
  });
});
