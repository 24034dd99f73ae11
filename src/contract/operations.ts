import { MAX_LABEL, MAX_MESSAGE } from '../domain/limits.js';
import { type JobState, STATE_NAMES } from '../domain/job/states.js';
import { join, omit, optional, pick } from './fields/derived.js';
import { Nullable, Optional } from './fields/field.js';
import { Flag, JobId, Label, Moment, OneOf, Part, Parts, QueueName, SomeOf, Whole } from './fields/kinds.js';
import type { Inside } from './fields/wire.js';
import { MANY } from './job/answers.js';
import { CancelFields, ChangeFields } from './job/changes.js';
import { DeadFilterFields, RespawnFields } from './job/dead-jobs.js';
import { JobFilterFields } from './job/job-filter.js';

/* Operations: actions over all jobs that a filter matches. */

export const ACTIONS = ['cancel', 'delete', 'respawn', 'retry', 'move', 'patch'] as const;
export type Action = (typeof ACTIONS)[number];
export const OPERATION_STATES = ['running', 'done', 'stopped'] as const;
export type OperationState = (typeof OPERATION_STATES)[number];

/** Most operations of a namespace that run at once, and most that are kept. */
export const MOST_RUNNING = 4;
export const MOST_KEPT = 100;
/** Jobs that an operation acts on in a second, at most. */
export const MAX_RATE_PER_S = 10_000;
/** How long what an operation has ended can be brought back, in milliseconds. */
export const MIN_UNDO_MS = 60_000;
export const MAX_UNDO_MS = 86_400_000;
export const UNDO_STATES = ['kept', 'running', 'done', 'stopped', 'dropped', 'expired'] as const;
export type UndoState = (typeof UNDO_STATES)[number];
const MOST_SAMPLES = 5;
const MOST_REFUSALS = 100;

const OfJobs = pick(JobFilterFields, ['queue', 'tag', 'type', 'group', 'worker'], {
  queue: 'Their queue. A token for some queues matches only jobs of these.',
});
const OfDeadJobs = pick(DeadFilterFields, ['text', 'attributes', 'from', 'to']);

/** Filters of an operation; a job must match all of them. */
export class OperationFilterFields extends join(OfJobs, OfDeadJobs) {
  @Optional() @SomeOf('Their states. Each action has those that it acts on.', STATE_NAMES) state?: JobState[];
}

/** Fields of a change that makes sense for many jobs. */
export class PatchFields extends omit(ChangeFields, ['queue', 'depends_on', 'on_missing_dependency']) {}

/** The same as answers show them. */
export class SetAnswer extends optional(omit(PatchFields, ['data', 'data_base64'])) {
  @Optional() @Flag('True: the data too.') data?: boolean;
}

const OfCancel = pick(CancelFields, ['cascade', 'grace_ms']);
const OfRespawn = pick(RespawnFields, ['tries', 'keep_tries', 'ttl_ms'], {
  ttl_ms: 'Of dead jobs that are put back: their ttl from now; 0 (default) = no expiry.',
});

export class OperationFields extends join(OfCancel, OfRespawn) {
  @OneOf('What to do with each job; as the call for one job does it.', ACTIONS) action!: Action;
  @Part('Selects the jobs; `{}` = all of the namespace.', () => OperationFilterFields)
  filter!: OperationFilterFields;
  @Optional() @Flag('True: only counts, changes nothing.') dry_run?: boolean;
  @Optional()
  @Whole('How many jobs it acts on in a second, at most; default: as many as it can.', 1, MAX_RATE_PER_S)
  rate_per_s?: number;
  @Optional() @QueueName('With `move`: the queue that they move to.') to?: string;
  @Optional() @Part('With `patch`: the changes.', () => PatchFields) set?: PatchFields;
  @Optional()
  @Whole(
    'With `cancel` and `delete`: for how long after its end it can be undone, ms. What is kept for that takes as much memory as the jobs did. A dry run keeps nothing.',
    MIN_UNDO_MS,
    MAX_UNDO_MS,
  )
  undo_ms?: number;
}

export class RefusalAnswer {
  @Label('Why: `changed`, or the error code of the call for one job.', { max: MAX_LABEL }) reason!: string;
  @Whole('How many jobs.', 1, MANY) jobs!: number;
}

export class SampleAnswer {
  @JobId('Its id.') id!: string;
  @QueueName('Its queue.') queue!: string;
  @OneOf('Its state when it was found.', STATE_NAMES) state!: string;
}

export class UndoAnswer {
  @OneOf(
    '`kept`: it can be undone. `running`, `done`, `stopped`: its undo; one that was stopped can go on. `dropped`: Redis was full; `expired`: `undo_ms` is over.',
    UNDO_STATES,
  )
  state!: UndoState;
  @Nullable() @Moment('Until when an undo can begin; null: the operation runs.') ends_at!: string | null;
  @Whole('Jobs that are kept, or were when the undo began.', 0, MANY) jobs!: number;
  @Whole('Jobs that are back.', 0, MANY) restored!: number;
  @Whole('Jobs that cannot come back.', 0, MANY) failed!: number;
  @Parts('Why jobs cannot come back.', () => RefusalAnswer, MOST_REFUSALS, 0)
  refusals!: readonly RefusalAnswer[];
  @Parts(
    'What does not come back of jobs that are back: `lease` (the job was leased, and is ready now), `dependents` (jobs that depended on it were told of its end), `events` (its end was sent to subscribers).',
    () => RefusalAnswer,
    MOST_REFUSALS,
    0,
  )
  incomplete!: readonly RefusalAnswer[];
  @Nullable()
  @Label('Why it was stopped, or cannot be undone any more.', { max: MAX_MESSAGE })
  message!: string | null;
}

export class OperationAnswer {
  @Label('The id of the operation.', { max: MAX_LABEL }) id!: string;
  @OneOf('The action.', ACTIONS) action!: Action;
  @Part('The filter, with the states that it acts on.', () => OperationFilterFields)
  filter!: OperationFilterFields;
  @Flag('True: it only counts.') dry_run!: boolean;
  @Nullable() @Whole('Jobs in a second, at most; null: no limit.', 1, MAX_RATE_PER_S) rate_per_s!:
    | number
    | null;
  @Nullable() @QueueName('The queue that they move to; null: it moves none.') to!: string | null;
  @Nullable() @Part('The changes; null: it changes no fields.', () => SetAnswer) set!: SetAnswer | null;
  @OneOf('`done` and `stopped` are final.', OPERATION_STATES) state!: OperationState;
  @Nullable()
  @Label(
    'Why it was stopped: `stopped` by a call, `token_revoked`, `rights_changed`, `pool_moving`, `store_full`.',
    { max: MAX_LABEL },
  )
  reason!: string | null;
  @Nullable() @Label('The same as a sentence.', { max: MAX_MESSAGE }) message!: string | null;
  @Whole(
    'Jobs that matched so far: `done`, `failed` and `skipped` together; of a dry run, those alone.',
    0,
    MANY,
  )
  matched!: number;
  @Whole('Jobs that it has acted on.', 0, MANY) done!: number;
  @Whole('Jobs that the call for one job would refuse.', 0, MANY) failed!: number;
  @Whole('Jobs that have changed since it began, or with which nothing was to do.', 0, MANY) skipped!: number;
  @Parts('Why jobs failed or were skipped.', () => RefusalAnswer, MOST_REFUSALS, 0)
  refusals!: readonly RefusalAnswer[];
  @Whole('Entries of the index that it has read.', 0, MANY) looked!: number;
  @Nullable()
  @Whole(
    'Entries that the index had when it began; null: not known, as in a namespace of many queues.',
    0,
    MANY,
  )
  to_look!: number | null;
  @Parts('The first jobs that matched.', () => SampleAnswer, MOST_SAMPLES, 0)
  samples!: readonly SampleAnswer[];
  @Moment('When it began.') created_at!: string;
  @Nullable()
  @Label(
    'The first characters of the token that started it, or the account; null: a program without a server did.',
    {
      max: MAX_LABEL,
    },
  )
  created_by!: string | null;
  @Nullable() @Moment('When it ended; null: it runs.') ended_at!: string | null;
  @Nullable()
  @Moment('When the next step is due, with `rate_per_s`; null: at once, or it has ended.')
  next_at!: string | null;
  @Nullable()
  @Part('What can be brought back, and what is; null: it was started without `undo_ms`.', () => UndoAnswer)
  undo!: UndoAnswer | null;
}

export class OperationsAnswer {
  @Parts('The operations, newest first.', () => OperationAnswer, MOST_KEPT, 0)
  items!: readonly OperationAnswer[];
  @Nullable()
  @Label('The cursor of the next page; null at the end.', { max: MAX_MESSAGE })
  next_cursor!: string | null;
}

/** An operation as the engine has it. */
export type OperationDetails = Inside<OperationAnswer>;
