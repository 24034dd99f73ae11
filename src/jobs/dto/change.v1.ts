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
import { JOB_STATES } from '../../domain/job/states.js';
import { Nullable, Optional } from '../../contract/fields/field.js';
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
} from '../../contract/fields/kinds.js';
import { DataFields } from '../../contract/job/options.js';
import { RetryPolicyFields } from '../../contract/job/retry-policy.js';

/** Changes to a waiting job. */
export class ChangeFields extends DataFields {
  @Optional()
  @Whole(
    'Lower runs first. Among jobs with the same priority, the order is by publish time.',
    MIN_PRIORITY,
    MAX_PRIORITY,
  )
  priority?: number;
  @Optional()
  @Labels('Its tags; replace the old ones.', { max: MAX_TAGS }, { max: MAX_LABEL })
  tags?: string[];
  @Optional()
  @Whole('Total number of leases allowed; must be more than the leases so far.', 1, MAX_TRIES)
  tries?: number;
  @Optional() @Label('The kind of work, for the choice of a handler.', { max: MAX_LABEL }) type?: string;
  @Optional()
  @Part('The retry policy, from the next failure on.', () => RetryPolicyFields)
  retry?: RetryPolicyFields;
  @Optional() @Moment('When it can be leased; a time in the past makes it ready.') due_at?: string;
  @Optional() @Whole('The same as `due_at`, as a delay from now.', 0, MAX_PERIOD_MS) delay_ms?: number;
  @Optional() @Whole('Its ttl from now; 0 = no expiry.', 0, MAX_PERIOD_MS) ttl_ms?: number;
  @Optional() @QueueName('The new queue: the job moves to its end.') queue?: string;
  @Optional()
  @JobIds('Replaces all dependencies; empty: none.', {
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
  @OneOf('Its state; null if it is gone because of a failed dependency.', Object.keys(JOB_STATES))
  state!: string | null;
  @Nullable()
  @Moment('When it can be leased; null = not scheduled, or far ahead and published without options.')
  due_at!: string | null;
}

export class CancelFields {
  @Optional()
  @Flag('True: also cancels all jobs that depend on it, directly or not.')
  cascade?: boolean;
  @Optional()
  @Whole(
    'How long its worker may continue; 0 revokes the lease immediately. Default: the setting `grace_ms`.',
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
    'True: also deletes a leased job, and a job with dependents (not with a token for some queues). Needs the permission admin.',
  )
  force: boolean = false;
}

export class CancelledAnswer {
  @JobId('The id of the job.') id!: string;
  @OneOf(
    'The outcome. `requested`: it is leased; its worker learns of it with the next heartbeat, and loses the lease at `revoked_at`.',
    ['cancelled', 'requested', 'already_cancelled'],
  )
  outcome!: string;
  @Nullable() @Moment('When the lease is revoked.') revoked_at!: string | null;
}

export class CancelManyResult {
  @JobId('The id of the job.') id!: string;
  @OneOf(
    'The outcome, as for one cancel; `done`: the job is done; `not_found`: there is no such job, or it is outside of the queues of the token.',
    ['cancelled', 'requested', 'already_cancelled', 'done', 'not_found'],
  )
  outcome!: string;
  @Nullable() @Moment('When the lease is revoked.') revoked_at!: string | null;
}

export class CancelManyAnswer {
  @Parts('One for each id, in order.', () => CancelManyResult, MAX_CANCELS) results!: CancelManyResult[];
}

/** An entry for a job's timeline. */
export class LogFields {
  @Text('The message of the entry.', { max: MAX_LOG_LINE }) message!: string;
  @Optional() @AnyJson(`Anything else, of at most ${String(MAX_LOG_DATA_BYTES)} bytes.`) data?: unknown;
}
