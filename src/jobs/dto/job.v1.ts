import { MAX_LABEL, MAX_MESSAGE, MAX_TRIES, MAX_UINT32 } from '../../domain/limits.js';
import { JOB_STATES } from '../../domain/states.js';
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
import { ANY_NAME, FailureAnswer, JobFacts, MANY } from '../../http/job-fields/job-facts.v1.js';

export class TimelineAnswer {
  @Label('What happened.', { max: MAX_LABEL }) what!: string;
  @Moment('When.') at!: string;
  @Optional() @Label('Its queue from then on.', { max: MAX_LABEL }) queue?: string;
  @Optional() @Label('The queue that it came from.', { max: MAX_LABEL }) from?: string;
  @Optional() @Whole('Which attempt this was.', 1, MAX_TRIES) attempt?: number;
  @Optional() @Label('Who had it.', { max: MAX_LABEL }) worker?: string;
  @Optional() @Label('The group of the failure.', { min: 0, max: MAX_LABEL }) group?: string;
  @Optional() @Text('What went wrong, or what was logged.', { min: 0, max: MAX_MESSAGE }) message?: string;
  @Optional() @AnyJson('The data of a logged entry.') data?: unknown;
  @Optional() @Whole('When it is due, Unix ms.', 0, Number.MAX_SAFE_INTEGER) due?: number;
  @Optional()
  @Whole('When its owner loses it, Unix ms.', 0, Number.MAX_SAFE_INTEGER)
  revoked_at?: number;
  @Optional() @Labels('The fields that were changed.', { max: MANY }, { max: MAX_LABEL }) fields?: string[];
}

export class ResultAnswer {
  @Optional() @AnyJson('The result, if it is JSON.') data?: unknown;
  @Optional() @Base64('Its bytes, if it is not.') data_base64?: string;
  @Label('What it is.', { max: MAX_LABEL }) content_type!: string;
}

/** A job with its data. */
export class JobAnswer extends JobFacts {
  @Optional() @AnyJson('Its data, if that is JSON.') data?: unknown;
  @Optional() @Base64('Its data, if that is not JSON.') data_base64?: string;
  @Label('What its data is.', { max: MAX_LABEL }) content_type!: string;
}

/** A job as the worker gets it that leases it. No other call shows the number of a lease. */
export class LeasedJobAnswer extends JobAnswer {
  @Whole('The number of the lease: every operation on it names it.', 1, MAX_UINT32) lease!: number;
}

/** A job with all of its facts. */
export class WholeJobAnswer extends JobAnswer {
  @Nullable() @Moment('When it can be leased.') due_at!: string | null;
  @Nullable() @Moment('When it was done, cancelled or given up.') ended_at!: string | null;
  @Nullable()
  @Label('The name of the worker that has it leased; null too if that gave no name.', { max: MAX_LABEL })
  leased_by!: string | null;
  @Nullable() @Part('What went wrong last.', () => FailureAnswer) failure!: FailureAnswer | null;
  @Flag('Somebody wants it cancelled.') cancel_requested!: boolean;
  @Flag('Somebody tracks it.') tracked!: boolean;
  @Nullable() @Part('What came of it.', () => ResultAnswer) result!: ResultAnswer | null;
  @JobIds('Jobs that it waits for.', { min: 0, max: MANY }) depends_on!: readonly string[];
  @TextsByName('Of those that it waits for, the ones that ended otherwise than done, and how.', {
    count: MANY,
    name: ANY_NAME,
    nameRule: '',
    max: MANY,
  })
  failed_dependencies!: Readonly<Record<string, string>>;
  @JobIds('Jobs that wait for it, 100 at most.', { min: 0, max: MANY }) dependents!: readonly string[];
  @OneOf('What becomes of it when one that it waits for fails.', ['block', 'ignore', 'fail', 'cancel'])
  on_dependency_failure!: string;
  @Nullable() @Label('The unique key that it holds.', { max: MAX_LABEL }) unique_key!: string | null;
  @Nullable() @Label('The key that it shares limits by.', { max: MAX_LABEL }) concurrency_key!: string | null;
  @Nullable() @Label('The recurring job that made it.', { max: MAX_LABEL }) spawned_from!: string | null;
  @Parts(
    'What happened to it, oldest first. The first entry is always kept, of the others the last ones.',
    () => TimelineAnswer,
    MANY,
  )
  timeline!: readonly TimelineAnswer[];
}

/** The result of a publish that waited for the job to end. */
export class EndedAnswer {
  @JobId('Its id.') id!: string;
  @Nullable()
  @OneOf(
    'Where it is in its life; null if it is gone without a trace: deleted, or expired.',
    Object.keys(JOB_STATES),
  )
  state!: string | null;
  @Flag('Nothing was stored: this is another job, which holds the unique key.') existing!: boolean;
  @Nullable() @Moment('When it was published; null if it is gone.') published_at!: string | null;
  @Nullable()
  @Whole('How often it may be leased in all, as it was published; null if it is gone.', 0, MAX_TRIES)
  tries!: number | null;
  @Nullable() @Part('What came of it.', () => ResultAnswer) result!: ResultAnswer | null;
  @Nullable() @Part('What went wrong last.', () => FailureAnswer) failure!: FailureAnswer | null;
}
