import { MAX_LABEL, MAX_PERIOD_MS, MAX_UINT32 } from '../domain/limits.js';
import type { QueueCounts } from '../domain/job/job.js';
import { changesOf, join, pick } from './fields/derived.js';
import { Nullable, Optional, Stores } from './fields/field.js';
import {
  Flag,
  FlagOrWeights,
  JsonPaths,
  Label,
  Moment,
  OneOf,
  Part,
  Parts,
  QueueName,
  Whole,
} from './fields/kinds.js';
import type { Inside } from './fields/wire.js';
import type { OptionsOf } from './job/extended-job.js';
import { JobOptions } from './job/options.js';

/** Longest period of a rate limit, in milliseconds: a year. */
const MAX_RATE_PERIOD_MS = 31_536_000_000;
/** More running jobs than one Redis can hold. */
const MAX_RUNNING = 1_000_000_000;

/** Bounds of the places that a queue withholds. */
const REDACTED_PLACES = { count: 32, characters: 256 };

/** Fair keys in an answer. */
const MOST_KEYS = 100;

/** Bounds of the weights of a fair queue: they are read with each lease. */
const WEIGHTS = { count: 100, name: MAX_LABEL, most: 1_000 };

/** How a queue shares its leases among fair keys. */
export interface Fairness {
  /** By fair key: a key of weight 2 gets twice as many leases as one of weight 1. */
  readonly weights?: Readonly<Record<string, number>>;
  /** Of all other keys; 1 if it is left out. */
  readonly default?: number;
}

/** Highest rate, in starts per millisecond: Redis computes times in steps of about 1/4000 of a millisecond. */
const MOST_PER_MS = 10;
export const RATE_RULE = `must be at most ${String(MOST_PER_MS)} for each millisecond of the period`;

/** True if the rate breaks `RATE_RULE`. */
export function isTooFast(rate: number, periodMs: number): boolean {
  return rate > periodMs * MOST_PER_MS;
}

/** Maximum rate of starts: `rate` in `period_ms`, and `burst` at once after a pause. */
export class RateFields {
  @Whole('Leases per period, at most ten per millisecond.', 1, MAX_RUNNING)
  rate!: number;
  @Whole('The period.', 1, MAX_RATE_PERIOD_MS) period_ms!: number;
  @Optional()
  @Whole('Leases that may begin at once after a pause; default 1.', 1, MAX_RUNNING)
  burst: number = 1;
}

/** Defaults of a queue for options that a native publish or lease leaves out. */
export class DefaultsFields extends pick(JobOptions, [
  ...(['ttl_ms', 'tries', 'ttr_ms', 'max_run_ms', 'priority', 'retry', 'retention_ms'] as const),
]) {}

/** Settings of a queue; null = none. The stored names are those of lua/modules/extended/settings.lua. */
export class LimitFields {
  @Stores({ field: 'max' })
  @Nullable()
  @Whole('Concurrency limit: jobs of the queue that may be leased at once; null = no limit.', 1, MAX_RUNNING)
  max_running!: number | null;
  @Stores({ field: 'kmax' })
  @Nullable()
  @Whole('Concurrency limit for jobs with the same concurrency key; null = no limit.', 1, MAX_RUNNING)
  max_running_per_key!: number | null;
  @Stores({ field: 'rate' })
  @Nullable()
  @Part('Rate limit for leases of its jobs; null = no limit.', () => RateFields)
  rate!: RateFields | null;
  @Stores({ field: 'krate' })
  @Nullable()
  @Part('Rate limit for leases of jobs with the same concurrency key; null = no limit.', () => RateFields)
  rate_per_key!: RateFields | null;
  @Stores({ field: 'defaults', idle: {} })
  @Part('Defaults for native publishes and leases; replaced as a whole.', () => DefaultsFields)
  defaults!: DefaultsFields;
  @Stores({ field: 'kept' })
  @Nullable()
  @Whole('How many done and cancelled jobs are kept, the newest ones; null = no limit.', 0, MAX_RUNNING)
  max_kept!: number | null;
  @Stores({ field: 'unindexed', idle: true, only: false })
  @Flag('False: new jobs keep their tags, but lists by tag do not find them; default true.')
  index_tags!: boolean;
  @Stores({ field: 'grace', idle: 0 })
  @Nullable()
  @Whole('Shortest delay before the next attempt after a lease expired; null = none.', 0, MAX_PERIOD_MS)
  lease_grace_ms!: number | null;
  @Stores({ field: 'front', idle: 'back', only: 'front' })
  @OneOf('Position in the ready list after a lease expired: last (default) or first.', ['back', 'front'])
  expired!: 'back' | 'front';
  @Stores({ field: 'fair', idle: false })
  @FlagOrWeights(
    'True: fair keys are served in turns, whatever their backlogs. An object: by these weights. Default false: in the order of priorities and time.',
    WEIGHTS,
  )
  fair!: boolean | Fairness;
  @Stores({ field: 'strict', only: 'strict' })
  @Nullable()
  @OneOf(
    'Order of jobs with the same concurrency key. `strict`: one at a time, and none before those that were ready earlier have ended; null (default) = retries do not delay others.',
    ['strict'],
  )
  order!: 'strict' | null;
  @Stores({ field: 'block', idle: 'continue', only: 'block' })
  @OneOf(
    'In a strict order, when a job of a key is dead: go on with the next one (default), or wait until it is respawned or deleted.',
    ['continue', 'block'],
  )
  on_dead!: 'continue' | 'block';
  @Stores({ field: 'redact' })
  @Nullable()
  @JsonPaths(
    'Places in the data of its jobs whose values accounts below the role admin do not see; null = none.',
    REDACTED_PLACES,
  )
  redact!: readonly string[] | null;
}

/** How the server pushes the jobs of a queue. */
export class PushFields {
  @Label('The target of the push.', { max: MAX_LABEL }) target!: string;
  @Optional()
  @Whole('The `max_running` of the queue, set with the same call.', 1, MAX_RUNNING)
  max_running?: number;
}

/** How the jobs of a queue are pushed. */
export class PushAnswer extends pick(PushFields, ['target']) {}

/** A change of settings; fields that are left out keep their value, null sets the default. */
export class SettingsFields extends changesOf(LimitFields) {
  @Optional()
  @Nullable()
  @Part('HTTP push of its jobs; null = off. Needs the permission `push` too.', () => PushFields)
  push?: PushFields | null;
}

/** Some jobs of a queue; at most one of the fields. */
class SomeJobsFields {
  @Optional()
  @Nullable()
  @Label('Only jobs of this type; null = jobs without a type.', { max: MAX_LABEL })
  type?: string | null;
  @Optional()
  @Label('Only jobs with this fair key; the queue must be fair.', { max: MAX_LABEL })
  fair_key?: string;
  @Optional()
  @Label('Only jobs with this concurrency key.', { max: MAX_LABEL })
  concurrency_key?: string;
}

export class PauseQueueFields extends SomeJobsFields {
  @Optional() @Label('Why it is paused; shown until it is resumed.', { max: MAX_LABEL }) note?: string;
  @Optional()
  @Whole('When the pause ends by itself; left out: when it is resumed.', 1, MAX_PERIOD_MS)
  for_ms?: number;
}

export class ResumeQueueFields extends SomeJobsFields {}

/** A pause of some jobs of a queue. */
export class PauseAnswer extends SomeJobsFields {
  @Moment('Since when.') paused_at!: string;
  @Nullable()
  @Label('The description of the token that paused them, or the name of the account; null = not known.', {
    max: MAX_LABEL,
  })
  paused_by!: string | null;
  @Nullable() @Label('Why they are paused; null = no note.', { max: MAX_LABEL }) note!: string | null;
  @Nullable() @Moment('When the pause ends by itself; null = when it is resumed.') ends_at!: string | null;
}

/** Most pauses of some jobs of a queue: lua/commands/extended/change_queue.lua has the same. */
const MOST_PAUSES = 100;

/** Longest time that a drain call waits for the queue to be empty, in milliseconds. */
const MAX_DRAIN_WAIT_MS = 60_000;

export class DrainFields {
  @Optional()
  @Whole('How long to wait until it is empty.', 0, MAX_DRAIN_WAIT_MS)
  wait_ms: number = 0;
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

class QueueFacts {
  @QueueName('Its name.') queue!: string;
  @Flag('False: it has neither jobs nor settings.') exists!: boolean;
  @Whole('Jobs that have not ended: all but dead, done and cancelled ones.', 0, MAX_UINT32) length!: number;
  @Whole('Jobs for workers now: ready, held and leased ones.', 0, MAX_UINT32) work!: number;
  @Whole('Worker sessions that are not lost and lease from it.', 0, MAX_UINT32) workers!: number;
  @Part('Its jobs, by state.', () => CountsAnswer) counts!: CountsAnswer;
  @Nullable() @Moment('Since when it is paused; null = not paused.') paused_at!: string | null;
  @Nullable()
  @Label('The description of the token that paused it, or the name of the account; null = not known.', {
    max: MAX_LABEL,
  })
  paused_by!: string | null;
  @Nullable() @Label('Why it is paused; null = no note.', { max: MAX_LABEL }) pause_note!: string | null;
  @Nullable()
  @Moment('When the pause ends by itself; null = when it is resumed.')
  pause_ends_at!: string | null;
  @Parts('Pauses of some of its jobs.', () => PauseAnswer, MOST_PAUSES, 0)
  pauses!: readonly PauseAnswer[];
  @Nullable()
  @Moment('Since when it is draining: it accepts no new jobs until it is empty; null = not draining.')
  draining_at!: string | null;
}

/** Most types that are shown of a queue: as many as lua/modules/queues/queue_facts.lua looks at, and jobs without a type. */
const MOST_TYPES = 65;

/** Ready jobs of a type, and the lease requests that take them. */
export class QueueTypeAnswer {
  @Nullable() @Label('The type; null = jobs without a type.', { max: MAX_LABEL }) type!: string | null;
  @Whole('Its ready jobs.', 1, MAX_UINT32) ready!: number;
  @Nullable() @Moment('Since when the first of them is ready; null = not known.') first_ready_at!:
    | string
    | null;
  @Nullable()
  @Moment(
    'When a lease request took such jobs last; null = none is known. One that waits counts as made now.',
  )
  last_request_at!: string | null;
}

/** A queue with its settings. */
export class QueueAnswer extends join(QueueFacts, LimitFields) {
  @Nullable()
  @Part('HTTP push of its jobs; null = off.', () => PushAnswer)
  push!: PushAnswer | null;
  @Optional()
  @Parts(
    'Types that have ready jobs, those first whose jobs come first. Only of a single queue, from its first lease by type on.',
    () => QueueTypeAnswer,
    MOST_TYPES,
    0,
  )
  types?: readonly QueueTypeAnswer[];
  @Optional() @Flag('True: this call created the queue.') created?: boolean;
}

/** A fair key that has ready jobs. */
export class FairKeyFields {
  @Label('The key.', { max: MAX_LABEL }) key!: string;
  @Whole('Its ready jobs.', 0, MAX_UINT32) ready!: number;
  @Nullable()
  @Moment(
    'When the oldest of them was published, as far as is known: of up to 8 priorities, the first job of each.',
  )
  oldest_published_at!: string | null;
}

export class FairKeysAnswer {
  @Parts('The fair keys with the most ready jobs, the largest first.', () => FairKeyFields, MOST_KEYS)
  keys!: FairKeyFields[];
  @Flag('False: the queue has more than 100,000 keys with ready jobs, and not all were counted.')
  complete!: boolean;
}

export class FairKeysQuery {
  @Optional() @Whole('How many keys, at most.', 1, MOST_KEYS) limit: number = 20;
}

/** A fair key as the engine reads it. */
export type FairKey = Inside<FairKeyFields>;

/** Maximum rate of starts: `rate` in `periodMs`, and `burst` at once after a pause. */
export type Rate = Inside<RateFields>;
/** Defaults of a queue for options that a native publish or lease omits. Milliseconds. */
export type QueueDefaults = OptionsOf<DefaultsFields>;

/** A pause of some jobs of a queue. */
export type Pause = Inside<PauseAnswer>;
/** Some jobs of a queue: those of a type, null = jobs without one; with a fair key; or with a concurrency key. */
export type SomeJobs = Inside<SomeJobsFields>;

/** Settings that an operator may choose for a queue; null = none. */
export interface QueueLimits extends Omit<Inside<LimitFields>, 'defaults'> {
  readonly defaults: QueueDefaults;
}

/** All settings of a queue. */
export interface QueueSettings extends QueueLimits {
  /** Paused since, Unix ms: its jobs are not leased; null = not paused. */
  readonly pausedAtMs: number | null;
  /** Who paused it; null = not known. */
  readonly pausedBy: string | null;
  readonly pauseNote: string | null;
  /** When the pause ends by itself; null = when it is resumed. */
  readonly pauseEndsAtMs: number | null;
  readonly pauses: readonly Pause[];
  /** Draining since, Unix ms: it accepts no new jobs until it is empty; null = not draining. */
  readonly drainingSinceMs: number | null;
}

/** A change of settings: omitted fields stay unchanged, null removes a limit or all defaults. */
export type SettingsChange = {
  readonly [K in keyof QueueLimits]?: QueueLimits[K] | null;
};

/** A queue as the engine reads it. */
interface QueueRead extends QueueSettings {
  readonly counts: QueueCounts;
  readonly exists: boolean;
  readonly stalled: number;
  readonly recurring: number;
  readonly workers: number;
  readonly length: number;
  readonly pushTarget: string | null;
  readonly isCreated?: boolean;
  readonly types?: readonly TypeSeen[];
}

export type TypeSeen = Inside<QueueTypeAnswer>;

/** A queue as answers have it. */
export function queueFacts(queue: QueueRead): Inside<QueueAnswer> {
  const { counts, stalled, recurring, pushTarget } = queue;
  return {
    ...queue,
    queue: counts.queue,
    work: counts.ready + counts.held + counts.leased,
    counts: { ...counts, stalled, recurring },
    drainingAtMs: queue.drainingSinceMs,
    push: pushTarget === null ? null : { target: pushTarget },
    ...(queue.isCreated === true ? { created: true } : {}),
  };
}
