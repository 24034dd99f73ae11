import { isUtf8 } from 'node:buffer';
import { readBody } from './body.js';
import { InputError } from './errors.v1.js';
import type { Exchange } from './exchange.js';
import { type DeclaredField, type FieldsClass, fieldsOf } from './fields/field.js';
import { isObject } from './fields/kinds.js';
import { readFields } from './fields/read.js';
import { eachMember, elementsOf, JsonText } from './json-text.js';

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
  readBody(exchange, maxBytes, (body) => take(readFields(of, jsonOf(body, of))));
}

/**
 * The JSON of a body.
 *
 * @param classes what it may be: their fields that stay as they were written are texts, and so are those of its parts
 * @throws {InputError} it is no JSON
 */
export function jsonOf(body: Buffer, ...classes: readonly FieldsClass[]): unknown {
  if (body.length === 0) return {};
  if (!isUtf8(body)) throw notJson();
  const text = body.toString();
  const value = parsed(text);
  const fields = new Map(classes.flatMap((of) => [...fieldsOf(of)]));
  if (isObject(value)) keepTexts(value, text, fields);
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The parser's own message would repeat a piece of the body.
    throw notJson();
  }
}

/** Puts texts in the place of values, in an object and in the objects of its lists. */
function keepTexts(
  object: Record<string, unknown>,
  text: string,
  fields: ReadonlyMap<string, DeclaredField>,
): void {
  if (![...fields.values()].some(hasTexts)) return;
  eachMember(text, (name, memberText) => {
    const field = fields.get(name);
    const value = object[name];
    // Of equal names the last counts, for the parser too.
    if (field?.isAsWritten === true && Object.hasOwn(object, name)) object[name] = new JsonText(memberText);
    else if (field?.of !== undefined && field.maxItems !== undefined && Array.isArray(value)) {
      keepListTexts(value, memberText, field);
    } else if (field?.of !== undefined && field.maxItems === undefined && isObject(value)) {
      keepTexts(value, memberText, fieldsOf(field.of()));
    }
  });
}

function keepListTexts(list: unknown[], text: string, { of, maxItems = 0 }: DeclaredField): void {
  if (of === undefined || list.length > maxItems || !text.startsWith('[')) return;
  const fields = fieldsOf(of());
  const texts = elementsOf(text);
  if (texts.length !== list.length) return;
  list.forEach((one, i) => isObject(one) && keepTexts(one, texts[i] ?? '{}', fields));
}

function hasTexts({ isAsWritten, of }: DeclaredField): boolean {
  if (isAsWritten === true) return true;
  return of !== undefined && [...fieldsOf(of()).values()].some(hasTexts);
}

function notJson(): InputError {
  return new InputError([{ field: '', rule: NOT_JSON }]);
}
