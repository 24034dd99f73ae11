import type { RedisPool } from '../redis/pool.js';
import { mintToken, tokenDigest } from './credentials.js';
import { TokenKeys } from './token-keys.js';
import { DETAIL_FIELDS, toDetails, type TokenDetails, type TokenId } from './token-record.js';
import { type RotateOutcome, tokenPrune, tokenRotate } from './token-scripts.js';
import type { Expiry } from './token-store.js';

/** Options of a token rotation. */
export interface Rotation {
  /** The new token, without pool prefix; if omitted, a random one is created. */
  readonly chosen?: string | undefined;
  /** How long the old one keeps working; 0 = not at all. */
  readonly graceMs: number;
  /** `NO_EXPIRY`: the new one expires when the old one would have expired. */
  readonly expiry: Expiry;
}

/**
 * Administration of existing tokens: description and rotation. Never used within a queue request.
 *
 * @throws {QueueError} as `TokenStore`
 */
export class TokenInventory {
  private readonly keys: TokenKeys;

  constructor(private readonly redis: RedisPool) {
    this.keys = new TokenKeys(redis.options.keyPrefix);
  }

  /** A token with all its details; null if there is none. */
  async describe(id: TokenId): Promise<TokenDetails | null> {
    const digest = tokenDigest(id.pool, id.namespace, id.token);
    const madeUs = await this.redis.read('ZSCORE', this.keys.index(id.pool, id.namespace), digest);
    return this.detailsOf(digest, Number(madeUs));
  }

  /** The tokens of a namespace in a pool, oldest first. Removes expired ones from the list. */
  async describeAll(namespace: string, pool: string): Promise<TokenDetails[]> {
    const listed = await this.redis.read('ZRANGE', this.keys.index(pool, namespace), 0, -1, 'WITHSCORES');
    const found = await Promise.all(
      pairsOf(listed).map(async ([digest, madeUs]) => {
        const details = await this.detailsOf(digest, madeUs);
        if (details === null) await this.prune(digest, namespace, pool);
        return details;
      }),
    );
    return found.filter((details) => details !== null);
  }

  /**
   * Replaces a token by a new one with the same description, rights and limit; its counters start at zero.
   *
   * @returns the new token without its pool prefix, or why there is none; nothing has changed then
   */
  async rotate(
    { pool, namespace, token }: TokenId,
    { chosen, graceMs, expiry }: Rotation,
  ): Promise<{ readonly token: string } | Exclude<RotateOutcome, 'done'>> {
    const text = chosen ?? mintToken();
    const digest = tokenDigest(pool, namespace, token);
    const newDigest = tokenDigest(pool, namespace, text);
    const outcome = await this.redis.run(
      tokenRotate,
      {
        token: this.keys.token(digest),
        successor: this.keys.token(newDigest),
        index: this.keys.index(pool, namespace),
        limited: this.keys.limited,
        read_window: this.keys.window(digest, 'read'),
        write_window: this.keys.window(digest, 'write'),
      },
      {
        digest,
        new_digest: newDigest,
        text,
        grace_ms: graceMs,
        lifetime_ms: expiry.lifetimeMs,
        expires_ms: expiry.atMs,
      },
    );
    return outcome === 'done' ? { token: text } : outcome;
  }

  private async detailsOf(digest: string, madeUs: number): Promise<TokenDetails | null> {
    const reply = await this.redis.read('HMGET', this.keys.token(digest), ...DETAIL_FIELDS);
    return toDetails(reply, Math.floor(madeUs / 1000));
  }

  private async prune(digest: string, namespace: string, pool: string): Promise<void> {
    const { limited } = this.keys;
    const keys = { token: this.keys.token(digest), index: this.keys.index(pool, namespace), limited };
    await this.redis.run(tokenPrune, keys, { digest });
  }
}

/** Members with their scores: RESP2 answers a flat list, RESP3 a list of pairs. */
function pairsOf(reply: unknown): [string, number][] {
  if (!Array.isArray(reply)) throw new TypeError('the token store answered something else than an array');
  const flat: unknown[] = reply.flat();
  return flat.flatMap((member, i): [string, number][] =>
    i % 2 === 0 ? [[String(member), Number(flat[i + 1])]] : [],
  );
}
