import { answer } from './answer.js';
import type { RequestContext } from '../request/request-context.js';
import { isoTime } from '../../domain/iso-time.js';
import { jsonOfTexts } from '../../contract/json/json-text.js';

/** Sends a value as JSON and ends the request context. @param headers further names and values, alternating */
export function reply(
  context: RequestContext,
  status: number,
  value: object,
  headers: readonly string[] = [],
): void {
  answer(context, status, jsonOfTexts(value), { headers });
}

/** `isoTimeOrNull` as JSON text. */
export function timeJson(unixMs: number | null): string {
  return unixMs === null ? 'null' : `"${isoTime(unixMs)}"`;
}
