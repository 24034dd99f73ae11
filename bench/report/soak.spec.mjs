import { blindSpots, judge, SERIES, slopeOf, warmUpOf, withLeak } from './soak-verdict.mjs';

const MIB = 2 ** 20;
const WARM_UP_S = 120;

/** Ten minutes as a sound server gives them: noise, a sawtooth from garbage collection, a spike now and then, a start that grows. */
function soundRun() {
  let seed = 1;
  const random = () => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647;
  return Array.from({ length: 120 }, (_, i) => {
    const seconds = i * 5;
    const warming = Math.min(seconds / WARM_UP_S, 1);
    return {
      seconds,
      rss: (90 + 30 * warming + (i % 7) * 2 + random() * 5) * MIB,
      redis: (4 + 3 * warming + random() * 0.3) * MIB,
      p50: 0.6 + random() * 0.1,
      p99: i % 25 === 0 ? 80 : 3 + random(),
      deliveryP99: i % 25 === 0 ? 120 : 6 + random() * 2,
      inFlight: 4_000 + random() * 200,
    };
  });
}

const failing = (samples) =>
  judge(samples, WARM_UP_S)
    .checks.filter(({ isFlat }) => !isFlat)
    .map(({ key }) => key);

describe('the verdict of a soak', () => {
  it('passes a run that is flat after its warm-up, apart from noise and single high samples', () => {
    expect(judge(soundRun(), WARM_UP_S).isFlat).toBe(true);
    expect(failing(soundRun())).toEqual([]);
  });

  it.each(SERIES.map(({ key }) => key))(
    'fails growth by twice the bound in the series %s, and no other series',
    (key) => {
      const leaking = withLeak(soundRun(), WARM_UP_S, key, 2);
      expect(judge(leaking, WARM_UP_S).isFlat).toBe(false);
      expect(failing(leaking)).toEqual([key]);
    },
  );

  it.each(SERIES.map(({ key }) => key))('accepts growth by half of the bound in the series %s', (key) => {
    expect(failing(withLeak(soundRun(), WARM_UP_S, key, 0.5))).toEqual([]);
  });

  it('measures growth from the end of the warm-up, with a bound of 8 % for RSS', () => {
    const samples = soundRun().map((sample) => ({ ...sample, rss: 300 * MIB + sample.seconds * 0.1 * MIB }));
    const check = judge(samples, WARM_UP_S).checks.find(({ key }) => key === 'rss');
    expect(check.growth).toBeCloseTo((595 - WARM_UP_S) * 0.1, 5);
    expect(check.level).toBeLessThan(300 + 0.1 * 300);
    expect(check.bound).toBeCloseTo(0.08 * check.level, 5);
  });

  it('ignores growth before the end of the warm-up', () => {
    const late = soundRun().map((sample) => ({
      ...sample,
      redis: sample.redis + Math.min(sample.seconds, WARM_UP_S) * MIB,
    }));
    expect(failing(late)).toEqual([]);
  });

  it('fails a series that was not measured', () => {
    const unmeasured = soundRun().map((sample) => ({ ...sample, redis: NaN }));
    expect(failing(unmeasured)).toEqual(['redis']);
  });

  it('widens the bound of a latency by its noise, and does not widen the bound of memory', () => {
    const noisy = (/** @type {number} */ by) =>
      soundRun().map((sample, i) => ({
        ...sample,
        p99: sample.p99 + (i % 3) * by,
        rss: sample.rss + (i % 3) * by * MIB,
      }));
    const checkOf = (/** @type {string} */ key, /** @type {number} */ by) =>
      judge(noisy(by), WARM_UP_S).checks.find((check) => check.key === key);
    expect(checkOf('p99', 0).bound).toBe(5);
    expect(checkOf('p99', 100).bound).toBeGreaterThan(60);
    // Its share of the level, or its floor, whichever is more.
    expect(checkOf('rss', 100).bound).toBeCloseTo(Math.max(10, 0.08 * checkOf('rss', 100).level), 5);
    expect(judge(noisy(20), WARM_UP_S).isFlat).toBe(true);
  });

  it('judges memory by its low points, and ignores peaks that grow', () => {
    const peaks = soundRun().map((sample, i) => ({ ...sample, rss: sample.rss + (i % 4) * i * 0.5 * MIB }));
    expect(judge(peaks, WARM_UP_S).isFlat).toBe(true);
  });

  it('is an error if there are too few samples', () => {
    expect(() => judge(soundRun().slice(0, 33), WARM_UP_S)).toThrow('too few');
  });

  it('names a series that falls, because a leak in it would not be seen', () => {
    expect(blindSpots(soundRun(), WARM_UP_S)).toEqual([]);
    const falling = soundRun().map((sample) => ({ ...sample, rss: (300 - sample.seconds * 0.2) * MIB }));
    expect(blindSpots(falling, WARM_UP_S)).toEqual(['RSS of the server']);
  });
});

describe('the slope of a series', () => {
  it('is the slope of the line through three quarters of the points, although the others are far from it', () => {
    const points = Array.from({ length: 40 }, (_, x) => ({ x, y: x % 4 === 0 ? 1_000 : 3 * x + 7 }));
    expect(slopeOf(points)).toBeCloseTo(3, 5);
  });
});

describe('the warm-up of a soak', () => {
  it('is 720 of 3,600 seconds, 90 of 300 seconds, and 30 of 60 seconds', () => {
    expect([warmUpOf(3_600), warmUpOf(300), warmUpOf(60)]).toEqual([720, 90, 30]);
  });
});
