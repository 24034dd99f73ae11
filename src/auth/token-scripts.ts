import { script } from '../redis/scripts/script.js';

/** 0 or 1 as no or yes; anything else is a bug. */
function flag(raw: unknown): boolean {
  if (raw !== 0 && raw !== 1) throw new TypeError(`a script answered ${String(raw)} instead of 0 or 1`);
  return raw === 1;
}

/** The outcome that stands at the number which a script answered. */
function outcomeOf<T extends string>(name: string, outcomes: readonly T[], raw: unknown): T {
  const outcome = typeof raw === 'number' ? outcomes[raw] : undefined;
  if (outcome === undefined) throw new TypeError(`${name} answered ${String(raw)}`);
  return outcome;
}

/** What became of a limit. */
export type LimitOutcome = 'no_token' | 'set' | 'has_one';
const LIMIT_OUTCOMES: readonly LimitOutcome[] = ['no_token', 'set', 'has_one'];

/** What became of a new token. */
export type CreateOutcome = 'exists' | 'stored' | 'expired';
const CREATE_OUTCOMES: readonly CreateOutcome[] = ['exists', 'stored', 'expired'];

export const tokenCreate = script({
  name: 'token_create',
  keys: ['token', 'index'],
  args: [
    'digest',
    'pool',
    'namespace',
    'text',
    'description',
    'verbs',
    'queues',
    'lifetime_ms',
    'expires_ms',
  ],
  item: [],
  repeatable: false,
  reply: (raw) => outcomeOf('token_create', CREATE_OUTCOMES, raw),
});

/** What became of a rotation. */
export type RotateOutcome = 'no_token' | 'done' | 'exists' | 'expired';
const ROTATE_OUTCOMES: readonly RotateOutcome[] = ['no_token', 'done', 'exists', 'expired'];

export const tokenRotate = script({
  name: 'token_rotate',
  keys: ['token', 'successor', 'index', 'limited', 'read_window', 'write_window'],
  args: ['digest', 'new_digest', 'text', 'grace_ms', 'lifetime_ms', 'expires_ms'],
  item: [],
  repeatable: false,
  reply: (raw) => outcomeOf('token_rotate', ROTATE_OUTCOMES, raw),
});

/** True if the digest was listed. */
export const tokenPrune = script({
  name: 'token_prune',
  keys: ['token', 'index', 'limited'],
  args: ['digest'],
  item: [],
  repeatable: true,
  reply: flag,
});

/** How many tokens the use was written of. */
export const tokenUsed = script({
  name: 'token_used',
  keys: ['limited'],
  args: ['pause_ms'],
  item: ['digest'],
  repeatable: true,
  reply: (raw) => {
    if (typeof raw !== 'number') throw new TypeError('token_used answered no integer');
    return raw;
  },
});

/** True if there was such a token. */
export const tokenDelete = script({
  name: 'token_delete',
  keys: ['token', 'index', 'limited', 'read_window', 'write_window'],
  args: ['digest'],
  item: [],
  repeatable: true,
  reply: flag,
});

export const limitSet = script({
  name: 'limit_set',
  keys: ['token', 'limited', 'read_window', 'write_window'],
  args: ['digest', 'read', 'write', 'interval_s', 'only_new'],
  item: [],
  repeatable: false,
  reply: (raw) => outcomeOf('limit_set', LIMIT_OUTCOMES, raw),
});

/** True if the token had a limit. */
export const limitDelete = script({
  name: 'limit_delete',
  keys: ['token', 'limited', 'read_window', 'write_window'],
  args: ['digest'],
  item: [],
  repeatable: true,
  reply: flag,
});

/** The start of the window that counted the request, Unix ms; 0 = the window is used up. */
export const throttle = script({
  name: 'throttle',
  keys: ['window'],
  args: ['limit', 'interval_ms'],
  item: [],
  // Sent twice it would count twice.
  repeatable: false,
  reply: (raw) => {
    if (typeof raw !== 'number') throw new TypeError('throttle answered no integer');
    return raw;
  },
});

/** True if the request was given back. */
export const refund = script({
  name: 'refund',
  keys: ['window'],
  args: ['started'],
  item: [],
  // Sent twice it would give back twice.
  repeatable: false,
  reply: flag,
});

/** Every script of the token store: held against its header by a test. */
export const TOKEN_SCRIPTS = [
  tokenCreate,
  tokenDelete,
  tokenRotate,
  tokenPrune,
  tokenUsed,
  limitSet,
  limitDelete,
  throttle,
  refund,
] as const;
