/** Names of events. New names may be added: readers should ignore unknown ones. */
export const EVENT_NAMES = [
  // a job is published and waits
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
  'replaced',
  // it ends
  'acked',
  'failed',
  'died',
  'cancelled',
  'expired',
  'deleted',
  'respawned',
  'restored',
  // a client tracks it
  'tracked',
  'untracked',
  // of a queue
  'paused',
  'resumed',
  'drained',
  'queue_deleted',
  // of a recurring job
  'recurring_skipped',
  // of a worker session
  'worker_started',
  'worker_quieted',
  'worker_stopping',
  'worker_ended',
  'worker_lost',
  // of a variable
  'variable_changed',
  'variable_deleted',
  // of a push target
  'target_changed',
  'target_deleted',
  'target_paused',
  'target_resumed',
  'breaker_opened',
  'breaker_closed',
] as const;
export type EventName = (typeof EVENT_NAMES)[number];

/** An event of a namespace. */
export interface JobEvent {
  /** Its position in the stream: `ms-number`, Redis's time in Unix ms. */
  readonly place: string;
  /** One of `EVENT_NAMES`, or a name of a newer server version. */
  readonly name: string;
  readonly queue: string;
  /** Id of the job; empty for an event of the queue. */
  readonly id: string;
  /** Empty if the job has none. */
  readonly type: string;
  readonly tags: readonly string[];
  /** Further details, as JSON values. */
  readonly facts: Readonly<Record<string, unknown>>;
}

const PLACE = /^(\d{1,15})-(\d{1,15})$/;

/** True if the text can be the position of an event. */
export function isPlace(text: string): boolean {
  return PLACE.test(text);
}

/** When the event was written, Unix ms. */
export function timeOf(place: string): number {
  return Number(place.slice(0, place.indexOf('-')));
}

/** An event as the native API shows it, but for its place: its own fields come first, and facts never replace them. */
export function shownEvent({ place, name, queue, id, type, tags, facts }: JobEvent): Record<string, unknown> {
  const own = {
    event: name,
    at: new Date(timeOf(place)).toISOString(),
    queue,
    ...(id === '' ? {} : { id }),
    ...(type === '' ? {} : { type }),
    ...(tags.length === 0 ? {} : { tags }),
  };
  return { ...own, ...facts, ...own };
}

/** Negative if `one` is before `other`, positive if after, zero if they are the same position. */
export function comparePlaces(one: string, other: string): number {
  return timeOf(one) - timeOf(other) || numberOf(one) - numberOf(other);
}

function numberOf(place: string): number {
  return Number(place.slice(place.indexOf('-') + 1));
}
