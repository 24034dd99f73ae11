import type { RedisPool } from '../redis/pool.js';
import { SESSION_MS } from './session-store.js';
import { TokenKeys } from './token-keys.js';
import { claim, oidcFind, oidcRecord } from './token-scripts.js';

/** Accounts that one call lists. */
const MAX_ACCOUNTS = 500;
/** The field of what is known of the account itself. */
const ACCOUNT = '';

/** What the last check has found about a session. */
export interface CheckedSession {
  /** The user, as the provider names it. */
  readonly subject: string;
  /** Groups of the user that the configuration names. */
  readonly groups: readonly string[];
  /** Tokens of the provider, encrypted. */
  readonly sealed: string;
}

/** What the last check of any of its sessions has found about an account. */
export interface CheckedAccount {
  readonly groups: readonly string[];
}

/** A check, and how long ago the provider has confirmed the groups. */
export interface Checked<T> {
  readonly ageMs: number;
  readonly found: T;
}

/** A check to store. */
export interface NewCheck extends CheckedSession {
  readonly account: string;
  /** Of the secret of the session. */
  readonly digest: string;
  /** 0: the provider has confirmed the groups now. */
  readonly ageMs: number;
}

/**
 * What OpenID Connect knows of sessions and accounts, beside the sessions. All times are by the clock of Redis.
 *
 * @throws {QueueError} as `TokenStore`
 */
export class OidcStore {
  private readonly keys: TokenKeys;

  constructor(private readonly redis: RedisPool) {
    this.keys = new TokenKeys(redis.options.keyPrefix);
  }

  /** @returns false if the session has ended meanwhile: nothing is stored */
  async record({ account, digest, ageMs, ...session }: NewCheck): Promise<boolean> {
    const { keys } = this;
    const keyOf = {
      sessions: keys.sessions(account),
      checked: keys.checked(account),
      accounts: keys.oidcAccounts,
    };
    const ofAccount: CheckedAccount = { groups: session.groups };
    return this.redis.run(oidcRecord, keyOf, {
      ...{ digest, name: account, age_ms: ageMs, lifetime_ms: SESSION_MS },
      ...{ session: JSON.stringify(session), account: JSON.stringify(ofAccount) },
    });
  }

  /** The last check of a session; null if it has none. */
  async ofSession(account: string, digest: string): Promise<Checked<CheckedSession> | null> {
    return this.find(account, digest);
  }

  /** The last check of an account; null if it has no session. */
  async ofAccount(account: string): Promise<Checked<CheckedAccount> | null> {
    return this.find(account, ACCOUNT);
  }

  /** Accounts with sessions, by name. */
  async accounts(): Promise<string[]> {
    const [key, bounds] = [this.keys.oidcAccounts, [Date.now(), '+inf', 'LIMIT', 0, MAX_ACCOUNTS] as const];
    const found = await this.redis.read('ZRANGEBYSCORE', key, ...bounds);
    return Array.isArray(found) ? found.map(String).sort() : [];
  }

  /** Claims something for a time. @returns false if it is claimed already, by this server or another one */
  async claim(of: string, lifetimeMs: number): Promise<boolean> {
    return this.redis.run(claim, { claim: this.keys.claim(of) }, { lifetime_ms: lifetimeMs });
  }

  private async find<T>(account: string, field: string): Promise<Checked<T> | null> {
    const found = await this.redis.run(oidcFind, { checked: this.keys.checked(account) }, { field });
    return found && { ageMs: found.ageMs, found: JSON.parse(found.value) as T };
  }
}
