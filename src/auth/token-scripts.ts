import { script } from '../redis/script.js';

/** 0 or 1 as no or yes; anything else is a bug. */
function flag(raw: unknown): boolean {
  if (raw !== 0 && raw !== 1) throw new TypeError(`a script answered ${String(raw)} instead of 0 or 1`);
  return raw === 1;
}

/** What became of a limit. */
export type LimitOutcome = 'no_token' | 'set' | 'has_one';
const LIMIT_OUTCOMES: readonly LimitOutcome[] = ['no_token', 'set', 'has_one'];

/** True if the token was stored, false if it exists. */
export const tokenCreate = script({
  name: 'token_create',
  keys: ['token', 'index'],
  args: ['digest', 'pool', 'namespace', 'text', 'description'],
  item: [],
  repeatable: false,
  reply: flag,
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
  reply: (raw) => {
    const outcome = typeof raw === 'number' ? LIMIT_OUTCOMES[raw] : undefined;
    if (outcome === undefined) throw new TypeError(`limit_set answered ${String(raw)}`);
    return outcome;
  },
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
export const TOKEN_SCRIPTS = [tokenCreate, tokenDelete, limitSet, limitDelete, throttle, refund] as const;
