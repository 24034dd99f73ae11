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

/** Names with their scores, in order: RESP2 answers a flat list, RESP3 pairs. */
export function scoresOf(found: unknown): [string, number][] {
  const flat = Array.isArray(found) ? (found as unknown[]).flat() : [];
  const pairs: [string, number][] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) pairs.push([String(flat[i]), Number(String(flat[i + 1]))]);
  return pairs;
}

function bytesOf(value: unknown): Buffer {
  return Buffer.isBuffer(value) ? value : Buffer.from(String(value));
}
