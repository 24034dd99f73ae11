import type { JsonPath } from '../json/json-path.js';
import { JsonText } from '../json/json-text.js';
import { redactedJson } from '../json/redacted-json.js';
import { type DeclaredField, type FieldsClass, fieldsOf } from './field.js';

/** An object of which fields are withheld or redacted, and their names. */
type Withheld = Record<string, unknown> & {
  readonly withheld?: readonly string[];
  readonly redacted?: readonly string[];
};

/** What is shown of data: all, none, or JSON without the values at some paths, and nothing else. */
export type Sight = 'all' | 'none' | readonly JsonPath[];
/**
 * What is shown of the data of a queue. undefined: of an object that is of no queue; '': of one that may be of any. It is
 * called only for objects that have data.
 */
export type SightOf = (queue: string | undefined) => Sight;

/**
 * An answer without data of jobs, for an account that may not see data. A field that must be there is null. Fields that the
 * class does not declare may be data, too.
 *
 * @param wire as `toWire` has made it
 */
export function withoutData(of: FieldsClass, wire: object): Withheld {
  return withSight(of, wire, () => 'none');
}

/**
 * An answer with what may be seen of its data. Data of a job is all that is within it: the outermost `queue` counts.
 *
 * @param wire as `toWire` has made it
 * @param queue of the jobs in the answer, if it does not name it itself
 */
export function withSight(of: FieldsClass, wire: object, sightOf: SightOf, queue?: string): Withheld {
  const fields = fieldsOf(of);
  const kept: Record<string, unknown> = {};
  const withheld: string[] = [];
  const redacted: string[] = [];
  const its = queue ?? queueIn(fields, wire);
  for (const [name, value] of Object.entries(wire)) {
    const field = fields.get(name);
    // guard: viewers-see-no-data
    if ((field === undefined || field.isData === true) && value !== null) {
      const shown = shownData(name, value, sightOf(its));
      if (shown !== undefined) kept[name] = shown;
      else {
        withheld.push(name);
        if (field?.isOptional === false) kept[name] = null;
      }
      if (shown !== undefined && shown !== value) redacted.push(name);
    } else kept[name] = field?.of === undefined ? value : parts(field.of(), value, sightOf, its);
  }
  return { ...kept, ...(redacted.length > 0 && { redacted }), ...(withheld.length > 0 && { withheld }) };
}

/** '': its class says that it is of a queue, and it does not name one. */
function queueIn(fields: ReadonlyMap<string, DeclaredField>, wire: object): string | undefined {
  const { queue = '' } = wire as { readonly queue?: unknown };
  return fields.has('queue') ? String(queue) : undefined;
}

function parts(of: FieldsClass, value: unknown, sightOf: SightOf, queue: string | undefined): unknown {
  if (Array.isArray(value)) return value.map((one: object) => withSight(of, one, sightOf, queue));
  return typeof value === 'object' && value !== null ? withSight(of, value, sightOf, queue) : value;
}

/** The paths are those of payloads and results: messages, progress and log entries may repeat any part of them. */
function shownData(name: string, value: unknown, sight: Sight): unknown {
  if (sight === 'all') return value;
  if (sight === 'none' || name !== 'data' || !(value instanceof JsonText)) return undefined;
  const { bytes } = value;
  const text = redactedJson(bytes, sight);
  return text === bytes ? value : text && new JsonText(text);
}

/** The parameters, or the fields of a filter, that search in data. */
export function dataSearchesOf(of: FieldsClass | undefined, query: object): string[] {
  const fields = of && fieldsOf(of);
  return Object.keys(query).filter((name) => fields?.get(name)?.isData === true);
}
