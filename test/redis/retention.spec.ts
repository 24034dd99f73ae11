import type { NewRichJob } from '../../src/domain/rich-job.js';
import { silentObserver } from '../../src/engine/observer.js';
import { EngineFixture } from './fixture.js';

let f: EngineFixture;
beforeEach(async () => (f = await EngineFixture.withClock()));
afterEach(() => f.close());

const full = () => f.engine.full;
const find = async (id: string) => (await f.find(id))?.state ?? null;
const ended = async (queue = 'q'): Promise<number> => (await f.counts(queue))?.ended ?? 0;

/** Publishes jobs and has them done, one after the other, a millisecond apart. @returns their ids */
async function done(count: number, job: Partial<NewRichJob> = {}): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    f.nowMs += 1;
    await full().publishing.publish(f.ns, [{ queue: 'q', body: Buffer.from('x'), ...job }]);
    const [leased] = await f.reserve(job.queue ?? 'q');
    const { id = '', lease = 0 } = leased ?? {};
    await full().owners.complete(f.ns, [{ id, lease }]);
    ids.push(id);
  }
  return ids;
}

/** As the queue's settings have it. */
async function keepAtMost(jobs: number, queue = 'q'): Promise<void> {
  const number = Math.abs(Number(await f.pool.read('HGET', f.pool.keys.namespace(f.ns).queues, queue)));
  await f.pool.read('HSET', `{${f.ns}}:o${String(number)}`, 'kept', String(jobs));
}

it('keeps a done job for as long as it says, and no longer', async () => {
  const [long = ''] = await done(1, { retentionMs: 60_000 });
  const [short = ''] = await done(1, { retentionMs: 1_000 });
  f.nowMs += 999;
  await f.engine.pumpNow(f.ns);
  expect([await find(long), await find(short)]).toEqual(['done', 'done']);
  f.nowMs += 1;
  await f.engine.pumpNow(f.ns);
  expect([await find(long), await find(short)]).toEqual(['done', null]);
  f.nowMs += 60_000;
  expect(await f.engine.pumpNow(f.ns)).toBe(0);

  expect([await find(long), await ended()]).toEqual([null, 0]);
  expect((await f.keys()).filter((key) => /\}(?:j|x|:z|:keeping|:timers|:ended)/.test(key))).toEqual([]);
});

it('keeps as the owner says, whatever the job says', async () => {
  await full().publishing.publish(f.ns, [{ queue: 'q', body: Buffer.from('x'), retentionMs: 1_000 }]);
  const [job] = await f.reserve('q');
  const { id = '', lease = 0 } = job ?? {};
  await full().owners.complete(f.ns, [{ id, lease, retentionMs: 5_000 }]);
  f.nowMs += 4_999;
  await f.engine.pumpNow(f.ns);
  expect(await find(id)).toBe('done');
  f.nowMs += 1;
  await f.engine.pumpNow(f.ns);

  expect(await find(id)).toBeNull();
});

it('keeps a plain job too, if its owner wants it', async () => {
  const id = await f.publish('plain');
  const [job] = await f.reserve('plain');
  await full().owners.complete(f.ns, [{ id, lease: job?.lease ?? 0, retentionMs: 1_000 }]);
  expect(await find(id)).toBe('done');
  f.nowMs += 1_000;
  await f.engine.pumpNow(f.ns);

  expect(await find(id)).toBeNull();
});

it('keeps no more jobs of a queue than its settings allow: the newest', async () => {
  const first = await done(3, { retentionMs: 60_000 });
  await keepAtMost(3);
  const next = await done(2, { retentionMs: 60_000 });
  const elsewhere = await done(5, { retentionMs: 60_000, queue: 'other' });
  await f.engine.pumpNow(f.ns);

  expect(await Promise.all([...first, ...next].map(find))).toEqual([null, null, 'done', 'done', 'done']);
  expect(await Promise.all(elsewhere.map(find))).not.toContain(null);
});

it('is done by any server: what one left behind, another one clears away', async () => {
  const ids = await done(3, { retentionMs: 1_000 });
  const other = await EngineFixture.open({ clock: () => f.nowMs });
  try {
    f.nowMs += 1_000;
    await other.engine.pumpNow(f.ns);
    expect(await Promise.all(ids.map(find))).toEqual([null, null, null]);
  } finally {
    await other.close();
  }
});

it('goes in bounded steps, however many are over at once', async () => {
  const steps: number[] = [];
  const observer = { ...silentObserver, script: (name: string) => name === 'full_tick' && steps.push(1) };
  const pumper = await EngineFixture.open({ clock: () => f.nowMs, observer });
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) {
    const jobs = Array.from({ length: 64 }, () => ({
      queue: 'q',
      body: Buffer.from('x'),
      retentionMs: 1_000,
    }));
    await full().publishing.publish(f.ns, jobs);
    const leased = await f.reserve('q', { count: 64 });
    await full().owners.complete(f.ns, leased);
    ids.push(...leased.map(({ id }) => id));
  }
  try {
    expect([ids.length, await ended()]).toEqual([320, 320]);
    f.nowMs += 1_001;
    await pumper.engine.pumpNow(f.ns);

    expect(await ended()).toBe(0);
    expect(steps.length).toBeGreaterThanOrEqual(320 / 64);
  } finally {
    await pumper.close();
  }
});
