import type { RedisPool } from '../redis/pool.js';
import { TokenKeys } from './token-keys.js';
import { sessionCreate, sessionFind, sessionsEnd } from './token-scripts.js';

/** How long a session lasts, in milliseconds: a working day. */
export const SESSION_MS = 12 * 3_600_000;
/** Sessions of one account; a further one ends the oldest. */
export const MAX_SESSIONS = 20;

/**
 * Sessions of the accounts of the admin port, beside the tokens. Redis has digests only, and its clock ends them.
 *
 * @throws {QueueError} as `TokenStore`
 */
export class SessionStore {
  private readonly keys: TokenKeys;

  constructor(
    private readonly redis: RedisPool,
    private readonly lifetimeMs = SESSION_MS,
  ) {
    this.keys = new TokenKeys(redis.options.keyPrefix);
  }

  /** @param digest of its secret @returns when it ends, Unix ms */
  async create(account: string, digest: string): Promise<number> {
    const args = { digest, lifetime_ms: this.lifetimeMs, max: MAX_SESSIONS };
    return this.redis.run(sessionCreate, { sessions: this.keys.sessions(account) }, args);
  }

  /** @returns when it ends, Unix ms; null if there is none */
  async find(account: string, digest: string): Promise<number | null> {
    const endsMs = await this.redis.run(sessionFind, { sessions: this.keys.sessions(account) }, { digest });
    return endsMs === 0 ? null : endsMs;
  }

  /** Ends one session, or all of the account. @returns how many */
  async end(account: string, digest = ''): Promise<number> {
    const { keys } = this;
    const keyOf = {
      sessions: keys.sessions(account),
      checked: keys.checked(account),
      accounts: keys.oidcAccounts,
    };
    return this.redis.run(sessionsEnd, keyOf, { digest, name: account });
  }

  /** How many sessions an account has now. */
  async count(account: string): Promise<number> {
    return Number(await this.redis.read('ZCOUNT', this.keys.sessions(account), Date.now(), '+inf'));
  }
}
