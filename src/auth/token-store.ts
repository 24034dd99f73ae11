import { QueueError } from '../domain/errors.js';
import type { RedisPool } from '../redis/pool.js';
import type { Limit } from '../domain/caller.js';
import { mintToken, tokenDigest } from './credentials.js';
import { type ThrottleKind, TokenKeys } from './token-keys.js';
import {
  limitDelete,
  type LimitOutcome,
  limitSet,
  refund,
  throttle,
  tokenCreate,
  tokenDelete,
} from './token-scripts.js';

/** Names one token: the same text is another token in another namespace or pool. */
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
}

const FIELDS = ['pool', 'namespace', 'token', 'description', 'read', 'write', 'interval'] as const;

/**
 * Tokens, their limits, and the windows that count requests. It lives in one Redis for all pools.
 *
 * Every call settles within the command timeout.
 *
 * @throws {QueueError} `pool_unavailable` no answer in time; `store_full`, `disk_full` Redis refuses to write
 */
export class TokenStore {
  private readonly keys: TokenKeys;

  constructor(private readonly redis: RedisPool) {
    this.keys = new TokenKeys(redis.options.keyPrefix);
  }

  /** Whether the store's Redis can be used now, and what is wrong with it. */
  get status(): RedisPool['status'] {
    return this.redis.status;
  }

  /**
   * Makes a token for a namespace; it works at once on every server.
   *
   * @param chosen the token, without pool prefix; left out, one is made up
   * @returns the token without its pool prefix
   * @throws {QueueError} `invalid_argument`: the chosen token exists
   */
  async create(namespace: string, pool: string, description: string, chosen?: string): Promise<string> {
    const token = chosen ?? mintToken();
    const digest = tokenDigest(pool, namespace, token);
    const created = await this.redis.run(
      tokenCreate,
      { token: this.keys.token(digest), index: this.keys.index(pool, namespace) },
      { digest, pool, namespace, text: token, description },
    );
    if (!created) throw new QueueError('invalid_argument', 'the token has already existed');
    return token;
  }

  /** A namespace's tokens in a pool, the oldest first. */
  async list(namespace: string, pool: string): Promise<TokenRecord[]> {
    return this.readAll(await this.redis.read('ZRANGE', this.keys.index(pool, namespace), 0, -1));
  }

  /**
   * Takes a token away, with its limit. Every server refuses it within a second.
   *
   * @returns false if there was no such token
   */
  async delete({ pool, namespace, token }: TokenId): Promise<boolean> {
    const digest = tokenDigest(pool, namespace, token);
    return this.redis.run(
      tokenDelete,
      { ...this.limitKeys(digest), index: this.keys.index(pool, namespace) },
      { digest },
    );
  }

  /** The token of this digest, null if there is none. One round trip. */
  async find(digest: string): Promise<TokenRecord | null> {
    return toRecord(await this.redis.read('HMGET', this.keys.token(digest), ...FIELDS));
  }

  /** A token's limit, null if it has none or does not exist. */
  async limit({ pool, namespace, token }: TokenId): Promise<Limit | null> {
    return (await this.find(tokenDigest(pool, namespace, token)))?.limit ?? null;
  }

  /**
   * Gives a token a limit; it holds on every server within a second, and counts from zero.
   *
   * @param onlyNew leave a limit that is there as it is, and answer `has_one`
   */
  async setLimit({ pool, namespace, token }: TokenId, limit: Limit, onlyNew: boolean): Promise<LimitOutcome> {
    const digest = tokenDigest(pool, namespace, token);
    return this.redis.run(limitSet, this.limitKeys(digest), {
      digest,
      read: limit.read,
      write: limit.write,
      interval_s: limit.intervalS,
      only_new: onlyNew ? 1 : 0,
    });
  }

  /** Takes a token's limit away; false if it had none. */
  async deleteLimit({ pool, namespace, token }: TokenId): Promise<boolean> {
    const digest = tokenDigest(pool, namespace, token);
    return this.redis.run(limitDelete, this.limitKeys(digest), { digest });
  }

  /** All tokens that have a limit, ordered by namespace and text. */
  async limits(): Promise<TokenRecord[]> {
    const records = await this.readAll(await this.redis.read('SMEMBERS', this.keys.limited));
    return records.filter(({ limit }) => limit !== null).sort(byNamespaceThenText);
  }

  /**
   * Counts a request in the token's window.
   *
   * @param allowed requests that a window takes, >= 1
   * @returns the window that counted it (its start, Unix ms), 0 if it is used up
   */
  async count(digest: string, kind: ThrottleKind, allowed: number, intervalS: number): Promise<number> {
    return this.redis.run(
      throttle,
      { window: this.keys.window(digest, kind) },
      { limit: allowed, interval_ms: intervalS * 1000 },
    );
  }

  /** Gives a counted request back, unless its window is over; false if it is. */
  async refund(digest: string, kind: ThrottleKind, started: number): Promise<boolean> {
    return this.redis.run(refund, { window: this.keys.window(digest, kind) }, { started });
  }

  private limitKeys(digest: string) {
    return {
      token: this.keys.token(digest),
      limited: this.keys.limited,
      read_window: this.keys.window(digest, 'read'),
      write_window: this.keys.window(digest, 'write'),
    };
  }

  private async readAll(digests: unknown): Promise<TokenRecord[]> {
    const known = texts(digests).filter((digest) => digest !== null);
    const records = await Promise.all(known.map((digest) => this.find(digest)));
    return records.filter((record) => record !== null);
  }
}

function byNamespaceThenText(a: TokenRecord, b: TokenRecord): number {
  const [left, right] = [`${a.namespace}\0${a.token}`, `${b.namespace}\0${b.token}`];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** The strings of a reply; null stays null. */
function texts(reply: unknown): (string | null)[] {
  if (!Array.isArray(reply)) throw new TypeError('the token store answered something else than an array');
  return reply.map((value: unknown) => {
    if (value === null || typeof value === 'string') return value;
    if (Buffer.isBuffer(value)) return value.toString();
    throw new TypeError('the token store answered something else than text');
  });
}

function toRecord(reply: unknown): TokenRecord | null {
  const [pool, namespace, token, description, read, write, interval] = texts(reply);
  if (pool == null || namespace == null || token == null) return null;
  const limit =
    interval == null ? null : { read: Number(read), write: Number(write), intervalS: Number(interval) };
  return { pool, namespace, token, description: description ?? '', limit };
}
