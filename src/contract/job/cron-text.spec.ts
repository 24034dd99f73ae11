import { Cron } from 'croner';
import fc from 'fast-check';
import { cronProblem, zoneProblem } from './cron-text.js';

const isKnownToCroner = (cron: string): boolean => {
  try {
    new Cron(cron, { paused: true, mode: '5-or-6-parts', timezone: 'UTC' });
    return true;
  } catch {
    return false;
  }
};

describe('cronProblem', () => {
  it.each([
    ['61 * * * *', /an? minute from 0 to 59.*given: 61$/],
    ['* 24 * * *', /an? hour from 0 to 23.*given: 24$/],
    ['* * 0 * *', /an? day of the month from 1 to 31.*given: 0$/],
    ['* * 32 * *', /an? day of the month from 1 to 31.*given: 32$/],
    ['* * * 13 *', /an? month from 1 to 12 \(or jan to dec\).*given: 13$/],
    ['* * * 0 *', /an? month from 1 to 12.*given: 0$/],
    ['* * * january *', /a month from .*given: january$/],
    ['* * * * 8', /an? day of the week from 0 to 7 \(or sun to sat\).*given: 8$/],
    ['* * * * friday', /a day of the week from .*given: friday$/],
    ['60 * * * * *', /an? second from 0 to 59.*given: 60$/],
    ['-1 * * * *', /a minute from .*given: -1$/],
    ['1.5 * * * *', /a minute from .*given: 1.5$/],
    ['9am * * * *', /a minute from .*given: 9am$/],
    ['1,,2 * * * *', /a minute from .*given: 1,,2$/],
    ['1, * * * *', /a minute from .*given: 1,$/],
    ['H * * * *', /a minute from .*given: h$/],
    ['* 22-6 * * *', /a range of its hour that goes up, such as 22-23,0-6; given: 22-6$/],
    ['* * * * sat-mon', /a range of its day of the week that goes up, such as 6,0-1; given: sat-mon$/],
    ['* * * nov-feb *', /goes up, such as 11-12,1-2; given: nov-feb$/],
    ['5/15 * * * *', /a step of its minute behind a \* or a range, such as 5-59\/15; given: 5\/15$/],
    ['*/0 * * * *', /a step of its minute from 1 to 60; given: \*\/0$/],
    ['*/61 * * * *', /a step of its minute from 1 to 60/],
    ['*/x * * * *', /a step of its minute from 1 to 60/],
    ['* */25 * * *', /a step of its hour from 1 to 24/],
    ['* * * * fri#6', /a number from 1 to 5, or L, behind the # of its day of the week; given: fri#6$/],
    ['* * L-3 * *', /a day of the month from .*L for the last day.*given: l-3$/],
    ['* * 1-5W * *', /a day of the month from .*given: 1-5w$/],
    ['* * * * L', /a day of the week from .*friL for the last one; given: l$/],
    ['* * * L *', /a month from .*given: l$/],
    ['* * 5#2 * *', /a day of the month from .*given: 5#2$/],
    ['61 24 * * *', /a minute from .*given: 61; and an hour from .*given: 24$/],
    ['* * * * * * 2030', /^must have five fields .* it has 7; there is no field for the year$/],
    ['* * *', /^must have five fields .* it has 3$/],
    ['', /^must have five fields .* it has none$/],
    [' \t ', /^must have five fields .* it has none$/],
    ['@reboot', /^must be one of @yearly.*given: @reboot$/],
    ['@every 5s', /^must be one of @yearly.*given: @every 5s$/],
    [`${'9'.repeat(60)} * * * *`, /given: 9{40}…$/],
  ])('says what is wrong with %j', (cron, problem) => {
    expect(cronProblem(cron)).toMatch(problem);
    expect(isKnownToCroner(cron)).toBe(false);
  });

  it.each([
    '* * * * *',
    '*/15 0-23/2 1,15 jan-MAR mon-fri',
    '0 0 9 * * ?',
    '0 9 L * *',
    '0 9 LW * *',
    '0 9 15W,L * *',
    '0 9 * * FRI#2',
    '0 9 * * friL',
    '0 9 * * 5#L',
    '0 9 1 * +mon',
    '0 9 * * fri-sun',
    '0 9 * * 7',
    '  0   9 * *\t* ',
    '@DAILY',
    ' @hourly ',
  ])('finds nothing wrong with %j', (cron) => {
    expect(cronProblem(cron)).toBeUndefined();
    expect(isKnownToCroner(cron)).toBe(true);
  });

  it('finds something wrong with exactly the expressions that croner refuses', () => {
    const atom = fc.oneof(
      fc.integer({ min: 0, max: 62 }).map(String),
      fc.constantFrom(
        ...['*', '?', 'L', 'LW', 'W', '15W', 'W15', '#2', '5#2', '5#6', '5#L', '5L', '', '+1', '+', 'x'],
      ),
      fc.constantFrom(...['jan', 'DEC', 'sun', 'Mon', 'sat', 'friL', 'fri#3', 'sunday', '1mon', '007', '-1']),
    );
    const element = fc.oneof(
      { weight: 4, arbitrary: atom },
      fc.tuple(atom, atom).map((range) => range.join('-')),
      fc.tuple(atom, fc.integer({ min: 0, max: 62 })).map(([value, step]) => `${value}/${String(step)}`),
      fc.tuple(atom, atom, atom).map(([from, to, step]) => `${from}-${to}/${step}`),
    );
    const field = fc.array(element, { minLength: 1, maxLength: 3 }).map((list) => list.join(','));
    // One field at a time: with all of them random, nearly nothing is right.
    const cron = fc
      .tuple(fc.integer({ min: 0, max: 5 }), field)
      .map(([at, one]) => Array.from({ length: 6 }, (_, i) => (i === at ? one : '*')).join(' '));
    let [right, wrong] = [0, 0];
    fc.assert(
      fc.property(cron, (text) => {
        const isRight = cronProblem(text) === undefined;
        if (isRight) right++;
        else wrong++;
        // Of a range with a step croner looks only at the values that it has: at 50 of 50-70/30.
        const isLenient = /-\d+\/\d/.test(text) && !isRight;
        return isLenient || isRight === isKnownToCroner(text);
      }),
      { numRuns: 5_000 },
    );
    expect([right > 100, wrong > 100]).toEqual([true, true]);
  });
});

describe('zoneProblem', () => {
  it.each([
    'Europe/Berlin',
    'europe/berlin',
    'UTC',
    'Etc/GMT-2',
    'US/Pacific',
    'America/Argentina/Buenos_Aires',
  ])('finds nothing wrong with %s', (zone) => {
    expect(zoneProblem(zone)).toBeUndefined();
  });

  it.each([
    ['Europe/Berln', /given: Europe\/Berln; did you mean Europe\/Berlin\?$/],
    ['berlin', /given: berlin; did you mean Europe\/Berlin\?$/],
    ['New York', /given: New York; did you mean America\/New_York\?$/],
    [
      'Mars/Olympus',
      /^must be the name of a time zone .* such as Europe\/Berlin or UTC; given: Mars\/Olympus$/,
    ],
    ['+02:00', /given: \+02:00; an offset is no zone: Etc\/GMT-2 has it all year$/],
    ['-0500', /an offset is no zone: Etc\/GMT\+5 has it all year$/],
    ['UTC+2', /an offset is no zone: Etc\/GMT-2 has it all year$/],
    ['+05:30', /an offset is no zone$/],
    ['', /given: $/],
    [' UTC', /given:  UTC; did you mean UTC\?$|given:  UTC$/],
  ])('says what is wrong with %j', (zone, problem) => {
    expect(zoneProblem(zone)).toMatch(problem);
  });
});
