import { MAX_GROUP, MAX_PERIOD_MS, MAX_RETRY_DELAYS, MAX_RETRY_GROUPS } from '../../domain/limits.js';
import type { RetryPolicy } from '../../domain/job/extended-job.js';
import { Optional } from '../fields/field.js';
import { Labels, OneOf, Real, Whole, Wholes } from '../fields/kinds.js';
import type { Problems } from '../fields/problems.js';
import { toInside } from '../fields/wire.js';

/** Fields of each kind of retry policy in addition to the common ones; the first of them is required. */
const RETRY_FIELDS = {
  none: [],
  fixed: ['delay_ms'],
  linear: ['delay_ms', 'max_ms'],
  exponential: ['delay_ms', 'factor', 'max_ms', 'jitter'],
  list: ['delays_ms'],
} as const satisfies Record<RetryPolicy['kind'], readonly (keyof RetryPolicyFields)[]>;

/** When a job is tried again. The order of the fields is that of stored policies. */
export class RetryPolicyFields {
  @OneOf(
    'The backoff; `n` is the number of failed attempts, from 1. `none`: no further attempt, the job is dead. `fixed`: delay_ms. `linear`: n · delay_ms. `exponential`: delay_ms · factor^(n-1). `list`: the delays of `delays_ms` in order, then the last one again.',
    ['none', 'fixed', 'linear', 'exponential', 'list'],
  )
  kind!: RetryPolicy['kind'];
  @Optional()
  @Whole('The first delay. Required for `fixed`, `linear` and `exponential`.', 0, MAX_PERIOD_MS)
  delay_ms?: number;
  @Optional() @Whole('The longest delay. For `linear` and `exponential`.', 0, MAX_PERIOD_MS) max_ms?: number;
  @Optional() @Real('For `exponential`; default 2.', 1, 100) factor?: number;
  @Optional()
  @Real('The fraction of the delay that is randomised. For `exponential`; default 0.', 0, 1)
  jitter?: number;
  @Optional()
  @Wholes('The delays. Required for `list`.', { max: MAX_RETRY_DELAYS }, 0, MAX_PERIOD_MS)
  delays_ms?: number[];
  @Optional()
  @Labels(
    'Failure groups that are not retried: the job goes to the dead-letter queue.',
    { max: MAX_RETRY_GROUPS },
    { max: MAX_GROUP },
  )
  non_retryable?: string[];
}

/**
 * Builds a policy from fields that are valid one by one. Its names are in the order in which they are declared: records of
 * idempotency keys depend on it.
 *
 * @param at their path with a dot at the end
 * @param problems collects contradictions between them
 */
export function retryPolicyOf(fields: RetryPolicyFields, at: string, problems: Problems): RetryPolicy {
  checkRetry(fields, at, problems);
  return toInside(RetryPolicyFields, fields) as RetryPolicy;
}

/** Checks what the fields of a policy say together. Parameters as of `retryPolicyOf`. */
export function checkRetry(fields: RetryPolicyFields, at: string, problems: Problems): void {
  const own: readonly (keyof RetryPolicyFields)[] = RETRY_FIELDS[fields.kind];
  const [needed] = own;
  if (needed !== undefined && fields[needed] === undefined)
    problems.add(`${at}${needed}`, `is missing: ${fields.kind} needs it`);
  for (const name of ['delay_ms', 'factor', 'max_ms', 'jitter', 'delays_ms'] as const) {
    if (fields[name] !== undefined && !own.includes(name))
      problems.add(`${at}${name}`, `does not go with ${fields.kind}`);
  }
}
