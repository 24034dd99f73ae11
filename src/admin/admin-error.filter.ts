import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  type HttpStatus,
  Inject,
} from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { type ErrorCode, QueueError } from '../domain/errors.js';
import { LOG, type Log } from '../domain/log.js';

/** `Retry-After`, in seconds, while Redis is unreachable. */
const RETRY_AFTER_S = 1;

/** Of a call with a token. lmstfy has no paths of this kind. */
const OTHER_PORT = ': this is the admin port; the API is at server.port, 7777 by default\n';

/** HTTP status of each error code on the admin port. */
const STATUS: Record<ErrorCode, number> = {
  invalid_argument: 400,
  // lmstfy's status: the pool is a parameter here.
  pool_not_found: 400,
  job_not_found: 404,
  recurring_not_found: 404,
  operation_not_found: 404,
  job_exists: 409,
  worker_not_found: 404,
  dependency_cycle: 400,
  too_many_dependencies: 400,
  missing_dependency: 409,
  has_dependents: 409,
  not_waiting: 409,
  not_leased: 409,
  job_done: 409,
  due_unknown: 409,
  lease_lost: 409,
  leased: 409,
  unique_key_taken: 409,
  idempotency_key_reused: 422,
  too_many_queues: 429,
  queue_full: 429,
  namespace_full: 429,
  too_many_operations: 429,
  operation_running: 409,
  undo_gone: 409,
  queue_draining: 409,
  queue_not_found: 404,
  queue_not_empty: 409,
  target_not_found: 404,
  variable_not_found: 404,
  target_in_use: 409,
  push_disabled: 409,
  push_key_mismatch: 409,
  token_missing: 404,
  token_invalid: 404,
  verb_missing: 403,
  queue_not_allowed: 403,
  role_missing: 403,
  namespace_not_found: 404,
  rate_limited: 429,
  too_many_waiters: 429,
  too_many_streams: 429,
  overloaded: 503,
  uri_too_long: 414,
  headers_too_large: 431,
  coding_not_supported: 501,
  body_too_large: 413,
  store_full: 507,
  disk_full: 503,
  durability_unavailable: 503,
  not_replicated: 503,
  format_too_old: 409,
  older_servers: 409,
  pool_moving: 503,
  pool_unavailable: 503,
  shutting_down: 503,
  internal: 500,
};

/** An error whose body differs from all others, as in lmstfy. It is sent as it is. */
export class AdminException extends HttpException {
  constructor(
    status: HttpStatus,
    readonly body: object | null,
  ) {
    super('', status);
  }
}

/** Answers errors on the admin port with lmstfy's messages where lmstfy has them. Hides the details of unexpected errors. */
@Catch()
export class AdminErrorFilter implements ExceptionFilter {
  constructor(@Inject(LOG) private readonly log: Log) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    if (reply.sent) return;
    const status = statusOf(error);
    if (status === 404 && !(error instanceof QueueError || error instanceof AdminException)) {
      const hint = reply.request.url.startsWith('/v1/') ? OTHER_PORT : '';
      void reply.code(404).type('text/plain').send(`404 page not found${hint}`);
      return;
    }
    if (status === 503) void reply.header('Retry-After', String(RETRY_AFTER_S));
    if (status === 500) this.log.error({ err: error, request_id: reply.request.id }, 'admin request failed');
    const json = JSON.stringify(
      error instanceof AdminException ? error.body : { error: textOf(error, status) },
    );
    // The route may have set a text content type already.
    void reply.code(status).type('application/json; charset=utf-8').send(json);
  }
}

function statusOf(error: unknown): number {
  if (error instanceof QueueError) return STATUS[error.code];
  if (error instanceof HttpException) return error.getStatus();
  // Errors of Fastify: a body that is too large, a path that cannot be decoded.
  if (error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number') {
    return error.statusCode < 500 ? error.statusCode : 500;
  }
  return 500;
}

function textOf(error: unknown, status: number): string {
  if (status === 503) return 'service unavailable';
  if (status >= 500 && status !== 507) return 'internal error';
  if (error instanceof QueueError) return error.message;
  return status === 413 ? 'body too large' : 'bad request';
}
