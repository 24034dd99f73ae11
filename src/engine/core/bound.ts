type Method = (...args: never[]) => unknown;

/** Methods of an object, which can be called without it. */
export function bound<T, K extends keyof T>(of: T, ...names: readonly K[]): Pick<T, K> {
  const entries = names.map((name) => [name, (of[name] as Method).bind(of)] as const);
  return Object.fromEntries(entries) as Pick<T, K>;
}
