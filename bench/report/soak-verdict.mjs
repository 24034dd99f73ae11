/**
 * The verdict over a soak: is every series flat? A leak is a slope, so each series' slope is found in a way that single spikes
 * (a garbage collection, a rewrite of the AOF, a busy neighbour) do not move, and held against a bound.
 */
import { median } from '../measure/quantiles.mjs';

const MIB = 2 ** 20;

/**
 * @typedef {object} Sample
 * @property {number} seconds since the start
 * @property {number} rss of the server's processes, bytes
 * @property {number} redis its used_memory, bytes
 * @property {number} p50 of publishes since the sample before, ms
 * @property {number} p99 the same
 * @property {number} deliveryP99 from publish to a consumer's hand, of jobs without delay, ms
 * @property {number} inFlight jobs published and not finished
 */

/**
 * What must be flat. `floor` is growth that is borne however small the level is, `share` what is borne of the level: what these series
 * move by themselves. What a busy machine disturbs may also move by its own noise: a neighbour's work must not fail a sound run. What garbage
 * collection lets rise and fall is judged by its lows: a leak raises them, and the heap's size between two collections does not.
 *
 * @type {{ key: keyof Sample, name: string, unit: string, scale: number, floor: number, share: number, isDisturbed: boolean, hasLows?: boolean }[]}
 */
export const SERIES = [
  {
    key: 'rss',
    name: 'RSS of the server',
    unit: 'MiB',
    scale: MIB,
    floor: 10 * MIB,
    share: 0.08,
    isDisturbed: false,
    hasLows: true,
  },
  {
    key: 'redis',
    name: 'used_memory of Redis',
    unit: 'MiB',
    scale: MIB,
    floor: 0.5 * MIB,
    share: 0.05,
    isDisturbed: false,
  },
  { key: 'p99', name: 'p99 of a publish', unit: 'ms', scale: 1, floor: 5, share: 0.5, isDisturbed: true },
  {
    key: 'deliveryP99',
    name: 'p99 from publish to delivery',
    unit: 'ms',
    scale: 1,
    floor: 5,
    share: 0.5,
    isDisturbed: true,
  },
  {
    key: 'inFlight',
    name: 'jobs in flight',
    unit: 'jobs',
    scale: 1,
    floor: 300,
    share: 0.1,
    isDisturbed: true,
  },
];

/** Fewer samples than this after the warm-up say nothing. */
const FEWEST = 10;

/** So many lows stand for a whole run: each is the lowest of 40 s in a run of ten minutes. */
const LOWS = 12;
/** A slope of four standard deviations is no chance, and busy spells of a machine last longer than one sample. */
const DEVIATIONS = 4;
/** The standard deviation of normal noise, in multiples of its median deviation. */
const PER_MEDIAN_DEVIATION = 1.48;

/** The leak that a run must be able to show, in multiples of the bound: a falling series would hide a smaller one. */
export const PROOF_TIMES = 2;

/** Seconds at the start that do not count: caches fill, code is compiled, the first jobs expire (that takes up to a minute). */
export function warmUpOf(/** @type {number} */ totalS) {
  return Math.max(0.2 * totalS, Math.min(90, totalS / 2));
}

/**
 * The median of the slopes between all pairs of points (Theil–Sen): up to 29 % of the points may lie anywhere.
 *
 * @param {{ x: number, y: number }[]} points
 * @returns {number} y per x
 */
export function slopeOf(points) {
  /** @type {number[]} */
  const slopes = [];
  points.forEach((a, i) => {
    for (const b of points.slice(i + 1)) if (b.x !== a.x) slopes.push((b.y - a.y) / (b.x - a.x));
  });
  return median(slopes);
}

/** The lowest point of each part. @param {{ x: number, y: number }[]} points */
function lowsOf(points) {
  const size = Math.max(1, Math.floor(points.length / LOWS));
  const lows = [];
  for (let at = 0; at + size <= points.length; at += size)
    lows.push(points.slice(at, at + size).reduce((low, point) => (point.y < low.y ? point : low)));
  return lows;
}

/**
 * Growth that a flat series with the same noise around its line would seldom show.
 *
 * @param {{ x: number, y: number }[]} points evenly spread
 * @param {number} slope
 */
function growthByChance(points, slope) {
  const around = points.map(({ x, y }) => y - slope * x);
  const middle = median(around);
  const deviation = PER_MEDIAN_DEVIATION * median(around.map((y) => Math.abs(y - middle)));
  // The standard error of a fitted slope, times the length of the line.
  return DEVIATIONS * deviation * Math.sqrt(12 / points.length);
}

/**
 * Judges what came after the warm-up. Growth is slope × time; it must stay below the bound, the level being that of
 * the first third, which a leak has not yet raised much. That is per run: the longer it is, the smaller a leak is that it finds.
 *
 * @param {Sample[]} samples
 * @param {number} warmUpS
 * @returns {{ isFlat: boolean, checks: { key: string, name: string, unit: string, level: number, growth: number, bound: number, isFlat: boolean }[] }}
 */
export function judge(samples, warmUpS) {
  const counted = samples.filter(({ seconds }) => seconds >= warmUpS);
  if (counted.length < FEWEST)
    throw new Error(`${counted.length} samples after the warm-up are too few for a verdict`);
  const spanS = (counted.at(-1)?.seconds ?? 0) - (counted[0]?.seconds ?? 0);
  const checks = SERIES.map(({ key, name, unit, scale, floor, share, isDisturbed, hasLows }) => {
    const all = counted.map((sample) => ({ x: sample.seconds, y: sample[key] }));
    const points = hasLows ? lowsOf(all) : all;
    const level = median(points.slice(0, Math.ceil(points.length / 3)).map(({ y }) => y));
    const slope = slopeOf(points);
    const growth = slope * spanS;
    const noise = isDisturbed ? growthByChance(points, slope) : 0;
    const bound = Math.max(floor, share * level, noise);
    // A NaN is not flat either: a series that was not measured proves nothing.
    return {
      key,
      name,
      unit,
      level: level / scale,
      growth: growth / scale,
      bound: bound / scale,
      isFlat: growth <= bound,
    };
  });
  return { isFlat: checks.every(({ isFlat }) => isFlat), checks };
}

/**
 * The same samples with a leak in one series, which has come to `times` the bound in the end. It begins after the warm-up.
 *
 * @param {Sample[]} samples
 * @param {number} warmUpS
 * @param {keyof Sample} key
 * @param {number} times
 * @returns {Sample[]}
 */
export function withLeak(samples, warmUpS, key, times) {
  const series = SERIES.find((one) => one.key === key);
  const check = judge(samples, warmUpS).checks.find((one) => one.key === key);
  if (!series || !check) throw new Error(`no such series: ${key}`);
  const spanS = (samples.at(-1)?.seconds ?? 0) - warmUpS;
  const perSecond = (times * check.bound * series.scale) / spanS;
  return samples.map((sample) => ({
    ...sample,
    [key]: sample[key] + perSecond * Math.max(sample.seconds - warmUpS, 0),
  }));
}

/**
 * Could this run have seen a leak? Judges each series again with `PROOF_TIMES` its bound on top; the verdict must turn.
 *
 * @returns {string[]} the series in which a leak would have gone unseen
 */
export function blindSpots(/** @type {Sample[]} */ samples, /** @type {number} */ warmUpS) {
  const isSeen = (/** @type {keyof Sample} */ key) =>
    judge(withLeak(samples, warmUpS, key, PROOF_TIMES), warmUpS).checks.some(
      (check) => check.key === key && !check.isFlat,
    );
  return SERIES.filter(({ key }) => !isSeen(key)).map(({ name }) => name);
}
