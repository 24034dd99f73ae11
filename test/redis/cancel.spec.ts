import { DependentsError } from '../../src/domain/errors.js';
import { LaneFixture } from './lane-fixture.js';

let f: LaneFixture;
beforeEach(async () => (f = await LaneFixture.open()));
afterEach(() => f.close());

const cancel = (id: string, request: { cascade?: boolean; graceMs?: number } = {}) =>
  f.lane.cancelling.cancel(f.ns, id, request);

it.each([
  ['ready', {}],
  ['of another priority', { priority: 3 }],
  ['scheduled', { delayMs: 60_000 }],
  ['blocked', { dependsOn: ['other'] }],
])('ends a job that waits: %s', async (_state, job) => {
  await f.put('other');
  await f.put('gone', job);
  await f.put('kept', { ...job, retentionMs: 60_000 });

  expect(await cancel('gone')).toEqual({ outcome: 'cancelled' });
  expect(await cancel('kept')).toEqual({ outcome: 'cancelled' });

  expect(await f.find('gone')).toBeNull();
  expect(await f.find('kept')).toMatchObject({ state: 'cancelled', endedAtMs: f.nowMs });
  expect(await f.counts()).toMatchObject({ ready: 1, scheduled: 0, blocked: 0, ended: 1 });
  await f.pass(60_000);
  expect(await f.work()).toEqual(['other']);
});

it('ends a plain job, near and far', async () => {
  const ids = [
    await f.fixture.publish('p'),
    await f.fixture.publish('p', { delayMs: 60_000 }),
    await f.fixture.publish('p', { delayMs: 3_600_000 }),
  ];
  for (const id of ids) expect(await cancel(id)).toEqual({ outcome: 'cancelled' });

  expect(await f.counts('p')).toMatchObject({ ready: 0, scheduled: 0 });
  expect(await f.leftovers()).toEqual([]);
});

it('tells a job that is done or cancelled as such, and changes nothing (Q11)', async () => {
  await f.put('done', { retentionMs: 60_000 });
  await f.work();
  await f.put('cancelled', { retentionMs: 60_000 });
  await cancel('cancelled');
  const before = await Promise.all([f.find('done'), f.find('cancelled')]);

  await expect(cancel('done')).rejects.toMatchObject({ code: 'job_done' });
  expect(await cancel('cancelled')).toEqual({ outcome: 'already_cancelled' });
  await expect(cancel('nobody')).rejects.toMatchObject({ code: 'job_not_found' });

  expect(await Promise.all([f.find('done'), f.find('cancelled')])).toEqual(before);
});

it('tells the owner of a lease, and takes it from him when his grace is over', async () => {
  await f.put('a');
  const [job] = await f.lease();
  const lease = { id: 'a', lease: job?.lease ?? 0 };

  expect(await cancel('a', { graceMs: 5_000 })).toEqual({
    outcome: 'requested',
    revokedAtMs: f.nowMs + 5_000,
  });
  expect(await f.lane.owners.heartbeat(f.ns, lease)).toMatchObject({ cancelRequested: true });
  await f.pass(4_999);
  expect(await f.find('a')).toMatchObject({ state: 'leased', cancelRequested: true });
  await f.pass(1);

  expect(await f.find('a')).toMatchObject({ state: 'cancelled', cancelRequested: false });
  await expect(f.lane.owners.heartbeat(f.ns, lease)).rejects.toMatchObject({ code: 'lease_lost' });
  expect(await f.lane.owners.complete(f.ns, [lease])).toEqual(['lease_lost']);
  await f.pass(60_000);
  expect(await f.lease()).toEqual([]);
});

it('takes a lease at once without grace, that of a plain job too', async () => {
  const id = await f.fixture.publish('p');
  const [job] = await f.lease('p');

  expect(await cancel(id, { graceMs: 0 })).toEqual({ outcome: 'cancelled' });

  await expect(f.fixture.engine.ack(f.ns, 'p', id, job?.lease)).rejects.toMatchObject({ code: 'lease_lost' });
  await f.pass(60_000);
  expect(await f.lease('p')).toEqual([]);
});

it('lets the owner finish within his grace', async () => {
  await f.put('a', { retentionMs: 60_000 });
  const [job] = await f.lease();
  await cancel('a');
  expect(await f.lane.owners.complete(f.ns, [{ id: 'a', lease: job?.lease ?? 0 }])).toEqual(['done']);
  await f.pass(30_000);

  expect(await f.find('a')).toMatchObject({ state: 'done' });
});

it.each(['release', 'retry', 'crash'])('ends a job that comes back by %s during the grace', async (how) => {
  await f.put('a');
  const [job] = await f.lease();
  const lease = { id: 'a', lease: job?.lease ?? 0 };
  await cancel('a', { graceMs: 20_000 });
  if (how === 'release') await f.lane.owners.release(f.ns, lease);
  else if (how === 'retry') await f.lane.owners.retry(f.ns, { ...lease, group: 'g', message: '' });
  else await f.pass(10_001);

  expect(await f.find('a')).toMatchObject({ state: 'cancelled' });
  await expect(f.lane.owners.heartbeat(f.ns, lease)).rejects.toMatchObject({ code: 'lease_lost' });
  expect(await f.lease()).toEqual([]);
});

it('refuses a job that others depend on, and names them', async () => {
  await f.put('a');
  await f.put('b', { dependsOn: ['a'] });
  await f.put('c', { dependsOn: ['a'] });

  const refusal = await cancel('a').catch((error: unknown) => error);

  expect(refusal).toBeInstanceOf(DependentsError);
  expect((refusal as DependentsError).dependents.toSorted()).toEqual(['b', 'c']);
  expect(await f.find('a')).toMatchObject({ state: 'ready' });
  await f.lane.changing.change(f.ns, 'b', { dependsOn: [] });
  await cancel('c');
  expect(await cancel('a')).toEqual({ outcome: 'cancelled' });
  expect(await f.work()).toEqual(['b']);
  expect(await f.leftovers()).toEqual([]);
});

it.each([0, 60_000])(
  'cancels all that depends on it, whatever their policies, kept %i ms',
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

it('cancels what depends on a leased job when the lease is revoked', async () => {
  await f.put('a');
  await f.put('b', { dependsOn: ['a'], onDependencyFailure: 'ignore' });
  await f.lease();
  await cancel('a', { cascade: true, graceMs: 5_000 });
  expect(await f.find('b')).toMatchObject({ state: 'blocked' });
  await f.pass(5_000);

  expect(await f.find('b')).toBeNull();
});

it('ends a dead job alone when nothing depends on it, and it with its dependents when asked to', async () => {
  await f.put('a');
  await f.put('b', { dependsOn: ['a'] });
  await f.fail('a');

  await expect(cancel('a')).rejects.toMatchObject({ code: 'has_dependents', dependents: ['b'] });
  await cancel('b');
  expect(await cancel('a')).toEqual({ outcome: 'cancelled' });

  expect(await f.counts()).toMatchObject({ dead: 0, blocked: 0 });
  expect(await f.leftovers()).toEqual([]);
});
