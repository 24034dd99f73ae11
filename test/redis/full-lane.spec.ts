import { Redis } from 'ioredis';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { EngineFixture, newJob, type RichJob } from './fixture.js';

let f: EngineFixture;
const redis = new Redis(testRedisUrl(), { protocol: 2 });
afterAll(() => redis.quit());
beforeEach(async () => (f = await EngineFixture.withClock()));
afterEach(async () => {
  expect(await Audit.of(redis, f.ns)).toEqual([]);
  await f.close();
});

const full = () => f.engine.full;

const put = (queue: string, job?: RichJob): Promise<string> => f.put(queue, job);

async function lease(queue: string, count = 1, worker = '') {
  return f.engine.reserve(f.ns, { queues: queue.split(','), count, ttrMs: 10_000, waitMs: 0, worker });
}

it('leases what was published, and acknowledges it', async () => {
  const id = await put('q', { text: 'hello', type: 'mail', tags: ['a', 'b'] });

  const [job] = await lease('q', 1, 'w1');

  expect(job).toMatchObject({
    id,
    lease: 1,
    triesLeft: 2,
    attempts: 1,
    rich: { type: 'mail', tags: ['a', 'b'] },
  });
  expect(job?.body.toString()).toBe('hello');
  expect(await f.engine.ack(f.ns, 'q', id, 1)).toBe(true);
  expect(await full().looking.find(f.ns, id)).toBeNull();
});

describe('an id that was chosen', () => {
  const publishLeased = async (isPlain = false) => {
    if (isPlain) await f.publish('q', { id: 'order-17' });
    else await full().publishing.publish(f.ns, [{ queue: 'q', id: 'order-17', body: Buffer.from('x') }]);
    const [job] = await lease('q');
    return { id: 'order-17', lease: job!.lease };
  };

  it.each([
    ['plain', true, true],
    ['rich', false, false],
    ['rich, after a plain one', true, false],
    ['plain, after a rich one', false, true],
  ])('is one that no owner of a former job with it can speak for: %s', async (_name, wasPlain, isPlain) => {
    const late = await publishLeased(wasPlain);
    await f.engine.ack(f.ns, 'q', 'order-17', late.lease);
    f.nowMs += 1;
    const present = await publishLeased(isPlain);

    expect(present.lease).toBeGreaterThan(late.lease);
    await expect(full().owners.heartbeat(f.ns, late)).rejects.toMatchObject({ code: 'lease_lost' });
    expect(await full().owners.complete(f.ns, [late])).toEqual(['lease_lost']);
    expect(await f.engine.ackMany(f.ns, [{ queue: 'q', ...late }])).toEqual(['lease_lost']);
    expect(await f.engine.ackMany(f.ns, [{ queue: 'q', ...present }])).toEqual(['acked']);
  });

  it('shows no number of a lease before there is one', async () => {
    await full().publishing.publish(f.ns, [{ queue: 'q', id: 'mine', body: Buffer.from('x') }]);

    expect(await full().looking.find(f.ns, 'mine')).toMatchObject({ attempts: 0, lease: 0 });
    const [job] = await lease('q');
    expect(await full().looking.find(f.ns, 'mine')).toMatchObject({ attempts: 1, lease: job!.lease });
  });

  it('is leased under numbers of 32 bits, however late it is', async () => {
    f.nowMs = Math.ceil(f.nowMs / 2 ** 31) * 2 ** 31 - 1;
    const { lease: last } = await publishLeased();

    expect(last).toBe(2 ** 31);
    await f.engine.ack(f.ns, 'q', 'order-17');
    f.nowMs += 1;
    expect(await publishLeased()).toMatchObject({ lease: 1 });
  });
});

it('gives a lower priority first, and equal ones in the order of their publish', async () => {
  const ids: string[] = [];
  for (const priority of [5, 0, -3, 0, -3, 5]) ids.push(await put('q', { priority }));

  const jobs = await lease('q', 6);

  expect(jobs.map(({ id }) => ids.indexOf(id))).toEqual([2, 4, 1, 3, 0, 5]);
});

it('serves a plain consumer of a full queue, who may acknowledge too', async () => {
  const id = await put('q', { priority: 1 });
  const plain = await f.publish('q');

  const jobs = await f.reserve('q', { count: 2 });

  expect(jobs.map((job) => job.id)).toEqual([plain, id]);
  expect(
    await f.engine.ackMany(
      f.ns,
      jobs.map((job) => ({ queue: 'q', id: job.id, lease: job.lease })),
    ),
  ).toEqual(['acked', 'acked']);
});

it('brings a lease that ran out back, and counts it as a crash', async () => {
  const id = await put('q', { tries: 2, type: 't' });
  await lease('q');
  f.nowMs += 10_001;
  await f.engine.pumpNow(f.ns);
  expect(await full().looking.find(f.ns, id)).toMatchObject({ state: 'ready', crashes: 1, triesLeft: 1 });
  await lease('q');
  f.nowMs += 10_001;
  await f.engine.pumpNow(f.ns);

  const job = await full().looking.find(f.ns, id);

  expect(job).toMatchObject({ state: 'dead', crashes: 2, triesLeft: 0 });
  expect(job?.timeline.map(({ what }) => what)).toEqual([
    'published',
    'leased',
    'timed_out',
    'leased',
    'timed_out',
    'died',
  ]);
  expect((await f.engine.counts(f.ns, ['q']))[0]).toMatchObject({ ready: 0, leased: 0, dead: 1 });
});

it('schedules, and makes ready in time, by priority', async () => {
  await put('q', { delayMs: 1_000, priority: 2 });
  const first = await put('q', { delayMs: 2_000, priority: -2 });
  expect(await lease('q')).toEqual([]);
  f.nowMs += 2_000;
  await f.engine.pumpNow(f.ns);

  expect((await lease('q'))[0]?.id).toBe(first);
});

it('removes what expires, in whatever state', async () => {
  const ids = [
    await put('q', { ttlMs: 500 }),
    await put('q', { ttlMs: 500, delayMs: 400 }),
    await put('q', { ttlMs: 500, priority: 3 }),
  ];
  await lease('q');
  f.nowMs += 501;
  await f.engine.pumpNow(f.ns);

  expect(await full().looking.findMany(f.ns, ids)).toEqual([null, null, null]);
  expect(await f.engine.tidyNow(f.ns)).toBe(1);
});

it('retries by its policy, and dies when no try is left', async () => {
  const id = await put('q', { tries: 3, retry: { kind: 'exponential', delayMs: 1_000, factor: 3 } });
  const say = (leaseNumber: number) =>
    full().settling.say(f.ns, [
      { verb: 'retry', id, lease: leaseNumber, options: { group: 'g', message: 'm' } },
    ]);
  const due: (number | null | undefined)[] = [];
  for (let i = 0; i < 3; i++) {
    const [job] = await lease('q');
    const [settled] = await say(job?.lease ?? 0);
    due.push(settled?.state === 'scheduled' ? settled.atMs - f.nowMs : null);
    f.nowMs += 10_000;
    await f.engine.pumpNow(f.ns);
  }

  expect(due).toEqual([1_000, 3_000, null]);
  expect(await full().looking.find(f.ns, id)).toMatchObject({
    state: 'dead',
    failures: 3,
    crashes: 0,
    failure: { group: 'g', message: 'm' },
  });
});

it('refuses a stale lease, which changes nothing', async () => {
  const id = await put('q', { type: 't' });
  const [first] = await lease('q');
  await full().settling.say(f.ns, [{ verb: 'release', id, lease: first?.lease ?? 0 }]);
  const before = await full().looking.find(f.ns, id);

  for (const verb of ['ack', 'release', 'retry', 'fail', 'beat'] as const) {
    const [settled] = await full().settling.say(f.ns, [
      { verb, id, lease: first?.lease ?? 0, options: { group: 'g' } },
    ]);
    expect(settled?.code).toBe(2);
  }
  expect(await full().looking.find(f.ns, id)).toEqual(before);
  expect(before).toMatchObject({ state: 'ready', triesLeft: 3 });
});

it('lets a late owner go on until somebody else begins', async () => {
  const id = await put('q', { type: 't' });
  const [job] = await lease('q');
  f.nowMs += 10_001;
  await f.engine.pumpNow(f.ns);
  const beat = {
    verb: 'beat',
    id,
    lease: job?.lease ?? 0,
    options: { ttr_ms: 5_000, progress: '{"done":1}' },
  } as const;

  const [late] = await full().settling.say(f.ns, [beat]);

  expect(late).toMatchObject({ code: 1, state: 'leased', atMs: f.nowMs + 5_000 });
  expect(await lease('q')).toEqual([]);
  f.nowMs += 5_001;
  await f.engine.pumpNow(f.ns);
  expect(await lease('q')).toHaveLength(1);
  expect((await full().settling.say(f.ns, [beat]))[0]?.code).toBe(2);
});

it('keeps a done job with its result', async () => {
  const id = await put('q', { retentionMs: 60_000 });
  const [job] = await lease('q', 1, 'w');
  await full().settling.say(f.ns, [
    {
      verb: 'ack',
      id,
      lease: job?.lease ?? 0,
      options: { has_result: true, rtype: 'text/plain' },
      bytes: Buffer.from('42'),
    },
  ]);

  const done = await full().looking.find(f.ns, id);

  expect(done).toMatchObject({ state: 'done', result: { contentType: 'text/plain' } });
  expect(done?.result?.body.toString()).toBe('42');
});

it('moves a job on to another queue', async () => {
  const id = await put('q', { tries: 2 });
  const [job] = await lease('q', 1, 'w');
  await full().settling.say(f.ns, [
    { verb: 'ack', id, lease: job?.lease ?? 0, options: { next: { queue: 'next', delay_ms: 0 } } },
  ]);

  expect((await lease('next'))[0]).toMatchObject({ id, triesLeft: 1, attempts: 1, queue: 'next' });
  expect((await full().looking.find(f.ns, id))?.timeline.map(({ what }) => what)).toEqual([
    'published',
    'leased',
    'moved',
    'leased',
  ]);
});

it('puts a plain job in the place of a rich one', async () => {
  const old = await put('q', { type: 't', delayMs: 5_000 });

  const id = await f.engine.republish(f.ns, 'q', old, newJob());

  expect(await full().looking.findMany(f.ns, [old, id])).toMatchObject([null, { id, state: 'ready' }]);
  const again = f.engine.republish(f.ns, 'q', id, newJob(), { idempotencyKey: 'k' });
  await expect(again).rejects.toMatchObject({ code: 'invalid_argument' });
});

it('makes a plain job rich when a worker names itself', async () => {
  const id = await f.publish('p');
  const [job] = await lease('p', 1, 'w');

  expect(await full().looking.find(f.ns, id)).toMatchObject({ state: 'leased', worker: 'w' });
  await f.engine.undo(f.ns, job ? [job] : []);
  expect(await full().looking.find(f.ns, id)).toMatchObject({ state: 'ready', attempts: 0 });
  expect((await f.reserve('p'))[0]?.id).toBe(id);
});
