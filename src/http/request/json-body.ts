import type { FieldsClass } from '../../contract/fields/field.js';
import { readFields } from '../../contract/fields/read.js';
import { jsonOf } from '../../contract/json/body-json.js';
import { accountOf } from './account-client.js';
import { type BodyLimit, readBody, wholeBody } from './body.js';
import type { RequestContext } from './request-context.js';

/**
 * Reads a request's body as an object of a class, and passes it to `take`. An empty body counts as `{}`. Errors are
 * answered, as by `readBody`.
 *
 * @throws {QueueError} `body_too_large`
 */
export function readJson<T extends object>(
  context: RequestContext,
  limit: BodyLimit,
  of: FieldsClass<T>,
  take: (fields: T) => void,
): void {
  readBody(context, limit, (body) => take(fieldsOf(context, body, of)));
}

/** Like `readJson`, as a promise; see `wholeBody`. @throws {InputError} naming each invalid field */
export async function fieldsIn<T extends object>(
  context: RequestContext,
  limit: BodyLimit,
  of: FieldsClass<T>,
): Promise<T> {
  return fieldsOf(context, await wholeBody(context, limit), of);
}

function fieldsOf<T extends object>(context: RequestContext, body: Buffer, of: FieldsClass<T>): T {
  const fields = readFields(of, jsonOf(body, context.server.maxJsonDepth, of));
  accountOf(context.request)?.recordRequest(fields);
  return fields;
}
