import { hash } from 'node:crypto';
import { randomUlid } from '../domain/ids.js';

/** The pool of a token without a prefix. */
export const DEFAULT_POOL = 'default';

/** Characters of a token that logs and error messages may show. */
const SHOWN_CHARACTERS = 4;

/** A token from a client, parsed. */
export interface Credentials {
  readonly pool: string;
  readonly token: string;
}

/** Splits `[{pool}:]{token}` at the first colon. An empty prefix means the default pool. */
export function parseToken(text: string): Credentials {
  const colon = text.indexOf(':');
  if (colon < 0) return { pool: DEFAULT_POOL, token: text };
  return { pool: colon === 0 ? DEFAULT_POOL : text.slice(0, colon), token: text.slice(colon + 1) };
}

/**
 * The text that a client must send: without a prefix for the default pool, unless a colon in the token would make it
 * look like one with a prefix.
 */
export function spellToken({ pool, token }: Credentials): string {
  return pool === DEFAULT_POOL && !token.includes(':') ? token : `${pool}:${token}`;
}

/**
 * Digest under which a token is stored and looked up: the time of a lookup reveals nothing about existing tokens.
 *
 * NUL separates the parts, because names of pools and namespaces cannot contain it: two different triples never have
 * the same text.
 */
export function tokenDigest(pool: string, namespace: string, token: string): string {
  return hash('sha256', /* guard: digest-parts-are-apart */ `${pool}\0${namespace}\0${token}`, 'hex');
}

/** The first characters of a token, for people to recognise it; never enough to use it. */
export function tokenHint(token: string): string {
  return `${token.slice(0, SHOWN_CHARACTERS)}…`;
}

/**
 * Creates a random token: 128 random bits in the form of a ULID, like lmstfy's tokens. It contains no time, so the four
 * characters in logs distinguish tokens, and one token cannot be guessed from another.
 */
export function mintToken(): string {
  return randomUlid();
}
