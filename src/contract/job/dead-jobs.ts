import {
  MAX_ATTRIBUTE_VALUE,
  MAX_ATTRIBUTES,
  MAX_CURSOR,
  MAX_GROUP,
  MAX_LABEL,
  MAX_MESSAGE,
  MAX_PERIOD_MS,
  MAX_TRIES,
} from '../../domain/limits.js';
import type { DeadFilter, DeadStep, Respawn } from '../../domain/job/job-lists.js';
import { HoldsData, Nullable, Optional } from '../fields/field.js';
import { Flag, JobIds, Label, Moment, Part, QueueName, TextsByName, Whole } from '../fields/kinds.js';
import type { Inside } from '../fields/wire.js';
import { ANY_NAME, MANY } from './answers.js';

/* Calls on dead jobs. */

const MOST_IDS = 1_000;
const NAMED = { count: MAX_ATTRIBUTES, name: ANY_NAME, nameRule: 'any characters', max: MAX_ATTRIBUTE_VALUE };

/** Filters of dead jobs; a job must match all of them. */
export class DeadFilterFields {
  @Optional() @QueueName('Their queue. A token for some queues must name one of them.') queue?: string;
  @Optional() @Label('Their failure group.', { max: MAX_GROUP }) group?: string;
  @Optional() @Label('Their type.', { max: MAX_LABEL }) type?: string;
  @Optional() @Label('One of their tags.', { max: MAX_LABEL }) tag?: string;
  @Optional()
  @HoldsData()
  @Label('Part of the failure message, case-insensitive.', { max: MAX_LABEL })
  text?: string;
  @Optional() @HoldsData() @TextsByName('Attributes of the jobs.', NAMED) attributes?: Record<string, string>;
  @Optional() @Moment('They died at this time or later.') from?: string;
  @Optional() @Moment('They died at this time or earlier.') to?: string;
}

/** A selection of dead jobs: by a filter or by ids. */
export class DeadFields {
  @Optional()
  @Part(
    'Selects the jobs; `{}` = all of the namespace. With `ids`: an additional condition.',
    () => DeadFilterFields,
  )
  filter?: DeadFilterFields;
  @Optional()
  @JobIds('Ids of the jobs; jobs that are not dead do not change.', { max: MOST_IDS })
  ids?: string[];
  @Optional() @Flag('True: only counts, changes nothing.') dry_run?: boolean;
  @Optional() @Whole('Maximum number of jobs; default all.', 1, MANY) limit?: number;
  @Optional()
  @Label('The `next_cursor` of the last answer: continues there.', { max: MAX_CURSOR })
  cursor?: string;
}

export class RespawnFields extends DeadFields {
  @Optional()
  @Whole(
    'The new number of tries. Default: the number that each job was published with. Failures are reset.',
    1,
    MAX_TRIES,
  )
  tries?: number;
  @Optional()
  @Flag('True, instead of `tries`: they keep the tries that they had left, at least 1.')
  keep_tries?: boolean;
  @Optional()
  @Whole('Their ttl from now; 0 (default) = no expiry.', 0, MAX_PERIOD_MS)
  ttl_ms?: number;
}

export class DeadAnswer {
  @Whole('Number of jobs that this call respawned, moved or deleted; with `dry_run`, counted.', 0, MANY)
  jobs!: number;
  @Flag('True: nothing was changed.') dry_run!: boolean;
  @Nullable()
  @Label('Not null: there are more jobs; repeat the call with this as `cursor`.', { max: MAX_MESSAGE })
  next_cursor!: string | null;
}

/** Dead jobs to count, respawn or delete. Without a filter and ids: all of the namespace. */
export interface DeadSelection extends Omit<Inside<DeadFields>, 'filter'> {
  readonly filter?: DeadFilter;
}

/** What becomes of respawned jobs. @param queue the one that they move to */
export function respawnOf(
  { tries, keepTries = false, ttlMs = 0 }: Pick<Inside<RespawnFields>, 'tries' | 'keepTries' | 'ttlMs'>,
  queue?: string,
): Respawn {
  return {
    ttlMs,
    tries: keepTries ? 'keep' : (tries ?? 'reset'),
    ...(queue === undefined ? {} : { queue }),
  };
}

/** The result of a step as answers have it. */
export function deadFacts({ done, cursor }: DeadStep, { dryRun = false }: DeadSelection): Inside<DeadAnswer> {
  return { jobs: done, dryRun, nextCursor: cursor };
}
