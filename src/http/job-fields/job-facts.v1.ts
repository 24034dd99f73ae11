import { MAX_LABEL, MAX_MESSAGE, MAX_PRIORITY, MAX_TRIES, MIN_PRIORITY } from '../../domain/limits.js';
import type { Failure, JobSummary } from '../../domain/job/extended-job.js';
import { JOB_STATES } from '../../domain/job/states.js';
import { Nullable, type Plain } from '../fields/field.js';
import { AnyJson, JobId, Label, Labels, Moment, OneOf, Text, TextsByName, Whole } from '../fields/kinds.js';
import { isoTime, isoTimeOrNull } from '../../domain/iso-time.js';

/** Bound for values in answers that we do not limit. */
export const MANY = 1_000_000_000;
export const ANY_NAME = /^[^]*$/;

export class FailureAnswer {
  @Label('Its group.', { min: 0, max: MAX_LABEL }) group!: string;
  @Text('The error message.', { min: 0, max: MAX_MESSAGE }) message!: string;
  @Moment('When.') at!: string;
  @Nullable() @Label('The worker; null if it gave no name.', { min: 0, max: MAX_LABEL }) worker!:
    | string
    | null;
}

/** Fields that every job in an answer of the native API has. */
export class JobFacts {
  @JobId('Its id.') id!: string;
  @Label('Its queue.', { max: MAX_LABEL }) queue!: string;
  @OneOf('Its state.', Object.keys(JOB_STATES)) state!: string;
  @Nullable() @Label('The kind of work, for the choice of a handler.', { max: MAX_LABEL }) type!:
    | string
    | null;
  @Labels('Its tags.', { max: MANY }, { max: MAX_LABEL }) tags!: readonly string[];
  @Nullable()
  @TextsByName('Its attributes.', { count: MANY, name: ANY_NAME, nameRule: '', max: MANY })
  attributes!: Readonly<Record<string, string>> | null;
  @Whole('Its priority; lower runs first.', MIN_PRIORITY, MAX_PRIORITY) priority!: number;
  @Whole(
    'Leases allowed in all: as published, or as a later change set it. Leases that did not reach a client do not count.',
    0,
    MAX_TRIES,
  )
  tries!: number;
  @Whole('Leases still allowed.', 0, MAX_TRIES) tries_left!: number;
  @Whole('Leases so far, the current one included.', 0, MAX_TRIES) attempts!: number;
  @Whole('Expired leases.', 0, MANY) crashes!: number;
  @Whole('Failures that workers reported.', 0, MANY) failures!: number;
  @Nullable() @Moment('When its lease ends.') lease_ends_at!: string | null;
  @Nullable() @Moment('When it was published.') published_at!: string | null;
  @Nullable() @Moment('When it expires.') expires_at!: string | null;
  @Nullable() @AnyJson('The progress that its worker reported.') progress!: unknown;
}

/** Encodes a job for an answer. */
export function jobFacts(
  job: Omit<JobSummary, 'failure' | 'tracked' | 'lease' | 'worker' | 'dueAtMs' | 'endedAtMs'>,
): Plain<JobFacts> {
  return {
    id: job.id,
    queue: job.queue,
    state: job.state,
    type: job.type,
    tags: job.tags,
    attributes: job.attributes,
    priority: job.priority,
    tries: job.tries,
    tries_left: job.triesLeft,
    attempts: job.attempts,
    crashes: job.crashes,
    failures: job.failures,
    lease_ends_at: isoTimeOrNull(job.leaseEndsAtMs),
    published_at: isoTimeOrNull(job.publishedAtMs),
    expires_at: isoTimeOrNull(job.expiresAtMs),
    progress: job.progress ?? null,
  };
}

/** Encodes a failure for an answer. */
export function failureAnswer({ group, message, atMs, worker }: Failure): Plain<FailureAnswer> {
  return { group, message, at: isoTime(atMs), worker };
}
