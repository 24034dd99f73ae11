import { Redis } from 'ioredis';
import type { Quotas } from '../../src/domain/job.js';
import { testRedisUrl, waitFor } from '../support/redis.js';
import { Audit } from './audit.js';
import { edgeProblems } from './edge-audit.js';
import { EngineFixture } from './fixture.js';
import { Listening } from './events-fixture.js';
import { LaneFixture } from './lane-fixture.js';

/** Beyond all that a test stores: bytes are counted, and nothing is refused. */
const VAST: Quotas = { queues: 0, jobsPerQueue: 0, bytes: 1_000_000 };

let redis: Redis;
beforeAll(() => (redis = new Redis(testRedisUrl())));
afterAll(() => redis.disconnect());

describe('bytes that count for a quota', () => {
  let f: EngineFixture;
  beforeEach(async () => (f = await EngineFixture.withClock({ quotas: VAST })));
  afterEach(() => f.close());

  async function leased(text: string): Promise<{ id: string; lease: number }> {
    await f.engine.full.publishing.publish(f.ns, [{ queue: 'q', body: Buffer.from(text), type: 't' }]);
    const [job] = await f.reserve('q');
    return { id: job?.id ?? '', lease: job?.lease ?? 0 };
  }
  const beat = (ref: { id: string; lease: number }, text: string) =>
    f.engine.full.owners.heartbeat(f.ns, ref, { data: Buffer.from(text) });
  const bytes = async (): Promise<number> =>
    Number(await f.pool.read('HGET', f.pool.keys.namespace(f.ns).meta, 'bytes'));

  it('follow the data of heartbeats, longer and shorter, and go with the job', async () => {
    const job = await leased('four');
    await beat(job, 'x'.repeat(1_000));
    expect(await bytes()).toBe(1_000);
    await beat(job, 'xy');
    expect(await bytes()).toBe(2);
    await f.engine.ack(f.ns, 'q', job.id, job.lease);
    expect(await bytes()).toBe(0);
  });

  it('follow what is said of one job in one breath', async () => {
    const job = await leased('four');
    await Promise.all([beat(job, 'x'.repeat(100)), beat(job, 'x'.repeat(50))]);
    expect(await bytes()).toBe(50);
    await Promise.all([beat(job, 'x'.repeat(70)), f.engine.full.owners.complete(f.ns, [job])]);
    expect(await bytes()).toBe(0);
  });

  it('are not counted of a job that ends as it is published', async () => {
    const [on] = await f.engine.full.publishing.publish(f.ns, [
      { queue: 'q', body: Buffer.from('on'), retentionMs: 60_000 },
    ]);
    await f.engine.full.cancelling.cancel(f.ns, on?.id ?? '');
    const [ended] = await f.engine.full.publishing.publish(f.ns, [
      { queue: 'q', body: Buffer.from('four'), dependsOn: [on?.id ?? ''], onDependencyFailure: 'cancel' },
    ]);
    expect(ended?.state).toBe('cancelled');
    expect(await bytes()).toBe(2);
    expect(await Audit.of(redis, f.ns)).toEqual([]);
  });
});

describe('jobs with ids of their own', () => {
  let f: LaneFixture;
  beforeEach(async () => (f = await LaneFixture.open()));
  afterEach(async () => {
    expect(await edgeProblems(redis, f.ns)).toEqual([]);
    expect(await Audit.of(redis, f.ns)).toEqual([]);
    await f.close();
  });

  it('know that a dead job that they wait for was purged, and do not wait for it to be done', async () => {
    await f.put('on');
    await f.put('waits', { dependsOn: ['on'] });
    await f.fail('on');
    expect(await f.find('waits')).toMatchObject({ dependsOn: [], failedDependencies: { on: 'died' } });

    await f.lane.purging.purge(f.ns, 'q', ['dead']);
    await f.pump();

    expect(await f.find('waits')).toMatchObject({ dependsOn: [], failedDependencies: { on: 'deleted' } });
  });

  it('are purged with their dependents, and leave nothing behind', async () => {
    await f.put('on');
    await f.put('waits', { dependsOn: ['on'] });
    await f.fail('on');
    await f.lane.purging.purge(f.ns, 'q', ['dead', 'blocked']);
    await f.pump();
    expect(await f.leftovers()).toEqual([]);
  });

  it('are not acknowledged by who comes late, when what they are about has changed since', async () => {
    await f.put('a', { unique: { key: 'k', mode: 'debounce' }, tries: 5 });
    for (const change of [
      () => f.put('b', { unique: { key: 'k', mode: 'debounce' } }),
      () => f.lane.changing.change(f.ns, 'a', { data: { body: Buffer.from('other') } }),
    ]) {
      const [late] = await f.lease();
      await f.pass(10_000);
      await change();
      const ref = { id: 'a', lease: late?.lease ?? 0 };
      await expect(f.lane.owners.heartbeat(f.ns, ref)).rejects.toMatchObject({ code: 'lease_lost' });
    }
    expect(await f.counts()).toMatchObject({ ready: 1, leased: 0 });
  });

  it('are cancelled when their last lease runs out in the time of grace', async () => {
    await f.put('a', { tries: 1, retentionMs: 60_000 });
    await f.lease();
    await f.lane.cancelling.cancel(f.ns, 'a', { graceMs: 30_000 });
    await f.pass(10_000);
    expect(await f.find('a')).toMatchObject({ state: 'cancelled' });
  });

  it('keep what is logged about them as it came', async () => {
    await f.put('a');
    const data = {
      n: 1_234_567_890_123_456,
      none: [],
      deep: JSON.parse('['.repeat(1_500) + ']'.repeat(1_500)) as unknown,
    };
    await f.lane.changing.log(f.ns, 'a', 'line', data);
    expect((await f.find('a'))?.timeline.at(-1)).toEqual({
      what: 'log',
      atMs: f.nowMs,
      message: 'line',
      data,
    });
  });

  it('are touched in no other queue by a unique key that counts for its own only', async () => {
    await f.put('a', { unique: { key: 'k', mode: 'reject' } });
    for (const mode of ['replace', 'debounce'] as const) {
      const job = { queue: 'other', unique: { key: 'k', mode, isOwnQueueOnly: true } };
      await expect(f.put('b', job)).rejects.toMatchObject({ code: 'unique_key_taken' });
      await f.put(mode, { ...job, queue: 'q', body: Buffer.from(mode) });
    }
    expect(await f.find('replace')).toMatchObject({ state: 'ready', body: Buffer.from('debounce') });
    expect(await f.counts('other')).toMatchObject({ ready: 0 });
  });
});

describe('rates', () => {
  const RATE = { rate: 1, periodMs: 3_600_000, burst: 2 };
  let f: LaneFixture;
  beforeEach(async () => (f = await LaneFixture.open()));
  afterEach(() => f.close());

  it('hold nothing up when the clock is set back by a day', async () => {
    await f.lane.controls.change(f.ns, 'q', { rate: { rate: 1, periodMs: 100, burst: 2 } });
    for (const id of 'abcdef') await f.put(id);
    expect(await f.lease()).toHaveLength(2);

    f.fixture.nowMs -= 500;
    expect(await f.lease()).toHaveLength(0);
    f.fixture.nowMs -= 86_400_000;

    expect(await f.lease()).toHaveLength(2);
    expect(await f.lease()).toHaveLength(0);
    await f.pass(200);
    expect(await f.lease()).toHaveLength(2);
  });

  it('of a key hold nothing up by what it owed to another rate', async () => {
    await f.lane.controls.change(f.ns, 'q', { ratePerKey: RATE });
    for (const id of 'abcd') await f.put(id, { concurrencyKey: 'k' });
    expect(await f.lease()).toHaveLength(2);
    await f.lane.controls.change(f.ns, 'q', { ratePerKey: { rate: 10, periodMs: 1_000, burst: 2 } });
    await f.pump();

    await f.pass(200);
    expect(await f.lease()).toHaveLength(2);
  });
});

describe('a stream of events that is made anew by a clock that is behind', () => {
  it('is followed from its beginning, and said to have a gap', async () => {
    const f = await EngineFixture.open({ eventsKeepMs: 3_000 });
    const heard = await Listening.to(f.engine, f.ns);
    const { events } = f.pool.keys.namespace(f.ns);
    const fields = ['e', 'acked', 'q', 'q', 'i', '', 't', '', 'g', '', 'd', ''];
    await f.pool.read('XADD', events, `${String(Date.now() + 3_600_000)}-1`, ...fields);
    await heard.told(1);

    await f.pool.read('DEL', events);
    await waitFor(async () => (await f.pool.read('EXISTS', events)) === 1, 5_000);
    await f.pool.read('XADD', events, '*', ...fields);

    await heard.told(2);
    expect(heard.gaps).toEqual([1]);
    await f.close();
  });
});
