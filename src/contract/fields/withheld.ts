import { type FieldsClass, fieldsOf } from './field.js';

/** An object of which fields are withheld, and their names. */
type Withheld = Record<string, unknown> & { readonly withheld?: readonly string[] };

/**
 * An answer without data of jobs, for an account that may not see it. A field that must be there is null. Fields that the
 * class does not declare may be data, too.
 *
 * @param wire as `toWire` has made it
 */
export function withoutData(of: FieldsClass, wire: object): Withheld {
  const fields = fieldsOf(of);
  const kept: Record<string, unknown> = {};
  const withheld: string[] = [];
  for (const [name, value] of Object.entries(wire)) {
    const field = fields.get(name);
    // guard: viewers-see-no-data
    if ((field === undefined || field.isData === true) && value !== null) {
      withheld.push(name);
      if (field?.isOptional === false) kept[name] = null;
    } else kept[name] = field?.of === undefined ? value : partsWithoutData(field.of(), value);
  }
  return withheld.length === 0 ? kept : { ...kept, withheld };
}

function partsWithoutData(of: FieldsClass, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one: object) => withoutData(of, one));
  return typeof value === 'object' && value !== null ? withoutData(of, value) : value;
}

/** The parameters that search in data. */
export function dataSearchesOf(of: FieldsClass | undefined, query: object): string[] {
  const fields = of && fieldsOf(of);
  return Object.keys(query).filter((name) => fields?.get(name)?.isData === true);
}
