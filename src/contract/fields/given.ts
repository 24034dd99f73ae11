/** Optional fields of `T` may also be undefined. */
type Loose<T> = {
  readonly [K in keyof T]: Partial<Pick<T, K>> extends Pick<T, K> ? T[K] | undefined : T[K];
};

/** Removes undefined fields: what a request omitted stays omitted. */
export function given<T extends object>(values: Loose<T>): T {
  const rest: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(values)) if (value !== undefined) rest[name] = value;
  return rest as T;
}
