import { MAX_LABEL, MAX_RECURRING_ID } from '../../domain/limits.js';
import { Nullable, Optional } from '../../contract/fields/field.js';
import { Formed, JobId, Label, Part, Parts, QueueName, Whole } from '../../contract/fields/kinds.js';
import { NOTE, ReplaceRecurringFields, ScheduleFields } from '../../contract/job/recurring.js';
import { MAX_UPCOMING, RecurringAnswer } from '../../contract/job/recurring-answers.js';
import { PageQuery } from '../../http/request/page-query.js';
import { MANY } from '../../contract/job/answers.js';

const RECURRING_ID = new RegExp(`^[A-Za-z0-9][A-Za-z0-9_-]{0,${String(MAX_RECURRING_ID - 1)}}$`);
const RECURRING_ID_RULE = `must be at most ${String(MAX_RECURRING_ID)} letters, digits, - and _, the first a letter or a digit`;
const COUNT = 'How many slots; 10 if it is left out.';

/** A recurring job to store. */
export class RecurringFields extends ReplaceRecurringFields {
  @Optional()
  @Formed(
    'An id of your choice; default: generated. An existing one is replaced; its counters continue.',
    RECURRING_ID,
    RECURRING_ID_RULE,
  )
  id?: string;
}

export class PauseFields {
  @Optional() @Label(NOTE, { max: MAX_LABEL }) note?: string;
}

export class PreviewFields {
  @Part('A schedule, which is not stored.', () => ScheduleFields) schedule!: ScheduleFields;
  @Optional() @Whole(COUNT, 1, MAX_UPCOMING) count?: number;
}

export class UpcomingQuery {
  @Optional() @Whole(COUNT, 1, MAX_UPCOMING) count?: number;
}

export class RunAnswer {
  @JobId('The published job.') id!: string;
}

export class RecurringQuery extends PageQuery {
  @Optional()
  @QueueName('Only those that publish to it. Pages may be short, or empty, before the last one.')
  queue?: string;
}

export class RecurringPageAnswer {
  @Parts('The recurring jobs of the page, by id.', () => RecurringAnswer, MANY)
  items!: readonly RecurringAnswer[];
  @Nullable()
  @Label('The cursor of the next page; null if there is none.', { max: MAX_LABEL })
  next_cursor!: string | null;
}
