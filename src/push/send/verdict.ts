import type { PushAnswer } from './sender.js';
import type { SendError } from './send-error.js';
import type { Action } from '../../contract/targets.js';
import type { Target } from '../../engine/queues/stored-targets.js';

/** What becomes of a job after a request. */
export interface Verdict {
  /** `keep`: the target acknowledges it later; its lease goes on. */
  readonly action: Action | 'keep';
  /** For the record of the failure; empty with `ack`. */
  readonly group: string;
  readonly message: string;
  /** Before the next attempt, in milliseconds; undefined = by the retry policy of the job. */
  readonly delayMs?: number;
  /** The target is to be paused: it says that it is gone. */
  readonly isGone: boolean;
  /** Whether the target counts as working, for its breaker; null = neither. */
  readonly isHealthy: boolean | null;
}

const ACCEPTED = 202;
const TOO_MANY = 429;
const GONE = 410;
const UNAVAILABLE = 503;
/** Client errors that are about the moment, not about the request. */
const TIMEOUT = 408;
/** How often answers can release a job; from then on each costs a try. */
const MOST_RELEASES = 100;
/** The delay of a release without `Retry-After`: doubled from the first with each release, up to the second. */
const FIRST_DELAY_MS = 1_000;
const LAST_DELAY_MS = 60_000;
/** Bytes of the answer that are kept with the failure. */
const SHOWN_BYTES = 1_024;

/** @param releases how often answers have released the job before */
export function verdictOfAnswer(
  { status, headers, body }: PushAnswer,
  target: Pick<Target, 'onStatus' | 'maxRetryAfterMs' | 'ack'>,
  releases: number,
  nowMs: number,
): Verdict {
  const retryAfterMs = retryAfterOf(headers.get('retry-after'), nowMs, target.maxRetryAfterMs);
  const chosen = target.onStatus[String(status)] ?? target.onStatus[`${String(status)[0] ?? ''}xx`];
  // guard: accepted-keeps-lease
  if (status === ACCEPTED && chosen === undefined && target.ack === 'later') {
    return { action: 'keep', group: '', message: '', isGone: false, isHealthy: true };
  }
  const action = chosen ?? usualAction(status, retryAfterMs !== null);
  const shown = body.subarray(0, SHOWN_BYTES).toString();
  const verdict: Verdict = {
    action,
    group: action === 'ack' ? '' : `http_${String(status)}`,
    message: action === 'ack' ? '' : `HTTP ${String(status)}${shown === '' ? '' : `: ${shown}`}`,
    isGone: status === GONE && chosen === undefined,
    isHealthy: status === TOO_MANY ? null : status < 500 && status !== TIMEOUT,
  };
  // The target knows best that another attempt is useless.
  if (action !== 'ack' && headers.get('pumphouse-retry')?.trim().toLowerCase() === 'no') {
    return { ...verdict, action: 'fail' };
  }
  if (action !== 'release') return verdict;
  if (releases >= MOST_RELEASES) return { ...verdict, action: 'retry' };
  const usualMs = Math.min(FIRST_DELAY_MS * 2 ** Math.min(releases, 10), LAST_DELAY_MS);
  return { ...verdict, delayMs: Math.max(usualMs, retryAfterMs ?? 0) };
}

/** A request without an answer: the group is the kind of the problem. */
export function verdictOfError({ problem, message }: SendError): Verdict {
  if (problem === 'aborted') {
    return { action: 'release', group: problem, message, delayMs: 0, isGone: false, isHealthy: null };
  }
  return { action: 'retry', group: problem, message, isGone: false, isHealthy: false };
}

function usualAction(status: number, hasRetryAfter: boolean): Action {
  if (status >= 200 && status < /* guard: redirect-is-a-failure */ 300) return 'ack';
  if (status === TOO_MANY || (status === UNAVAILABLE && hasRetryAfter)) return 'release';
  return status === GONE ? 'fail' : 'retry';
}

/**
 * Reads `Retry-After`: seconds, or a date of HTTP.
 *
 * @returns milliseconds from now, 0 for a date in the past, `maxMs` at most; null if there is none, or it cannot be read
 */
export function retryAfterOf(text: string | undefined, nowMs: number, maxMs: number): number | null {
  if (text === undefined) return null;
  const trimmed = text.trim();
  const ms = /^\d+$/.test(trimmed) ? Number(trimmed) * 1_000 : dateOf(trimmed) - nowMs;
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), maxMs);
}

/**
 * Only what looks like a date of HTTP: `Date.parse` also reads "1.5" and "next 2". The form of C's `asctime` names no zone:
 * all of them are in GMT.
 */
function dateOf(text: string): number {
  if (!/^[A-Za-z]{3,9},? .*\d\d:\d\d:\d\d/.test(text)) return Number.NaN;
  // guard: date-of-http-is-in-gmt
  const zone = /[A-Za-z]|[+-]\d{4}/.test(text.replace(/^.*\d\d:\d\d:\d\d/, '')) ? '' : ' GMT';
  return Date.parse(text + zone);
}
