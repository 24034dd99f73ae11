import { isUtf8 } from 'node:buffer';
import { type BodyLimit, readBody, wholeBody } from './body.js';
import { InputError } from '../answer/errors.v1.js';
import type { RequestContext } from './request-context.js';
import { type DeclaredField, type FieldsClass, fieldsOf } from '../fields/field.js';
import { isObject } from '../fields/kinds.js';
import { readFields } from '../fields/read.js';
import { jsonFault } from '../json/json-fault.js';
import { eachMember, elementsOf, JsonText } from '../json/json-text.js';

const NOT_JSON = 'must be JSON in UTF-8';

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
  readBody(context, limit, (body) => take(readFields(of, jsonOf(body, of))));
}

/** Like `readJson`, as a promise; see `wholeBody`. @throws {InputError} naming each invalid field */
export async function fieldsIn<T extends object>(
  context: RequestContext,
  limit: BodyLimit,
  of: FieldsClass<T>,
): Promise<T> {
  return readFields(of, jsonOf(await wholeBody(context, limit), of));
}

/**
 * Parses the JSON of a body.
 *
 * @param classes possible classes of it: their fields marked `isAsWritten` become `JsonText`, also in nested objects
 * @throws {InputError} it is not JSON
 */
export function jsonOf(body: Buffer, ...classes: readonly FieldsClass[]): unknown {
  if (body.length === 0) return {};
  if (!isUtf8(body)) throw notJson(`byte ${String(firstBrokenByte(body))} of the body is not UTF-8`);
  const text = body.toString();
  const value = parseJson(text);
  if (isObject(value)) for (const of of classes) keepTexts(value, text, textFieldsOf(of));
  return value;
}

/**
 * A longer text is not searched for its first mistake, in UTF-16 code units: the search costs up to 16 times the CPU of
 * the parser, and nothing else runs meanwhile.
 */
const MOST_SEARCHED = 1_048_576;
const TOO_LONG_TO_SEARCH = 'it is too long to say where: over 1 MiB';

/** Parses JSON of a request. @throws {InputError} it is not JSON; says where, and what is there, in a text that is not too long */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw notJson(text.length > MOST_SEARCHED ? TOO_LONG_TO_SEARCH : jsonFault(text));
  }
}

/** The number, from 1, of the first byte that is not UTF-8: the decoder puts another character in its place. */
function firstBrokenByte(body: Buffer): number {
  const decoded = Buffer.from(body.toString());
  let at = 0;
  while (body[at] === decoded[at]) at += 1;
  return at + 1;
}

/** Replaces values by their `JsonText`, in an object and in the objects of its lists. */
function keepTexts(
  object: Record<string, unknown>,
  text: string,
  fields: ReadonlyMap<string, DeclaredField>,
): void {
  if (!hasAny(object, fields)) return;
  eachMember(text, (name, memberText) => {
    const field = fields.get(name);
    const value = object[name];
    // If a name is repeated, the last one wins, for the parser too.
    if (field?.isAsWritten === true && Object.hasOwn(object, name)) object[name] = new JsonText(memberText);
    else if (field?.of !== undefined && field.maxItems !== undefined && Array.isArray(value)) {
      keepListTexts(value, memberText, field);
    } else if (field?.of !== undefined && field.maxItems === undefined && isObject(value)) {
      keepTexts(value, memberText, textFieldsOf(field.of()));
    }
  });
}

function keepListTexts(list: unknown[], text: string, { of, maxItems = 0 }: DeclaredField): void {
  if (of === undefined || list.length > maxItems || !text.startsWith('[')) return;
  const fields = textFieldsOf(of());
  const texts = elementsOf(text);
  if (texts.length !== list.length) return;
  list.forEach((one, i) => isObject(one) && keepTexts(one, texts[i] ?? '{}', fields));
}

/** The fields of a class that are kept as text, or have nested ones. Cached per class. */
function textFieldsOf(of: FieldsClass): ReadonlyMap<string, DeclaredField> {
  let fields = TEXT_FIELDS.get(of);
  if (fields === undefined) {
    fields = new Map([...fieldsOf(of)].filter(([, field]) => hasTexts(field)));
    TEXT_FIELDS.set(of, fields);
  }
  return fields;
}

const TEXT_FIELDS = new Map<FieldsClass, ReadonlyMap<string, DeclaredField>>();

function hasTexts({ isAsWritten, of }: DeclaredField): boolean {
  return isAsWritten === true || (of !== undefined && textFieldsOf(of()).size > 0);
}

/** Most bodies have none of them: their text need not be scanned. */
function hasAny(object: Record<string, unknown>, fields: ReadonlyMap<string, DeclaredField>): boolean {
  for (const name of fields.keys()) if (Object.hasOwn(object, name)) return true;
  return false;
}

function notJson(fault?: string): InputError {
  return new InputError([{ field: '', rule: fault === undefined ? NOT_JSON : `${NOT_JSON}; ${fault}` }]);
}
