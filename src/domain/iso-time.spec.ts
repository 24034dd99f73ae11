import { isoTime, isoTimeOrNull } from './iso-time.js';

describe('a point in time', () => {
  it.each([0, 1, 999, 1_000, 1_790_000_000_007, -1, -999, -1_000, 253_402_300_800_000, 8.64e15 - 1, 7.25])(
    'is formatted as by Date.toISOString: %d ms',
    (ms) => {
      expect(isoTime(ms)).toBe(new Date(ms).toISOString());
      expect(isoTime(ms)).toBe(new Date(ms).toISOString());
    },
  );

  it('is formatted as by Date.toISOString for 5,000 times in any order', () => {
    for (let i = 0; i < 5_000; i++) {
      const ms = (i * 7_919_017) % 10_000_000;
      expect(isoTime(ms)).toBe(new Date(ms).toISOString());
    }
  });

  it('is refused beyond the range of dates', () => {
    expect(() => isoTime(1e16)).toThrow(RangeError);
    expect(() => isoTime(Number.NaN)).toThrow(RangeError);
  });

  it('is formatted as null if it is null', () => {
    expect(isoTimeOrNull(null)).toBeNull();
    expect(isoTimeOrNull(5)).toBe('1970-01-01T00:00:00.005Z');
  });
});
