/** Whether a window counts consume or publish requests. */
export type ThrottleKind = 'read' | 'write';

/**
 * Spells the keys of the token store. All carry one hash tag, so that a script may change a token and its indexes at once. What
 * stands before the tag keeps them apart from the keys of a namespace that is called `tokens`.
 *
 * Names of pools and namespaces hold no slash, so the index of one namespace is never that of another.
 */
export class TokenKeys {
  private readonly base: string;

  /** `prefix` stands before every key; empty by default. */
  constructor(prefix: string) {
    this.base = `${prefix}pumphouse-auth:{tokens}:`;
  }

  /** Hash: pool, namespace, token, description; with a limit also read, write, interval (seconds). */
  token(digest: string): string {
    return `${this.base}t:${digest}`;
  }

  /** Zset: the digests of a namespace's tokens by time of making, Unix µs. */
  index(pool: string, namespace: string): string {
    return `${this.base}ns:${pool}/${namespace}`;
  }

  /** Set: the digests of all tokens that have a limit. */
  get limited(): string {
    return `${this.base}limited`;
  }

  /** Hash: the window that is open now, if one is. */
  window(digest: string, kind: ThrottleKind): string {
    return `${this.base}w:${digest}:${kind}`;
  }
}
