import { answer } from './answer.js';
import type { RequestContext } from '../request/request-context.js';
import { jsonOfTexts } from '../json/json-text.js';

/** Sends a value as JSON and ends the request context. @param headers further names and values, alternating */
export function reply(
  context: RequestContext,
  status: number,
  value: object,
  headers: readonly string[] = [],
): void {
  answer(context, status, jsonOfTexts(value), { headers });
}

/** A point in time in the format of the native API: ISO 8601, UTC, with milliseconds. @param unixMs below 8.64e15 */
export function isoTime(unixMs: number): string {
  return new Date(unixMs).toISOString();
}

/** Like `isoTime`, for an optional time. */
export function isoTimeOrNull(unixMs: number | null): string | null {
  return unixMs === null ? null : isoTime(unixMs);
}

/** `isoTimeOrNull` as JSON text. */
export function timeJson(unixMs: number | null): string {
  return unixMs === null ? 'null' : `"${isoTime(unixMs)}"`;
}
