import { type Expiry, NO_EXPIRY } from '../../auth/token-store.js';
import { QueueError } from '../../domain/errors.js';
import { MAX_NAME_LENGTH } from '../../domain/limits.js';
import { momentFault, momentOf } from '../../domain/moment.js';
import { type Rights, type Verb, VERBS } from '../../domain/rights.js';

/** Patterns per token; each one is matched against the queues of every request. */
const MAX_PATTERNS = 32;
const PATTERN = /^[-_*A-Za-z0-9]+$/;
const DURATION = /^(\d{1,9})(s|m|h|d)$/;
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** It begins at 0:00 UTC. */
const DATE = /^\d{4}-\d\d-\d\d$/;
const BEGINS_LIKE_A_DATE = /^\d{4}-/;
/** Longest duration, in milliseconds: ten years. */
const LONGEST_MS = 3_650 * 86_400_000;

const DURATION_RULE = 'a whole number with s, m, h or d, such as 90s or 30d, at most 3650d';

/**
 * Reads the rights of a token.
 *
 * @param verbs separated by commas; left out = all
 * @param queues queue patterns, separated by commas; left out = all
 * @returns null: everything is allowed
 * @throws {QueueError} `invalid_argument`, naming the field and its rule
 */
export function readRights(verbs: string | undefined, queues: string | undefined): Rights | null {
  const named = verbs === undefined ? [...VERBS] : verbsOf(verbs);
  const patterns = queues === undefined ? null : patternsOf(queues);
  if (patterns === null && named.length === VERBS.length) return null;
  return { verbs: named, queues: patterns };
}

/**
 * Reads when a token expires.
 *
 * @param text a duration from now, or a date with or without a time; left out = never
 * @throws {QueueError} `invalid_argument`
 */
export function readExpiry(text: string | undefined): Expiry {
  if (text === undefined) return NO_EXPIRY;
  const lifetimeMs = durationOf(text);
  if (lifetimeMs !== null && lifetimeMs > 0) return { lifetimeMs, atMs: 0 };
  const instant = DATE.test(text) ? `${text}T00:00:00Z` : text;
  const atMs = momentOf(instant);
  // Redis decides by its own clock whether this is in the future.
  if (atMs > 0) return { lifetimeMs: 0, atMs };
  const example = 'a date such as 2030-01-31 or 2030-01-31T12:00:00Z';
  const fault = BEGINS_LIKE_A_DATE.test(text) ? momentFault(instant) : '';
  throw invalid(`expires must be ${DURATION_RULE}, or ${example}${fault}`);
}

/**
 * Reads how long a replaced token stays valid, in milliseconds.
 *
 * @param text a duration; left out = 0
 * @throws {QueueError} `invalid_argument`
 */
export function readGraceMs(text: string | undefined): number {
  const graceMs = text === undefined ? 0 : durationOf(text);
  if (graceMs === null) throw invalid(`grace must be ${DURATION_RULE}`);
  return graceMs;
}

/** In milliseconds; null if it is not a duration. */
function durationOf(text: string): number | null {
  const [, count, unit = ''] = DURATION.exec(text) ?? [];
  const ms = count === undefined ? Number.NaN : Number(count) * (UNIT_MS[unit] ?? Number.NaN);
  return ms <= LONGEST_MS ? ms : null;
}

function verbsOf(text: string): Verb[] {
  const verbs = text.split(',');
  const known = VERBS.filter((verb) => verbs.includes(verb));
  if (verbs.every((verb) => VERBS.some((one) => one === verb))) return known;
  throw invalid(`verbs must be one or more of ${VERBS.join(', ')}, separated by commas`);
}

/** Null if one of the patterns matches every name. */
function patternsOf(text: string): string[] | null {
  const patterns = [...new Set(text.split(','))];
  const isRight = patterns.every((pattern) => PATTERN.test(pattern) && pattern.length <= MAX_NAME_LENGTH);
  if (!isRight || patterns.length > MAX_PATTERNS) {
    throw invalid(
      `queues must be 1 to ${String(MAX_PATTERNS)} names, separated by commas: letters, digits, -, _ and * for any characters, ` +
        `each at most ${String(MAX_NAME_LENGTH)} long`,
    );
  }
  return patterns.some((pattern) => /^\*+$/.test(pattern)) ? null : patterns;
}

function invalid(message: string): QueueError {
  return new QueueError('invalid_argument', message);
}
