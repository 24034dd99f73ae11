import { EVENT_NAMES, isPlace, type JobEvent } from '../domain/job-event.js';
import { isJobId, isQueueName } from '../domain/ids.js';
import { checkQueue, matchesPattern, type Rights } from '../domain/rights.js';
import { type FieldProblem, InputError } from '../http/answer/errors.v1.js';

/** Highest number of values of one filter. */
const MOST_VALUES = 100;
const MOST_CHARACTERS = 255;
/** Query parameter of the token; the auth guard reads it. */
const TOKEN = 'token';
const SHOWN_CHARACTERS = 40;

const NAMES: ReadonlySet<string> = new Set(EVENT_NAMES);
const isShort = (text: string): boolean => text.length <= MOST_CHARACTERS;

/** The queues of an event: the job's queue, and its previous queue if the event moved it. */
function queuesOf({ queue, facts }: JobEvent): readonly string[] {
  const { from } = facts;
  return typeof from === 'string' ? [queue, from] : [queue];
}

/** The valid values of a filter, and how to read them from an event. */
interface Filter {
  readonly rule: string;
  readonly isRight: (text: string) => boolean;
  readonly of: (event: JobEvent) => readonly string[];
}

/** By filter name. A Map, because clients send the names and every object has a `constructor`. */
const FILTERS: ReadonlyMap<string, Filter> = new Map(
  Object.entries<Filter>({
    queue: {
      rule: 'must be names of queues, with commas between them',
      isRight: isQueueName,
      of: queuesOf,
    },
    type: {
      rule: 'must be types of jobs, with commas between them',
      isRight: isShort,
      of: ({ type }) => [type],
    },
    job: { rule: 'must be ids of jobs, with commas between them', isRight: isJobId, of: ({ id }) => [id] },
    tag: { rule: 'must be tags, with commas between them', isRight: isShort, of: ({ tags }) => tags },
    event: {
      rule: `must be names of events, with commas between them: ${EVENT_NAMES.join(', ')}`,
      isRight: (text) => NAMES.has(text),
      of: ({ name }) => [name],
    },
  }),
);

/** True if the subscriber wants the event and may see it. */
export type EventFilter = (event: JobEvent) => boolean;

/**
 * Reads the filters from a URL. Values of one filter are ORed, different filters are ANDed.
 *
 * @param rights of the token; null = it may see all queues
 * @returns null = every event
 * @throws {InputError} naming what is wrong
 * @throws {QueueError} `queue_not_allowed`: the token may not see one of the queues
 */
export function filterOf(url: string, rights: Rights | null): EventFilter | null {
  const wanted = wantedOf(url);
  for (const queue of wanted.get('queue') ?? []) checkQueue(rights, queue);
  const patterns = rights?.queues ?? null;
  const checks = [...wanted].map(([name, values]): EventFilter => {
    const of = FILTERS.get(name)?.of;
    return (event) => of?.(event).some((value) => values.has(value)) === true;
  });
  if (patterns !== null)
    checks.push((event) =>
      queuesOf(event).some((queue) => patterns.some((pattern) => matchesPattern(pattern, queue))),
    );
  return checks.length === 0 ? null : (event) => checks.every((check) => check(event));
}

/**
 * Reads the id of the last event that a client got before its stream broke off; null for a new stream.
 *
 * @throws {InputError} the id has not the form of an event id
 */
export function placeOf(header: string | string[] | undefined): string | null {
  if (header === undefined || header === '') return null;
  if (typeof header === 'string' && isPlace(header)) return header;
  throw new InputError([{ field: 'Last-Event-ID', rule: 'must be the id of an event, as it was sent' }]);
}

function wantedOf(url: string): Map<string, Set<string>> {
  const mark = url.indexOf('?');
  const wanted = new Map<string, Set<string>>();
  const problems = new Map<string, FieldProblem>();
  for (const [field, text] of new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1))) {
    if (field === TOKEN) continue;
    const filter = FILTERS.get(field);
    if (!filter) {
      const shown = field.slice(0, SHOWN_CHARACTERS);
      problems.set(shown, { field: shown, rule: 'is not known here' });
      continue;
    }
    const values = wanted.get(field) ?? new Set();
    wanted.set(field, values);
    for (const value of text.split(',')) {
      if (value === '' || !filter.isRight(value)) problems.set(field, { field, rule: filter.rule });
      values.add(value);
    }
    if (values.size > MOST_VALUES)
      problems.set(field, { field, rule: `must be ${String(MOST_VALUES)} values at most` });
  }
  if (problems.size > 0) throw new InputError([...problems.values()].slice(0, 20));
  return wanted;
}
