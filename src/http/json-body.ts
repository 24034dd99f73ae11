import { isUtf8 } from 'node:buffer';
import { readBody } from './body.js';
import { InputError } from './errors.v1.js';
import type { Exchange } from './exchange.js';
import type { FieldsClass } from './fields/field.js';
import { readFields } from './fields/read.js';

const NOT_JSON = 'must be JSON in UTF-8';

/**
 * Reads a request's body as an object of a class, and goes on with it. No body at all counts as `{}`. What is wrong is refused, as by
 * `readBody`.
 *
 * @param maxBytes inclusive
 * @throws {QueueError} `body_too_large`
 */
export function readJson<T extends object>(
  exchange: Exchange,
  maxBytes: number,
  of: FieldsClass<T>,
  take: (fields: T) => void,
): void {
  readBody(exchange, maxBytes, (body) => take(readFields(of, jsonOf(body))));
}

/** @throws {InputError} it is no JSON */
export function jsonOf(body: Buffer): unknown {
  if (body.length === 0) return {};
  if (!isUtf8(body)) throw notJson();
  try {
    return JSON.parse(body.toString()) as unknown;
  } catch {
    // The parser's own message would repeat a piece of the body.
    throw notJson();
  }
}

function notJson(): InputError {
  return new InputError([{ field: '', rule: NOT_JSON }]);
}
