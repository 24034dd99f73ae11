import { isOidcAccount } from '../../auth/oidc-accounts.js';
import type { SessionStore } from '../../auth/session-store.js';
import type { Actor } from '../../domain/actor.js';
import type { Accounts } from '../accounts.js';
import type { NewOidcSession, OidcSessions } from '../oidc/oidc-sessions.js';
import { digestOfSecret, newSecret, type SessionCookie, type SessionSecret } from './session-cookie.js';

/** In place of that of an account that does not exist. */
const NO_KEY = Buffer.alloc(32);

/** A session of a request. */
export interface Session {
  readonly actor: Actor;
  /** Unix ms. */
  readonly endsMs: number;
}

/**
 * Sessions of the accounts. What an account may do is read from the configuration for each request, not from its
 * session. An account whose password has changed, or that is gone, has no sessions any more.
 */
export class Sessions {
  constructor(
    private readonly accounts: Accounts,
    private readonly cookie: SessionCookie,
    private readonly store: SessionStore,
    /** Null: there are none. */
    private readonly oidc: OidcSessions | null = null,
  ) {}

  /** Begins a session. @returns its end, and the header that gives it to the browser */
  async begin({ account }: Actor): Promise<{ readonly endsMs: number; readonly header: string }> {
    const sent = { account: account ?? '', secret: newSecret() };
    const endsMs = await this.store.create(sent.account, this.digestOf(sent));
    return { endsMs, header: this.cookie.set(sent) };
  }

  /**
   * Begins a session of an account of OpenID Connect.
   *
   * @returns as `begin`
   * @throws {Error} it was ended at once, by a call that ends all sessions of the account
   */
  async beginOidc(
    account: string,
    user: Pick<NewOidcSession, 'subject' | 'groups' | 'tokens'>,
  ): Promise<{ readonly endsMs: number; readonly header: string }> {
    const sent = { account, secret: newSecret() };
    const digest = this.digestOf(sent);
    const endsMs = await this.store.create(account, digest);
    if (!(await this.oidc?.add({ ...sent, ...user, digest }))) throw new Error('the session has ended');
    return { endsMs, header: this.cookie.set(sent) };
  }

  /**
   * The session of a request; null if it has none. An account that does not exist is looked up as well, so that the time
   * tells nothing about it.
   *
   * @param header its `Cookie`
   * @throws {QueueError} an error of the store
   */
  async find(header: string | undefined): Promise<Session | null> {
    const sent = this.cookie.read(header);
    if (sent === null) return null;
    const digest = this.digestOf(sent);
    const endsMs = await this.store.find(sent.account, digest);
    if (endsMs === null) return null;
    const actor = isOidcAccount(sent.account)
      ? await this.oidc?.actorOf({ ...sent, digest })
      : this.accounts.named(sent.account);
    return actor ? { actor, endsMs } : null;
  }

  /** Ends the session of a request. @returns its account, and the header that takes it from the browser */
  async end(
    header: string | undefined,
  ): Promise<{ readonly account: string | null; readonly header: string }> {
    const sent = this.cookie.read(header);
    const ended = sent === null ? 0 : await this.store.end(sent.account, this.digestOf(sent));
    return { account: ended === 0 || sent === null ? null : sent.account, header: this.cookie.clear() };
  }

  /** Ends all sessions of an account. @returns how many */
  async endAll(account: string): Promise<number> {
    return this.store.end(account);
  }

  /** How many sessions an account has. */
  async count(account: string): Promise<number> {
    return this.store.count(account);
  }

  private digestOf({ account, secret }: SessionSecret): string {
    const key = isOidcAccount(account) ? this.oidc?.key : this.accounts.keyOf(account);
    return digestOfSecret(secret, key ?? NO_KEY);
  }
}
