import { MOST_VALUES } from '../domain/job/event-filter.js';
import { EVENT_NAMES } from '../domain/job/job-event.js';
import { MAX_LABEL } from '../domain/limits.js';
import { Optional } from '../contract/fields/field.js';
import { JobIds, Labels, QueueNames, SomeOf } from '../contract/fields/kinds.js';

/** Documents the event filters for OpenAPI: values of one filter are ORed, different filters are ANDed. */
export class EventsQuery {
  @Optional() @QueueNames('Events of these queues.', { max: MOST_VALUES }) queue?: string[];
  @Optional() @SomeOf('Events with these names.', EVENT_NAMES) event?: string[];
  @Optional() @JobIds('Events of these job ids.', { max: MOST_VALUES }) job?: string[];
  @Optional()
  @Labels(
    'Events of jobs with one of these types.',
    { min: 1, max: MOST_VALUES },
    { max: MAX_LABEL },
    'repeated',
  )
  type?: string[];
  @Optional()
  @Labels(
    'Events of jobs with at least one of these tags.',
    { min: 1, max: MOST_VALUES },
    { max: MAX_LABEL },
    'repeated',
  )
  tag?: string[];
}
