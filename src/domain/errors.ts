import type { JobState } from './job/states.js';

/**
 * Error codes: stable, in snake_case, and visible to clients. A new one fails the build until every API maps it
 * (`Record<ErrorCode, …>` in `src/http`). They have no HTTP status here.
 */
export type ErrorCode =
  | 'invalid_argument'
  | 'pool_not_found'
  | 'job_not_found'
  | 'recurring_not_found'
  | 'job_exists'
  | 'worker_not_found'
  | 'operation_not_found'
  | 'dependency_cycle'
  | 'too_many_dependencies'
  | 'missing_dependency'
  | 'has_dependents'
  | 'not_waiting'
  | 'job_done'
  | 'due_unknown'
  | 'lease_lost'
  | 'leased'
  | 'not_leased'
  | 'unique_key_taken'
  | 'idempotency_key_reused'
  | 'too_many_queues'
  | 'queue_full'
  | 'namespace_full'
  | 'too_many_operations'
  | 'operation_running'
  | 'undo_gone'
  | 'queue_draining'
  | 'queue_not_found'
  | 'queue_not_empty'
  | 'target_not_found'
  | 'variable_not_found'
  | 'target_in_use'
  | 'push_disabled'
  | 'push_key_mismatch'
  | 'token_missing'
  | 'token_invalid'
  | 'verb_missing'
  | 'queue_not_allowed'
  | 'role_missing'
  | 'namespace_not_found'
  | 'rate_limited'
  | 'too_many_waiters'
  | 'too_many_streams'
  | 'overloaded'
  | 'uri_too_long'
  | 'headers_too_large'
  | 'coding_not_supported'
  | 'body_too_large'
  | 'store_full'
  | 'disk_full'
  | 'durability_unavailable'
  | 'not_replicated'
  | 'format_too_old'
  | 'older_servers'
  | 'pool_moving'
  | 'pool_unavailable'
  | 'shutting_down'
  | 'internal';

/** What an error has besides code and message. */
export interface QueueErrorOptions extends ErrorOptions {
  /** What the native API answers in place of the message, which is the text of lmstfy's API: with the remedy. */
  readonly detail?: string;
}

/** An error that clients may see. Every other error is a bug, or is hidden behind `internal`. */
export class QueueError extends Error {
  readonly detail: string | undefined;

  constructor(
    readonly code: ErrorCode,
    message: string,
    options: QueueErrorOptions = {},
  ) {
    super(message, options);
    this.name = new.target.name;
    this.detail = options.detail;
  }
}

/** What a newer data format is needed for. @param remedy besides raising it: "lease without types" */
export function formatTooOld(
  { name, format }: { readonly name: string; readonly format: number },
  what: string,
  since: number,
  remedy: string,
): QueueError {
  return new QueueError(
    'format_too_old',
    `the Redis of pool ${name} has data format ${String(format)}, and ${what} need${what.endsWith('s') ? '' : 's'} ${String(since)}: ${remedy}, or have an operator run \`pumphouse format raise\``,
  );
}

/**
 * A native publish must use the extended path: its queue has defaults for omitted options, or its id is in use by a job
 * that may have expired. Nothing has changed; clients never see this error.
 */
export class ExtendedPathError extends Error {
  constructor() {
    super('the job must be stored on the extended path');
    this.name = new.target.name;
  }
}

/**
 * A publish whose durability could not be confirmed. Its jobs may be stored. Repeated with these ids, they are stored
 * once.
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

/** Dependents that a message names at most. */
const MOST_NAMED = 5;

/** A job with dependents cannot be cancelled without them. Nothing has changed. */
export class DependentsError extends QueueError {
  constructor(
    readonly dependents: readonly string[],
    /** Of a call for many jobs: those that others depend on. */
    readonly ids?: readonly string[],
  ) {
    const named = ids ? `jobs that are not named depend on ${ids.join(', ')}` : 'other jobs depend on it';
    super('has_dependents', `${named}${someOf(dependents)}`);
  }
}

/** Names the first of them. None: the caller may not see them. */
function someOf(ids: readonly string[]): string {
  if (ids.length === 0) return '';
  const more = ids.length > MOST_NAMED ? ', …' : '';
  return `: ${ids.slice(0, MOST_NAMED).join(', ')}${more}`;
}

/** Problems that an error lists at most. */
const MOST_MISSING = 20;

/** Jobs that others were to depend on do not exist, and the call refuses that. Nothing has changed. */
export class MissingDependencyError extends QueueError {
  /** The path of each id, such as `dependsOn[3]`, and what it must be; at most 20. */
  readonly problems: readonly { readonly field: string; readonly rule: string }[];

  /** @param missing paths and ids */
  constructor(missing: readonly (readonly [field: string, id: string])[]) {
    const problems = missing.slice(0, MOST_MISSING).map(([field, id]) => ({ field, rule: missingRule(id) }));
    const [first] = problems;
    const more = missing.length > 1 ? ` (and ${String(missing.length - 1)} more)` : '';
    super('missing_dependency', `${first?.field ?? 'dependsOn'}: ${first?.rule ?? missingRule('')}${more}`);
    this.problems = problems;
  }
}

function missingRule(id: string): string {
  return `must be the id of a job that exists: there is no job ${id}. Publish that job first; a finished job exists while it is kept`;
}

/** Another job holds the unique key of a publish. Nothing has changed. */
export class UniqueKeyTakenError extends QueueError {
  constructor(
    message: string,
    /** The job that holds it; omitted if the caller may not know it. */
    readonly holderId?: string,
  ) {
    super('unique_key_taken', message);
  }
}

/** A lease operation whose lease is not the present one of the job. Nothing has changed. */
export class LeaseLostError extends QueueError {
  /** `revoked`: the lease was revoked; undefined = it ended otherwise, or why is not known. */
  readonly reason: 'revoked' | undefined;

  constructor(
    /** The present state of the job; null = it is gone; omitted = not known. */
    readonly state?: JobState | null,
    { reason, ...options }: ErrorOptions & { readonly reason?: 'revoked' | undefined } = {},
  ) {
    const lost =
      reason === 'revoked'
        ? 'the lease was revoked: stop working on the job'
        : 'this is not the current lease of the job, which was leased again, released or ended: stop working on it';
    super('lease_lost', lost, options);
    this.reason = reason;
  }
}

/** A lease was to be revoked, and the job has none. Nothing has changed. */
export class NotLeasedError extends QueueError {
  constructor(
    /** The present state of the job; null = not known. */
    readonly state: JobState | null,
  ) {
    super('not_leased', `the job is ${state ?? 'not leased'}: only the lease of a leased job can be revoked`);
  }
}

/** The code for each kind of target that a call names. */
const NOT_FOUND = {
  job: 'job_not_found',
  queue: 'queue_not_found',
  'recurring job': 'recurring_not_found',
  worker: 'worker_not_found',
  target: 'target_not_found',
  variable: 'variable_not_found',
  operation: 'operation_not_found',
} as const satisfies Record<string, ErrorCode>;
const GONE = ': acknowledged, deleted, expired and replaced jobs leave no record without retention_ms';
/** Max characters of a name that are repeated: the longest id. */
const MAX_SHOWN = 128;

/** The error for a target that does not exist, or that the caller may not see: both read the same. */
export function notFound(what: keyof typeof NOT_FOUND, name: string): QueueError {
  const shown = name.length > MAX_SHOWN ? `${name.slice(0, MAX_SHOWN)}…` : name;
  return new QueueError(NOT_FOUND[what], `there is no ${what} ${shown}${what === 'job' ? GONE : ''}`);
}

export function jobNotFound(id: string): QueueError {
  return notFound('job', id);
}

/** A request beyond the rate limit of its token; it can be repeated after that time. */
export class RateLimitedError extends QueueError {
  constructor(
    message: string,
    detail: string,
    readonly retryAfterMs: number,
  ) {
    super('rate_limited', message, { detail });
  }
}

/** The error for a publish under an id that is in use. */
export function jobExists(): QueueError {
  return new QueueError('job_exists', 'a job with this id exists', {
    detail:
      'a job with this id exists: if the publish was repeated, nothing is to be done; else choose another id',
  });
}

/** The error for new data of a lease holder that is longer than the present data, or for dependencies, while Redis is full. */
export function noRoomForData(): QueueError {
  return new QueueError('store_full', 'Redis is full: it has no room for longer data, or for dependencies');
}
