/** Whether a window counts consume or publish requests. */
export type ThrottleKind = 'read' | 'write';

/**
 * Builds the keys of the token store. All have one hash tag, so that a script may change a token and its indexes
 * atomically. The prefix before the tag distinguishes them from the keys of a namespace named `tokens`.
 *
 * Names of pools and namespaces contain no slash, so indexes of different namespaces have different keys.
 */
export class TokenKeys {
  private readonly base: string;

  /** `prefix` precedes every key; empty by default. */
  constructor(prefix: string) {
    this.base = `${prefix}pumphouse-auth:{tokens}:`;
  }

  /** Hash: pool, namespace, token, description; with a limit also read, write, interval (seconds). */
  token(digest: string): string {
    return `${this.base}t:${digest}`;
  }

  /** Zset: the digests of a namespace's tokens by time of creation, Unix µs. */
  index(pool: string, namespace: string): string {
    return `${this.base}ns:${pool}/${namespace}`;
  }

  /** Pattern of the keys of all indexes. */
  get indexes(): string {
    return `${this.base}ns:*`;
  }

  /** Set: the digests of all tokens that have a limit. */
  get limited(): string {
    return `${this.base}limited`;
  }

  /** Hash: quotas of namespaces that have their own, `<pool>/<namespace>/<quota>` → value; `v` → how often they have changed. */
  get quotas(): string {
    return `${this.base}quotas`;
  }

  /** Zset: the audit log, "<number> <JSON>" → number (Unix µs). */
  get audit(): string {
    return `${this.base}audit`;
  }

  /** Zset: digests of the sessions of an account of the admin port → when they end, Unix ms. */
  sessions(account: string): string {
    return `${this.base}sessions:${account}`;
  }

  /** Hash: what OpenID Connect knows of the sessions of an account, and of the account itself. */
  checked(account: string): string {
    return `${this.base}oidc:${account}`;
  }

  /** Zset: accounts that signed in by OpenID Connect → when their last session ends, Unix ms. */
  get oidcAccounts(): string {
    return `${this.base}oidc-accounts`;
  }

  /** String: there while something is claimed. */
  claim(of: string): string {
    return `${this.base}claim:${of}`;
  }

  /** Hash: the current window, if there is one. */
  window(digest: string, kind: ThrottleKind): string {
    return `${this.base}w:${digest}:${kind}`;
  }
}
