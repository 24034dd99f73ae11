import { answer } from './answer.js';
import type { Exchange } from './exchange.js';
import { jsonOfTexts } from './json-text.js';

/** Sends a value as JSON and is done with the request. @param headers further names and values in turn */
export function reply(
  exchange: Exchange,
  status: number,
  value: object,
  headers: readonly string[] = [],
): void {
  answer(exchange, status, jsonOfTexts(value), { headers });
}

/** A point in time as the native API writes it: ISO 8601, UTC, with milliseconds. @param unixMs below 8.64e15 */
export function isoTime(unixMs: number): string {
  return new Date(unixMs).toISOString();
}

/** The same for a time that there may not be. */
export function isoTimeOrNull(unixMs: number | null): string | null {
  return unixMs === null ? null : isoTime(unixMs);
}
