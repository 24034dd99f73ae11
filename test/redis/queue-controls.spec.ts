import { Redis } from 'ioredis';
import { FullLaneError } from '../../src/domain/errors.js';
import { purge } from '../../src/redis/scripts/plain.js';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { EngineFixture, type RichJob } from './fixture.js';

let f: EngineFixture;
let redis: Redis;
beforeAll(() => (redis = new Redis(testRedisUrl())));
afterAll(() => redis.quit());
beforeEach(async () => (f = await EngineFixture.withClock()));
afterEach(async () => {
  expect(await Audit.of(redis, f.ns)).toEqual([]);
  await f.close();
});

const full = () => f.engine.full;
const controls = () => f.engine.full.controls;
const purging = () => f.engine.full.purging;

const put = (queue: string, job?: RichJob): Promise<string> => f.put(queue, job);
const counts = (queue?: string) => f.counts(queue);

/** A queue with plain and rich jobs in every state but blocked. */
async function fillAll(): Promise<void> {
  await put('q', { retentionMs: 100_000 });
  await put('q', { retentionMs: 100_000, tries: 1 });
  const [done, dead] = await f.reserve('q', { count: 2 });
  await full().owners.complete(f.ns, [{ id: done?.id ?? '', lease: 1 }]);
  await full().owners.fail(f.ns, { id: dead?.id ?? '', lease: 1, group: 'g', message: '' });
  await f.publish('q');
  await put('q');
  await f.reserve('q', { count: 2 });
  await controls().change(f.ns, 'q', { maxRunningPerKey: 1 });
  for (let i = 0; i < 3; i++) await put('q', { concurrencyKey: 'a' });
  await f.reserve('q', { count: 9 });
  for (const priority of [-1, 0, 1]) await put('q', { priority });
  for (let i = 0; i < 5; i++) await f.publish('q');
  for (const delayMs of [1_000, 5_000_000]) {
    await put('q', { delayMs });
    await f.publish('q', { delayMs });
  }
}

const ALL = { ready: 8, scheduled: 4, leased: 3, dead: 1, blocked: 0, held: 2, done: 1, cancelled: 0 };
const STATES = Object.keys(ALL) as (keyof typeof ALL)[];

describe('a purge', () => {
  it.each(STATES)('removes all jobs that are %s, and no others', async (state) => {
    await fillAll();
    expect(await purging().count(f.ns, 'q', STATES)).toEqual(ALL);

    expect(await purging().purge(f.ns, 'q', [state])).toEqual({
      removed: { [state]: ALL[state] },
      isComplete: true,
    });

    // Whose slot got free is called.
    const called = state === 'leased' ? 1 : 0;
    expect(await purging().count(f.ns, 'q', STATES)).toEqual({
      ...ALL,
      ready: ALL.ready + called,
      held: ALL.held - called,
      [state]: 0,
    });
  });

  it('of every state leaves nothing behind but the settings', async () => {
    await fillAll();

    await purging().purge(f.ns, 'q', STATES);

    expect(await purging().count(f.ns, 'q', STATES)).toEqual(
      Object.fromEntries(STATES.map((state) => [state, 0])),
    );
    await controls().change(f.ns, 'q', { maxRunningPerKey: null });
    await f.engine.pumpNow(f.ns);
    f.nowMs += 70_000_000;
    await f.engine.pumpNow(f.ns);
    expect(await f.engine.tidyNow(f.ns)).toBe(1);
    expect((await f.keys()).filter((key) => !/:(meta|ended|timers|due)$/.test(key))).toEqual([]);
  });

  it('goes on in steps, and finds the end of a long line of both kinds', async () => {
    for (let i = 0; i < 150; i++) await (i % 3 === 0 ? put('q', { priority: i % 2 }) : f.publish('q'));

    expect((await purging().purge(f.ns, 'q', ['ready'], 0)).isComplete).toBe(false);
    expect(await counts()).toMatchObject({ ready: 150 });
    expect((await purging().purge(f.ns, 'q', ['ready'])).removed).toEqual({ ready: 150 });
  });
});

it("destroys a full queue as lmstfy's call does, and what is held up too", async () => {
  await fillAll();

  expect(await f.engine.destroy(f.ns, 'q')).toBe(ALL.ready + ALL.held);

  expect(await counts()).toMatchObject({ ready: 0, held: 0, leased: 3, scheduled: 4, dead: 1 });
});

it('keeps no more ended jobs than it is set to, from then on and of those that are there', async () => {
  const end = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await put('q', { retentionMs: 100_000 });
    const jobs = await f.reserve('q', { count });
    await full().owners.complete(f.ns, jobs);
    await f.engine.pumpNow(f.ns);
  };
  await end(5);
  expect(await counts()).toMatchObject({ ended: 5 });

  await controls().change(f.ns, 'q', { maxKept: 2 });
  await f.engine.pumpNow(f.ns);
  expect(await counts()).toMatchObject({ ended: 2 });
  await end(3);
  expect(await counts()).toMatchObject({ ended: 2 });
});

describe('defaults of a queue', () => {
  const retry = { kind: 'fixed', delayMs: 500 } as const;

  it('hold for a native job that does not say', async () => {
    await controls().change(f.ns, 'q', {
      defaults: { ttlMs: 9_000, tries: 7, ttrMs: 4_000, priority: -5, retry, retentionMs: 1_000 },
    });
    const id = await put('q');

    expect(await full().looking.find(f.ns, id)).toMatchObject({
      expiresAtMs: f.nowMs + 9_000,
      triesLeft: 7,
      priority: -5,
      retry,
    });
    const [job] = await f.reserve('q', { ttrMs: 0, worker: 'w' });
    expect(job?.leaseEndsAtMs).toBe(f.nowMs + 4_000);
    await full().owners.complete(f.ns, [{ id, lease: 1 }]);
    expect((await full().looking.find(f.ns, id))?.state).toBe('done');
  });

  it('send a native job that asks for nothing to the full lane, from whatever server', async () => {
    const native = { ...plain(), isNative: true } as const;
    await f.engine.publish(f.ns, 'q', native);
    await controls().change(f.ns, 'q', { defaults: { tries: 7 } });

    await expect(f.engine.publish(f.ns, 'q', native)).rejects.toThrow(FullLaneError);
    await expect(f.engine.publishMany(f.ns, 'q', [native, native])).rejects.toThrow(FullLaneError);
    await expect(f.engine.publish(f.ns, 'q', native, { idempotencyKey: 'k' })).rejects.toThrow(FullLaneError);
    await f.engine.publish(f.ns, 'other', native);
    expect(await counts()).toMatchObject({ ready: 1 });
  });

  it('leave alone what a job says, and plain jobs', async () => {
    await controls().change(f.ns, 'q', {
      defaults: { ttlMs: 9_000, tries: 7, priority: -5, retentionMs: 1_000 },
    });
    const id = await put('q', { ttlMs: 0, tries: 2, priority: 0, retentionMs: 0 });
    const plain = await f.publish('q', { tries: 4 });

    expect(await full().looking.findMany(f.ns, [id, plain])).toMatchObject([
      { expiresAtMs: null, triesLeft: 2, priority: 0 },
      { expiresAtMs: null, triesLeft: 4, priority: 0 },
    ]);
  });
});

describe('a queue that is drained', () => {
  it('takes no new job until it is empty, through any door', async () => {
    const id = await f.publish('q', { tries: 3 });
    await put('q', { delayMs: 1_000 });
    await controls().drain(f.ns, 'q');
    const refused = { code: 'queue_draining' };

    await expect(f.publish('q')).rejects.toMatchObject(refused);
    await expect(put('q')).rejects.toMatchObject(refused);
    await expect(f.engine.publishMany(f.ns, 'q', [plain(), plain()])).rejects.toMatchObject(refused);
    await expect(f.engine.publish(f.ns, 'q', plain(), { idempotencyKey: 'k' })).rejects.toMatchObject(
      refused,
    );
    await f.publish('other');
    // What is in it stays in it, whatever becomes of it.
    await f.engine.republish(f.ns, 'q', id, plain());
    const [job] = await f.reserve('q');
    await full().settling.say(f.ns, [
      { verb: 'retry', id: job?.id ?? '', lease: 1, options: { group: 'g' } },
    ]);
    await f.reserve('q');
    await f.engine.ack(f.ns, 'q', job?.id ?? '');
    await expect(f.publish('q')).rejects.toMatchObject(refused);
    f.nowMs += 1_000;
    await f.engine.pumpNow(f.ns);
    const [last] = await f.reserve('q');
    await f.engine.ack(f.ns, 'q', last?.id ?? '');

    await f.publish('q');
    await put('q');
    expect(await counts()).toMatchObject({ ready: 2 });
  });

  it('takes new jobs again when it is resumed', async () => {
    await f.publish('q');
    await controls().drain(f.ns, 'q');
    await controls().resume(f.ns, 'q');

    await f.publish('q');
    expect(await counts()).toMatchObject({ ready: 2 });
  });

  it('counts no bytes of what it refuses', async () => {
    const limited = await EngineFixture.withClock({ quotas: { queues: 0, jobsPerQueue: 0, bytes: 1_000 } });
    await limited.publish('q');
    await limited.engine.full.controls.drain(limited.ns, 'q');

    await expect(limited.publish('q')).rejects.toMatchObject({ code: 'queue_draining' });

    expect(await Audit.of(redis, limited.ns)).toEqual([]);
    await limited.close();
  });
});

it('takes the slots of keys along when its namespace is purged: numbers of queues begin anew', async () => {
  await fillAll();
  const slots = async () => (await f.keys()).filter((key) => /:[cw]\d+:/.test(key));
  expect(await slots()).toHaveLength(2);
  const args = { clock_ms: String(f.nowMs), deadline_ms: 0, queue: 'q', limit: 100 };
  for (const kind of ['L', 'h']) await f.pool.run(purge, f.pool.keys.namespace(f.ns), { ...args, kind });

  expect(await slots()).toEqual([]);

  await f.engine.purge.run(f.ns);
  expect(await f.keys()).toEqual([]);
});

describe('a queue is forgotten', () => {
  it('with its settings, when no job is in it', async () => {
    await controls().change(f.ns, 'q', { maxRunning: 1, rate: { rate: 1, periodMs: 1, burst: 1 } });
    await f.engine.pumpNow(f.ns);

    await controls().forget(f.ns, 'q');

    expect(await controls().settings(f.ns, ['q'])).toEqual([null]);
    expect((await f.keys()).filter((key) => !key.endsWith(':meta') && !key.endsWith(':due'))).toEqual([]);
    await expect(controls().forget(f.ns, 'q')).rejects.toMatchObject({ code: 'queue_not_found' });
  });

  it.each([
    ['ready', {}],
    ['scheduled', { delayMs: 1_000 }],
    ['far off', { delayMs: 10_000_000 }],
  ])('but not while a job is %s', async (_name, job) => {
    await f.publish('q', job);

    await expect(controls().forget(f.ns, 'q')).rejects.toMatchObject({ code: 'queue_not_empty' });
    expect(await controls().settings(f.ns, ['q'])).not.toEqual([null]);
  });
});

function plain() {
  return { body: Buffer.from('x'), delayMs: 0, ttlMs: 0, tries: 3 };
}
