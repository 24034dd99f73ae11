/** Texts of whole seconds, up to their dot: the times of jobs that are leased together differ by milliseconds. */
const seconds = new Map<number, string>();
const MOST_SECONDS = 1_000;

/**
 * A point in time in the format of the native API: ISO 8601, UTC, with milliseconds.
 *
 * @param unixMs below 8.64e15
 * @throws {RangeError} it is beyond that
 */
export function isoTime(unixMs: number): string {
  const ms = Math.floor(unixMs);
  const second = Math.floor(ms / 1_000);
  let text = seconds.get(second);
  if (text === undefined) {
    text = new Date(second * 1_000).toISOString().slice(0, -4);
    if (seconds.size >= MOST_SECONDS) seconds.clear();
    seconds.set(second, text);
  }
  return `${text}${String(ms - second * 1_000).padStart(3, '0')}Z`;
}

/** Like `isoTime`, for an optional time. */
export function isoTimeOrNull(unixMs: number | null): string | null {
  return unixMs === null ? null : isoTime(unixMs);
}
