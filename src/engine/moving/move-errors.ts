import { QueueError } from '../../domain/errors.js';

/** The error of a call that is refused. @param what is refused */
export function poolMoving(what: string): QueueError {
  return new QueueError(
    'pool_moving',
    `the pool is being moved: ${what} is refused until the move has ended`,
  );
}

/** The error of a call that needs the old pool. */
export function oldIsAway(): QueueError {
  return new QueueError('pool_unavailable', 'the pool that is drained is not available');
}

/** The error of a call that needs the new pool. */
export function newIsAway(): QueueError {
  return new QueueError('pool_unavailable', 'the pool that takes its place is not available');
}

/** An error of a pool, to be thrown. */
export function asError(failure: unknown): Error {
  return failure instanceof Error ? failure : new Error('the pool failed', { cause: failure });
}

/** True if the error means that a pool cannot be used now. */
export function isAway(error: unknown): boolean {
  return error instanceof QueueError && (error.code === 'pool_unavailable' || error.code === 'disk_full');
}

/** True if a store had no room. */
export function isFull(error: unknown): boolean {
  return error instanceof QueueError && error.code === 'store_full';
}
