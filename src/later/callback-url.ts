/** Where a callback goes. */
export interface CallbackUrl {
  /** Without user and password. */
  readonly url: URL;
  /** Of the user and password in the URL; undefined if it has none. */
  readonly authorization: string | undefined;
}

/**
 * Reads the URL of a callback.
 *
 * @param allow origins that callbacks may go to
 * @returns null if it is none of http or https, or its origin is not allowed
 */
export function callbackUrlOf(text: string, allow: readonly string[]): CallbackUrl | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  if (!/^https?:$/.test(url.protocol) || !allow.includes(url.origin)) return null;
  const authorization = basicOf(url);
  if (authorization === null) return null;
  url.username = '';
  url.password = '';
  return { url, authorization };
}

/** @returns null if an escape in it is broken */
function basicOf({ username, password }: URL): string | undefined | null {
  if (username === '' && password === '') return undefined;
  try {
    const plain = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return `Basic ${Buffer.from(plain).toString('base64')}`;
  } catch {
    return null;
  }
}
