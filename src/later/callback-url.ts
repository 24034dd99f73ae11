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

/** Why a callback is refused, with the remedy; undefined if it is allowed. Parameters as of `callbackUrlOf`. */
export function callbackProblem(text: string, allow: readonly string[]): string | undefined {
  if (callbackUrlOf(text, allow) !== null) return undefined;
  if (allow.length === 0)
    return 'this server allows no callbacks: its later.allow is empty, and must have the origins that callbacks may go to, such as "https://app.example.com"';
  const origin = URL.canParse(text) ? new URL(text).origin : 'null';
  if (origin === 'null') return 'callback must be a URL with http or https';
  return allow.includes(origin)
    ? 'callback has a user or a password that cannot be decoded'
    : `callback must have an origin of later.allow of this server: ${origin} is none`;
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
