import { jest } from '@jest/globals';
import { silentObserver } from '../../src/engine/observer.js';
import { waitFor } from '../support/redis.js';
import { Listening } from './events-fixture.js';
import { EngineFixture } from './fixture.js';
import { LaneFixture } from './lane-fixture.js';

/** Defects of qless (docs/qless.md) that have no other test here that bears their number. */
let f: LaneFixture;
beforeEach(async () => (f = await LaneFixture.open()));
afterEach(async () => {
  jest.restoreAllMocks();
  await f.close();
});

const DAY_MS = 86_400_000;
const SECOND = 1_000;
const body = Buffer.from('x');
const lost = { code: 'lease_lost' };

it('Q1: runs on a Redis later than 6.2.7, where a script may set no global', async () => {
  const info = String(await f.fixture.pool.read('INFO', 'server'));
  const [major = 0, minor = 0] = (/redis_version:([\d.]+)/.exec(info)?.[1] ?? '').split('.').map(Number);
  expect(major * 100 + minor).toBeGreaterThan(602);

  await f.put('a', { tries: 5, tags: ['t'], unique: { key: 'u', mode: 'reject' }, concurrencyKey: 'c' });
  await f.put('b', { dependsOn: ['a'] });
  await f.lane.recurrings.set(f.ns, {
    id: 'r',
    schedule: { everyMs: SECOND },
    template: { queue: 'q', body },
  });
  await f.pass(1);
  const [job] = (await f.lease()).filter(({ id }) => id === 'a');
  await f.lane.owners.retry(f.ns, { id: 'a', lease: job?.lease ?? 0, group: 'g', message: 'm' });

  expect(await f.work()).toEqual(['a']);
  expect(await f.work()).toEqual(['b']);
});

it('Q2: a late owner who is heard has a whole lease again, and may be late again', async () => {
  await f.put('a', { tries: 9 });
  const [owned] = await f.lease();
  const { lease } = owned!;
  for (let times = 0; times < 3; times++) {
    await f.pass(10_000);
    expect(await f.find('a')).toMatchObject({ state: 'ready', crashes: times + 1 });
    await f.lane.owners.heartbeat(f.ns, { id: 'a', lease }, { ttrMs: 10_000 });
    await f.pass(9_999);
    expect(await f.find('a')).toMatchObject({ state: 'leased', lease });
    expect(await f.lease()).toEqual([]);
  }
  expect(await f.lane.owners.complete(f.ns, [{ id: 'a', lease }])).toEqual(['done']);
});

it('Q8: a job that went to another queue, by whatever call, says so everywhere', async () => {
  const isAllIn = async (queue: string): Promise<void> => {
    expect(await f.find('a')).toMatchObject({ queue });
    for (const one of ['q', 'next', 'other', 'again']) {
      const { items } = await f.lane.lists.list(f.ns, { queue: one }, { limit: 10 });
      const counts = await f.counts(one);
      const all = (counts?.ready ?? 0) + (counts?.leased ?? 0) + (counts?.dead ?? 0);
      const isHere = one === queue ? 1 : 0;
      expect([one, items.map((item) => item.queue), all]).toEqual([one, isHere ? [one] : [], isHere]);
    }
  };
  await f.put('a', { tries: 9 });
  const [owned] = await f.lease();
  await f.lane.owners.complete(f.ns, [{ id: 'a', lease: owned!.lease, next: { queue: 'next' } }]);
  await isAllIn('next');
  const [moved] = await f.lease('next');
  const given = { id: 'a', lease: moved?.lease ?? 0, group: 'g', message: 'm' };
  await f.lane.owners.retry(f.ns, given);
  await isAllIn('next');
  await f.lane.changing.change(f.ns, 'a', { queue: 'other' });
  await isAllIn('other');
  await f.fail('a', 'other');
  await isAllIn('other');
  await f.lane.dead.respawnIds(f.ns, ['a'], { tries: 'reset', ttlMs: 0, queue: 'again' });
  await isAllIn('again');
  expect((await f.lease('again')).map(({ id }) => id)).toEqual(['a']);
});

it('Q12: what is due moves by itself, though nobody asks for a job', async () => {
  const real = await EngineFixture.open();
  try {
    const put = (id: string, job: object) =>
      real.engine.full.publishing.publish(real.ns, [{ queue: 'q', body, id, ...job }]);
    const heard = await Listening.to(real.engine, real.ns);
    real.engine.start();
    await put('leased', { tries: 2 });
    await real.reserve('q', { ttrMs: 50 });
    await put('short', { ttlMs: 50, history: true });
    await put('child', { dependsOn: ['short'], onDependencyFailure: 'ignore' });
    await put('late', { delayMs: 50 });
    await real.engine.full.recurrings.set(real.ns, {
      id: 'r',
      schedule: { everyMs: DAY_MS, offsetMs: 50 },
      template: { queue: 'q', body },
    });

    const due = ['timed_out leased', 'expired short', 'ready child', 'ready late', 'published r-1'];
    const told = (): string[] => heard.events.map(({ name, id }) => `${name} ${id}`);
    await waitFor(() => due.every((one) => told().includes(one)), 10_000).catch(() => undefined);
    expect(told()).toEqual(expect.arrayContaining(due));
  } finally {
    await real.close();
  }
});

it('Q13: the time is that of Redis, whatever the clock of a server or a worker says', async () => {
  const now = Date.now;
  for (const aheadMs of [DAY_MS, -DAY_MS]) {
    jest.spyOn(Date, 'now').mockImplementation(() => now() + aheadMs);
    const wrong = await EngineFixture.open();
    try {
      const seconds = Number(((await wrong.pool.read('TIME')) as string[])[0]);
      const isNear = (ms: number | null | undefined, fromNowMs: number): void =>
        expect(Math.abs((ms ?? 0) - seconds * 1_000 - fromNowMs)).toBeLessThan(60_000);
      const publishing = wrong.engine.full.publishing;
      const [late] = await publishing.publish(wrong.ns, [
        { queue: 'q', body, type: 't', delayMs: 3_600_000 },
      ]);
      const [soon] = await publishing.publish(wrong.ns, [{ queue: 'q', body, type: 't', ttlMs: 7_200_000 }]);
      const [job, ...none] = await wrong.reserve('q', { count: 9, ttrMs: 1_800_000 });

      expect([job?.id, none]).toEqual([soon?.id, []]);
      const find = (id = '') => wrong.engine.full.looking.find(wrong.ns, id);
      isNear((await find(soon?.id))?.publishedAtMs, 0);
      isNear((await find(soon?.id))?.leaseEndsAtMs, 1_800_000);
      isNear((await find(soon?.id))?.expiresAtMs, 7_200_000);
      isNear((await find(late?.id))?.dueAtMs, 3_600_000);
    } finally {
      await wrong.close();
      jest.restoreAllMocks();
    }
  }
});

it('Q14: an acknowledgement clears nothing away; what is kept too long goes in steps that are bounded', async () => {
  const steps: number[] = [];
  const observer = { ...silentObserver, script: (name: string) => name === 'full_tick' && steps.push(1) };
  const pumper = await EngineFixture.open({ clock: () => f.nowMs, observer });
  try {
    const jobs = Array.from({ length: 320 }, () => ({ queue: 'q', body, retentionMs: SECOND }));
    for (let i = 0; i < jobs.length; i += 64) await f.lane.publishing.publish(f.ns, jobs.slice(i, i + 64));
    for (let i = 0; i < jobs.length; i += 64) await f.lane.owners.complete(f.ns, await f.lease('q', 64));
    f.fixture.nowMs += 2 * SECOND;
    await f.put('last', { retentionMs: SECOND });
    await f.lane.owners.complete(f.ns, await f.lease());
    expect(await f.counts()).toMatchObject({ ended: 321 });

    await pumper.engine.pumpNow(f.ns);

    expect(await f.counts()).toMatchObject({ ended: 1 });
    expect(steps.length).toBeGreaterThanOrEqual(320 / 64);
  } finally {
    await pumper.close();
  }
});

it('Q16: a job of a recurring one is told of as any other, and waits for what it depends on', async () => {
  await f.put('gate', { queue: 'gates' });
  const heard = await Listening.to(f.fixture.engine, f.ns);
  const template = { queue: 'q', body, dependsOn: ['gate'] };
  await f.lane.recurrings.set(f.ns, { id: 'r', schedule: { everyMs: DAY_MS }, template });
  await f.pass(1);

  expect(await heard.told(1)).toEqual(['published q r-1']);
  expect(await f.find('r-1')).toMatchObject({ state: 'blocked', dependsOn: ['gate'] });
  expect(await f.lease()).toEqual([]);
  await f.work('gates');
  expect(await f.work()).toEqual(['r-1']);
  heard.leave();
});

it('Q17: the name of a worker proves nothing: each lease has a number of its own', async () => {
  const request = { queues: ['q'], count: 1, ttrMs: 10_000, waitMs: 0, worker: 'same' };
  await f.put('a', { tries: 9 });
  const [first] = await f.fixture.engine.reserve(f.ns, request);
  await f.pass(10_000);
  const [second] = await f.fixture.engine.reserve(f.ns, request);
  const stale = { id: 'a', lease: first?.lease ?? 0 };
  const { owners } = f.lane;

  await expect(owners.heartbeat(f.ns, stale)).rejects.toMatchObject(lost);
  await expect(owners.release(f.ns, stale)).rejects.toMatchObject(lost);
  const given = { ...stale, group: 'g', message: 'm' };
  await expect(owners.retry(f.ns, given)).rejects.toMatchObject(lost);
  await expect(owners.fail(f.ns, given)).rejects.toMatchObject(lost);
  expect(await owners.complete(f.ns, [stale])).toEqual(['lease_lost']);
  await expect(f.fixture.engine.ack(f.ns, 'q', 'a', stale.lease)).rejects.toMatchObject(lost);
  expect(await f.find('a')).toMatchObject({ state: 'leased', lease: second?.lease, worker: 'same' });
  expect(await owners.complete(f.ns, [{ id: 'a', lease: second?.lease ?? 0 }])).toEqual(['done']);
});
