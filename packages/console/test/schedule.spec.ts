import { cronSentence, sentenceOf } from '../src/lib/schedule.js';

describe('sentences of schedules', () => {
  it.each([
    ['30 2 * * *', 'at 02:30'],
    ['30 2,14 * * *', 'at 02:30 and 14:30'],
    ['0 9 * * 1-5', 'at 09:00 on weekdays'],
    ['0 9 * * MON,THU', 'at 09:00 on Monday and Thursday'],
    ['*/5 * * * *', 'every 5 minutes'],
    ['0 * * * *', 'every hour'],
    ['15 */6 * * *', 'every 6 hours at minute 15'],
    ['0 0 1 * *', 'at 00:00 on day 1 of each month'],
    ['0 0 L * *', 'at 00:00 on the last day of each month'],
    ['@daily', 'at 00:00'],
    ['@yearly', 'at 00:00 on day 1 of January'],
  ])('read %s as “%s”', (cron, expected) => {
    expect(cronSentence(cron)).toBe(expected);
  });

  it.each(['0 0 15W * *', '0 9 * * FRI#2', '1-5 * * * *', '0 0 1 * 1', '*/10 2 * * *', 'x'])(
    'leave %s as it is',
    (cron) => {
      expect(cronSentence(cron)).toBeUndefined();
      expect(sentenceOf({ cron, tz: 'UTC' })).toBe(`by cron ${cron}, UTC time`);
    },
  );

  it('have the interval', () => {
    expect(sentenceOf({ every_ms: 300_000 })).toBe('every 5 m');
  });
});
