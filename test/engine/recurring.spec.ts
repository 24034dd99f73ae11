import type { NewRecurring, Recurring, RecurringChange } from '../../src/contract/job/recurring.js';
import type { RecurringCheck } from '../../src/engine/recurring/recurring.js';
import { silentObserver } from '../../src/engine/core/observer.js';
import { tidy } from '../../src/redis/scripts/simple.js';
import { Listening } from './events-fixture.js';
import { EngineFixture, newJob } from './fixture.js';

let f: EngineFixture;
beforeEach(async () => (f = await EngineFixture.withClock()));
afterEach(() => f.close());

const SECOND = 1_000;
const extended = () => f.engine.components;
const recurrings = () => f.engine.recurring;

function every(everyMs: number, more: Partial<NewRecurring> = {}): NewRecurring {
  const template = { queue: 'q', body: Buffer.from('x') };
  return { id: 'r', schedule: { everyMs }, template, maxCatchUp: 1_000, ...more };
}

const set = (...args: Parameters<typeof every>) => recurrings().set(f.ns, every(...args));
const get = (id = 'r') => recurrings().get(f.ns, id);
const pass = (ms: number): Promise<void> => f.pass(ms);
const find = (id: string) => f.find(id);
/** Takes all that is ready. @returns ids */
const take = async (queue = 'q') => (await f.lease(queue, { count: 100 })).map(({ id }) => id);

it('a recurring job makes a job for each slot in time, with and without consumers', async () => {
  const beganMs = f.nowMs;
  const recurring = await set(10 * SECOND, { schedule: { everyMs: 10 * SECOND, offsetMs: 5 * SECOND } });
  expect(recurring).toMatchObject({ made: 0, nextAtMs: beganMs + 5 * SECOND, lastAtMs: null });
  await pass(4_999);
  expect(await take()).toEqual([]);
  await pass(1);
  expect(await take()).toEqual(['r-1']);
  await pass(9_999);
  expect(await take()).toEqual([]);
  await pass(1);
  expect(await take()).toEqual(['r-2']);

  expect(await get()).toMatchObject({
    schedule: { everyMs: 10 * SECOND, firstAtMs: beganMs + 5 * SECOND },
    made: 2,
    skipped: 0,
    lastAtMs: beganMs + 15 * SECOND,
    nextAtMs: beganMs + 25 * SECOND,
  });
});

it('a recurring job that is removed and set again makes jobs that no earlier lease ends', async () => {
  const leaseFirst = async () => {
    await set(SECOND);
    await pass(1);
    const [job] = await f.lease('q');
    return job!;
  };
  const late = await leaseFirst();
  await f.engine.ack(f.ns, 'q', late.id, late.lease);
  await recurrings().remove(f.ns, 'r');
  const present = await leaseFirst();

  expect([late.id, present.id]).toEqual(['r-1', 'r-1']);
  expect(present.lease).toBeGreaterThan(late.lease);
  expect(await f.engine.ackMany(f.ns, [late])).toEqual(['lease_lost']);
  expect(await f.engine.ackMany(f.ns, [present])).toEqual(['acked']);
});

it('a recurring job makes jobs that name it and their due time', async () => {
  const template = { queue: 'q', body: Buffer.from([0, 255]), contentType: 'a/b', type: 't', tags: ['g'] };
  await set(SECOND, { template: { ...template, priority: 3, tries: 7, ttrMs: 9, retentionMs: 60_000 } });
  const dueMs = f.nowMs;
  await pass(400);

  const job = await find('r-1');

  expect(job).toMatchObject({
    ...template,
    priority: 3,
    triesLeft: 7,
    state: 'ready',
    spawnedFrom: 'r',
    publishedAtMs: dueMs,
  });
  expect(job?.timeline.map(({ what }) => what)).toEqual(['published']);
});

it('a recurring job emits an event for each publish', async () => {
  const published: [string, number][] = [];
  const other = await EngineFixture.open({
    clock: () => f.nowMs,
    observer: { ...silentObserver, published: (_ns, queue, jobs) => published.push([queue, jobs]) },
  });
  try {
    // The stream exists while there is a subscriber.
    await f.pool.read('XADD', `{${f.ns}}:events`, '*', 'e', 'first');
    await set(SECOND);
    f.nowMs += 2 * SECOND;
    await other.engine.pumpNow(f.ns);
    const events = (await f.pool.read('XRANGE', `{${f.ns}}:events`, '-', '+')) as [string, string[]][];

    expect(published).toEqual([['q', 3]]);
    expect(
      events.slice(1).map(([, fields]) => fields.slice(1, 2).concat(fields.slice(3, 4)).map(String)),
    ).toEqual(Array(3).fill(['published', 'q']));
  } finally {
    await other.close();
  }
});

describe('a recurring job after an outage', () => {
  it('makes up for all missed slots, with their due times', async () => {
    const beganMs = f.nowMs;
    await set(SECOND);
    await pass(99 * SECOND + 500);
    const ids = await take();
    const jobs = await extended().jobReader.findMany(f.ns, ids.slice(0, 64));

    expect(ids).toEqual(Array.from({ length: 100 }, (_, i) => `r-${String(i + 1)}`));
    expect(jobs.map((job) => job?.publishedAtMs)).toEqual(jobs.map((_, i) => beganMs + i * SECOND));
  });

  it.each([
    ['between two slots', 95 * SECOND],
    ['on a slot', 90 * SECOND],
  ])('T31: makes one job, for the last slot, with max_catch_up 1: %s', async (_when, ms) => {
    const beganMs = f.nowMs;
    await set(10 * SECOND, { maxCatchUp: 1, schedule: { everyMs: 10 * SECOND } });
    await pass(ms);

    expect(await take()).toEqual(['r-1']);
    expect(await find('r-1')).toMatchObject({ publishedAtMs: beganMs + 90 * SECOND });
    expect(await get()).toMatchObject({ made: 1, skipped: 9, nextAtMs: beganMs + 100 * SECOND });
  });

  it.each([0, 5_000])(
    'makes 1,000 jobs at most, and reports skipped slots: stored backlog %d',
    async (backlog) => {
      const beganMs = f.nowMs;
      const listening = await Listening.to(f.engine, f.ns);
      await set(SECOND, { template: { queue: 'q', body: Buffer.from('x'), type: 't' } });
      // As earlier servers stored it: 0 is as many as possible, and there was no bound.
      await f.pool.read('HSET', `{${f.ns}}Rr`, 'backlog', backlog);
      await f.pool.read('HDEL', `{${f.ns}}Rr`, 'skips_late');
      expect(await get()).toMatchObject({ maxCatchUp: 1_000 });
      await set(SECOND, { id: 'other', maxCatchUp: 2, template: { queue: 'p', body: Buffer.from('x') } });
      // Redis's clock is wrong by a month for a while.
      await pass(30 * 24 * 3_600 * SECOND);
      const slots = 30 * 24 * 3_600 + 1;

      expect(await get()).toMatchObject({ made: 1_000, skipped: slots - 1_000 });
      expect(await get('other')).toMatchObject({ made: 2, skipped: slots - 2 });
      expect(await find('r-1')).toMatchObject({ publishedAtMs: beganMs + (slots - 1_000) * SECOND });
      await listening.received(1_004);
      const reason = 'max_catch_up';
      const skips = listening.events.filter(({ name }) => name === 'recurring_skipped');
      expect(skips.map(({ queue, id, type, facts }) => ({ queue, id, type, facts }))).toEqual(
        expect.arrayContaining([
          {
            queue: 'q',
            id: '',
            type: 't',
            facts: { queue: 'q', recurring: 'r', skipped: slots - 1_000, reason },
          },
          {
            queue: 'p',
            id: '',
            type: '',
            facts: { queue: 'p', recurring: 'other', skipped: slots - 2, reason },
          },
        ]),
      );
      expect(skips).toHaveLength(2);
      listening.leave();
    },
  );

  it('makes one job by default for any number of slots', async () => {
    const { schedule, template } = every(10 * SECOND);
    const { maxCatchUp } = await recurrings().set(f.ns, { id: 'r', schedule, template });
    await pass(95 * SECOND);

    expect(maxCatchUp).toBe(1);
    expect(await take()).toEqual(['r-1']);
    expect(await get()).toMatchObject({ made: 1, skipped: 9 });
  });

  it('makes no job for slots older than a minute, and goes on with the next', async () => {
    const beganMs = f.nowMs;
    const [hour, minute] = [3_600 * SECOND, 60 * SECOND];
    await set(hour, { maxCatchUp: 0 });
    expect(await get()).toMatchObject({ maxCatchUp: 0 });
    await pass(minute);
    expect(await get()).toMatchObject({ made: 1, skipped: 0 });
    await pass(2 * hour + 1);
    expect(await get()).toMatchObject({ made: 1, skipped: 2, nextAtMs: beganMs + 3 * hour });
    // Of several slots within the minute only the last one.
    await pass(hour - minute);
    expect(await get()).toMatchObject({ made: 2, skipped: 2 });
    await set(10 * SECOND, { id: 'fast', maxCatchUp: 0 });
    await pass(95 * SECOND);
    expect(await get('fast')).toMatchObject({ made: 1, skipped: 9 });
  });

  it('stores max_catch_up 0 so that an earlier server makes up for one slot', async () => {
    await set(SECOND, { maxCatchUp: 0 });
    expect(await f.pool.read('HGET', `{${f.ns}}Rr`, 'backlog')).toBe('1');
    expect(await recurrings().change(f.ns, 'r', { paused: true })).toMatchObject({ maxCatchUp: 0 });
    expect(await recurrings().change(f.ns, 'r', { maxCatchUp: 3 })).toMatchObject({ maxCatchUp: 3 });
    expect(await f.pool.read('HMGET', `{${f.ns}}Rr`, 'backlog', 'skips_late')).toEqual(['3', '0']);
  });

  it('makes 90 jobs for 501 slots with max_catch_up 90', async () => {
    await set(SECOND, { maxCatchUp: 90 });
    await pass(500 * SECOND);

    expect(await get()).toMatchObject({ made: 90, skipped: 411 });
    expect(await take()).toHaveLength(90);
  });
});

it('a recurring job makes one job for each slot with any number of servers', async () => {
  const others = await Promise.all([1, 2, 3].map(() => EngineFixture.open({ clock: () => f.nowMs })));
  try {
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => recurrings().set(f.ns, every(SECOND, { id: `r${String(i)}` }))),
    );
    for (let i = 0; i < 10; i++) {
      f.nowMs += 700;
      await Promise.all([f, ...others].map(({ engine }) => engine.pumpNow(f.ns)));
    }
    const made: string[] = [];
    for (let ids = await take(); ids.length > 0; ids = await take()) made.push(...ids);

    expect(made).toHaveLength(20 * 8);
    expect(new Set(made).size).toBe(made.length);
    expect(new Set(made)).toContain('r19-8');
    expect(made).not.toContain('r0-9');
  } finally {
    await Promise.all(others.map((other) => other.close()));
  }
});

describe('a running recurring job', () => {
  it('makes jobs of its changed template, and keeps its count and its slots', async () => {
    const beganMs = f.nowMs;
    await set(10 * SECOND);
    await pass(1);
    await recurrings().change(f.ns, 'r', { template: { queue: 'other', priority: -1 }, maxCatchUp: 5 });
    await pass(10 * SECOND);

    expect(await take()).toEqual(['r-1']);
    expect(await take('other')).toEqual(['r-2']);
    expect(await find('r-2')).toMatchObject({ priority: -1, body: Buffer.from('x') });
    expect(await get()).toMatchObject({ made: 2, maxCatchUp: 5, nextAtMs: beganMs + 20 * SECOND });
  });

  it('changes its interval', async () => {
    const beganMs = f.nowMs;
    await set(10 * SECOND);
    await pass(13 * SECOND);

    expect(await recurrings().change(f.ns, 'r', { schedule: { everyMs: 4 * SECOND } })).toMatchObject({
      schedule: { everyMs: 4 * SECOND, firstAtMs: beganMs },
      nextAtMs: beganMs + 16 * SECOND,
      made: 2,
    });
  });

  it('makes no second job for a slot, and keeps its count, if it is set again under its id', async () => {
    const beganMs = f.nowMs;
    await set(10 * SECOND);
    await pass(3 * SECOND);
    const again = await set(10 * SECOND, { template: { queue: 'q', body: Buffer.from('new') } });
    await pass(0);

    expect(again).toMatchObject({ made: 1, nextAtMs: beganMs + 10 * SECOND });
    expect(await take()).toEqual(['r-1']);
  });

  it('counts as made only jobs that it made, where ids of theirs are in use', async () => {
    const ids = ['r-1', 'r-2', 'r-3'];
    for (const id of ids) await f.engine.publish(f.ns, 'other', newJob({ id }));
    await set(10 * SECOND);
    await pass(13 * SECOND);
    expect(await get()).toMatchObject({ made: 2, skipped: 0 });
    expect(await take()).toHaveLength(2);

    const id = await recurrings().run(f.ns, 'r');
    expect(await take()).toEqual([id]);
    expect(await get()).toMatchObject({ made: 3 });
  });

  it('counts on from what an earlier server counted', async () => {
    await set(10 * SECOND);
    await pass(0);
    await f.pool.read('HDEL', `{${f.ns}}Rr`, 'taken');
    expect(await get()).toMatchObject({ made: 1 });
    await pass(10 * SECOND);
    expect(await get()).toMatchObject({ made: 2 });
  });

  it('is paused and resumed, and does not make up for the pause', async () => {
    const beganMs = f.nowMs;
    await set(10 * SECOND);
    await pass(1);
    expect(await recurrings().pause(f.ns, 'r')).toMatchObject({ paused: true, nextAtMs: null });
    await pass(55 * SECOND);
    expect(await get()).toMatchObject({ made: 1 });
    expect(await recurrings().resume(f.ns, 'r')).toMatchObject({ nextAtMs: beganMs + 60 * SECOND });
    await pass(5 * SECOND);

    expect(await take()).toEqual(['r-1', 'r-2']);
  });

  it('stays paused when it is replaced, with its note, unless it says otherwise', async () => {
    const paused = { paused: true, note: 'the printer is broken', nextAtMs: null };
    await set(10 * SECOND);
    await recurrings().pause(f.ns, 'r', paused.note);
    expect(await set(10 * SECOND)).toMatchObject(paused);
    expect(await set(5 * SECOND, { maxCatchUp: 7 })).toMatchObject({ ...paused, maxCatchUp: 7 });
    expect(await set(5 * SECOND, { note: 'no paper' })).toMatchObject({ ...paused, note: 'no paper' });
    await pass(20 * SECOND);
    expect(await set(5 * SECOND, { paused: false })).toMatchObject({ paused: false, note: null, made: 0 });
    expect(await set(5 * SECOND, { note: 'not paused' })).toMatchObject({ paused: false, note: null });
  });

  it('makes no second job for a slot after a pause and a change of its interval', async () => {
    await set(10 * SECOND);
    await pass(0);
    await recurrings().pause(f.ns, 'r');
    await recurrings().resume(f.ns, 'r');
    await pass(0);
    expect(await take()).toEqual(['r-1']);
    await recurrings().change(f.ns, 'r', { schedule: { everyMs: 5 * SECOND } });
    await pass(0);

    expect(await take()).toEqual([]);
    expect(await get()).toMatchObject({ made: 1 });
  });

  it('loses no change of two concurrent ones', async () => {
    await set(SECOND);
    await Promise.all([
      recurrings().change(f.ns, 'r', { maxCatchUp: 7 }),
      recurrings().change(f.ns, 'r', { template: { type: 't' } }),
      recurrings().pause(f.ns, 'r'),
    ]);

    expect(await get()).toMatchObject({ maxCatchUp: 7, template: { type: 't' }, paused: true });
  });

  describe('checks what it changes', () => {
    /** As an administrator does, between the check of another caller and its change. */
    const moved = () =>
      recurrings().set(f.ns, {
        ...{ id: 'r', schedule: { everyMs: 3_600 * SECOND, offsetMs: 3_600 * SECOND } },
        template: { queue: 'other', body: Buffer.from('secret') },
      });
    const refuse = ({ template }: Recurring): void => {
      if (template.queue === 'other') throw new Error('not allowed');
    };

    it.each<[string, (check: RecurringCheck) => Promise<unknown>]>([
      ['set', (check) => recurrings().set(f.ns, every(SECOND), check)],
      ['change', (check) => recurrings().change(f.ns, 'r', { paused: true }, check)],
      ['run', (check) => recurrings().run(f.ns, 'r', check)],
      ['remove', (check) => recurrings().remove(f.ns, 'r', check)],
    ])('though it has changed since: %s', async (_verb, call) => {
      await set(60 * SECOND);
      let isFirst = true;
      const check = async (known: Recurring): Promise<void> => {
        refuse(known);
        if (isFirst) await moved();
        isFirst = false;
      };
      await expect(call(check)).rejects.toThrow('not allowed');
      expect(await get()).toMatchObject({ template: { queue: 'other' }, paused: false, made: 0 });
    });

    it.each<[string, () => Promise<unknown>]>([
      ['run', () => recurrings().run(f.ns, 'r', refuse)],
      ['remove', () => recurrings().remove(f.ns, 'r', refuse)],
    ])('though there was none at first: %s', async (_verb, call) => {
      const calls = recurrings() as unknown as { known(): Promise<unknown> };
      jest.spyOn(calls, 'known').mockImplementationOnce(async () => {
        await moved();
        return undefined;
      });
      await expect(call()).rejects.toThrow('not allowed');
      expect(await get()).toMatchObject({ template: { queue: 'other' }, made: 0 });
    });

    it.each<[string, boolean, RecurringChange | null]>([
      ['a new one', false, null],
      ['the answer of a change', true, { paused: false }],
    ])('though another one is stored since: %s', async (_name, isThere, change) => {
      if (isThere) await set(60 * SECOND);
      const calls = recurrings() as unknown as { store(...args: unknown[]): Promise<number> };
      const store = calls.store.bind(calls);
      jest.spyOn(calls, 'store').mockImplementationOnce(async (...args) => {
        const code = isThere ? await store(...args) : 0;
        await moved();
        return isThere ? code : store(...args);
      });
      const call = change
        ? recurrings().change(f.ns, 'r', change, refuse)
        : recurrings().set(f.ns, every(SECOND), refuse);
      await expect(call).rejects.toThrow('not allowed');
      expect(await get()).toMatchObject({ template: { queue: 'other' } });
    });
  });

  it('is removed, and its jobs stay', async () => {
    await set(SECOND);
    await pass(0);
    expect(await recurrings().remove(f.ns, 'r')).toBe(true);
    await pass(10 * SECOND);

    expect(await take()).toEqual(['r-1']);
    expect(await recurrings().remove(f.ns, 'r')).toBe(false);
    for (const call of [get(), recurrings().pause(f.ns, 'r'), get('x'.repeat(45)), get('a/b')])
      await expect(call).rejects.toMatchObject({ code: 'recurring_not_found' });
    expect((await f.keys()).filter((key) => /:recurring|:schedules|\}R/.test(key))).toEqual([]);
  });
});

it('a recurring job makes jobs with dependencies', async () => {
  const [first] = await extended().extendedPublisher.publish(f.ns, [
    { queue: 'p', body: Buffer.from('x'), type: 't' },
  ]);
  const id = first?.id ?? '';
  await set(SECOND, { template: { queue: 'q', body: Buffer.from('x'), dependsOn: [id] } });
  await pass(SECOND);
  expect(await find('r-2')).toMatchObject({ state: 'blocked', dependsOn: [id] });
  await f.engine.ack(f.ns, 'p', id);
  await pass(0);

  expect((await take()).sort()).toEqual(['r-1', 'r-2']);
});

it('a recurring job is purged with its namespace', async () => {
  await set(SECOND);
  await pass(SECOND);
  const purged = await f.engine.purge.run(f.ns);
  await pass(10 * SECOND);

  expect(purged).toMatchObject({ jobs: 2, isDone: true, isInUse: false });
  expect(await f.keys()).toEqual([]);
});

it('a recurring job that is set again skips the job ids of its existing former jobs', async () => {
  await set(SECOND, { maxCatchUp: 1, id: 'twelve-chars1' });
  await pass(0);
  await recurrings().remove(f.ns, 'twelve-chars1');
  await set(SECOND, { id: 'twelve-chars1' });
  await pass(0);

  expect(await take()).toEqual(['twelve-chars1-1', 'twelve-chars1-3']);
  expect(await find('twelve-chars1-3')).toMatchObject({ id: 'twelve-chars1-3' });
});

it('a recurring job honours a unique key: a slot whose job is refused is skipped', async () => {
  const template = { queue: 'q', body: Buffer.from('x'), unique: { key: 'k', mode: 'reject' as const } };
  await set(SECOND, { template });
  await pass(3 * SECOND);
  expect(await get()).toMatchObject({ made: 1, skipped: 3 });
  const [job] = await f.lease('q');
  await f.engine.ack(f.ns, 'q', job?.id ?? '');
  await pass(SECOND);

  expect(await get()).toMatchObject({ made: 2, skipped: 3 });
  expect(await take()).toEqual(['r-2']);
});

it('a recurring job honours quotas', async () => {
  const small = await EngineFixture.open({
    clock: () => f.nowMs,
    quotas: { queues: 1, jobsPerQueue: 2, bytes: 0 },
  });
  try {
    await recurrings().set(f.ns, every(SECOND, { id: 'a' }));
    await small.engine.pumpNow(f.ns);
    await recurrings().set(
      f.ns,
      every(SECOND, { id: 'b', template: { queue: 'p', body: Buffer.from('x') } }),
    );
    f.nowMs += 2 * SECOND;
    await small.engine.pumpNow(f.ns);

    expect(await get('a')).toMatchObject({ made: 2, skipped: 1 });
    expect(await get('b')).toMatchObject({ made: 0, skipped: 3 });
    expect(await f.engine.queues.names(f.ns)).toEqual(['q']);
  } finally {
    await small.close();
  }
});

it('a list of recurring jobs has pages in the order of their ids', async () => {
  for (const id of ['b', 'd', 'a', 'c'])
    await set(SECOND, { id, template: { queue: id, body: Buffer.from(id) } });
  const first = await recurrings().list(f.ns, 2);
  const second = await recurrings().list(f.ns, 2, first.after ?? '');
  const last = await recurrings().list(f.ns, 2, second.after ?? '');

  expect([first, second, last].map(({ items }) => items.map(({ id }) => id))).toEqual([
    ['a', 'b'],
    ['c', 'd'],
    [],
  ]);
  expect(last.after).toBeNull();
  expect((await recurrings().list(f.ns, 100, '', 'c')).items).toEqual([await get('c')]);
});

it('a list of recurring jobs ends a page early if the jobs are large', async () => {
  const template = { queue: 'q', body: Buffer.alloc(3_000_000, 'x') };
  for (const id of ['a', 'b', 'c']) await set(SECOND, { id, template });
  const first = await recurrings().list(f.ns, 100);
  const last = await recurrings().list(f.ns, 100, first.after ?? '');

  expect([first, last].map(({ items }) => items.map(({ id }) => id))).toEqual([['a', 'b'], ['c']]);
  expect([first.after, last.after]).toEqual(['b', null]);
  await recurrings().removeAll(f.ns);
  await pass(SECOND);
  expect((await recurrings().list(f.ns, 100)).items).toEqual([]);
  expect(await f.keys()).toEqual([f.pool.keys.namespace(f.ns).meta]);
});

it('a recurring job keeps a namespace without queues', async () => {
  await set(SECOND, { schedule: { everyMs: SECOND, offsetMs: 60 * SECOND } });
  await f.engine.tidyNow(f.ns);
  expect(await f.engine.namespaces()).toContain(f.ns);
  await pass(60 * SECOND);

  expect(await take()).toEqual(['r-1']);
});

it.each<[Partial<NewRecurring>, RegExp]>([
  [{ id: 'x'.repeat(45) }, /^id /],
  [{ id: '-' }, /^id /],
  [{ schedule: { everyMs: 999 } }, /^schedule\.everyMs /],
  [{ schedule: { everyMs: 1_000.5 } }, /^schedule\.everyMs /],
  [{ schedule: { everyMs: SECOND, offsetMs: -1 } }, /^schedule\.offsetMs /],
  [{ schedule: { everyMs: SECOND, firstAtMs: 2 ** 50 } }, /^schedule\.firstAtMs /],
  [{ maxCatchUp: -1 }, /^maxCatchUp /],
  [{ maxCatchUp: 1_001 }, /^maxCatchUp /],
  [{ template: { queue: 'q', body: Buffer.from(''), priority: 128 } }, /^priority /],
])('a recurring job refuses %j', async (more, message) => {
  await expect(set(SECOND, more)).rejects.toThrow(message);
  expect((await recurrings().list(f.ns, 10)).items).toEqual([]);
});

it('a job that is replaced in the moment when it becomes ready gives its slot back', async () => {
  await f.engine.queues.change(f.ns, 'q', { maxRunningPerKey: 1 });
  const template = {
    ...{ queue: 'q', body: Buffer.from('x'), concurrencyKey: 'k', tries: 5 },
    retry: { kind: 'fixed', delayMs: 2 * SECOND } as const,
  };
  await set(10 * SECOND, { overlap: 'replace', template });
  await pass(0);
  const [job] = await f.lease('q');
  await f.engine.settle.retry(f.ns, { id: job!.id, lease: job!.lease, group: 'g', message: 'm' });
  // The servers are away: the retry and the next slot are due when they come back.
  f.nowMs += 12 * SECOND;
  await f.engine.pumpNow(f.ns);
  expect(await get()).toMatchObject({ made: 2, skipped: 0 });
  expect(await take()).toEqual(['r-2']);
  expect(await f.audit()).toEqual([]);
});

describe('names of the jobs of a recurring job', () => {
  const FORMER = 'recurring:r';
  const OWN = `\u0001${FORMER}`;
  const keyOf = (key: string): string => f.pool.keys.uniqueKey(f.ns, key);
  const holder = (key: string) => f.pool.read('GET', keyOf(key));

  /** What an earlier server stored of the recurring job `r` and of its last job. */
  async function storeAsBefore(id: string): Promise<void> {
    const [all, job] = [`{${f.ns}}Rr`, `{${f.ns}}x\0${id}`];
    const options = String(await f.pool.read('HGET', all, 'options'));
    expect(options).toContain(JSON.stringify(OWN));
    await f.pool.read('HSET', all, 'options', options.replace(JSON.stringify(OWN), JSON.stringify(FORMER)));
    await f.pool.read('HSET', job, 'unique', FORMER);
    if ((await holder(OWN)) !== null) await f.pool.read('RENAME', keyOf(OWN), keyOf(FORMER));
  }

  const options = () => f.pool.read('HGET', `{${f.ns}}Rr`, 'options');

  it.each(['skip', 'replace'] as const)(
    "are not blocked by a caller's key recurring:<id>, with overlap %s",
    async (overlap) => {
      const unique = { key: FORMER, mode: 'reject', windowMs: 2 ** 40 } as const;
      const mine = await f.put('mine', { unique });
      await set(SECOND, { overlap });
      await pass(SECOND / 2);
      expect(await take()).toEqual(['r-1']);
      expect(await f.find(mine)).toMatchObject({ state: 'ready', uniqueKey: FORMER });
      await expect(f.put('mine', { unique })).rejects.toMatchObject({ code: 'unique_key_taken' });
    },
  );

  it('are refused to callers, and not shown', async () => {
    const unique = { key: OWN, mode: 'reject' } as const;
    await expect(f.put('q', { unique })).rejects.toThrow(
      /^unique\.key must be a text .* none of them a control character$/,
    );
    await set(SECOND, { overlap: 'skip' });
    await pass(0);
    expect(await find('r-1')).toMatchObject({ state: 'ready', uniqueKey: null });
  });

  it('change with the first slot if an earlier server stored them', async () => {
    await set(10 * SECOND, { overlap: 'skip' });
    await pass(0);
    await storeAsBefore('r-1');
    await pass(10 * SECOND);
    expect(await get()).toMatchObject({ made: 1, skipped: 1, lastSkip: { reason: 'overlap' } });
    expect([await holder(FORMER), String(await holder(OWN)).slice(0, 2)]).toEqual([null, '0 ']);
    // So that an earlier server beside this one finds the same key.
    expect(await options()).toContain(JSON.stringify(OWN));

    const [job] = await f.lease('q');
    await f.engine.ack(f.ns, 'q', job?.id ?? '');
    await pass(10 * SECOND);
    expect(await take()).toEqual(['r-2']);
    expect(await f.audit()).toEqual([]);
  });

  it('change with the first slot that replaces a job if an earlier server stored them', async () => {
    await set(10 * SECOND, { overlap: 'replace' });
    await pass(0);
    await storeAsBefore('r-1');
    await pass(10 * SECOND);
    expect(await get()).toMatchObject({ made: 2, skipped: 0 });
    expect(await take()).toEqual(['r-2']);
    expect(await f.audit()).toEqual([]);
  });

  it('do not affect a job with the key that an earlier server used', async () => {
    await set(10 * SECOND, { overlap: 'skip' });
    await pass(0);
    await storeAsBefore('r-1');
    const [job] = await f.lease('q');
    await f.engine.ack(f.ns, 'q', job?.id ?? '');
    const mine = await f.put('mine', { unique: { key: FORMER, mode: 'reject' } });
    await pass(10 * SECOND);
    expect(await get()).toMatchObject({ made: 2, skipped: 0 });
    expect(await f.find(mine)).toMatchObject({ state: 'ready', uniqueKey: FORMER });
    expect(String(await holder(FORMER)).slice(0, 2)).toBe('0 ');
  });

  it('change when a dead job of an earlier server is respawned', async () => {
    await set(10 * SECOND, { overlap: 'skip', template: { queue: 'q', body: Buffer.from('x'), tries: 1 } });
    await pass(0);
    const [job] = await f.lease('q');
    await f.engine.settle.fail(f.ns, { id: job!.id, lease: job!.lease, group: 'g', message: 'm' });
    await storeAsBefore('r-1');
    await f.engine.components.deadJobs.respawn(f.ns, { queue: 'q' }, { ttlMs: 0, tries: 1 });
    expect([await holder(FORMER), String(await holder(OWN)).slice(0, 2)]).toEqual([null, '0 ']);
    await pass(10 * SECOND);
    expect(await get()).toMatchObject({ made: 1, skipped: 1, lastSkip: { reason: 'overlap' } });
  });

  it('are free numbers although a caller used many of the next numbers', async () => {
    for (let [n, step] = [1, 1]; step <= 2 ** 41; step *= 2, n += step) await f.put('mine', { id: `r-${n}` });
    await set(SECOND);
    await pass(0);
    const [id, ...more] = await take();
    expect(id).toMatch(/^r-\d+$/);
    expect(more).toEqual([]);
    expect(await get()).toMatchObject({ skipped: 0, lastSkip: null });
  });
});

describe("recurring jobs after Redis's clock was ahead", () => {
  const YEAR = 365 * 86_400 * SECOND;
  const MINUTE = 60 * SECOND;
  /** The clock jumps ahead, what is due is done, and the clock is set back. */
  async function jump(ms: number): Promise<void> {
    await pass(ms);
    f.nowMs -= ms;
  }

  it.each([
    ['that made a job then', { maxCatchUp: 1 }],
    ['that made none then', { maxCatchUp: 0 }],
    ['by cron', { schedule: { cron: '* * * * *', timeZone: 'UTC' } }],
  ] as const)('go on within a period: a recurring job %s', async (_what, more) => {
    await set(MINUTE, more);
    await pass(MINUTE);
    await jump(YEAR + 30 * SECOND);
    // To read one by cron repairs it.
    const stored = (await f.pool.read('HMGET', `{${f.ns}}Rr`, 'next', 'made')) as string[];
    const [next = 0, made = 0] = stored.map(Number);
    expect(next).toBeGreaterThan(f.nowMs + YEAR / 2);

    expect(await recurrings().renew(f.ns)).toBeGreaterThan(0);
    const repaired = await get();
    expect(repaired.nextAtMs).toBeGreaterThanOrEqual(f.nowMs);
    expect(repaired.nextAtMs).toBeLessThanOrEqual(f.nowMs + MINUTE);
    for (let i = 1; i <= 3; i++) {
      await pass(MINUTE);
      expect(await get()).toMatchObject({ made: made + i });
    }
    expect(await recurrings().renew(f.ns)).toBe(0);
    expect((await get()).nextAtMs).toBeLessThanOrEqual(f.nowMs + MINUTE);
  });

  it('go on within a period when they are set again', async () => {
    await set(MINUTE);
    await jump(YEAR);
    await recurrings().pause(f.ns, 'r');
    const { nextAtMs } = await recurrings().resume(f.ns, 'r');
    expect(nextAtMs).toBeLessThanOrEqual(f.nowMs + MINUTE);
  });

  it('are unchanged by a clock correction of 4 s, and if they begin a year later', async () => {
    await set(MINUTE, { schedule: { everyMs: MINUTE, offsetMs: YEAR } });
    await set(MINUTE, { id: 'served' });
    await pass(0);
    const before = await Promise.all([get(), get('served')]);
    f.nowMs -= 4 * SECOND;
    expect(await recurrings().renew(f.ns)).toBe(0);
    expect(await Promise.all([get(), get('served')])).toEqual(before);
    await pass(4 * SECOND);
    expect(await get('served')).toMatchObject({ made: 1 });
  });

  it('are repaired a page at a time if they are many', async () => {
    for (let i = 0; i < 130; i++) await set(MINUTE, { id: `many-${i}`, maxCatchUp: 0 });
    for (let i = 0; i < 130; i++)
      await set(MINUTE, { id: `later-${i}`, schedule: { everyMs: MINUTE, offsetMs: 2 * YEAR } });
    await jump(YEAR);
    expect(await recurrings().renew(f.ns)).toBe(130);
    for (const id of ['many-0', 'many-129'])
      expect((await get(id)).nextAtMs).toBeLessThanOrEqual(f.nowMs + MINUTE);
  });

  it('do not stop the janitor', async () => {
    const keys = f.pool.keys.namespace(f.ns);
    const round = { cursor: '0', every_ms: MINUTE, stalled_ms: MINUTE, deadline_ms: 0 };
    await f.publish('q');
    for (const aheadMs of [YEAR, 0]) await f.pool.run(tidy, keys, { ...round, clock_ms: f.nowMs + aheadMs });
    expect(await f.pool.read('HGET', keys.meta, 'tidied')).toBe(String(f.nowMs));
  });

  it('do not stop the loss of a worker session without a heartbeat since', async () => {
    const { workers } = extended();
    const beat = () => workers.heartbeat(f.ns, 'w', { ttrMs: MINUTE, leases: [], info: { name: 'w' } });
    f.nowMs += YEAR;
    await beat();
    f.nowMs -= YEAR;
    await recurrings().renew(f.ns);
    expect(await workers.find(f.ns, 'w')).toMatchObject({ seenAtMs: f.nowMs, session: { isLost: false } });
    await pass(MINUTE);
    expect(await workers.find(f.ns, 'w')).toMatchObject({ session: { isLost: true } });
    expect(await workers.countSessions(f.ns)).toBe(0);
    await pass(86_400 * SECOND);
    expect(await workers.find(f.ns, 'w')).toBeNull();
  });
});
