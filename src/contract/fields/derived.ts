import { type DeclaredField, declareAgain, type FieldsClass, fieldsOf } from './field.js';

/* Classes whose fields another class declares: what it says of them is not repeated. */

/**
 * Some fields of a class, with what it says of them, in the order of `names`.
 *
 * @param about what some of them mean here instead
 */
export function pick<T extends object, K extends keyof T & string>(
  of: FieldsClass<T>,
  names: readonly K[],
  about: { readonly [N in NoInfer<K>]?: string } = {},
): FieldsClass<Pick<T, K>> {
  const fields = fieldsOf(of);
  return derived(
    [of],
    names.flatMap((name) => entryOf(name, fields.get(name), about[name])),
  ) as FieldsClass<Pick<T, K>>;
}

/** The fields of a class but for some. */
export function omit<T extends object, K extends keyof T & string>(
  of: FieldsClass<T>,
  names: readonly K[],
): FieldsClass<Omit<T, K>> {
  const left: ReadonlySet<string> = new Set(names);
  return derived(
    [of],
    [...fieldsOf(of)].filter(([name]) => !left.has(name)),
  ) as FieldsClass<Omit<T, K>>;
}

/** All fields of a class, each present or null. @param meaning of null, as "no limit" */
export function orNull<T extends object>(
  of: FieldsClass<T>,
  meaning: string,
): FieldsClass<{ [K in keyof T]-?: Exclude<T[K], undefined> | null }> {
  const fields = [...fieldsOf(of)].map(([name, field]) => {
    const about = `${field.about.replace(/\.$/, '')}; null: ${meaning}.`;
    return [name, { ...field, about, isOptional: false, isNullable: true }] as const;
  });
  return derived([of], fields) as FieldsClass<{ [K in keyof T]-?: Exclude<T[K], undefined> | null }>;
}

/** All fields of a class, none of which may be left out. */
export function required<T extends object>(of: FieldsClass<T>): FieldsClass<Required<T>> {
  const fields = [...fieldsOf(of)].map(([name, field]) => [name, { ...field, isOptional: false }] as const);
  return derived([of], fields) as FieldsClass<Required<T>>;
}

/** All fields of a class, each of which may be left out. */
export function optional<T extends object>(of: FieldsClass<T>): FieldsClass<Partial<T>> {
  const fields = [...fieldsOf(of)].map(([name, field]) => [name, { ...field, isOptional: true }] as const);
  return derived([of], fields);
}

/** All fields of a class, for a change: each may be left out, or null. */
export function changesOf<T extends object>(
  of: FieldsClass<T>,
): FieldsClass<{ [K in keyof T]?: T[K] | null }> {
  const fields = [...fieldsOf(of)].map(
    ([name, field]) => [name, { ...field, isOptional: true, isNullable: true }] as const,
  );
  return derived([of], fields);
}

/** The fields of two classes. */
export function join<A extends object, B extends object>(
  one: FieldsClass<A>,
  other: FieldsClass<B>,
): FieldsClass<A & B> {
  return derived([one, other], [...fieldsOf(one), ...fieldsOf(other)]) as FieldsClass<A & B>;
}

type Entry = readonly [string, DeclaredField];

function entryOf(name: string, field: DeclaredField | undefined, about = field?.about ?? ''): Entry[] {
  return field === undefined ? [] : [[name, { ...field, about }]];
}

/** A class with such fields, and with the defaults that the classes have for them. */
function derived(classes: readonly FieldsClass[], fields: readonly Entry[]): FieldsClass {
  const names: ReadonlySet<string> = new Set(fields.map(([name]) => name));
  const defaults = classes
    .flatMap((of) => Object.entries(new of()))
    .filter(([name, value]) => names.has(name) && value !== undefined);
  const Derived = class extends Object {
    constructor() {
      super();
      for (const [name, value] of defaults) Reflect.set(this, name, value);
    }
  };
  declareAgain(Derived, fields);
  return Derived;
}
