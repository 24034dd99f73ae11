/** An address below one prefix, taken apart. */
export interface LanePath {
  readonly namespace: string;
  /** The second name of the path: a queue, or a word. */
  readonly second: string;
  /** What follows it, without the slash; empty if nothing does. */
  readonly rest: string;
  /** Without the question mark. */
  readonly queryText: string;
}

/**
 * Takes `PREFIX:namespace/:second[/rest][?query]` apart.
 *
 * @returns null for whatever is not exactly of that form or needs a second look: escapes, a `#`, an empty name, a slash at the end
 */
export function splitPath(url: string, prefix: string): LanePath | null {
  if (!url.startsWith(prefix)) return null;
  const mark = url.indexOf('?');
  const path = mark === -1 ? url : url.slice(0, mark);
  if (path.includes('%') || path.includes('#') || path.endsWith('/')) return null;
  const first = path.indexOf('/', prefix.length);
  if (first <= prefix.length) return null;
  const next = path.indexOf('/', first + 1);
  if (next === first + 1) return null;
  return {
    namespace: path.slice(prefix.length, first),
    second: path.slice(first + 1, next === -1 ? path.length : next),
    rest: next === -1 ? '' : path.slice(next + 1),
    queryText: mark === -1 ? '' : url.slice(mark + 1),
  };
}
