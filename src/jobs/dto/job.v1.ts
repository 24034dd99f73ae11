import {
  MAX_LABEL,
  MAX_MESSAGE,
  MAX_PRIORITY,
  MAX_TRIES,
  MAX_UINT32,
  MIN_PRIORITY,
} from '../../domain/limits.js';
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

/** What has no bound of ours in an answer. */
const MANY = 1_000_000_000;
const ANY_NAME = /^[^]*$/;

export class FailureAnswer {
  @Label('Its group.', { min: 0, max: MAX_LABEL }) group!: string;
  @Text('What went wrong.', { min: 0, max: MAX_MESSAGE }) message!: string;
  @Moment('When.') at!: string;
  @Nullable() @Label('Who had it; null if nobody gave a name.', { min: 0, max: MAX_LABEL }) worker!:
    string | null;
}

export class TimelineAnswer {
  @Label('What happened.', { max: MAX_LABEL }) what!: string;
  @Moment('When.') at!: string;
}

export class ResultAnswer {
  @Optional() @AnyJson('The result, if it is JSON.') data?: unknown;
  @Optional() @Base64('Its bytes, if it is not.') data_base64?: string;
  @Label('What it is.', { max: MAX_LABEL }) content_type!: string;
}

/** What every answer that has a job in it tells of it. */
export class JobAnswer {
  @JobId('Its id.') id!: string;
  @Label('Its queue.', { max: MAX_LABEL }) queue!: string;
  @OneOf('Where it is in its life.', Object.keys(JOB_STATES)) state!: string;
  @Optional() @AnyJson('Its data, if that is JSON.') data?: unknown;
  @Optional() @Base64('Its data, if that is not JSON.') data_base64?: string;
  @Label('What its data is.', { max: MAX_LABEL }) content_type!: string;
  @Nullable() @Label('What kind of work it is.', { max: MAX_LABEL }) type!: string | null;
  @Labels('Its tags.', { max: MANY }, { max: MAX_LABEL }) tags!: readonly string[];
  @Nullable()
  @TextsByName('What belongs to it.', { count: MANY, name: ANY_NAME, nameRule: '', max: MANY })
  attributes!: Readonly<Record<string, string>> | null;
  @Whole('Lower runs sooner.', MIN_PRIORITY, MAX_PRIORITY) priority!: number;
  @Whole('How often it may still be leased.', 0, MAX_TRIES) tries_left!: number;
  @Whole('How often it was leased, this time included.', 0, MAX_TRIES) attempts!: number;
  @Whole('Leases of it that ran out.', 0, MANY) crashes!: number;
  @Whole('Failures that workers told of.', 0, MANY) failures!: number;
  @Whole('The number of its lease, the last one if it is not leased; 0 if it never was.', 0, MAX_UINT32)
  lease!: number;
  @Nullable() @Moment('When its lease ends.') lease_ends_at!: string | null;
  @Nullable() @Moment('When it was published.') published_at!: string | null;
  @Nullable() @Moment('When it expires.') expires_at!: string | null;
  @Nullable() @AnyJson('How far the work is, as its worker said.') progress!: unknown;
}

/** All that is known of a job. */
export class WholeJobAnswer extends JobAnswer {
  @Nullable() @Moment('When it can be leased.') due_at!: string | null;
  @Nullable() @Moment('When it was done, cancelled or given up.') ended_at!: string | null;
  @Nullable() @Label('Who has it.', { max: MAX_LABEL }) worker!: string | null;
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

/** How a job ended that was waited for. */
export class EndedAnswer {
  @JobId('Its id.') id!: string;
  @Nullable()
  @OneOf(
    'Where it is in its life; null if it is gone without a trace: deleted, or expired.',
    Object.keys(JOB_STATES),
  )
  state!: string | null;
  @Flag('Nothing was stored: this is another job, which holds the unique key.') existing!: boolean;
  @Nullable() @Part('What came of it.', () => ResultAnswer) result!: ResultAnswer | null;
  @Nullable() @Part('What went wrong last.', () => FailureAnswer) failure!: FailureAnswer | null;
}
