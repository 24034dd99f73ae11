import { MAX_GROUP, MAX_LABEL } from '../../domain/limits.js';
import { LISTED_STATES, type ListedState } from '../../domain/job/job-lists.js';
import { Optional } from '../fields/field.js';
import { Label, QueueName, SomeOf } from '../fields/kinds.js';

/** Filters of a job list; a job must match all of them. */
export class JobFilterFields {
  @Optional() @QueueName('Their queue. A token for some queues must name one of them.') queue?: string;
  @Optional()
  @SomeOf(
    'States, separated by commas. `stalled`, only alone: a worker with a name had the last lease, which ended, and none has leased the job since.',
    LISTED_STATES,
  )
  state?: ListedState[];
  @Optional() @Label('One of their tags.', { max: MAX_LABEL }) tag?: string;
  @Optional() @Label('Their type.', { max: MAX_LABEL }) type?: string;
  @Optional()
  @Label('The group of their last failure; without `state`: of dead jobs.', { max: MAX_GROUP })
  group?: string;
  @Optional()
  @Label('The worker that holds their lease, or whose lease expired.', { max: MAX_LABEL })
  worker?: string;
}
