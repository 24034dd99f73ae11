import type { Limit } from '../domain/caller.js';
import { type Rights, type Verb, VERBS } from '../domain/rights.js';

/** Identifies a token: the same text is another token in another namespace or pool. */
export interface TokenId {
  readonly pool: string;
  readonly namespace: string;
  /** Without the pool prefix. */
  readonly token: string;
}

/** A token as it is stored. */
export interface TokenRecord extends TokenId {
  readonly description: string;
  readonly limit: Limit | null;
  /** Null: everything in its namespace. */
  readonly rights: Rights | null;
}

/** A token with the details for administration. Times are Unix ms. */
export interface TokenDetails extends TokenRecord {
  readonly madeMs: number;
  /** Null: never. */
  readonly expiresMs: number | null;
  /** When a server last used it, to the minute; null: never. */
  readonly usedMs: number | null;
  /** It was replaced by another token, and still works until its grace period ends. */
  readonly isReplaced: boolean;
}

/**
 * Fields of a token's hash that admission needs. The text of a token with limited rights is in `bound` and not in
 * `token`: a server version without rights then finds no token, instead of treating it as one that may do everything.
 */
export const RECORD_FIELDS = [
  'pool',
  'namespace',
  'token',
  'bound',
  'description',
  'read',
  'write',
  'interval',
  'verbs',
  'queues',
] as const;

/** The fields above, and those for administration. */
export const DETAIL_FIELDS = [...RECORD_FIELDS, 'expires', 'used', 'replaced'] as const;

/** Decodes a reply to HMGET of `RECORD_FIELDS`; null if there is no such token. */
export function toRecord(reply: unknown): TokenRecord | null {
  const [pool, namespace, open, bound, description, read, write, interval, verbs, queues] = texts(reply);
  const token = bound ?? open;
  if (pool == null || namespace == null || token == null) return null;
  const limit =
    interval == null ? null : { read: Number(read), write: Number(write), intervalS: Number(interval) };
  const rights = rightsOf(verbs ?? null, queues ?? null);
  return { pool, namespace, token, description: description ?? '', limit, rights };
}

/** Decodes a reply to HMGET of `DETAIL_FIELDS`; null if there is no such token. */
export function toDetails(reply: unknown, madeMs: number): TokenDetails | null {
  const record = toRecord(reply);
  if (record === null) return null;
  const [expires, used, replaced] = texts(reply).slice(RECORD_FIELDS.length);
  return {
    ...record,
    madeMs,
    expiresMs: expires == null ? null : Number(expires),
    usedMs: used == null ? null : Number(used),
    isReplaced: replaced != null,
  };
}

/** An unknown verb of a later version grants nothing. */
function rightsOf(verbs: string | null, queues: string | null): Rights | null {
  if (verbs === null && queues === null) return null;
  const named = verbs?.split(',');
  return {
    verbs: named === undefined ? VERBS : VERBS.filter((verb: Verb) => named.includes(verb)),
    queues: queues?.split(',') ?? null,
  };
}

/** The strings of a reply; null stays null. */
export function texts(reply: unknown): (string | null)[] {
  if (!Array.isArray(reply)) throw new TypeError('the token store answered something else than an array');
  return reply.map((value: unknown) => {
    if (value === null || typeof value === 'string') return value;
    if (Buffer.isBuffer(value)) return value.toString();
    throw new TypeError('the token store answered something else than text');
  });
}
