import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { actorOfGroups, knownGroups, MAX_CHECK_AGE_MS } from '../../auth/oidc-accounts.js';
import type { Checked, CheckedSession, OidcStore } from '../../auth/oidc-store.js';
import type { SessionStore } from '../../auth/session-store.js';
import type { OidcConfig } from '../../config/config.js';
import type { Actor } from '../../domain/actor.js';
import type { Log } from '../../domain/log.js';
import { type OidcProvider, ProviderError } from './provider.js';
import { openTokens, type ProviderTokens, sealTokens } from './sealed-tokens.js';

/** How long the groups of a session count before the provider is asked again, in milliseconds. */
const FRESH_MS = 300_000;
/** Pause after a check that the provider did not answer, in milliseconds; and how long one server has the check. */
const RETRY_MS = 30_000;
/** How long a server waits for the check of another one: longer than two requests to the provider take. */
const [OTHER_MS, LOOK_MS] = [12_000, 200];
/** Sessions whose provider is away. */
const MAX_AWAY = 1_000;

/** A session of an account of OpenID Connect. */
export interface OidcSession {
  readonly account: string;
  readonly secret: string;
  readonly digest: string;
}

/** What a user has brought at the sign-in. */
export interface NewOidcSession extends OidcSession {
  readonly subject: string;
  readonly groups: readonly string[];
  readonly tokens: ProviderTokens;
}

/** Dependencies of the sessions. */
export interface OidcSessionParts {
  readonly config: OidcConfig;
  readonly provider: Pick<OidcProvider, 'refresh'>;
  readonly store: OidcStore;
  readonly sessions: SessionStore;
  readonly log: Log;
}

/** Sessions of accounts of OpenID Connect: what their users may do, by groups that the provider confirms again and again. */
export class OidcSessions {
  /** Takes the place of a password: sessions of another provider or client are not valid here. */
  readonly key: Buffer;
  /** Checks under way, by digest. */
  private readonly checks = new Map<string, Promise<readonly string[] | null>>();
  /** Digest → when the provider is asked again, because it was away. */
  private readonly away = new Map<string, number>();

  constructor(private readonly parts: OidcSessionParts) {
    const { issuer, client_id } = parts.config;
    this.key = createHash('sha256')
      .update(JSON.stringify([issuer, client_id]))
      .digest();
  }

  /** Stores what the provider has said at the sign-in. @returns false if the session has ended meanwhile */
  async add({ account, secret, digest, subject, groups, tokens }: NewOidcSession): Promise<boolean> {
    const sealed = sealTokens(tokens, secret);
    return this.parts.store.record({ account, digest, subject, groups, sealed, ageMs: 0 });
  }

  /** What the user of a session may do now; null if nothing, or if that is not known any more. */
  async actorOf(session: OidcSession): Promise<Actor | null> {
    const { account, digest } = session;
    const checked = await this.parts.store.ofSession(account, digest);
    if (checked === null) return null;
    const groups = isFresh(checked) ? checked.found.groups : await this.check(session, checked);
    return (groups && actorOfGroups(account, this.parts.config, groups)) ?? null;
  }

  /** Ends a session, or all of the account. */
  private async end(account: string, reason: string, digest?: string): Promise<null> {
    this.parts.log.info({ audit: 'oidc.ended', account, reason }, 'audit');
    await this.parts.sessions.end(account, digest);
    return null;
  }

  /** A page sends several requests at once: they share a check. */
  private async check(
    session: OidcSession,
    checked: Checked<CheckedSession>,
  ): Promise<readonly string[] | null> {
    const { digest } = session;
    const running = this.checks.get(digest);
    if (running !== undefined) return running;
    const check = this.checkOnce(session, checked).finally(() => this.checks.delete(digest));
    this.checks.set(digest, check);
    return check;
  }

  /** A refresh token may be usable once: of several servers one asks the provider. */
  private async checkOnce(
    session: OidcSession,
    checked: Checked<CheckedSession>,
  ): Promise<readonly string[] | null> {
    const { digest } = session;
    if ((this.away.get(digest) ?? 0) > performance.now()) return lastKnown(checked);
    this.away.delete(digest);
    return (await this.parts.store.claim(`check:${digest}`, RETRY_MS))
      ? this.checkAtProvider(session, checked)
      : this.waitForOther(session);
  }

  private async waitForOther({ account, digest }: OidcSession): Promise<readonly string[] | null> {
    const untilMs = performance.now() + OTHER_MS;
    for (;;) {
      const checked = await this.parts.store.ofSession(account, digest);
      if (checked === null) return null;
      if (isFresh(checked)) return checked.found.groups;
      if (performance.now() > untilMs) return this.goOn(digest, checked);
      await sleep(LOOK_MS);
    }
  }

  private async checkAtProvider(
    session: OidcSession,
    checked: Checked<CheckedSession>,
  ): Promise<readonly string[] | null> {
    const { account, secret, digest } = session;
    const { config, provider, store, log } = this.parts;
    const { subject, groups, sealed } = checked.found;
    try {
      const { tokens, claims } = await provider.refresh(openTokens(sealed, secret), subject);
      const now = claims === null ? groups : knownGroups(config, groupsIn(claims, config));
      // guard: lost-group-ends-all-sessions
      if (now.length === 0) return await this.end(account, 'no_group');
      const ageMs = claims === null ? Math.max(checked.ageMs, 0) : 0;
      const isThere = await store.record({
        ...{ account, digest, subject, groups: now, ageMs },
        sealed: sealTokens(tokens, secret),
      });
      if (!isThere) return null;
      return claims === null ? this.goOn(digest, checked) : now;
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      const { isAway, reason } = error;
      if (!isAway) return this.end(account, reason, digest);
      log.warn({ oidc: 'away', account, reason }, 'the groups of a session could not be checked');
      return this.goOn(digest, checked);
    }
  }

  private goOn(digest: string, checked: Checked<CheckedSession>): readonly string[] | null {
    if (this.away.size >= MAX_AWAY) this.away.clear();
    this.away.set(digest, performance.now() + RETRY_MS);
    return lastKnown(checked);
  }
}

/** The groups that a claim names: a list of texts, or one text. */
export function groupsIn(claims: Readonly<Record<string, unknown>>, config: OidcConfig): string[] {
  const named = claims[config.groups_claim];
  return [named].flat().filter((one) => typeof one === 'string');
}

/** A time ahead of the clock is not trusted: the clock of Redis was set back, or its data were restored. */
function isFresh({ ageMs }: Checked<CheckedSession>): boolean {
  return ageMs >= 0 && /* guard: groups-are-checked-again */ ageMs < FRESH_MS;
}

/** While the provider is away, a session goes on for a time. */
function lastKnown({ ageMs, found }: Checked<CheckedSession>): readonly string[] | null {
  return /* guard: unchecked-session-is-bounded */ Math.abs(ageMs) <= MAX_CHECK_AGE_MS ? found.groups : null;
}
