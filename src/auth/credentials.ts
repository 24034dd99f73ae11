import { hash, randomBytes } from 'node:crypto';

/** The pool that a token without a prefix means. */
export const DEFAULT_POOL = 'default';

/** Crockford's base 32, as ULIDs use it: what minted tokens are made of. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const MINTED_LENGTH = 26;

/** Characters of a token that logs and error messages may show. */
const SHOWN_CHARACTERS = 4;

/** A token as a client sends it, taken apart. */
export interface Credentials {
  readonly pool: string;
  readonly token: string;
}

/** Takes `[{pool}:]{token}` apart at the first colon. An empty prefix means the default pool. */
export function parseToken(text: string): Credentials {
  const colon = text.indexOf(':');
  if (colon < 0) return { pool: DEFAULT_POOL, token: text };
  return { pool: colon === 0 ? DEFAULT_POOL : text.slice(0, colon), token: text.slice(colon + 1) };
}

/** The text that a client must send: the prefix is left out for the default pool, unless the token would be taken for one with a prefix. */
export function spellToken({ pool, token }: Credentials): string {
  return pool === DEFAULT_POOL && !token.includes(':') ? token : `${pool}:${token}`;
}

/**
 * What a token is stored and looked up under: so the time that a look-up takes tells nothing about the tokens there are.
 *
 * NUL separates the parts, for it cannot stand in the name of a pool or of a namespace: two different triples are never one text.
 */
export function tokenDigest(pool: string, namespace: string, token: string): string {
  return hash('sha256', `${pool}\0${namespace}\0${token}`, 'hex');
}

/** The first characters of a token, for people to recognise it by; never enough to use it. */
export function tokenHint(token: string): string {
  return `${token.slice(0, SHOWN_CHARACTERS)}…`;
}

/**
 * Makes up a token: 128 random bits in the shape of a ULID, which is what lmstfy's tokens look like. There is no time in it, so
 * the four characters that logs show tell tokens apart, and nobody can guess a neighbour's.
 */
export function mintToken(): string {
  let bits = BigInt(`0x${randomBytes(16).toString('hex')}`);
  let text = '';
  for (let i = 0; i < MINTED_LENGTH; i++) {
    text = ALPHABET.charAt(Number(bits & 31n)) + text;
    bits >>= 5n;
  }
  return text;
}
