import { omit } from '../contract/fields/derived.js';
import { Problems } from '../contract/fields/problems.js';
import { toInside } from '../contract/fields/wire.js';
import {
  DeadFields,
  type DeadFilterFields,
  type DeadSelection,
  type RespawnFields,
} from '../contract/job/dead-jobs.js';
import type { Plain } from '../contract/fields/field.js';
import type { DeadFilter } from '../domain/job/job-lists.js';
import { momentOf } from '../domain/moment.js';
import { fromCursor } from '../http/request/page-query.js';
import type { DeadQuery } from './dto.v1.js';

/** What a selection says besides its filter. */
const PlainSelection = omit(DeadFields, ['filter', 'cursor']);

/** @throws {InputError} naming all that is wrong */
export function deadSelectionOf(fields: DeadFields): DeadSelection {
  const { filter, ids, limit, cursor } = fields;
  const problems = new Problems();
  if (filter === undefined && ids === undefined)
    problems.add('filter', 'is missing: one of filter and ids must be there');
  if (ids !== undefined && limit !== undefined) problems.add('limit', 'does not go with ids');
  if (ids !== undefined && cursor !== undefined) problems.add('cursor', 'does not go with ids');
  problems.settle();
  return {
    ...toInside(PlainSelection, fields),
    ...(filter && { filter: filterOf(filter) }),
    ...(cursor === undefined ? {} : { cursor: fromCursor(cursor, () => true) }),
  };
}

/** @throws {InputError} both numbers of tries are given */
export function checkRespawn({ tries, keep_tries }: RespawnFields): void {
  const problems = new Problems();
  if (tries !== undefined && keep_tries === true) problems.add('tries', 'does not go with keep_tries');
  problems.settle();
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

/** The times have names of their own. */
function filterOf({ from, to, ...rest }: Plain<DeadFilterFields>): DeadFilter {
  return {
    ...rest,
    ...(from === undefined ? {} : { fromMs: momentOf(from) }),
    ...(to === undefined ? {} : { toMs: momentOf(to) }),
  };
}
