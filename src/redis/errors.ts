import { QueueError } from '../domain/errors.js';

/** What to do after an error of Redis or of the driver. */
export type RedisFault =
  /** It did not run: the slot is moving, Redis is loading, or there is no connection yet. Retry. */
  | 'not_run'
  /** It is unknown whether it ran: the connection was lost while it was in progress. */
  | 'unknown'
  | 'full'
  | 'disk'
  /** The Redis user lacks a right. */
  | 'denied'
  | 'other';

const NOT_RUN =
  /^not sent\b|^(?:TRYAGAIN|ASK|MOVED|CLUSTERDOWN|LOADING|MASTERDOWN|BUSY)\b|(?:^|-)(?:READONLY|NOREPLICAS)\b|non local key|Stream isn't writeable|Cluster isn't ready|All sentinels are unreachable|Too many Cluster redirections|Failed to refresh slots cache/;
/** Of a command; of one in a script, since Redis 7 and before. */
const DENIED =
  /^(?:NOPERM|WRONGPASS|NOAUTH)\b|ACL failure in script|can't run this command or subcommand|-NOPERM\b/;
const UNKNOWN =
  /Connection is closed|ECONNRESET|EPIPE|Socket closed|ETIMEDOUT|ECONNREFUSED|UNBLOCKED|connection lost/;

/** In these, Redis says in which state it is. */
const STATES = /(?:^|\s|-)(?:READONLY|LOADING|NOREPLICAS|MASTERDOWN|MISCONF)\b/;

/** True for an error of Redis that says why it cannot be used now. */
export function isStateOfRedis(error: unknown): boolean {
  return error instanceof Error && STATES.test(error.message);
}

/** Classifies an error by what may be done next. */
export function faultOf(error: unknown): RedisFault {
  const message = error instanceof Error ? error.message : String(error);
  if (/(?:^|\s|-)OOM\b/.test(message)) return 'full';
  if (/MISCONF/.test(message)) return 'disk';
  if (/* guard: denied-is-unavailable */ DENIED.test(message)) return 'denied';
  if (NOT_RUN.test(message)) return 'not_run';
  if (UNKNOWN.test(message)) return 'unknown';
  return 'other';
}

/** The domain's error for a fault that is not retried; errors that are not faults of the store stay unchanged. */
export function toQueueError(pool: string, error: unknown): unknown {
  if (error instanceof QueueError) return error;
  switch (faultOf(error)) {
    case 'full':
      return storeFull(pool, error);
    case 'disk':
      return new QueueError('disk_full', `the Redis of pool ${pool} cannot write to its disk`, {
        cause: error,
      });
    case 'not_run':
    case 'unknown':
    case 'denied':
      return unavailable(pool, error);
    case 'other':
      return error;
  }
}

/** The error for a Redis that has reached its `maxmemory`. */
export function storeFull(pool: string, cause?: unknown): QueueError {
  return new QueueError('store_full', `the Redis of pool ${pool} is full`, { cause });
}

/** The error for a Redis that gave no reply in time, or cannot be reached. */
export function unavailable(pool: string, cause?: unknown): QueueError {
  return new QueueError('pool_unavailable', `the Redis of pool ${pool} is not available`, { cause });
}
