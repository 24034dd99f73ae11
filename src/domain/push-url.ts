import { MAX_LABEL } from './limits.js';

/**
 * The attribute of a job that names the URL it is pushed to. Only the field `push` of a publish sets it: attributes that clients
 * name, and headers, have no slash in their names.
 */
export const PUSH_URL = 'push/url';
/** Characters of a URL. */
export const MAX_PUSH_URL = 2_048;

/** The normal form of a URL that requests can go to; null if it is none. A host in digits of any spelling becomes an address. */
export function pushUrlOf(text: string): URL | null {
  const url = text.length <= MAX_PUSH_URL && URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.href.length > MAX_PUSH_URL) return null;
  return url.username === '' && url.password === '' && url.hash === '' ? url : null;
}

export const PUSH_URL_RULE =
  'must be a URL that begins with https:// or http://, without a name, a password or a fragment';

/**
 * The options of a job that is pushed to a URL of its own. Without a concurrency key it gets its origin as one; a job with a key can be
 * held.
 */
export function withPushUrl(
  url: URL,
  { attributes, concurrencyKey }: { attributes?: Readonly<Record<string, string>>; concurrencyKey?: string },
): { attributes: Readonly<Record<string, string>>; concurrencyKey: string } {
  const key = concurrencyKey ?? url.origin.slice(0, MAX_LABEL);
  return {
    attributes: { ...attributes, [PUSH_URL]: url.href },
    // guard: push-origin-is-the-key
    concurrencyKey: key,
  };
}
