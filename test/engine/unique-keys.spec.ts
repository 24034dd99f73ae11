import { Redis } from 'ioredis';
import { UniqueKeyTakenError } from '../../src/domain/errors.js';
import type { NewExtendedJob } from '../../src/contract/job/extended-job.js';
import type { PublishedJob, UniqueKey } from '../../src/domain/job/extended-job.js';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { EngineFixture } from './fixture.js';

let f: EngineFixture;
let redis: Redis;
beforeAll(() => (redis = new Redis(testRedisUrl())));
afterAll(() => redis.disconnect());
beforeEach(async () => (f = await EngineFixture.withClock()));
afterEach(() => f.close());

const extended = () => f.engine.components;

function job(
  mode: UniqueKey['mode'],
  more: Partial<NewExtendedJob> & { text?: string; windowMs?: number } = {},
) {
  const { text = 'x', windowMs, ...rest } = more;
  const unique = windowMs === undefined ? { key: 'k', mode } : { key: 'k', mode, windowMs };
  return { queue: 'q', body: Buffer.from(text), unique, ...rest };
}

async function put(...args: Parameters<typeof job>): Promise<PublishedJob> {
  const [published] = await extended().extendedPublisher.publish(f.ns, [job(...args)]);
  return published ?? { id: '', state: 'gone', existing: false };
}

async function lease(queue = 'q') {
  const [leased] = await f.engine.lease(f.ns, { queues: [queue], count: 1, ttrMs: 10_000, waitMs: 0 });
  return { id: leased?.id ?? '', lease: leased?.lease ?? 0, text: leased?.body.toString() };
}

const find = (id: string) => f.find(id);
const texts = async (): Promise<string[]> => await f.drain('q');
const keyIsThere = async (): Promise<boolean> => (await f.keys()).includes(f.pool.keys.uniqueKey(f.ns, 'k'));

it('a unique key refuses a second job, and names its holder', async () => {
  const { id } = await put('reject');

  const refused = put('reject', { text: 'second' });

  await expect(refused).rejects.toThrow(UniqueKeyTakenError);
  await expect(refused).rejects.toMatchObject({ code: 'unique_key_taken', holderId: id });
  expect(await texts()).toEqual(['x']);
});

it('a unique key answers with its holder in mode existing', async () => {
  const first = await put('existing', { delayMs: 1_000 });

  expect(await put('existing')).toEqual({ id: first.id, state: 'scheduled', existing: true });
  f.nowMs += 1_000;
  await f.engine.pumpNow(f.ns);
  expect(await texts()).toEqual(['x']);
  expect(await put('existing')).toEqual({ id: first.id, state: 'leased', existing: true });
});

it('a unique key replaces a waiting job, but not a leased one', async () => {
  const first = await put('replace', { text: 'a' });
  const second = await put('replace', { text: 'b', delayMs: 500 });
  const third = await put('replace', { text: 'c' });

  expect(await extended().jobReader.findMany(f.ns, [first.id, second.id])).toEqual([null, null]);
  expect(await lease()).toMatchObject({ id: third.id, text: 'c' });
  await expect(put('replace')).rejects.toMatchObject({ holderId: third.id });
});

it('a unique key in mode debounce restarts the delay of its holder, with the new data', async () => {
  const { id } = await put('debounce', { text: 'a', delayMs: 1_000 });
  f.nowMs += 900;
  expect(await put('debounce', { text: 'b', delayMs: 1_000 })).toEqual({
    id,
    state: 'scheduled',
    existing: true,
  });
  f.nowMs += 900;
  await f.engine.pumpNow(f.ns);
  expect(await texts()).toEqual([]);
  f.nowMs += 100;
  await f.engine.pumpNow(f.ns);

  expect(await texts()).toEqual(['b']);
  await expect(put('debounce')).rejects.toMatchObject({ holderId: id });
  expect((await find(id))?.timeline.map(({ what }) => what)).toContain('debounced');
});

it.each([
  ['a longer one', 60_000, 300_000, 120_000],
  ['none', 60_000, 0, 120_000],
  ['one where there was none', 0, 300_000, 120_000],
])('a unique key in mode debounce takes the ttl of the new job: %s', async (_what, before, ttlMs, passed) => {
  const { id } = await put('debounce', { text: 'a', ttlMs: before, delayMs: 30_000 });
  await f.pass(29_000);
  const state = 'scheduled';
  expect(await put('debounce', { text: 'b', ttlMs, delayMs: 60_000 })).toEqual({ id, state, existing: true });
  await f.pass(passed);
  expect(await find(id)).toMatchObject({ state: 'ready' });
  await f.pass(300_000 - passed);
  expect((await find(id))?.state).toBe(ttlMs === 0 ? 'ready' : undefined);
  expect(await Audit.of(redis, f.ns)).toEqual([]);
});

it('a unique key in mode debounce keeps the data of the last job of a call', async () => {
  const { id } = await put('debounce', { text: 'a' });
  const jobs = [job('debounce', { text: 'b', delayMs: 300 }), job('debounce', { text: 'c' })];
  const published = await extended().extendedPublisher.publish(f.ns, jobs);

  expect(published).toEqual(Array(2).fill({ id, state: 'ready', existing: true }));
  expect(await texts()).toEqual(['c']);
  expect(await Audit.of(redis, f.ns)).toEqual([]);
});

it('a unique key in mode debounce delays a ready holder, and makes it ready at once if published without a delay', async () => {
  const { id } = await put('debounce', { text: 'a' });
  expect(await put('debounce', { text: 'b', delayMs: 50 })).toMatchObject({ id, state: 'scheduled' });
  expect(await texts()).toEqual([]);
  expect(await put('debounce', { text: 'c' })).toMatchObject({ id, state: 'ready' });

  expect(await texts()).toEqual(['c']);
});

describe('two jobs of one call with the same unique key', () => {
  const both = (mode: UniqueKey['mode']) =>
    extended().extendedPublisher.publish(f.ns, [
      job(mode, { text: 'a' }),
      job(mode, { text: 'b', queue: 'other' }),
    ]);

  it.each(['reject', 'replace', 'debounce'] as const)('are refused in mode %s', async (mode) => {
    await expect(both(mode)).rejects.toThrow(UniqueKeyTakenError);
    expect(await keyIsThere()).toBe(false);
    expect(await f.engine.queues.names(f.ns)).toEqual([]);
  });

  it('store the first in mode existing', async () => {
    const [first, second] = await both('existing');

    expect(second).toEqual({ id: first?.id, state: 'ready', existing: true });
    expect(first).toMatchObject({ existing: false });
    expect((await f.engine.queues.counts(f.ns, ['q']))[0]?.ready).toBe(1);
  });
});

it('a unique key in mode reject refuses the whole call if one job has a key in use', async () => {
  const { id } = await put('reject');
  const jobs = [{ queue: 'q', body: Buffer.from('plain') }, job('reject')];

  await expect(extended().extendedPublisher.publish(f.ns, jobs)).rejects.toMatchObject({ holderId: id });
  expect(await texts()).toEqual(['x']);
});

it('a unique key in mode existing stores the other jobs of the call', async () => {
  const { id } = await put('existing');
  const jobs = [job('existing'), { queue: 'q', body: Buffer.from('other') }];

  const published = await extended().extendedPublisher.publish(f.ns, jobs);

  expect(published).toMatchObject([{ id, existing: true }, { existing: false }]);
  expect(await texts()).toEqual(['x', 'other']);
});

it('a unique key is held for its window after any end of its job', async () => {
  const { id } = await put('existing', { windowMs: 5_000 });
  const { lease: number } = await lease();
  await extended().leaseOperations.complete(f.ns, [{ id, lease: number }]);
  f.nowMs += 4_999;
  expect(await put('existing', { windowMs: 5_000 })).toEqual({ id, state: 'gone', existing: true });
  f.nowMs += 1;

  expect(await put('existing', { windowMs: 5_000 })).toMatchObject({ existing: false });
});

it('a unique key is freed at the end of its window, even if its job lives', async () => {
  const first = await put('reject', { windowMs: 5_000, text: 'a' });
  f.nowMs += 5_000;

  expect((await put('reject', { windowMs: 5_000, text: 'b' })).id).not.toBe(first.id);
  expect(await texts()).toEqual(['a', 'b']);
});

describe('a unique key is freed when its job', () => {
  it('is done', async () => {
    const { id } = await put('reject', { retentionMs: 60_000 });
    await extended().leaseOperations.complete(f.ns, [{ id, lease: (await lease()).lease }]);
    expect(await keyIsThere()).toBe(false);
    expect(await find(id)).toMatchObject({ state: 'done', uniqueKey: 'k' });

    expect(await put('reject')).toMatchObject({ existing: false });
  });

  it('is acknowledged or deleted by an lmstfy client', async () => {
    await put('reject');
    const leased = await lease();
    expect(await f.engine.ack(f.ns, 'q', leased.id)).toBe(true);
    const { id } = await put('reject');
    expect(await f.engine.ack(f.ns, 'q', id)).toBe(true);

    expect(await keyIsThere()).toBe(false);
  });

  it('dies, by its worker or by its last lease', async () => {
    const { id } = await put('reject');
    await extended().leaseOperations.fail(f.ns, {
      id,
      lease: (await lease()).lease,
      group: 'g',
      message: 'm',
    });
    expect(await keyIsThere()).toBe(false);
    await put('reject', { tries: 1 });
    await lease();
    f.nowMs += 10_001;
    await f.engine.pumpNow(f.ns);

    expect(await keyIsThere()).toBe(false);
    expect(await put('reject')).toMatchObject({ existing: false });
  });

  it('expires, before the pump runs', async () => {
    await put('reject', { ttlMs: 100 });
    f.nowMs += 101;
    const { id } = await put('reject');
    await f.engine.pumpNow(f.ns);

    await expect(put('reject')).rejects.toMatchObject({ holderId: id });
  });

  it('expires, in the pump', async () => {
    await put('reject', { ttlMs: 100 });
    f.nowMs += 101;
    await f.engine.pumpNow(f.ns);

    expect(await keyIsThere()).toBe(false);
  });
});

it('a unique key is taken by a respawn, but not while another job holds it', async () => {
  const died: string[] = [];
  for (let i = 0; i < 2; i++) {
    const { id } = await put('reject', { tries: 1 });
    await extended().leaseOperations.fail(f.ns, {
      id,
      lease: (await lease()).lease,
      group: 'g',
      message: 'm',
    });
    died.push(id);
  }
  const respawn = { ttlMs: 0, tries: 'reset' as const };
  expect(await extended().deadJobs.respawnIds(f.ns, died, respawn)).toBe(1);
  expect(await find(died[0] ?? '')).toMatchObject({ state: 'ready' });
  expect(await find(died[1] ?? '')).toMatchObject({ state: 'dead', uniqueKey: 'k' });
  await expect(put('reject')).rejects.toMatchObject({ holderId: died[0] });
  await f.engine.ack(f.ns, 'q', died[0] ?? '');

  expect(await extended().deadJobs.respawn(f.ns, {}, respawn)).toMatchObject({ done: 1 });
  await expect(put('reject')).rejects.toMatchObject({ holderId: died[1] });
  expect(await Audit.of(redis, f.ns)).toEqual([]);
});

it('a unique key is freed by a job that ends as it is published', async () => {
  const dead = await put('reject', { tries: 1 });
  await extended().leaseOperations.fail(f.ns, {
    id: dead.id,
    lease: (await lease()).lease,
    group: 'g',
    message: 'm',
  });
  const { id } = await put('reject', { dependsOn: [dead.id], onDependencyFailure: 'fail' });

  expect(await find(id)).toMatchObject({ state: 'dead' });
  expect(await keyIsThere()).toBe(false);
  expect(await put('reject')).toMatchObject({ existing: false });
});

it('a unique key is not freed by a former holder', async () => {
  const old = await put('reject', { tries: 1 });
  await extended().leaseOperations.fail(f.ns, {
    id: old.id,
    lease: (await lease()).lease,
    group: 'g',
    message: 'm',
  });
  const { id } = await put('reject');
  await f.engine.ack(f.ns, 'q', old.id);

  await expect(put('reject')).rejects.toMatchObject({ holderId: id });
});

it('a unique key is kept by a job that is retried, released or moved on', async () => {
  const { id } = await put('reject');
  await extended().leaseOperations.release(f.ns, { id, lease: (await lease()).lease });
  await extended().leaseOperations.retry(f.ns, {
    id,
    lease: (await lease()).lease,
    group: 'g',
    message: 'm',
  });
  await extended().leaseOperations.complete(f.ns, [
    { id, lease: (await lease()).lease, next: { queue: 'next' } },
  ]);

  await expect(put('reject')).rejects.toMatchObject({ holderId: id });
});

it.each([
  [{ key: '', mode: 'reject' }, /^unique\.key /],
  [{ key: 'x'.repeat(256), mode: 'reject' }, /^unique\.key /],
  [{ key: 'x', mode: 'other' }, /^unique\.mode /],
  [{ key: 'x', mode: 'reject', windowMs: -1 }, /^unique\.windowMs /],
])('a unique key refuses %j', async (unique, message) => {
  const jobs = [{ queue: 'q', body: Buffer.from('x'), unique: unique as UniqueKey }];
  await expect(extended().extendedPublisher.publish(f.ns, jobs)).rejects.toThrow(message);
});
