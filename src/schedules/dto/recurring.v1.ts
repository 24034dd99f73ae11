import {
  MAX_BACKLOG,
  MAX_CATCH_UP,
  MAX_LABEL,
  MAX_PERIOD_MS,
  MAX_PRIORITY,
  MAX_RECURRING_ID,
  MAX_TRIES,
  MIN_PRIORITY,
  MIN_RECURRING_MS,
} from '../../domain/limits.js';
import { Nullable, Optional } from '../../http/fields/field.js';
import {
  AnyJson,
  Base64,
  Flag,
  Formed,
  JobId,
  Label,
  Labels,
  Moment,
  Part,
  Parts,
  QueueName,
  TextsByName,
  Whole,
} from '../../http/fields/kinds.js';
import { OptionFields, UniqueFields } from '../../http/job-fields/fields.js';
import { PageQuery } from '../../http/request/page-query.js';
import { RetryPolicyFields } from '../../http/job-fields/retry-policy.v1.js';

const RECURRING_ID = new RegExp(`^[A-Za-z0-9][A-Za-z0-9_-]{0,${String(MAX_RECURRING_ID - 1)}}$`);
const RECURRING_ID_RULE = `must be at most ${String(MAX_RECURRING_ID)} letters, digits, - and _, the first a letter or a digit`;
const CATCH_UP =
  'How many jobs it makes at once when several slots have passed, as after an outage: for the last ones. 0: a slot makes a job only within a minute of its time.';
const CATCH_UP_USUAL = `${CATCH_UP} 1 if it is left out.`;
const BACKLOG =
  'Deprecated: the old name of `max_catch_up`, with 0 for as many as possible. Accepted until 1.0.';
/** For answer fields that have no upper bound. */
const MANY = 1_000_000_000;
const ANY_NAME = /^[^]*$/;

/** The schedule of a recurring job. Further kinds of schedules will have their own fields. */
export class ScheduleFields {
  @Whole('The time between two slots.', MIN_RECURRING_MS, MAX_PERIOD_MS) every_ms!: number;
  @Optional() @Whole('From now to the first slot; 0 if it is left out.', 0, MAX_PERIOD_MS) offset_ms?: number;
  @Optional()
  @Moment('The first slot, instead of `offset_ms`. In the past, the row of slots counts from there.')
  first_at?: string;
}

/** The job that a schedule publishes. */
export class TemplateFields extends OptionFields {
  @QueueName('Where to put them.') queue!: string;
}

/** Changes to the jobs that are published from now on. */
export class TemplateChangeFields extends OptionFields {
  @Optional() @QueueName('Where to put them.') queue?: string;
}

/** A recurring job to be stored under the id in the path. */
export class ReplaceRecurringFields {
  @Part('When it makes a job.', () => ScheduleFields) schedule!: ScheduleFields;
  @Part('What each job is like.', () => TemplateFields) job!: TemplateFields;
  @Optional() @Whole(CATCH_UP_USUAL, 0, MAX_CATCH_UP) max_catch_up?: number;
  @Optional() @Whole(BACKLOG, 0, MAX_BACKLOG) backlog?: number;
  @Optional() @Flag('It makes no jobs until it is resumed.') paused?: boolean;
}

/** A recurring job to store. */
export class RecurringFields extends ReplaceRecurringFields {
  @Optional()
  @Formed(
    'An id of your choice. One that is there already is replaced, and goes on counting.',
    RECURRING_ID,
    RECURRING_ID_RULE,
  )
  id?: string;
}

/** A change; fields that are left out keep their value. */
export class RecurringChangeFields {
  @Optional()
  @Part(
    'A new schedule. With neither `offset_ms` nor `first_at`, the row begins where it began.',
    () => ScheduleFields,
  )
  schedule?: ScheduleFields;
  @Optional()
  @Part('What changes about the jobs.', () => TemplateChangeFields)
  job?: TemplateChangeFields;
  @Optional() @Whole(CATCH_UP, 0, MAX_CATCH_UP) max_catch_up?: number;
  @Optional() @Whole(BACKLOG, 0, MAX_BACKLOG) backlog?: number;
  @Optional() @Flag('It makes no jobs until it is resumed.') paused?: boolean;
}

export class RecurringQuery extends PageQuery {
  @Optional()
  @QueueName('Only those that publish to it. Pages may be short, or empty, before the last one.')
  queue?: string;
}

export class ScheduleAnswer {
  @Whole('The time between two slots.', MIN_RECURRING_MS, MAX_PERIOD_MS) every_ms!: number;
  @Moment('The first slot of the row.') first_at!: string;
}

/** The job that a schedule publishes; fields that are missing have the default of the queue. */
export class TemplateAnswer {
  @QueueName('Where to put them.') queue!: string;
  @Optional() @AnyJson('Their data, if that is JSON.') data?: unknown;
  @Optional() @Base64('Their data, if that is not JSON.') data_base64?: string;
  @Label('What the data is.', { max: MAX_LABEL }) content_type!: string;
  @Optional() @Whole('How long each may exist.', 0, MAX_PERIOD_MS) ttl_ms?: number;
  @Optional() @Whole('How often each may be leased.', 1, MAX_TRIES) tries?: number;
  @Optional() @Whole('How long a lease lasts.', 1, MAX_PERIOD_MS) ttr_ms?: number;
  @Optional()
  @Whole('Shortest delay before the next attempt after a lease has expired.', 0, MAX_PERIOD_MS)
  lease_grace_ms?: number;
  @Optional() @Whole('Lower runs sooner.', MIN_PRIORITY, MAX_PRIORITY) priority?: number;
  @Optional() @Label('What kind of work it is.', { max: MAX_LABEL }) type?: string;
  @Optional() @Labels('Their tags.', { max: MANY }, { max: MAX_LABEL }) tags?: readonly string[];
  @Optional()
  @TextsByName('What belongs to them.', { count: MANY, name: ANY_NAME, nameRule: '', max: MANY })
  attributes?: Readonly<Record<string, string>>;
  @Optional()
  @Labels('Jobs that must be done first.', { max: MANY }, { max: MAX_LABEL })
  depends_on?: readonly string[];
  @Optional()
  @Label('What becomes of them when one of those fails.', { max: MAX_LABEL })
  on_dependency_failure?: string;
  @Optional() @Part('When they are tried again.', () => RetryPolicyFields) retry?: RetryPolicyFields;
  @Optional() @Part('A key that one job holds at a time.', () => UniqueFields) unique?: UniqueFields;
  @Optional() @Label('The key that they share limits by.', { max: MAX_LABEL }) concurrency_key?: string;
  @Optional() @Whole('How long they are kept when they are done.', 0, MAX_PERIOD_MS) retention_ms?: number;
  @Optional() @Flag('Their timeline is recorded from the start.') history?: boolean;
}

export class RecurringAnswer {
  @JobId('Its id. The jobs that it makes have it in their `spawned_from`, and as the beginning of their ids.')
  id!: string;
  @Part('When it makes a job.', () => ScheduleAnswer) schedule!: ScheduleAnswer;
  @Part('What each job is like.', () => TemplateAnswer) job!: TemplateAnswer;
  @Whole(CATCH_UP, 0, MAX_CATCH_UP) max_catch_up!: number;
  @Flag('It makes no jobs until it is resumed.') paused!: boolean;
  @Whole('Jobs that it has made. The id of the last one ends in this number.', 0, Number.MAX_SAFE_INTEGER)
  made!: number;
  @Whole(
    'Slots that made no job: passed beyond `max_catch_up`, or forbidden by a quota or a unique key.',
    0,
    Number.MAX_SAFE_INTEGER,
  )
  skipped!: number;
  @Nullable() @Moment('The next slot; null while it is paused.') next_at!: string | null;
  @Nullable() @Moment('The last slot that came; null if none has yet.') last_at!: string | null;
  @Moment('When it was stored first.') created_at!: string;
}

export class RecurringPageAnswer {
  @Parts('Those of the page, in the order of their ids.', () => RecurringAnswer, MANY)
  items!: readonly RecurringAnswer[];
  @Nullable()
  @Label('What to ask the next page with; null if there is none.', { max: MAX_LABEL })
  next_cursor!: string | null;
}
