import { QueueError } from '../../domain/errors.js';
import { MAX_BULK_JOBS } from '../../domain/limits.js';
import { splitArray } from '../../contract/json/json-array.js';

const NULL = /^[ \t\r\n]*null[ \t\r\n]*$/;
/** Longest body, in bytes, that is accepted as `null` with whitespace around it. */
const LONGEST_NULL = 64;

/**
 * Splits the body of a bulk request into job bodies: the elements of its JSON array, byte for byte.
 *
 * @param maxJobBytes of one element, inclusive
 * @throws {QueueError} `invalid_argument` with lmstfy's messages; `body_too_large`: an element is too long
 */
export function bulkBodies(body: Buffer, maxJobBytes: number): Buffer[] {
  const isNull = body.length <= LONGEST_NULL && NULL.test(body.toString('latin1'));
  const array = isNull ? { count: 0, elements: [] } : splitArray(body, MAX_BULK_JOBS);
  if (array === null) {
    throw new QueueError('invalid_argument', 'request body should be an array of objects');
  }
  if (array.count === 0) throw new QueueError('invalid_argument', 'no jobs');
  if (array.count > MAX_BULK_JOBS) throw new QueueError('invalid_argument', 'too many jobs');
  if (array.elements.some((element) => element.length > maxJobBytes)) {
    throw new QueueError('body_too_large', 'job too large');
  }
  return array.elements;
}
