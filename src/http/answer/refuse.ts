import { answer } from './answer.js';
import type { RequestContext } from '../request/request-context.js';
import { lingerThenEnd, restOf } from '../request/unread-body.js';

/** Seconds that a client should wait when Redis is unavailable, or when the server is overloaded. */
const RETRY_AFTER_S = 1;
/** The Retry-After header with this value. */
export const RETRY_SOON = ['Retry-After', String(RETRY_AFTER_S)] as const;
/** lmstfy's body of a 503, with a code. */
export const OVERLOADED_JSON = '{"code":"overloaded","error":"service unavailable"}';

/** An error response: its status and JSON body, and when to retry, if that may help. */
export interface Refusal {
  readonly status: number;
  readonly json: string;
  /** Content type; default plain JSON. */
  readonly type?: string;
  /** Further header names and values, alternating. */
  readonly headers?: readonly string[];
}

/**
 * Header with the ids of jobs of a publish that may be stored: in its error response, and in the request that repeats
 * it.
 */
export const JOB_ID_HEADER = 'X-Job-ID';

/** Adds the ids under which the jobs should be sent again. */
export function withJobIds(refusal: Refusal, ids: readonly string[]): Refusal {
  return { ...refusal, headers: [...(refusal.headers ?? []), JOB_ID_HEADER, ids.join(',')] };
}

/**
 * Sends an error response, even while the client still sends its body. If an answer has started already, only ends the
 * connection.
 */
export function refuse(context: RequestContext, { status, json, type, headers }: Refusal): void {
  const { request, response } = context;
  if (response.headersSent) {
    // A started answer cannot be revoked: the client must not wait for the rest of it.
    if (!response.writableEnded) response.destroy();
    return;
  }
  const rest = restOf(request);
  if (rest === 'close' || rest === 'linger') response.shouldKeepAlive = false;
  answer(context, status, json, {
    ...(type === undefined ? {} : { type }),
    ...(headers === undefined ? {} : { headers }),
    last: rest !== 'linger',
  });
  if (rest === 'linger') lingerThenEnd(request, response);
}
