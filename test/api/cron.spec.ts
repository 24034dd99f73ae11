import { call, useNativeApi } from '../support/native-api.js';
import { waitFor } from '../support/redis.js';

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

  it.each([
    [{ cron: '61 * * * *', tz: 'UTC' }, 'schedule.cron'],
    [{ cron: '0 9 30 2 *', tz: 'UTC' }, 'ten years'],
    [{ cron: '* * * * *', tz: 'Mars/Olympus' }, 'schedule.timeZone'],
    [{ ...HOURLY, start_at: '2030-01-02T00:00:00Z', end_at: '2030-01-01T00:00:00Z' }, 'schedule.endAtMs'],
  ])('refuse %j with the reason', async (schedule, text) => {
    for (const path of ['recurring', 'recurring/preview']) {
      const answer = await call('POST', path, {
        schedule,
        ...(path === 'recurring' ? { job: { queue: 'q' } } : {}),
      });
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(text)]);
    }
  });
});
