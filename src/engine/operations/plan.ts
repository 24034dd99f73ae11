import { ArgumentError } from '../../contract/fields/problems.js';
import type { Action } from '../../contract/operations.js';
import type { JobFilter } from '../../domain/job/job-lists.js';
import { type JobState, WALK_ORDER } from '../../domain/job/states.js';
import type { Verb } from '../../domain/rights.js';

/** Jobs of an operation: all given conditions must hold. Times of death are Unix ms. */
export interface OperationFilter extends Omit<JobFilter, 'state' | 'tracked'> {
  readonly state?: readonly JobState[];
  readonly fromMs?: number;
  readonly toMs?: number;
}

/** States that an action acts on, and those that it acts on if the filter names none. */
interface States {
  readonly all: readonly JobState[];
  readonly usual: readonly JobState[];
}

const WAITING = ['ready', 'scheduled', 'blocked', 'held'] as const;
const STATES: Readonly<Record<Action, States>> = {
  cancel: { all: [...WAITING, 'leased', 'dead'], usual: [...WAITING, 'leased'] },
  delete: { all: [...WAITING, 'dead', 'done', 'cancelled'], usual: WAITING },
  respawn: { all: ['dead'], usual: ['dead'] },
  retry: { all: ['scheduled', 'dead'], usual: ['scheduled', 'dead'] },
  move: { all: [...WAITING, 'dead'], usual: WAITING },
  patch: { all: WAITING, usual: WAITING },
};

/**
 * The states of the jobs that an operation acts on. Conditions that only dead jobs can meet mean those.
 *
 * @throws {QueueError} `invalid_argument`: the action does not act on jobs of a state that is named
 */
export function statesOf(action: Action, filter: OperationFilter): readonly JobState[] {
  const { all, usual } = STATES[action];
  const { state, group, text, fromMs, toMs } = filter;
  const isOfDead = [group, text, fromMs, toMs].some((one) => one !== undefined);
  if (state === undefined) return isOfDead && all.includes('dead') ? ['dead'] : usual;
  if (!state.every((one) => all.includes(one)))
    throw new ArgumentError('filter.state', `must be of ${all.join(', ')}: ${action} acts on no others`);
  // guard: operation-times-need-dead-jobs
  if ((fromMs ?? toMs) !== undefined && !state.includes('dead'))
    throw new ArgumentError('filter.state', 'must have dead beside from or to: they are times of death');
  return state;
}

/** The permissions that a token needs for an operation: those of the calls for one job. */
export function verbsOf(action: Action, states: readonly JobState[]): Verb[] {
  if (action === 'cancel' || action === 'delete') return ['consume'];
  const verbs: Verb[] = states.includes('dead') ? ['admin'] : [];
  return states.some((state) => state !== 'dead') ? [...verbs, 'publish'] : verbs;
}

/**
 * Letters of the indexes of each state, as lua/modules/core/call.lua has them. Far jobs come first: they become near ones;
 * and jobs of the ready list go to the lists of types or fair keys when their queue gets another order.
 */
const INDEXES: Readonly<Record<JobState, string>> = {
  ready: 'rpDQ',
  scheduled: 'fsS',
  leased: 'lL',
  blocked: 'b',
  held: 'h',
  dead: 'd',
  done: 'z',
  cancelled: 'z',
};
/** The indexes that hold all jobs of a filter, as lua/commands/extended/start_operation.lua reads them. */
export function indexesText(states: readonly JobState[], filter: OperationFilter): string {
  const { queue, worker, group, tag, type } = filter;
  const letters = new Set(
    WALK_ORDER.filter((state) => states.includes(state)).flatMap((state) => INDEXES[state].split('')),
  );
  // Only their own index knows the jobs of a worker.
  if (worker !== undefined) return JSON.stringify({ kinds: '', names: [['w', worker]] });
  // Jobs that failed and run again have a group too, and are not in its index.
  const isOfDead = /* guard: group-index-for-dead-only */ states.every((state) => state === 'dead');
  const names = [
    ...(group !== undefined && isOfDead ? [['F', group]] : []),
    ...(tag === undefined ? [] : [['t', tag]]),
    ...(type === undefined ? [] : [['y', type]]),
  ];
  const once = [...letters].join('');
  // Held jobs become ready, and a lease holds ready ones whose key or origin has no room: so they are read once more.
  const isHeldAgain = states.includes('ready') && states.includes('held');
  const kinds = /* guard: operation-reads-held-jobs-again */ isHeldAgain ? once.replace('Q', 'Qh') : once;
  return JSON.stringify({ kinds, queue, names });
}
