import { QueueError } from '../domain/errors.js';
import type { Rights } from '../domain/rights.js';
import type { RedisPool } from '../redis/pool.js';
import type { Limit } from '../domain/caller.js';
import { mintToken, tokenDigest } from './credentials.js';
import { type ThrottleKind, TokenKeys } from './token-keys.js';
import { RECORD_FIELDS, texts, toRecord, type TokenId, type TokenRecord } from './token-record.js';
import {
  limitDelete,
  type LimitOutcome,
  limitSet,
  refund,
  throttle,
  tokenCreate,
  tokenDelete,
  tokenUsed,
} from './token-scripts.js';

export type { TokenId, TokenRecord } from './token-record.js';

/** When a token expires: after a time from now, or at an instant (Unix ms). Both 0 = never. */
export interface Expiry {
  readonly lifetimeMs: number;
  readonly atMs: number;
}

/** Expiry of a token that works until it is deleted. */
export const NO_EXPIRY: Expiry = { lifetimeMs: 0, atMs: 0 };

/** Message for an expiry in the past. */
export const EXPIRED = 'expires must be in the future';

/** Keys of a Redis in which `isEmpty` looks for tokens, and keys that Redis checks for a page: a tenth of a second in all. */
const MOST_KEYS_READ = 100_000;
const SCAN_PAGE = 1_000;

/** Options of a new token. */
export interface Grant {
  readonly namespace: string;
  readonly pool: string;
  readonly description: string;
  /** Without pool prefix; if omitted, a random one is created. */
  readonly chosen?: string | undefined;
  /** Null: everything. */
  readonly rights: Rights | null;
  readonly expiry: Expiry;
}

/**
 * Tokens, their limits, and the windows that count requests. Stored in one Redis for all pools.
 *
 * Every call settles within the command timeout.
 *
 * @throws {QueueError} `pool_unavailable` no answer in time; `store_full`, `disk_full` Redis rejects writes
 */
export class TokenStore {
  private readonly keys: TokenKeys;

  constructor(private readonly redis: RedisPool) {
    this.keys = new TokenKeys(redis.options.keyPrefix);
  }

  /** Whether the store's Redis can be used now, and its problems. */
  get status(): RedisPool['status'] {
    return this.redis.status;
  }

  /** True if there is no token, in no namespace. Of a large Redis the keys are not read: it counts as having some. */
  async isEmpty(): Promise<boolean> {
    if (Number(await this.redis.read('DBSIZE')) > MOST_KEYS_READ) return false;
    for await (const page of this.redis.scan(this.keys.indexes, SCAN_PAGE)) if (page.length > 0) return false;
    return true;
  }

  /**
   * Creates a token that may do everything in a namespace; it works at once on every server.
   *
   * @param chosen the token, without pool prefix; if omitted, a random one is created
   * @returns the token without its pool prefix
   * @throws {QueueError} `invalid_argument`: the chosen token exists
   */
  async create(namespace: string, pool: string, description: string, chosen?: string): Promise<string> {
    return this.grant({ namespace, pool, description, chosen, rights: null, expiry: NO_EXPIRY });
  }

  /**
   * Creates a token.
   *
   * @returns the token without its pool prefix
   * @throws {QueueError} `invalid_argument`: the chosen token exists, or it would have expired already
   */
  async grant({ namespace, pool, description, chosen, rights, expiry }: Grant): Promise<string> {
    const token = chosen ?? mintToken();
    const digest = tokenDigest(pool, namespace, token);
    const outcome = await this.redis.run(
      tokenCreate,
      { token: this.keys.token(digest), index: this.keys.index(pool, namespace) },
      {
        digest,
        pool,
        namespace,
        text: token,
        description,
        verbs: rights?.verbs.join() ?? '',
        queues: rights?.queues?.join() ?? '',
        lifetime_ms: expiry.lifetimeMs,
        expires_ms: expiry.atMs,
      },
    );
    if (outcome === 'exists') throw new QueueError('invalid_argument', 'the token has already existed');
    if (outcome === 'expired') throw new QueueError('invalid_argument', EXPIRED);
    return token;
  }

  /**
   * Deletes a token with its limit. Every server rejects it within a second.
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

  /** The token of this digest; null if there is none. One round trip. */
  async find(digest: string): Promise<TokenRecord | null> {
    return toRecord(await this.redis.read('HMGET', this.keys.token(digest), ...RECORD_FIELDS));
  }

  /** A token's limit; null if it has none or does not exist. */
  async limit({ pool, namespace, token }: TokenId): Promise<Limit | null> {
    return (await this.find(tokenDigest(pool, namespace, token)))?.limit ?? null;
  }

  /**
   * Sets a token's limit; it applies on every server within a second, and counting starts at zero.
   *
   * @param onlyNew keep an existing limit, and return `has_one`
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

  /** Removes a token's limit; false if it had none. */
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
   * @param allowed requests per window, >= 1
   * @returns the window that counted it (its start, Unix ms); if it is used up, minus the time until it ends, in milliseconds
   */
  async count(digest: string, kind: ThrottleKind, allowed: number, intervalS: number): Promise<number> {
    return this.redis.run(
      throttle,
      { window: this.keys.window(digest, kind) },
      { limit: allowed, interval_ms: intervalS * 1000 },
    );
  }

  /** Refunds a counted request, unless its window is over; false if it is. */
  async refund(digest: string, kind: ThrottleKind, started: number): Promise<boolean> {
    return this.redis.run(refund, { window: this.keys.window(digest, kind) }, { started });
  }

  /** Records that tokens are in use now, except those with a use recorded within `pauseMs`. */
  async recordUse(digests: readonly string[], pauseMs: number): Promise<void> {
    const items = digests.map((digest) => [digest]);
    await this.redis.run(tokenUsed, { limited: this.keys.limited }, { pause_ms: pauseMs }, items);
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
