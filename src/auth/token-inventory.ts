import type { RedisPool } from '../redis/pool.js';
import { mintToken, tokenDigest } from './credentials.js';
import { TokenKeys } from './token-keys.js';
import { DETAIL_FIELDS, toDetails, type TokenDetails, type TokenId } from './token-record.js';
import { type RotateOutcome, tokenPrune, tokenRotate } from './token-scripts.js';
import type { Expiry } from './token-store.js';

/** How a token is to be replaced. */
export interface Rotation {
  /** The new token, without pool prefix; left out, one is made up. */
  readonly chosen?: string | undefined;
  /** How long the old one works on, 0 = not at all. */
  readonly graceMs: number;
  /** `NO_EXPIRY`: the new one ends when the old one would have ended. */
  readonly expiry: Expiry;
}

/**
 * What people ask of the tokens that there are: how they stand, and to have them replaced. Never on the way of a request.
 *
 * @throws {QueueError} as those of `TokenStore`
 */
export class TokenInventory {
  private readonly keys: TokenKeys;

  constructor(private readonly redis: RedisPool) {
    this.keys = new TokenKeys(redis.options.keyPrefix);
  }

  /** A token with all that is known of it, null if there is none. */
  async describe(id: TokenId): Promise<TokenDetails | null> {
    const digest = tokenDigest(id.pool, id.namespace, id.token);
    const madeUs = await this.redis.read('ZSCORE', this.keys.index(id.pool, id.namespace), digest);
    return this.detailsOf(digest, Number(madeUs));
  }

  /** A namespace's tokens in a pool, the oldest first. Those that have expired are struck from the list. */
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
   * Gives a token's place to a new one, which has its description, rights and limit; counted is anew.
   *
   * @returns the new token without its pool prefix, or why there is none; then nothing has changed
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

/** Members with their scores: a flat list in one protocol of Redis, a list of pairs in the other. */
function pairsOf(reply: unknown): [string, number][] {
  if (!Array.isArray(reply)) throw new TypeError('the token store answered something else than an array');
  const flat: unknown[] = reply.flat();
  return flat.flatMap((member, i): [string, number][] =>
    i % 2 === 0 ? [[String(member), Number(flat[i + 1])]] : [],
  );
}
