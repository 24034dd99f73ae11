import { BYTES, jsonOfData, PLAIN_JSON } from '../../domain/content-type.js';
import { asciiJson } from '../answer/answer.js';
import { asciiText, JsonText } from '../json/json-text.js';

const PLAIN_TYPE = JSON.stringify(PLAIN_JSON);

/** Data of a job in answers. */
export interface DataAnswer {
  readonly data?: unknown;
  readonly data_base64?: string;
  readonly content_type: string;
}

/** Data in an answer: JSON as it was written, other bytes in base64. */
export function dataFields(body: Buffer, contentType: string | null): DataAnswer {
  const json = jsonOfData(body, contentType);
  if (json) return { data: new JsonText(json.text), content_type: contentType ?? PLAIN_JSON };
  return { data_base64: body.toString('base64'), content_type: contentType ?? BYTES };
}

/** The members of `dataFields` as JSON text in ASCII, without braces. */
export function dataJson(body: Buffer, contentType: string | null): string {
  const { data, data_base64, content_type } = dataFields(body, contentType);
  const value =
    data instanceof JsonText ? `"data":${asciiText(data.text)}` : `"data_base64":"${data_base64 ?? ''}"`;
  return `${value},"content_type":${content_type === PLAIN_JSON ? PLAIN_TYPE : asciiJson(content_type)}`;
}
