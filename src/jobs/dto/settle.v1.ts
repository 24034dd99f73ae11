import {
  MAX_ACKS,
  MAX_DEPENDENCIES,
  MAX_GROUP,
  MAX_MESSAGE,
  MAX_PERIOD_MS,
  MAX_UINT32,
} from '../../domain/limits.js';
import { JOB_STATES } from '../../domain/states.js';
import { Nullable, Optional } from '../../http/fields/field.js';
import {
  AnyJson,
  Base64,
  Flag,
  Formed,
  JobId,
  JobIds,
  JsonAsWritten,
  Label,
  Moment,
  OneOf,
  Part,
  Parts,
  QueueName,
  Text,
  Whole,
} from '../../http/fields/kinds.js';
import { CONTENT_TYPE } from '../../domain/content-type.js';
import { CONTENT_TYPE_RULE, DataFields } from '../../http/job-fields/fields.js';

/** The lease number, which every lease operation must give. */
export class LeaseFields {
  @Whole('The number of the lease, as it came with the job.', 1, MAX_UINT32) lease!: number;
}

/** The next queue of a job that is acknowledged with `next`. */
export class NextFields {
  @QueueName('The next queue. The job keeps its id, its data and its timeline.') queue!: string;
  @Optional() @Whole('Before it can be leased there.', 0, MAX_PERIOD_MS) delay_ms?: number;
  @Optional()
  @JobIds('Jobs that must be done first.', { min: 0, max: MAX_DEPENDENCIES })
  depends_on?: string[];
}

/** The outcome of a job: a result or a next queue; and new data. */
export class Outcome extends DataFields {
  @Optional()
  @JsonAsWritten('Any JSON, kept with the job for as long as its retention says.')
  result?: unknown;
  @Optional() @Base64('Bytes instead of `result`.') result_base64?: string;
  @Optional() @Formed('What the bytes are.', CONTENT_TYPE, CONTENT_TYPE_RULE) result_type?: string;
  @Optional() @Part('Where the job goes now, instead of being done.', () => NextFields) next?: NextFields;
}

export class AckFields extends Outcome {
  @Whole('The number of the lease, as it came with the job.', 1, MAX_UINT32) lease!: number;
}

export class AckManyItem extends Outcome {
  @QueueName('The queue of the job.') queue!: string;
  @JobId('The id of the job.') id!: string;
  @Optional()
  @Whole(
    'The number of the lease, as it came with the job. It may be left out only beside `force`.',
    1,
    MAX_UINT32,
  )
  lease?: number;
  @Optional()
  @Flag(
    'True, in place of a lease: removes the job in whatever state it is. Needs the permission admin. Not beside a result, new data or a next queue.',
  )
  force?: boolean;
}

export class AckManyFields {
  @Parts('The acknowledgements.', () => AckManyItem, MAX_ACKS) acks!: AckManyItem[];
}

export class AckManyResult {
  @JobId('The id of the job.') id!: string;
  @OneOf('What became of it; the last two are of what it was to wait for next.', [
    ...['acked', 'moved', 'not_found', 'lease_lost'],
    ...['dependency_cycle', 'too_many_dependencies'],
  ])
  status!: string;
  @Optional()
  @Nullable()
  @OneOf('Of `lease_lost`: the present state of the job; null = it is gone.', Object.keys(JOB_STATES))
  state?: string | null;
}

export class AckManyAnswer {
  @Parts('One for each, in order.', () => AckManyResult, MAX_ACKS) results!: AckManyResult[];
}

export class HeartbeatFields extends LeaseFields {
  @Optional()
  @Whole(
    'How long the lease lasts from now; the `ttr_ms` of the job, or a minute, if it is left out.',
    1,
    MAX_PERIOD_MS,
  )
  ttr_ms?: number;
  @Optional() @AnyJson('How far the work is: any JSON.') progress?: unknown;
  @Optional() @JsonAsWritten('New data of the job, of the content type that it has.') data?: unknown;
  @Optional() @Base64('New data in bytes.') data_base64?: string;
}

export class ReleaseFields extends LeaseFields {
  @Optional() @Whole('Before it can be leased again.', 0, MAX_PERIOD_MS) delay_ms?: number;
}

export class FailFields extends DataFields {
  @Whole('The number of the lease, as it came with the job.', 1, MAX_UINT32) lease!: number;
  @Optional()
  @Label('What kind of failure it is; `failed` if it is left out.', { max: MAX_GROUP })
  group?: string;
  @Optional() @Text('What went wrong.', { min: 0, max: MAX_MESSAGE }) message?: string;
}

export class RetryFields extends FailFields {
  @Optional()
  @Whole('Before it can be leased again; as the retry policy says if it is left out.', 0, MAX_PERIOD_MS)
  delay_ms?: number;
}

/** The state of a job after a lease operation. */
export class SettledAnswer {
  @JobId('The id of the job.') id!: string;
  @OneOf('Its state now.', ['ready', 'scheduled', 'dead', 'blocked', 'cancelled']) state!: string;
  @Nullable() @Moment('When it can be leased again; null = at once, or never.') due_at!: string | null;
}

export class HeartbeatAnswer {
  @JobId('The id of the job.') id!: string;
  @Moment('When the lease ends now.') lease_ends_at!: string;
  @Flag('Somebody wants the job cancelled: stop, and acknowledge or release it.') cancel_requested!: boolean;
}
