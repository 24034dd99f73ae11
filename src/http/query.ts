/** The query string's values by name: of equal names, the first. */
export type Query = Readonly<Record<string, string>>;

const BROKEN_ESCAPE = /%(?![0-9A-Fa-f]{2})/;
/** The query of an address that has none. */
export const NO_QUERY: Query = Object.freeze(Object.create(null) as Query);

/**
 * Reads a query string as lmstfy's HTTP library does: the first of equal names wins, `+` is a blank, and a part that has a
 * semicolon or a broken escape is as if it were not there.
 */
export function parseQuery(text: string): Query {
  if (text === '') return NO_QUERY;
  const query = Object.create(null) as Record<string, string>;
  for (const part of text.split('&')) {
    if (part === '' || part.includes(';')) continue;
    const equals = part.indexOf('=');
    const name = decoded(equals === -1 ? part : part.slice(0, equals));
    const value = equals === -1 ? '' : decoded(part.slice(equals + 1));
    if (name === undefined || value === undefined) continue;
    query[name] ??= value;
  }
  return query;
}

function decoded(text: string): string | undefined {
  const blanks = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!blanks.includes('%')) return blanks;
  try {
    return decodeURIComponent(blanks);
  } catch {
    // Escaped bytes that are not UTF-8 are legal there, and no name or number of ours has any.
    return BROKEN_ESCAPE.test(blanks) ? undefined : '\u{fffd}';
  }
}

const DIGITS = /^[0-9]+$/;

/**
 * A whole number from a query, in digits only.
 *
 * @returns `fallback` if the name is not there, undefined if its value is empty, is no number or is above `max`
 */
export function wholeNumber(query: Query, name: string, fallback: number, max: number): number | undefined {
  const text = query[name];
  if (text === undefined) return fallback;
  if (!DIGITS.test(text)) return undefined;
  const value = Number(text);
  return value <= max ? value : undefined;
}
