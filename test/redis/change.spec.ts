import { Redis } from 'ioredis';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { LaneFixture } from './lane-fixture.js';

let f: LaneFixture;
let redis: Redis;
beforeEach(async () => {
  f = await LaneFixture.open();
  redis = new Redis(testRedisUrl(), { protocol: 2 });
});
afterEach(async () => {
  await redis.quit();
  await f.close();
});

const audit = () => Audit.of(redis, f.ns);

it('gives a ready job another priority, among whose jobs it keeps its place in time (Q9)', async () => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  for (const [i, id] of ids.entries()) {
    await f.put(id, { priority: i % 2 === 0 ? 5 : 0 });
    await f.pass(1);
  }
  await f.lane.changing.change(f.ns, 'd', { priority: 5 });
  await f.lane.changing.change(f.ns, 'c', { priority: 0 });
  expect(await audit()).toEqual([]);

  expect((await f.lease()).map(({ id }) => id)).toEqual(['b', 'c', 'f', 'a', 'd', 'e']);
});

it('keeps the place in time of a plain job that is there and back again', async () => {
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) ids.push(await f.fixture.publish('q'));
  for (const priority of [-4, 7, 0]) {
    await f.lane.changing.change(f.ns, ids[2] ?? '', { priority });
    expect(await audit()).toEqual([]);
  }

  expect((await f.lease()).map(({ id }) => ids.indexOf(id))).toEqual([0, 1, 2, 3, 4]);
  expect(await audit()).toEqual([]);
});

it('gives a priority to a job before its time has come', async () => {
  await f.put('late', { delayMs: 1_000 });
  await f.put('a', { delayMs: 1_000 });
  await f.lane.changing.change(f.ns, 'late', { priority: 1 });
  await f.pass(1_000);

  expect((await f.lease()).map(({ id }) => id)).toEqual(['a', 'late']);
});

it('changes data, tags and ttl, and notes that it did', async () => {
  await f.put('a', { tags: ['x'] });
  await f.lane.changing.change(f.ns, 'a', {
    data: { body: Buffer.from('new'), contentType: 'text/plain' },
    tags: ['y', 'z'],
    ttlMs: 1_000,
  });

  const job = await f.find('a');
  expect(job).toMatchObject({ tags: ['y', 'z'], contentType: 'text/plain', expiresAtMs: f.nowMs + 1_000 });
  expect(job?.body.toString()).toBe('new');
  expect(job?.timeline.map(({ what }) => what)).toEqual(['published', 'changed']);
  await f.lane.changing.change(f.ns, 'a', { ttlMs: 0, tags: [] });
  await f.pass(1_000);
  expect(await f.find('a')).toMatchObject({ state: 'ready', tags: [], expiresAtMs: null });
  await f.lane.changing.change(f.ns, 'a', { ttlMs: 10 });
  await f.pass(10);
  expect(await f.find('a')).toBeNull();
});

it('moves the due time: of a ready, a scheduled, a blocked and a far job', async () => {
  await f.put('a');
  await f.put('ready');
  await f.put('scheduled', { delayMs: 1_000 });
  await f.put('blocked', { dependsOn: ['a'] });
  const far = await f.fixture.publish('q', { delayMs: 3_600_000 });
  const dueMs = f.nowMs + 5_000;
  for (const id of ['ready', 'scheduled', far])
    expect(await f.lane.changing.change(f.ns, id, { dueMs })).toEqual({ state: 'scheduled', dueAtMs: dueMs });
  await f.lane.changing.change(f.ns, 'blocked', { dueMs });
  expect(await audit()).toEqual([]);
  expect(await f.work()).toEqual(['a']);
  await f.pass(4_999);
  expect(await f.work()).toEqual([]);
  await f.pass(1);
  expect((await f.lease()).map(({ id }) => id).sort()).toEqual(['ready', 'scheduled', 'blocked', far].sort());

  await f.put('now', { delayMs: 1_000 });
  expect(await f.lane.changing.change(f.ns, 'now', { delayMs: 0 })).toMatchObject({ state: 'ready' });
  await f.pass(3_600_000);
  expect(await audit()).toEqual([]);
});

it('moves a job to another queue, in the state in which it is', async () => {
  await f.put('a');
  await f.put('b', { delayMs: 1_000 });
  await f.put('c', { dependsOn: ['a'] });
  for (const id of ['a', 'b', 'c']) await f.lane.changing.change(f.ns, id, { queue: 'other' });
  expect(await audit()).toEqual([]);

  expect(await f.counts()).toMatchObject({ ready: 0, scheduled: 0, blocked: 0 });
  expect(await f.work('other')).toEqual(['a']);
  expect(await f.work('other')).toEqual(['c']);
  await f.pass(1_000);
  expect(await f.work('other')).toEqual(['b']);
});

it('changes a job far ahead where it is, and moves it only to a new due time', async () => {
  const id = await f.fixture.publish('q', { delayMs: 3_600_000 });
  await f.lane.changing.change(f.ns, id, { tags: ['t'], priority: 3 });
  expect(await f.find(id)).toMatchObject({ state: 'scheduled', tags: ['t'], priority: 3 });
  expect(await audit()).toEqual([]);
  await expect(f.lane.changing.change(f.ns, id, { queue: 'other' })).rejects.toMatchObject({
    code: 'due_unknown',
  });
  await f.pass(3_599_999);
  expect(await f.lease()).toEqual([]);
  expect(await audit()).toEqual([]);
  await f.pass(1);

  expect((await f.lease()).map((job) => job.id)).toEqual([id]);
});

it('refuses to change what does not wait', async () => {
  await f.put('a', { retentionMs: 1_000 });
  await f.lease();

  await expect(f.lane.changing.change(f.ns, 'a', { priority: 1 })).rejects.toMatchObject({
    code: 'not_waiting',
  });
  await expect(f.lane.changing.change(f.ns, 'b', { priority: 1 })).rejects.toMatchObject({
    code: 'job_not_found',
  });
  await expect(f.lane.changing.change(f.ns, 'a', { priority: 128 })).rejects.toMatchObject({
    code: 'invalid_argument',
  });
});

it('writes a line into the timeline of a job in any state', async () => {
  await f.put('a');
  await f.lane.changing.log(f.ns, 'a', 'hello', { n: 1 });
  await f.lease();
  await f.lane.changing.log(f.ns, 'a', 'again');
  const plain = await f.fixture.publish('p');
  await f.lane.changing.log(f.ns, plain, 'plain');

  const lines = (await f.find('a'))?.timeline.filter(({ what }) => what === 'log');
  expect(lines).toEqual([
    { what: 'log', atMs: f.nowMs, message: 'hello', data: { n: 1 } },
    { what: 'log', atMs: f.nowMs, message: 'again' },
  ]);
  expect((await f.find(plain))?.timeline).toMatchObject([{ what: 'log', message: 'plain' }]);
  expect(await audit()).toEqual([]);
});
