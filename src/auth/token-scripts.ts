import { script } from '../redis/scripts/script.js';

/** Decodes 0 or 1 as a boolean; other values are a bug. */
function flag(raw: unknown): boolean {
  if (raw !== 0 && raw !== 1) throw new TypeError(`the reply is ${String(raw)}, not 0 or 1`);
  return raw === 1;
}

/** Decodes an integer. */
function whole(raw: unknown): number {
  if (typeof raw !== 'number') throw new TypeError('the reply is no integer');
  return raw;
}

/** Decodes a number as an index of the outcomes. */
function outcomeOf<T extends string>(outcomes: readonly T[], raw: unknown): T {
  const outcome = typeof raw === 'number' ? outcomes[raw] : undefined;
  if (outcome === undefined) throw new TypeError(`the reply has no outcome: ${String(raw)}`);
  return outcome;
}

/** Result of setting a limit. */
export type LimitOutcome = 'no_token' | 'set' | 'has_one';
const LIMIT_OUTCOMES: readonly LimitOutcome[] = ['no_token', 'set', 'has_one'];

/** Result of creating a token. */
export type CreateOutcome = 'exists' | 'stored' | 'expired';
const CREATE_OUTCOMES: readonly CreateOutcome[] = ['exists', 'stored', 'expired'];

export const tokenCreate = script('tokens/create', {
  repeatable: false,
  reply: (raw) => outcomeOf(CREATE_OUTCOMES, raw),
});

/** Result of a rotation. */
export type RotateOutcome = 'no_token' | 'done' | 'exists' | 'expired';
const ROTATE_OUTCOMES: readonly RotateOutcome[] = ['no_token', 'done', 'exists', 'expired'];

export const tokenRotate = script('tokens/rotate', {
  repeatable: false,
  reply: (raw) => outcomeOf(ROTATE_OUTCOMES, raw),
});

/** True if the digest was listed. */
export const tokenPrune = script('tokens/prune', { repeatable: true, reply: flag });

/** For how many tokens the use was written. */
export const tokenUsed = script('tokens/record_use', {
  repeatable: true,
  reply: whole,
});

/** True if there was such a token. */
export const tokenDelete = script('tokens/delete', { repeatable: true, reply: flag });

export const limitSet = script('tokens/set_limit', {
  repeatable: false,
  reply: (raw) => outcomeOf(LIMIT_OUTCOMES, raw),
});

/** True if the token had a limit. */
export const limitDelete = script('tokens/delete_limit', { repeatable: true, reply: flag });

/** How often quotas have changed. */
export const quotasSet = script('tokens/set_quotas', {
  // Sending it twice would undo a change in between.
  repeatable: false,
  reply: Number,
});

/** The member as it is stored; empty if the one to complete is gone. */
export const auditRecord = script('tokens/record_audit', {
  // Sending it twice would store two entries.
  repeatable: false,
  reply: String,
});

/** When the session ends, Unix ms. */
export const sessionCreate = script('tokens/create_session', { repeatable: true, reply: whole });

/** When the session ends, Unix ms; 0 = there is none. */
export const sessionFind = script('tokens/find_session', { repeatable: true, reply: whole });

/** How many sessions have ended. */
export const sessionsEnd = script('tokens/end_sessions', { repeatable: true, reply: whole });

/** The last check of a session. */
export interface FoundCheck {
  /** How long ago the provider has confirmed the groups. */
  readonly ageMs: number;
  /** As it was stored. */
  readonly value: string;
}

/** Null: there is none. */
export const oidcFind = script('tokens/find_oidc', {
  repeatable: true,
  reply: (raw): FoundCheck | null => {
    const [ageMs, value] = raw as [number?, string?];
    return ageMs === undefined || value === undefined ? null : { ageMs, value };
  },
});

/** False: the session has ended meanwhile. */
export const oidcRecord = script('tokens/record_oidc', { repeatable: true, reply: flag });

/** True if it was not claimed. */
export const claim = script('tokens/claim', {
  // Sending it twice would find the own claim.
  repeatable: false,
  reply: flag,
});

/** Start of the window that counted the request, Unix ms; below 0 = it is used up, and ends in so many milliseconds. */
export const throttle = script('tokens/count_request', {
  // Sending it twice would count twice.
  repeatable: false,
  reply: whole,
});

/** True if the request was refunded. */
export const refund = script('tokens/uncount_request', {
  // Sending it twice would refund twice.
  repeatable: false,
  reply: flag,
});

/** All scripts of the token store: a test compares them with their headers. */
export const TOKEN_SCRIPTS = [
  tokenCreate,
  tokenDelete,
  tokenRotate,
  tokenPrune,
  tokenUsed,
  limitSet,
  limitDelete,
  quotasSet,
  auditRecord,
  sessionCreate,
  sessionFind,
  sessionsEnd,
  oidcFind,
  oidcRecord,
  claim,
  throttle,
  refund,
] as const;
