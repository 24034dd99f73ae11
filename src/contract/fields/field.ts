/** A class whose decorated properties are the fields of a JSON object, or the parameters of a query. */
export type FieldsClass<T extends object = object> = new () => T;
/** A part of a JSON Schema, draft 2020-12. */
export type Schema = Readonly<Record<string, unknown>>;

/** Definition of a field: enough to read it, and to describe it. */
export interface Field {
  /** Its JSON Schema. Empty for a field that is an object of its own class (`of`). */
  readonly schema: Schema;
  /** Its meaning, for people. */
  readonly about: string;
  /** How its text in a query is parsed. */
  readonly text: 'number' | 'boolean' | 'list' | 'repeated' | 'text';
  /** What a value must be, for people: "must be …". Never contains the value. */
  readonly rule: string;
  /** The rule with what is wrong with a value that breaks it; left out: `rule` says all. */
  readonly ruleFor?: (value: unknown) => string;
  /** True if the value is valid. A field of a class (`of`) is checked field by field instead. */
  readonly isRight: (value: unknown) => boolean;
  /** Any JSON, whose depth the server limits. */
  readonly isPayload?: true;
  /** Keeps its JSON as it was written: its value is a `JsonText`. */
  readonly isAsWritten?: true;
  /** The class of its objects; a function, because classes may refer to each other. */
  readonly of?: () => FieldsClass;
  /** It is a list of such objects; the maximum number of them. */
  readonly maxItems?: number;
  /** The minimum number of them; default 1. */
  readonly minItems?: number;
  /** A point in time: ISO 8601 on the wire, Unix ms inside. */
  readonly isMoment?: true;
  /** Data of a job, or made from it: an account that may not see data does not get it. */
  readonly isData?: true;
  /** How it is stored, if it is. */
  readonly stored?: Stored;
}

/** How a field is stored in a hash in Redis: an option of a job, or a setting of a queue. */
export interface Stored {
  /** The field of the hash; left out: it has none, as what is in the header of a job. */
  readonly field?: string;
  /** Of an object only this field is stored. */
  readonly part?: string;
  /**
   * Of an option of jobs: what stores a job that has it. `hash`: the simple publish script, with a hash for the job. Left out:
   * that script needs nothing more.
   */
  readonly path?: 'hash' | 'extended';
  /** A value that means the same as none. So does an empty list. */
  readonly idle?: unknown;
  /** The only other value than the idle one: that there is the field says it. */
  readonly only?: unknown;
}

/** A field, and whether it is required. */
export interface DeclaredField extends Field {
  readonly isOptional: boolean;
  readonly isNullable: boolean;
}

interface Declaration {
  field?: Field;
  isOptional?: boolean;
  isNullable?: boolean;
  isData?: true;
  stored?: Stored;
}

const OPEN = new Set<object>();
const DECLARED = new Map<object, Map<string, Declaration>>();
const NO_FIELD: Field = { schema: {}, about: '', text: 'text', rule: '', isRight: () => true };

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
    for (const [name, declaration] of DECLARED.get(level) ?? []) {
      const { field = NO_FIELD, isOptional = false, isNullable = false, isData, stored } = declaration;
      const more = { ...(isData && { isData }), ...(stored && { stored }) };
      fields.set(name, { ...field, isOptional, isNullable, ...more });
    }
  }
  FIELDS.set(prototype as object, fields);
  return fields;
}

/** Cache per class. */
const FIELDS = new Map<object, ReadonlyMap<string, DeclaredField>>();

/**
 * Declares a field whose value is valid if `isRight` returns true. `rule` is the message for people, and never contains
 * the value.
 */
export function declare(
  field: Omit<Field, 'text' | 'rule' | 'isRight'> & Partial<Field>,
  rule: string,
  isRight: (value: unknown) => boolean,
): PropertyDecorator {
  return (prototype, name) =>
    declareField(prototype, name, { field: { text: 'text', ...field, rule, isRight } });
}

/** Declares a field of objects, which are read and checked one by one. */
export function declareParts(
  field: Pick<Field, 'about' | 'of' | 'maxItems' | 'minItems'>,
): PropertyDecorator {
  return (prototype, name) => declareField(prototype, name, { field: { ...NO_FIELD, ...field } });
}

/** The field may be omitted. */
export function Optional(): PropertyDecorator {
  return (prototype, name) => declareField(prototype, name, { isOptional: true });
}

/** The field may be null. */
export function Nullable(): PropertyDecorator {
  return (prototype, name) => declareField(prototype, name, { isNullable: true });
}

/** The field has data of a job, or is made from it. */
export function HoldsData(): PropertyDecorator {
  return (prototype, name) => declareField(prototype, name, { isData: true });
}

/** The field is stored. */
export function Stores(stored: Stored): PropertyDecorator {
  return (prototype, name) => declareField(prototype, name, { stored });
}

/** Objects of the class may have further fields, which stay as they are. */
export function Open(): ClassDecorator {
  return (of) => {
    OPEN.add(of);
  };
}

/** True if the class is `Open`. */
export function isOpen(of: FieldsClass): boolean {
  return OPEN.has(of);
}

/** Declares fields that another class has declared. */
export function declareAgain(of: FieldsClass, fields: Iterable<readonly [string, DeclaredField]>): void {
  for (const [name, { isOptional, isNullable, ...field }] of fields)
    declareField(of.prototype as object, name, { field, isOptional, isNullable });
}

function declareField(prototype: object, name: string | symbol, more: Declaration): void {
  const fields = DECLARED.get(prototype) ?? new Map<string, Declaration>();
  DECLARED.set(prototype, fields);
  fields.set(String(name), { ...fields.get(String(name)), ...more });
}

/** An object with the fields of a class, for code that builds it without the class. */
export type Plain<T> = T extends object ? { readonly [K in keyof T]: Plain<T[K]> } : T;
