import { dataJson, type EncodedPayload, type JobPayload } from '@pumphouse/client';
import { BYTES, CONTENT_TYPE, isJsonType, PLAIN_JSON } from '#src/domain/content-type';
import { jsonOfData } from '#src/contract/json/stored-json';
import { QueueError } from '#src/domain/errors';
import type { NewData } from '#src/domain/job/extended-job';

const NULL = Buffer.from('null');

type Given = { [K in keyof JobPayload]: JobPayload[K] | undefined };

/**
 * The payload of a job as it is stored, and as the API stores it; undefined if there is none.
 *
 * @throws {TypeError} the data does not fit its content type, or is no JSON
 */
export function givenData({ data, json, contentType }: Given): NewData | undefined {
  if (json !== undefined) {
    if (data !== undefined) throw new TypeError('give one of `data` and `json`');
    JSON.parse(json);
    return jsonData(Buffer.from(json), contentType);
  }
  if (data instanceof Uint8Array) return typed(bufferOf(data), contentType ?? BYTES);
  if (contentType !== undefined && !isJsonType(contentType)) {
    if (typeof data !== 'string')
      throw new TypeError(`data of the type ${contentType} must be bytes or text`);
    return typed(Buffer.from(data), contentType);
  }
  return data === undefined ? undefined : jsonData(Buffer.from(dataJson(data)), contentType);
}

/** The same for a new job, which has the data null if it is given none. */
export function newData(given: Given): NewData {
  return givenData(given) ?? { body: NULL };
}

/** A payload that the worker runtime has encoded. */
export function encodedData(payload: EncodedPayload): NewData {
  if ('json' in payload) return { body: Buffer.from(payload.json) };
  return typed(bufferOf(payload.bytes), payload.contentType ?? BYTES);
}

/** A stored payload: JSON, or bytes. */
export interface ReadData {
  readonly contentType: string;
  /** Undefined for bytes. */
  readonly json: string | undefined;
  readonly value: unknown;
}

export function readData(body: Buffer, contentType: string | null): ReadData {
  const json = jsonOfData(body, contentType);
  if (json) return { contentType: contentType ?? PLAIN_JSON, json: json.text, value: json.value };
  return { contentType: contentType ?? BYTES, json: undefined, value: body };
}

/** A stored payload as the answers of the client have it. */
export function dataOf(body: Buffer, contentType: string | null): { data: unknown; contentType: string } {
  const { value, contentType: type } = readData(body, contentType);
  return { data: value, contentType: type };
}

function jsonData(body: Buffer, contentType: string | undefined): NewData {
  return contentType === undefined || contentType.toLowerCase() === PLAIN_JSON
    ? { body }
    : typed(body, contentType);
}

function typed(body: Buffer, contentType: string): NewData {
  if (!CONTENT_TYPE.test(contentType))
    throw new QueueError('invalid_argument', 'contentType has at most 255 visible ASCII characters');
  return { body, contentType };
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
