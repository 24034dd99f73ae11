import {
  MAX_ACKS,
  MAX_GROUP,
  MAX_LABEL,
  MAX_MESSAGE,
  MAX_PERIOD_MS,
  MAX_TRIES,
  MAX_UINT32,
} from '../../domain/limits.js';
import { RELEASE_REASONS, type ReleaseReason } from '../../domain/job/extended-job.js';
import { type JobState, STATE_NAMES } from '../../domain/job/states.js';
import { join, pick } from '../../contract/fields/derived.js';
import { Nullable, Optional } from '../../contract/fields/field.js';
import {
  AnyJson,
  Base64,
  Flag,
  Formed,
  JobId,
  JsonAsWritten,
  Label,
  Moment,
  OneOf,
  Part,
  Parts,
  QueueName,
  Text,
  Whole,
} from '../../contract/fields/kinds.js';
import { CONTENT_TYPE } from '../../domain/content-type.js';
import { CONTENT_TYPE_RULE, DataFields, PublishFields } from '../../contract/job/options.js';

/** The lease number, which every lease operation must give. */
export class LeaseFields {
  @Whole('The number of the lease, from the leased job.', 1, MAX_UINT32) lease!: number;
}

/** The next queue of a job that is acknowledged with `next`. */
export class NextFields extends pick(
  PublishFields,
  ['queue', 'delay_ms', 'depends_on', 'on_missing_dependency'],
  {
    queue: 'The next queue. The job keeps its id, data and timeline.',
    delay_ms: 'Time until it can be leased there.',
  },
) {}

/** The outcome of a job: a result or a next queue; and new data. */
export class Outcome extends DataFields {
  @Optional()
  @JsonAsWritten('The result: any JSON, kept for the retention of the job.')
  result?: unknown;
  @Optional() @Base64('Bytes instead of `result`.') result_base64?: string;
  @Optional() @Formed('The content type of the bytes.', CONTENT_TYPE, CONTENT_TYPE_RULE) result_type?: string;
  @Optional()
  @Part('Moves the job to this queue instead of finishing it.', () => NextFields)
  next?: NextFields;
}

export class AckFields extends join(Outcome, LeaseFields) {}

export class AckManyItem extends Outcome {
  @QueueName('The queue of the job.') queue!: string;
  @JobId('The id of the job.') id!: string;
  @Optional()
  @Whole('The number of the lease, from the leased job. Required without `force`.', 1, MAX_UINT32)
  lease?: number;
  @Optional()
  @Flag(
    'True, instead of a lease: deletes the job in any state. Needs the permission admin. Not with a result, new data or a next queue.',
  )
  force?: boolean;
}

export class AckManyFields {
  @Parts('The acknowledgements.', () => AckManyItem, MAX_ACKS) acks!: AckManyItem[];
}

export class AckManyResult {
  @JobId('The id of the job.') id!: string;
  @OneOf(
    'The outcome. `namespace_full`: the new data is beyond the quota on bytes. `queue_full` and `too_many_queues`: a quota has no room in the next queue. `store_full`: Redis has no room for longer data, or for dependencies; send the ack again. `verb_missing`: the job names the URL that it is pushed to, and the token lacks the permission `push`. `dependency_cycle`, `too_many_dependencies` and `missing_dependency` concern the dependencies of `next`.',
    [
      ...['acked', 'moved', 'not_found', 'lease_lost'],
      ...['namespace_full', 'queue_full', 'too_many_queues', 'store_full', 'verb_missing'],
      ...['dependency_cycle', 'too_many_dependencies', 'missing_dependency'],
    ],
  )
  status!: string;
  @Optional()
  @Nullable()
  @OneOf('For `lease_lost`: the current state of the job; null = it is gone.', STATE_NAMES)
  state?: string | null;
}

export class AckManyAnswer {
  @Parts('One for each id, in order.', () => AckManyResult, MAX_ACKS) results!: AckManyResult[];
}

/** What a heartbeat says besides data. */
export class ExtensionFields extends LeaseFields {
  @Optional()
  @Whole('Duration of the lease from now; default: the `ttr_ms` of the job, else a minute.', 1, MAX_PERIOD_MS)
  ttr_ms?: number;
  @Optional() @AnyJson('The progress: any JSON.') progress?: unknown;
  @Optional()
  @Flag(
    'True: the handler begins now. The `max_run_ms` of the lease counts from here instead of from its grant. The first such heartbeat of a lease does it, later ones change nothing.',
  )
  begin?: boolean;
  @Optional()
  @Whole(
    'How long this handler may run, from `begin` on; needs `"begin": true`. The shorter one of this and the `max_run_ms` of the lease counts.',
    1,
    MAX_PERIOD_MS,
  )
  max_run_ms?: number;
}

export class HeartbeatFields extends ExtensionFields {
  @Optional() @JsonAsWritten('The new payload, with the same content type.') data?: unknown;
  @Optional() @Base64('The new payload as bytes.') data_base64?: string;
}

export class ReleaseFields extends LeaseFields {
  @Optional()
  @Whole('Time until it can be leased again; default 0, with `no_handler` by its count.', 0, MAX_PERIOD_MS)
  delay_ms?: number;
  @Optional()
  @OneOf(
    'Why. `no_handler`: the worker has no handler for the job. The job counts such releases until a handler begins: the first one takes 1 s, each next one twice as long, 60 s at most. The job keeps its place for the first three, and later joins the end of its queue.',
    RELEASE_REASONS,
  )
  reason?: ReleaseReason;
  @Optional()
  @Label('The name of the worker, if the lease request gave none.', { max: MAX_LABEL })
  worker?: string;
}

/** Why a job failed, and its new data. */
export class FailureFields extends DataFields {
  @Optional()
  @Label('The kind of failure; default `failed`.', { max: MAX_GROUP })
  group: string = 'failed';
  @Optional() @Text('The error message.', { min: 0, max: MAX_MESSAGE }) message: string = '';
}

export class FailFields extends FailureFields {
  @Optional()
  @Whole('The number of the lease, from the leased job. Required without `force`.', 1, MAX_UINT32)
  lease?: number;
  @Optional()
  @Flag(
    'True, instead of a lease: fails the job in any state; its lease holder loses the lease. Needs the permission admin. Not with new data.',
  )
  force?: boolean;
}

export class RetryFields extends join(FailureFields, LeaseFields) {
  @Optional()
  @Whole('Time until the next attempt; default: by the retry policy.', 0, MAX_PERIOD_MS)
  delay_ms?: number;
}

/** The state of a job after a lease operation. */
export class SettledAnswer {
  @JobId('The id of the job.') id!: string;
  @OneOf('Its state.', STATE_NAMES) state!: JobState;
  @Nullable() @Moment('When it can be leased again; null = at once, or never.') due_at!: string | null;
  @Whole('How many leases it may still get.', 0, MAX_TRIES) tries_left!: number;
}

export class HeartbeatAnswer {
  @JobId('The id of the job.') id!: string;
  @Moment('The new end of the lease.') lease_ends_at!: string;
  @Flag('True: a cancel is requested. Stop, and acknowledge or release the job.') cancel_requested!: boolean;
}
