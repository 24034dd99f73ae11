import { STATUS_CODES } from 'node:http';
import { HttpException } from '@nestjs/common';
import {
  DependentsError,
  type ErrorCode,
  LeaseLostError,
  MissingDependencyError,
  NotLeasedError,
  QueueError,
  RateLimitedError,
  UnconfirmedError,
  UniqueKeyTakenError,
} from '../../domain/errors.js';
import {
  ArgumentError,
  type FieldProblem,
  HeaderError,
  InputError,
  summaryOf,
} from '../../contract/fields/problems.js';
import type { Log } from '../../domain/log.js';
import { type Facts, toWire, wirePath } from '../../contract/fields/wire.js';
import { asciiJson } from '../../contract/json/ascii-json.js';
import type { ApiErrors, RequestContext } from '../request/request-context.js';
import { Problem } from './problem.v1.js';
import { type Refusal, refuse, RETRY_SOON, withJobIds } from './refuse.js';
import type { AllowedMethods } from '../allowed-methods.js';

const PROBLEM_TYPE = 'application/problem+json';
const MS_PER_S = 1_000;
/** Errors caused by the client that may disappear soon, so that a retry makes sense. */
const SOON_OVER = new Set<ErrorCode>([
  'queue_full',
  'namespace_full',
  'rate_limited',
  'too_many_operations',
  'too_many_waiters',
  'too_many_streams',
]);

/* Details of errors whose messages have what callers must not see, such as the name of a pool: what happened, and what to do. */
const OVERLOADED =
  'the server has reached its limit of requests in progress, and has done nothing: repeat the request after Retry-After';
const STORE_FULL =
  'Redis has reached its maxmemory: let workers end jobs, or cancel or purge some; then repeat the request';
const DISK_FULL =
  'Redis cannot write to its disk: repeat the request after Retry-After, when there is space again';
const NO_DURABILITY =
  'the pool cannot provide the requested durability now, and nothing was stored: repeat the request after Retry-After, or ask for less (X-Durability: memory)';
const NOT_REPLICATED =
  'the job is stored, but its durability was not confirmed in time: repeat the request with the header X-Job-ID of this answer';
const UNAVAILABLE =
  'Redis did not answer in time, and the call may have taken effect: repeat it after Retry-After; a publish with an Idempotency-Key is stored once';
const SHUTTING_DOWN = 'the server is shutting down: repeat the request on a new connection';
const UNREADABLE =
  'the path cannot be decoded: a % needs two hexadecimal digits behind it, and the bytes must be UTF-8';
const PATHS = 'Paths begin with /v1/:namespace/, and /docs lists them';
const INTERNAL = 'internal error, a bug of the server: report it with the X-Request-Id of this answer';

/** The status of each code, and a fixed detail text for codes whose message callers must not see. */
export const PROBLEMS: Readonly<Record<ErrorCode, { readonly status: number; readonly detail?: string }>> = {
  invalid_argument: { status: 400 },
  pool_not_found: { status: 404 },
  job_not_found: { status: 404 },
  recurring_not_found: { status: 404 },
  job_exists: { status: 409 },
  worker_not_found: { status: 404 },
  operation_not_found: { status: 404 },
  dependency_cycle: { status: 400 },
  too_many_dependencies: { status: 400 },
  missing_dependency: { status: 409 },
  has_dependents: { status: 409 },
  not_waiting: { status: 409 },
  job_done: { status: 409 },
  due_unknown: { status: 409 },
  lease_lost: { status: 409 },
  leased: { status: 409 },
  not_leased: { status: 409 },
  unique_key_taken: { status: 409 },
  idempotency_key_reused: { status: 422 },
  too_many_queues: { status: 429 },
  queue_full: { status: 429 },
  namespace_full: { status: 429 },
  too_many_operations: { status: 429 },
  operation_running: { status: 409 },
  undo_gone: { status: 409 },
  queue_draining: { status: 409 },
  queue_not_found: { status: 404 },
  queue_not_empty: { status: 409 },
  target_not_found: { status: 404 },
  variable_not_found: { status: 404 },
  target_in_use: { status: 409 },
  push_disabled: { status: 409 },
  push_key_mismatch: { status: 409 },
  token_missing: { status: 401 },
  token_invalid: { status: 401 },
  verb_missing: { status: 403 },
  queue_not_allowed: { status: 403 },
  role_missing: { status: 403 },
  namespace_not_found: { status: 404 },
  rate_limited: { status: 429 },
  too_many_waiters: { status: 429 },
  too_many_streams: { status: 429 },
  overloaded: { status: 503, detail: OVERLOADED },
  uri_too_long: { status: 414 },
  headers_too_large: { status: 431 },
  coding_not_supported: { status: 501 },
  body_too_large: { status: 413 },
  store_full: { status: 507, detail: STORE_FULL },
  disk_full: { status: 503, detail: DISK_FULL },
  durability_unavailable: { status: 503, detail: NO_DURABILITY },
  not_replicated: { status: 503, detail: NOT_REPLICATED },
  format_too_old: { status: 409 },
  older_servers: { status: 409 },
  pool_moving: { status: 503 },
  pool_unavailable: { status: 503, detail: UNAVAILABLE },
  shutting_down: { status: 503, detail: SHUTTING_DOWN },
  internal: { status: 500, detail: INTERNAL },
};

/** True if the answer of the native API has the header `Retry-After`. */
export function hasRetryAfter(code: ErrorCode): boolean {
  return PROBLEMS[code].status === 503 || SOON_OVER.has(code);
}

/** The status of each code of errors that occur before a route is found. */
export const HTTP_PROBLEMS = { bad_request: 400, not_found: 404, method_not_allowed: 405 } as const;
export type HttpCode = keyof typeof HTTP_PROBLEMS;

/** Error responder of the native API: problem details by RFC 9457. */
export class V1Errors implements ApiErrors {
  constructor(
    private readonly log: Log,
    private readonly methods: AllowedMethods,
  ) {}

  refuse(error: unknown, context: RequestContext): void {
    const known = error instanceof QueueError ? ofQueueError(error) : this.ofHttp(error, context);
    if (known === undefined || known.status === 500) {
      this.log.error({ err: error, request_id: context.requestId }, 'request failed');
    }
    refuse(context, known ?? problem(500, 'internal', INTERNAL));
  }

  /** @returns undefined for a bug */
  private ofHttp(error: unknown, { request }: RequestContext): Refusal | undefined {
    const status = statusOf(error);
    if (status === undefined || status >= 500) return undefined;
    if (status !== 404) return problem(status, 'bad_request', UNREADABLE);
    const allowed = this.methods.methodsOf(request.url ?? '');
    if (allowed.length === 0) {
      const similar = this.methods.similarTo(request.url ?? '');
      const meant = similar === undefined ? '.' : `; did you mean ${similar}?`;
      return problem(404, 'not_found', `unknown path${meant} ${PATHS}`);
    }
    const detail = `method ${request.method ?? ''} not allowed; allowed: ${allowed.join(', ')}`;
    const refusal = problem(405, 'method_not_allowed', detail);
    return { ...refusal, headers: ['Allow', allowed.join(', ')] };
  }
}

function ofQueueError(error: QueueError): Refusal {
  const { status, detail } = PROBLEMS[error.code];
  const errors = problemsOf(error);
  const more = {
    errors,
    dependents: error instanceof DependentsError ? error.dependents : undefined,
    state: error instanceof LeaseLostError || error instanceof NotLeasedError ? error.state : undefined,
    reason: error instanceof LeaseLostError ? error.reason : undefined,
    holderId: error instanceof UniqueKeyTakenError ? error.holderId : undefined,
  };
  const refusal = problem(
    status,
    error.code,
    detail ?? (errors ? summaryOf(errors) : (error.detail ?? error.message)),
    more,
  );
  if (!hasRetryAfter(error.code)) return refusal;
  const later = { ...refusal, headers: error instanceof RateLimitedError ? retryAfter(error) : RETRY_SOON };
  return error instanceof UnconfirmedError ? withJobIds(later, error.jobIds) : later;
}

/** Whole seconds, rounded up: what comes earlier is refused again. */
function retryAfter({ retryAfterMs }: RateLimitedError): readonly string[] {
  return ['Retry-After', String(Math.ceil(retryAfterMs / MS_PER_S))];
}

function problemsOf(error: QueueError): readonly FieldProblem[] | undefined {
  if (error instanceof InputError) return error.problems;
  if (error instanceof HeaderError) return [{ field: error.header, rule: error.rule }];
  if (error instanceof ArgumentError) return [{ field: wirePath(error.field), rule: error.rule }];
  if (error instanceof MissingDependencyError)
    return error.problems.map(({ field, rule }) => ({ field: wirePath(field), rule }));
  return undefined;
}

function problem(
  status: number,
  code: ErrorCode | HttpCode,
  detail: string,
  more: Pick<Facts<Problem>, 'errors' | 'dependents' | 'state' | 'reason' | 'holderId'> = {},
): Refusal {
  // `about:blank` means that the title is that of the status; `code` is more specific.
  const title = STATUS_CODES[status] ?? '';
  const json = asciiJson(toWire(Problem, { code, detail, ...more, status, title, type: 'about:blank' }));
  return { status, json, type: PROBLEM_TYPE };
}

function statusOf(error: unknown): number | undefined {
  if (error instanceof HttpException) return error.getStatus();
  // Fastify's own errors.
  if (error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number')
    return error.statusCode;
  return undefined;
}
