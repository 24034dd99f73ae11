import { isDecodable } from './percent-encoding.js';

/** What is wrong with the URL of a Redis, without quoting the URL; null if nothing. */
export function redisUrlProblem(value: unknown): string | null {
  const expected = 'must be redis://[user:password@]host[:port][/db] or rediss://…';
  if (typeof value !== 'string') return expected;
  const url = URL.canParse(value) ? new URL(value) : null;
  if (!/^rediss?:\/\/[^/]/i.test(value) || !url || url.hostname === '') {
    return `${expected} (write special characters of a password as %xx)`;
  }
  if (url.search !== '' || url.hash !== '') return `${expected}, without ? or #`;
  if (!/^\/?(?:\d{1,5})?$/.test(url.pathname)) return `${expected}; db is a number`;
  return isDecodable(url.username + url.password) ? null : `${expected}; a %xx in it is broken`;
}
