import { isUtf8 } from 'node:buffer';
import { isJsonType } from './new-job.js';

const JSON_TYPE = 'application/json';
const BYTES = 'application/octet-stream';

/** Data as answers have it. */
export interface DataAnswer {
  readonly data?: unknown;
  readonly data_base64?: string;
  readonly content_type: string;
}

/** Bytes as an answer carries them: JSON as it is, what is none in base64. */
export function dataFields(body: Buffer, contentType: string | null): DataAnswer {
  const value = contentType === null || isJsonType(contentType) ? parsed(body) : undefined;
  if (value !== undefined) return { data: value, content_type: contentType ?? JSON_TYPE };
  // lmstfy's clients publish what they like, and do not say what it is.
  return { data_base64: body.toString('base64'), content_type: contentType ?? BYTES };
}

/** @returns undefined for what is no JSON; JSON cannot say that */
function parsed(body: Buffer): unknown {
  if (!isUtf8(body)) return undefined;
  try {
    return JSON.parse(body.toString()) as unknown;
  } catch {
    return undefined;
  }
}
