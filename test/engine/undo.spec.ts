import { Redis } from 'ioredis';
import type { OperationDetails } from '../../src/contract/operations.js';
import { withPushUrl } from '../../src/domain/push-url.js';
import { encodeId } from '../../src/engine/core/ids.js';
import type { NewOperation } from '../../src/engine/operations/operations.js';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { stepUndo } from '../../src/redis/scripts/extended.js';
import { randomNamespace, testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { edgeProblems } from './edge-audit.js';
import { ExtendedPathFixture } from './extended-path-fixture.js';
import { newJob } from './fixture.js';
import { auditIndexes } from './index-audit.js';

const HOUR_MS = 3_600_000;
const UNDO_MS = 600_000;
const KEPT = { retentionMs: HOUR_MS };
const SHOWN = { filter: {}, to: null, set: null } as unknown as NewOperation['shown'];
/** Fields of a job's hash that say what happened to it, and how its place is stored. */
const OF_HISTORY = /^(?:h\d+|hn|aside|beside)$/;
const HEADER_BYTES = 24;
/** Where the header has the number of the entry in the ready list. */
const ENTRY_AT = 16;

type Start = Omit<NewOperation, 'shown'>;
/** All that is stored of a job, but for its history and its place. */
type Image = Readonly<Record<string, string>> | null;

describe('the undo of an operation', () => {
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

  const find = async (id: string): Promise<OperationDetails> =>
    (await f.components.operations.find(f.ns, id))!.details;
  const doSteps = async (ms: number): Promise<void> => {
    await f.pass(ms);
    await f.components.operationRunner.runNow();
  };
  const start = async (operation: Start): Promise<string> => {
    await f.pass(200);
    const { details } = await f.components.operations.start(f.ns, {
      ...{ shown: SHOWN, undoMs: UNDO_MS },
      ...operation,
    });
    return details.id;
  };
  const run = async (operation: Start): Promise<string> => {
    const id = await start(operation);
    await doSteps(200);
    expect((await find(id)).state).toBe('done');
    return id;
  };
  /** Cancels jobs of the type t with their dependents in one step, before a timer tells these. */
  const cancelAtOnce = async (filter: NewOperation['filter'] = { type: 't' }): Promise<string> => {
    const id = await start({ action: 'cancel', filter, cascade: true });
    f.fixture.nowMs += 200;
    await f.components.operationRunner.runNow();
    await f.pass(200);
    expect((await find(id)).state).toBe('done');
    return id;
  };

  /** Undoes an operation to its end. @returns what its answer says of that */
  const undo = async (id: string): Promise<NonNullable<OperationDetails['undo']>> => {
    await f.components.operations.undo(f.ns, id);
    for (let i = 0; i < 100 && (await find(id)).undo?.state === 'running'; i++) await doSteps(100);
    return (await find(id)).undo!;
  };
  const codeOf = (id: string): Promise<unknown> =>
    f.components.operations.undo(f.ns, id).then(
      () => null,
      (error: unknown) => (error as { code: unknown }).code,
    );
  const stateOf = async (id: string): Promise<string | null> => (await f.find(id))?.state ?? null;
  const states = (...ids: string[]): Promise<(string | null)[]> => Promise.all(ids.map(stateOf));
  const countsOf = (all: readonly { reason: string; jobs: number }[]): Record<string, number> =>
    Object.fromEntries(all.map(({ reason, jobs }) => [reason, jobs]));

  const imageOf = async (id: string): Promise<Image> => {
    const key = (kind: string): Buffer => Buffer.concat([Buffer.from(`{${f.ns}}${kind}`), encodeId(id)!]);
    const value = await redis.getBuffer(key('j'));
    if (value === null) return null;
    value[ENTRY_AT] = 0;
    const fields = await redis.hgetall(key('x'));
    const kept = Object.entries(fields).filter(([field]) => !OF_HISTORY.test(field));
    return {
      header: value.toString('hex', 0, HEADER_BYTES),
      body: value.toString('hex', HEADER_BYTES),
      needs: (await redis.smembers(key('n'))).sort().join(),
      failed: JSON.stringify(await redis.hgetall(key('f'))),
      ...Object.fromEntries(kept),
    };
  };
  const images = (ids: readonly string[]): Promise<Image[]> => Promise.all(ids.map(imageOf));

  /** Jobs in all states, with what a job may have. @returns their ids: those that a deletion takes, and those that it leaves */
  const putAll = async (): Promise<string[]> => {
    const { ns } = f;
    await f.components.queueControls.change(ns, 'q', { maxRunningPerKey: 1 });
    await f.put('dead', { ...KEPT, type: 't', tries: 1, tags: ['a', 'b'] });
    await f.fail('dead');
    await f.put('done', { ...KEPT, type: 't' });
    await f.components.tags.track(ns, 'done');
    await f.work();
    await f.put('dropped', { ...KEPT, type: 't' });
    await f.components.jobCanceller.cancel(ns, 'dropped');
    await f.put('leased', { ...KEPT, concurrencyKey: 'k', queue: 'q' });
    await f.put('held', { ...KEPT, type: 't', concurrencyKey: 'k' });
    await f.lease();
    await f.put('waits', { tries: 3, retry: { kind: 'fixed', delayMs: HOUR_MS }, type: 't' });
    const [job] = await f.lease();
    await f.components.leaseOperations.retry(ns, { ...job!, group: 'g', message: 'm' });
    await f.put('ready', {
      ...KEPT,
      type: 't',
      tags: ['a'],
      ttlMs: 2 * HOUR_MS,
      unique: { key: 'u', mode: 'reject' },
    });
    await f.put('urgent', { ...KEPT, type: 't', priority: -3, text: '\u0000\u00ff' } as never);
    await f.put('scheduled', { ...KEPT, type: 't', delayMs: 60_000 });
    await f.put('blocked', { ...KEPT, type: 't', dependsOn: ['leased'] });
    await f.put('pushed', {
      ...withPushUrl(new URL('https://a.example/orders/1'), { attributes: { own: 'x' } }),
      type: 't',
    });
    await f.components.tags.track(ns, 'ready');
    const simple = [
      await f.fixture.publish('q', { text: 'simple', tries: 7, ttlMs: HOUR_MS }),
      await f.fixture.publish('q', { text: 'near', delayMs: 60_000 }),
      await f.fixture.publish('q', { text: 'far', delayMs: 2 * HOUR_MS }),
    ];
    return [
      ...['dead', 'done', 'dropped', 'held', 'waits', 'ready', 'urgent', 'scheduled', 'blocked', 'pushed'],
      ...simple,
    ];
  };

  it('brings deleted jobs of each state back with the same bytes of data, options and state', async () => {
    const ids = await putAll();
    await f.pass(1);
    const before = await images(ids);
    expect(before).not.toContain(null);
    const counts = await f.counts();
    const state = ['ready', 'scheduled', 'held', 'dead', 'done', 'cancelled', 'blocked'] as const;
    const id = await run({ action: 'delete', filter: { queue: 'q', state } });
    expect((await images(ids)).filter((image) => image !== null)).toEqual([]);
    expect((await find(id)).undo).toMatchObject({
      state: 'kept',
      jobs: ids.length,
      restored: 0,
      endsAtMs: f.nowMs + UNDO_MS,
    });
    const undone = await undo(id);
    expect(undone).toMatchObject({
      state: 'done',
      restored: ids.length,
      failed: 0,
      refusals: [],
      incomplete: [],
    });
    expect(await images(ids)).toEqual(before);
    expect({ ...(await f.counts()), oldestReadyAgeMs: 0 }).toEqual({ ...counts, oldestReadyAgeMs: 0 });
    expect((await f.find('ready'))?.timeline.at(-1)).toMatchObject({
      ...{ what: 'restored', operation: id },
    });
    expect(await f.fixture.keys()).not.toContainEqual(expect.stringMatching(/:(?:undoable$|[UV]:)/));
  });

  it('brings dead jobs back to the dead-letter queue with their times of death', async () => {
    await f.put('dead', { type: 't', tries: 1 });
    await f.fail('dead');
    const simple = await f.fixture.publish('q', { tries: 1 });
    await f.lease();
    await f.pass(20_000);
    const before = await images(['dead', simple]);
    const number = String(Math.abs(Number(await redis.hget(`{${f.ns}}:queues`, 'q'))));
    const times = await redis.zrange(`{${f.ns}}:d${number}`, '0', '-1', 'WITHSCORES');
    expect(times).toHaveLength(4);
    const id = await run({ action: 'delete', filter: { queue: 'q', state: ['dead'] } });
    expect(await undo(id)).toMatchObject({ restored: 2, failed: 0 });
    expect(await images(['dead', simple])).toEqual(before);
    expect(await redis.zrange(`{${f.ns}}:d${number}`, '0', '-1', 'WITHSCORES')).toEqual(times);
  });

  it('brings cancelled jobs back in the place of what was kept of them', async () => {
    const ids = (await putAll()).filter((id) => !['done', 'dropped'].includes(id));
    await f.pass(1);
    const before = await images(ids);
    const id = await run({
      action: 'cancel',
      filter: { queue: 'q', state: ['ready', 'scheduled', 'held', 'dead', 'blocked'] },
    });
    expect(await states('ready', 'held', 'dead', 'blocked')).toEqual(
      Array.from({ length: 4 }, () => 'cancelled'),
    );
    expect(await undo(id)).toMatchObject({ state: 'done', restored: ids.length, failed: 0 });
    expect(await images(ids)).toEqual(before);
  });

  it.each([
    ['all jobs of a queue', {}],
    ['those of a type', { type: 'a' }],
  ])(
    'brings ready jobs back in their order, before those that were published later: %s',
    async (_what, filter) => {
      const ids: string[] = [];
      for (let i = 0; i < 70; i++) {
        const id = `j-${String(99 - i)}`;
        if (i % 3 === 0) ids.push(await f.fixture.publish('q'));
        else await f.put(id, { type: i % 3 === 1 ? 'a' : 'b' }).then(() => ids.push(id));
        await f.pass(1);
      }
      const id = await run({ action: 'delete', filter: { queue: 'q', ...filter } });
      await f.put('later', { type: 'c' });
      const last = await f.fixture.publish('q');
      expect(await undo(id)).toMatchObject({ failed: 0 });
      expect((await f.lease('q', 100)).map((job) => job.id)).toEqual([...ids, 'later', last]);
    },
  );

  it('brings jobs of other priorities back to the same places', async () => {
    for (let i = 0; i < 60; i++) {
      await f.put(`p-${String(i)}`, { type: i % 2 === 0 ? 'a' : 'b', priority: (i % 5) - 2 });
      await f.pass(1);
    }
    const id = await run({ action: 'cancel', filter: { type: 'a' } });
    await f.put('p-60', { priority: -2 });
    await undo(id);
    const all = Array.from({ length: 61 }, (_, i) => ({
      id: `p-${String(i)}`,
      priority: i === 60 ? -2 : (i % 5) - 2,
    }));
    const inOrder = all.toSorted((a, b) => a.priority - b.priority).map((job) => job.id);
    expect((await f.lease('q', 100)).map((job) => job.id)).toEqual(inOrder);
  });

  it('lets a cancelled lease end, and brings the job back ready with its try', async () => {
    await f.put('leased', { ...KEPT, tries: 3 });
    const simple = await f.fixture.publish('q', { tries: 3 });
    const leases = await f.lease();
    const id = await run({ action: 'cancel', filter: { queue: 'q' }, graceMs: 0 });
    const undone = await undo(id);
    expect(undone).toMatchObject({ restored: 2, failed: 0 });
    expect(countsOf(undone.incomplete)).toEqual({ lease: 2 });
    for (const { id: one, lease } of leases)
      expect(await f.fixture.engine.ack(f.ns, 'q', one, lease).catch(() => 'refused')).not.toBe(true);
    expect(await states('leased', simple)).toEqual(['ready', 'ready']);
    expect((await f.lease()).map(({ triesLeft, attempts }) => [triesLeft, attempts])).toEqual([
      [2, 1],
      [2, 1],
    ]);
  });

  it('takes back what was requested of workers that have not stopped yet', async () => {
    await f.put('leased', { ...KEPT });
    const [leased] = await f.lease();
    const before = await imageOf('leased');
    const id = await run({ action: 'cancel', filter: { queue: 'q' }, graceMs: 5_000 });
    expect((await f.find('leased'))?.cancelRequested).toBe(true);
    expect(await undo(id)).toMatchObject({ restored: 1, failed: 0 });
    expect(await imageOf('leased')).toEqual(before);
    await f.pass(5_100);
    expect(await stateOf('leased')).toBe('leased');
    expect(await f.fixture.engine.ack(f.ns, 'q', 'leased', leased!.lease)).toBe(true);
  });

  it('takes it back from a job that is at its next step, which waits for another job', async () => {
    await f.put('part', { queue: 'parts' });
    await f.put('whole', KEPT);
    const [leased] = await f.lease();
    const id = await run({ action: 'cancel', filter: { queue: 'q' }, graceMs: 60_000 });
    const next = { queue: 'q', dependsOn: ['part'] };
    await f.components.leaseOperations.complete(f.ns, [{ id: 'whole', lease: leased!.lease, next }]);
    expect(await stateOf('whole')).toBe('blocked');
    expect(await undo(id)).toMatchObject({ restored: 1, failed: 0 });
    await f.work('parts');
    expect(await stateOf('whole')).toBe('ready');
  });

  it('brings jobs back to a queue that is fair no more, each for one worker', async () => {
    await f.components.queueControls.change(f.ns, 'q', { fair: true });
    const ids = ['a', 'b', 'c'];
    for (const one of ids) await f.put(one, { type: 't', fairKey: 'k' });
    const id = await run({ action: 'delete', filter: { type: 't' } });
    await f.components.queueControls.change(f.ns, 'q', { fair: null });
    await f.pass(1_000);
    expect(await undo(id)).toMatchObject({ restored: 3, failed: 0 });
    expect((await f.lease('q', 1)).map((job) => job.id)).toEqual(['a']);
    expect((await f.lease()).map((job) => job.id)).toEqual(['b', 'c']);
    expect(await f.lease()).toEqual([]);
  });

  it('brings back what lost its lease at the end of the grace, and not what its worker has ended', async () => {
    for (const one of ['revoked', 'acked', 'given-back']) await f.put(one, { tries: 3, retentionMs: 1 });
    const jobs = await f.lease();
    const id = await run({ action: 'cancel', filter: { queue: 'q' }, graceMs: 5_000 });
    const leaseOf = (one: string): { id: string; lease: number } => jobs.find((job) => job.id === one)!;
    await f.fixture.engine.ack(f.ns, 'q', 'acked', leaseOf('acked').lease);
    await f.components.leaseOperations.release(f.ns, leaseOf('given-back'));
    await f.pass(5_100);
    await f.pass(70_000);
    expect(await states('revoked', 'acked', 'given-back')).toEqual([null, null, null]);
    const undone = await undo(id);
    expect(undone).toMatchObject({ jobs: 3, restored: 2, failed: 1 });
    expect(countsOf(undone.refusals)).toEqual({ ended: 1 });
    expect(await states('revoked', 'acked', 'given-back')).toEqual(['ready', null, 'ready']);
    expect(await f.find('revoked')).toMatchObject({ triesLeft: 3, attempts: 0 });
  });

  it('keeps a strict order, in which nothing goes on before all jobs are back', async () => {
    await f.components.queueControls.change(f.ns, 'q', { order: 'strict' });
    const ids = Array.from({ length: 60 }, (_, i) => `j${String(i).padStart(2, '0')}`);
    for (const one of ids) await f.put(one, { type: 't', concurrencyKey: 'k', tries: 3 });
    // So the index of the type is the smallest one: in the order of publishes.
    for (const one of ['x', 'y']) await f.put(one, { delayMs: HOUR_MS });
    const id = await run({ action: 'cancel', filter: { type: 't' } });
    await f.components.operations.undo(f.ns, id);
    // The last ones come back first, and workers look for jobs after each step.
    const args = { deadline_ms: 0, id, reason: '', limit: 25, quotas: '' };
    for (const restored of [25, 50]) {
      const clock = { clock_ms: String(f.fixture.nowMs) };
      await f.fixture.pool.run(stepUndo, f.fixture.pool.keys.namespace(f.ns), { ...clock, ...args });
      await f.pass(1_000);
      expect((await find(id)).undo).toMatchObject({ state: 'running', restored });
      expect(await f.work()).toEqual([]);
    }
    const worked: string[] = [];
    for (let i = 0; i < 100 && worked.length < ids.length; i++) {
      await doSteps(100);
      worked.push(...(await f.work()));
    }
    expect(worked).toEqual(ids);
  });

  it.each([
    ['a job that waits for its next attempt', 60_000],
    ['a job that has no delay, and was leased', 0],
  ])('keeps %s before those that wait for it in a strict order', async (_what, delayMs) => {
    await f.components.queueControls.change(f.ns, 'q', { order: 'strict' });
    for (const one of ['a', 'b', 'c']) await f.put(one, { type: 't', concurrencyKey: 'k', tries: 3 });
    for (const one of ['x', 'y']) await f.put(one, { delayMs: HOUR_MS });
    const [job] = await f.lease();
    if (delayMs > 0)
      await f.components.leaseOperations.retry(f.ns, { ...job!, group: 'g', message: 'm', delayMs });
    // By the index of the type, in the order of publishes: so the first one comes back last.
    const id = await run({ action: 'cancel', filter: { type: 't' }, graceMs: 0 });
    expect(await states('a', 'b', 'c')).not.toContain('held');
    expect(await undo(id)).toMatchObject({ restored: 3, failed: 0 });
    await doSteps(100);
    if (delayMs > 0) {
      expect(await f.lease()).toEqual([]);
      await f.pass(delayMs);
    }
    expect([await f.work(), await f.work(), await f.work()]).toEqual([['a'], ['b'], ['c']]);
  });

  it('keeps a key blocked by its dead job in a strict order', async () => {
    await f.components.queueControls.change(f.ns, 'q', { order: 'strict', onDead: 'block' });
    await f.put('a', { concurrencyKey: 'k', type: 't' });
    await f.put('b', { concurrencyKey: 'k' });
    await f.fail('a');
    const id = await run({ action: 'cancel', filter: { type: 't', state: ['dead'] } });
    expect(await stateOf('b')).toBe('ready');
    const [b] = await f.lease();
    await f.components.leaseOperations.retry(f.ns, { ...b!, group: 'g', message: 'm', delayMs: 0 });
    await f.fixture.engine.ack(f.ns, 'q', 'b');
    expect(await undo(id)).toMatchObject({ restored: 1 });
    await f.put('c', { concurrencyKey: 'k' });
    expect(await states('a', 'c')).toEqual(['dead', 'held']);
  });

  it('refuses a job that has no room, and brings the others back', async () => {
    for (const one of ['a', 'b']) await f.put(one, { type: 't' });
    await f.put('x', { type: 't', queue: 'gone' });
    await f.put('stays');
    const id = await run({ action: 'cancel', filter: { type: 't' } });
    await f.components.queueControls.forget(f.ns, 'gone');
    f.fixture.engine.quotas.replace(new Map([[f.ns, { queues: 1 }]]));
    const undone = await undo(id);
    expect(undone).toMatchObject({ restored: 2, failed: 1 });
    expect(countsOf(undone.refusals)).toEqual({ too_many_queues: 1 });
    expect(await states('a', 'b', 'x')).toEqual(['ready', 'ready', null]);
  });

  it('takes the id of a job that has expired, and is not removed yet', async () => {
    await f.put('a', { type: 't' });
    const id = await run({ action: 'delete', filter: { type: 't' } });
    await f.put('a', { ttlMs: 1_000, text: 'new' } as never);
    f.fixture.nowMs += 1_500;
    await f.components.operations.undo(f.ns, id);
    await f.components.operationRunner.runNow();
    expect((await find(id)).undo).toMatchObject({ state: 'done', restored: 1, failed: 0 });
    expect(await f.find('a')).toMatchObject({ state: 'ready', type: 't' });
  });

  it('leaves a record that ends with its time', async () => {
    await f.put('a', { type: 't' });
    const id = await run({ action: 'delete', filter: { type: 't' } });
    await undo(id);
    const ms = await redis.pttl(`{${f.ns}}:O:${id}`);
    expect(ms).toBeGreaterThan(6 * 24 * HOUR_MS);
    expect(ms).toBeLessThanOrEqual(7 * 24 * HOUR_MS);
  });

  it('says that the time for an undo is over, also before a timer has looked', async () => {
    await f.put('a', { type: 't' });
    const id = await run({ action: 'delete', filter: { type: 't' } });
    f.fixture.nowMs += UNDO_MS + 1;
    await expect(f.components.operations.undo(f.ns, id)).rejects.toThrow('its undo_ms is over');
  });

  it('says why jobs cannot come back, and brings the others back', async () => {
    await f.put('again', { type: 't' });
    await f.put('keyed', { type: 't', unique: { key: 'u', mode: 'reject' } });
    await f.put('short', { type: 't', ttlMs: 60_000 });
    await f.put('done', { type: 't', retentionMs: 60_000 });
    await f.lease('q', 4);
    await f.fixture.engine.ack(f.ns, 'q', 'done');
    for (const one of ['again', 'keyed', 'short']) await f.components.leaseOperations.revoke(f.ns, one);
    const far = await f.fixture.publish('q', { delayMs: 2 * HOUR_MS });
    await f.components.tags.addTags(f.ns, far, ['tag']);
    await f.put('fine', { type: 't' });
    const state = ['ready', 'scheduled', 'done'] as const;
    const tagged = await run({ action: 'delete', filter: { tag: 'tag' } });
    expect(countsOf((await find(tagged)).undo!.refusals)).toEqual({ due_unknown: 1 });
    const id = await run({ action: 'delete', filter: { queue: 'q', state } });
    await f.put('again', { type: 'other' });
    await f.put('other', { unique: { key: 'u', mode: 'reject' } });
    await f.pass(61_000);
    const undone = await undo(id);
    expect(undone).toMatchObject({ state: 'done', restored: 1, failed: 4 });
    expect(countsOf(undone.refusals)).toEqual({
      id_in_use: 1,
      unique_key_taken: 1,
      ttl_ended: 1,
      retention_ended: 1,
    });
    expect(await f.find('again')).toMatchObject({ type: 'other' });
    expect(await states('keyed', 'short', 'done', 'fine')).toEqual([null, null, null, 'ready']);
  });

  it('keeps to the quotas, and counts bytes', async () => {
    const use = (quotas: object): void =>
      f.fixture.engine.useQuotas(new Map([[f.ns, { bytes: 1_000_000, ...quotas }]]));
    use({});
    for (const one of ['a', 'b', 'c'])
      await f.put(one, {
        type: 't',
        tags: ['x', 'y', 'z'].map((one) => one.repeat(255)),
        body: Buffer.alloc(1_000),
      });
    const bytes = await redis.hget(`{${f.ns}}:meta`, 'bytes');
    const id = await run({ action: 'delete', filter: { queue: 'q' } });
    expect(await redis.hget(`{${f.ns}}:meta`, 'bytes')).toBe('0');
    use({ jobsPerQueue: 2 });
    expect(countsOf((await undo(id)).refusals)).toEqual({ queue_full: 1 });
    use({ bytes: 2_500 });
    const other = await run({ action: 'delete', filter: { queue: 'q' } });
    expect(countsOf((await undo(other)).refusals)).toEqual({ namespace_full: 1 });
    const last = await run({ action: 'delete', filter: { queue: 'q' } });
    await f.components.queueControls.forget(f.ns, 'q');
    await f.put('elsewhere', { queue: 'other' });
    use({ queues: 1 });
    expect(countsOf((await undo(last)).refusals)).toEqual({ too_many_queues: 1 });
    expect(Number(bytes)).toBeGreaterThan(3_000);
  });

  it('brings jobs back to a queue that was deleted meanwhile', async () => {
    await f.put('a', { type: 't', priority: 2 });
    const simple = await f.fixture.publish('plain');
    const before = await images(['a', simple]);
    const id = await run({ action: 'delete', filter: {} });
    for (const queue of ['q', 'plain']) await f.components.queueControls.forget(f.ns, queue);
    expect(await f.fixture.engine.queues.names(f.ns)).toEqual([]);
    expect(await undo(id)).toMatchObject({ restored: 2, failed: 0 });
    const withoutQueue = (image: Image): unknown => ({
      ...image,
      header: image?.['header']?.replace(/^(.{24}).{8}/, '$1'),
    });
    expect((await images(['a', simple])).map(withoutQueue)).toEqual(before.map(withoutQueue));
    expect(await f.work('q')).toEqual(['a']);
    expect(await f.work('plain')).toEqual([simple]);
  });

  it('lets a blocked job wait for what has not ended yet, and for nothing that is done', async () => {
    for (const one of ['done', 'open']) await f.put(one, { queue: 'needed' });
    await f.put('both', { type: 't', dependsOn: ['done', 'open'] });
    await f.put('one', { type: 't', dependsOn: ['done'] });
    const id = await run({ action: 'delete', filter: { type: 't' } });
    await f.fixture.engine.ack(f.ns, 'needed', 'done');
    expect(await undo(id)).toMatchObject({ restored: 2, failed: 0 });
    expect(await states('both', 'one')).toEqual(['blocked', 'ready']);
    expect((await f.find('both'))?.dependsOn).toEqual(['open']);
    await f.fixture.engine.ack(f.ns, 'needed', 'open');
    await f.pump();
    expect(await stateOf('both')).toBe('ready');
  });

  it('brings a chain back so that no job runs before one that it depends on', async () => {
    // The walk goes queue by queue: what ends last comes back first, and needs the others.
    await f.put('a', { type: 't', queue: 'x' });
    await f.put('b', { type: 't', queue: 'y', dependsOn: ['a'] });
    await f.put('c', { type: 't', queue: 'z', dependsOn: ['b', 'a'] });
    const undone = await undo(await cancelAtOnce());
    expect(undone).toMatchObject({ state: 'done', failed: 0, incomplete: [] });
    expect(undone.restored).toBe(undone.jobs);
    expect(await stateOf('a')).toBe('ready');
    const ran: string[] = [];
    for (const queue of ['z', 'y', 'x', 'z', 'y', 'z']) ran.push(...(await f.work(queue)));
    expect(ran).toEqual(['a', 'b', 'c']);
  });

  it('brings a job back when its dependents have been told of its end', async () => {
    await f.put('a', { queue: 'z' });
    await f.put('b', { dependsOn: ['a'] });
    const id = await start({ action: 'cancel', filter: { queue: 'z' }, cascade: true });
    const stepAlone = async (): Promise<void> => {
      f.fixture.nowMs += 200;
      await f.components.operationRunner.runNow();
    };
    await stepAlone();
    await f.components.operations.undo(f.ns, id);
    await stepAlone();
    expect((await find(id)).undo).toMatchObject({ state: 'running', restored: 0, failed: 0 });
    const undone = await undo(id);
    expect(undone).toMatchObject({ state: 'done', restored: 1 });
    expect(countsOf(undone.incomplete)).toEqual({ dependents: 1 });
    expect(await states('a', 'b')).toEqual(['ready', null]);
  });

  it('brings back all that a job depends on, and counts jobs of which a dependent stays away', async () => {
    await f.put('open', { queue: 'needed' });
    await f.put('failed', { queue: 'needed', tries: 1 });
    await f.fail('failed', 'needed');
    await f.put('a', { type: 't' });
    await f.put('b', { type: 't', dependsOn: ['a', 'open'] });
    await f.put('c', { type: 't', dependsOn: ['a'] });
    const needs = ['b', 'c', 'open', 'failed'];
    await f.put('d', { type: 't', dependsOn: needs, onDependencyFailure: 'block' });
    await f.put('other', { dependsOn: ['b'] });
    const ids = ['a', 'b', 'c', 'd'];
    const before = await images(ids);
    const undone = await undo(await cancelAtOnce());
    expect(undone).toMatchObject({ state: 'done', jobs: 4, restored: 4, failed: 0 });
    // Of b. The dependents of a and c are back as well.
    expect(countsOf(undone.incomplete)).toEqual({ dependents: 1 });
    expect(await images(ids)).toEqual(before);
    expect(await states(...ids, 'other')).toEqual(['ready', 'blocked', 'blocked', 'blocked', null]);
    const ran = [...(await f.work()), ...(await f.work('needed')), ...(await f.work())];
    expect([ran[0], ran[1], ran.slice(2).toSorted()]).toEqual(['a', 'open', ['b', 'c']]);
    await f.revive('failed');
    expect([await f.work('needed'), await f.work()]).toEqual([['failed'], ['d']]);
  });

  it('brings a job back behind a dead dependency, and lets it go on when that is done after all', async () => {
    await f.put('dead', { type: 't', queue: 'a', tries: 1 });
    await f.put('waits', { type: 't', queue: 'b', dependsOn: ['dead'], onDependencyFailure: 'block' });
    await f.fail('dead', 'a');
    // The walk goes queue by queue: the one that waits ends last, and would come back first.
    const id = await cancelAtOnce({ type: 't', state: ['blocked', 'dead'] });
    expect(await undo(id)).toMatchObject({ restored: 2, failed: 0, incomplete: [] });
    expect(await states('dead', 'waits')).toEqual(['dead', 'blocked']);
    await f.revive('dead');
    expect([await f.work('a'), await f.work('b')]).toEqual([['dead'], ['waits']]);
  });

  it('brings two jobs back of which each waits for the other', async () => {
    await f.put('first', { type: 't', queue: 'a', tries: 1 });
    await f.put('second', { type: 't', queue: 'b', dependsOn: ['first'], onDependencyFailure: 'block' });
    await f.fail('first', 'a');
    await f.components.deadJobs.deleteIds(f.ns, ['first']);
    await f.pump();
    await f.put('first', { type: 't', queue: 'a', dependsOn: ['second'] });
    expect(await states('first', 'second')).toEqual(['blocked', 'blocked']);
    expect(await undo(await cancelAtOnce())).toMatchObject({ state: 'done', restored: 2, failed: 0 });
    expect(await states('first', 'second')).toEqual(['blocked', 'blocked']);
  });

  it('brings a job back that depends on more jobs than one script has time for', async () => {
    const needs = Array.from({ length: 1_000 }, (_, i) => `n-${String(i)}`);
    for (let i = 0; i < needs.length; i += 60)
      await f.components.extendedPublisher.publish(
        f.ns,
        needs.slice(i, i + 60).map((id) => ({ id, queue: 'a', type: 't', body: Buffer.from('x') })),
      );
    await f.put('many', { type: 't', queue: 'b', dependsOn: needs });
    await f.pump();
    expect(await undo(await cancelAtOnce())).toMatchObject({ restored: 1_001, failed: 0, incomplete: [] });
    await f.pump();
    expect((await f.find('many'))?.dependsOn).toHaveLength(1_000);
  });

  it('counts a job of which a dependent was told when the lease ended at the end of the grace', async () => {
    await f.put('a');
    await f.lease();
    const id = await run({ action: 'cancel', filter: { queue: 'q' }, graceMs: 5_000 });
    await f.put('b', { queue: 'other', dependsOn: ['a'], onDependencyFailure: 'cancel' });
    await f.pass(5_100);
    await f.pass(70_000);
    expect(await states('a', 'b')).toEqual([null, null]);
    expect(countsOf((await undo(id)).incomplete)).toEqual({ dependents: 1, lease: 1 });
    expect(await states('a', 'b')).toEqual(['ready', null]);
  });

  it('brings jobs back to a queue that is draining, which goes on with its drain', async () => {
    for (const one of ['a', 'b']) await f.put(one, { type: one });
    await f.components.queueControls.drain(f.ns, 'q');
    const id = await run({ action: 'delete', filter: { type: 'a' } });
    expect(await undo(id)).toMatchObject({ restored: 1, failed: 0 });
    await expect(f.put('c')).rejects.toMatchObject({ code: 'queue_draining' });
    expect(await f.work()).toEqual(['a', 'b']);
    expect(await f.put('c')).toBe('ready');
  });

  it('brings jobs back to a queue whose drain has ended, and does not begin that again', async () => {
    await f.put('a', { type: 't' });
    await f.components.queueControls.drain(f.ns, 'q');
    const id = await run({ action: 'delete', filter: { queue: 'q' } });
    expect(await undo(id)).toMatchObject({ restored: 1, failed: 0 });
    expect(await f.put('b')).toBe('ready');
    expect(await f.work()).toEqual(['a', 'b']);
  });

  it.each([
    ['jobs', { undo_jobs: 999_997 }],
    ['bytes', { undo_bytes: 268_435_456 - 35_000 }],
  ])('keeps as many %s as an operation may have, and says how many jobs it did not keep', async (_, kept) => {
    for (let i = 0; i < 8; i++) await f.put(`big-${String(i)}`, { body: Buffer.alloc(10_000, i) });
    const before = await images(['big-0', 'big-1', 'big-2']);
    const id = await start({ action: 'delete', filter: { queue: 'q' } });
    // As after many jobs.
    await redis.hset(`{${f.ns}}:O:${id}`, kept);
    await doSteps(200);
    const ended = await find(id);
    expect(ended).toMatchObject({ state: 'done', done: 8, undo: { state: 'kept', failed: 5 } });
    expect(countsOf(ended.undo!.refusals)).toEqual({ too_many: 5 });
    const undone = await undo(id);
    expect(undone).toMatchObject({ state: 'done', restored: 3, failed: 5 });
    expect(countsOf(undone.refusals)).toEqual({ too_many: 5 });
    expect(await images(['big-0', 'big-1', 'big-2'])).toEqual(before);
    expect((await f.counts())?.ready).toBe(3);
  });

  it('counts the data of a leased job before its lease has ended', async () => {
    for (const one of ['a', 'b']) await f.put(one, { body: Buffer.alloc(10_000) });
    await f.lease();
    const id = await start({ action: 'cancel', filter: { queue: 'q' }, graceMs: 5_000 });
    await redis.hset(`{${f.ns}}:O:${id}`, 'undo_bytes', 268_435_456 - 15_000);
    await doSteps(200);
    expect(countsOf((await find(id)).undo!.refusals)).toEqual({ too_many: 1 });
    await f.pass(5_100);
    expect(await undo(id)).toMatchObject({ restored: 1, failed: 1 });
  });

  it('leaves another job with the same id, whatever became of that', async () => {
    await f.put('a');
    const id = await run({ action: 'cancel', filter: { queue: 'q' } });
    await f.put('a', { ...KEPT, type: 'other' });
    await f.pass(1);
    await f.components.jobCanceller.cancel(f.ns, 'a');
    expect(countsOf((await undo(id)).refusals)).toEqual({ id_in_use: 1 });
    expect(await f.find('a')).toMatchObject({ type: 'other', state: 'cancelled' });
  });

  it('does not bring a job back whose dependency could not come back', async () => {
    await f.put('a', { type: 't', queue: 'z', ttlMs: 60_000 });
    await f.put('b', { type: 't', queue: 'y', dependsOn: ['a'], onDependencyFailure: 'block' });
    const id = await run({ action: 'delete', filter: { queue: 'y' } });
    const other = await run({ action: 'delete', filter: { queue: 'z' } });
    await f.pass(61_000);
    expect(countsOf((await undo(other)).refusals)).toEqual({ ttl_ended: 1 });
    // Another operation: what is gone counts as done, as at a publish.
    expect(await undo(id)).toMatchObject({ restored: 1 });
    await f.put('c', { type: 'u', queue: 'z', ttlMs: 60_000 });
    await f.put('d', { type: 'u', queue: 'y', dependsOn: ['c'] });
    const both = await start({ action: 'cancel', filter: { type: 'u' }, cascade: true });
    f.fixture.nowMs += 200;
    await f.components.operationRunner.runNow();
    await f.pass(61_000);
    const undone = await undo(both);
    expect(undone).toMatchObject({ restored: 0, failed: 2 });
    expect(countsOf(undone.refusals)).toEqual({ ttl_ended: 1, dependency_missing: 1 });
  });

  it('is refused while the operation runs, without undo_ms, and when its time is over', async () => {
    for (let i = 0; i < 80; i++) await f.put(`s-${String(i)}`);
    const running = await start({ action: 'delete', filter: { queue: 'q' }, ratePerS: 10 });
    await doSteps(100);
    expect(await codeOf(running)).toBe('operation_running');
    const { details } = await f.components.operations.stop(f.ns, running);
    expect(await undo(running)).toMatchObject({ restored: details.done, failed: 0 });
    expect((await f.counts())?.ready).toBe(80);
    const dry = await run({ action: 'delete', filter: { queue: 'q' }, dryRun: true });
    expect([await codeOf(dry), (await find(dry)).undo]).toEqual(['undo_gone', null]);
    const id = await run({ action: 'delete', filter: { queue: 'q' }, undoMs: 60_000 });
    // No timer has come yet.
    f.fixture.nowMs += 60_001;
    expect(await codeOf(id)).toBe('undo_gone');
    await f.pass(10_000);
    expect((await find(id)).undo).toMatchObject({ state: 'expired', message: 'Its undo_ms is over.' });
    expect(await f.fixture.keys()).not.toContainEqual(expect.stringContaining(`${id}x`));
    expect(await f.fixture.keys()).not.toContain(`{${f.ns}}:U:${id}`);
    await expect(f.components.operations.undo(f.ns, 'none')).rejects.toMatchObject({
      code: 'operation_not_found',
    });
  });

  it('changes nothing when it is repeated, and goes on after a stop', async () => {
    for (let i = 0; i < 80; i++) await f.put(`s-${String(i)}`);
    const id = await run({ action: 'delete', filter: { queue: 'q' } });
    await f.components.operations.undo(f.ns, id);
    await f.components.operations.stop(f.ns, id);
    expect((await find(id)).undo).toMatchObject({
      state: 'stopped',
      restored: 0,
      message: 'It was stopped by a call.',
    });
    await doSteps(10_000);
    expect((await f.counts())?.ready ?? 0).toBe(0);
    expect(await undo(id)).toMatchObject({ state: 'done', restored: 80 });
    expect(await undo(id)).toMatchObject({ state: 'done', restored: 80 });
    expect((await f.counts())?.ready).toBe(80);
  });

  it('is taken over by another process, and two processes at once bring each job back once', async () => {
    for (let i = 0; i < 200; i++) await f.put(`t-${String(i)}`);
    const id = await run({ action: 'cancel', filter: { queue: 'q' } });
    await f.components.operations.undo(f.ns, id);
    const others = [1, 2].map(() => new PoolEngine(f.fixture.pool, { clock: () => f.fixture.nowMs }));
    f.fixture.nowMs += 5_100;
    for (const other of others) {
      await other.pumpNow(f.ns);
      other.components.operationRunner.want(f.ns, id);
    }
    await Promise.all(others.map((other) => other.components.operationRunner.runNow()));
    expect((await find(id)).undo).toMatchObject({ state: 'done', restored: 200, failed: 0 });
    expect((await f.counts())?.ready).toBe(200);
    for (const other of others) await other.stop();
  });

  it('keeps its namespace, and leaves other namespaces alone', async () => {
    const [other, ns] = [randomNamespace(), f.ns];
    await f.fixture.engine.publish(other, 'q', newJob());
    const simple = await f.fixture.publish('q');
    const id = await run({ action: 'delete', filter: { queue: 'q' } });
    await expect(f.components.operations.undo(other, id)).rejects.toMatchObject({
      code: 'operation_not_found',
    });
    await f.pass(HOUR_MS / 10);
    await f.fixture.engine.tidyNow(ns);
    expect(await f.fixture.engine.namespaces()).toContain(ns);
    expect(await undo(id)).toMatchObject({ restored: 1 });
    expect(await f.work()).toEqual([simple]);
    expect(await f.fixture.engine.queues.size(other, 'q')).toBe(1);
    expect(await Audit.of(redis, other)).toEqual([]);
  });

  it('keeps the record of an operation that is being undone', async () => {
    await f.put('a');
    const id = await run({ action: 'delete', filter: { queue: 'q' } });
    await f.components.operations.undo(f.ns, id);
    for (let i = 0; i < 101; i++) {
      const { details } = await f.components.operations.start(f.ns, {
        shown: SHOWN,
        action: 'delete',
        filter: { queue: 'none' },
      });
      await f.components.operations.stop(f.ns, details.id);
    }
    expect(await undo(id)).toMatchObject({ restored: 1 });
  });
});
