import { QueueError } from '../domain/errors.js';

/** What to do about an error that Redis or the driver gave. */
export type RedisFault =
  /** It did not run: the slot is moving, Redis is loading, the connection is not there yet. Try again. */
  | 'not_run'
  /** Nobody knows whether it ran: the connection went while it was under way. */
  | 'unknown'
  | 'full'
  | 'disk'
  | 'other';

const NOT_RUN =
  /^not sent\b|^(?:TRYAGAIN|ASK|MOVED|CLUSTERDOWN|LOADING|MASTERDOWN|BUSY)\b|(?:^|-)(?:READONLY|NOREPLICAS)\b|non local key|Stream isn't writeable|Cluster isn't ready|All sentinels are unreachable|Too many Cluster redirections|Failed to refresh slots cache/;
const UNKNOWN =
  /Connection is closed|ECONNRESET|EPIPE|Socket closed|ETIMEDOUT|ECONNREFUSED|UNBLOCKED|connection lost/;

/** Sorts an error by what may be done next. */
export function faultOf(error: unknown): RedisFault {
  const message = error instanceof Error ? error.message : String(error);
  if (/(?:^|\s|-)OOM\b/.test(message)) return 'full';
  if (/MISCONF/.test(message)) return 'disk';
  if (NOT_RUN.test(message)) return 'not_run';
  if (UNKNOWN.test(message)) return 'unknown';
  return 'other';
}

/** The domain's error for a fault that is not tried again; anything that is no fault of the store stays as it is. */
export function toQueueError(pool: string, error: unknown): unknown {
  if (error instanceof QueueError) return error;
  switch (faultOf(error)) {
    case 'full':
      return new QueueError('store_full', `the Redis of pool ${pool} is full`, { cause: error });
    case 'disk':
      return new QueueError('disk_full', `the Redis of pool ${pool} cannot write to its disk`, {
        cause: error,
      });
    case 'not_run':
    case 'unknown':
      return unavailable(pool, error);
    case 'other':
      return error;
  }
}

/** The pool's Redis gave no answer in time, or cannot be reached. */
export function unavailable(pool: string, cause?: unknown): QueueError {
  return new QueueError('pool_unavailable', `the Redis of pool ${pool} is not available`, { cause });
}
