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

/** @param {Iterable<number>} values */
export const median = (values) => quantiles(values).p50;
