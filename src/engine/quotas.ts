import { FullLaneError, QueueError, type ErrorCode } from '../domain/errors.js';
import type { Quotas } from '../domain/job.js';

/** What a publish script is given when nothing is limited: it then looks at nothing. */
export const NO_QUOTAS = '';

/** The codes with which lua/lib/admit.lua and lua/lib/draining.lua refuse a call. */
const REFUSED = new Map<number, readonly [code: ErrorCode, message: string]>([
  [2, ['too_many_queues', 'the namespace has as many queues as it may']],
  [3, ['queue_full', 'the queue holds as many jobs as it may']],
  [4, ['namespace_full', 'the namespace holds as many bytes as it may']],
  [7, ['queue_draining', 'the queue takes no new jobs until it is empty']],
]);

/** Quotas as lua/lib/quotas.lua reads them, but for the numbers of items of the calls, which follow. */
export function quotasText(quotas: Quotas | undefined): string {
  if (!quotas) return NO_QUOTAS;
  const numbers = [quotas.queues, quotas.jobsPerQueue, quotas.bytes];
  return numbers.every((most) => most === 0) ? NO_QUOTAS : `${numbers.join()},`;
}

/** With this code a publish script leaves a native job to the full lane. */
const HAS_DEFAULTS = 8;

/** The error for a code of a publish script; undefined if nothing of the queue or its namespace refused it. */
export function quotaError(code: number | undefined): QueueError | FullLaneError | undefined {
  if (code === HAS_DEFAULTS) return new FullLaneError();
  const refused = code === undefined ? undefined : REFUSED.get(code);
  return refused && new QueueError(...refused);
}
