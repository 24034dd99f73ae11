import { redactUrl } from '../../config/log.js';
import { MIN_TOKEN_LENGTH } from '../../domain/limits.js';

const REDACTED = '[redacted]';
/** Form of a generated token, and of a job's id. */
const ULID_LIKE = /(?<![0-9A-Z])[0-9A-HJKMNP-TV-Z]{26}(?![0-9A-Z])/gi;
/** A parameter written into the path, with its `=` escaped. */
const NAMED_TOKEN = /token[=:][^/?&;]*/gi;
/** How many levels of escapes are decoded. */
const MOST_ROUNDS = 3;
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_CHARACTERS = 10;
const DAY_MS = 86_400_000;
/** No job is older: 2015-01-01, before lmstfy. */
const EARLIEST = timeText(1_420_070_400_000);

/**
 * The URL of a request for logs, without secrets: a query that contains a token is removed, and so is any token
 * elsewhere: the token of the request, and text that looks like a generated one. If a token only appears after decoding
 * escapes, the decoded URL is shown.
 *
 * @param carried the token of the header or the query, with its pool prefix if it has one; empty if there was none
 */
export function shownUrl(url: string, carried: string): string {
  const mark = url.indexOf('?');
  const hasToken = mark !== -1 && unescaped(url.slice(mark)).toLowerCase().includes('token');
  const shown = hasToken ? url.slice(0, mark) : url;
  const plain = unescaped(shown);
  const redacted = withoutTokens(plain, carried.slice(carried.indexOf(':') + 1));
  return redactUrl(redacted === plain ? shown : redacted.replace(/[^\x21-\x7e]/g, '?'));
}

function withoutTokens(text: string, carried: string): string {
  const without =
    /* guard: shown-url-hides-its-token */ carried.length >= MIN_TOKEN_LENGTH
      ? text.replaceAll(carried, REDACTED)
      : text;
  return without
    .replace(ULID_LIKE, (found) => (/* guard: shown-url-hides-any-token */ isId(found) ? found : REDACTED))
    .replace(NAMED_TOKEN, `token=${REDACTED}`);
}

/** Ids begin with the time; tokens are random throughout, and one in a thousand looks like an id. */
function isId(text: string): boolean {
  const time = text.slice(0, TIME_CHARACTERS).toUpperCase();
  return time >= EARLIEST && time <= timeText(Date.now() + DAY_MS);
}

/** The time part of a ULID: these texts sort by time. */
function timeText(ms: number): string {
  let text = '';
  for (let rest = ms; text.length < TIME_CHARACTERS; rest = Math.floor(rest / 32))
    text = ALPHABET.charAt(rest % 32) + text;
  return text;
}

function unescaped(text: string): string {
  let plain = text;
  for (let round = 0; round < /* guard: shown-url-unescaped */ MOST_ROUNDS && plain.includes('%'); round++) {
    plain = plain.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  }
  return plain;
}
