import { MAX_LABEL, MAX_MESSAGE, MAX_TAGS } from '../../domain/limits.js';
import { join } from '../../contract/fields/derived.js';
import { Nullable, Optional } from '../../contract/fields/field.js';
import {
  JobId,
  JobIds,
  Label,
  Labels,
  Moment,
  Parts,
  SomeOf,
  Whole,
  Flag,
} from '../../contract/fields/kinds.js';
import { JobsPageQuery } from '../../http/request/page-query.js';
import { MANY, JobsPage } from '../../contract/job/answers.js';
import { JobFilterFields } from '../../contract/job/job-filter.js';

const MOST_ITEMS = 1_000;
const MAX_IDS = 100;

/** A job must match all filters. */
export class JobsQuery extends join(JobsPageQuery, JobFilterFields) {
  @Optional()
  @JobIds('The jobs with these ids, in this order, of any queue; only with `fields`.', { max: MAX_IDS })
  ids?: string[];
  @Optional() @SomeOf('`data`: adds the payloads, at most 4 MiB in one answer.', ['data']) fields?: string[];
}

export class TagsFields {
  @Labels('The tags.', { min: 1, max: MAX_TAGS }, { max: MAX_LABEL }) tags!: string[];
}

export class TagsQuery {
  @Optional()
  @Labels('A tag to remove. May be repeated.', { min: 1, max: MAX_TAGS }, { max: MAX_LABEL }, 'repeated')
  tag?: string[];
  @Optional()
  @Labels(
    'Tags to remove, separated by commas; for tags without commas.',
    { min: 1, max: MAX_TAGS },
    { max: MAX_LABEL },
  )
  tags?: string[];
}

export class TagsAnswer {
  @JobId('The id of the job.') id!: string;
  @Labels('All of its tags.', { max: MAX_TAGS }, { max: MAX_LABEL }) tags!: readonly string[];
}

export class NamedCountAnswer {
  @Label('The name.', { max: MAX_LABEL }) name!: string;
  @Whole('The number of jobs with it.', 1, MANY) jobs!: number;
}

export class NamedCountsPage {
  @Parts('The names, most frequent first.', () => NamedCountAnswer, MOST_ITEMS)
  items!: readonly NamedCountAnswer[];
  @Nullable() @Label('The cursor of the next page; null at the end.', { max: MAX_MESSAGE }) next_cursor!:
    | string
    | null;
}

export class TraceAnswer {
  @JobId('Its id.') id!: string;
  @Moment('When it ended.') gone_at!: string;
}

export class TrackedPage extends JobsPage {
  @Parts('The last 1,000 tracked jobs that ended within the last day.', () => TraceAnswer, MOST_ITEMS)
  gone!: readonly TraceAnswer[];
}

export class TrackedAnswer {
  @JobId('The id of the job.') id!: string;
  @Flag('True: it is tracked.') tracked!: boolean;
}
