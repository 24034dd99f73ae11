import type { LeasedJob, LeaseRequest } from '../../src/domain/job/job.js';
import { waitFor } from '../support/redis.js';
import { EngineFixture } from './fixture.js';

const LONG_MS = 3_600_000;

describe('a lease request that lingers', () => {
  let f: EngineFixture;
  beforeEach(async () => {
    f = await EngineFixture.withClock();
  });
  afterEach(async () => {
    const problems = await f.audit();
    await f.close();
    expect(problems).toEqual([]);
  });

  const flags = async (): Promise<string[]> =>
    ((await f.pool.read('HKEYS', f.pool.keys.namespace(f.ns).waiting)) as string[]).sort();
  const dropFlags = (): Promise<unknown> => f.pool.read('DEL', f.pool.keys.namespace(f.ns).waiting);
  const texts = (jobs: readonly LeasedJob[]): string[] => jobs.map(({ body }) => body.toString());
  /** All that is stored, but for the flags of servers that wait and the times of lease requests. */
  const stored = () => f.stored(/\}:(?:waiting|requested.*)$/);
  /** Ends at once by its signal, after one fetch. */
  const fetchOnce = async (request: Partial<LeaseRequest>): Promise<void> => {
    const end = new AbortController();
    await dropFlags();
    const jobs = f.lease('q', {
      ...{ count: 10, waitMs: LONG_MS, linger: { ms: LONG_MS, min: 10 }, signal: end.signal },
      ...request,
    });
    await waitFor(async () => (await flags()).length > 0);
    end.abort();
    expect(await jobs).toEqual([]);
  };

  it('changes nothing in Redis while it finds too few jobs', async () => {
    await f.engine.queues.change(f.ns, 'q', {
      maxRunningPerKey: 9,
      rate: { rate: 5, periodMs: 1_000, burst: 5 },
    });
    for (let i = 0; i < 6; i++) {
      await f.put('q', { priority: i % 3, type: i % 2 ? 'a' : 'b', concurrencyKey: 'k', history: true });
      await f.publish('q', { text: String(i) });
    }
    const before = await stored();
    await fetchOnce({});
    await fetchOnce({ queues: ['other', 'q'], inTurns: true });
    expect(await stored()).toEqual(before);
    expect(await f.counts()).toMatchObject({ ready: 12, leased: 0 });
  });

  it('registers its server for the next job, of all its queues', async () => {
    await f.publish('q');
    await fetchOnce({ queues: ['q', 'other'] });
    expect(await flags()).toEqual(['other', 'q']);
  });

  it('registers its server for each type, and in queues that are not ordered by type yet', async () => {
    await f.put('q', { type: 'a' });
    await f.put('later', { type: 'x' });
    await f.lease('later');
    await f.lease('q', { types: ['none'] });
    await fetchOnce({ queues: ['q', 'later'], types: ['a', 'b'] });
    const found = await flags();
    expect(found).toEqual(expect.arrayContaining(['later', 'q', 'q a', 'q b']));
  });

  it('leases at once what fills an answer, also if it is less than its minimum', async () => {
    const body = Buffer.alloc(1_500_000);
    for (let i = 0; i < 4; i++) await f.publish('q', { body });
    expect(await f.lease('q', { count: 4, linger: { ms: LONG_MS, min: 4 } })).toHaveLength(3);
  });

  it('gets jobs that were held for a slot of their key, when one is free', async () => {
    await f.engine.queues.change(f.ns, 'q', { maxRunningPerKey: 1 });
    for (const text of ['1', '2']) await f.put('q', { text, concurrencyKey: 'k' });
    await f.put('q', { text: '3' });
    const [running] = await f.lease('q');
    const waiting = f.lease('q', { count: 2, waitMs: LONG_MS, linger: { ms: LONG_MS, min: 2 } });
    await waitFor(async () => (await flags()).length > 0);
    await f.engine.ack(f.ns, 'q', running!.id);
    expect(texts(await waiting).sort()).toEqual(['2', '3']);
  });

  it('gets more jobs than one script takes, beyond its minimum', async () => {
    for (let i = 0; i < 90; i++) await f.publish('q');
    expect(await f.lease('q', { count: 80, linger: { ms: LONG_MS, min: 60 } })).toHaveLength(80);
  });

  it.each([
    ['min', { ms: 1, min: 3 }],
    ['min', { ms: 1, min: 0 }],
    ['ms', { ms: -1, min: 2 }],
    ['ms', { ms: 0.5, min: 2 }],
  ])('is refused with an invalid %s: %j', async (field, linger) => {
    await expect(f.lease('q', { count: 2, linger })).rejects.toThrow(`linger.${field}`);
  });
});
