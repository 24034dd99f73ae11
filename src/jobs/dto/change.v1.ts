import {
  MAX_CANCELS,
  MAX_DEPENDENCIES,
  MAX_LABEL,
  MAX_LOG_DATA_BYTES,
  MAX_LOG_LINE,
  MAX_PERIOD_MS,
  MAX_PRIORITY,
  MAX_TAGS,
  MAX_TRIES,
  MIN_PRIORITY,
} from '../../domain/limits.js';
import { JOB_STATES } from '../../domain/states.js';
import { Nullable, Optional } from '../../http/fields/field.js';
import {
  AnyJson,
  Flag,
  JobId,
  JobIds,
  Label,
  Labels,
  Moment,
  OneOf,
  Part,
  Parts,
  QueueName,
  Text,
  Whole,
} from '../../http/fields/kinds.js';
import { DataFields } from '../../http/job-fields/fields.js';
import { RetryPolicyFields } from '../../http/job-fields/retry-policy.v1.js';

/** Changes to a waiting job. */
export class ChangeFields extends DataFields {
  @Optional()
  @Whole(
    'Lower runs sooner. Among the jobs that have the same priority it keeps its place in time.',
    MIN_PRIORITY,
    MAX_PRIORITY,
  )
  priority?: number;
  @Optional()
  @Labels('Its tags, instead of those that it has.', { max: MAX_TAGS }, { max: MAX_LABEL })
  tags?: string[];
  @Optional()
  @Whole('How often it may be leased in all; more than the tries that it has used.', 1, MAX_TRIES)
  tries?: number;
  @Optional() @Label('What kind of work it is.', { max: MAX_LABEL }) type?: string;
  @Optional()
  @Part('When it is tried again, from its next failure on.', () => RetryPolicyFields)
  retry?: RetryPolicyFields;
  @Optional() @Moment('When it can be leased; a time that is past makes it ready.') due_at?: string;
  @Optional() @Whole('The same as `due_at`, from now on.', 0, MAX_PERIOD_MS) delay_ms?: number;
  @Optional() @Whole('How long it may exist from now on; 0 = for ever.', 0, MAX_PERIOD_MS) ttl_ms?: number;
  @Optional() @QueueName('Its queue from now on: it goes to the end of the line there.') queue?: string;
  @Optional()
  @JobIds('Jobs that must be done first, instead of those that it waits for; none: it waits for nothing.', {
    min: 0,
    max: MAX_DEPENDENCIES,
  })
  depends_on?: string[];
}

/** Ids of the jobs that a job depends on. */
export class DependencyFields {
  @JobIds('Their ids.', { max: MAX_DEPENDENCIES }) depends_on!: string[];
}

/** The state of a job after a change. */
export class ChangedAnswer {
  @JobId('The id of the job.') id!: string;
  @Nullable()
  @OneOf('Its state now; null if it is gone, because of what it was to wait for.', Object.keys(JOB_STATES))
  state!: string | null;
  @Nullable()
  @Moment(
    'When it can be leased; null = it is not scheduled, or it is far ahead and was published without options.',
  )
  due_at!: string | null;
}

export class CancelFields {
  @Optional()
  @Flag('All that depend on it are cancelled too, whatever they say of that, and what depends on them.')
  cascade?: boolean;
  @Optional()
  @Whole(
    'How long the owner of its lease may go on; 0 = he loses it at once. If it is left out, the setting `grace_ms` says it.',
    0,
    MAX_PERIOD_MS,
  )
  grace_ms?: number;
}

export class CancelManyFields extends CancelFields {
  @JobIds('Their ids.', { max: MAX_CANCELS }) ids!: string[];
}

export class DeleteJobQuery {
  @Optional()
  @Flag(
    'True: also if it is leased, and its lease holder finds it gone; and if jobs depend on it, unless the token is for some queues. Needs the permission admin.',
  )
  force: boolean = false;
}

export class CancelledAnswer {
  @JobId('The id of the job.') id!: string;
  @OneOf(
    'What became of it. `requested`: it is leased; its owner hears of it with the next heartbeat, and loses it at `revoked_at`.',
    ['cancelled', 'requested', 'already_cancelled'],
  )
  outcome!: string;
  @Nullable() @Moment('When its owner loses it.') revoked_at!: string | null;
}

export class CancelManyResult {
  @JobId('The id of the job.') id!: string;
  @OneOf(
    'What became of it, as of a cancel of one; `done`: too late, it is done; `not_found`: there is no such job, or the token is not for its queue.',
    ['cancelled', 'requested', 'already_cancelled', 'done', 'not_found'],
  )
  outcome!: string;
  @Nullable() @Moment('When its owner loses it.') revoked_at!: string | null;
}

export class CancelManyAnswer {
  @Parts('One for each, in order.', () => CancelManyResult, MAX_CANCELS) results!: CancelManyResult[];
}

/** An entry for a job's timeline. */
export class LogFields {
  @Text('What is to be read there.', { max: MAX_LOG_LINE }) message!: string;
  @Optional() @AnyJson(`Anything else, of at most ${String(MAX_LOG_DATA_BYTES)} bytes.`) data?: unknown;
}
