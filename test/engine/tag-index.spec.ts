import { Redis } from 'ioredis';
import type { NewExtendedJob } from '../../src/contract/job/extended-job.js';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { EngineFixture } from './fixture.js';
import { ExtendedFixture } from './extended-fixture.js';
import { auditIndexes } from './index-audit.js';

const redis = new Redis(testRedisUrl());
let f: EngineFixture;
let extended: ExtendedFixture;

beforeEach(async () => {
  f = await EngineFixture.withClock();
  extended = new ExtendedFixture(f);
});
afterEach(async () => {
  expect([...(await auditIndexes(redis, f.ns)), ...(await Audit.of(redis, f.ns))]).toEqual([]);
  await f.close();
});
afterAll(() => redis.quit());

const setIndex = (queue: string, indexTags: boolean | null): Promise<boolean> =>
  extended.components.queueControls.change(f.ns, queue, { indexTags });

/** Publishes as the native API does: simply if the simple script can store it. */
async function publish(queue: string, id: string, more: Partial<NewExtendedJob> = {}): Promise<void> {
  await f.engine.jobs.publish(f.ns, [{ queue, id, body: Buffer.from(id), tags: ['a'], ...more }]);
}

const tagsOf = async (id: string): Promise<readonly string[] | undefined> => (await f.find(id))?.tags;
const indexed = async (tag = 'a', filter: object = {}): Promise<string[]> =>
  (await extended.components.lists.list(f.ns, { tag, ...filter }, { limit: 100 })).items
    .map(({ id }) => id)
    .sort();

/** Jobs that each of the two publish scripts stores. */
const WAYS: readonly [string, Partial<NewExtendedJob>][] = [
  ['the simple script', {}],
  ['the extended script', { priority: 3 }],
];

describe.each(WAYS)('tags of jobs that %s stores', (_way, more) => {
  it('are not indexed if the queue has no index of tags, and stay on the job', async () => {
    await setIndex('q', false);
    await publish('q', 'out', more);
    await publish('r', 'in', more);

    expect(await tagsOf('out')).toEqual(['a']);
    expect(await indexed()).toEqual(['in']);
    expect(await extended.tags()).toEqual({ a: 1 });
  });

  it('stay indexed, or not indexed, when the setting of the queue changes', async () => {
    await publish('q', 'before', more);
    await setIndex('q', false);
    await publish('q', 'out', more);
    await setIndex('q', null);
    await publish('q', 'after', more);
    expect(await indexed()).toEqual(['after', 'before']);

    // What happens to a job in its queue does not change it.
    await setIndex('q', false);
    const leases = await extended.lease('q', 3);
    for (const { id, lease } of leases)
      await extended.components.leaseOperations.retry(f.ns, { id, lease, group: 'g', message: '' });
    expect(await indexed()).toEqual(['after', 'before']);
  });

  it('are removed with the job at the end of its retention, indexed or not', async () => {
    await publish('q', 'before', { retentionMs: 1_000, ...more });
    await setIndex('q', false);
    await publish('q', 'out', { retentionMs: 1_000, ...more });
    await setIndex('q', true);
    for (const { id, lease } of await extended.lease('q', 2))
      await extended.components.leaseOperations.complete(f.ns, [{ id, lease }]);
    expect(await indexed()).toEqual(['before']);
    await f.pass(5_000);
    await f.engine.pumpNow(f.ns);
    expect(await f.find('out')).toBeNull();
    expect(await extended.tags()).toEqual({});
  });

  it('follow the present setting when an id is used again', async () => {
    await setIndex('q', false);
    await publish('q', 'again', more);
    await extended.components.jobCanceller.cancel(f.ns, 'again');
    await setIndex('q', true);
    await publish('q', 'again', more);
    expect(await indexed()).toEqual(['again']);
    await extended.components.jobCanceller.cancel(f.ns, 'again');
    await setIndex('q', false);
    await publish('q', 'again', more);
    expect(await indexed()).toEqual([]);
  });
});

it('an index of tags has only those jobs of a batch whose queues have an index', async () => {
  await setIndex('q', false);
  await Promise.all([
    publish('q', 'q1', { type: 't' }),
    publish('r', 'r1', { type: 't' }),
    publish('new', 'n1', { type: 't' }),
    f.engine.jobs.publish(f.ns, [
      { queue: 'q', body: Buffer.alloc(0), tags: ['a'], type: 't' },
      { queue: 'q', body: Buffer.alloc(0), tags: ['a', 'b'], type: 't' },
    ]),
  ]);
  expect(await indexed()).toEqual(['n1', 'r1']);
  expect(await extended.tags()).toEqual({ a: 2 });
  const byType = await extended.components.lists.list(f.ns, { type: 't' }, { limit: 100 });
  expect(byType.items).toHaveLength(5);
});

it('an index of tags drops a job whose tags change while the index is off, and adds it again when its tags change later', async () => {
  const { tags, jobUpdater } = extended.components;
  await publish('q', 'was-in');
  await publish('q', 'no-tags', { tags: [], type: 't' });
  const simple = await f.publish('q');
  await setIndex('q', false);
  expect(await tags.addTags(f.ns, 'was-in', ['a'])).toEqual(['a']);
  expect(await indexed()).toEqual(['was-in']);
  for (const id of ['was-in', 'no-tags', simple]) await tags.addTags(f.ns, id, ['b']);
  expect([await indexed('a'), await indexed('b')]).toEqual([[], []]);
  expect(await tagsOf('was-in')).toEqual(['a', 'b']);

  await jobUpdater.change(f.ns, 'no-tags', { tags: ['c'] });
  expect(await indexed('c')).toEqual([]);
  await setIndex('q', true);
  await jobUpdater.change(f.ns, 'no-tags', { tags: ['c'] });
  expect(await indexed('c')).toEqual([]);
  await jobUpdater.change(f.ns, 'no-tags', { tags: ['c', 'd'] });
  expect([await indexed('c'), await indexed('d')]).toEqual([['no-tags'], ['no-tags']]);
  // Tags that were never indexed are removed without harm.
  await tags.removeTags(f.ns, 'was-in', ['a', 'b']);
  expect(await tagsOf('was-in')).toEqual([]);
  await tags.addTags(f.ns, 'was-in', ['a']);
  expect(await indexed('a')).toEqual(['was-in']);
});

it('an index of tags drops a job that moves to a queue without an index, and adds it when it moves back', async () => {
  await setIndex('off', false);
  for (const id of ['change', 'ack', 'respawn']) await publish('on', id, { priority: 1 });
  const [ack, respawn] = [await leaseNamed('on', 'ack'), await leaseNamed('on', 'respawn')];
  await extended.components.jobUpdater.change(f.ns, 'change', { queue: 'off' });
  await extended.components.leaseOperations.complete(f.ns, [
    { id: 'ack', lease: ack, next: { queue: 'off' } },
  ]);
  await extended.components.leaseOperations.fail(f.ns, {
    id: 'respawn',
    lease: respawn,
    group: 'g',
    message: '',
  });
  await extended.components.deadJobs.respawnIds(f.ns, ['respawn'], {
    ttlMs: 0,
    tries: 'reset',
    queue: 'off',
  });
  expect(await indexed()).toEqual([]);

  await extended.components.jobUpdater.change(f.ns, 'change', { queue: 'on' });
  expect(await indexed()).toEqual(['change']);
});

it('an index of tags drops a dead job that is respawned while the index is off', async () => {
  await publish('q', 'x');
  await setIndex('q', false);
  expect(await extended.fail('q', 'g')).toBe(1);
  expect(await indexed()).toEqual(['x']);
  await extended.components.deadJobs.respawnIds(f.ns, ['x'], { ttlMs: 0, tries: 'reset' });
  expect(await indexed()).toEqual([]);
});

it('a filter by tag finds no unindexed job, in a list by worker or of dead jobs, and deletes none', async () => {
  await setIndex('q', false);
  await publish('q', 'out');
  await publish('r', 'in');
  await extended.lease('q', 1, 'w');
  await extended.lease('r', 1, 'w');
  expect(await indexed('a', { worker: 'w' })).toEqual(['in']);
  await f.pass(20_000);
  await f.pass(1_000);
  await extended.fail('q', 'g');
  await extended.fail('r', 'g');
  const dead = await extended.components.lists.listDead(f.ns, { tag: 'a', group: 'g' }, { limit: 10 });
  expect(dead.items.map(({ id }) => id)).toEqual(['in']);
  await extended.components.deadJobs.delete(f.ns, { tag: 'a' }, 10);
  expect(await f.find('in')).toBeNull();
  expect(await tagsOf('out')).toEqual(['a']);
});

it('an index of tags drops a job that is replaced, by its unique key, by a job of a queue without an index', async () => {
  await setIndex('q', false);
  const unique = { key: 'k', mode: 'replace' } as const;
  await publish('r', 'old', { unique });
  await publish('q', 'new', { unique });
  expect(await f.find('old')).toBeNull();
  expect(await indexed()).toEqual([]);
});

/** Leases one job of a queue. @returns the number of its lease */
async function leaseNamed(queue: string, id: string): Promise<number> {
  const jobs = await extended.lease(queue, 3);
  const found = jobs.find((job) => job.id === id);
  await f.engine.undo(
    f.ns,
    jobs.filter((job) => job.id !== id),
  );
  return found?.lease ?? 0;
}
