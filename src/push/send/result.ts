import { BYTES, CONTENT_TYPE, isJsonType, PLAIN_JSON } from '../../domain/content-type.js';
import type { JobResult } from '../../domain/job/job.js';
import { depthOfData } from '../../contract/json/stored-json.js';

/** What a job can keep of an answer. @param given its content type, as it came @returns null if there is no body */
export function resultOf(body: Buffer, given = BYTES): JobResult | null {
  if (body.length === 0) return null;
  const contentType = CONTENT_TYPE.test(given) ? given : BYTES;
  if (!isJsonType(contentType)) return { body, contentType };
  return { body, contentType: depthOfData(body, PLAIN_JSON) !== undefined ? PLAIN_JSON : BYTES };
}
