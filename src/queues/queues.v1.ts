import { QueueError } from '../domain/errors.js';
import { hasLegalCharacters } from '../domain/ids.js';
import { MAX_LABEL } from '../domain/limits.js';
import { changesOf } from '../contract/fields/derived.js';
import { Problems } from '../contract/fields/problems.js';
import { toInside } from '../contract/fields/wire.js';
import { checkRetry } from '../contract/job/retry-policy.js';
import {
  isTooFast,
  LimitFields,
  RATE_RULE,
  type RateFields,
  type SettingsChange,
  type SettingsFields,
} from '../contract/queue-settings.js';

/** Builds a change of settings from a request. @throws {InputError} naming the fields that contradict each other */
export function settingsChangeOf(fields: SettingsFields): SettingsChange {
  const problems = new Problems();
  const { push, max_running, rate, rate_per_key, defaults } = fields;
  if (push?.max_running !== undefined && max_running !== undefined) {
    problems.add('push.max_running', 'must not be set together with max_running: they are the same setting');
  }
  checkRate(rate, 'rate', problems);
  checkRate(rate_per_key, 'rate_per_key', problems);
  if (defaults?.retry) checkRetry(defaults.retry, 'defaults.retry.', problems);
  problems.settle();
  const change = toInside(LimitChanges, fields) as SettingsChange;
  return push?.max_running === undefined ? change : { ...change, maxRunning: push.max_running };
}

/** Changes of settings but for the push. */
const LimitChanges = changesOf(LimitFields);

/** The error of a change of what an account does not see. */
export function mayNotShow(queue: string): QueueError {
  return new QueueError(
    'role_missing',
    `only the role admin may change which places of its data the queue ${queue} withholds (redact), or delete the queue while it withholds any`,
  );
}

/** True if `place` can be the last name of a page of queues. */
export function isPlaceOfQueues(place: string): boolean {
  return place !== '' && hasLegalCharacters(place);
}

/** A description of a token as answers can show it; null = it has none. Old ones may be long, and have any characters. */
export function labelOf(description: string): string | null {
  const label = description.slice(0, MAX_LABEL).replaceAll(/[\p{Cc}\p{Cs}]/gu, ' ');
  return label.trim() === '' ? null : label;
}

function checkRate(rate: RateFields | null | undefined, at: string, problems: Problems): void {
  if (rate && isTooFast(rate.rate, rate.period_ms)) problems.add(`${at}.rate`, RATE_RULE);
}
