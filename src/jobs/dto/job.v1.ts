import { MAX_LABEL, MAX_MESSAGE, MAX_PERIOD_MS, MAX_TRIES, MAX_UINT32 } from '../../domain/limits.js';
import { JOB_STATES } from '../../domain/job/states.js';
import { Nullable, Optional } from '../../http/fields/field.js';
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
} from '../../http/fields/kinds.js';
import { RetryPolicyFields } from '../../http/job-fields/retry-policy.v1.js';
import { ANY_NAME, FailureAnswer, JobFacts, MANY } from '../../http/job-fields/job-facts.v1.js';

export class TimelineAnswer {
  @Label('The step.', { max: MAX_LABEL }) what!: string;
  @Moment('When.') at!: string;
  @Optional() @Label('The new queue.', { max: MAX_LABEL }) queue?: string;
  @Optional() @Label('The old queue.', { max: MAX_LABEL }) from?: string;
  @Optional() @Whole('The number of the attempt.', 1, MAX_TRIES) attempt?: number;
  @Optional() @Label('The worker.', { max: MAX_LABEL }) worker?: string;
  @Optional() @Label('The group of the failure.', { min: 0, max: MAX_LABEL }) group?: string;
  @Optional()
  @Text('The error message, or the logged message.', { min: 0, max: MAX_MESSAGE })
  message?: string;
  @Optional() @AnyJson('The data of a logged entry.') data?: unknown;
  @Optional() @Whole('When it is due, Unix ms.', 0, Number.MAX_SAFE_INTEGER) due?: number;
  @Optional()
  @Whole('When the lease is revoked, Unix ms.', 0, Number.MAX_SAFE_INTEGER)
  revoked_at?: number;
  @Optional() @Labels('The updated fields.', { max: MANY }, { max: MAX_LABEL }) fields?: string[];
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

/** A job as the worker gets it that leases it. No other call shows the number of a lease. */
export class LeasedJobAnswer extends JobAnswer {
  @Whole('The number of the lease (fencing token), for all lease operations.', 1, MAX_UINT32) lease!: number;
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
export class WholeJobAnswer extends JobAnswer {
  @Nullable() @Moment('When it can be leased.') due_at!: string | null;
  @Nullable() @Moment('When it was done, cancelled or died.') ended_at!: string | null;
  @Nullable()
  @Label('The worker that has it leased; null also if that gave no name.', { max: MAX_LABEL })
  leased_by!: string | null;
  @Nullable() @Part('The last failure.', () => FailureAnswer) failure!: FailureAnswer | null;
  @Flag('True: a cancel is requested.') cancel_requested!: boolean;
  @Flag('True: it is tracked.') tracked!: boolean;
  @Nullable() @Part('Its result.', () => ResultAnswer) result!: ResultAnswer | null;
  @JobIds('Its dependencies.', { min: 0, max: MANY }) depends_on!: readonly string[];
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
  @Nullable() @Label('Its concurrency key.', { max: MAX_LABEL }) concurrency_key!: string | null;
  @Nullable() @Label('The recurring job that published it.', { max: MAX_LABEL }) spawned_from!: string | null;
  @Nullable()
  @Part('Its retry policy; null: the default one of the API that published it.', () => RetryPolicyFields)
  retry!: RetryPolicyFields | null;
  @Nullable() @Whole('Duration of its leases; null: the default.', 0, MAX_PERIOD_MS) ttr_ms!: number | null;
  @Nullable()
  @Whole('How long it and its result are kept when it is done; null: not at all.', 0, MAX_PERIOD_MS)
  retention_ms!: number | null;
  @Nullable()
  @Whole(
    'Shortest delay before the next attempt after a lease expired; null: the setting of its queue.',
    0,
    MAX_PERIOD_MS,
  )
  lease_grace_ms!: number | null;
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
  @Nullable() @Moment('When it was published; null if it is gone.') published_at!: string | null;
  @Nullable()
  @Whole('Leases allowed in all, as published; null if it is gone.', 0, MAX_TRIES)
  tries!: number | null;
  @Nullable() @Part('Its result.', () => ResultAnswer) result!: ResultAnswer | null;
  @Nullable() @Part('The last failure.', () => FailureAnswer) failure!: FailureAnswer | null;
}
