import {
  MAX_LABEL,
  MAX_PERIOD_MS,
  MAX_PRIORITY,
  MAX_TRIES,
  MAX_UINT32,
  MIN_PRIORITY,
} from '../../domain/limits.js';
import { type JobState, STATE_NAMES } from '../../domain/job/states.js';
import { Nullable, Optional } from '../../http/fields/field.js';
import {
  Flag,
  Moment,
  OneOf,
  SomeOf,
  Label,
  Part,
  Parts,
  QueueName,
  Whole,
} from '../../http/fields/kinds.js';
import { RetryPolicyFields } from '../../http/job-fields/retry-policy.v1.js';

/** Longest period of a rate limit, in milliseconds: a year. */
const MAX_RATE_PERIOD_MS = 31_536_000_000;
/** Longest time that a drain call waits for the queue to be empty, in milliseconds. */
const MAX_DRAIN_WAIT_MS = 60_000;
const MAX_RUNNING = 1_000_000_000;

export class RateFields {
  @Whole('Leases per period, at most ten per millisecond.', 1, MAX_RUNNING)
  rate!: number;
  @Whole('The period.', 1, MAX_RATE_PERIOD_MS) period_ms!: number;
  @Optional()
  @Whole('Leases that may begin at once after a pause; default 1.', 1, MAX_RUNNING)
  burst: number = 1;
}

/** Defaults of a queue for options that a native publish or lease leaves out. */
export class DefaultsFields {
  @Optional() @Whole('How long a job may exist; 0 = no expiry.', 0, MAX_PERIOD_MS) ttl_ms?: number;
  @Optional() @Whole('How many leases it may have.', 1, MAX_TRIES) tries?: number;
  @Optional() @Whole('Duration of a lease (visibility timeout).', 1, MAX_PERIOD_MS) ttr_ms?: number;
  @Optional() @Whole('Its priority; lower runs first.', MIN_PRIORITY, MAX_PRIORITY) priority?: number;
  @Optional() @Part('The retry policy (backoff).', () => RetryPolicyFields) retry?: RetryPolicyFields;
  @Optional() @Whole('How long it is kept when it is done.', 0, MAX_PERIOD_MS) retention_ms?: number;
}

/** How the server pushes the jobs of a queue. */
export class PushFields {
  @Label('The target of the push.', { max: MAX_LABEL }) target!: string;
  @Optional()
  @Whole('The `max_running` of the queue, set with the same call.', 1, MAX_RUNNING)
  max_running?: number;
}

/** How the jobs of a queue are pushed. */
export class PushAnswer {
  @Label('The target of the push.', { max: MAX_LABEL }) target!: string;
}

/** A change of settings; fields that are left out keep their value. */
export class SettingsFields {
  @Optional()
  @Nullable()
  @Whole('Concurrency limit: jobs of the queue that may be leased at once; null = no limit.', 1, MAX_RUNNING)
  max_running?: number | null;
  @Optional()
  @Nullable()
  @Whole('Concurrency limit for jobs with the same concurrency key; null = no limit.', 1, MAX_RUNNING)
  max_running_per_key?: number | null;
  @Optional()
  @Nullable()
  @Part('Rate limit for leases of its jobs; null = no limit.', () => RateFields)
  rate?: RateFields | null;
  @Optional()
  @Nullable()
  @Part('Rate limit for leases of jobs with the same concurrency key; null = no limit.', () => RateFields)
  rate_per_key?: RateFields | null;
  @Optional()
  @Nullable()
  @Part('Defaults for native publishes and leases; replaced as a whole, null = none.', () => DefaultsFields)
  defaults?: DefaultsFields | null;
  @Optional()
  @Nullable()
  @Whole('How many done and cancelled jobs are kept, the newest ones; null = no limit.', 0, MAX_RUNNING)
  max_kept?: number | null;
  @Optional()
  @Nullable()
  @Flag('False: new jobs keep their tags, but lists by tag do not find them; null = true.')
  index_tags?: boolean | null;
  @Optional()
  @Nullable()
  @Whole('Shortest delay before the next attempt after a lease expired; null = none.', 0, MAX_PERIOD_MS)
  lease_grace_ms?: number | null;
  @Optional()
  @Nullable()
  @OneOf('Position in the ready list after a lease expired: last or first; null = `back`.', ['back', 'front'])
  expired?: 'back' | 'front' | null;
  @Optional()
  @Nullable()
  @Part('HTTP push of its jobs; null = off. Needs the permission `push` too.', () => PushFields)
  push?: PushFields | null;
}

/** Number of jobs of a queue in each state. */
export class CountsAnswer {
  @Whole('Jobs that can be leased now.', 0, MAX_UINT32) ready!: number;
  @Whole('Jobs that are not due yet.', 0, MAX_UINT32) scheduled!: number;
  @Whole('Jobs that wait for other jobs.', 0, MAX_UINT32) blocked!: number;
  @Whole('Blocked jobs with a failed dependency.', 0, MAX_UINT32) stuck!: number;
  @Whole('Jobs whose concurrency key is at its limit.', 0, MAX_UINT32) held!: number;
  @Whole('Jobs with a lease.', 0, MAX_UINT32) leased!: number;
  @Whole(
    'Jobs of named workers whose lease expired, not leased since. They also count in another state.',
    0,
    MAX_UINT32,
  )
  stalled!: number;
  @Whole('Jobs in the dead-letter queue.', 0, MAX_UINT32) dead!: number;
  @Whole('Done jobs that are kept.', 0, MAX_UINT32) done!: number;
  @Whole('Cancelled jobs that are kept.', 0, MAX_UINT32) cancelled!: number;
  @Whole('Recurring jobs of the queue, paused ones included.', 0, MAX_UINT32) recurring!: number;
}

export class QueueAnswer {
  @QueueName('Its name.') queue!: string;
  @Flag('False: it has neither jobs nor settings.') exists!: boolean;
  @Whole('Jobs that have not ended: all but dead, done and cancelled ones.', 0, MAX_UINT32) length!: number;
  @Whole('Jobs for workers now: ready, held and leased ones.', 0, MAX_UINT32) work!: number;
  @Part('Its jobs, by state.', () => CountsAnswer) counts!: CountsAnswer;
  @Nullable() @Moment('Since when it is paused; null = not paused.') paused_at!: string | null;
  @Nullable()
  @Moment('Since when it is draining: it accepts no new jobs until it is empty; null = not draining.')
  draining_at!: string | null;
  @Nullable() @Whole('Concurrency limit.', 1, MAX_RUNNING) max_running!: number | null;
  @Nullable()
  @Whole('Concurrency limit per concurrency key.', 1, MAX_RUNNING)
  max_running_per_key!: number | null;
  @Nullable() @Part('Rate limit for leases.', () => RateFields) rate!: RateFields | null;
  @Nullable()
  @Part('Rate limit for leases per concurrency key.', () => RateFields)
  rate_per_key!: RateFields | null;
  @Part('Defaults for native publishes and leases.', () => DefaultsFields)
  defaults!: DefaultsFields;
  @Nullable() @Whole('How many done and cancelled jobs are kept.', 0, MAX_RUNNING) max_kept!: number | null;
  @Flag('False: lists by tag do not find its jobs.') index_tags!: boolean;
  @Nullable()
  @Whole('Shortest delay before the next attempt after a lease expired.', 0, MAX_PERIOD_MS)
  lease_grace_ms!: number | null;
  @OneOf('Position in the ready list after a lease expired.', ['back', 'front'])
  expired!: 'back' | 'front';
  @Nullable()
  @Part('HTTP push of its jobs; null = off.', () => PushAnswer)
  push!: PushAnswer | null;
  @Optional() @Flag('True: this call created the queue.') created?: boolean;
}

export class DrainFields {
  @Optional()
  @Whole('How long to wait until it is empty.', 0, MAX_DRAIN_WAIT_MS)
  wait_ms: number = 0;
}

export class PurgeFields {
  @SomeOf('The states whose jobs are deleted.', STATE_NAMES) states!: JobState[];
  @Optional() @Flag('True: only counts.') dry_run: boolean = false;
}

/** Number of removed jobs for each requested state. */
export class PurgedAnswer {
  @Optional() @Whole('', 0, MAX_UINT32) ready?: number;
  @Optional() @Whole('', 0, MAX_UINT32) scheduled?: number;
  @Optional() @Whole('', 0, MAX_UINT32) leased?: number;
  @Optional() @Whole('', 0, MAX_UINT32) dead?: number;
  @Optional() @Whole('', 0, MAX_UINT32) blocked?: number;
  @Optional() @Whole('', 0, MAX_UINT32) held?: number;
  @Optional() @Whole('', 0, MAX_UINT32) done?: number;
  @Optional() @Whole('', 0, MAX_UINT32) cancelled?: number;
}

export class PurgeAnswer {
  @Part('Number of jobs by state.', () => PurgedAnswer) jobs!: PurgedAnswer;
  @Flag('True: nothing was deleted.') dry_run!: boolean;
  @Flag('True: all were deleted or counted. False: call again.') complete!: boolean;
}

export class QueuesAnswer {
  @Parts('The queues of this page.', () => QueueAnswer, 1_000) items!: QueueAnswer[];
  @Nullable()
  @Label('The cursor of the next page; null on the last one.', { max: 512 })
  next_cursor!: string | null;
}
