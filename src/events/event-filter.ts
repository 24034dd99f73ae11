import { EVENT_NAMES, isPlace, type JobEvent } from '../domain/job-event.js';
import { MAX_NAME_LENGTH } from '../domain/limits.js';
import { hasLegalCharacters, isJobId } from '../domain/names.js';
import { checkQueue, matchesPattern, type Rights } from '../domain/rights.js';
import { type FieldProblem, InputError } from '../http/errors.v1.js';

/** Values that one filter may have. */
const MOST_VALUES = 100;
const MOST_CHARACTERS = 255;
/** It came with the address for the guard. */
const TOKEN = 'token';
const SHOWN_CHARACTERS = 40;

const NAMES: ReadonlySet<string> = new Set(EVENT_NAMES);
const isQueue = (text: string): boolean =>
  text.length <= MAX_NAME_LENGTH && !text.startsWith('_') && hasLegalCharacters(text);
const isShort = (text: string): boolean => text.length <= MOST_CHARACTERS;

/** What each filter takes, and what an event has of it. */
const FILTERS: Readonly<
  Record<
    string,
    { rule: string; isRight: (text: string) => boolean; of: (event: JobEvent) => readonly string[] }
  >
> = {
  queue: {
    rule: 'must be names of queues, with commas between them',
    isRight: isQueue,
    of: ({ queue }) => [queue],
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
};

/** Whether a listener wants an event, and may know of it. */
export type EventFilter = (event: JobEvent) => boolean;

/**
 * Reads the filters of an address: of several values of one filter any will do, of several filters each counts.
 *
 * @param rights of the token; null = it may know of all queues
 * @returns null = every event
 * @throws {InputError} naming what is wrong
 * @throws {QueueError} `queue_not_allowed`: a queue that is asked for is none of the token's
 */
export function filterOf(url: string, rights: Rights | null): EventFilter | null {
  const wanted = wantedOf(url);
  for (const queue of wanted.get('queue') ?? []) checkQueue(rights, queue);
  const patterns = rights?.queues ?? null;
  const checks = [...wanted].map(([name, values]): EventFilter => {
    const of = FILTERS[name]?.of;
    return (event) => of?.(event).some((value) => values.has(value)) === true;
  });
  if (patterns !== null)
    checks.push(({ queue }) => patterns.some((pattern) => matchesPattern(pattern, queue)));
  return checks.length === 0 ? null : (event) => checks.every((check) => check(event));
}

/**
 * Where a client had come to when its stream broke off; null for one that begins.
 *
 * @throws {InputError} it is none of our ids
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
    const filter = FILTERS[field];
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
