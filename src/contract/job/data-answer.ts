import { BYTES, PLAIN_JSON } from '../../domain/content-type.js';
import { depthOfData } from '../json/stored-json.js';
import { asciiJson } from '../json/ascii-json.js';
import { asciiText, JsonText } from '../json/json-text.js';

const PLAIN_TYPE = JSON.stringify(PLAIN_JSON);

/** Names of the members that have data in answers: as JSON, in base64, and its type. */
interface DataNames {
  readonly json: string;
  readonly base64: string;
  readonly type: string;
}
const PAYLOAD: DataNames = { json: 'data', base64: 'data_base64', type: 'content_type' };
const RESULT: DataNames = { json: 'result', base64: 'result_base64', type: 'result_type' };

/** Data of a job in answers. */
export interface DataAnswer {
  readonly data?: unknown;
  readonly dataBase64?: string;
  readonly contentType: string;
}

/**
 * Data in an answer: JSON as it was written, other bytes in base64. So is JSON that is nested deeper than `maxDepth`: the
 * reader of a client might fail, and with it all other jobs of the answer. Such data was stored by another API, or before
 * there was a limit.
 */
export function answerData(body: Buffer, contentType: string | null, maxDepth: number): DataAnswer {
  const depth = depthOfData(body, contentType);
  const type = contentType ?? (depth === undefined ? BYTES : PLAIN_JSON);
  if (depth !== undefined && /* guard: deep-data-in-base64 */ depth <= maxDepth)
    return { data: new JsonText(body), contentType: type };
  return { dataBase64: body.toString('base64'), contentType: type };
}

/** The members of `answerData` as JSON text in ASCII, without braces. */
export function dataJson(body: Buffer, contentType: string | null, maxDepth: number): string {
  return membersOf(body, contentType, maxDepth, PAYLOAD);
}

/** The same of a result that stands among other fields of its job. */
export function resultJson(body: Buffer, contentType: string | null, maxDepth: number): string {
  return membersOf(body, contentType, maxDepth, RESULT);
}

function membersOf(body: Buffer, contentType: string | null, maxDepth: number, names: DataNames): string {
  const { data, dataBase64, contentType: type } = answerData(body, contentType, maxDepth);
  const value =
    data instanceof JsonText
      ? `"${names.json}":${asciiText(data.text)}`
      : `"${names.base64}":"${dataBase64 ?? ''}"`;
  return `${value},"${names.type}":${type === PLAIN_JSON ? PLAIN_TYPE : asciiJson(type)}`;
}

/** Progress in an answer: what an older server stored may be nested too deeply. */
export function progressJson(progress: string | null, maxDepth: number): string {
  if (progress === null) return 'null';
  const depth = depthOfData(Buffer.from(progress), PLAIN_JSON);
  return depth !== undefined && depth <= maxDepth ? asciiText(progress) : 'null';
}
