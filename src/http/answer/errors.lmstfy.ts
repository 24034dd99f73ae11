import { HttpException, type HttpStatus } from '@nestjs/common';
import { type ErrorCode, QueueError, UnconfirmedError } from '../../domain/errors.js';
import type { Log } from '../../domain/log.js';
import { asciiJson } from '../../contract/json/ascii-json.js';
import type { ApiErrors, RequestContext } from '../request/request-context.js';
import { OVERLOADED_JSON, type Refusal, refuse, RETRY_SOON, withJobIds } from './refuse.js';

const unavailable: Refusal = {
  status: 503,
  json: '{"error":"service unavailable"}',
  headers: RETRY_SOON,
};
const internal: Refusal = { status: 500, json: '{"error":"internal error"}' };
/** The jobs are stored under these ids, but without the required durability. */
const notReplicated = (ids: readonly string[]): Refusal => ({
  ...unavailable,
  json: asciiJson({ code: 'not_replicated', error: 'service unavailable', job_ids: ids }),
});
const text = (status: number, error: string): Refusal => ({ status, json: asciiJson({ error }) });
/** For errors that lmstfy does not have: its clients get them only with features that they requested or configured. */
const coded = (status: number, code: ErrorCode, error: string): Refusal => ({
  status,
  json: asciiJson({ code, error }),
});

/** lmstfy's answer to each code. Where lmstfy has a body, ours is fixed to it. */
export const REFUSALS: Record<ErrorCode, (message: string) => Refusal> = {
  invalid_argument: (message) => text(400, message),
  pool_not_found: () => text(404, 'pool not found'),
  job_not_found: () => text(404, 'job not found'),
  recurring_not_found: () => text(404, 'no such recurring job'),
  job_exists: () => text(409, 'job exists'),
  worker_not_found: () => text(404, 'worker not found'),
  // Only for the native API; no lmstfy call causes these.
  dependency_cycle: (message) => coded(400, 'dependency_cycle', message),
  too_many_dependencies: (message) => coded(400, 'too_many_dependencies', message),
  missing_dependency: (message) => coded(409, 'missing_dependency', message),
  has_dependents: (message) => coded(409, 'has_dependents', message),
  not_waiting: (message) => coded(409, 'not_waiting', message),
  not_leased: (message) => coded(409, 'not_leased', message),
  job_done: (message) => coded(409, 'job_done', message),
  due_unknown: (message) => coded(409, 'due_unknown', message),
  lease_lost: () => text(409, 'lease lost'),
  leased: () => text(409, 'job is leased'),
  unique_key_taken: () => text(409, 'unique key taken'),
  idempotency_key_reused: (message) => coded(422, 'idempotency_key_reused', message),
  // An empty queue is removed within a minute; consumers may free capacity at any moment.
  too_many_queues: (message) => coded(429, 'too_many_queues', message),
  queue_full: (message) => ({ ...coded(429, 'queue_full', message), headers: RETRY_SOON }),
  queue_draining: (message) => coded(409, 'queue_draining', message),
  queue_not_found: (message) => coded(404, 'queue_not_found', message),
  queue_not_empty: (message) => coded(409, 'queue_not_empty', message),
  target_not_found: (message) => coded(404, 'target_not_found', message),
  variable_not_found: (message) => coded(404, 'variable_not_found', message),
  target_in_use: (message) => coded(409, 'target_in_use', message),
  push_disabled: (message) => coded(409, 'push_disabled', message),
  push_key_mismatch: (message) => coded(409, 'push_key_mismatch', message),
  namespace_full: (message) => ({ ...coded(429, 'namespace_full', message), headers: RETRY_SOON }),
  token_missing: () => text(401, 'token not found'),
  token_invalid: () => text(401, 'invalid token'),
  // lmstfy's tokens may do everything: its clients get these only with tokens that were restricted on purpose.
  verb_missing: (message) => coded(403, 'verb_missing', message),
  queue_not_allowed: (message) => coded(403, 'queue_not_allowed', message),
  // Accounts make no calls of lmstfy's API.
  role_missing: (message) => coded(403, 'role_missing', message),
  namespace_not_found: (message) => coded(404, 'namespace_not_found', message),
  rate_limited: (message) => ({ status: 429, json: asciiJson({ msg: message }) }),
  too_many_waiters: (message) => ({
    status: 429,
    json: asciiJson({ code: 'too_many_waiters', msg: message }),
    headers: RETRY_SOON,
  }),
  // No lmstfy call opens a stream, starts an operation, or needs a pool that is not migrating.
  too_many_operations: (message) => coded(429, 'too_many_operations', message),
  operation_running: (message) => coded(409, 'operation_running', message),
  undo_gone: (message) => coded(409, 'undo_gone', message),
  operation_not_found: (message) => coded(404, 'operation_not_found', message),
  too_many_streams: (message) => coded(429, 'too_many_streams', message),
  format_too_old: (message) => coded(409, 'format_too_old', message),
  older_servers: (message) => coded(409, 'older_servers', message),
  pool_moving: () => unavailable,
  overloaded: () => ({ ...unavailable, json: OVERLOADED_JSON }),
  uri_too_long: () => text(414, 'request URI too long'),
  headers_too_large: () => text(431, 'request header fields too large'),
  coding_not_supported: (message) => text(501, message),
  body_too_large: (message) => text(413, message),
  store_full: () => text(507, 'store is full'),
  disk_full: () => ({ ...unavailable, json: '{"code":"disk_full","error":"service unavailable"}' }),
  durability_unavailable: (message) => ({
    ...unavailable,
    json: asciiJson({ code: 'durability_unavailable', error: message }),
  }),
  not_replicated: () => notReplicated([]),
  // No lmstfy call needs a pool that is not migrating.
  pool_unavailable: () => unavailable,
  shutting_down: () => unavailable,
  internal: () => internal,
};

/** An error of lmstfy's wire format that no other API has. */
export class LmstfyException extends HttpException {
  constructor(status: HttpStatus, error: string) {
    super(error, status);
  }
}

/** Converts any error to its response; undefined for a bug, whose details callers must not see. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof UnconfirmedError) {
    const { code, message, jobIds } = error;
    return withJobIds(code === 'not_replicated' ? notReplicated(jobIds) : REFUSALS[code](message), jobIds);
  }
  if (error instanceof QueueError) return REFUSALS[error.code](error.message);
  if (error instanceof LmstfyException) return text(error.getStatus(), error.message);
  const status = statusOf(error);
  if (status === undefined || status >= 500) return undefined;
  return status === 404 ? text(404, 'api not found') : text(status, 'bad request');
}

function statusOf(error: unknown): number | undefined {
  if (error instanceof HttpException) return error.getStatus();
  // Fastify's own errors, for example a URL that cannot be decoded.
  if (error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number')
    return error.statusCode;
  return undefined;
}

/** Error responder of the lmstfy API. */
export class LmstfyErrors implements ApiErrors {
  constructor(private readonly log: Log) {}

  refuse(error: unknown, context: RequestContext): void {
    const refusal = refusalOf(error);
    if (refusal === undefined || (error instanceof QueueError && error.code === 'internal')) {
      this.log.error({ err: error, request_id: context.requestId }, 'request failed');
    }
    refuse(context, refusal ?? internal);
  }
}
