import { ValidateBy, ValidateIf } from '../../config/class-validator.js';

/** A class whose decorated properties are the fields of a JSON object, or the parameters of a query. */
export type FieldsClass<T extends object = object> = new () => T;
/** A piece of JSON Schema, draft 2020-12. */
export type Schema = Readonly<Record<string, unknown>>;

/** What is known of a field: enough to read it, and to describe it. */
export interface Field {
  /** What is right, for programs. Empty for a field that is an object of its own (`of`). */
  readonly schema: Schema;
  /** What it means, for people. */
  readonly about: string;
  /** How its text in a query is read. */
  readonly text: 'number' | 'boolean' | 'list' | 'text';
  /** Its JSON stays as it was written: its value is a `JsonText`. */
  readonly isAsWritten?: true;
  /** The class of its objects, asked when it is needed: classes may name each other. */
  readonly of?: () => FieldsClass;
  /** It is a list of such objects, at most so many. */
  readonly maxItems?: number;
}

/** A field, and whether it must be there. */
export interface DeclaredField extends Field {
  readonly isOptional: boolean;
  readonly isNullable: boolean;
}

interface Declaration {
  field?: Field;
  isOptional?: true;
  isNullable?: true;
}

const DECLARED = new Map<object, Map<string, Declaration>>();
const NO_FIELD: Field = { schema: {}, about: '', text: 'text' };

/** The fields of a class, those of its base classes first. */
export function fieldsOf({ prototype }: FieldsClass): ReadonlyMap<string, DeclaredField> {
  const known = FIELDS.get(prototype as object);
  if (known !== undefined) return known;
  const fields = new Map<string, DeclaredField>();
  const levels: object[] = [];
  for (let level = prototype as object | null; level !== null;) {
    levels.unshift(level);
    level = Object.getPrototypeOf(level) as object | null;
  }
  for (const level of levels) {
    for (const [name, { field = NO_FIELD, isOptional = false, isNullable = false }] of DECLARED.get(level) ??
      [])
      fields.set(name, { ...field, isOptional, isNullable });
  }
  FIELDS.set(prototype as object, fields);
  return fields;
}

/** Found once for each class. */
const FIELDS = new Map<object, ReadonlyMap<string, DeclaredField>>();

/** Declares a field whose value is right if `isRight` says so. `rule` says it to people, and never holds the value. */
export function declare(
  field: Omit<Field, 'text'> & Partial<Field>,
  rule: string,
  isRight: (value: unknown) => boolean,
): PropertyDecorator {
  const check = ValidateBy({
    name: 'value',
    validator: { validate: isRight, defaultMessage: () => rule },
  });
  return (prototype, name) => {
    note(prototype, name, { field: { text: 'text', ...field } });
    check(prototype, name);
  };
}

/** Declares a field of objects, which are read and checked one by one. */
export function declareParts(field: Omit<Field, 'text' | 'schema'>): PropertyDecorator {
  return (prototype, name) => note(prototype, name, { field: { ...field, text: 'text', schema: {} } });
}

/** The field may be left out. */
export function Optional(): PropertyDecorator {
  const check = ValidateIf((_, value) => value !== undefined);
  return (prototype, name) => {
    note(prototype, name, { isOptional: true });
    check(prototype, name);
  };
}

/** The field may be null. */
export function Nullable(): PropertyDecorator {
  const check = ValidateIf((_, value) => value !== null);
  return (prototype, name) => {
    note(prototype, name, { isNullable: true });
    check(prototype, name);
  };
}

function note(prototype: object, name: string | symbol, more: Declaration): void {
  const fields = DECLARED.get(prototype) ?? new Map<string, Declaration>();
  DECLARED.set(prototype, fields);
  fields.set(String(name), { ...fields.get(String(name)), ...more });
}

/** What an object of a class holds, for those who make one without the class. */
export type Plain<T> = T extends object ? { readonly [K in keyof T]: Plain<T[K]> } : T;
