import { attemptsIn, flagsIn, leaseIn } from '../../redis/scripts/header.js';
import { mintedAtMs } from './ids.js';

/** Meaning of the flags of a header: the same as in lua/modules/core/header.lua. */
const [TIMED, FIRST_TIME_FLAG] = [4, 8];
const [LOW, HIGH, BACK_MS] = [2 ** 31, 2 ** 35, 86_400_000];

/** True if the lease number of a job is counted from its publish time. */
export function hasPublishTime(header: Buffer): boolean {
  return (flagsIn(header) & TIMED) !== 0;
}

/**
 * When a job was published, read from its id or its header, Unix ms; 0 = unknown. For a job with a given id the header
 * counts modulo 397 days: an older job seems younger by that much.
 */
export function publishedAtMs(id: Buffer, header: Buffer, nowMs: number): number {
  const flags = flagsIn(header);
  // guard: old-jobs-have-no-publish-time
  if (!hasPublishTime(header)) return mintedAtMs(id);
  const high = Math.floor(flags / FIRST_TIME_FLAG) % 16;
  const startMs = high * LOW + leaseIn(header) - attemptsIn(header);
  const ageMs = (((nowMs - startMs) % HIGH) + HIGH) % HIGH;
  // The clock was set back.
  return ageMs > /* guard: publish-time-is-not-ahead */ HIGH - BACK_MS ? nowMs : nowMs - ageMs;
}

/** Milliseconds since a publish; 0 if its time is unknown (0). */
export function elapsedSince(publishedMs: number, nowMs: number): number {
  return publishedMs === 0 ? 0 : Math.max(nowMs - publishedMs, 0);
}

/** A time of the store, where 0 means none. */
export function timeOrNull(ms: number): number | null {
  return ms === 0 ? null : ms;
}
