import { givenOptions, type NewJob } from '@pumphouse/client';
import type { NewExtendedJob } from '#src/contract/job/extended-job';
import { momentOf, momentRule } from '#src/domain/moment';
import { PUSH_URL_RULE, pushUrlOf, withPushUrl } from '#src/domain/push-url';
import { invalid, invalidField } from './errors.js';
import { newData } from './payload.js';

/**
 * A job of the client as the engine stores it.
 *
 * @throws {TypeError} its data is no JSON, or does not fit its content type
 * @throws {QueueError} `invalid_argument`: options that exclude each other
 */
export function engineJobOf(job: NewJob): NewExtendedJob {
  const { runAt, unique, push, data, json, contentType, ...options } = givenOptions(job);
  const { delayMs, ttlMs = 0 } = options;
  if (runAt !== undefined && delayMs !== undefined) throw invalid('give one of `delayMs` and `runAt`');
  if (ttlMs > 0 && ttlMs < (delayMs ?? 0)) throw invalid('ttlMs is 0, or at least delayMs');
  const made: { -readonly [K in keyof NewExtendedJob]: NewExtendedJob[K] } = {
    ...options,
    ...newData({ data, json, contentType }),
  };
  if (runAt !== undefined) made.dueMs = timeOf('runAt', runAt);
  if (push !== undefined) {
    const url = pushUrlOf(push.url);
    if (url === null) throw invalid(`push.url ${PUSH_URL_RULE}`);
    Object.assign(made, withPushUrl(url, options));
  }
  if (unique !== undefined) made.unique = { mode: 'existing', ...unique };
  return made;
}

/**
 * Unix ms; times before 1970 are as any time that is over. Texts are read as the API reads them.
 *
 * @throws {QueueError} `invalid_argument`, naming the field
 */
export function timeOf(field: string, time: Date | string): number {
  const ms = time instanceof Date ? time.getTime() : momentOf(time);
  if (Number.isNaN(ms)) throw invalidField(field, momentRule(time));
  return Math.max(ms, 0);
}
