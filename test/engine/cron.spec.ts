import { createHash } from 'node:crypto';
import type { CronSchedule, NewRecurring } from '../../src/contract/job/recurring.js';
import { EngineFixture } from './fixture.js';

let f: EngineFixture;
beforeEach(async () => {
  f = await EngineFixture.withClock();
  // The middle of a minute, far from every change of a clock.
  f.nowMs = Date.parse('2027-01-15T12:00:30.000Z');
});
afterEach(() => f.close());

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 1_440 * MINUTE;
const recurrings = () => f.engine.recurring;
const set = (
  cron: string,
  more: Partial<Omit<NewRecurring, 'schedule'>> & { schedule?: Partial<CronSchedule> } = {},
) => {
  const { schedule, ...rest } = more;
  const template = { queue: 'q', body: Buffer.from('x') };
  return recurrings().set(f.ns, {
    ...{ id: 'r', template, maxCatchUp: 1_000 },
    ...rest,
    schedule: { cron, timeZone: 'UTC', ...schedule },
  });
};
const get = () => recurrings().get(f.ns, 'r');
const take = async (queue = 'q') => (await f.lease(queue, { count: 100 })).map(({ id }) => id);
const made = async (): Promise<number> => (await get()).made;
const at = (text: string): number => Date.parse(text);

it('a cron schedule makes a job for each slot, with its due time', async () => {
  const recurring = await set('*/5 * * * *');
  expect(recurring).toMatchObject({ made: 0, nextAtMs: at('2027-01-15T12:05:00Z'), lastAtMs: null });
  await f.pass(4.5 * MINUTE - 1);
  expect(await take()).toEqual([]);
  await f.pass(1);
  expect(await take()).toEqual(['r-1']);
  expect(await f.find('r-1')).toMatchObject({ spawnedFrom: 'r', publishedAtMs: at('2027-01-15T12:05:00Z') });
  await f.pass(5 * MINUTE);
  expect(await get()).toMatchObject({
    schedule: { cron: '*/5 * * * *', timeZone: 'UTC', jitterMs: 0 },
    ...{ made: 2, skipped: 0, lastAtMs: f.nowMs, nextAtMs: f.nowMs + 5 * MINUTE },
  });
});

it('a cron schedule never ends: servers compute more slots in time', async () => {
  await set('* * * * *');
  for (let i = 0; i < 200; i++) await f.pass(MINUTE);
  expect(await get()).toMatchObject({ made: 200, skipped: 0, nextAtMs: at('2027-01-15T15:21:00Z') });
});

it('a cron schedule makes one job for each slot with several pumping servers', async () => {
  const other = await EngineFixture.open({ clock: () => f.nowMs });
  try {
    await set('*/10 * * * * *');
    for (let i = 0; i < 120; i++) {
      f.nowMs += 10 * SECOND;
      await Promise.all([f.engine.pumpNow(f.ns), other.engine.pumpNow(f.ns), f.engine.pumpNow(f.ns)]);
    }
    expect(await get()).toMatchObject({ made: 120, skipped: 0 });
  } finally {
    await other.close();
  }
});

describe('a cron schedule after an outage', () => {
  it.each([1, 3, 1_000])(
    'makes at most %d jobs (max_catch_up) for a hundred missed slots, the last ones, and counts the others as skipped',
    async (maxCatchUp) => {
      await set('0 * * * *', { maxCatchUp });
      await f.pass(100 * 60 * MINUTE);
      const makes = Math.min(maxCatchUp, 100);
      const ids = await take();
      expect(await get()).toMatchObject({ made: makes, skipped: 100 - makes });
      expect(await f.find(ids.at(-1)!)).toMatchObject({ publishedAtMs: at('2027-01-19T16:00:00Z') });
      await f.pass(60 * MINUTE);
      expect(await made()).toBe(makes + 1);
    },
  );

  it('stops counting skipped slots at about a thousand, and makes the next job', async () => {
    await set('* * * * * *', { maxCatchUp: 1 });
    await f.pass(DAY);
    const { made: jobs, skipped, lastSkip } = await get();
    expect([jobs, lastSkip?.reason]).toEqual([1, 'max_catch_up']);
    expect(skipped).toBeGreaterThanOrEqual(999);
    expect(skipped).toBeLessThan(1_100);
    await f.pass(SECOND);
    expect(await made()).toBe(2);
  });

  it('makes no job for a slot older than catch_up_ms, of cron and of an interval', async () => {
    await set('* * * * *', { catchUpMs: 3 * MINUTE });
    const schedule = { everyMs: MINUTE, offsetMs: 30 * SECOND };
    const template = { queue: 'i', body: Buffer.from('x') };
    await recurrings().set(f.ns, { id: 'i', schedule, template, maxCatchUp: 1_000, catchUpMs: 3 * MINUTE });
    await f.pass(20 * MINUTE);
    const skipped = { atMs: at('2027-01-15T12:17:00Z'), reason: 'catch_up_ms' };
    expect(await get()).toMatchObject({ made: 3, skipped: 17, lastSkip: skipped, catchUpMs: 3 * MINUTE });
    expect(await recurrings().get(f.ns, 'i')).toMatchObject({ made: 3, skipped: 17, lastSkip: skipped });
  });

  it.each([0, 1, 4_999])(
    'makes the job of the present slot, and no missed one, with catch_up_ms %s',
    async (catchUpMs) => {
      await set('* * * * *', { catchUpMs, maxCatchUp: 1_000 });
      const template = { queue: 'i', body: Buffer.from('x') };
      await recurrings().set(f.ns, {
        ...{ id: 'i', template, maxCatchUp: 1_000, catchUpMs },
        schedule: { everyMs: MINUTE, offsetMs: 30 * SECOND },
      });
      await f.pass(33 * SECOND);
      await f.pass(10 * MINUTE);
      for (const id of ['r', 'i'])
        expect(await recurrings().get(f.ns, id)).toMatchObject({
          made: 2,
          skipped: 9,
          lastSkip: { reason: 'catch_up_ms' },
        });
      await f.pass(63 * SECOND);
      for (const id of ['r', 'i'])
        expect(await recurrings().get(f.ns, id)).toMatchObject({ made: 2, skipped: 10 });
    },
  );

  it('makes a job with max_catch_up 0 only within its minute', async () => {
    await set('*/10 * * * *', { maxCatchUp: 0 });
    await f.pass(65 * MINUTE);
    expect(await get()).toMatchObject({ made: 0, skipped: 6, lastSkip: { reason: 'late' } });
    await f.pass(5 * MINUTE);
    expect(await made()).toBe(1);
  });
});

it('a cron schedule begins at its start, and ends before its end', async () => {
  const schedule = { startAtMs: at('2027-01-15T12:03:00Z'), endAtMs: at('2027-01-15T12:05:00Z') };
  expect(await set('* * * * *', { schedule })).toMatchObject({ nextAtMs: schedule.startAtMs });
  await f.pass(10 * MINUTE);
  expect(await get()).toMatchObject({ made: 2, skipped: 0, nextAtMs: null });
  expect(await f.pool.read('ZCARD', `{${f.ns}}:cron`)).toBe(0);
});

it('a cron schedule makes each job within the jitter after its slot', async () => {
  await set('* * * * *', { schedule: { jitterMs: 40 * SECOND } });
  const madeAtMs: number[] = [];
  let before = 0;
  const beganMs = f.nowMs;
  while (madeAtMs.length < 20) {
    await f.pass(SECOND);
    const now = await made();
    if (now > before) madeAtMs.push(f.nowMs);
    before = now;
  }
  const delays = madeAtMs.map((ms, i) => ms - (at('2027-01-15T12:01:00Z') + i * MINUTE));
  expect(beganMs).toBeLessThan(madeAtMs[0]!);
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...delays)).toBeLessThanOrEqual(40 * SECOND);
  expect(new Set(delays).size).toBeGreaterThan(8);
  expect(await f.find('r-1')).toMatchObject({ publishedAtMs: at('2027-01-15T12:01:00Z') });
});

/** How long after its slot the job of `r` is made. */
const delayOf = (slotMs: number, jitterMs: number): number =>
  parseInt(
    createHash('sha1')
      .update(`r:${String(slotMs)}`)
      .digest('hex')
      .slice(0, 12),
    16,
  ) % jitterMs;

/** Pumps once a second. @returns when each job was made, by its slot */
async function slotsMade(seconds: number): Promise<ReadonlyMap<number, number>> {
  const times = new Map<number, number>();
  for (let i = 0; i < seconds; i++) {
    await f.pass(SECOND);
    for (const { id, lease } of await f.lease('q', { count: 100 })) {
      times.set((await f.find(id))!.publishedAtMs ?? 0, f.nowMs);
      await f.engine.ackMany(f.ns, [{ queue: 'q', id, lease }]);
    }
  }
  return times;
}

describe('a jitter longer than the time between slots', () => {
  const jitterMs = 60 * SECOND;

  it.each([
    ['max_catch_up 1', { maxCatchUp: 1 }],
    ['max_catch_up 0', { maxCatchUp: 0 }],
    ['catch_up_ms', { catchUpMs: 5 * SECOND }],
  ])('skips no slot without an outage, and makes no early job: %s', async (_n, more) => {
    await set('*/5 * * * * *', { schedule: { jitterMs }, ...more });
    const first = f.nowMs + 5 * SECOND;
    const times = await slotsMade(180);
    const slots = Array.from({ length: 20 }, (_, i) => first + i * 5 * SECOND);
    expect(slots.map((slot) => [slot, times.get(slot)])).toEqual(
      slots.map((slot) => [slot, Math.ceil((slot + delayOf(slot, jitterMs)) / SECOND) * SECOND]),
    );
    expect(await get()).toMatchObject({ made: times.size, skipped: 0 });
  });

  it('has the lateness of a job counted from the time with jitter, not from the slot', async () => {
    await set('*/5 * * * * *', { schedule: { jitterMs }, maxCatchUp: 1 });
    const first = f.nowMs + 5 * SECOND;
    await f.pass(120 * SECOND);
    const slots = Array.from({ length: 24 }, (_, i) => first + i * 5 * SECOND);
    const ages = slots.map((slot) => f.nowMs - slot - delayOf(slot, jitterMs)).filter((age) => age >= 0);
    const onTime = Math.max(ages.filter((age) => age <= 5 * SECOND).length, 1);
    expect(await get()).toMatchObject({ made: onTime, skipped: ages.length - onTime });
  });

  it('makes only the last of the jobs that are due at once with overlap replace', async () => {
    await set('* * * * * *', { schedule: { jitterMs: 40 * SECOND }, overlap: 'replace' });
    const first = f.nowMs + SECOND;
    await f.pass(120 * SECOND);
    const times = Array.from({ length: 120 }, (_, i) => first + i * SECOND)
      .map((slot) => ({ slot, madeAt: slot + delayOf(slot, 40 * SECOND) }))
      .filter(({ madeAt }) => madeAt <= f.nowMs)
      .sort((a, b) => a.madeAt - b.madeAt);
    expect(await get()).toMatchObject({ made: 1, lastSkip: { reason: 'overlap' } });
    expect((await f.find('r-1'))?.publishedAtMs).toBe(times.at(-1)?.slot);
  });

  it('keeps its slots through a change of max_catch_up, and makes a job for each slot', async () => {
    await set('*/5 * * * * *', { schedule: { jitterMs }, maxCatchUp: 1 });
    const first = f.nowMs + 5 * SECOND;
    const times = new Map(await slotsMade(60));
    await set('*/5 * * * * *', { schedule: { jitterMs }, maxCatchUp: 2 });
    for (const [slot, at] of await slotsMade(120)) times.set(slot, at);
    const slots = Array.from({ length: 22 }, (_, i) => first + i * 5 * SECOND);
    expect(slots.filter((slot) => !times.has(slot))).toEqual([]);
    expect(await get()).toMatchObject({ made: times.size, skipped: 0 });
  });

  it.each<[string, Partial<CronSchedule>]>([
    ['an end', { endAtMs: at('2027-02-01T00:00:00Z') }],
    ['a start that has passed', { startAtMs: at('2027-01-01T00:00:00Z') }],
    ['another jitter', { jitterMs: 90 * SECOND }],
  ])('keeps the slots that wait for it through a change of the bounds: %s', async (_what, change) => {
    await set('*/5 * * * * *', { schedule: { jitterMs } });
    const first = f.nowMs + 5 * SECOND;
    const times = new Map(await slotsMade(60));
    await set('*/5 * * * * *', { schedule: { jitterMs, ...change } });
    for (const [slot, time] of await slotsMade(180)) times.set(slot, time);
    const slots = Array.from({ length: 28 }, (_, i) => first + i * 5 * SECOND);
    expect(slots.filter((slot) => !times.has(slot))).toEqual([]);
    expect(await get()).toMatchObject({ made: times.size, skipped: 0 });
  });

  it.each<[string, Partial<CronSchedule>]>([
    ['an end that has passed', { endAtMs: at('2027-01-15T12:00:31Z') }],
    ['another expression', { cron: '0 0 1 1 *' }],
    [
      'another time zone',
      { cron: '*/5 * * * * *', timeZone: 'Asia/Kolkata', startAtMs: at('2028-01-01T00:00:00Z') },
    ],
  ])('drops the slots that wait for it by a change of the schedule: %s', async (_what, change) => {
    await set('*/5 * * * * *', { schedule: { jitterMs: 3_600 * SECOND } });
    await f.pass(60 * SECOND);
    const count = await made();
    await set('*/5 * * * * *', { schedule: { jitterMs, ...change } });
    await f.pass(120 * SECOND);
    expect(await made()).toBe(count);
  });

  it('holds at most 64 slots that wait for their jitter, and skips none', async () => {
    await set('* * * * * *', { schedule: { jitterMs: DAY }, maxCatchUp: 1 });
    for (let i = 0; i < 200; i++) {
      await f.pass(SECOND);
    }
    const { slots } = (await recurrings()['known'](f.ns, 'r'))!;
    expect(slots.filter((slot) => slot <= f.nowMs).length).toBeLessThanOrEqual(64);
    expect(slots.length).toBeLessThanOrEqual(64 + 32);
    expect(await get()).toMatchObject({ made: 200 - 64, skipped: 0 });
  });
});

it('a cron schedule with max_catch_up 0 and jitter makes a job in time, and skips a late slot', async () => {
  const jitterMs = 10 * MINUTE;
  await set('0 * * * *', { schedule: { jitterMs }, maxCatchUp: 0 });
  const slot = at('2027-01-15T13:00:00Z');
  await f.pass(slot + delayOf(slot, jitterMs) - f.nowMs);
  expect(await get()).toMatchObject({ made: 1, skipped: 0 });
  await f.pass(slot + 75 * MINUTE - f.nowMs);
  expect(await get()).toMatchObject({ made: 1, skipped: 1, lastSkip: { reason: 'late' } });
});

describe('the overlap of a recurring job', () => {
  it('skip: makes no job while the earlier one has not ended', async () => {
    await set('* * * * *', { overlap: 'skip' });
    await f.pass(MINUTE);
    const [job] = await f.lease('q', { count: 1 });
    await f.pass(2 * MINUTE);
    expect(await get()).toMatchObject({ made: 1, skipped: 2, lastSkip: { reason: 'overlap' } });
    await f.engine.ackMany(f.ns, [{ queue: 'q', id: job!.id, lease: job!.lease }]);
    await f.pass(MINUTE);
    expect(await made()).toBe(2);
  });

  it('replace: replaces the waiting job', async () => {
    await set('* * * * *', { overlap: 'replace' });
    for (let i = 0; i < 3; i++) await f.pass(MINUTE);
    await f.pass(3 * MINUTE);
    expect(await f.find('r-4')).toMatchObject({ publishedAtMs: at('2027-01-15T12:06:00Z') });
    expect(await take()).toEqual(['r-4']);
    await f.pass(MINUTE);
    expect(await get()).toMatchObject({ made: 4, skipped: 3, lastSkip: { reason: 'overlap' } });
  });

  it('is refused together with a unique key of the jobs', async () => {
    const template = { queue: 'q', body: Buffer.from('x'), unique: { key: 'k', mode: 'reject' as const } };
    await expect(set('* * * * *', { overlap: 'skip', template })).rejects.toThrow('overlap');
  });
});

describe('a pause of a cron schedule', () => {
  it('makes no job for the slots within it, and keeps its note until the resume', async () => {
    await set('* * * * *');
    expect(await recurrings().pause(f.ns, 'r', 'the mail server moves')).toMatchObject({
      ...{ paused: true, note: 'the mail server moves', nextAtMs: null },
    });
    await f.pass(100 * MINUTE);
    const resumed = await recurrings().resume(f.ns, 'r');
    expect(resumed).toMatchObject({ paused: false, note: null, made: 0, skipped: 0 });
    expect(resumed.nextAtMs).toBe(f.nowMs + 30 * SECOND);
    await f.pass(MINUTE);
    expect(await made()).toBe(1);
  });
});

describe('changes of a cron schedule', () => {
  it("make no job again for a slot that had one, also after Redis's clock went back", async () => {
    await set('0 * * * *');
    await f.pass(60 * MINUTE);
    await recurrings().change(f.ns, 'r', { maxCatchUp: 5 });
    await set('0 * * * *');
    await set('0,30 * * * *');
    // Redis's clock goes back behind the slot that was served.
    f.nowMs -= 45 * MINUTE;
    await set('0 * * * *');
    await f.pass(50 * MINUTE);
    expect(await get()).toMatchObject({ made: 1, lastAtMs: at('2027-01-15T13:00:00Z') });
    await f.pass(60 * MINUTE);
    expect(await made()).toBe(2);
  });

  it('switch from an interval to cron and back', async () => {
    const template = { queue: 'q', body: Buffer.from('x') };
    await recurrings().set(f.ns, { id: 'r', schedule: { everyMs: SECOND }, template });
    await f.pass(SECOND);
    const before = await made();
    await recurrings().change(f.ns, 'r', { schedule: { cron: '0 * * * *', timeZone: 'UTC' } });
    await f.pass(50 * MINUTE);
    expect(await made()).toBe(before);
    expect(await f.pool.read('ZCARD', `{${f.ns}}:recurring`)).toBe(0);
    await recurrings().change(f.ns, 'r', { schedule: { everyMs: SECOND } });
    await f.pass(3 * SECOND);
    expect(await made()).toBeGreaterThan(before);
    expect(await f.pool.read('ZCARD', `{${f.ns}}:cron`)).toBe(0);
  });

  it('leave no slot of the former schedule, although a server computes its slots at that moment', async () => {
    await set('* * * * *', { maxCatchUp: 1 });
    f.nowMs += 60 * MINUTE;
    await Promise.all([
      recurrings().extend(f.ns, 'r'),
      set('0 0 1 1 *', { maxCatchUp: 1 }),
      recurrings().extend(f.ns, 'r'),
    ]);
    await f.pass(60 * MINUTE);
    expect(await get()).toMatchObject({ nextAtMs: at('2028-01-01T00:00:00Z') });
  });
});

it('a cron schedule does not store slots that were computed for an earlier schedule', async () => {
  await set('0 * * * *');
  const before = await recurrings()['known'](f.ns, 'r');
  await set('30 * * * *');
  // As if both ended with the same slot.
  await f.pool.read('HSET', `{${f.ns}}Rr`, 'slots', before!.slots.join(','));
  const more = { slots: [f.nowMs + DAY], skipped: 0, isComplete: false, replaces: false };
  expect(await recurrings()['storeSlots'](f.ns, before!, more)).toBe(false);
});

it('a cron schedule stores each slot once if slots of newer time zones overlap older slots', async () => {
  await set('0 * * * *');
  const known = await recurrings()['known'](f.ns, 'r');
  f.nowMs += 90 * MINUTE;
  const more = { slots: known!.slots, skipped: 0, isComplete: false, replaces: true };
  expect(await recurrings()['storeSlots'](f.ns, known!, more)).toBe(true);
  expect((await recurrings()['known'](f.ns, 'r'))!.slots).toEqual(known!.slots);
});

it('a cron schedule adds no slot again that was served after it was computed', async () => {
  await set('0 * * * *');
  const { slots } = (await recurrings()['known'](f.ns, 'r'))!;
  await f.pass(60 * MINUTE);
  const known = await recurrings()['known'](f.ns, 'r');
  const more = { slots, skipped: 0, isComplete: false, replaces: true };
  expect(await recurrings()['storeSlots'](f.ns, known!, more)).toBe(true);
  await f.pass(0);
  expect(await get()).toMatchObject({ made: 1, nextAtMs: slots[1] });
});

it('a cron schedule computes its slots again if they are of an older time zone version, and not otherwise', async () => {
  await set('30 2 * * *', { schedule: { timeZone: 'Europe/Berlin' } });
  expect(await recurrings().renew(f.ns)).toBe(0);
  // As a server with an old database left it: an hour too late.
  await f.pool.read('HSET', `{${f.ns}}Rr`, 'slots', String(at('2027-01-16T02:30:00Z')), 'tzdata', '1999a');
  expect(await recurrings().renew(f.ns)).toBe(1);
  expect(await get()).toMatchObject({ nextAtMs: at('2027-01-16T01:30:00Z') });
  await f.pass(DAY);
  expect(await get()).toMatchObject({ made: 1, lastAtMs: at('2027-01-16T01:30:00Z') });
});

describe('time zones of another version', () => {
  /** As a server with another database left it: an hour too late. */
  const leave = (tzdata: string, ...slots: string[]) =>
    f.pool.read('HSET', `{${f.ns}}Rr`, 'slots', slots.map(at).join(','), 'tzdata', tzdata);
  const daily = () => set('30 2 * * *', { schedule: { timeZone: 'Europe/Berlin' } });
  const stored = async () => (await recurrings()['known'](f.ns, 'r'))!;

  it('have their slots replaced, if the version is older, when a server reads them or computes more', async () => {
    await daily();
    for (const read of [get, () => recurrings().next(f.ns, 'r', 1), () => recurrings().extend(f.ns, 'r')]) {
      await leave('1999a', '2027-01-16T02:30:00Z');
      await read();
      const { slots, tzdata } = await stored();
      expect([slots[0], slots.length, tzdata]).toEqual([at('2027-01-16T01:30:00Z'), 32, process.versions.tz]);
    }
  });

  it('keep their slots, if the version is newer, and get more', async () => {
    await daily();
    const { revision } = await stored();
    await leave('9999z', '2027-01-16T02:30:00Z');
    const older = { ...(await stored()), revision };
    const replacing = { slots: [f.nowMs + DAY], skipped: 0, isComplete: false, replaces: true };
    expect(await recurrings()['storeSlots'](f.ns, older, replacing)).toBe(false);
    expect(await recurrings().renew(f.ns)).toBe(0);
    await recurrings().extend(f.ns, 'r');
    const { slots, tzdata } = await stored();
    expect(slots.slice(0, 2)).toEqual([at('2027-01-16T02:30:00Z'), at('2027-01-17T01:30:00Z')]);
    // So a server with the newer ones computes them again.
    expect(tzdata).toBe(process.versions.tz);
  });

  it('stay marked as older until all slots are computed again', async () => {
    await daily();
    await leave('1999a', '2027-01-16T02:30:00Z');
    await recurrings()['compute'](f.ns, (await stored()) as never, false);
    expect(await stored()).toMatchObject({ tzdata: '1999a' });
    expect(await recurrings().renew(f.ns)).toBe(1);
    expect((await stored()).slots[0]).toBe(at('2027-01-16T01:30:00Z'));
  });

  it('lose no slot of an outage when they are computed again', async () => {
    await daily();
    await leave('1999a', '2027-01-16T01:30:00Z', '2027-01-17T01:30:00Z');
    f.nowMs += 4 * DAY;
    expect(await recurrings().renew(f.ns)).toBe(1);
    await f.pass(0);
    expect(await get()).toMatchObject({ made: 4, skipped: 0 });
  });
});

it('a cron schedule makes a job for a run call, also while it is paused, and keeps its slots', async () => {
  await set('0 * * * *');
  expect(await recurrings().run(f.ns, 'r')).toBe('r-1');
  expect(await f.find('r-1')).toMatchObject({ spawnedFrom: 'r', state: 'ready', publishedAtMs: f.nowMs });
  await recurrings().pause(f.ns, 'r');
  expect(await recurrings().run(f.ns, 'r')).toBe('r-2');
  await recurrings().resume(f.ns, 'r');
  await f.pass(60 * MINUTE);
  expect(await take()).toEqual(['r-1', 'r-2', 'r-3']);
  await set('0 * * * *', { overlap: 'skip' });
  await recurrings().run(f.ns, 'r');
  await expect(recurrings().run(f.ns, 'r')).rejects.toMatchObject({ code: 'unique_key_taken' });
  await expect(recurrings().run(f.ns, 'none')).rejects.toMatchObject({ code: 'recurring_not_found' });
});

it('a schedule shows its next slots, stored or as a preview, and which of them a clock change moves', async () => {
  await set('30 2 * * *', { schedule: { timeZone: 'Europe/Berlin', startAtMs: at('2027-03-27T00:00:00Z') } });
  expect(await recurrings().next(f.ns, 'r', 2)).toEqual([
    { atMs: at('2027-03-27T01:30:00Z'), isMoved: false },
    { atMs: at('2027-03-28T01:00:00Z'), isMoved: true },
  ]);
  expect(
    recurrings()
      .preview({ everyMs: MINUTE }, 2)
      .map(({ atMs }) => atMs),
  ).toEqual([f.nowMs, f.nowMs + MINUTE]);
  expect(() => recurrings().preview({ cron: 'x', timeZone: 'UTC' }, 2)).toThrow('schedule.cron');
});

it('a cron schedule leaves nothing after its deletion or the purge of its namespace', async () => {
  await set('* * * * *');
  expect(await recurrings().remove(f.ns, 'r')).toBe(true);
  await f.pass(5 * MINUTE);
  expect(await take()).toEqual([]);
  expect(await f.pool.read('EXISTS', `{${f.ns}}Rr`, `{${f.ns}}:cron`)).toBe(0);
  await set('* * * * *');
  await f.engine.purge.run(f.ns);
  expect(await f.keys()).toEqual([]);
});

it('a cron schedule keeps each slot once if several servers compute it at the same time', async () => {
  await set('0 * * * *');
  f.nowMs += 40 * 60 * MINUTE;
  const other = await EngineFixture.open({ clock: () => f.nowMs });
  try {
    await Promise.all([
      recurrings().extend(f.ns, 'r'),
      other.engine.recurring.extend(f.ns, 'r'),
      recurrings().extend(f.ns, 'r'),
    ]);
    const slots = String(await f.pool.read('HGET', `{${f.ns}}Rr`, 'slots')).split(',');
    expect(slots).toEqual([...new Set(slots)].sort());
    expect(slots.length).toBeGreaterThan(40);
  } finally {
    await other.close();
  }
});
