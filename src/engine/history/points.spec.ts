import fc from 'fast-check';
import { COUNTED, countedOf, QueueActivity } from './counts.js';
import { logBinOf, LogBins, middleOf } from './log-bins.js';
import { decodePoints, encodePoint, type NewPoint, PAST, RECENT, slotOf } from './points.js';
import { NO_SAMPLE, ratesOf, type Sample, sampleOf, sampleText } from './samples.js';

const count = fc.oneof(fc.nat(200), fc.nat(4_294_967_295));
const bin = fc.option(fc.nat(124));
const point = fc.record({
  ...{ interval: fc.nat(71), published: count, leased: count, acked: count, failed: count, died: count },
  ...{ ready: count, oldestMs: fc.nat(1_000_000), waitP50: bin, waitP95: bin, runP50: bin, runP95: bin },
});

const millis = (one: number | null): number | null => (one === null ? null : middleOf(one));

describe('points of a history', () => {
  it('are read as they were written, several of a slot behind each other', () => {
    fc.assert(
      fc.property(fc.uniqueArray(point, { selector: ({ interval }) => interval }), (points) => {
        const slot = 6_000;
        const placed = points.map((one): NewPoint => ({ ...one, interval: slot * 72 + one.interval }));
        const bytes = Buffer.concat(placed.map((one) => encodePoint(PAST, one)));
        const found = decodePoints(PAST, slot, bytes);
        expect([...found.values()]).toEqual(
          placed.map(({ waitP50, waitP95, runP50, runP95, oldestMs, ...rest }) => ({
            ...{ ...rest, oldestMs: Math.round(oldestMs / 100) * 100 },
            ...{ waitP50Ms: millis(waitP50), waitP95Ms: millis(waitP95) },
            ...{ runP50Ms: millis(runP50), runP95Ms: millis(runP95) },
          })),
        );
      }),
    );
  });

  it('take 16 bytes for a queue of a hundred jobs a second', () => {
    const counts = { published: 1_000, leased: 1_000, acked: 990, failed: 10, died: 1 };
    const rest = { ready: 250, oldestMs: 2_300, waitP50: 40, waitP95: 52, runP50: 30, runP95: 44 };
    expect(encodePoint(RECENT, { interval: 1_234_567, ...counts, ...rest })).toHaveLength(16);
  });

  it('are left out if their bytes are cut off or are none of a point', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        for (const { interval } of decodePoints(RECENT, 7, Buffer.from(bytes)).values())
          expect(Number.isFinite(interval)).toBe(true);
      }),
    );
    const one = encodePoint(RECENT, { ...NO_POINT, interval: 31 });
    expect([...decodePoints(RECENT, 1, one.subarray(0, 5)).keys()]).toEqual([]);
    expect(slotOf(RECENT, 31)).toBe(1);
  });
});

const NO_POINT: NewPoint = {
  ...{ interval: 0, published: 0, leased: 0, acked: 0, failed: 0, died: 0, ready: 0, oldestMs: 0 },
  ...{ waitP50: null, waitP95: null, runP50: null, runP95: null },
};

describe('bins of a history', () => {
  it('have a middle that differs from their durations by an eighth at most', () => {
    fc.assert(
      fc.property(fc.integer({ min: 8, max: 2_000_000_000 }), (ms) => {
        expect(Math.abs(middleOf(logBinOf(ms)) - ms)).toBeLessThanOrEqual(ms / 8 + 1);
      }),
    );
    expect([logBinOf(0), logBinOf(0.4), logBinOf(-5), logBinOf(Number.NaN), middleOf(0)]).toEqual([
      0, 0, 0, 0, 0,
    ]);
    expect(logBinOf(Number.MAX_SAFE_INTEGER)).toBe(124);
  });

  it('give the quantiles of what was added since they were read before', () => {
    const before = new LogBins();
    for (let i = 0; i < 100; i++) before.add(1);
    const now = LogBins.ofText(before.toText());
    for (const ms of [100, 200, 300, 4_000]) now.add(ms);

    const since = now.since(before);
    expect([since.quantile(0.5), since.quantile(0.95)].map((one) => middleOf(one ?? 0))).toEqual([
      208, 3_840,
    ]);
    expect(now.since(now).quantile(0.5)).toBeNull();
  });
});

describe('samples of queues', () => {
  const number = fc.nat(Number.MAX_SAFE_INTEGER);
  const counted = fc.array(number, { minLength: 5, maxLength: 5 }).map((all) => countedOf(all.map(String)));
  const time = fc.option(fc.integer({ min: 1, max: 4_000_000_000_000 }));
  const sample: fc.Arbitrary<Sample> = fc.record({
    ...{ atMs: number, exists: fc.boolean(), oldestAtMs: number, pausedAtMs: time, drainingSinceMs: time },
    ...{ ready: number, scheduled: number, leased: number, dead: number, blocked: number, stuck: number },
    ...{ held: number, done: number, cancelled: number, recentSinceMs: number, lastActive: number },
    ...{ interval: number, counts: counted, before: counted, written: number },
  });

  it('are read as they were written', () => {
    fc.assert(
      fc.property(sample, (one) => {
        expect(sampleOf(sampleText(one))).toEqual(one);
      }),
    );
  });

  it('are read if a later version has added numbers, or an earlier one has fewer', () => {
    expect(sampleOf(`${sampleText({ ...NO_SAMPLE, ready: 7 })},1,2`).ready).toBe(7);
    expect(sampleOf('5')).toEqual({ ...NO_SAMPLE, atMs: 5 });
  });

  it('give rates over five minutes, which fall to zero when nothing happens', () => {
    const interval = 5_900_000;
    const beginMs = interval * 300_000;
    const counts = { published: 300, leased: 0, acked: 0, failed: 0, died: 0 };
    const one = { ...NO_SAMPLE, interval, counts, before: { ...counts, published: 600 } };

    expect(ratesOf(one, beginMs).published).toBeCloseTo(3);
    expect(ratesOf(one, beginMs + 150_000).published).toBeCloseTo(2);
    expect(ratesOf(one, beginMs + 300_000).published).toBeCloseTo(1);
    expect(ratesOf(one, beginMs + 450_000).published).toBeCloseTo(0.5);
    expect(ratesOf(one, beginMs + 600_000).published).toBe(0);
  });
});

describe('activity of a queue', () => {
  it('is read as a server writes it, and is nothing without a text', () => {
    const activity = QueueActivity.ofText('1,2,3,4,5;,9:2;');
    expect(activity.counts).toEqual({ published: 1, leased: 2, acked: 3, failed: 4, died: 5 });
    expect([activity.waits.quantile(0.5), activity.runs.quantile(0.5)]).toEqual([9, null]);
    expect(COUNTED.every((name) => QueueActivity.ofText('').counts[name] === 0)).toBe(true);
  });
});
