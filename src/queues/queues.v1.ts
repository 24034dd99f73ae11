import type { QueueDefaults, Rate, SettingsChange } from '../domain/queue-settings.js';
import { hasLegalCharacters } from '../domain/ids.js';
import { isoTimeOrNull } from '../domain/iso-time.js';
import { given } from '../http/fields/given.js';
import { Problems } from '../http/fields/read.js';
import { retryFieldsOf, retryPolicyOf } from '../http/job-fields/retry-policy.v1.js';
import type { Plain } from '../http/fields/field.js';
import type { DefaultsFields, QueueAnswer, RateFields, SettingsFields } from './dto/queues.v1.js';
import type { QueueView } from '../engine/queues/queues.js';

/** Highest rate, in job starts per millisecond; the engine has the same limit. */
const MOST_PER_MS = 10;

/** Builds a change of settings from a request. @throws {InputError} naming the fields that contradict each other */
export function changeOf(fields: SettingsFields): SettingsChange {
  const problems = new Problems();
  const { max_running, max_running_per_key, rate, rate_per_key, defaults, max_kept } = fields;
  const { index_tags, lease_grace_ms, expired, push } = fields;
  if (push?.max_running !== undefined && max_running !== undefined) {
    problems.add('push.max_running', 'must not be set together with max_running: they are the same setting');
  }
  const change = given<SettingsChange>({
    maxRunning: push?.max_running ?? max_running,
    maxRunningPerKey: max_running_per_key,
    rate: rate && rateOf(rate, 'rate', problems),
    ratePerKey: rate_per_key && rateOf(rate_per_key, 'rate_per_key', problems),
    defaults: defaults && defaultsOf(defaults, problems),
    maxKept: max_kept,
    indexTags: index_tags,
    leaseGraceMs: lease_grace_ms,
    expired,
  });
  problems.settle();
  return change;
}

/** A queue in the format of the API. */
export function queueAnswer(view: QueueView): Plain<QueueAnswer> {
  const { counts, exists, length, stalled, recurring, pausedAtMs, drainingSinceMs, defaults } = view;
  const { queue, ready, scheduled, blocked, stuck, held, leased, dead, done, cancelled } = counts;
  return {
    queue,
    exists,
    length,
    work: ready + held + leased,
    counts: { ready, scheduled, blocked, stuck, held, leased, stalled, dead, done, cancelled, recurring },
    paused_at: isoTimeOrNull(pausedAtMs),
    draining_at: isoTimeOrNull(drainingSinceMs),
    max_running: view.maxRunning,
    max_running_per_key: view.maxRunningPerKey,
    rate: rateFieldsOf(view.rate),
    rate_per_key: rateFieldsOf(view.ratePerKey),
    defaults: defaultsFieldsOf(defaults),
    max_kept: view.maxKept,
    index_tags: view.indexTags,
    lease_grace_ms: view.leaseGraceMs,
    expired: view.expired,
    push: view.pushTarget === null ? null : { target: view.pushTarget },
    ...(view.isCreated === true ? { created: true } : {}),
  };
}

/** True if `place` can be the last name of a page of queues. */
export function isPlaceOfQueues(place: string): boolean {
  return place !== '' && hasLegalCharacters(place);
}

function rateOf({ rate, period_ms, burst }: RateFields, at: string, problems: Problems): Rate {
  if (rate > period_ms * MOST_PER_MS)
    problems.add(`${at}.rate`, `must be at most ${MOST_PER_MS} for each millisecond of the period`);
  return { rate, periodMs: period_ms, burst };
}

function rateFieldsOf(rate: Rate | null): Plain<RateFields> | null {
  return rate && { rate: rate.rate, period_ms: rate.periodMs, burst: rate.burst };
}

function defaultsOf(fields: DefaultsFields, problems: Problems): QueueDefaults {
  const { ttl_ms, tries, ttr_ms, priority, retry, retention_ms } = fields;
  return given<QueueDefaults>({
    ttlMs: ttl_ms,
    tries,
    ttrMs: ttr_ms,
    priority,
    retry: retry && retryPolicyOf(retry, 'defaults.retry.', problems),
    retentionMs: retention_ms,
  });
}

function defaultsFieldsOf({
  ttlMs,
  tries,
  ttrMs,
  priority,
  retry,
  retentionMs,
}: QueueDefaults): DefaultsFields {
  return given<DefaultsFields>({
    ttl_ms: ttlMs,
    tries,
    ttr_ms: ttrMs,
    priority,
    retry: retry && retryFieldsOf(retry),
    retention_ms: retentionMs,
  });
}
