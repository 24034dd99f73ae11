/** A table of a TOML file. */
export type Table = { [key: string]: unknown };

/** True for a table, false for values and lists. */
export function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** What `over` says, and below it what `under` says; lists and values as wholes. */
export function merge(under: Table, over: Table): Table {
  const merged: Table = Object.assign(Object.create(null) as Table, under);
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key];
    merged[key] = isTable(value) ? merge(isTable(below) ? below : {}, value) : value;
  }
  return merged;
}
