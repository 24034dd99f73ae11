import { EVENT_NAMES } from '../domain/job-event.js';
import { MAX_LABEL } from '../domain/limits.js';
import { Optional } from '../http/fields/field.js';
import { JobIds, Labels, QueueNames, SomeOf } from '../http/fields/kinds.js';

const MOST_VALUES = 100;

/** What the API's document says of the filters: of several values of one any will do, of several filters each counts. */
export class EventsQuery {
  @Optional() @QueueNames('Of these queues.', { max: MOST_VALUES }) queue?: string[];
  @Optional() @SomeOf('Of these names.', EVENT_NAMES) event?: string[];
  @Optional() @JobIds('Of jobs with these ids.', { max: MOST_VALUES }) job?: string[];
  @Optional()
  @Labels('Of jobs with one of these types.', { min: 1, max: MOST_VALUES }, { max: MAX_LABEL })
  type?: string[];
  @Optional()
  @Labels('Of jobs with at least one of these tags.', { min: 1, max: MOST_VALUES }, { max: MAX_LABEL })
  tag?: string[];
}
