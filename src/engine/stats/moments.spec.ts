import fc from 'fast-check';
import { binOf, BINS } from './bins.js';
import { Moments } from './moments.js';
import { Tally } from './tally.js';

const DAY_MS = 86_400_000;

describe('bins of durations', () => {
  it('are 60 seconds, 59 minutes, 23 hours and 7 days, without gaps', () => {
    expect(BINS.map(({ name }) => name)).toEqual([
      ...Array.from({ length: 60 }, (_, i) => `s${i}`),
      ...Array.from({ length: 59 }, (_, i) => `m${i + 1}`),
      ...Array.from({ length: 23 }, (_, i) => `h${i + 1}`),
      ...Array.from({ length: 7 }, (_, i) => `d${i + 1}`),
    ]);
    for (const [i, { toMs }] of BINS.entries()) expect(toMs).toBe(BINS[i + 1]?.fromMs ?? null);
  });

  it('contain the durations between their bounds, and the last bin all longer durations', () => {
    for (const [bin, { fromMs, toMs }] of BINS.entries()) {
      expect(binOf(fromMs)).toBe(bin);
      expect(binOf((toMs ?? 4_000 * DAY_MS) - 0.5)).toBe(bin);
    }
    expect(binOf(Number.MAX_SAFE_INTEGER)).toBe(BINS.length - 1);
  });
});

const durations = fc.array(
  fc.oneof(
    fc.nat({ max: 5_000 }),
    fc.double({ min: 0, max: DAY_MS, noNaN: true }),
    fc.nat({ max: 12 * DAY_MS }),
  ),
  { maxLength: 60 },
);

function momentsOf(values: readonly number[]): Moments {
  const moments = new Moments();
  for (const value of values) moments.add(value);
  return moments;
}

/** Textbook formula, in two passes. */
function reference(values: readonly number[]): { mean: number; std: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1);
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, std: values.length < 2 ? 0 : Math.sqrt(squares / (values.length - 1)) };
}

describe('moments of durations', () => {
  it('have the right count, mean, standard deviation and bins after merging, encoding and decoding', () => {
    fc.assert(
      fc.property(durations, durations, durations, (a, b, c) => {
        const all = [...a, ...b, ...c];
        const merged = momentsOf(a);
        merged.merge(Moments.ofText(momentsOf(b).toText()));
        merged.merge(momentsOf(c));
        const { mean, std } = reference(all);
        expect(merged.count).toBe(all.length);
        expect(merged.meanMs).toBeCloseTo(mean, 3);
        expect(Math.abs(merged.stdMs - std)).toBeLessThanOrEqual(1e-6 * Math.max(std, 1));
        const bins = BINS.map((_, bin) => merged.bins[bin] ?? 0);
        expect(bins).toEqual(BINS.map((_, bin) => all.filter((value) => binOf(value) === bin).length));
        expect(Moments.ofText(merged.toText())).toEqual(merged);
      }),
    );
  });

  it('count a negative duration as 0', () => {
    const moments = momentsOf([-5, 5]);

    expect(moments).toMatchObject({ count: 2, meanMs: 2.5, bins: [2] });
  });
});

describe('a tally', () => {
  it('is equal after encoding and decoding', () => {
    const tally = new Tally(momentsOf([1, 90_000]), momentsOf([]), 3, 4);

    expect(Tally.ofText(tally.toText())).toEqual(tally);
    expect(Tally.ofText('')).toEqual(new Tally());
  });
});
