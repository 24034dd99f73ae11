import { readExpiry, readGraceMs, readRights } from './grants.js';

describe('the rights of a new token', () => {
  it.each([
    [undefined, undefined, null],
    ['publish', undefined, { verbs: ['publish'], queues: null }],
    ['consume,publish,consume', undefined, { verbs: ['publish', 'consume'], queues: null }],
    ['admin,consume,push,publish', undefined, null],
    ['admin,consume,push,publish', '*', null],
    ['admin,consume,publish', '*', { verbs: ['publish', 'consume', 'admin'], queues: null }],
    [undefined, 'a,**', null],
    [undefined, 'a,b,b', { verbs: ['publish', 'consume', 'admin', 'push'], queues: ['a', 'b'] }],
    ['consume', '*', { verbs: ['consume'], queues: null }],
  ])('are read from the verbs %j and the queues %j', (verbs, queues, rights) => {
    expect(readRights(verbs, queues)).toEqual(rights);
  });

  // A missing field allows everything; an empty or invalid one must not.
  it.each(['', ',', 'publish,', 'Publish', 'read', 'publish consume'])(
    'are refused with the verbs %j',
    (verbs) => {
      expect(() => readRights(verbs, undefined)).toThrow(
        'verbs must be one or more of publish, consume, admin, push, separated by commas',
      );
    },
  );

  it.each([
    '',
    ',',
    'a,',
    'a b',
    'a?',
    'ä',
    'x'.repeat(256),
    Array.from({ length: 33 }, (_, i) => `q${String(i)}`).join(),
  ])('are refused with the queues %j', (queues) => {
    expect(() => readRights(undefined, queues)).toThrow('queues must be 1 to 32 names');
  });
});

describe('the expiry and grace of a token', () => {
  it.each([
    ['90s', 90_000],
    ['5m', 300_000],
    ['1h', 3_600_000],
    ['3650d', 315_360_000_000],
  ])('are durations: %s', (text, lifetimeMs) => {
    expect(readExpiry(text)).toEqual({ lifetimeMs, atMs: 0 });
    expect(readGraceMs(text)).toBe(lifetimeMs);
  });

  it.each([
    ['2030-01-31', Date.UTC(2030, 0, 31)],
    ['2030-01-31T12:00:00.123456789Z', Date.UTC(2030, 0, 31, 12, 0, 0, 123)],
    ['2030-01-31T12:00:30.5+02:00', Date.UTC(2030, 0, 31, 10, 0, 30, 500)],
  ])('may be a point in time for the expiry only: %s', (text, atMs) => {
    expect(readExpiry(text)).toEqual({ lifetimeMs: 0, atMs });
    expect(() => readGraceMs(text)).toThrow('grace must be');
  });

  it.each([
    '',
    '0s',
    '1',
    '1w',
    '-1h',
    '1.5h',
    '3651d',
    'soon',
    '2030',
    '2030-13-01',
    '2030-01-31T12:00',
    '31.1.2030',
  ])('are refused with the expiry %j', (text) => {
    expect(() => readExpiry(text)).toThrow('expires must be');
  });

  it.each([
    ['2030-02-30', 'there is no day 2030-02-30'],
    ['2030-01-31T12:00Z', 'the seconds are missing'],
    ['2030-01-31T12:00:00', 'the offset is missing'],
  ])('say what is wrong with the date %s', (text, fault) => {
    expect(() => readExpiry(text)).toThrow(fault);
  });

  it('default to no expiry and no grace', () => {
    expect(readExpiry(undefined)).toEqual({ lifetimeMs: 0, atMs: 0 });
    expect(readGraceMs(undefined)).toBe(0);
    expect(readGraceMs('0s')).toBe(0);
  });
});
