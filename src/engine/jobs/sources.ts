import { ArgumentError } from '../../contract/fields/problems.js';
import type { DeadFilter, JobFilter, ListedState } from '../../domain/job/job-lists.js';
import { JOB_STATES, type JobState } from '../../domain/job/states.js';

/** An index that a list reads, as lua/commands/queries/list_jobs.lua names it. */
export interface Source {
  readonly kind: string;
  /** First score. */
  readonly from?: number;
  /** Last score. */
  readonly to?: number;
  /** The oldest jobs have the highest scores. */
  readonly isReversed?: true;
}

/**
 * In the order in which they run: negative priorities, then the ready list, then the others. In queues that are leased
 * by type, jobs with a type come last, type by type; in fair
 * queues those with a fair key, key by key.
 */
const READY: readonly Source[] = [
  { kind: 'p', to: -1 },
  { kind: 'r' },
  { kind: 'p', from: 0 },
  { kind: 'D' },
  { kind: 'Q' },
];
/** Far jobs are stored in time slots; those of one slot are in the order of their publish. */
const SCHEDULED: readonly Source[] = [{ kind: 'S' }, { kind: 's' }, { kind: 'f' }];
const LEASED: readonly Source[] = [{ kind: 'L' }, { kind: 'l' }];

const OF_STATE: Readonly<Record<JobState, readonly Source[]>> = {
  ready: READY,
  scheduled: SCHEDULED,
  leased: LEASED,
  dead: [{ kind: 'd' }],
  // Below zero: those that wait for a job that failed.
  blocked: [
    { kind: 'b', to: -1, isReversed: true },
    { kind: 'b', from: 0 },
  ],
  held: [{ kind: 'h' }],
  // Both are in one index: the score of a done job is when it ended, that of a cancelled one is the same below zero.
  done: [{ kind: 'z', /* guard: list-done-stops-before-cancelled */ from: 0 }],
  cancelled: [{ kind: 'z', to: -1, /* guard: list-cancelled-by-end */ isReversed: true }],
};
const OF_QUEUE = (
  ['ready', 'scheduled', 'leased', 'blocked', 'held', 'dead', 'done', 'cancelled'] as const
).flatMap((state) => OF_STATE[state]);

/** Of the jobs of a worker, those whose lease ended. */
const STALLED: readonly Source[] = [{ kind: 'stalled' }];

/** Indexes that a list reads: one index of the whole namespace, or the indexes of each queue, or of each worker. */
export type Plan =
  | { readonly of: 'namespace'; readonly name: string; readonly sources: readonly Source[] }
  | {
      readonly of: 'queues';
      /** Null: all queues. */ readonly queue: string | null;
      readonly sources: readonly Source[];
    }
  | { readonly of: 'workers'; readonly sources: readonly Source[] };

/** Chooses the most selective index for a filter. @throws {QueueError} `invalid_argument`: `stalled` beside other states */
export function planOf({ worker, tracked, group, tag, type, queue, state }: JobFilter): Plan {
  if (isStalled(state)) {
    return worker === undefined
      ? { of: 'workers', sources: STALLED }
      : { of: 'namespace', name: worker, sources: STALLED };
  }
  if (worker !== undefined) return { of: 'namespace', name: worker, sources: [{ kind: 'w' }] };
  if (tracked === true) return { of: 'namespace', name: '', sources: [{ kind: 'tracked' }] };
  // The index of a group has dead jobs only; others have the group of their last failure, too.
  const isOfDead = /* guard: group-list-of-other-states */ state === undefined || isOnlyDead(state);
  if (group !== undefined && isOfDead) return { of: 'namespace', name: group, sources: [{ kind: 'F' }] };
  if (tag !== undefined) return { of: 'namespace', name: tag, sources: [{ kind: 't' }] };
  if (type !== undefined) return { of: 'namespace', name: type, sources: [{ kind: 'y' }] };
  return {
    of: 'queues',
    queue: queue ?? null,
    sources: state === undefined ? OF_QUEUE : sourcesOf(statesIn(state)),
  };
}

/** The indexes of some states, each once. */
function sourcesOf(states: readonly JobState[]): readonly Source[] {
  return [...new Set(states.flatMap((state) => OF_STATE[state]))];
}

/** @throws {QueueError} `invalid_argument`: beside other states, such a job would be listed twice */
function isStalled(state: JobFilter['state']): boolean {
  const states: readonly (ListedState | undefined)[] = typeof state === 'object' ? state : [state];
  if (!states.includes('stalled')) return false;
  if (states.length === 1) return true;
  throw new ArgumentError('state', 'stalled must be the only state: its jobs are in other states, too');
}

function isOnlyDead(state: ListedState | readonly ListedState[]): boolean {
  return statesIn(state).every((one) => one === 'dead');
}

/** The states that a job itself has. */
function statesIn(state: ListedState | readonly ListedState[]): readonly JobState[] {
  return (typeof state === 'string' ? [state] : state).filter((one) => one !== 'stalled');
}

/** Like `planOf`, for dead jobs. */
export function planOfDead({ group, queue, fromMs, toMs }: DeadFilter): Plan {
  const times = {
    ...(fromMs === undefined ? {} : { from: fromMs }),
    ...(toMs === undefined ? {} : { to: toMs }),
  };
  if (group !== undefined) return { of: 'namespace', name: group, sources: [{ kind: 'F', ...times }] };
  return { of: 'queues', queue: queue ?? null, sources: [{ kind: 'd', ...times }] };
}

/** Encodes a filter as lua/modules/jobs/filters.lua reads it. */
export function filterText(filter: JobFilter & DeadFilter): string {
  const { queue, tag, type, group, attributes, text, fromMs, toMs } = filter;
  return JSON.stringify({
    queue,
    states: statesText(filter.state),
    tag,
    type,
    group,
    attributes,
    // Like Lua: ASCII letters only.
    text: text?.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()),
    from: fromMs,
    to: toMs,
  });
}

function statesText(state: JobFilter['state']): Record<string, true> | undefined {
  if (state === undefined || isStalled(state)) return undefined;
  return Object.fromEntries(statesIn(state).map((one) => [JOB_STATES[one], true]));
}

/** Where a list continues. */
export interface Place {
  /** Queue of the index, or digest of its worker; '' for an index of the namespace. */
  readonly section: string;
  /** Which source of the section, in the order of the list. */
  readonly source: number;
  readonly at: string;
  readonly id: Buffer;
}

/**
 * The id is that of a job, as it is stored: 129 bytes at most; in lists of types behind the type, in those of fair keys
 * behind two cursors of Redis and the key. In base64.
 */
const CURSOR = /^(-?)(\d{1,2})\/([\d.e+-]{0,40})\/([A-Za-z0-9_-]{0,1300})\/([-_A-Za-z0-9]{0,255})$/;
/** As Redis writes it. */
const SCORE = /^-?\d{1,20}(\.\d{1,20})?(e[+-]\d{1,3})?$/;
const WHOLE = /^-?\d{1,15}$/;
/** A fair key's place begins with a cursor of Redis, of 64 bits. */
const TOO_LONG_CURSOR = /^\d{20}/;

/** @param isBack the list is read from its end: the cursor means nothing in the other order */
export function cursorOf({ section, source, at, id }: Place, isBack = false): string {
  return `${isBack ? '-' : ''}${String(source)}/${at}/${id.toString('base64url')}/${section}`;
}

/** @throws {QueueError} `invalid_argument`: not a cursor, or one of the other order */
export function placeOf(cursor: string, isBack = false): Place {
  const [, sign = '', source = '', at = '', id = '', section = ''] = CURSOR.exec(cursor) ?? [];
  if (source !== '' && isBack !== (sign === '-'))
    throw new ArgumentError('cursor', 'belongs to the other order: use the order of its page');
  if (source === '') throw new ArgumentError('cursor', 'must be the next_cursor of a page');
  return { section, source: Number(source), at, id: Buffer.from(id, 'base64url') };
}

/** @throws {QueueError} `invalid_argument`: an index of this kind has no such place, so the script could not read it */
export function checkPlace(source: Source | undefined, { at, id }: Pick<Place, 'at' | 'id'>): void {
  if (
    source === undefined ||
    /* guard: cursors-are-places */ !isPlaceOf(source.kind, at, id.toString('latin1'))
  )
    throw new ArgumentError('cursor', 'must be the next_cursor of a page');
}

function isPlaceOf(kind: string, at: string, id: string): boolean {
  if (kind === 'Q' && TOO_LONG_CURSOR.test(id)) return false;
  if (at === '') return true;
  if (kind === 'r') return WHOLE.test(at);
  // A time slot, and how many of its entries were read.
  if (kind === 'f') return WHOLE.test(at) && WHOLE.test(id);
  return SCORE.test(at);
}
