import type { Answer } from './app.js';
import { app, call, given } from './native-api.js';
import { waitFor } from './redis.js';

/** An operation as an answer shows it. */
export interface Operation {
  readonly id: string;
  readonly state: string;
  readonly reason: string | null;
  readonly done: number;
  readonly ended_at: string;
  readonly undo: Undo | null;
  readonly [field: string]: unknown;
}

interface Undo {
  readonly state: string;
  readonly restored: number;
  readonly failed: number;
  readonly message: string | null;
  readonly refusals: readonly { readonly reason: string; readonly jobs: number }[];
  readonly [field: string]: unknown;
}

/** Makes a token with a query of the admin call. */
export async function token(query: string): Promise<string> {
  const { json } = await app.admin('POST', `/token/${app.namespace}?description=x&${query}`);
  return (json as { token: string }).token;
}

export function start(body: object, by?: string, headers: Record<string, string> = {}): Promise<Answer> {
  return call('POST', 'operations', body, { ...(by === undefined ? {} : { token: by }), headers });
}

/** An operation when it has ended, and its undo. */
export async function ended(id: string): Promise<Operation> {
  const get = (): Promise<Operation> => given('GET', `operations/${id}`);
  await waitFor(async () => {
    const { state, undo } = await get();
    return state !== 'running' && undo?.state !== 'running';
  });
  return get();
}

export async function run(body: object, by?: string): Promise<Operation> {
  const { status, json, text } = await start(body, by);
  if (status !== 202) throw new Error(`${String(status)} ${text}`);
  return ended((json as Operation).id);
}
