/** Where jobs are: a namespace of a pool. */
export interface Place {
  readonly pool: string;
  readonly namespace: string;
}

export const DEFAULT_POOL = 'default';

/** The path of a call of the API in a namespace. */
export function v1({ namespace }: Place, path: string): string {
  return `/v1/${encodeURIComponent(namespace)}${path}`;
}

/** The pool as arguments of `pumphouse`, for commands without a token: none for the default one. */
export function poolArgs({ pool }: Place): string[] {
  return pool === DEFAULT_POOL ? [] : ['--pool', pool];
}
