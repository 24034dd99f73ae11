import { Redis } from 'ioredis';
import { DependentsError } from '../../src/domain/errors.js';
import type { CancelRequest } from '../../src/engine/jobs/job-canceller.js';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { edgeProblems } from './edge-audit.js';
import { auditIndexes } from './index-audit.js';
import { ExtendedPathFixture } from './extended-path-fixture.js';
import { EngineFixture } from './fixture.js';

const KEPT = { retentionMs: 60_000 };

describe('a cancel of many jobs', () => {
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
    expect(await Audit.of(redis, f.ns)).toEqual([]);
    await redis.quit();
    await f.close();
  });

  const cancel = (ids: readonly string[], request: CancelRequest = {}) =>
    f.components.jobCanceller.cancelMany(f.ns, ids, request);
  const outcomes = async (ids: readonly string[], request: CancelRequest = {}) =>
    (await cancel(ids, request)).map(({ outcome }) => outcome);
  const states = (ids: readonly string[]) =>
    Promise.all(ids.map(async (id) => (await f.find(id))?.state ?? null));
  /** Every raw key of the namespace, but the one that says which answers are on their way. */
  const dump = async (): Promise<string[]> => {
    const all = await redis.keysBuffer(`{${f.ns}}*`);
    const keys = all.filter((key) => key.toString() !== `{${f.ns}}:sending`);
    const values = await Promise.all(keys.map((key) => redis.dumpBuffer(key)));
    return keys.map((key, i) => `${key.toString('hex')} ${values[i]!.toString('hex')}`).sort();
  };

  it('ends waiting jobs of every state and queue, with a result for each', async () => {
    await f.components.queueControls.change(f.ns, 'q', { maxRunningPerKey: 1 });
    await f.put('done', KEPT);
    await f.work();
    await f.put('dead', { ...KEPT, tries: 1 });
    await f.fail('dead');
    await f.put('runs', { concurrencyKey: 'k' });
    await f.put('held', { concurrencyKey: 'k', ...KEPT });
    await f.lease();
    await f.lease();
    await f.put('before', KEPT);
    await cancel(['before']);
    await f.put('ready', KEPT);
    await f.put('elsewhere', { queue: 'r', priority: 3, ...KEPT });
    await f.put('scheduled', { delayMs: 60_000, ...KEPT });
    await f.put('waited-for', { queue: 'r', delayMs: 60_000 });
    await f.put('blocked', { dependsOn: ['waited-for'], ...KEPT });
    const far = await f.fixture.publish('p', { delayMs: 3_600_000 });
    await f.put('short', { queue: 'r', ttlMs: 1, delayMs: 5_000 });
    f.fixture.nowMs += 2;
    expect(await states(['dead', 'held', 'blocked'])).toEqual(['dead', 'held', 'blocked']);

    const waiting = ['dead', 'held', 'ready', 'elsewhere', 'scheduled', 'blocked'];
    const ids = ['missing', ...waiting, far, 'done', 'short', 'runs', 'before', 'not an id!'];
    expect(await cancel(ids, { graceMs: 5_000 })).toEqual([
      { outcome: 'not_found' },
      ...[...waiting, far].map(() => ({ outcome: 'cancelled' })),
      { outcome: 'done' },
      { outcome: 'not_found' },
      { outcome: 'requested', revokedAtMs: f.nowMs + 5_000 },
      { outcome: 'already_cancelled' },
      { outcome: 'not_found' },
    ]);

    expect(await states(waiting)).toEqual(waiting.map(() => 'cancelled'));
    expect(await states([far, 'done', 'runs'])).toEqual([null, 'done', 'leased']);
    await f.pass(5_000);
    expect(await states(['runs'])).toEqual(['cancelled']);
    await f.pass(60_000);
    expect(await f.work()).toEqual([]);
    expect(await f.work('r')).toEqual(['waited-for']);
  });

  it.each([
    ['first to last', ['a', 'b', 'c', 'd']],
    ['last to first', ['d', 'c', 'b', 'a']],
    ['mixed', ['c', 'a', 'd', 'b']],
  ])('cancels a chain of dependent jobs if all are named: %s', async (_order, ids) => {
    for (const keep of [KEPT, {}]) {
      await f.put('a', keep);
      await f.put('b', { dependsOn: ['a'], ...keep, onDependencyFailure: 'fail' });
      await f.put('c', { dependsOn: ['b', 'a'], ...keep, onDependencyFailure: 'ignore' });
      await f.put('d', { dependsOn: ['c'], ...keep });

      expect(await outcomes(ids)).toEqual(['cancelled', 'cancelled', 'cancelled', 'cancelled']);

      expect(await Audit.of(redis, f.ns)).toEqual([]);
      await f.pump();
      const isKept = keep === KEPT;
      expect(await states(ids)).toEqual(ids.map(() => (isKept ? 'cancelled' : null)));
      await f.pass(60_000);
    }
    expect(await f.leftovers()).toEqual([]);
  });

  it('cancels no job if a job that is not named depends on a named one', async () => {
    await f.put('a');
    await f.put('b', { dependsOn: ['a'] });
    await f.put('c', { dependsOn: ['b'] });
    await f.put('free', { delayMs: 1_000 });
    await f.put('runs', { queue: 'r' });
    await f.lease('r');
    const before = await dump();

    const refusal: unknown = await cancel(['free', 'runs', 'a', 'missing', 'b']).catch(
      (error: unknown) => error,
    );

    expect(refusal).toBeInstanceOf(DependentsError);
    expect(refusal).toMatchObject({ code: 'has_dependents', dependents: ['c'], ids: ['b'] });
    expect((refusal as Error).message).toContain('depend on b');
    await expect(cancel(['c', 'a'])).rejects.toMatchObject({ dependents: ['b'], ids: ['a'] });
    expect(await dump()).toEqual(before);
    expect(await outcomes(['a', 'free'], { cascade: true })).toEqual(['cancelled', 'cancelled']);
    await f.pump();
    expect(await states(['a', 'b', 'c', 'free'])).toEqual([null, null, null, null]);
  });

  it('reports a job that is done, whatever depends on it', async () => {
    await f.put('a', { ...KEPT, tries: 1 });
    await f.put('b');
    await f.put('waits', { queue: 'r', dependsOn: ['a'], onDependencyFailure: 'block' });
    // Its dependents have not heard of the end yet.
    await f.components.leaseOperations.complete(f.ns, await f.lease('q', 1));

    expect(await outcomes(['a', 'b'])).toEqual(['done', 'cancelled']);
    expect(await states(['waits'])).toEqual(['blocked']);
    await f.pump();
    expect(await states(['waits'])).toEqual(['ready']);
  });

  it('is refused with the names of at most a hundred dependents, each once', async () => {
    await f.put('a');
    await f.put('b');
    await f.put('both-0', { dependsOn: ['a', 'b'] });
    await f.put('both-1', { dependsOn: ['b', 'a'] });
    const few: unknown = await cancel(['a', 'b']).catch((error: unknown) => error);
    expect([...(few as DependentsError).dependents].sort()).toEqual(['both-0', 'both-1']);
    for (let i = 2; i < 120; i++) await f.put(`both-${i}`, { dependsOn: ['a', 'b'] });

    const refusal: unknown = await cancel(['a', 'b']).catch((error: unknown) => error);

    const { dependents, ids } = refusal as DependentsError;
    expect(ids).toEqual(['a', 'b']);
    expect(dependents).toHaveLength(100);
    expect(new Set(dependents).size).toBe(100);
    expect(await f.counts()).toMatchObject({ ready: 2, blocked: 120 });
  });

  const former = (count: number): string[] =>
    Array.from({ length: count }, (_, i) => `\0former-${String(i)}`);
  const usersOf = (id: string): string => `{${f.ns}}u\0${id}`;

  it('looks at 400 former dependents, and is refused if there are more', async () => {
    const ids = Array.from({ length: 10 }, (_, i) => `j${String(i)}`);
    for (const id of ids) await f.put(id);
    await f.put('last', { dependsOn: ids });
    // As jobs leave them that have failed by another dependency.
    for (const id of ids) await redis.sadd(usersOf(id), ...former(41));
    const before = await dump();

    await expect(cancel([...ids, 'last'])).rejects.toMatchObject({ code: 'has_dependents', ids: ['j9'] });

    expect(await dump()).toEqual(before);
    for (const id of ids) await redis.srem(usersOf(id), former(41)[40]!);
    expect(new Set(await outcomes([...ids, 'last']))).toEqual(new Set(['cancelled']));
  });

  it('is refused if one of them has had more than 200 dependents', async () => {
    await f.put('a');
    await f.put('last', { dependsOn: ['a'] });
    await redis.sadd(usersOf('a'), ...former(200));
    await expect(cancel(['a', 'last'])).rejects.toMatchObject({ dependents: [], ids: ['a'] });
    await redis.srem(usersOf('a'), former(1)[0]!);
    expect(await outcomes(['a', 'last'])).toEqual(['cancelled', 'cancelled']);
  });

  it('cancels a job with 63 named dependents, and refuses it while a 64th is not named', async () => {
    await f.put('a');
    const ids = Array.from({ length: 63 }, (_, i) => `d${i}`);
    for (const id of ids) await f.put(id, { dependsOn: ['a'] });
    await f.put('other', { dependsOn: ['a'] });
    await expect(cancel([...ids, 'a'])).rejects.toMatchObject({ dependents: ['other'], ids: ['a'] });
    await f.components.jobCanceller.cancel(f.ns, 'other');

    expect(new Set(await outcomes([...ids, 'a']))).toEqual(new Set(['cancelled']));
    expect(await f.leftovers()).toEqual([]);
  });

  it('refuses a dead job whose dependent is not named', async () => {
    await f.put('a', { tries: 1 });
    await f.put('waits', { queue: 'r', dependsOn: ['a'], onDependencyFailure: 'block' });
    await f.fail('a');
    await f.pump();

    await expect(cancel(['a'])).rejects.toMatchObject({ code: 'has_dependents', dependents: ['waits'] });
    expect(await outcomes(['waits', 'a'])).toEqual(['cancelled', 'cancelled']);
    expect(await f.leftovers()).toEqual([]);
  });

  it('cancels the running and held jobs of a concurrency key, and releases the next held job', async () => {
    await f.components.queueControls.change(f.ns, 'q', { maxRunningPerKey: 1 });
    for (const id of ['runs', 'h1', 'h2', 'h3', 'h4']) await f.put(id, { concurrencyKey: 'k' });
    await f.lease();
    await f.lease();
    expect(await states(['runs', 'h1', 'h4'])).toEqual(['leased', 'held', 'held']);

    expect(await outcomes(['h2', 'runs', 'h1'], { graceMs: 0 })).toEqual([
      'cancelled',
      'cancelled',
      'cancelled',
    ]);

    expect(await Audit.of(redis, f.ns)).toEqual([]);
    expect(await states(['runs', 'h1', 'h2', 'h3', 'h4'])).toEqual([
      'cancelled',
      null,
      null,
      'ready',
      'held',
    ]);
    // A job that was called has the slot: it gives it back.
    expect(await outcomes(['h3'])).toEqual(['cancelled']);
    expect(await states(['h4'])).toEqual(['ready']);
    expect((await f.lease()).map(({ id }) => id)).toEqual(['h4']);
  });

  it('cancels the running job and 63 held jobs of a concurrency key, and releases the next held job', async () => {
    await f.components.queueControls.change(f.ns, 'q', { maxRunningPerKey: 1 });
    const ids = Array.from({ length: 66 }, (_, i) => `k${String(i).padStart(2, '0')}`);
    for (const id of ids) await f.put(id, { concurrencyKey: 'k' });
    await f.lease();
    await f.lease();
    expect(await f.counts()).toMatchObject({ leased: 1, held: 65 });

    await cancel(ids.slice(0, 64), { graceMs: 0 });
    await f.pump();

    expect(await f.counts()).toMatchObject({ leased: 0, held: 1, ready: 1 });
    expect((await f.lease()).map(({ id }) => id)).toEqual(['k64']);
  });

  it('frees unique keys', async () => {
    const unique = (key: string) => ({ unique: { key, mode: 'reject', windowMs: 0 } as const });
    await f.put('c', { ...unique('kc') });
    await f.lease();
    await f.put('a', { ...unique('ka'), ...KEPT });
    await f.put('b', { ...unique('kb'), delayMs: 60_000 });
    await cancel(['c', 'a', 'b'], { graceMs: 1_000 });

    expect(await f.put('a2', unique('ka'))).toBe('ready');
    expect(await f.put('b2', unique('kb'))).toBe('ready');
    await expect(f.put('c2', unique('kc'))).rejects.toMatchObject({ code: 'unique_key_taken' });
    await f.pass(1_000);
    expect(await f.put('c2', unique('kc'))).toBe('ready');
  });

  it('cancels a job of a recurring job, which makes its next job', async () => {
    const job = { queue: 'q', body: Buffer.from('x') };
    await f.components.recurrings.set(f.ns, { id: 'rec', schedule: { everyMs: 1_000 }, template: job });
    await f.pass(1_000);
    const [made] = await f.lease();
    await f.put('other');

    expect(await outcomes([made?.id ?? '', 'other'], { graceMs: 0 })).toEqual(['cancelled', 'cancelled']);
    await f.pass(1_000);
    expect(await f.lease()).toHaveLength(1);
  });

  it('can shorten the grace by a second request, but not extend it', async () => {
    await f.put('a');
    await f.put('b');
    await f.lease();
    const first = f.nowMs + 5_000;
    expect(await cancel(['a', 'b'], { graceMs: 5_000 })).toMatchObject([
      { revokedAtMs: first },
      { revokedAtMs: first },
    ]);
    await f.pass(1_000);
    expect(await cancel(['b', 'a'], { graceMs: 60_000 })).toMatchObject([
      { revokedAtMs: first },
      { revokedAtMs: first },
    ]);
    expect(await cancel(['b'], { graceMs: 500 })).toEqual([
      { outcome: 'requested', revokedAtMs: f.nowMs + 500 },
    ]);
    await f.pass(500);
    expect(await states(['a', 'b'])).toEqual(['leased', 'cancelled']);
  });

  it('leaves each job either done or cancelled during concurrent acks', async () => {
    const other = await EngineFixture.open({ clock: () => f.nowMs });
    try {
      for (let round = 0; round < 20; round++) {
        const ids = Array.from({ length: 8 }, (_, i) => `r${round}-${i}`);
        for (const [i, id] of ids.entries())
          await f.put(id, { ...KEPT, concurrencyKey: `k${i % 3}`, ...(i > 5 && { dependsOn: [ids[0]!] }) });
        const leased = await f.lease();
        const [results, settled] = await Promise.all([
          f.components.jobCanceller.cancelMany(f.ns, ids, { graceMs: 0 }),
          other.engine.settle.complete(f.ns, leased),
        ]);
        await f.pump();

        const found = new Map(ids.map((id, i) => [id, results[i]?.outcome]));
        for (const [i, { id }] of leased.entries())
          expect([id, found.get(id), settled[i]]).toEqual(
            found.get(id) === 'done' ? [id, 'done', 'done'] : [id, 'cancelled', 'lease_lost'],
          );
        expect(await Audit.of(redis, f.ns)).toEqual([]);
      }
    } finally {
      await other.close();
    }
  });

  it('refuses an empty list, a duplicate and 65 jobs', async () => {
    await f.put('a');
    const many = Array.from({ length: 65 }, (_, i) => `j${i}`);
    for (const ids of [[], ['a', 'b', 'a'], many])
      await expect(cancel(ids)).rejects.toMatchObject({ code: 'invalid_argument' });
    expect(await outcomes(many.slice(0, 64))).toEqual(many.slice(0, 64).map(() => 'not_found'));
    expect(await states(['a'])).toEqual(['ready']);
  });
});
