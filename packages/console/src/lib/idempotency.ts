import type { Call } from './lines.js';

/** Calls that publish jobs, and those that start operations: the server takes a key for them. */
const TAKES_A_KEY = /^\/v1\/[^/?]+\/(?:jobs|operations)$/;

/** Unlike `randomUUID`, browsers have it for pages without https, too. */
const randomKey = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-');

/**
 * The idempotency keys of a dialog: a button that is pressed again after a lost answer does the same once.
 *
 * @returns gives the key of a call, the same for the same call; undefined: the server takes none
 */
export function idempotencyKeys(): (call: Call) => string | undefined {
  const keys = new Map<string, string>();
  return ({ method, path, body = '' }) => {
    if (method !== 'POST' || !TAKES_A_KEY.test(path)) return undefined;
    const call = `${path} ${body}`;
    const key = keys.get(call) ?? randomKey();
    keys.set(call, key);
    return key;
  };
}
