import { script } from '../redis/scripts/script.js';

/** Decodes 0 or 1 as a boolean; other values are a bug. */
function flag(raw: unknown): boolean {
  if (raw !== 0 && raw !== 1) throw new TypeError(`the reply is ${String(raw)}, not 0 or 1`);
  return raw === 1;
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
  reply: (raw) => {
    if (typeof raw !== 'number') throw new TypeError('the reply is no integer');
    return raw;
  },
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

/** Start of the window that counted the request, Unix ms; 0 = the window is used up. */
export const throttle = script('tokens/count_request', {
  // Sending it twice would count twice.
  repeatable: false,
  reply: (raw) => {
    if (typeof raw !== 'number') throw new TypeError('the reply is no integer');
    return raw;
  },
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
  throttle,
  refund,
] as const;
