import { isJobId, isQueueName } from '../ids.js';
import { EVENT_NAMES, type JobEvent } from './job-event.js';

/** Highest number of values of one filter. */
export const MOST_VALUES = 100;
const MOST_CHARACTERS = 255;

const NAMES: ReadonlySet<string> = new Set(EVENT_NAMES);
const isShort = (text: string): boolean => text.length <= MOST_CHARACTERS;

/** The queues of an event: the job's queue, and its previous queue if the event moved it. */
export function queuesOf({ queue, facts }: JobEvent): readonly string[] {
  const { from } = facts;
  return typeof from === 'string' ? [queue, from] : [queue];
}

/** The valid values of a filter, and how to read them from an event. */
export interface Filter {
  readonly rule: string;
  /** May stand in one text with others, between commas. Not if a value may have a comma itself. */
  readonly isList: boolean;
  readonly isRight: (text: string) => boolean;
  readonly of: (event: JobEvent) => readonly string[];
}

/** By filter name. A Map, because clients send the names and every object has a `constructor`. */
export const FILTERS: ReadonlyMap<string, Filter> = new Map(
  Object.entries<Filter>({
    queue: {
      rule: 'must be names of queues, separated by commas',
      isList: true,
      isRight: isQueueName,
      of: /* guard: left-queue-learns-of-the-move */ queuesOf,
    },
    type: {
      rule: 'must be a type of jobs; for several, repeat the filter',
      isList: false,
      isRight: isShort,
      of: ({ type }) => [type],
    },
    job: {
      rule: 'must be ids of jobs, separated by commas',
      isList: true,
      isRight: isJobId,
      of: ({ id }) => [id],
    },
    tag: {
      rule: 'must be a tag; for several, repeat the filter',
      isList: false,
      isRight: isShort,
      of: ({ tags }) => tags,
    },
    event: {
      rule: `must be names of events, separated by commas: ${EVENT_NAMES.join(', ')}`,
      isList: true,
      isRight: (text) => NAMES.has(text),
      of: ({ name }) => [name],
    },
  }),
);

/** True if the subscriber wants the event and may see it. */
export type EventFilter = (event: JobEvent) => boolean;

/** Wanted values by filter name: any value of one filter will do, each filter counts. */
export type WantedEvents = ReadonlyMap<string, ReadonlySet<string>>;

/** The checks of wanted values, one for each filter. */
export function checksOf(wanted: WantedEvents): EventFilter[] {
  return [...wanted].map(([name, values]): EventFilter => {
    const of = FILTERS.get(name)?.of;
    return (event) => of?.(event).some((value) => values.has(value)) === true;
  });
}

/** A filter that passes what passes all checks; null = there are none, every event passes. */
export function allOf(checks: readonly EventFilter[]): EventFilter | null {
  return checks.length === 0 ? null : (event) => checks.every((check) => check(event));
}
