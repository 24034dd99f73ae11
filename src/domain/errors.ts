/**
 * What can go wrong, as stable snake_case codes. They are wire-visible; a new one fails the build until every front
 * door maps it (`Record<ErrorCode, …>` in `src/http`). No HTTP status lives here.
 */
export type ErrorCode =
  | 'invalid_argument'
  | 'pool_not_found'
  | 'job_not_found'
  | 'job_exists'
  | 'lease_lost'
  | 'token_missing'
  | 'token_invalid'
  | 'rate_limited'
  | 'too_many_waiters'
  | 'overloaded'
  | 'uri_too_long'
  | 'body_too_large'
  | 'store_full'
  | 'disk_full'
  | 'pool_unavailable'
  | 'shutting_down'
  | 'internal';

/** An error that callers are meant to see. Everything else is a bug, or is hidden behind `internal`. */
export class QueueError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = new.target.name;
  }
}
