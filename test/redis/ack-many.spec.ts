import { Redis } from 'ioredis';
import type { Ack, LeasedJob } from '../../src/domain/job.js';
import { silentObserver } from '../../src/engine/observer.js';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { EngineFixture, newJob } from './fixture.js';

describe('many acknowledgements in one call', () => {
  let f: EngineFixture;
  let redis: Redis;
  const scripts: string[] = [];
  const stale: string[] = [];
  beforeEach(async () => {
    scripts.length = stale.length = 0;
    redis = new Redis(testRedisUrl(), { protocol: 2 });
    const observer = {
      ...silentObserver,
      script: (name: string): void => void scripts.push(name),
      staleAck: (_namespace: string, kind: string): void => void stale.push(kind),
    };
    f = await EngineFixture.withClock({ observer });
  });
  afterEach(async () => {
    expect(await Audit.of(redis, f.ns)).toEqual([]);
    redis.disconnect();
    await f.close();
  });

  async function lease(queue: string, count: number): Promise<LeasedJob[]> {
    for (let left = count; left > 0; left -= 50) {
      const jobs = Array.from({ length: Math.min(left, 50) }, () => newJob({ tries: 3 }));
      await f.engine.publishMany(f.ns, queue, jobs);
    }
    const leased: LeasedJob[] = [];
    while (leased.length < count) leased.push(...(await f.reserve(queue, { count: 100 })));
    return leased;
  }

  const ackOf = ({ queue, id, lease: number }: LeasedJob): Ack => ({ queue, id, lease: number });

  it('are a thousand, in eight scripts, and nothing is left of the jobs', async () => {
    const leased = await lease('q', 1_000);
    scripts.length = 0;
    const results = await f.engine.ackMany(f.ns, leased.map(ackOf));

    expect(results).toEqual(leased.map(() => 'acked'));
    expect(scripts).toEqual(new Array<string>(8).fill('ack'));
    await f.engine.tidyNow(f.ns);
    expect(await f.keys()).toEqual([]);
  });

  it('are no more than a thousand: then nothing has happened', async () => {
    const leased = await lease('q', 1);
    const acks = new Array<Ack>(1_001).fill(ackOf(leased[0]!));

    await expect(f.engine.ackMany(f.ns, acks)).rejects.toMatchObject({ code: 'invalid_argument' });
    expect(await f.engine.counts(f.ns, ['q'])).toMatchObject([{ leased: 1 }]);
  });

  it.each([
    ['a lease below 0', { lease: -1 }],
    ['a lease of more than 32 bits', { lease: 2 ** 32 }],
    ['a lease that is no whole number', { lease: 1.5 }],
    ['a queue that would be two', { queue: 'a,b' }],
  ])('are refused whole for %s, before anything happens', async (_name, wrong) => {
    const [one, other] = await lease('q', 2);
    const acks = [ackOf(one!), { ...ackOf(other!), ...wrong }];

    await expect(f.engine.ackMany(f.ns, acks)).rejects.toMatchObject({ code: 'invalid_argument' });
    expect(await f.engine.counts(f.ns, ['q'])).toMatchObject([{ leased: 2 }]);
  });

  it('have a result each, in order; what fails changes nothing', async () => {
    const [one, lost, any, wrongQueue] = await lease('q', 4);
    const [other] = await lease('p', 1);
    const ready = await f.publish('p');
    const scheduled = await f.publish('p', { delayMs: 1_000 });
    const far = await f.publish('p', { delayMs: 3_600_000 });
    const acks: Ack[] = [
      ackOf(one!),
      { ...ackOf(lost!), lease: lost!.lease + 1 },
      { queue: 'q', id: any!.id },
      { ...ackOf(wrongQueue!), queue: 'p' },
      ackOf(other!),
      { queue: 'p', id: ready },
      { queue: 'p', id: ready },
      { queue: 'p', id: scheduled },
      { queue: 'p', id: far },
      { queue: 'p', id: 'never-was' },
      { queue: 'none', id: one!.id },
      { queue: 'p', id: 'not an id' },
      { queue: 'p', id: '' },
    ];

    expect(await f.engine.ackMany(f.ns, acks)).toEqual([
      'acked',
      'lease_lost',
      'acked',
      'not_found',
      'acked',
      'acked',
      'not_found',
      'acked',
      'acked',
      'not_found',
      'not_found',
      'not_found',
      'not_found',
    ]);
    expect(stale).toEqual(['refused']);
    expect(await f.engine.counts(f.ns, ['q', 'p'])).toMatchObject([
      { ready: 0, leased: 2 },
      { ready: 0, leased: 0, scheduled: 0 },
    ]);
    // Who holds them may still say that they are done.
    expect(await f.engine.ackMany(f.ns, [ackOf(lost!), ackOf(wrongQueue!)])).toEqual(['acked', 'acked']);
  });

  it('of two queues in turn are each looked for in their own', async () => {
    const [q0, q1] = await lease('q', 2);
    const [p0, p1] = await lease('p', 2);

    const acks = [q0, p0, q1, p1].map((job) => ackOf(job!));
    expect(await f.engine.ackMany(f.ns, acks)).toEqual(['acked', 'acked', 'acked', 'acked']);
  });

  it('refuse a stale owner among others, whose job another worker has by now', async () => {
    const leased = await lease('q', 3);
    f.nowMs += 60_000;
    await f.engine.pumpNow(f.ns);
    const again = await f.reserve('q', { count: 2 });
    const results = await f.engine.ackMany(f.ns, [...leased, ...again].map(ackOf));

    // The third waits for its next try: a lease that has run out is lost.
    expect(results).toEqual(['lease_lost', 'lease_lost', 'lease_lost', 'acked', 'acked']);
    expect(await f.engine.counts(f.ns, ['q'])).toMatchObject([{ ready: 1, leased: 0 }]);
  });

  it('of an item that stands there twice count once', async () => {
    const [job] = await lease('q', 1);

    expect(await f.engine.ackMany(f.ns, [ackOf(job!), ackOf(job!)])).toEqual(['acked', 'not_found']);
    expect(await f.engine.ackMany(f.ns, [])).toEqual([]);
  });
});
