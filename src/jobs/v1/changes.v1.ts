import { MAX_LOG_DATA_BYTES } from '../../domain/limits.js';
import { momentOf } from '../../domain/moment.js';
import type { CancelledOne } from '../../engine/jobs/job-canceller.js';
import type { JobChange } from '../../engine/jobs/job-updater.js';
import { omit } from '../../contract/fields/derived.js';
import { type Inside, toInside } from '../../contract/fields/wire.js';
import { given } from '../../contract/fields/given.js';
import { Problems } from '../../contract/fields/problems.js';
import { type CancelledAnswer, ChangeFields } from '../../contract/job/changes.js';
import { retryPolicyOf } from '../../contract/job/retry-policy.js';
import { dataOf, jsonText } from '../../contract/job/new-job.js';

/** Changes that are as they are given. */
const PlainChanges = omit(ChangeFields, ['data', 'data_base64', 'content_type', 'retry', 'due_at']);

/**
 * Builds a change from fields that were validated one by one.
 *
 * @param maxBytes the longest data, as stored
 * @throws {InputError} fields that exclude each other
 */
export function jobChangeOf(fields: ChangeFields, maxBytes: number): JobChange {
  const { due_at, delay_ms } = fields;
  const problems = new Problems();
  const data = dataOf(fields, '', maxBytes, problems);
  const retry = fields.retry && retryPolicyOf(fields.retry, 'retry.', problems);
  if (due_at !== undefined && delay_ms !== undefined)
    problems.add('due_at', 'must not be set together with delay_ms');
  problems.settle();
  return given<JobChange>({
    ...toInside(PlainChanges, fields),
    retry,
    data,
    dueMs: due_at === undefined ? undefined : Math.max(momentOf(due_at), 0),
  });
}

/** What became of a job that was to be cancelled, as answers have it. */
export function cancelledFacts(id: string, cancelled: CancelledOne): Inside<CancelledAnswer> {
  return { id, revokedAtMs: null, ...cancelled };
}

/** Checks the data of a timeline entry. @throws {InputError} it is too long */
export function logDataOf(data: unknown): unknown {
  if (data !== undefined && jsonText(data).length > MAX_LOG_DATA_BYTES) {
    const problems = new Problems();
    problems.add('data', `must be at most ${String(MAX_LOG_DATA_BYTES)} bytes as stored`);
    problems.settle();
  }
  return data;
}
