/**
 * The shape of a set of measurements. Sorts nothing of the caller's.
 *
 * @param {Iterable<number>} values
 * @returns {{ count: number, min: number, p50: number, p99: number, max: number }} NaN where there are no values
 */
export function quantiles(values) {
  const sorted = Float64Array.from(values).sort();
  const at = (/** @type {number} */ q) =>
    sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? NaN;
  return { count: sorted.length, min: at(0), p50: at(0.5), p99: at(0.99), max: at(1) };
}

/** The one in the middle, or the mean of the two there. @param {Iterable<number>} values */
export function median(values) {
  const sorted = Float64Array.from(values).sort();
  const half = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(half)] ?? NaN) + (sorted[Math.ceil(half)] ?? NaN)) / 2;
}

/** The middle half. @param {Iterable<number>} values */
export function quartiles(values) {
  const sorted = Float64Array.from(values).sort();
  const at = (/** @type {number} */ part) => sorted[Math.floor(part * (sorted.length - 1))] ?? NaN;
  return { low: at(0.25), median: median(sorted), high: at(0.75) };
}
