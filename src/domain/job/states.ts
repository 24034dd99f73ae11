/** States of a job. The numbers are those of its header (lua/modules/core/header.lua). */
export const JOB_STATES = {
  ready: 1,
  scheduled: 2,
  leased: 3,
  dead: 4,
  blocked: 5,
  held: 6,
  done: 7,
  cancelled: 8,
} as const;
export type JobState = keyof typeof JOB_STATES;
/** Names of states in requests. */
export const STATE_NAMES = Object.keys(JOB_STATES) as JobState[];
/**
 * The order in which the states of jobs are walked that are removed or moved. Jobs whose removal may release others come after those, and most
 * jobs whose state changes meanwhile get into a later one, so that they are found there.
 */
export const WALK_ORDER: readonly JobState[] = [
  // guard: purge-reads-blocked-first
  'blocked',
  'scheduled',
  // guard: operation-reads-held-before-ready
  'held',
  'ready',
  'leased',
  'dead',
  'done',
  'cancelled',
];
/** States of simple jobs. */
export type SimpleState = 'ready' | 'scheduled' | 'leased' | 'dead';

const NAMES = new Map(
  Object.entries(JOB_STATES).map(([name, number]) => [number as number, name as JobState]),
);

/** The state for a number of a header. @throws {RangeError} there is no such state */
export function stateOf(number: number): JobState {
  const name = NAMES.get(number);
  if (name === undefined) throw new RangeError(`there is no state ${String(number)}`);
  return name;
}

/** A state transition. `start` and `gone` are before and after the job exists: no key of a gone job is left. */
export interface Transition {
  readonly from: SimpleState | 'start';
  readonly to: SimpleState | 'gone';
  /** The cause of the transition. */
  readonly by: string;
}

/** All transitions. docs/storage.md shows them, and tests make each of them on a real Redis. */
export const TRANSITIONS: readonly Transition[] = [
  { from: 'start', to: 'ready', by: 'publish' },
  { from: 'start', to: 'scheduled', by: 'publish with a delay' },
  { from: 'start', to: 'ready', by: 'import' },
  { from: 'start', to: 'scheduled', by: 'import of a scheduled job' },
  { from: 'start', to: 'leased', by: 'import of a leased job' },
  { from: 'start', to: 'dead', by: 'import of a dead job' },
  { from: 'scheduled', to: 'ready', by: 'it is due' },
  { from: 'ready', to: 'leased', by: 'lease' },
  { from: 'leased', to: 'ready', by: 'the lease runs out, tries left or not charged' },
  { from: 'leased', to: 'ready', by: 'undo' },
  { from: 'leased', to: 'dead', by: 'the lease runs out, no try left' },
  { from: 'dead', to: 'ready', by: 'respawn' },
  { from: 'ready', to: 'gone', by: 'ack' },
  { from: 'scheduled', to: 'gone', by: 'ack' },
  { from: 'leased', to: 'gone', by: 'ack' },
  { from: 'dead', to: 'gone', by: 'ack' },
  { from: 'ready', to: 'gone', by: 'republish' },
  { from: 'ready', to: 'gone', by: 'destroy' },
  { from: 'dead', to: 'gone', by: 'delete dead' },
  { from: 'ready', to: 'gone', by: 'the ttl ends' },
  { from: 'scheduled', to: 'gone', by: 'the ttl ends' },
  { from: 'leased', to: 'gone', by: 'the ttl ends' },
];

/** A state transition of an extended job; like `Transition`, with all states. */
export interface ExtendedTransition {
  readonly from: JobState | 'start';
  readonly to: JobState | 'gone';
  readonly by: string;
}

/**
 * All further transitions of the extended path. docs/storage.md shows them, and tests make each of them on a real Redis.
 */
export const EXTENDED_TRANSITIONS: readonly ExtendedTransition[] = [
  { from: 'start', to: 'blocked', by: 'publish of a job that depends on others' },
  { from: 'blocked', to: 'ready', by: 'its dependencies are done' },
  { from: 'blocked', to: 'scheduled', by: 'its dependencies are done before its time' },
  { from: 'blocked', to: 'dead', by: 'a dependency died, policy fail' },
  { from: 'blocked', to: 'cancelled', by: 'a dependency died, policy cancel' },
  { from: 'start', to: 'held', by: 'publish, but its key is full' },
  { from: 'scheduled', to: 'held', by: 'it is due, but its key is full' },
  { from: 'blocked', to: 'held', by: 'its dependencies are done, but its key is full' },
  { from: 'dead', to: 'held', by: 'respawn, but its key is full' },
  { from: 'leased', to: 'held', by: 'it goes back, but others of its key are held' },
  { from: 'ready', to: 'held', by: 'a more urgent job takes its slot' },
  { from: 'ready', to: 'held', by: 'a lease meets the limit of its key' },
  { from: 'held', to: 'ready', by: 'a slot of its key gets free' },
  { from: 'leased', to: 'ready', by: 'release' },
  { from: 'leased', to: 'scheduled', by: 'release with a delay' },
  { from: 'leased', to: 'ready', by: 'revoke' },
  { from: 'leased', to: 'ready', by: 'retry' },
  { from: 'leased', to: 'scheduled', by: 'retry with a delay' },
  { from: 'leased', to: 'scheduled', by: 'the lease runs out, and its policy says when' },
  { from: 'leased', to: 'dead', by: 'retry, no try left' },
  { from: 'leased', to: 'dead', by: 'fail' },
  { from: 'ready', to: 'leased', by: 'heartbeat after the lease ran out' },
  { from: 'ready', to: 'done', by: 'ack after the lease ran out, to be kept' },
  { from: 'ready', to: 'scheduled', by: 'retry with a delay after the lease ran out' },
  { from: 'ready', to: 'dead', by: 'fail after the lease ran out' },
  { from: 'scheduled', to: 'leased', by: 'heartbeat after the lease ran out' },
  { from: 'scheduled', to: 'done', by: 'ack after the lease ran out, to be kept' },
  { from: 'scheduled', to: 'ready', by: 'release after the lease ran out' },
  { from: 'scheduled', to: 'dead', by: 'fail after the lease ran out' },
  { from: 'dead', to: 'done', by: 'ack after the last lease ran out, to be kept' },
  { from: 'leased', to: 'done', by: 'ack, to be kept' },
  { from: 'leased', to: 'ready', by: 'ack, and on to a next queue' },
  { from: 'leased', to: 'scheduled', by: 'ack, and on to a next queue with a delay' },
  { from: 'leased', to: 'blocked', by: 'ack, and on to a next queue after other jobs' },
  { from: 'ready', to: 'cancelled', by: 'cancel' },
  { from: 'scheduled', to: 'cancelled', by: 'cancel' },
  { from: 'blocked', to: 'cancelled', by: 'cancel' },
  { from: 'held', to: 'cancelled', by: 'cancel' },
  { from: 'dead', to: 'cancelled', by: 'cancel' },
  { from: 'leased', to: 'cancelled', by: 'cancel, and the end of its grace' },
  { from: 'ready', to: 'scheduled', by: 'change of its time' },
  { from: 'scheduled', to: 'ready', by: 'change of its time' },
  { from: 'ready', to: 'blocked', by: 'a dependency is added' },
  { from: 'blocked', to: 'ready', by: 'its dependencies are taken away' },
  { from: 'done', to: 'gone', by: 'its retention ends' },
  { from: 'cancelled', to: 'gone', by: 'its retention ends' },
  { from: 'blocked', to: 'gone', by: 'the ttl ends' },
  { from: 'held', to: 'gone', by: 'the ttl ends' },
  { from: 'blocked', to: 'gone', by: 'purge' },
  { from: 'held', to: 'gone', by: 'purge' },
  { from: 'done', to: 'gone', by: 'purge' },
];
