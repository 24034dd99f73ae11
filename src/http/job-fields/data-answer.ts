import { isUtf8 } from 'node:buffer';
import { JsonText } from '../json-text.js';
import { isJsonType } from './new-job.js';

const JSON_TYPE = 'application/json';
const BYTES = 'application/octet-stream';

/** Data as answers have it. */
export interface DataAnswer {
  readonly data?: unknown;
  readonly data_base64?: string;
  readonly content_type: string;
}

/** Bytes as an answer carries them: JSON as it was written, what is none in base64. */
export function dataFields(body: Buffer, contentType: string | null): DataAnswer {
  if ((contentType === null || isJsonType(contentType)) && isJson(body)) {
    return { data: new JsonText(body.toString()), content_type: contentType ?? JSON_TYPE };
  }
  // lmstfy's clients publish what they like, and do not say what it is.
  return { data_base64: body.toString('base64'), content_type: contentType ?? BYTES };
}

function isJson(body: Buffer): boolean {
  if (body.length === 0 || !isUtf8(body)) return false;
  try {
    JSON.parse(body.toString());
    return true;
  } catch {
    return false;
  }
}
