import { problemIn } from '../../contract/fields/check.js';
import { changesOf } from '../../contract/fields/derived.js';
import { LimitFields, RATE_RULE, isTooFast, type SettingsChange } from '../../contract/queue-settings.js';
import { ArgumentError } from '../../contract/fields/problems.js';

const LimitChanges = changesOf(LimitFields);

/** @throws {QueueError} `invalid_argument`, naming the field and the rule */
export function checkSettings(change: SettingsChange): void {
  const problem = problemIn(LimitChanges, change);
  if (problem !== undefined) throw new ArgumentError(problem.field, problem.rule);
  for (const name of ['rate', 'ratePerKey'] as const) {
    const rate = change[name];
    if (rate && isTooFast(rate.rate, rate.periodMs)) throw new ArgumentError(`${name}.rate`, RATE_RULE);
  }
}
