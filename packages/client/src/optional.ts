/** The fields of an object, each of which may be left out or undefined: both mean the same. */
export type Optional<T> = { readonly [K in keyof T]?: T[K] | undefined };

/** The same options without `undefined`, also in their own fields. */
export type Given<T> = T extends readonly unknown[] | Date | Uint8Array
  ? T
  : T extends object
    ? { [K in keyof T]: Given<Exclude<T[K], undefined>> }
    : T;

/** An object without its undefined fields, which would hide a default. */
export function definedOf<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const defined = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(defined) as { [K in keyof T]: Exclude<T[K], undefined> };
}

/**
 * Refuses options that do not exist. A misspelt one would have no effect, without a sign of it.
 *
 * @param known an object with all of them
 * @throws {TypeError} it names the option, and those that there are
 */
export function checkNames(what: string, options: object, known: object): void {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(known, name));
  if (/* guard: client-options-exist */ unknown !== undefined)
    throw new TypeError(`${what}: unknown option ${unknown}; known: ${Object.keys(known).join(', ')}`);
}
