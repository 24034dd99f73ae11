import { isDecodable } from '../../domain/percent-encoding.js';
import type { IncomingMessage } from 'node:http';

const LEFT_OUT = Symbol('left out');

/** The values of a query string by name; the first of repeated names wins. */
export type Query = Readonly<Record<string, string>> & {
  readonly [LEFT_OUT]?: ReadonlyMap<string, string>;
};

const UNREADABLE = 'cannot be read: write a semicolon as %3B, and a percent sign as %25';
export const TWICE = 'may be given once; a list has its values separated by commas';
const NOT_UTF8 = 'must be UTF-8, percent-encoded';
const NOTHING: ReadonlyMap<string, string> = new Map();
/** Stands for a name or a value that is not UTF-8. */
const NOT_TEXT = '\u{fffd}';
const BROKEN_ESCAPE = /%(?![0-9A-Fa-f]{2})/;
/** The query of a URL without one. */
export const NO_QUERY: Query = Object.freeze(Object.create(null) as Query);

/**
 * Parses a query string like lmstfy's HTTP library: the first of repeated names wins, `+` is a blank, and parts with a
 * semicolon or an invalid escape are ignored. `leftOutOf` has what is ignored, and what is not UTF-8.
 */
export function parseQuery(text: string): Query {
  if (text === '') return NO_QUERY;
  const query = Object.create(null) as Record<string, string> & { [LEFT_OUT]?: Map<string, string> };
  const leaveOut = (part: string, why: string): void => {
    (query[LEFT_OUT] ??= new Map()).set(part, why);
  };
  for (const part of text.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = decoded(equals === -1 ? part : part.slice(0, equals));
    const value = equals === -1 ? '' : decoded(part.slice(equals + 1));
    if (part.includes(';') || name === undefined || value === undefined) leaveOut(part, UNREADABLE);
    else {
      const isRead = (name !== NOT_TEXT && value !== NOT_TEXT) || isDecodable(part);
      if (!isRead) leaveOut(part, NOT_UTF8);
      if (query[name] === undefined) query[name] = value;
      else leaveOut(name, TWICE);
    }
  }
  return query;
}

/** What `parseQuery` could not read or has ignored, and why: parts of the text, and names that came again. */
export function leftOutOf(query: Query): ReadonlyMap<string, string> {
  return query[LEFT_OUT] ?? NOTHING;
}

/** All values of a name in a query string, in order, parsed like `parseQuery`. */
export function valuesOf(text: string, name: string): string[] {
  return text.split('&').flatMap((part) => parseQuery(part)[name] ?? []);
}

function decoded(text: string): string | undefined {
  const blanks = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!blanks.includes('%')) return blanks;
  try {
    return decodeURIComponent(blanks);
  } catch {
    // Escaped bytes that are not UTF-8 are legal there, but none of our names and numbers has any.
    return BROKEN_ESCAPE.test(blanks) ? undefined : NOT_TEXT;
  }
}

const DIGITS = /^[0-9]+$/;

/**
 * A whole number from a query, in digits only.
 *
 * @returns `fallback` if the name is missing, undefined if its value is empty, is not a number or is above `max`
 */
export function wholeNumber(query: Query, name: string, fallback: number, max: number): number | undefined {
  const text = query[name];
  if (text === undefined) return fallback;
  if (!DIGITS.test(text)) return undefined;
  const value = Number(text);
  return value <= max ? value : undefined;
}

const TWO_TO_63 = 2 ** 63;

/**
 * Like `wholeNumber`, for Go's signed 64-bit integers, which lmstfy uses for some numbers. A number above `max` is
 * valid, and reduced to `max`.
 *
 * @param max a safe integer
 */
export function wholeInt64(query: Query, name: string, fallback: number, max: number): number | undefined {
  const value = wholeNumber(query, name, fallback, TWO_TO_63);
  // A JavaScript number does not distinguish 2^63 - 1, the largest one, from 2^63.
  if (
    value === undefined ||
    /* guard: numbers-of-64-bits */ (value === TWO_TO_63 && BigInt(query[name] ?? '') >= TWO_TO_63)
  )
    return undefined;
  return Math.min(value, max);
}

/** Maximum number of headers of a request. */
const MAX_HEADERS = 2_000;

/** True if a request has more headers than it may. Names and values alternate. */
export function hasTooManyHeaders({ rawHeaders }: IncomingMessage): boolean {
  // guard: headers-are-bounded
  return rawHeaders.length > 2 * MAX_HEADERS;
}

/**
 * True if the body of a request has a transfer coding that Node has not decoded: Node decodes `chunked`, and passes the
 * rest of `gzip, chunked` on as it is. Where `chunked` is not the last one, Node refuses the request itself.
 */
export function hasForeignCoding({ headers }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return false;
  // A list may have empty elements.
  const codings = coding.split(',').filter((one) => one.trim() !== '');
  return codings.length > 1 && codings.at(-1)?.trim().toLowerCase() === 'chunked';
}

/** True if a request names its host more than once: a proxy may have taken the other name. RFC 9112 wants 400. */
export function hasTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    if (name.length === 4 && (name === 'Host' || name.toLowerCase() === 'host')) hosts += 1;
  }
  return /* guard: one-host */ hosts > 1;
}

const BEARER = /^bearer +(\S+) *$/i;

/**
 * The token that a request carries: in `X-Token`, else, on the native API, as `Authorization: Bearer`, else in the query,
 * where the first of repeated parameters wins. Empty if there is none. lmstfy knows no `Authorization`: there it may be a
 * proxy's.
 */
export function sentToken({ headers }: IncomingMessage, query: Query, route: string): string {
  const own = headers['x-token'];
  if (typeof own === 'string' && own !== '') return own;
  const { authorization } = headers;
  const bearer =
    authorization !== undefined && /* guard: bearer-native-only */ route.startsWith('/v1/')
      ? BEARER.exec(authorization)?.[1]
      : undefined;
  return bearer ?? query.token ?? '';
}
