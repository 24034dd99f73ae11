import { momentOf, momentRule } from './moment.js';

const iso = (text: string): string => new Date(momentOf(text)).toISOString();

describe('momentOf', () => {
  it.each([
    ['2030-01-02T03:04:05Z', '2030-01-02T03:04:05.000Z'],
    ['2030-01-02T03:04:05.6Z', '2030-01-02T03:04:05.600Z'],
    ['2030-01-02T03:04:05.67Z', '2030-01-02T03:04:05.670Z'],
    ['2030-01-02T03:04:05.999999+00:00', '2030-01-02T03:04:05.999Z'],
    ['2030-01-02T03:04:05.6789012Z', '2030-01-02T03:04:05.678Z'],
    ['2030-01-02T03:04:05.123456789Z', '2030-01-02T03:04:05.123Z'],
    ['2030-01-02t03:04:05z', '2030-01-02T03:04:05.000Z'],
    ['2030-01-02T03:04:05+14:00', '2030-01-01T13:04:05.000Z'],
    ['2030-01-02T03:04:05-00:00', '2030-01-02T03:04:05.000Z'],
    ['2030-01-02T03:04:05-03:30', '2030-01-02T06:34:05.000Z'],
    ['2028-02-29T00:00:00Z', '2028-02-29T00:00:00.000Z'],
    ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['1969-12-31T23:59:59.5Z', '1969-12-31T23:59:59.500Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('reads %s as %s', (text, expected) => {
    expect(iso(text)).toBe(expected);
  });

  it.each([
    ['2030-02-30T00:00:00Z', 'there is no day 2030-02-30'],
    ['2030-02-29T00:00:00Z', 'there is no day 2030-02-29'],
    ['2100-02-29T00:00:00Z', 'there is no day 2100-02-29'],
    ['2030-04-31T00:00:00Z', 'there is no day 2030-04-31'],
    ['2030-13-01T00:00:00Z', 'there is no day 2030-13-01'],
    ['2030-00-01T00:00:00Z', 'there is no day 2030-00-01'],
    ['2030-01-00T00:00:00Z', 'there is no day 2030-01-00'],
    ['2030-01-01T24:00:00Z', 'an hour is 00 to 23'],
    ['2030-01-01T00:60:00Z', 'a minute is 00 to 59'],
    ['2016-12-31T23:59:60Z', 'a second is 00 to 59'],
    ['2030-01-01T00:00:00+24:00', 'the hours of an offset are 00 to 23'],
    ['2030-01-01T00:00:00+02:60', 'a minute is 00 to 59'],
    ['2030-01-01T00:00:00+0200', 'an offset has hours and minutes'],
    ['2030-01-01T00:00:00+2400', 'an offset has hours and minutes'],
    ['2030-01-01T00:00:00+02', 'an offset has hours and minutes'],
    ['2030-01-01T00:00Z', 'the seconds are missing'],
    ['2030-01-01T00:00', 'the seconds are missing'],
    ['2030-01-01T00:00:00', 'the offset is missing'],
    ['2030-01-01T00:00:00.123456', 'the offset is missing'],
    ['2030-01-01', 'the time of the day and its offset are missing'],
    ['2030-01-01 00:00:00Z', 'a T stands between'],
    ['2030-01-01T00:00:00.1234567890Z', 'at most nine digits'],
    ['12030-01-01T00:00:00Z', 'a year has four digits'],
    ['+012030-01-01T00:00:00Z', 'a year has four digits'],
    ['-000001-01-01T00:00:00Z', 'a year has four digits'],
    ['-0001-01-01T00:00:00Z', 'a year has four digits'],
    ['1893456000', 'a number of seconds or milliseconds is none'],
  ])('refuses %s and says why', (text, reason) => {
    expect(momentOf(text)).toBeNaN();
    expect(momentRule(text)).toMatch(/^must be a time such as 2026-01-31T23:59:59Z/);
    expect(momentRule(text)).toContain(reason);
  });

  it.each([
    '',
    'tomorrow',
    '\u{FEFF}2030-01-01T00:00:00Z',
    ' 2030-01-01T00:00:00Z',
    '2030-01-01T00:00:00Z\n',
    '2030-01-01T00:00:00.Z',
    '2030-1-1T00:00:00Z',
    '٢٠٣٠-01-01T00:00:00Z',
    1_893_456_000_000,
    null,
    ['2030-01-01T00:00:00Z'],
  ])('refuses %j', (value) => {
    expect(momentOf(value)).toBeNaN();
    expect(momentRule(value)).toMatch(/^must be a time such as 2026-01-31T23:59:59Z/);
  });
});
