import { answer } from './answer.js';
import type { Exchange } from './exchange.js';
import { lingerThenEnd, restOf } from './unread-body.js';

/** Seconds that a client should wait when Redis is away, or when there is too much to do. */
const RETRY_AFTER_S = 1;
/** The header that says so. */
export const RETRY_SOON = ['Retry-After', String(RETRY_AFTER_S)] as const;
/** lmstfy's body of a 503, with what it is about. */
export const OVERLOADED_JSON = '{"code":"overloaded","error":"service unavailable"}';

/** An answer that says no: its status and its JSON body, and how long to wait before the next attempt, if that may help. */
export interface Refusal {
  readonly status: number;
  readonly json: string;
  /** The body's type; plain JSON if it is left out. */
  readonly type?: string;
  /** Further header names and values in turn. */
  readonly headers?: readonly string[];
}

/** The header that names the jobs of a publish that may be stored: in its refusal, and in the request that sends it again. */
export const JOB_ID_HEADER = 'X-Job-ID';

/** A refusal that tells under which ids to send the jobs again. */
export function withJobIds(refusal: Refusal, ids: readonly string[]): Refusal {
  return { ...refusal, headers: [...(refusal.headers ?? []), JOB_ID_HEADER, ids.join(',')] };
}

/** Sends a refusal, whatever the client still has to say. Does nothing but end the connection if an answer has begun already. */
export function refuse(exchange: Exchange, { status, json, type, headers }: Refusal): void {
  const { request, response } = exchange;
  if (response.headersSent) {
    // What has begun cannot be taken back: the client must not wait for the rest of it.
    if (!response.writableEnded) response.destroy();
    return;
  }
  const rest = restOf(request);
  if (rest === 'close' || rest === 'linger') response.shouldKeepAlive = false;
  answer(exchange, status, json, {
    ...(type === undefined ? {} : { type }),
    ...(headers === undefined ? {} : { headers }),
    last: rest !== 'linger',
  });
  if (rest === 'linger') lingerThenEnd(request, response);
}
