import type { Completion, GivenUp } from '../domain/rich-job.js';
import { given } from '../http/fields/given.js';
import { Problems } from '../http/fields/read.js';
import type {
  AckFields,
  FailFields,
  HeartbeatFields,
  NextFields,
  Outcome,
  RetryFields,
} from './dto/settle.v1.js';
import { dataOf, jsonText, resultOf } from '../http/job-fields/new-job.js';
import type { Heartbeat } from './rich-jobs.service.js';

const JSON_TYPE = 'application/json';
const USUAL_GROUP = 'failed';

/**
 * A job whose work is done, of fields that are right one by one.
 *
 * @param maxBytes the longest result, as stored
 * @throws {InputError} fields that do not go together
 */
export function completionOf(id: string, fields: AckFields, maxBytes: number): Completion {
  const problems = new Problems();
  const outcome = outcomeOf(fields, '', maxBytes, problems);
  problems.settle();
  return { id, lease: fields.lease, ...outcome };
}

/**
 * What comes of a job: its result or its next queue.
 *
 * @param at its path with a dot behind, or nothing
 * @param problems hears what is wrong between the fields
 */
export function outcomeOf(
  fields: Outcome,
  at: string,
  maxBytes: number,
  problems: Problems,
): Pick<Completion, 'result' | 'next'> {
  const { next } = fields;
  const result = resultOf(fields, at, maxBytes, problems);
  if (result !== undefined && next !== undefined) {
    problems.add(`${at}next`, 'must be left out where there is a result: a job that moves on is not done');
  }
  const { body, contentType = JSON_TYPE } = result ?? {};
  return {
    ...(body === undefined ? {} : { result: { body, contentType } }),
    ...(next === undefined ? {} : { next: nextOf(next) }),
  };
}

/** @throws {InputError} data in two ways, or too much of it */
export function heartbeatOf(id: string, fields: HeartbeatFields, maxBytes: number): Heartbeat {
  const { lease, ttr_ms, progress } = fields;
  const problems = new Problems();
  const stored = dataOf(fields, '', maxBytes, problems);
  const length = progress === undefined ? 0 : jsonText(progress)?.length;
  if (length === undefined || length > maxBytes) {
    problems.add('progress', `must be at most ${String(maxBytes)} bytes as stored`);
  }
  problems.settle();
  return given<Heartbeat>({ id, lease, ttrMs: ttr_ms, progress, data: stored?.body });
}

export function givenUpOf(id: string, fields: FailFields & Pick<RetryFields, 'delay_ms'>): GivenUp {
  const { lease, group = USUAL_GROUP, message = '', delay_ms } = fields;
  return given<GivenUp>({ id, lease, group, message, delayMs: delay_ms });
}

function nextOf({ queue, delay_ms, depends_on }: NextFields): NonNullable<Completion['next']> {
  return {
    queue,
    ...(delay_ms === undefined ? {} : { delayMs: delay_ms }),
    ...(depends_on === undefined ? {} : { dependsOn: depends_on }),
  };
}
