import { distance } from 'fastest-levenshtein';

/** A name with at most this many wrong letters is taken for a known one. */
const MAX_TYPOS = 2;

/**
 * The known name that an unknown one may mean, as the end of a message: `delay` for `delay_ms`, `priorty` for `priority`.
 *
 * @returns `; did you mean delay_ms?`, or nothing if no known name looks like it
 */
export function didYouMean(name: string, known: Iterable<string>): string {
  const lower = name.toLowerCase();
  const meant = [...known].find(
    (one) =>
      (lower.length > 2 && one.startsWith(lower)) ||
      distance(lower, one) <= Math.min(MAX_TYPOS, lower.length / 2),
  );
  return meant === undefined ? '' : `; did you mean ${meant}?`;
}
