import {
  MAX_ATTRIBUTE_KEY,
  MAX_ATTRIBUTE_VALUE,
  MAX_ATTRIBUTES,
  MAX_GROUP,
  MAX_LABEL,
  MAX_MESSAGE,
  MAX_PERIOD_MS,
  MAX_TRIES,
} from '../domain/limits.js';
import { Nullable, Optional } from '../http/fields/field.js';
import {
  Flag,
  Formed,
  JobIds,
  Label,
  Moment,
  Part,
  QueueName,
  TextsByName,
  Whole,
} from '../http/fields/kinds.js';
import { JobsPageQuery, MAX_CURSOR } from '../http/request/page-query.js';

const MOST_IDS = 1_000;
const MANY = 1_000_000_000;
const NAMED = { count: MAX_ATTRIBUTES, name: /^[^]*$/, nameRule: 'any characters', max: MAX_ATTRIBUTE_VALUE };
const PAIR = new RegExp(`^[^=]{1,${String(MAX_ATTRIBUTE_KEY)}}=[^]{0,${String(MAX_ATTRIBUTE_VALUE)}}$`);

/** Filters of a list of dead jobs; a job must match all of them. */
export class DeadQuery extends JobsPageQuery {
  @Optional() @QueueName('Their queue. A token for some queues must name one of them.') queue?: string;
  @Optional() @Label('Their failure group.', { max: MAX_GROUP }) group?: string;
  @Optional() @Label('Their type.', { max: MAX_LABEL }) type?: string;
  @Optional() @Label('One of their tags.', { max: MAX_LABEL }) tag?: string;
  @Optional()
  @Label('Part of the failure message, in letters of either case.', { max: MAX_LABEL })
  text?: string;
  @Optional()
  @Formed('One of their attributes, `name=value`.', PAIR, 'must be name=value')
  attribute?: string;
  @Optional() @Moment('They died then or later.') from?: string;
  @Optional() @Moment('They died then or sooner.') to?: string;
}

/** The same filters in a body. */
export class DeadFilterFields {
  @Optional() @QueueName('Their queue. A token for some queues must name one of them.') queue?: string;
  @Optional() @Label('Their failure group.', { max: MAX_GROUP }) group?: string;
  @Optional() @Label('Their type.', { max: MAX_LABEL }) type?: string;
  @Optional() @Label('One of their tags.', { max: MAX_LABEL }) tag?: string;
  @Optional()
  @Label('Part of the failure message, in letters of either case.', { max: MAX_LABEL })
  text?: string;
  @Optional() @TextsByName('Attributes that they have.', NAMED) attributes?: Record<string, string>;
  @Optional() @Moment('They died then or later.') from?: string;
  @Optional() @Moment('They died then or sooner.') to?: string;
}

/** A selection of dead jobs: by a filter or by ids. */
export class DeadFields {
  @Optional()
  @Part(
    'Which of them; `{}` = all of the namespace. With `ids`: what must hold of those too.',
    () => DeadFilterFields,
  )
  filter?: DeadFilterFields;
  @Optional()
  @JobIds('Which of them by name; others than dead ones stay as they are.', { max: MOST_IDS })
  ids?: string[];
  @Optional() @Flag('Only counts them, and changes nothing.') dry_run?: boolean;
  @Optional() @Whole('Jobs at most; all of them if it is left out.', 1, MANY) limit?: number;
  @Optional()
  @Label('The `next_cursor` of an answer: goes on from there.', { max: MAX_CURSOR })
  cursor?: string;
}

export class RespawnFields extends DeadFields {
  @Optional()
  @Whole(
    'How often they may be leased. Left out: as often as they were published with, and their failures are forgotten.',
    1,
    MAX_TRIES,
  )
  tries?: number;
  @Optional()
  @Flag('They keep the tries that they had left, 1 at least; instead of `tries`.')
  keep_tries?: boolean;
  @Optional()
  @Whole('How long they may live from now; 0, or left out: for ever.', 0, MAX_PERIOD_MS)
  ttl_ms?: number;
}

export class MoveFields extends RespawnFields {
  @QueueName('Where they go, ready to run.') to_queue!: string;
}

export class DeadAnswer {
  @Whole('Jobs that this call counted, brought back, moved or deleted.', 0, MANY) jobs!: number;
  @Flag('Whether nothing was changed.') dry_run!: boolean;
  @Nullable()
  @Label('Not all are done yet: ask again with this as `cursor`. Null: they are.', { max: MAX_MESSAGE })
  next_cursor!: string | null;
}
