/** Changes a value before it is written, such as `JsonText`. */
type Replace = (value: unknown) => unknown;

/**
 * Like `JSON.stringify`, for values nested to any depth: that of JavaScript calls itself for each level, and fails from a few thousand
 * on, while a server may allow 10,000. Values are those of JSON, with undefined members, which are left out.
 */
export function jsonOf(value: unknown, replace?: Replace): string {
  try {
    return replace === undefined
      ? JSON.stringify(value)
      : JSON.stringify(value, (_name, one: unknown) => replace(one));
  } catch (error) {
    // guard: deep-json-is-written
    if (error instanceof RangeError) return deepJson(value, replace ?? ((one) => one));
    throw error;
  }
}

/** The values of a list or an object that are still to be written, and its end. */
interface Level {
  readonly rest: Iterator<readonly [string, unknown]>;
  readonly end: ']' | '}';
  isFirst: boolean;
}

function deepJson(value: unknown, replace: Replace): string {
  const parts: string[] = [];
  const levels: Level[] = [];
  const write = (given: unknown): void => {
    const one = replace(given);
    if (Array.isArray(one))
      begin(
        '[',
        ']',
        one.map((item: unknown) => ['', item ?? null] as const),
      );
    else if (typeof one === 'object' && one !== null && !('toJSON' in one))
      begin(
        '{',
        '}',
        Object.entries(one).filter(([, member]) => member !== undefined),
      );
    else parts.push(JSON.stringify(one));
  };
  const begin = (sign: string, end: Level['end'], values: readonly (readonly [string, unknown])[]): void => {
    parts.push(sign);
    levels.push({ rest: values.values(), end, isFirst: true });
  };
  write(value);
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    const next = level.rest.next();
    if (next.done === true) {
      parts.push(level.end);
      levels.pop();
      continue;
    }
    const [name, one] = next.value;
    if (!level.isFirst) parts.push(',');
    level.isFirst = false;
    if (level.end === '}') parts.push(`${JSON.stringify(name)}:`);
    write(one);
  }
  return parts.join('');
}
