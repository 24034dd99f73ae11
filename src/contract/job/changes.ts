import { MAX_DEPENDENCIES, MAX_PERIOD_MS } from '../../domain/limits.js';
import { JOB_STATES } from '../../domain/job/states.js';
import { optional, pick } from '../fields/derived.js';
import { Nullable, Optional } from '../fields/field.js';
import { Flag, JobId, JobIds, Moment, OneOf, Whole } from '../fields/kinds.js';
import { MISSING_DEPENDENCIES, PublishFields } from './options.js';

/* Changes and cancels of jobs. */

/** Options of a publish that a change may set, too. */
const Changeable = pick(
  PublishFields,
  [
    ...(['data', 'data_base64', 'content_type', 'priority', 'tags', 'tries', 'type', 'retry'] as const),
    ...(['delay_ms', 'ttl_ms', 'queue', 'depends_on', 'on_missing_dependency'] as const),
  ],
  {
    priority: 'Lower runs first. Among jobs with the same priority, the order is by publish time.',
    tags: 'Its tags; replace the old ones.',
    tries: 'Total number of leases allowed; must be more than the leases so far.',
    retry: 'The retry policy, from the next failure on.',
    delay_ms: 'The same as `due_at`, as a delay from now.',
    ttl_ms: 'Its ttl from now; 0 = no expiry.',
    queue: 'The new queue: the job moves to its end.',
    depends_on: 'Replaces all dependencies; empty: none.',
  },
);

/** Changes to a waiting job. */
export class ChangeFields extends optional(Changeable) {
  @Optional() @Moment('When it can be leased; a time in the past makes it ready.') due_at?: string;
}

/** The state of a job after a change. */
export class ChangedAnswer {
  @JobId('The id of the job.') id!: string;
  @Nullable()
  @OneOf('Its state; null if it is gone because of a failed dependency.', Object.keys(JOB_STATES))
  state!: string | null;
  @Nullable()
  @Moment(
    'When it can be leased; null = not scheduled, far ahead and published without options, or it expires before.',
  )
  due_at!: string | null;
  @Optional()
  @JobIds(MISSING_DEPENDENCIES, { max: MAX_DEPENDENCIES })
  missing_dependencies?: readonly string[];
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

export class CancelledAnswer {
  @JobId('The id of the job.') id!: string;
  @OneOf(
    'The outcome. `requested`: it is leased; its worker learns of it with the next heartbeat, and loses the lease at `revoked_at`.',
    ['cancelled', 'requested', 'already_cancelled'],
  )
  outcome!: string;
  @Nullable() @Moment('When the lease is revoked.') revoked_at!: string | null;
}
