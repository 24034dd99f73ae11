import { ExtendedPathError, QueueError, type ErrorCode } from '../../domain/errors.js';
import type { Quotas } from '../../domain/job/job.js';

/** Script argument without quotas: the script then checks none. */
export const NO_QUOTAS = '';

/** The codes with which lua/modules/limits/quotas.lua and lua/modules/limits/queue_settings.lua reject a call. */
const REFUSED = new Map<number, readonly [code: ErrorCode, message: string]>([
  [2, ['too_many_queues', 'the namespace has as many queues as it may']],
  [3, ['queue_full', 'the queue holds as many jobs as it may']],
  [4, ['namespace_full', 'the namespace holds as many bytes as it may']],
  [7, ['queue_draining', 'the queue takes no new jobs until it is empty']],
]);

/** Encodes quotas as lua/modules/limits/quotas.lua reads them; the number of items of each call must be appended. */
export function quotasText(quotas: Quotas | undefined): string {
  if (!quotas) return NO_QUOTAS;
  const numbers = [quotas.queues, quotas.jobsPerQueue, quotas.bytes];
  return numbers.every((most) => most === 0) ? NO_QUOTAS : `${numbers.join()},`;
}

/** Code with which a publish script leaves a native call to the extended path. */
const EXTENDED_PATH = 8;

/** The error for a code of a publish script; undefined if neither the queue nor its namespace rejected the job. */
export function quotaError(code: number | undefined): QueueError | ExtendedPathError | undefined {
  if (code === EXTENDED_PATH) return new ExtendedPathError();
  const refused = code === undefined ? undefined : REFUSED.get(code);
  return refused && new QueueError(...refused);
}
