import type { ExtendedAck, JobFailure } from '../../domain/job/extended-job.js';
import { pick } from '../../contract/fields/derived.js';
import { Problems } from '../../contract/fields/problems.js';
import { toInside } from '../../contract/fields/wire.js';
import {
  type AckFields,
  ExtensionFields,
  type FailFields,
  type FailureFields,
  type HeartbeatFields,
  NextFields,
  type Outcome,
  RetryFields,
} from '../dto/settle.v1.js';
import { dataOf, resultOf, tooLong } from '../../contract/job/new-job.js';
import { jsonOf } from '../../contract/json/deep-json.js';
import { JsonText } from '../../contract/json/json-text.js';
import type { Heartbeat } from '../jobs.service.js';

const JSON_TYPE = 'application/json';
/** What a report of a failure says besides data. */
const PlainFailure = pick(RetryFields, ['lease', 'group', 'message', 'delay_ms']);

/**
 * Builds the ack of a job from fields that were validated one by one.
 *
 * @param maxBytes the longest result, as stored
 * @throws {InputError} fields that exclude each other
 */
export function ackOf(id: string, fields: AckFields, maxBytes: number): ExtendedAck {
  const problems = new Problems();
  const outcome = outcomeOf(fields, '', maxBytes, problems);
  problems.settle();
  return { id, lease: fields.lease, ...(outcome && { outcome }) };
}

/**
 * Reads the outcome of a job: its result or its next queue, and new data; undefined if it has none of them.
 *
 * @param at the path of the ack with a dot behind it, or an empty string
 * @param problems receives contradictions between the fields
 */
export function outcomeOf(
  fields: Outcome,
  at: string,
  maxBytes: number,
  problems: Problems,
): ExtendedAck['outcome'] {
  const { next } = fields;
  const data = dataOf(fields, at, maxBytes, problems);
  const result = resultOf(fields, at, maxBytes, problems);
  if (result !== undefined && next !== undefined) {
    problems.add(`${at}next`, 'must not be set together with a result: a job that moves on is not done');
  }
  if (data === undefined && result === undefined && next === undefined) return undefined;
  const { body, contentType = JSON_TYPE } = result ?? {};
  return {
    ...(body === undefined ? {} : { result: { body, contentType } }),
    ...(data === undefined ? {} : { data }),
    ...(next === undefined ? {} : { next: toInside(NextFields, next) }),
  };
}

/** @throws {InputError} data given in two ways, or too long */
export function heartbeatOf(id: string, fields: HeartbeatFields, maxBytes: number): Heartbeat {
  const { progress, begin = false, max_run_ms } = fields;
  const problems = new Problems();
  if (max_run_ms !== undefined && !begin)
    problems.add(
      'max_run_ms',
      'needs `begin`: set it to true in the same heartbeat, when the handler begins',
    );
  const data = dataOf(fields, '', maxBytes, problems);
  const text = progress === undefined ? undefined : jsonOf(progress);
  if (text !== undefined && Buffer.byteLength(text) > maxBytes) problems.add('progress', tooLong(maxBytes));
  problems.settle();
  return {
    ...{ id, ...toInside(ExtensionFields, fields) },
    ...(text !== undefined && { progress: new JsonText(text) }),
    ...(data && { data: data.body }),
  };
}

const NO_LEASE_RULE =
  'is missing: set it to the number of the lease; or set `force` to true, which fails the job in any state and needs the permission admin';

/**
 * Reads whether a failure is forced: then it has no lease.
 *
 * @throws {InputError} a lease and `force`, or none of them; new data of a forced failure
 */
export function isForced({ lease, force = false, data, data_base64 }: FailFields): boolean {
  const problems = new Problems();
  if (lease === undefined && !force) problems.add('lease', NO_LEASE_RULE);
  if (lease !== undefined && force) problems.add('force', 'must not be set together with a lease');
  if (force && (data !== undefined || data_base64 !== undefined))
    problems.add(data === undefined ? 'data_base64' : 'data', 'must not be set together with force');
  problems.settle();
  return force;
}

/** @throws {InputError} data given in two ways, or too long */
export function failureOf(
  id: string,
  fields: FailureFields & Pick<RetryFields, 'lease' | 'delay_ms'>,
  maxBytes: number,
): JobFailure {
  const problems = new Problems();
  const data = dataOf(fields, '', maxBytes, problems);
  problems.settle();
  return { id, ...toInside(PlainFailure, fields), ...(data && { data }) };
}
