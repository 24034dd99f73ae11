import { MAX_ATTRIBUTE_KEY, MAX_ATTRIBUTE_VALUE } from '../domain/limits.js';
import { join, omit } from '../contract/fields/derived.js';
import { HoldsData, Optional } from '../contract/fields/field.js';
import { Formed, QueueName, SomeOf } from '../contract/fields/kinds.js';
import { DeadFilterFields, RespawnFields } from '../contract/job/dead-jobs.js';
import { JobsPageQuery } from '../http/request/page-query.js';

const PAIR = new RegExp(`^[^=]{1,${String(MAX_ATTRIBUTE_KEY)}}=[^]{0,${String(MAX_ATTRIBUTE_VALUE)}}$`);

/** The filters in a query, where there is one attribute at most. */
export class DeadQuery extends join(JobsPageQuery, omit(DeadFilterFields, ['attributes'])) {
  @Optional()
  @HoldsData()
  @Formed('One of their attributes, `name=value`.', PAIR, 'must be name=value')
  attribute?: string;
  @Optional() @SomeOf('`data`: adds the payloads, at most 4 MiB in one answer.', ['data']) fields?: string[];
}

export class MoveFields extends RespawnFields {
  @QueueName('The queue that they move to.') to_queue!: string;
}
