import { MAX_NAME_LENGTH } from '../domain/limits.js';
import { distance } from '../domain/similar-name.js';

/** Words of a path with at most so many wrong letters in all are taken for those of a known path. */
const MAX_TYPOS = 3;
/** Longer paths are no misspelt ones. */
const MAX_SEGMENTS = 12;
const NAMESPACE = ':namespace';

interface Route {
  readonly pattern: RegExp;
  readonly methods: Set<string>;
}

/** The methods of each path: a router that found no route for a method does not know them. */
export class AllowedMethods {
  private readonly routes = new Map<string, Route>();

  /** @param template such as `/v1/:namespace/acks` */
  add(template: string, methods: string | readonly string[]): void {
    const route = this.routes.get(template) ?? { pattern: patternOf(template), methods: new Set<string>() };
    this.routes.set(template, route);
    for (const method of [methods].flat()) route.methods.add(method);
  }

  /** The methods of a URL, sorted; none if there is no such path. */
  methodsOf(url: string): string[] {
    const path = decoded(url.split('?', 1)[0] ?? '');
    const found = [...this.routes.values()].filter(({ pattern }) => pattern.test(path));
    return [...new Set(found.flatMap(({ methods }) => [...methods]))].sort();
  }

  /**
   * The path that an unknown one may mean: one with other letters, without a slash at its end, or with the namespace
   * that is left out.
   *
   * @returns its template; undefined if no path looks like it
   */
  similarTo(url: string): string | undefined {
    const segments = segmentsOf(decoded(url.split('?', 1)[0] ?? ''));
    if (segments.at(-1) === '') segments.pop();
    if (segments.length > MAX_SEGMENTS || segments.some((segment) => segment.length > MAX_NAME_LENGTH))
      return undefined;
    let [nearest, fewest]: [string | undefined, number] = [undefined, MAX_TYPOS + 1];
    for (const template of this.routes.keys()) {
      const known = segmentsOf(template);
      // The namespace left out is one mistake, whatever else is wrong.
      const without = known.filter((segment) => segment !== NAMESPACE);
      const typos = Math.min(
        typosBetween(segments, known),
        without.length === known.length ? Number.POSITIVE_INFINITY : typosBetween(segments, without) + 1,
      );
      if (typos < fewest) [nearest, fewest] = [template, typos];
    }
    return nearest;
  }
}

/** Words of a path or a template: `['v1', ':namespace', 'acks']`. */
function segmentsOf(path: string): string[] {
  return path.split('/').slice(1);
}

/** How many letters differ; a name in the template takes any segment. Infinity: they have other numbers of segments. */
function typosBetween(segments: readonly string[], template: readonly string[]): number {
  if (segments.length !== template.length) return Number.POSITIVE_INFINITY;
  let typos = 0;
  for (const [i, known] of template.entries()) {
    const segment = segments[i] ?? '';
    if (!known.startsWith(':')) {
      const wrong = distance(segment, known);
      // With more than a third of its letters wrong, a segment is another one.
      if (wrong * 3 > known.length) return Number.POSITIVE_INFINITY;
      typos += wrong;
    } else if (segment === '') return Number.POSITIVE_INFINITY;
  }
  return typos;
}

/** Decodes escapes like a router, except that of a slash. */
function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

/** Names in a template match anything but a slash. */
function patternOf(template: string): RegExp {
  const parts = template
    .split('/')
    .map((part) => (part.startsWith(':') ? '[^/]+' : part.replace(/[^\w-]/g, '\\$&')));
  return new RegExp(`^${parts.join('/')}$`);
}
