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
import { JOB_STATES } from '../../domain/job/states.js';
import { CONTENT_TYPE } from '../../domain/content-type.js';
import type { DependencyFailure, UniqueKey } from '../../domain/job/extended-job.js';
import { MAX_PUSH_URL } from '../../domain/push-url.js';
import { join } from '../fields/derived.js';
import { HoldsData, Optional, Stores } from '../fields/field.js';
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
import { RetryPolicyFields } from './retry-policy.js';

export const CONTENT_TYPE_RULE = 'must be a content type of at most 255 visible ASCII characters';
const ATTRIBUTE = new RegExp(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,${String(MAX_ATTRIBUTE_KEY - 1)}}$`);
const ATTRIBUTE_RULE = `1 to ${String(MAX_ATTRIBUTE_KEY)} letters, digits, _, ., : and -, the first a letter or a digit`;

export const MISSING_DEPENDENCIES =
  'Ids in `depends_on` that no job has, which count as done; left out if there are none. A finished job has its id as long as it is kept.';

/** Data of a job in a request. */
export class DataFields {
  @Optional()
  @JsonAsWritten('The payload: any JSON, stored as it was sent.')
  data?: unknown;
  @Optional() @Base64('The payload as bytes, instead of `data`.') data_base64?: string;
  @Optional()
  @Stores({ field: 'ctype', path: 'hash' })
  @Formed(
    'The type of the bytes; default `application/octet-stream`. With `data` only a JSON type.',
    CONTENT_TYPE,
    CONTENT_TYPE_RULE,
  )
  content_type?: string;
}

export class UniqueFields {
  @Label('At most one live job of the namespace holds it.', { max: MAX_LABEL }) key!: string;
  @Optional()
  @OneOf(
    'What happens if another job holds it; default `existing`. `reject`: the publish is refused. `existing`: the answer is that job. `replace`: that job is replaced, unless it is leased. `debounce`: the delay of that job restarts.',
    ['reject', 'existing', 'replace', 'debounce'],
  )
  mode: UniqueKey['mode'] = 'existing';
  @Optional()
  @Whole('How long the key is held, from publish; 0 (default) = while the job is live.', 0, MAX_PERIOD_MS)
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

/** Options that a job keeps as they are given, and that answers show. */
export class KeptOptions {
  @Optional()
  @Stores({ field: 'ttr', path: 'hash' })
  @Whole('Duration of its leases (visibility timeout), unless the lease request sets one.', 1, MAX_PERIOD_MS)
  ttr_ms?: number;
  @Optional()
  @Stores({ field: 'grace', path: 'hash' })
  @Whole(
    'Shortest delay before the next attempt after its lease expired; default: the setting of its queue.',
    0,
    MAX_PERIOD_MS,
  )
  lease_grace_ms?: number;
  @Optional()
  @Stores({ field: 'run', path: 'hash' })
  @Whole(
    'How long it may run in one lease, from the grant of the lease on, whatever its heartbeats. Then the lease is lost, and the job fails with the group `max_run_exceeded`. Default: no limit.',
    1,
    MAX_PERIOD_MS,
  )
  max_run_ms?: number;
  @Optional()
  @Stores({ field: 'retry', path: 'hash' })
  @Part('The retry policy (backoff).', () => RetryPolicyFields)
  retry?: RetryPolicyFields;
  @Optional()
  @Stores({ field: 'ckey', path: 'extended' })
  @Label('Jobs with the same key share the limits per key of their queue.', { max: MAX_LABEL })
  concurrency_key?: string;
  @Optional()
  @Stores({ field: 'fair', path: 'extended' })
  @Label(
    'In a fair queue, keys are served in turns. Default: its concurrency key; jobs with neither have turns together.',
    { max: MAX_LABEL },
  )
  fair_key?: string;
  @Optional()
  @Stores({ field: 'keep', path: 'hash', idle: 0 })
  @Whole('How long the job and its result are kept when it is done; 0 = not kept.', 0, MAX_PERIOD_MS)
  retention_ms?: number;
}

/** Options of a job, for all calls that create one. */
export class JobOptions extends join(DataFields, KeptOptions) {
  @Optional()
  @Whole('How long it may exist, from publish; 0 (default) = no expiry.', 0, MAX_PERIOD_MS)
  ttl_ms?: number;
  @Optional()
  @Whole('How many leases it may have; 5 if neither the job nor its queue says so.', 1, MAX_TRIES)
  tries?: number;
  @Optional()
  @Stores({ path: 'extended', idle: 0 })
  @Whole('Lower runs first; default 0.', MIN_PRIORITY, MAX_PRIORITY)
  priority?: number;
  @Optional()
  @Stores({ field: 'type', path: 'hash' })
  @Label('The kind of work, for the choice of a handler.', { max: MAX_LABEL })
  type?: string;
  @Optional()
  @Stores({ field: 'tags', path: 'hash' })
  @Labels('Labels for lists and events.', { max: MAX_TAGS }, { max: MAX_LABEL })
  tags?: string[];
  @Optional()
  @HoldsData()
  @Stores({ field: 'attributes' })
  @TextsByName(
    'Metadata of the job: strings by name, at most 16. Names have 1 to 32 letters, digits and `_.:-`, values at most 128 characters.',
    {
      count: MAX_ATTRIBUTES,
      name: ATTRIBUTE,
      nameRule: ATTRIBUTE_RULE,
      max: MAX_ATTRIBUTE_VALUE,
    },
  )
  attributes?: Record<string, string>;
  @Optional()
  @Part('Where it is pushed to. Needs the permission `push` too.', () => JobPushFields)
  push?: JobPushFields;
  @Optional()
  @Stores({ path: 'extended' })
  @JobIds(
    'Jobs that must be done first. An id that does not exist counts as done, unless `on_missing_dependency` is `refuse`.',
    { min: 0, max: MAX_DEPENDENCIES },
  )
  depends_on?: string[];
  @Optional()
  @OneOf(
    'What happens if there is no job with an id in `depends_on`; default `ignore`: it counts as done. `refuse`: the call is refused with `missing_dependency`, and nothing changes.',
    ['ignore', 'refuse'],
  )
  on_missing_dependency?: 'ignore' | 'refuse';
  @Optional()
  @Stores({ field: 'onfail', path: 'extended', idle: 'block' })
  @OneOf('What happens if a dependency fails, is cancelled or expires; default `block`.', [
    'block',
    'ignore',
    'fail',
    'cancel',
  ])
  on_dependency_failure?: DependencyFailure;
  @Optional()
  @Stores({ field: 'unique', part: 'key', path: 'extended' })
  @Part('A key that at most one live job holds (deduplication).', () => UniqueFields)
  unique?: UniqueFields;
  @Optional()
  @Stores({ path: 'hash', idle: false })
  @Flag('True: its timeline is recorded from the start.')
  history?: boolean;
}

/** A job to publish. */
export class PublishFields extends JobOptions {
  @QueueName('The queue.') queue!: string;
  @Optional()
  @JobId(
    'An id of your choice: letters, digits, `-` and `_`, the first a letter or a digit. If a job has this id, the call fails with `job_exists`.',
  )
  id?: string;
  @Optional() @Whole('Time until it can be leased.', 0, MAX_PERIOD_MS) delay_ms?: number;
  @Optional() @Moment('Time at which it can be leased; instead of `delay_ms`.') run_at?: string;
}

/** Several jobs, of any queues: all are published or none. */
export class PublishManyFields {
  @Parts('The jobs.', () => PublishFields, MAX_BULK_JOBS) jobs!: PublishFields[];
}

export class PublishQuery {
  @Optional()
  @Whole(
    'Publish and wait: blocks until the job finishes, at most this long. For one job only. A done job is kept for `wait_ms` and a minute more, or for its own retention if that is longer.',
    1,
    MAX_END_WAIT_MS,
  )
  wait_ms?: number;
}

export class PublishedAnswer {
  @JobId('The id of the job; with a unique key and `existing`, possibly that of another job.') id!: string;
  @OneOf('Its state; `gone`: it was done meanwhile, or is deleted.', [...Object.keys(JOB_STATES), 'gone'])
  state!: string;
  @Flag('Nothing was stored: another job holds the unique key.') existing!: boolean;
  @Optional()
  @JobIds(MISSING_DEPENDENCIES, { max: MAX_DEPENDENCIES })
  missing_dependencies?: readonly string[];
}

export class PublishedManyAnswer {
  @Parts('One result for each job, in order.', () => PublishedAnswer, MAX_BULK_JOBS) jobs!: PublishedAnswer[];
}
