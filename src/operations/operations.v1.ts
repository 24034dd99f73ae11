import { momentOf } from '../domain/moment.js';
import { omit } from '../contract/fields/derived.js';
import { given } from '../contract/fields/given.js';
import { type Inside, toInside } from '../contract/fields/wire.js';
import { respawnOf } from '../contract/job/dead-jobs.js';
import {
  OperationFields,
  OperationFilterFields,
  PatchFields,
  type SetAnswer,
} from '../contract/operations.js';
import { checkFields, type NewOperation } from '../engine/operations/operations.js';
import type { OperationFilter } from '../engine/operations/plan.js';
import { jobChangeOf } from '../jobs/v1/changes.v1.js';

/** Fields that are as they are given. */
const PlainFields = omit(OperationFields, ['filter', 'set']);
const PlainPatch = omit(PatchFields, ['data', 'data_base64']);

/**
 * Builds an operation from fields that were validated one by one.
 *
 * @param maxBytes the longest data, as stored
 * @throws {InputError | QueueError} fields that do not go together
 */
export function operationOf(fields: OperationFields, maxBytes: number): NewOperation {
  const { filter, set } = fields;
  const { action, dryRun, ratePerS, to, cascade, graceMs, undoMs, ...respawn } = toInside(
    PlainFields,
    fields,
  );
  checkFields(action, { to, set, cascade, graceMs, undoMs, ...respawn });
  return given<NewOperation>({
    action,
    filter: filterOf(filter),
    shown: {
      filter: toInside(OperationFilterFields, filter),
      to: to ?? null,
      set: set === undefined ? null : shownSet(set),
    },
    change: set && jobChangeOf(set, maxBytes),
    respawn: respawnOf(respawn),
    ...{ dryRun, ratePerS, to, cascade, graceMs, undoMs },
  });
}

/** The times have names of their own. */
function filterOf({ from, to, ...rest }: OperationFilterFields): OperationFilter {
  return {
    ...rest,
    ...(from === undefined ? {} : { fromMs: momentOf(from) }),
    ...(to === undefined ? {} : { toMs: momentOf(to) }),
  };
}

/** The changes as answers show them: without the data. */
function shownSet(set: PatchFields): Inside<SetAnswer> {
  const { data, data_base64: bytes } = set;
  return {
    ...toInside(PlainPatch, set),
    ...(data === undefined && bytes === undefined ? {} : { data: true }),
  };
}
