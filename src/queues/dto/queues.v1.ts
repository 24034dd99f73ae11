import {
  MAX_LABEL,
  MAX_PERIOD_MS,
  MAX_PRIORITY,
  MAX_TRIES,
  MAX_UINT32,
  MIN_PRIORITY,
} from '../../domain/limits.js';
import { type JobState, STATE_NAMES } from '../../domain/states.js';
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
  @Whole('How many jobs begin in a period, at most ten for each of its milliseconds.', 1, MAX_RUNNING)
  rate!: number;
  @Whole('The period.', 1, MAX_RATE_PERIOD_MS) period_ms!: number;
  @Optional()
  @Whole('How many may begin at once after a pause; 1 if it is left out.', 1, MAX_RUNNING)
  burst: number = 1;
}

/** Defaults of a queue for options that a native publish or lease leaves out. */
export class DefaultsFields {
  @Optional() @Whole('How long a job may exist; 0 = for ever.', 0, MAX_PERIOD_MS) ttl_ms?: number;
  @Optional() @Whole('How often it may be leased.', 1, MAX_TRIES) tries?: number;
  @Optional() @Whole('How long a lease lasts.', 1, MAX_PERIOD_MS) ttr_ms?: number;
  @Optional() @Whole('Lower runs sooner.', MIN_PRIORITY, MAX_PRIORITY) priority?: number;
  @Optional() @Part('When it is tried again.', () => RetryPolicyFields) retry?: RetryPolicyFields;
  @Optional() @Whole('How long it is kept when it is done.', 0, MAX_PERIOD_MS) retention_ms?: number;
}

/** How the server pushes the jobs of a queue. */
export class PushFields {
  @Label('The target that its jobs are sent to.', { max: MAX_LABEL }) target!: string;
  @Optional()
  @Whole('The `max_running` of the queue, set with the same call.', 1, MAX_RUNNING)
  max_running?: number;
}

/** How the jobs of a queue are pushed. */
export class PushAnswer {
  @Label('The target that its jobs are sent to.', { max: MAX_LABEL }) target!: string;
}

/** A change of settings; fields that are left out keep their value. */
export class SettingsFields {
  @Optional()
  @Nullable()
  @Whole('Jobs of the queue that may be leased at once; null = any number.', 1, MAX_RUNNING)
  max_running?: number | null;
  @Optional()
  @Nullable()
  @Whole('The same for its jobs that share a concurrency key.', 1, MAX_RUNNING)
  max_running_per_key?: number | null;
  @Optional()
  @Nullable()
  @Part('How often leases of its jobs begin; null = as often as they may.', () => RateFields)
  rate?: RateFields | null;
  @Optional()
  @Nullable()
  @Part('The same for its jobs that share a concurrency key.', () => RateFields)
  rate_per_key?: RateFields | null;
  @Optional()
  @Nullable()
  @Part(
    'What native publishes and leases are given that do not say; replaced as a whole, null = nothing.',
    () => DefaultsFields,
  )
  defaults?: DefaultsFields | null;
  @Optional()
  @Nullable()
  @Whole('Done and cancelled jobs that are kept, the newest ones; null = any number.', 0, MAX_RUNNING)
  max_kept?: number | null;
  @Optional()
  @Nullable()
  @Flag(
    'False: jobs that are stored in it from now on are in no list by tag, and their tags stay on them; null = true.',
  )
  index_tags?: boolean | null;
  @Optional()
  @Nullable()
  @Whole(
    'Shortest delay before the next attempt of a job whose lease has expired; null = none.',
    0,
    MAX_PERIOD_MS,
  )
  lease_grace_ms?: number | null;
  @Optional()
  @Nullable()
  @OneOf(
    'Where jobs go in the ready list whose lease has expired: behind the others, or before them; null = `back`.',
    ['back', 'front'],
  )
  expired?: 'back' | 'front' | null;
  @Optional()
  @Nullable()
  @Part('Where the server sends its jobs; null = nowhere. Needs the permission `push` too.', () => PushFields)
  push?: PushFields | null;
}

/** Number of jobs of a queue in each state. */
export class CountsAnswer {
  @Whole('They wait for a consumer.', 0, MAX_UINT32) ready!: number;
  @Whole('They wait for their time.', 0, MAX_UINT32) scheduled!: number;
  @Whole('They wait for other jobs.', 0, MAX_UINT32) blocked!: number;
  @Whole('Those of the blocked ones that wait for a job that failed.', 0, MAX_UINT32) stuck!: number;
  @Whole('They wait for a limit of their key.', 0, MAX_UINT32) held!: number;
  @Whole('Consumers have them.', 0, MAX_UINT32) leased!: number;
  @Whole(
    'Jobs of workers with a name whose lease ended, and that no worker has leased since. They count in another state too.',
    0,
    MAX_UINT32,
  )
  stalled!: number;
  @Whole('They are in the dead letter.', 0, MAX_UINT32) dead!: number;
  @Whole('They are done, and kept for a while.', 0, MAX_UINT32) done!: number;
  @Whole('They are cancelled, and kept for a while.', 0, MAX_UINT32) cancelled!: number;
  @Whole('Recurring jobs that make jobs of the queue, paused ones too.', 0, MAX_UINT32) recurring!: number;
}

export class QueueAnswer {
  @QueueName('Its name.') queue!: string;
  @Flag('False: nothing of it is stored, it has neither jobs nor settings.') exists!: boolean;
  @Whole('Jobs that are still to end: all but dead, done and cancelled ones.', 0, MAX_UINT32) length!: number;
  @Whole('Jobs for workers now: ready, held and leased ones.', 0, MAX_UINT32) work!: number;
  @Part('Its jobs, by state.', () => CountsAnswer) counts!: CountsAnswer;
  @Nullable() @Moment('Nobody gets its jobs since then; null = they do.') paused_at!: string | null;
  @Nullable()
  @Moment('It takes no new jobs since then, until it is empty; null = it does.')
  draining_at!: string | null;
  @Nullable() @Whole('Jobs that may be leased at once.', 1, MAX_RUNNING) max_running!: number | null;
  @Nullable()
  @Whole('The same for jobs that share a concurrency key.', 1, MAX_RUNNING)
  max_running_per_key!: number | null;
  @Nullable() @Part('How often leases of its jobs begin.', () => RateFields) rate!: RateFields | null;
  @Nullable()
  @Part('The same for jobs that share a concurrency key.', () => RateFields)
  rate_per_key!: RateFields | null;
  @Part('What native publishes and leases are given that do not say.', () => DefaultsFields)
  defaults!: DefaultsFields;
  @Nullable() @Whole('Done and cancelled jobs that are kept.', 0, MAX_RUNNING) max_kept!: number | null;
  @Flag('False: jobs that are stored in it are in no list by tag.') index_tags!: boolean;
  @Nullable()
  @Whole('Shortest delay before the next attempt of a job whose lease has expired.', 0, MAX_PERIOD_MS)
  lease_grace_ms!: number | null;
  @OneOf('Where jobs go in the ready list whose lease has expired.', ['back', 'front'])
  expired!: 'back' | 'front';
  @Nullable()
  @Part('Where the server sends its jobs; null = nowhere.', () => PushAnswer)
  push!: PushAnswer | null;
  @Optional() @Flag('True: there was no such queue, and this call has made it.') created?: boolean;
}

export class DrainFields {
  @Optional()
  @Whole('How long to wait for it to be empty.', 0, MAX_DRAIN_WAIT_MS)
  wait_ms: number = 0;
}

export class PurgeFields {
  @SomeOf('Which jobs go, by state.', STATE_NAMES) states!: JobState[];
  @Optional() @Flag('Nothing goes: they are only counted.') dry_run: boolean = false;
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
  @Part('How many jobs, by state.', () => PurgedAnswer) jobs!: PurgedAnswer;
  @Flag('Nothing went: they were only counted.') dry_run!: boolean;
  @Flag('All of them went, or were counted; else call again.') complete!: boolean;
}

export class QueuesAnswer {
  @Parts('The queues of this page.', () => QueueAnswer, 1_000) items!: QueueAnswer[];
  @Nullable()
  @Label('Where the next page begins; null on the last one.', { max: 512 })
  next_cursor!: string | null;
}
