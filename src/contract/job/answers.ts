import {
  MAX_LABEL,
  MAX_MESSAGE,
  MAX_PERIOD_MS,
  MAX_PRIORITY,
  MAX_TRIES,
  MAX_UINT32,
  MIN_PRIORITY,
} from '../../domain/limits.js';
import { GONE_STATES } from '../../domain/job/dependency.js';
import { JOB_STATES } from '../../domain/job/states.js';
import { join, orNull } from '../fields/derived.js';
import { HoldsData, Nullable, Open, Optional } from '../fields/field.js';
import {
  AnyJson,
  Base64,
  Flag,
  JobId,
  JobIds,
  Label,
  Labels,
  Moment,
  OneOf,
  Part,
  Parts,
  Text,
  TextsByName,
  Whole,
} from '../fields/kinds.js';
import { KeptOptions, MISSING_DEPENDENCIES } from './options.js';

/* Jobs in answers of the native API. */

/** Bound for values in answers that we do not limit. */
export const MANY = 1_000_000_000;
export const ANY_NAME = /^[^]*$/;

export class FailureAnswer {
  @Label('Its group.', { min: 0, max: MAX_LABEL }) group!: string;
  @HoldsData() @Text('The error message.', { min: 0, max: MAX_MESSAGE }) message!: string;
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
  @HoldsData()
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

/** A step of a job. Others than these fields may be added to it. */
@Open()
export class TimelineAnswer {
  @Label('The step.', { max: MAX_LABEL }) what!: string;
  @Moment('When.') at!: string;
  @Optional() @Label('The new queue.', { max: MAX_LABEL }) queue?: string;
  @Optional() @Label('The old queue.', { max: MAX_LABEL }) from?: string;
  @Optional() @Whole('The number of the attempt.', 1, MAX_TRIES) attempt?: number;
  @Optional() @Label('The worker.', { max: MAX_LABEL }) worker?: string;
  @Optional() @Label('The group of the failure.', { min: 0, max: MAX_LABEL }) group?: string;
  @Optional()
  @HoldsData()
  @Text('The error message, or the logged message.', { min: 0, max: MAX_MESSAGE })
  message?: string;
  @Optional() @Label('The operation that did it.', { max: MAX_LABEL }) operation?: string;
  @Optional() @Flag('True: the failure was forced, by no lease holder.') forced?: boolean;
  @Optional() @AnyJson('The data of a logged entry.') data?: unknown;
  @Optional() @Moment('When it is due.') due_at?: string;
  @Optional() @Moment('When the lease is revoked.') revoked_at?: string;
  @Optional() @Labels('The updated fields.', { max: MANY }, { max: MAX_LABEL }) fields?: string[];
  @Optional()
  @Label('Why it was released: `no_handler`, or `revoked` = by a revoke.', { max: MAX_LABEL })
  reason?: string;
  @Optional()
  @Label('What was left out for lack of room, as beyond a quota: `result`.', { max: MAX_LABEL })
  left_out?: string;
}

export class ResultAnswer {
  @Optional() @AnyJson('The result, if it is JSON.') data?: unknown;
  @Optional() @Base64('Its bytes, if it is not.') data_base64?: string;
  @Label('Its content type.', { max: MAX_LABEL }) content_type!: string;
}

/** A job with its data. */
export class JobAnswer extends JobFacts {
  @Optional() @AnyJson('Its payload, if it is JSON.') data?: unknown;
  @Optional() @Base64('Its payload, if it is not JSON.') data_base64?: string;
  @Label('The type of its payload.', { max: MAX_LABEL }) content_type!: string;
}

/** A dependency of a job, and its result. */
export class DependencyAnswer {
  @JobId('Its id.') id!: string;
  @OneOf('Its state; `missing`: no job had the id when the dependency was stored.', [
    ...Object.keys(JOB_STATES),
    ...GONE_STATES,
  ])
  state!: string;
  @Optional() @HoldsData() @AnyJson('Its result, if it is JSON.') result?: unknown;
  @Optional() @HoldsData() @Base64('The bytes of its result, if it is not.') result_base64?: string;
  @Optional() @Label('The content type of its result.', { max: MAX_LABEL }) result_type?: string;
  @Optional()
  @Flag('True: its result is left out, as the results of a job have up to 64 KiB in all. Get that job.')
  truncated?: boolean;
}

/** A job as the worker gets it that leases it. No other call shows the number of a lease. */
export class LeasedJobAnswer extends JobAnswer {
  @Whole('The number of the lease (fencing token), for all lease operations.', 1, MAX_UINT32) lease!: number;
  @Optional()
  @Whole(
    'How long this lease may last in all: the `max_run_ms` of the job, else that of its queue. Left out without a limit.',
    1,
    MAX_PERIOD_MS,
  )
  max_run_ms?: number;
  @Optional()
  @Parts(
    'Its dependencies in the order in which they were named, with their results; left out if there are none.',
    () => DependencyAnswer,
    MANY,
  )
  dependencies?: readonly DependencyAnswer[];
}

/** Releases by workers without a handler. */
export class NoHandlerAnswer {
  @Whole('How many.', 1, MANY) count!: number;
  @Nullable()
  @Label('The worker of the last one; null if it gave no name.', { min: 0, max: MAX_LABEL })
  worker!: string | null;
  @Moment('When the last one was.') at!: string;
}

/** A job with all of its facts. */
export class WholeJobAnswer extends join(JobAnswer, orNull(KeptOptions, 'not set')) {
  @Nullable() @Moment('When it can be leased.') due_at!: string | null;
  @Nullable() @Moment('When it was done, cancelled or died.') ended_at!: string | null;
  @Nullable()
  @Label('The worker that has it leased; null also if that gave no name.', { max: MAX_LABEL })
  leased_by!: string | null;
  @Nullable() @Part('The last failure.', () => FailureAnswer) failure!: FailureAnswer | null;
  @Flag('True: a cancel is requested.') cancel_requested!: boolean;
  @Flag('True: it is tracked.') tracked!: boolean;
  @Nullable() @Part('Its result.', () => ResultAnswer) result!: ResultAnswer | null;
  @JobIds('The dependencies that have not ended.', { min: 0, max: MANY }) depends_on!: readonly string[];
  @Parts(
    'All of its dependencies in the order in which they were named, with their results.',
    () => DependencyAnswer,
    MANY,
  )
  dependencies!: readonly DependencyAnswer[];
  @TextsByName('Failed dependencies, and how they ended.', {
    count: MANY,
    name: ANY_NAME,
    nameRule: '',
    max: MANY,
  })
  failed_dependencies!: Readonly<Record<string, string>>;
  @JobIds('Jobs that depend on it, at most 100.', { min: 0, max: MANY }) dependents!: readonly string[];
  @OneOf('What happens if a dependency fails.', ['block', 'ignore', 'fail', 'cancel'])
  on_dependency_failure!: string;
  @Nullable() @Label('The unique key that it holds.', { max: MAX_LABEL }) unique_key!: string | null;
  @Nullable() @Label('The recurring job that published it.', { max: MAX_LABEL }) spawned_from!: string | null;
  @Nullable()
  @Part(
    'Releases in a row by workers that have no handler for it; null: none, or a handler began since.',
    () => NoHandlerAnswer,
  )
  no_handler!: NoHandlerAnswer | null;
  @Parts('The timeline, oldest first: the first entry and the latest others.', () => TimelineAnswer, MANY)
  timeline!: readonly TimelineAnswer[];
}

/** The result of a publish that waited for the job to end. */
export class EndedAnswer {
  @JobId('Its id.') id!: string;
  @Nullable()
  @OneOf('Its state; null if it is gone: deleted or expired.', Object.keys(JOB_STATES))
  state!: string | null;
  @Flag('True: nothing was stored; this is the job that holds the unique key.') existing!: boolean;
  @Optional()
  @JobIds(MISSING_DEPENDENCIES, { max: MANY })
  missing_dependencies?: readonly string[];
  @Nullable() @Moment('When it was published; null if it is gone.') published_at!: string | null;
  @Nullable()
  @Whole('Leases allowed in all, as published; null if it is gone.', 0, MAX_TRIES)
  tries!: number | null;
  @Nullable() @Part('Its result.', () => ResultAnswer) result!: ResultAnswer | null;
  @Nullable() @Part('The last failure.', () => FailureAnswer) failure!: FailureAnswer | null;
}

const MOST_ITEMS = 1_000;

/** A job without its data and its timeline. */
export class ListedJob extends JobFacts {
  @Nullable()
  @Moment('When it can be leased; null also if it is scheduled far ahead, or expires before.')
  due_at!: string | null;
  @Nullable() @Moment('When it was done, cancelled or died.') ended_at!: string | null;
  @Nullable()
  @Label('The worker that has it leased; null also if that gave no name.', { max: MAX_LABEL })
  leased_by!: string | null;
  @Nullable() @Part('The last failure.', () => FailureAnswer) failure!: FailureAnswer | null;
  @Flag('True: it is tracked.') tracked!: boolean;
  @Optional() @AnyJson('With `fields=data`: its payload, if it is JSON.') data?: unknown;
  @Optional() @Base64('With `fields=data`: its payload, if it is not JSON.') data_base64?: string;
  @Optional()
  @Label('With `fields=data`: the type of its payload.', { max: MAX_LABEL })
  content_type?: string;
  @Optional()
  @Flag('With `fields=data`: true if its payload is omitted, because the answer has 4 MiB of data already.')
  data_omitted?: boolean;
}

export class JobsPage {
  @Parts(
    'The jobs. A page may have fewer than `limit`, even none, although the list continues.',
    () => ListedJob,
    MOST_ITEMS,
  )
  items!: readonly ListedJob[];
  @Nullable() @Label('The cursor of the next page; null at the end.', { max: MAX_MESSAGE }) next_cursor!:
    | string
    | null;
}
