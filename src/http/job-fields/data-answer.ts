import { BYTES, depthOfData, PLAIN_JSON } from '../../domain/content-type.js';
import { asciiJson } from '../answer/answer.js';
import { asciiText, JsonText } from '../json/json-text.js';

const PLAIN_TYPE = JSON.stringify(PLAIN_JSON);

/** Data of a job in answers. */
export interface DataAnswer {
  readonly data?: unknown;
  readonly data_base64?: string;
  readonly content_type: string;
}

/**
 * Data in an answer: JSON as it was written, other bytes in base64. So is JSON that is nested deeper than `maxDepth`: the
 * reader of a client might fail, and with it all other jobs of the answer. Such data was stored by another API, or before
 * there was a limit.
 */
export function dataFields(body: Buffer, contentType: string | null, maxDepth: number): DataAnswer {
  const depth = depthOfData(body, contentType);
  const content_type = contentType ?? (depth === undefined ? BYTES : PLAIN_JSON);
  if (depth !== undefined && /* guard: deep-data-in-base64 */ depth <= maxDepth)
    return { data: new JsonText(body), content_type };
  return { data_base64: body.toString('base64'), content_type };
}

/** The members of `dataFields` as JSON text in ASCII, without braces. */
export function dataJson(body: Buffer, contentType: string | null, maxDepth: number): string {
  const { data, data_base64, content_type } = dataFields(body, contentType, maxDepth);
  const value =
    data instanceof JsonText ? `"data":${asciiText(data.text)}` : `"data_base64":"${data_base64 ?? ''}"`;
  return `${value},"content_type":${content_type === PLAIN_JSON ? PLAIN_TYPE : asciiJson(content_type)}`;
}

/** Progress in an answer: what an older server stored may be nested too deeply. */
export function progressJson(progress: string | null, maxDepth: number): string {
  if (progress === null) return 'null';
  const depth = depthOfData(Buffer.from(progress), PLAIN_JSON);
  return depth !== undefined && depth <= maxDepth ? asciiText(progress) : 'null';
}
