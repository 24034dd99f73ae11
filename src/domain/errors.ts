/**
 * What can go wrong, as stable snake_case codes. They are wire-visible; a new one fails the build until every front
 * door maps it (`Record<ErrorCode, …>` in `src/http`). No HTTP status lives here.
 */
export type ErrorCode =
  | 'invalid_argument'
  | 'pool_not_found'
  | 'job_not_found'
  | 'recurring_not_found'
  | 'job_exists'
  | 'worker_not_found'
  | 'dependency_cycle'
  | 'too_many_dependencies'
  | 'has_dependents'
  | 'not_waiting'
  | 'job_done'
  | 'due_unknown'
  | 'lease_lost'
  | 'unique_key_taken'
  | 'idempotency_key_reused'
  | 'too_many_queues'
  | 'queue_full'
  | 'namespace_full'
  | 'queue_draining'
  | 'queue_not_found'
  | 'queue_not_empty'
  | 'token_missing'
  | 'token_invalid'
  | 'verb_missing'
  | 'queue_not_allowed'
  | 'rate_limited'
  | 'too_many_waiters'
  | 'too_many_streams'
  | 'overloaded'
  | 'uri_too_long'
  | 'body_too_large'
  | 'store_full'
  | 'disk_full'
  | 'durability_unavailable'
  | 'not_replicated'
  | 'pool_moving'
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

/** A native publish that must go by the full lane: its queue has defaults for what it does not say. Nothing has changed; callers never see it. */
export class FullLaneError extends Error {
  constructor() {
    super('the queue has defaults');
    this.name = new.target.name;
  }
}

/**
 * A publish that had to be safe before it was answered, and is not known to be. Its jobs may be stored. Sent again under these ids,
 * they are stored once.
 */
export class UnconfirmedError extends QueueError {
  constructor(
    { code, message }: QueueError,
    readonly jobIds: readonly string[],
    options?: ErrorOptions,
  ) {
    super(code, message, options);
  }
}

/** A job that others depend on is not to be cancelled without them. Nothing has changed. */
export class DependentsError extends QueueError {
  constructor(readonly dependents: readonly string[]) {
    super('has_dependents', `${String(dependents.length)} or more jobs depend on it`);
  }
}

/** A publish whose unique key another job holds. Nothing has changed. */
export class UniqueKeyTakenError extends QueueError {
  constructor(
    message: string,
    /** Who holds it. */
    readonly holderId: string,
  ) {
    super('unique_key_taken', message);
  }
}

export function jobNotFound(id: string): QueueError {
  return new QueueError('job_not_found', `no job ${id}`);
}
