import type { CronSchedule } from '../../contract/job/recurring.js';
import { checkCron, isMoved, slotsAfter, slotsPassed } from './cron.js';

const HOUR_MS = 3_600_000;
const of = (cron: string, timeZone = 'UTC', more: Partial<CronSchedule> = {}): CronSchedule => ({
  ...{ cron, timeZone },
  ...more,
});
const nextFrom = (cron: string, timeZone: string, from: string, count: number): string[] =>
  slotsAfter(of(cron, timeZone), Date.parse(from), count).map((at) =>
    new Date(at).toISOString().slice(0, 16),
  );

describe('slots of a cron expression', () => {
  it.each([
    ['30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', ['2026-03-29T01:00', '2026-03-30T00:30']],
    ['30 2,14 * * *', 'Europe/Berlin', '2026-03-28T14:00Z', ['2026-03-29T01:00', '2026-03-29T12:30']],
    ['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z', ['2026-10-25T00:30', '2026-10-26T01:30']],
    ['0 0 * * *', 'America/Sao_Paulo', '2018-11-03T12:00Z', ['2018-11-04T03:00', '2018-11-05T02:00']],
    ['15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T12:00Z', ['2026-10-03T15:30', '2026-10-04T15:15']],
    [
      ...['*/30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z'],
      ['2026-10-25T00:00', '2026-10-25T00:30', '2026-10-25T01:00', '2026-10-25T01:30'],
    ],
    [
      ...['30 23 * * *', 'America/Scoresbysund', '2026-03-28T12:00Z'],
      ['2026-03-29T01:00', '2026-03-30T00:30', '2026-03-31T00:30'],
    ],
    // A slot in a gap that reaches into the next day, where the next one is in another year, at the same offset.
    [
      ...['30 23 * 3 6', 'America/Nuuk', '2026-03-15T12:00Z'],
      ['2026-03-22T01:30', '2026-03-29T01:00', '2027-03-07T01:30'],
    ],
    ['0 9 L * *', 'UTC', '2026-01-31T10:00Z', ['2026-02-28T09:00', '2026-03-31T09:00']],
    ['0 9 * * FRI#2', 'UTC', '2026-03-28T12:00Z', ['2026-04-10T09:00', '2026-05-08T09:00']],
    ['0 9 15W * *', 'UTC', '2026-08-01T00:00Z', ['2026-08-14T09:00', '2026-09-15T09:00']],
    ['@daily', 'UTC', '2026-03-28T12:00Z', ['2026-03-29T00:00', '2026-03-30T00:00']],
    ['*/20 * * * * *', 'UTC', '2026-03-28T12:00:19.999Z', ['2026-03-28T12:00', '2026-03-28T12:00']],
    ['0 12 1 * MON', 'UTC', '2026-03-28T12:00Z', ['2026-03-30T12:00', '2026-04-01T12:00']],
  ] as [string, string, string, string[]][])(
    'are computed correctly for %s in the time zone %s from %s on',
    (cron, zone, from, expected) => {
      expect(nextFrom(cron, zone, from, expected.length)).toEqual(expected);
    },
  );

  it.each([
    ['0 0 29 2 +SUN', ['2032-02-28T23:00', '2060-02-28T23:00']],
    ['30 2 1 1 +MON#1', ['2029-01-01T01:30', '2035-01-01T01:30']],
  ])('are computed for 50 years at most, in little time: %s', (cron, first) => {
    const tookMs = [1, 2, 3].map(() => {
      const began = process.cpuUsage();
      const slots = nextFrom(cron, 'Europe/Berlin', '2026-11-30T00:00Z', 100);
      expect([slots.slice(0, 2), (slots.at(-1) ?? '') < '2077']).toEqual([first, true]);
      return process.cpuUsage(began).user / 1_000;
    });
    // It takes about 10 ms; through all years that the library knows it took 800 ms.
    expect(Math.min(...tookMs)).toBeLessThan(100);
  });

  it('are known as moved if a clock change skipped their time', () => {
    const schedule = of('30 2 * * *', 'Europe/Berlin');
    const slots = slotsAfter(schedule, Date.parse('2026-03-28T00:00Z'), 3);
    expect(slots.map((slot) => isMoved(schedule, slot))).toEqual([false, true, false]);
  });

  it('begin at start_at and end before end_at of the schedule', () => {
    const [startAtMs, endAtMs] = [Date.parse('2026-01-02T00:00Z'), Date.parse('2026-01-04T00:00Z')];
    const schedule = of('0 0 * * *', 'UTC', { startAtMs, endAtMs });
    expect(slotsAfter(schedule, 0, 10)).toEqual([startAtMs, startAtMs + 24 * HOUR_MS]);
    expect(slotsPassed(schedule, 0, endAtMs, 1)).toEqual({ slots: [startAtMs + 24 * HOUR_MS], others: 1 });
  });

  it('are for a past time those in each gap of the clock, too', () => {
    const schedule = of('30 23 28 3,9 *', 'America/Nuuk');
    const [fromMs, toMs] = [Date.parse('2025-12-01T00:00Z'), Date.parse('2026-12-01T00:00Z')];
    expect(slotsPassed(schedule, fromMs, toMs, 9).slots.map((at) => new Date(at).toISOString())).toEqual([
      '2026-03-29T01:00:00.000Z',
      '2026-09-29T00:30:00.000Z',
    ]);
    // Within weeks, too.
    const [one, other] = [Date.parse('2026-02-20T00:00Z'), Date.parse('2026-04-10T00:00Z')];
    expect(slotsPassed(schedule, one, other, 9).slots).toEqual([Date.parse('2026-03-29T01:00Z')]);
  });

  it('are for a past time the last ones that are asked for, and the earlier ones are counted, up to 1,000 in all', () => {
    const schedule = of('* * * * * *');
    const nowMs = Date.parse('2026-01-01T00:00:00Z');
    expect(slotsPassed(schedule, nowMs - 5_000, nowMs, 2)).toEqual({
      slots: [nowMs - 1_000, nowMs],
      others: 3,
    });
    expect(slotsPassed(schedule, nowMs - 5_000, nowMs - 1, 2).slots).toEqual([nowMs - 2_000, nowMs - 1_000]);
    expect(slotsPassed(schedule, nowMs, nowMs, 2)).toEqual({ slots: [], others: 0 });
    expect(slotsPassed(schedule, nowMs - 86_400_000, nowMs, 10).others).toBe(990);
  });
});

describe('the check of a cron expression', () => {
  const nowMs = Date.parse('2026-11-23T00:00Z');
  it.each([
    '',
    ' ',
    'H * * * *',
    '1/5 * * * *',
    '* * * * * * 2030',
    '@reboot',
    '@every 5s',
    '* * *',
    '61 * * * *',
  ])('refuses the invalid or unsupported expression %j', (cron) =>
    expect(() => checkCron(of(cron), nowMs)).toThrow('schedule.cron'),
  );
  it.each(['0 9 30 2 *', '0 0 31 4,6,9,11 *'])('refuses %j, which has no slot within ten years', (cron) =>
    expect(() => checkCron(of(cron), nowMs)).toThrow('within ten years'),
  );
  it('searches some years only for a slot of days that do not exist', () => {
    const made = jest.spyOn(Date, 'UTC');
    expect(() => checkCron(of('0 0 1W,2W,3W,4W * +SUN'), nowMs)).toThrow('within ten years');
    expect(made.mock.calls.length).toBeLessThan(40_000);
    made.mockRestore();
    expect(() => checkCron(of('0 0 1W,2W,3W,4W,5W * *'), nowMs)).toThrow('at most 4 days');
    expect(() => checkCron(of('@hourly'), nowMs)).not.toThrow();
    expect(() => checkCron(of('0 0 0 29 2 +SUN'), Date.parse('9996-01-01T00:00Z'))).toThrow('ten years');
  });
  it.each(['Mars/Olympus', '', '+02:00', 'Europe', '0'])('refuses the time zone %j', (zone) =>
    expect(() => checkCron(of('* * * * *', zone), nowMs)).toThrow('schedule.timeZone'),
  );
  it('refuses an expression of more than 256 characters, a negative jitter, and an end that is not after the start', () => {
    expect(() => checkCron(of(`${'1,'.repeat(140)}1 * * * *`), nowMs)).toThrow('256');
    expect(() => checkCron(of('* * * * *', 'UTC', { jitterMs: -1 }), nowMs)).toThrow('jitterMs');
    expect(() => checkCron(of('* * * * *', 'UTC', { startAtMs: 5, endAtMs: 5 }), nowMs)).toThrow('endAtMs');
    expect(() => checkCron(of('0 0 29 2 *'), nowMs)).not.toThrow();
  });
});
