/** A flat list of fields and values of a reply, as a map; empty if it is no list. */
export function fieldsOf(list: unknown): Map<string, Buffer> {
  const fields = new Map<string, Buffer>();
  const flat: readonly unknown[] = Array.isArray(list) ? list : [];
  for (let i = 0; i + 1 < flat.length; i += 2) fields.set(String(flat[i]), bytesOf(flat[i + 1]));
  return fields;
}

/** The same with values that are texts. */
export function textsOf(list: unknown): Map<string, string> {
  return new Map([...fieldsOf(list)].map(([field, value]) => [field, value.toString()]));
}

function bytesOf(value: unknown): Buffer {
  return Buffer.isBuffer(value) ? value : Buffer.from(String(value));
}
