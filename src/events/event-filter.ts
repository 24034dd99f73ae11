import {
  allOf,
  checksOf,
  type EventFilter,
  FILTERS,
  MOST_VALUES,
  queuesOf,
} from '../domain/job/event-filter.js';
import { isPlace } from '../domain/job/job-event.js';
import { checkQueue, matchesPattern, type Rights } from '../domain/rights.js';
import { type FieldProblem, InputError } from '../contract/fields/problems.js';

/** Query parameter of the token; the auth guard reads it. */
const TOKEN = 'token';
const SHOWN_CHARACTERS = 40;

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
  const checks = checksOf(wanted);
  // guard: events-of-the-token
  if (patterns !== null)
    checks.push((event) =>
      queuesOf(event).some((queue) =>
        // guard: token-of-the-left-queue-learns
        patterns.some((pattern) => matchesPattern(pattern, queue)),
      ),
    );
  return allOf(checks);
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
    const filter = /* guard: event-filters-inherit-nothing */ FILTERS.get(field);
    if (!filter) {
      const shown = field.slice(0, SHOWN_CHARACTERS);
      problems.set(shown, { field: shown, rule: 'unknown field' });
      continue;
    }
    const values = wanted.get(field) ?? new Set();
    wanted.set(field, values);
    // guard: event-values-have-commas
    const given = filter.isList ? text.split(',') : [text];
    for (const value of given) {
      if (value === '' || !filter.isRight(value)) problems.set(field, { field, rule: filter.rule });
      values.add(value);
    }
    if (values.size > MOST_VALUES)
      problems.set(field, { field, rule: `must be ${String(MOST_VALUES)} values at most` });
  }
  if (problems.size > 0) throw new InputError([...problems.values()].slice(0, 20));
  return wanted;
}
