import { computed, signal } from '@preact/signals';
import { DEFAULT_POOL, type Place } from './place.js';

/* Routes are behind `#`, so that the page works below any prefix: `#/n/demo/queues/mail?state=dead`. */

/** Where the reader is: the parts of the path, and the parameters behind it. */
export interface Route {
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

function routeOf(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  return { parts: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(query) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const route = signal(routeOf(location.hash));
addEventListener('hashchange', () => {
  route.value = routeOf(location.hash);
});

/** The namespace that the route is about; null outside of one. */
export const place = computed<Place | null>(() => {
  const { parts, query } = route.value;
  const [first, namespace] = parts;
  if (first !== 'n' || namespace === undefined) return null;
  return { pool: query.get('pool') ?? DEFAULT_POOL, namespace };
});

type Values = Readonly<Record<string, string | number | null | undefined>>;

/** The address of a page of the installation, such as `redis`. */
export function href(parts: readonly string[], values: Values = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    if (value !== null && value !== undefined && value !== '') query.set(name, String(value));
  const text = query.toString();
  return `#/${parts.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
}

/** The address of a page of a namespace, such as `jobs`. */
export function hrefIn({ pool, namespace }: Place, parts: readonly string[], values: Values = {}): string {
  return href(['n', namespace, ...parts], { ...values, pool: pool === DEFAULT_POOL ? null : pool });
}

/** The address of the queues of a namespace: the overview with them alone. */
export function hrefOfQueues({ pool, namespace }: Place): string {
  return href([], { namespace, pool: pool === DEFAULT_POOL ? null : pool });
}

/** Goes to an address of the page. */
export function go(address: string): void {
  location.hash = address;
}

/** Sets parameters of the route; null removes one. Without `keep` the reader cannot go back to what was set before. */
export function setQuery(values: Values, { keep = false } = {}): void {
  const { parts, query } = route.value;
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === undefined || value === '') next.delete(name);
    else next.set(name, String(value));
  }
  const address = href(parts, Object.fromEntries(next));
  if (keep) location.hash = address;
  else {
    history.replaceState(null, '', address);
    route.value = routeOf(address);
  }
}
