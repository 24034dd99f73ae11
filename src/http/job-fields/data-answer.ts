import { isUtf8 } from 'node:buffer';
import { asciiJson } from '../answer/answer.js';
import { asciiText, JsonText } from '../json/json-text.js';
import { isJsonType } from './new-job.js';

const JSON_TYPE = 'application/json';
const PLAIN_TYPE = JSON.stringify(JSON_TYPE);
const BYTES = 'application/octet-stream';

/** Data of a job in answers. */
export interface DataAnswer {
  readonly data?: unknown;
  readonly data_base64?: string;
  readonly content_type: string;
}

/** Data in an answer: JSON as it was written, other bytes in base64. */
export function dataFields(body: Buffer, contentType: string | null): DataAnswer {
  const text = contentType === null || isJsonType(contentType) ? jsonIn(body) : undefined;
  if (text !== undefined) return { data: new JsonText(text), content_type: contentType ?? JSON_TYPE };
  // lmstfy's clients publish any bytes, without a content type.
  return { data_base64: body.toString('base64'), content_type: contentType ?? BYTES };
}

/** The members of `dataFields` as JSON text in ASCII, without braces. */
export function dataJson(body: Buffer, contentType: string | null): string {
  const { data, data_base64, content_type } = dataFields(body, contentType);
  const value =
    data instanceof JsonText ? `"data":${asciiText(data.text)}` : `"data_base64":"${data_base64 ?? ''}"`;
  return `${value},"content_type":${content_type === JSON_TYPE ? PLAIN_TYPE : asciiJson(content_type)}`;
}

/** The text of a body, if it is JSON. */
function jsonIn(body: Buffer): string | undefined {
  if (body.length === 0 || !isUtf8(body)) return undefined;
  const text = body.toString();
  try {
    JSON.parse(text);
    return text;
  } catch {
    return undefined;
  }
}
