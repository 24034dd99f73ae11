import { signal } from '@preact/signals';
import type { Call } from './lines.js';
import { DEFAULT_POOL, type Place, v1 } from './place.js';

/* Every request of the console goes through `call`. The page is at PREFIX/ui/, and the calls of the admin port beside it. */

/** An answer that is no success; status 0 = no answer. */
export class CallError extends Error {
  constructor(
    readonly status: number,
    /** The code of the API; empty if the answer has none. */
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** An answer with its text as it came. */
export interface Reply<Body> {
  readonly body: Body;
  readonly text: string;
}

/** True: the server wants a sign-in before it answers. */
export const needsSignIn = signal(false);

/** Longest time that most calls may take, in milliseconds: a purge answers after five seconds. */
const LIMIT_MS = 20_000;

/** What only some calls have. */
interface More {
  /** Longest time that it may take, in milliseconds. */
  readonly limitMs?: number | undefined;
  /** The server does the same call with the same key once. */
  readonly idempotencyKey?: string | undefined;
}

/** The header that shows the server that this page made the request, and no other site. */
const OWN_HEADER = 'X-Pumphouse-Console';

/** A call as `fetch` takes it. */
interface Sent {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly request: RequestInit;
}

/** Makes a request of a call. @param pool of the namespace in a path of the API */
export function requestOf({ method, path, body }: Call, pool: string): Sent {
  const headers = {
    [OWN_HEADER]: '1',
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    ...(pool === DEFAULT_POOL ? {} : { 'X-Pool': pool }),
  };
  const rules = { credentials: 'same-origin', cache: 'no-store', redirect: 'error' } as const;
  const request = { method, ...rules, ...(body === undefined ? {} : { body }) };
  return { url: new URL(`..${path}`, document.baseURI), headers, request };
}

/** The address of the admin port that this page is from, with its prefix. */
export function adminUrl(): string {
  return new URL('..', document.baseURI).href.replace(/\/$/, '');
}

/** Makes a call. @param pool of the namespace in a path of the API @throws {CallError} */
export async function call<Body>(
  made: Call,
  pool = DEFAULT_POOL,
  signal?: AbortSignal,
  { limitMs = LIMIT_MS, idempotencyKey }: More = {},
): Promise<Reply<Body>> {
  const { url, headers, request } = requestOf(made, pool);
  const limit = AbortSignal.timeout(limitMs);
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      ...request,
      headers: { ...headers, ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }) },
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    });
    text = await response.text();
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new CallError(
      0,
      '',
      limit.aborted ? `the server did not answer within ${limitMs / 1_000} s` : 'the server does not answer',
    );
  }
  if (response.status === 401) needsSignIn.value = true;
  const json = parsed(text);
  if (!response.ok) throw failureOf(response.status, json, text);
  return { body: json as Body, text };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function failureOf(status: number, json: unknown, text: string): CallError {
  const fields = typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {};
  const { error, code, errors } = fields;
  const details = Array.isArray(errors) ? errors.map(problemOf).filter((one) => one !== '') : [];
  const message = typeof error === 'string' ? error : text.slice(0, 300) || `status ${status}`;
  return new CallError(status, typeof code === 'string' ? code : '', [message, ...details].join('\n'));
}

function problemOf(problem: unknown): string {
  const { field, message, error } = (problem ?? {}) as Record<string, unknown>;
  const reason = typeof message === 'string' ? message : typeof error === 'string' ? error : '';
  return typeof field === 'string' && !reason.includes(field) ? `${field}: ${reason}` : reason;
}

/** A `GET` of the admin port. */
export const read = async <Body>(path: string, signal?: AbortSignal): Promise<Body> =>
  (await call<Body>({ method: 'GET', path }, DEFAULT_POOL, signal)).body;

/** A `GET` of the API in a namespace. */
export const readIn = async <Body>(place: Place, path: string, signal?: AbortSignal): Promise<Body> =>
  (await call<Body>({ method: 'GET', path: v1(place, path) }, place.pool, signal)).body;
