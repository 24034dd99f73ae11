import { createHmac, randomBytes } from 'node:crypto';
import { actorOfGroups, isOidcAccount, knownGroups, oidcAccount } from '../../auth/oidc-accounts.js';
import type { OidcStore } from '../../auth/oidc-store.js';
import type { SessionStore } from '../../auth/session-store.js';
import type { AdminConfig, OidcConfig } from '../../config/config.js';
import { readTextFile } from '../../config/text-files.js';
import type { Actor } from '../../domain/actor.js';
import type { Log } from '../../domain/log.js';
import { ATTEMPT_MS, type Attempt, AttemptCookie } from './attempt-cookie.js';
import { groupsIn, OidcSessions, type NewOidcSession } from './oidc-sessions.js';
import { OidcProvider } from './provider.js';

/** Where the provider sends browsers back, below `admin.public_url`. */
const CALLBACK = '/sign-in/oidc/callback';
const RANDOM_BYTES = 32;
/** What may stand behind the `#` of the console. */
const ROUTE = /^\/[\x21-\x7e]{0,1000}$/;
/** As long as the cookie of a session takes; no control character gets into logs and pages. */
const [MAX_NAME_BYTES, NAME] = [255, /^[^\p{C}]+$/u];

/** The sign-in is not possible. */
export class SignInRefused extends Error {
  /** @param account of the user, if the provider has named one */
  constructor(
    readonly why: 'not_begun' | 'used' | 'no_name' | 'no_group',
    readonly account: string | null = null,
  ) {
    super(`sign-in refused: ${why}`);
  }
}

/** A user who may sign in. */
export interface OidcUser extends Pick<NewOidcSession, 'account' | 'subject' | 'groups' | 'tokens'> {
  /** Page of the console to show. */
  readonly route: string;
}

/** Sign-in by OpenID Connect: with an issuer in the configuration. */
interface Configured {
  readonly provider: OidcProvider;
  readonly sessions: OidcSessions;
  readonly cookie: AttemptCookie;
}

/** Stores and log. */
interface OidcParts {
  readonly store: OidcStore;
  readonly sessions: SessionStore;
  readonly log: Log;
}

/** Sign-in to the admin port by OpenID Connect, and the accounts that come from there. */
export class Oidc {
  readonly config: OidcConfig;
  /** Where browsers reach the admin port. */
  private readonly publicUrl: string;
  private readonly configured: Configured | null;

  /** @throws {TextError} the file of the secret cannot be read */
  constructor(
    { oidc, public_url = '', tls_cert }: AdminConfig,
    private readonly parts: OidcParts,
  ) {
    this.config = oidc;
    this.publicUrl = public_url.replace(/\/+$/, '');
    if (oidc.issuer === undefined) {
      this.configured = null;
      return;
    }
    const secret = readTextFile(oidc.client_secret_file ?? '').trim();
    const provider = new OidcProvider(oidc, secret, this.publicUrl + CALLBACK);
    const isSecure = tls_cert !== undefined || public_url.startsWith('https:');
    this.configured = {
      provider,
      sessions: new OidcSessions({ config: oidc, provider, ...parts }),
      // The secret itself is sent to the provider: the signature has a key of its own.
      cookie: new AttemptCookie(isSecure, createHmac('sha256', secret).update('pumphouse sign-in').digest()),
    };
  }

  /** Null: there are none. */
  get sessions(): OidcSessions | null {
    return this.configured?.sessions ?? null;
  }

  /** The address of a page of the console. It cannot lead to another site: the route stands behind `#`. */
  pageOf(route: string): string {
    return `${this.publicUrl}/ui/#${route}`;
  }

  /** The header that takes the cookie of a sign-in from the browser. Null: there is no OpenID Connect. */
  clear(): string | null {
    return this.configured?.cookie.clear() ?? null;
  }

  /**
   * Begins a sign-in.
   *
   * @param route page of the console to show afterwards
   * @returns where the browser goes, and the header that binds the sign-in to it; null: there is no OpenID Connect
   * @throws {ProviderError}
   */
  async begin(route: string): Promise<{ readonly location: string; readonly header: string } | null> {
    if (this.configured === null) return null;
    const { provider, cookie } = this.configured;
    const [state, nonce, verifier] = [random(), random(), random()];
    const attempt: Attempt = {
      ...{ state, nonce, verifier, atMs: Date.now() },
      route: /* guard: route-is-behind-the-hash */ ROUTE.test(route) ? route : '/',
    };
    return { location: (await provider.address(attempt)).href, header: cookie.set(attempt) };
  }

  /**
   * Finishes a sign-in.
   *
   * @param query of the request, with its `?`
   * @param cookies of the request
   * @returns null: there is no OpenID Connect
   * @throws {SignInRefused}
   * @throws {ProviderError}
   * @throws {QueueError} an error of the store
   */
  async finish(query: string, cookies: string | undefined): Promise<OidcUser | null> {
    if (this.configured === null) return null;
    const { provider, cookie } = this.configured;
    const attempt = cookie.read(cookies);
    if (attempt === null) throw new SignInRefused('not_begun');
    const { tokens, user } = await provider.redeem(query, attempt);
    // Stored only now: a stranger has no code, and cannot fill the store.
    const isFirst = await this.parts.store.claim(`sign-in:${attempt.state}`, 2 * ATTEMPT_MS);
    // guard: sign-in-is-usable-once
    if (!isFirst) throw new SignInRefused('used');
    const account = this.accountOf(user.claims);
    const groups = knownGroups(this.config, groupsIn(user.claims, this.config));
    // guard: no-group-no-access
    if (groups.length === 0) throw new SignInRefused('no_group', account);
    return { account, subject: user.subject, groups, tokens, route: attempt.route };
  }

  /** Accounts with sessions, with what they may do. */
  async accounts(): Promise<Actor[]> {
    if (this.configured === null) return [];
    const names = await this.parts.store.accounts();
    const found = await Promise.all(names.map((name) => this.accountNamed(name)));
    return found.filter((actor) => actor !== undefined);
  }

  /** True if an account has signed in, and its sessions have not been ended. */
  async hasAccount(name: string): Promise<boolean> {
    return (
      this.configured !== null && isOidcAccount(name) && (await this.parts.store.ofAccount(name)) !== null
    );
  }

  private async accountNamed(name: string): Promise<Actor | undefined> {
    const checked = await this.parts.store.ofAccount(name);
    return checked === null ? undefined : actorOfGroups(name, this.config, checked.found.groups);
  }

  /** @throws {SignInRefused} the claim is missing, or cannot be a name */
  private accountOf(claims: Readonly<Record<string, unknown>>): string {
    const { account_claim: claim } = this.config;
    const name = claims[claim];
    // Users may be able to enter any address: then one could take the name of another user.
    const isProved = /* guard: email-is-verified */ claim !== 'email' || claims['email_verified'] === true;
    if (typeof name !== 'string' || !isProved || !NAME.test(name)) throw new SignInRefused('no_name');
    if (Buffer.byteLength(name) > MAX_NAME_BYTES) throw new SignInRefused('no_name');
    return oidcAccount(name);
  }
}

function random(): string {
  return randomBytes(RANDOM_BYTES).toString('base64url');
}
