import { gunzipSync } from 'node:zlib';
import { MAX_PERIOD_MS } from '../domain/limits.js';
import type { PushAnswer } from '../push/send/sender.js';
import { GoInteger, hasTwice, readStruct } from './go-json.js';

/** Codes in the answer of a callback. */
const DONE = 100n;
const TOO_MANY = 101n;
/** Delay after the first failure, in milliseconds; doubled with each further one. */
const FIRST_DELAY_MS = 10_000;
/** Longest delay after code 101, in milliseconds. */
const LONGEST_RELEASE_MS = 3_600_000;
/** Bytes of an answer that are read, and that a compressed one may have unpacked. */
export const MAX_ANSWER_BYTES = 65_536;
/** Bytes of an answer that are kept with the failure. */
const SHOWN_BYTES = 1_024;

/** The body of the answer of a callback. */
class CodeFields {
  @GoInteger('100: the job is done. 101: too many at once. Else it has failed.') code!: bigint;
}

/** What an answer says about the job. */
export type Reply = 'done' | 'throttled' | 'failed';

/** Reads the answer of a callback. Only `code` in its body counts, whatever its status. */
export function replyOf(answer: PushAnswer): Reply {
  const body = bodyOf(answer);
  const code = body && readStruct(body, CodeFields)?.code;
  if (code === DONE) return 'done';
  // Codes that contradict each other are a mistake of the target: not a reason to give it more tries.
  return code === TOO_MANY && !hasTwice(body ?? answer.body, 'code') ? 'throttled' : 'failed';
}

/** The failure of an answer, for people. */
export function failureText({ status, body }: PushAnswer): string {
  const shown = body.subarray(0, SHOWN_BYTES).toString();
  return `HTTP ${String(status)} without code 100${shown === '' ? '' : `: ${shown}`}`;
}

/** Delay before the next attempt, after `failures` failures (from 1), in milliseconds. */
export function retryDelayMs(failures: number): number {
  return Math.min(FIRST_DELAY_MS * 2 ** (failures - 1), MAX_PERIOD_MS);
}

/** Delay after the answer 101, which an attempt got `releases` times before, in milliseconds. */
export function releaseDelayMs(releases: number): number {
  return Math.min(FIRST_DELAY_MS * 2 ** releases, LONGEST_RELEASE_MS);
}

/** @returns null if not all of it came, or it cannot be unpacked */
function bodyOf({ body, headers, isWhole }: PushAnswer): Buffer | null {
  if (!isWhole) return null;
  if (headers.get('content-encoding')?.trim().toLowerCase() !== 'gzip') return body;
  try {
    return gunzipSync(body, { maxOutputLength: MAX_ANSWER_BYTES });
  } catch {
    return null;
  }
}
