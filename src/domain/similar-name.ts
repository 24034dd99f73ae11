/** A name with at most this many wrong letters is taken for a known one. */
const MAX_TYPOS = 2;

/**
 * The known name that an unknown one may mean, as the end of a message: `delay` for `delay_ms`, `priorty` for `priority`.
 *
 * @returns `; did you mean delay_ms?`, or nothing if no known name looks like it
 */
export function didYouMean(name: string, known: Iterable<string>): string {
  const meant = similarName(name, known);
  return meant === undefined ? '' : `; did you mean ${meant}?`;
}

/** The known name that an unknown one may mean, whatever its case; undefined if no known name looks like it. */
export function similarName(name: string, known: Iterable<string>): string | undefined {
  const lower = name.toLowerCase();
  return [...known].find((one) => {
    const other = one.toLowerCase();
    return (
      (lower.length > 2 && other.startsWith(lower)) ||
      distance(lower, other) <= Math.min(MAX_TYPOS, lower.length / 2)
    );
  });
}

/** How many letters must be added, left out or replaced to make one text of another one. */
export function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
