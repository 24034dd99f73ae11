import type { NewRichJob } from '../../src/domain/rich-job.js';
import type { LeasedJob } from '../../src/domain/job.js';
import { EngineFixture, type RichJob } from './fixture.js';

let f: EngineFixture;
beforeEach(async () => (f = await EngineFixture.withClock()));
afterEach(() => f.close());

const full = () => f.engine.full;
const controls = () => f.engine.full.controls;

const put = (queue: string, job?: RichJob): Promise<string> => f.put(queue, job);
function lease(queue = 'q', count = 1): Promise<LeasedJob[]> {
  return f.engine.reserve(f.ns, { queues: [queue], count, ttrMs: 10_000, waitMs: 0 });
}

const counts = (queue?: string) => f.counts(queue);
const stateOf = async (id: string) => (await f.find(id))?.state;
const pass = (ms: number): Promise<void> => f.pass(ms);

describe('a paused queue', () => {
  it('gives no job, plain or rich, and takes new ones', async () => {
    await f.publish('q');
    await controls().pause(f.ns, 'q');
    await f.publish('q');
    await put('q', { priority: -1 });

    expect(await lease('q', 5)).toEqual([]);
    expect(await counts()).toMatchObject({ ready: 3, leased: 0 });
    await controls().resume(f.ns, 'q');
    expect(await lease('q', 5)).toHaveLength(3);
  });

  it('lets who has a job go on', async () => {
    await put('q');
    const [job] = await lease();
    await controls().pause(f.ns, 'q');

    await full().owners.heartbeat(f.ns, { id: job?.id ?? '', lease: 1 });
    expect(await f.engine.ack(f.ns, 'q', job?.id ?? '', 1)).toBe(true);
  });

  it('is remembered although it is empty', async () => {
    await controls().pause(f.ns, 'q');

    expect(await f.engine.tidyNow(f.ns)).toBe(0);
    const [settings, none] = await controls().settings(f.ns, ['q', 'other']);
    expect(settings).toMatchObject({ pausedAtMs: f.nowMs, maxRunning: null, defaults: {} });
    expect(none).toBeNull();
    await controls().resume(f.ns, 'q');
    await f.engine.pumpNow(f.ns);
    expect(await f.engine.tidyNow(f.ns)).toBe(1);
  });
});

describe('a limit on running jobs', () => {
  it('counts plain and rich ones, those too that ran before it was set', async () => {
    for (let i = 0; i < 3; i++) await f.publish('q');
    await lease();
    await put('q');
    await controls().change(f.ns, 'q', { maxRunning: 3 });

    expect(await lease('q', 5)).toHaveLength(2);
    expect(await lease('q', 5)).toEqual([]);
    await controls().change(f.ns, 'q', { maxRunning: null });
    expect(await lease('q', 5)).toHaveLength(1);
  });

  it.each(['ack', 'release', 'retry', 'fail', 'undo'] as const)('has a free slot after %s', async (verb) => {
    await controls().change(f.ns, 'q', { maxRunning: 1 });
    await put('q');
    await put('q');
    const [job] = await lease('q', 2);
    expect(await lease()).toEqual([]);

    await full().settling.say(f.ns, [{ verb, id: job?.id ?? '', lease: 1, options: { group: 'g' } }]);

    expect(await lease('q', 2)).toHaveLength(1);
  });

  it('refuses a late owner whose slot is taken (Q3)', async () => {
    await controls().change(f.ns, 'q', { maxRunning: 1 });
    const id = await put('q', { tries: 5 });
    await lease();
    await pass(10_001);
    await put('q', { priority: -1 });
    expect(await lease()).toHaveLength(1);

    const beat = full().owners.heartbeat(f.ns, { id, lease: 1 });

    await expect(beat).rejects.toMatchObject({ code: 'lease_lost' });
    expect(await counts()).toMatchObject({ leased: 1, ready: 1 });
  });
});

describe('a limit per concurrency key', () => {
  it('holds up only jobs of the same key, and calls them in their order', async () => {
    await controls().change(f.ns, 'q', { maxRunningPerKey: 1 });
    const [a1, a2, a3] = [await put('q', ckey('a')), await put('q', ckey('a')), await put('q', ckey('a'))];
    const b1 = await put('q', ckey('b'));
    const free = await put('q');

    const first = await lease('q', 9);

    expect(first.map(({ id }) => id)).toEqual([a1, b1, free]);
    expect(await counts()).toMatchObject({ ready: 0, leased: 3, held: 2 });
    const last = await put('q');
    await f.engine.ack(f.ns, 'q', a1, 1);
    expect(await stateOf(a2)).toBe('ready');
    expect((await lease('q', 9)).map(({ id }) => id)).toEqual([a2, last]);
    await f.engine.ack(f.ns, 'q', a2, 1);
    expect((await lease('q', 9)).map(({ id }) => id)).toEqual([a3]);
  });

  it('gives the slot of a called job that goes before it runs to the next', async () => {
    await controls().change(f.ns, 'q', { maxRunningPerKey: 1 });
    const ids = [await put('q', ckey('a')), await put('q', ckey('a')), await put('q', ckey('a'))];
    await lease('q', 9);
    await f.engine.ack(f.ns, 'q', ids[0] ?? '', 1);

    await f.engine.ack(f.ns, 'q', ids[1] ?? '');

    expect(await stateOf(ids[2] ?? '')).toBe('ready');
    expect(await lease('q', 9)).toHaveLength(1);
  });

  it('calls who is held up when it is raised or taken away', async () => {
    await controls().change(f.ns, 'q', { maxRunningPerKey: 1 });
    for (let i = 0; i < 30; i++) await put('q', ckey(i % 2 === 0 ? 'a' : 'b'));
    expect(await lease('q', 100)).toHaveLength(2);

    await controls().change(f.ns, 'q', { maxRunningPerKey: 4 });
    await f.engine.pumpNow(f.ns);
    expect(await counts()).toMatchObject({ ready: 6, held: 22 });
    expect(await lease('q', 100)).toHaveLength(6);
    await controls().change(f.ns, 'q', { maxRunningPerKey: null });
    await f.engine.pumpNow(f.ns);
    expect(await counts()).toMatchObject({ ready: 22, held: 0 });
    expect(await lease('q', 100)).toHaveLength(22);
  });

  it('goes past more jobs of a full key than one step looks at', async () => {
    await controls().change(f.ns, 'q', { maxRunningPerKey: 1 });
    for (let i = 0; i < 4; i++) {
      const jobs = Array.from({ length: 50 }, () => ({ queue: 'q', body: Buffer.from('x'), ...ckey('a') }));
      await full().publishing.publish(f.ns, jobs);
    }
    const other = await put('q');
    await lease();

    expect((await lease()).map(({ id }) => id)).toEqual([other]);
    expect(await counts()).toMatchObject({ held: 199, ready: 0 });
  });

  it('tells an owner that his lease is lost when his job is held up', async () => {
    await controls().change(f.ns, 'q', { maxRunningPerKey: 1 });
    const id = await put('q', { ...ckey('a'), tries: 5 });
    await lease();
    await pass(10_001);
    await put('q', { ...ckey('a'), priority: -1 });
    await lease();
    await lease();
    expect(await stateOf(id)).toBe('held');

    await expect(full().owners.heartbeat(f.ns, { id, lease: 1 })).rejects.toMatchObject({
      code: 'lease_lost',
    });
  });
});

describe('a key that is full', () => {
  it('refuses a late owner whose slot is taken', async () => {
    await controls().change(f.ns, 'q', { maxRunningPerKey: 1 });
    const id = await put('q', { ...ckey('a'), tries: 5 });
    const other = await put('q', ckey('a'));
    await lease();
    await pass(10_001);
    expect((await lease()).map((job) => job.id)).toEqual([other]);
    expect(await stateOf(id)).toBe('ready');

    await expect(full().owners.heartbeat(f.ns, { id, lease: 1 })).rejects.toMatchObject({
      code: 'lease_lost',
    });
  });

  it('has no slot for newcomers while one who was called is about to run', async () => {
    await controls().change(f.ns, 'q', { maxRunningPerKey: 1 });
    const ids = [await put('q', ckey('a')), await put('q', ckey('a'))];
    await lease('q', 9);
    await f.engine.ack(f.ns, 'q', ids[0] ?? '', 1);
    const urgent = await put('q', { ...ckey('a'), priority: -1 });

    expect((await lease('q', 9)).map(({ id }) => id)).toEqual([ids[1]]);
    expect(await stateOf(urgent)).toBe('held');
  });

  it('does not let newcomers overtake those who are held up by its rate', async () => {
    await controls().change(f.ns, 'q', { ratePerKey: { rate: 1, periodMs: 1_000, burst: 1 } });
    const ids = [await put('q', ckey('a')), await put('q', ckey('a'))];
    await lease('q', 9);
    f.nowMs += 1_000;
    const urgent = await put('q', { ...ckey('a'), priority: -1 });

    // The clock has not come yet: the slot is there, but it is not for the newcomer.
    expect((await lease('q', 1)).map(({ id }) => id)).toEqual([]);
    await f.engine.pumpNow(f.ns);
    expect((await lease('q', 9)).map(({ id }) => id)).toEqual([ids[1]]);
    expect(await stateOf(urgent)).toBe('held');
  });
});

describe('a rate', () => {
  const rate = { rate: 10, periodMs: 1_000, burst: 3 };

  it('lets a burst start, and one more for each part of its period', async () => {
    await controls().change(f.ns, 'q', { rate });
    for (let i = 0; i < 20; i++) await put('q');

    expect(await lease('q', 9)).toHaveLength(3);
    f.nowMs += 99;
    expect(await lease('q', 9)).toHaveLength(0);
    f.nowMs += 1;
    expect(await lease('q', 9)).toHaveLength(1);
    f.nowMs += 200;
    expect(await lease('q', 9)).toHaveLength(2);
    f.nowMs += 5_000;
    expect(await lease('q', 9)).toHaveLength(3);
  });

  it('per key holds up only jobs of the same key, and calls them when it allows more', async () => {
    await controls().change(f.ns, 'q', { ratePerKey: { ...rate, burst: 1 } });
    const ids: string[] = [];
    for (let i = 0; i < 4; i++) ids.push(await put('q', ckey('a')));
    const other = await put('q', ckey('b'));

    expect((await lease('q', 9)).map(({ id }) => id)).toEqual([ids[0], other]);
    await pass(99);
    expect(await counts()).toMatchObject({ ready: 0, held: 3 });
    await pass(1);
    expect(await counts()).toMatchObject({ ready: 1, held: 2 });
    expect((await lease('q', 9)).map(({ id }) => id)).toEqual([ids[1]]);
    await pass(1_000);
    expect((await lease('q', 9)).map(({ id }) => id)).toEqual([ids[2]]);
  });
});

it('refuses settings that make no sense, and names them', async () => {
  for (const [change, field] of [
    [{ maxRunning: 0 }, 'max_running'],
    [{ maxRunningPerKey: 1.5 }, 'max_running_per_key'],
    [{ rate: { rate: 11, periodMs: 1, burst: 1 } }, 'rate.rate'],
    [{ ratePerKey: { rate: 1, periodMs: 0, burst: 1 } }, 'rate_per_key.period_ms'],
    [{ defaults: { tries: 0 } }, 'defaults.tries'],
  ] as const) {
    await expect(controls().change(f.ns, 'q', change)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(field) as string,
    });
  }
});

function ckey(key: string): Partial<NewRichJob> {
  return { concurrencyKey: key };
}
