import { QueueError } from '../../domain/errors.js';
import type { DeadFilter, JobFilter } from '../../domain/job-lists.js';
import { JOB_STATES, type JobState } from '../../domain/states.js';

/** An index that a list walks, as lua/scripts/full_page.lua names it. */
export interface Source {
  readonly kind: string;
  /** Where to begin, a score. */
  readonly from?: string;
  /** The last score. */
  readonly to?: number;
}

/** By priority: those below 0 run first, then those of the line, then the others. */
const READY: readonly Source[] = [{ kind: 'p', to: -1 }, { kind: 'r' }, { kind: 'p', from: '0' }];
/** The far ones stand in slots of time; those of a slot are in the order of their publish. */
const SCHEDULED: readonly Source[] = [{ kind: 'S' }, { kind: 's' }, { kind: 'f' }];
const LEASED: readonly Source[] = [{ kind: 'L' }, { kind: 'l' }];

const OF_STATE: Readonly<Record<JobState, readonly Source[]>> = {
  ready: READY,
  scheduled: SCHEDULED,
  leased: LEASED,
  dead: [{ kind: 'd' }],
  blocked: [{ kind: 'b' }],
  held: [{ kind: 'h' }],
  done: [{ kind: 'z' }],
  cancelled: [{ kind: 'z' }],
};
const OF_QUEUE = (['ready', 'scheduled', 'leased', 'blocked', 'held', 'dead', 'done'] as const).flatMap(
  (state) => OF_STATE[state],
);

/** How a list is found: the name of one index for the whole namespace, or the indexes of each queue. */
export type Plan = { readonly name: string; readonly sources: readonly Source[] } | PlanByQueue;
export interface PlanByQueue {
  readonly name: null;
  /** Null: all of them. */
  readonly queue: string | null;
  readonly sources: readonly Source[];
}

/** The way to what a filter wants: by its narrowest index. */
export function planOf({ worker, tracked, group, tag, type, queue, state }: JobFilter): Plan {
  if (worker !== undefined) return { name: worker, sources: [{ kind: 'w' }] };
  if (tracked === true) return { name: '', sources: [{ kind: 'tracked' }] };
  if (group !== undefined) return { name: group, sources: [{ kind: 'F' }] };
  if (tag !== undefined) return { name: tag, sources: [{ kind: 't' }] };
  if (type !== undefined) return { name: type, sources: [{ kind: 'y' }] };
  return { name: null, queue: queue ?? null, sources: state === undefined ? OF_QUEUE : OF_STATE[state] };
}

/** The same for dead jobs. */
export function planOfDead({ group, queue, fromMs, toMs }: DeadFilter): Plan {
  const times = {
    ...(fromMs === undefined ? {} : { from: String(fromMs) }),
    ...(toMs === undefined ? {} : { to: toMs }),
  };
  if (group !== undefined) return { name: group, sources: [{ kind: 'F', ...times }] };
  return { name: null, queue: queue ?? null, sources: [{ kind: 'd', ...times }] };
}

/** A filter as lua/lib/full/match.lua reads it. */
export function filterText(filter: JobFilter & DeadFilter, { to }: Pick<Source, 'to'> = {}): string {
  const { queue, state, tag, type, group, attributes, text, fromMs, toMs } = filter;
  return JSON.stringify({
    queue,
    state: state && JOB_STATES[state],
    tag,
    type,
    group,
    attributes,
    // As Lua has it: letters of ASCII only.
    text: text?.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()),
    from: fromMs,
    to: toMs ?? to,
  });
}

/** Where a walk goes on. */
export interface Place {
  /** Of the queue whose index it is; '' for an index of the namespace. */
  readonly queue: string;
  /** Which of the plan's sources. */
  readonly source: number;
  readonly at: string;
  readonly id: Buffer;
}

const CURSOR = /^(\d{1,2})\/(-?[\d.e+]{0,40})\/([A-Za-z0-9_-]{0,100})\/([-_A-Za-z0-9]{0,255})$/;

export function cursorOf({ queue, source, at, id }: Place): string {
  return `${String(source)}/${at}/${id.toString('base64url')}/${queue}`;
}

/** @throws {QueueError} `invalid_argument`: it is no cursor */
export function placeOf(cursor: string): Place {
  const [, source = '', at = '', id = '', queue = ''] = CURSOR.exec(cursor) ?? [];
  if (source === '') throw new QueueError('invalid_argument', 'cursor is the one of an earlier page');
  return { queue, source: Number(source), at, id: Buffer.from(id, 'base64url') };
}
