import type { FieldsClass } from '../contract/fields/field.js';
import { type Sight, withoutData, withSight } from '../contract/fields/withheld.js';
import { type JsonPath, parseJsonPath } from '../contract/json/json-path.js';
import type { Caller } from '../domain/caller.js';
import { QueueError } from '../domain/errors.js';
import { seesRedacted } from '../domain/roles.js';
import type { Engines } from '../engine/engines.js';

/*
 * What an account sees of the data of jobs: a viewer nothing, an admin and a token all, and other roles all but the places that
 * the settings of the queue name.
 */

/** The queue of an object that may be of any queue. */
const ANY = '';

/** An answer as its caller may see it. @param queue of the jobs in the answer, if it does not name it itself */
export async function seenBy(
  caller: Caller | undefined,
  engines: Engines,
  of: FieldsClass,
  wire: object,
  queue?: string,
): Promise<object> {
  if (caller?.actor?.role === 'viewer') return withoutData(of, wire);
  if (!isRestricted(caller)) return wire;
  const queues = new Set<string>();
  withSight(
    of,
    wire,
    (one) => {
      if (one !== undefined) queues.add(one);
      return 'none';
    },
    queue,
  );
  if (queues.size === 0) return wire;
  const sights = await sightsOf(caller, engines, [...queues]);
  return withSight(of, wire, (one) => (one === undefined ? 'all' : (sights.get(one) ?? 'none')), queue);
}

/** True for an account that sees data, but not the places that queues name. */
export function isRestricted(caller: Caller | undefined): caller is Caller {
  return seesRedacted(caller?.actor?.role);
}

/** Those of some queues that withhold places from the caller. */
export async function withholdingOf(
  caller: Caller,
  engines: Engines,
  queues: readonly string[],
): Promise<string[]> {
  if (!isRestricted(caller)) return [];
  const sights = await sightsOf(caller, engines, queues);
  return queues.filter((queue) => sights.get(queue) !== 'all');
}

/**
 * Checks that a search in data, or in what may repeat it, is only in queues that withhold nothing: the number of hits would
 * tell it.
 *
 * @param queue undefined: all queues of the namespace
 * @throws {QueueError} `role_missing`
 */
export async function checkSearch(
  caller: Caller,
  engines: Engines,
  queue: string | undefined,
): Promise<void> {
  if (!isRestricted(caller)) return;
  const [withholding] = await withholdingOf(caller, engines, [queue ?? ANY]);
  // guard: redacted-data-is-not-searched
  if (withholding === undefined) return;
  const where = queue === undefined ? 'a queue of the namespace' : `the queue ${queue}`;
  throw new QueueError(
    'role_missing',
    `${where} withholds places of its data (redact): searches in failure messages and attributes of its jobs need the role admin${queue === undefined ? ', or name another queue' : ''}`,
  );
}

/**
 * Checks that jobs do not move to a queue where the caller would see more of their data.
 *
 * @param from undefined: any queue of the namespace
 * @throws {QueueError} `role_missing`
 */
export async function checkMove(
  caller: Caller,
  engines: Engines,
  from: string | undefined,
  to: string,
): Promise<void> {
  if (!isRestricted(caller) || from === to) return;
  const sources = from === undefined ? await engines.of(caller.pool).queues.names(caller.namespace) : [from];
  const [target, ...others] = await namedPlaces(caller, engines, [to, ...sources]);
  const known = new Set(target);
  const more = others.findIndex((paths) => paths?.some((path) => !known.has(path)));
  // guard: redacted-data-stays-in-its-queue
  if (more === -1) return;
  throw new QueueError(
    'role_missing',
    `the queue ${sources[more] ?? ''} withholds places of its data (redact) that the queue ${to} does not withhold: only the role admin may move its jobs there`,
  );
}

/** What the caller sees of the data of each queue; of `ANY`: nothing if any queue of the namespace withholds places. */
async function sightsOf(
  caller: Caller,
  engines: Engines,
  queues: readonly string[],
): Promise<ReadonlyMap<string, Sight>> {
  const named = queues.filter((queue) => queue !== ANY);
  const places = await namedPlaces(caller, engines, named);
  const sights = new Map(named.map((queue, i) => [queue, sightBy(places[i])]));
  if (named.length === queues.length) return sights;
  const all = await namedPlaces(
    caller,
    engines,
    await engines.of(caller.pool).queues.names(caller.namespace),
  );
  return sights.set(ANY, all.some((paths) => paths !== null) ? 'none' : 'all');
}

/** The paths that queues name, as they are stored; null = none. */
async function namedPlaces(
  { pool, namespace }: Caller,
  engines: Engines,
  queues: readonly string[],
): Promise<(readonly string[] | null)[]> {
  const settings = await engines.of(pool).queues.stored.settings(namespace, queues);
  return settings.map((one) => one?.redact ?? null);
}

/** A path of another version of the server, or of a person with an editor, may not parse: then all is withheld. */
function sightBy(texts: readonly string[] | null | undefined): Sight {
  if (texts === null || texts === undefined) return 'all';
  const paths: JsonPath[] = [];
  for (const text of texts) {
    const path = parseJsonPath(text);
    // guard: unknown-path-hides-all
    if (path === undefined) return 'none';
    paths.push(path);
  }
  return paths;
}
