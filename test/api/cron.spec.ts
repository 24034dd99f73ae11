import { connect, type EnginePumphouse } from '../../packages/engine/src/index.js';
import { app, call, useNativeApi } from '../support/native-api.js';
import { testTarget, waitFor } from '../support/redis.js';

useNativeApi();

const HOURLY = { cron: '0 * * * *', tz: 'UTC' };
async function given<T>(method: string, path: string, body?: object, status = 200): Promise<T> {
  const answer = await call(method, path, body);
  expect([answer.status, answer.text]).toEqual([status, expect.any(String)]);
  return answer.json as T;
}
const fields = async (body: object, path = 'recurring'): Promise<string[]> => {
  const { json } = await call('POST', path, body);
  return ((json as { errors?: { field: string }[] }).errors ?? []).map(({ field }) => field);
};

/** Schedules with the field that is wrong, and why. */
const REFUSED: [schedule: object, field: string, reason: RegExp][] = [
  [{ cron: '61 * * * *', tz: 'UTC' }, 'schedule.cron', /an? minute from 0 to 59.*given: 61$/],
  [{ cron: '0 9 * 13 *', tz: 'UTC' }, 'schedule.cron', /an? month from 1 to 12.*given: 13$/],
  [{ cron: '0 9 * * 1 2030 *', tz: 'UTC' }, 'schedule.cron', /five fields.*it has 7/],
  [{ cron: '0 9 * * fri#6', tz: 'UTC' }, 'schedule.cron', /behind the # .*given: fri#6$/],
  [{ cron: ' ', tz: 'UTC' }, 'schedule.cron', /it has none$/],
  [{ cron: '0 9 30 2 *', tz: 'UTC' }, 'schedule.cron', /within ten years/],
  [{ cron: '* * * * *', tz: 'Mars/Olympus' }, 'schedule.tz', /IANA.*given: Mars\/Olympus$/],
  [{ cron: '* * * * *', tz: 'Europe/Berln' }, 'schedule.tz', /did you mean Europe\/Berlin/],
  [{ cron: '* * * * *', tz: '+02:00' }, 'schedule.tz', /an offset is no zone: Etc\/GMT-2/],
  [
    { ...HOURLY, start_at: '2030-01-02T00:00:00Z', end_at: '2030-01-01T00:00:00Z' },
    'schedule.end_at',
    /^must be later than the start of the schedule$/,
  ],
];

describe('recurring jobs by cron', () => {
  it('create a job each second, and show their state', async () => {
    const schedule = { cron: '* * * * * *', tz: 'UTC', jitter_ms: 50 };
    await given('PUT', 'recurring/tick', { schedule, job: { queue: 'ticks' }, max_catch_up: 10 });
    await waitFor(async () => (await given<{ made: number }>('GET', 'recurring/tick')).made >= 2, 6_000);
    const paused = await given('POST', 'recurring/tick/pause', { note: 'enough' });
    expect(paused).toMatchObject({ schedule, paused: true, note: 'enough', next_at: null, overlap: 'allow' });
    expect(await given('POST', 'recurring/tick/resume')).toMatchObject({ paused: false, note: null });
    await call('DELETE', 'recurring/tick');
  });

  it('are shown as they were given', async () => {
    const schedule = {
      ...HOURLY,
      jitter_ms: 0,
      start_at: '2030-01-01T00:00:00.000Z',
      end_at: '2031-01-01T00:00:00.000Z',
    };
    const stored = await given('PUT', 'recurring/shown', {
      ...{ schedule, job: { queue: 'q' }, catch_up_ms: 60_000, overlap: 'skip' },
    });
    expect(stored).toMatchObject({
      ...{ schedule, catch_up_ms: 60_000, overlap: 'skip', note: null, last_skip: null },
      next_at: '2030-01-01T00:00:00.000Z',
    });
    expect(await given('PATCH', 'recurring/shown', { catch_up_ms: null, overlap: 'allow' })).toMatchObject({
      ...{ schedule, catch_up_ms: null, overlap: 'allow' },
    });
  });

  it('show their next slots in local time, and which of them a clock change moves', async () => {
    const schedule = { cron: '30 2 * * *', tz: 'Europe/Berlin', start_at: '2030-03-30T00:00:00Z' };
    const slots = [
      { at: '2030-03-30T01:30:00.000Z', local: '2030-03-30T02:30:00+01:00', moved: false },
      { at: '2030-03-31T01:00:00.000Z', local: '2030-03-31T03:00:00+02:00', moved: true },
      { at: '2030-04-01T00:30:00.000Z', local: '2030-04-01T02:30:00+02:00', moved: false },
    ];
    expect(await given('POST', 'recurring/preview', { schedule, count: 3 })).toEqual({ slots });
    await given('PUT', 'recurring/berlin', { schedule, job: { queue: 'q' }, paused: true });
    expect(await given('GET', 'recurring/berlin/next?count=2')).toEqual({ slots: slots.slice(0, 2) });
    const { slots: tens } = await given<{ slots: unknown[] }>('POST', 'recurring/preview', {
      schedule: { every_ms: 1_000 },
    });
    expect([tens.length, tens[0]]).toEqual([
      10,
      { at: expect.any(String) as string, local: null, moved: false },
    ]);
    expect((await call('GET', 'recurring/none/next')).status).toBe(404);
  });

  it('create a job at once when a call runs them, if overlap allows it', async () => {
    await given('PUT', 'recurring/now', {
      schedule: HOURLY,
      job: { queue: 'now' },
      overlap: 'skip',
      paused: true,
    });
    expect(await given('POST', 'recurring/now/run', undefined, 201)).toEqual({ id: 'now-1' });
    const again = await call('POST', 'recurring/now/run');
    expect([again.status, (again.json as { code: string }).code]).toEqual([409, 'unique_key_taken']);
    expect((await call('POST', 'recurring/none/run')).status).toBe(404);
    const { jobs } = await given<{ jobs: { id: string }[] }>('POST', 'leases', { queues: ['now'] });
    expect(jobs.map(({ id }) => id)).toEqual(['now-1']);
  });

  it.each([
    [{ ...HOURLY, tz: undefined }, ['schedule.tz']],
    [{ ...HOURLY, every_ms: 1_000, offset_ms: 1 }, ['schedule.every_ms', 'schedule.offset_ms']],
    [
      { every_ms: 1_000, jitter_ms: 5, end_at: '2030-01-01T00:00:00Z' },
      ['schedule.jitter_ms', 'schedule.end_at'],
    ],
    [{ ...HOURLY, jitter_ms: 86_400_001 }, ['schedule.jitter_ms']],
    [{ ...HOURLY, cron: 'x'.repeat(257) }, ['schedule.cron']],
  ])('refuse %j', async (schedule, expected) => {
    expect(await fields({ schedule, job: { queue: 'q' } })).toEqual(expected);
    expect(await fields({ schedule }, 'recurring/preview')).toEqual(expected);
  });

  it.each(REFUSED)('refuse %j with field and reason', async (schedule, field, reason) => {
    await given('PUT', 'recurring/known', { schedule: HOURLY, job: { queue: 'q' }, paused: true });
    const job = { queue: 'q' };
    const calls = [
      ['POST', 'recurring', { schedule, job }],
      ['POST', 'recurring/preview', { schedule }],
      ['PUT', 'recurring/known', { schedule, job }],
      ['PATCH', 'recurring/known', { schedule }],
    ] as const;
    for (const [method, path, body] of calls) {
      const { status, json } = await call(method, path, body);
      const { code, detail, errors } = json as { code: string; detail: string; errors: unknown };
      expect([method, path, status, code]).toEqual([method, path, 400, 'invalid_argument']);
      expect(errors).toEqual([{ field, rule: expect.stringMatching(reason) as string }]);
      expect(detail).toMatch(new RegExp(`^${field}: `));
      expect(detail).not.toMatch(/CronPattern|timeZone|AtMs/);
    }
  });
});

describe('recurring jobs by cron in a process', () => {
  let pumphouse: EnginePumphouse;
  beforeAll(async () => {
    pumphouse = await connect({ redis: testTarget(), namespace: app.namespace });
  });
  afterAll(() => pumphouse.close());

  it.each(REFUSED)('refuse %j with field and reason', async (schedule, wireField, reason) => {
    const { start_at: startAt, end_at: endAt, ...cron } = schedule as Record<string, string>;
    const given = { cron: '', tz: '', ...cron, ...(startAt && { startAt }), ...(endAt && { endAt }) };
    const field = wireField.replace('end_at', 'endAt');
    const refusal = {
      code: 'invalid_argument',
      message: expect.stringMatching(new RegExp(`^invalid_argument: ${field} `)) as string,
      details: { errors: [{ field, rule: expect.stringMatching(reason) as string }] },
    };
    await expect(pumphouse.recurring.preview(given)).rejects.toMatchObject(refusal);
    await expect(
      pumphouse.recurring.put('in-process', { schedule: given, job: { queue: 'q' } }),
    ).rejects.toMatchObject(refusal);
  });
});
