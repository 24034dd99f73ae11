import {
  MAX_ATTRIBUTE_KEY,
  MAX_ATTRIBUTES,
  MAX_ATTRIBUTE_VALUE,
  MAX_BULK_JOBS,
  MAX_DEPENDENCIES,
  MAX_END_WAIT_MS,
  MAX_LABEL,
  MAX_PERIOD_MS,
  MAX_PRIORITY,
  MAX_TAGS,
  MAX_TRIES,
  MIN_PRIORITY,
} from '../../domain/limits.js';
import { CONTENT_TYPE } from '../../domain/content-type.js';
import type { DependencyFailure, UniqueKey } from '../../domain/extended-job.js';
import { MAX_PUSH_URL } from '../../domain/push-url.js';
import { Optional } from '../fields/field.js';
import {
  Base64,
  Flag,
  Formed,
  JobId,
  JobIds,
  JsonAsWritten,
  Label,
  Labels,
  Moment,
  OneOf,
  Part,
  Parts,
  QueueName,
  Text,
  TextsByName,
  Whole,
} from '../fields/kinds.js';
import { RetryPolicyFields } from './retry-policy.v1.js';

export const CONTENT_TYPE_RULE = 'must be a content type of at most 255 visible ASCII characters';
const ATTRIBUTE = new RegExp(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,${String(MAX_ATTRIBUTE_KEY - 1)}}$`);
const ATTRIBUTE_RULE = `1 to ${String(MAX_ATTRIBUTE_KEY)} letters, digits, _, ., : and -, the first a letter or a digit`;

/** Data of a job in a request. */
export class DataFields {
  @Optional()
  @JsonAsWritten('Any JSON; it is stored as it is written.')
  data?: unknown;
  @Optional() @Base64('Bytes instead of `data`, stored as they are.') data_base64?: string;
  @Optional()
  @Formed(
    'What the bytes are; `application/octet-stream` if it is left out. Beside `data` it may only be a kind of JSON.',
    CONTENT_TYPE,
    CONTENT_TYPE_RULE,
  )
  content_type?: string;
}

export class UniqueFields {
  @Label('Of all jobs of the namespace that are alive, one holds it.', { max: MAX_LABEL }) key!: string;
  @Optional()
  @OneOf(
    'What happens if another job holds it; `existing` if it is left out. `reject`: refused. `existing`: that job is answered. `replace`: that job goes, unless it is leased. `debounce`: that job waits anew.',
    ['reject', 'existing', 'replace', 'debounce'],
  )
  mode: UniqueKey['mode'] = 'existing';
  @Optional()
  @Whole(
    'How long the key is held, from publish on; as long as the job lives if it is 0 or left out.',
    0,
    MAX_PERIOD_MS,
  )
  window_ms?: number;
}

/** Where a job is pushed to. */
export class JobPushFields {
  @Text(
    'Where the request goes, instead of to the URL of the target: https, or http if the server allows it. Its origin must be one of the `origins` of the target.',
    { max: MAX_PUSH_URL },
  )
  url!: string;
}

/** Options of a job, for all calls that create one. */
export class OptionFields extends DataFields {
  @Optional()
  @Whole('How long it may exist, from publish on; 0 = for ever, as if it is left out.', 0, MAX_PERIOD_MS)
  ttl_ms?: number;
  @Optional() @Whole('How often it may be leased.', 1, MAX_TRIES) tries?: number;
  @Optional()
  @Whole('How long a lease of it lasts, unless the consumer says.', 1, MAX_PERIOD_MS)
  ttr_ms?: number;
  @Optional()
  @Whole(
    'Shortest delay before the next attempt after a lease of it has expired; the setting of its queue if it is left out.',
    0,
    MAX_PERIOD_MS,
  )
  lease_grace_ms?: number;
  @Optional() @Whole('Lower runs sooner; 0 if it is left out.', MIN_PRIORITY, MAX_PRIORITY) priority?: number;
  @Optional() @Label('What kind of work it is.', { max: MAX_LABEL }) type?: string;
  @Optional() @Labels('Names to find it by.', { max: MAX_TAGS }, { max: MAX_LABEL }) tags?: string[];
  @Optional()
  @TextsByName('Whatever belongs to it.', {
    count: MAX_ATTRIBUTES,
    name: ATTRIBUTE,
    nameRule: ATTRIBUTE_RULE,
    max: MAX_ATTRIBUTE_VALUE,
  })
  attributes?: Record<string, string>;
  @Optional()
  @Part('Where it is pushed to. Needs the permission `push` too.', () => JobPushFields)
  push?: JobPushFields;
  @Optional()
  @JobIds('Jobs that must be done first. One that does not exist counts as done.', {
    min: 0,
    max: MAX_DEPENDENCIES,
  })
  depends_on?: string[];
  @Optional()
  @OneOf('What becomes of it when one of those fails, is cancelled or expires; `block` if it is left out.', [
    'block',
    'ignore',
    'fail',
    'cancel',
  ])
  on_dependency_failure?: DependencyFailure;
  @Optional() @Part('When it is tried again.', () => RetryPolicyFields) retry?: RetryPolicyFields;
  @Optional() @Part('A key that one job holds at a time.', () => UniqueFields) unique?: UniqueFields;
  @Optional()
  @Label('Jobs with the same key share the limits of their queue for one key.', { max: MAX_LABEL })
  concurrency_key?: string;
  @Optional()
  @Whole('How long it is kept when it is done, with its result; 0 = not at all.', 0, MAX_PERIOD_MS)
  retention_ms?: number;
  @Optional() @Flag('Its timeline is recorded from the start, whatever else it has.') history?: boolean;
}

/** A job to publish. */
export class PublishFields extends OptionFields {
  @QueueName('Where to put it.') queue!: string;
  @Optional() @JobId('An id of your choice. A job that has it already makes the call fail.') id?: string;
  @Optional() @Whole('Before it can be leased.', 0, MAX_PERIOD_MS) delay_ms?: number;
  @Optional() @Moment('When it can be leased, instead of `delay_ms`.') run_at?: string;
}

/** Several jobs, of any queues: all are published or none. */
export class PublishManyFields {
  @Parts('The jobs.', () => PublishFields, MAX_BULK_JOBS) jobs!: PublishFields[];
}

export class PublishQuery {
  @Optional()
  @Whole(
    'Fire and wait: the answer comes when the job has ended, or after so long. With one job only; it is kept for a minute longer than that, or for its own retention.',
    1,
    MAX_END_WAIT_MS,
  )
  wait_ms?: number;
}

export class PublishedAnswer {
  @JobId('The id of the job; for a unique key with `existing` perhaps that of another job.') id!: string;
  @Label('Its state.', { max: MAX_LABEL }) state!: string;
  @Flag('Nothing was stored: another job holds the unique key.') existing!: boolean;
}

export class PublishedManyAnswer {
  @Parts('One for each job, in order.', () => PublishedAnswer, MAX_BULK_JOBS) jobs!: PublishedAnswer[];
}
