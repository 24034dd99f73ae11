import { QueueError, RateLimitedError } from '../domain/errors.js';
import type { HttpMetrics } from '../metrics/http-metrics.js';
import type { Limit } from '../domain/caller.js';
import { tokenHint } from './credentials.js';
import type { ThrottleKind } from './token-keys.js';
import type { TokenStore } from './token-store.js';

/** A counted request: what a refund needs. */
export interface CountedRequest {
  readonly digest: string;
  readonly kind: ThrottleKind;
  /** The window's start, Unix ms. */
  readonly started: number;
}

/** lmstfy's names of the limited operations. */
const VERB_OF: Record<ThrottleKind, 'consume' | 'produce'> = { read: 'consume', write: 'produce' };

/** What the native API answers beyond a limit. */
function rateDetail(kind: ThrottleKind, allowed: number, { intervalS }: Limit): string {
  const requests = kind === 'read' ? 'requests that lease' : 'requests that publish or change';
  const rate = `${String(allowed)} ${requests} in ${String(intervalS)} s`;
  return `the token has used up its limit of ${rate}: repeat the request after Retry-After, in the next interval`;
}

/** The token of a counted request, and its pool and namespace. */
export interface CountedToken {
  readonly digest: string;
  readonly text: string;
  readonly pool: string;
  readonly namespace: string;
}

/** Requests per window; 0 = no limit. */
export function allowedBy(limit: Limit | null, kind: ThrottleKind): number {
  return limit === null ? 0 : Math.max(0, limit[kind]);
}

/** Counts requests against the limits of tokens: fixed windows, exact over all servers. */
export class Throttle {
  /** @param metrics counts rejections */
  constructor(
    private readonly store: TokenStore,
    private readonly metrics?: Pick<HttpMetrics, 'rateLimited'>,
  ) {}

  /**
   * Counts a request. Nothing is counted for a token without a limit of this kind.
   *
   * A full Redis cannot count, so the request is admitted: it must be possible to drain it.
   *
   * @throws {QueueError} `rate_limited`: the window is used up; `pool_unavailable`
   */
  async count(token: CountedToken, kind: ThrottleKind, limit: Limit): Promise<CountedRequest | null> {
    const allowed = allowedBy(limit, kind);
    if (allowed === 0) return null;
    const started = await this.store
      .count(token.digest, kind, allowed, limit.intervalS)
      .catch((error: unknown) => {
        if (error instanceof QueueError && error.code === 'store_full') return null;
        throw error;
      });
    if (started === null) return null;
    if (started > 0) return { digest: token.digest, kind, started };
    this.metrics?.rateLimited(token, token.text, VERB_OF[kind]);
    throw new RateLimitedError(
      `token(${tokenHint(token.text)}) ${VERB_OF[kind]} reach the limit rate, please retry later`,
      rateDetail(kind, allowed, limit),
      -started,
    );
  }

  /** Refunds a request that was not served. Never fails: at worst the window stays one request shorter. */
  async refund({ digest, kind, started }: CountedRequest): Promise<void> {
    await this.store.refund(digest, kind, started).catch(() => undefined);
  }
}
