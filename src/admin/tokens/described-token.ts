import type { TokenDetails } from '../../auth/token-record.js';
import { VERBS } from '../../domain/rights.js';
import type { LimiterDto } from '../dto.js';
import { toLimiterDto } from '../forms.js';

/** Facts of a token besides its text. Times are ISO 8601 in UTC; null = never. */
export interface DescribedToken {
  readonly description: string;
  readonly verbs: readonly string[];
  /** Queue patterns; `*` = every queue. */
  readonly queues: readonly string[];
  readonly made_at: string;
  readonly expires_at: string | null;
  /** Rounded to the minute. */
  readonly last_used_at: string | null;
  /** True if it was replaced by another token: it works until it expires. */
  readonly replaced: boolean;
  readonly limit: LimiterDto | null;
}

export function describedToken(details: TokenDetails): DescribedToken {
  const { description, rights, madeMs, expiresMs, usedMs, isReplaced, limit } = details;
  return {
    description,
    verbs: rights?.verbs ?? VERBS,
    queues: rights?.queues ?? ['*'],
    made_at: new Date(madeMs).toISOString(),
    expires_at: expiresMs === null ? null : new Date(expiresMs).toISOString(),
    last_used_at: usedMs === null ? null : new Date(usedMs).toISOString(),
    replaced: isReplaced,
    limit: limit && toLimiterDto(limit),
  };
}
