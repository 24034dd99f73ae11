/** What the stream of events tells of. New names may come: who reads should pass over what it does not know. */
export const EVENT_NAMES = [
  // a job comes, and waits
  'published',
  'blocked',
  'scheduled',
  'held',
  'ready',
  'changed',
  'debounced',
  // a consumer has it
  'leased',
  'heartbeat',
  'log',
  'cancel_requested',
  'released',
  'undone',
  'retried',
  'timed_out',
  'moved',
  // it ends
  'acked',
  'failed',
  'died',
  'cancelled',
  'expired',
  'deleted',
  'respawned',
  // somebody looks
  'tracked',
  'untracked',
  // of a queue
  'paused',
  'resumed',
  'drained',
] as const;
export type EventName = (typeof EVENT_NAMES)[number];

/** Something that happened in a namespace. */
export interface JobEvent {
  /** Its place in the stream: `ms-number`, Redis's time in Unix ms. */
  readonly place: string;
  /** One of `EVENT_NAMES`, or what a newer server tells. */
  readonly name: string;
  readonly queue: string;
  /** The job's; empty if it is of the queue as a whole. */
  readonly id: string;
  /** Empty if the job has none. */
  readonly type: string;
  readonly tags: readonly string[];
  /** What else is known, as JSON values. */
  readonly facts: Readonly<Record<string, unknown>>;
}

const PLACE = /^(\d{1,15})-(\d{1,15})$/;

/** True for what can be the place of an event. */
export function isPlace(text: string): boolean {
  return PLACE.test(text);
}

/** When the event was written, Unix ms. */
export function timeOf(place: string): number {
  return Number(place.slice(0, place.indexOf('-')));
}

/** Below zero if `one` comes before `other`, above if after, zero if they are the same place. */
export function comparePlaces(one: string, other: string): number {
  return timeOf(one) - timeOf(other) || numberOf(one) - numberOf(other);
}

function numberOf(place: string): number {
  return Number(place.slice(place.indexOf('-') + 1));
}
