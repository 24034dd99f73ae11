import { MAX_GROUP, MAX_PERIOD_MS, MAX_RETRY_DELAYS, MAX_RETRY_GROUPS } from '../../domain/limits.js';
import type { RetryPolicy } from '../../domain/job/extended-job.js';
import { Optional } from '../fields/field.js';
import { given } from '../fields/given.js';
import { Labels, OneOf, Real, Whole, Wholes } from '../fields/kinds.js';
import type { Problems } from '../fields/read.js';

/** Fields of each kind of retry policy in addition to the common ones; the first of them is required. */
const RETRY_FIELDS = {
  none: [],
  fixed: ['delay_ms'],
  linear: ['delay_ms', 'max_ms'],
  exponential: ['delay_ms', 'factor', 'max_ms', 'jitter'],
  list: ['delays_ms'],
} as const satisfies Record<RetryPolicy['kind'], readonly (keyof RetryPolicyFields)[]>;

export class RetryPolicyFields {
  @OneOf(
    'The backoff; `n` is the number of failed attempts, from 1. `none`: no further attempt, the job is dead. `fixed`: delay_ms. `linear`: n · delay_ms. `exponential`: delay_ms · factor^(n-1). `list`: the delays of `delays_ms` in order, then the last one again.',
    ['none', 'fixed', 'linear', 'exponential', 'list'],
  )
  kind!: RetryPolicy['kind'];
  @Optional()
  @Whole('The first delay. Required for `fixed`, `linear` and `exponential`.', 0, MAX_PERIOD_MS)
  delay_ms?: number;
  @Optional() @Real('For `exponential`; default 2.', 1, 100) factor?: number;
  @Optional() @Whole('The longest delay. For `linear` and `exponential`.', 0, MAX_PERIOD_MS) max_ms?: number;
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
 * Builds a policy from fields that are valid one by one.
 *
 * @param at their path with a dot at the end
 * @param problems collects contradictions between them
 */
export function retryPolicyOf(fields: RetryPolicyFields, at: string, problems: Problems): RetryPolicy {
  const { kind, delay_ms = 0, factor, max_ms, jitter, delays_ms = [], non_retryable } = fields;
  const own: readonly (keyof RetryPolicyFields)[] = RETRY_FIELDS[kind];
  const [needed] = own;
  if (needed !== undefined && fields[needed] === undefined)
    problems.add(`${at}${needed}`, `is missing: ${kind} needs it`);
  for (const name of ['delay_ms', 'factor', 'max_ms', 'jitter', 'delays_ms'] as const) {
    if (fields[name] !== undefined && !own.includes(name))
      problems.add(`${at}${name}`, `does not go with ${kind}`);
  }
  const nonRetryable = non_retryable === undefined ? {} : { nonRetryable: non_retryable };
  if (kind === 'none') return { kind, ...nonRetryable };
  if (kind === 'list') return { kind, delaysMs: delays_ms, ...nonRetryable };
  if (kind === 'fixed') return { kind, delayMs: delay_ms, ...nonRetryable };
  const capped = max_ms === undefined ? { delayMs: delay_ms } : { delayMs: delay_ms, maxMs: max_ms };
  if (kind === 'linear') return { kind, ...capped, ...nonRetryable };
  return given<RetryPolicy>({ kind, ...capped, factor, jitter, ...nonRetryable });
}

/** Encodes a policy for an answer. */
export function retryFieldsOf(policy: RetryPolicy): RetryPolicyFields {
  const { kind, nonRetryable } = policy;
  const fields = {
    kind,
    delay_ms: 'delayMs' in policy ? policy.delayMs : undefined,
    factor: 'factor' in policy ? policy.factor : undefined,
    max_ms: 'maxMs' in policy ? policy.maxMs : undefined,
    jitter: 'jitter' in policy ? policy.jitter : undefined,
    delays_ms: 'delaysMs' in policy ? [...policy.delaysMs] : undefined,
    non_retryable: nonRetryable && [...nonRetryable],
  };
  return given<RetryPolicyFields>(fields);
}
