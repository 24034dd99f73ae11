import { isUtf8 } from 'node:buffer';
import type { FieldsClass } from '../fields/field.js';
import { InputError } from '../fields/problems.js';
import { jsonFault } from './json-fault.js';
import { parseBody, placesOf } from './json-fields.js';

const NOT_JSON = 'must be JSON in UTF-8';

/**
 * Parses the JSON of a body.
 *
 * @param maxDepth how deep each payload of it may be nested
 * @param classes possible classes of it: their fields marked `isAsWritten` become `JsonText`, also in nested objects
 * @throws {InputError} it is not JSON, is nested too deeply or has too many values
 */
export function jsonOf(body: Buffer, maxDepth: number, ...classes: readonly FieldsClass[]): unknown {
  if (body.length === 0) return {};
  if (!isUtf8(body)) throw notJson(notUtf8(body));
  const parsed = parseBody(body, maxDepth, placesIn(classes));
  if ('value' in parsed) return parsed.value;
  const { field, rule } = parsed;
  if (rule !== undefined) throw new InputError([{ field, rule }]);
  throw notJson(
    /* guard: fault-search-is-bounded */ body.length > MOST_SEARCHED
      ? TOO_LONG_TO_SEARCH
      : jsonFault(body.toString()),
  );
}

/**
 * A longer text is not searched for its first mistake, in bytes: the search costs up to 16 times the CPU of the parser,
 * and nothing else runs meanwhile.
 */
const MOST_SEARCHED = 262_144;
/** With these bytes gzip begins. */
const GZIP = [0x1f, 0x8b] as const;
const TOO_LONG_TO_SEARCH = 'it is too long to say where: over 256 KiB';

/** Cached: a call passes the same classes each time. */
function placesIn(classes: readonly FieldsClass[]): ReturnType<typeof placesOf> {
  const last = classes.at(-1);
  if (last === undefined) return [];
  let places = PLACES.get(last);
  if (places === undefined) PLACES.set(last, (places = placesOf(...classes)));
  return places;
}

const PLACES = new Map<FieldsClass, ReturnType<typeof placesOf>>();

function notUtf8(body: Buffer): string {
  if (body[0] === GZIP[0] && body[1] === GZIP[1])
    return 'the body is compressed: the server does not decode it';
  if (body.length > MOST_SEARCHED) return 'the body is not UTF-8';
  // The decoder puts another character in the place of a byte that is wrong.
  const decoded = Buffer.from(body.toString());
  let at = 0;
  while (body[at] === decoded[at]) at += 1;
  return `byte ${String(at + 1)} of the body is not UTF-8`;
}

function notJson(fault?: string): InputError {
  return new InputError([{ field: '', rule: fault === undefined ? NOT_JSON : `${NOT_JSON}; ${fault}` }]);
}
