import { type FieldsClass, fieldsOf, type Stored } from './field.js';
import { insideName } from './wire.js';

/** A field that is stored, as its declaration says. */
export interface StoredField extends Stored {
  /** Its name inside. */
  readonly name: string;
  readonly isNumber: boolean;
  readonly isText: boolean;
  readonly isNullable: boolean;
}

/** The fields of a class that are stored. */
export function storedOf(of: FieldsClass): StoredField[] {
  return [...fieldsOf(of)].flatMap(([wire, declared]) => {
    const { stored, schema, text, isNullable } = declared;
    if (stored === undefined) return [];
    const name = insideName(wire, declared);
    return [
      { ...stored, name, isNullable, isNumber: text === 'number', isText: schema['type'] === 'string' },
    ];
  });
}
