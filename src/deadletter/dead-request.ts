import type { DeadFilter, DeadSelection, Respawn } from '../domain/job/job-lists.js';
import type { Plain } from '../contract/fields/field.js';
import { given } from '../contract/fields/given.js';
import { Problems } from '../contract/fields/problems.js';
import { fromCursor } from '../http/request/page-query.js';
import type { DeadFields, DeadFilterFields, DeadQuery, RespawnFields } from './dto.v1.js';

/** @throws {InputError} naming all that is wrong */
export function deadRequestOf({ filter, ids, dry_run, limit, cursor }: DeadFields): DeadSelection {
  const problems = new Problems();
  if (filter === undefined && ids === undefined)
    problems.add('filter', 'is missing: one of filter and ids must be there');
  if (ids !== undefined && limit !== undefined) problems.add('limit', 'does not go with ids');
  if (ids !== undefined && cursor !== undefined) problems.add('cursor', 'does not go with ids');
  problems.settle();
  return {
    filter: filterOf(filter ?? {}),
    ids: ids ?? null,
    isDry: dry_run ?? false,
    limit,
    cursor: cursor === undefined ? undefined : fromCursor(cursor, () => true),
  };
}

/** @throws {InputError} naming all that is wrong */
export function respawnOf({ tries, keep_tries, ttl_ms = 0 }: RespawnFields, queue?: string): Respawn {
  const problems = new Problems();
  if (tries !== undefined && keep_tries === true) problems.add('tries', 'does not go with keep_tries');
  problems.settle();
  return given<Respawn>({
    ttlMs: ttl_ms,
    tries: keep_tries === true ? 'keep' : (tries ?? 'reset'),
    queue,
  });
}

/** Reads the filter from a query, where the attribute is a single text. */
export function queryFilterOf({
  attribute,
  ...rest
}: Omit<Plain<DeadQuery>, 'limit' | 'cursor' | 'order'>): DeadFilter {
  if (attribute === undefined) return filterOf(rest);
  const at = attribute.indexOf('=');
  return filterOf({ ...rest, attributes: { [attribute.slice(0, at)]: attribute.slice(at + 1) } });
}

function filterOf({ from, to, ...rest }: Plain<DeadFilterFields>): DeadFilter {
  return given<DeadFilter>({
    ...rest,
    fromMs: from === undefined ? undefined : Date.parse(from),
    toMs: to === undefined ? undefined : Date.parse(to),
  });
}
