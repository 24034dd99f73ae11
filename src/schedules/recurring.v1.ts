import type { NewRecurring, NewSchedule, Recurring, RecurringChange, Template } from '../domain/recurring.js';
import type { RetryPolicy } from '../domain/extended-job.js';
import { MAX_CATCH_UP } from '../domain/limits.js';
import type { Plain } from '../http/fields/field.js';
import { given } from '../http/fields/given.js';
import { Problems } from '../http/fields/read.js';
import { dataFields } from '../http/job-fields/data-answer.js';
import { NULL, optionsOf } from '../http/job-fields/new-job.js';
import { isoTime, isoTimeOrNull } from '../http/answer/reply.js';
import type { RetryPolicyFields } from '../http/job-fields/retry-policy.v1.js';
import type {
  RecurringAnswer,
  RecurringChangeFields,
  ReplaceRecurringFields,
  ScheduleFields,
  TemplateAnswer,
} from './dto/recurring.v1.js';

/**
 * @param maxBytes the longest data, as stored
 * @throws {InputError} naming the fields that contradict each other
 */
export function newRecurringOf(
  { schedule, job, paused, ...rest }: ReplaceRecurringFields,
  maxBytes: number,
  id?: string,
): NewRecurring {
  const problems = new Problems();
  const options = optionsOf(job, 'job.', maxBytes, problems);
  const recurring = given<NewRecurring>({
    id,
    schedule: scheduleOf(schedule, problems),
    template: { ...options, queue: job.queue, body: options.body ?? NULL },
    maxCatchUp: maxCatchUpOf(rest, problems),
    isPaused: paused ?? false,
  });
  problems.settle();
  return recurring;
}

/** @param maxBytes and @throws as `newRecurringOf` */
export function changeOf(
  { schedule, job, paused, ...rest }: RecurringChangeFields,
  maxBytes: number,
): RecurringChange {
  const problems = new Problems();
  const change = given<RecurringChange>({
    schedule: schedule && scheduleOf(schedule, problems),
    template: job && optionsOf(job, 'job.', maxBytes, problems),
    maxCatchUp: maxCatchUpOf(rest, problems),
    isPaused: paused,
  });
  problems.settle();
  if (job?.queue === undefined) return change;
  return { ...change, template: { ...change.template, queue: job.queue } };
}

/** Reads `max_catch_up`, or `backlog`, its old name, in which 0 means as many as possible. */
function maxCatchUpOf(
  { max_catch_up, backlog }: Pick<RecurringChangeFields, 'max_catch_up' | 'backlog'>,
  problems: Problems,
): number | undefined {
  if (backlog === undefined) return max_catch_up;
  if (max_catch_up !== undefined) {
    problems.add('backlog', 'must be left out where there is max_catch_up: it is the old name of it');
  }
  return Math.min(backlog === 0 ? MAX_CATCH_UP : backlog, MAX_CATCH_UP);
}

function scheduleOf({ every_ms, offset_ms, first_at }: ScheduleFields, problems: Problems): NewSchedule {
  if (offset_ms !== undefined && first_at !== undefined)
    problems.add('schedule.first_at', 'must be left out where there is offset_ms');
  return given<NewSchedule>({
    everyMs: every_ms,
    offsetMs: offset_ms,
    firstAtMs: first_at === undefined ? undefined : Date.parse(first_at),
  });
}

/** A recurring job in the format of the API. */
export function recurringAnswer(recurring: Recurring): Plain<RecurringAnswer> {
  const { id, schedule, template, maxCatchUp, isPaused, made, skipped } = recurring;
  return {
    id,
    schedule: { every_ms: schedule.everyMs, first_at: isoTime(schedule.firstAtMs) },
    job: templateAnswer(template),
    max_catch_up: maxCatchUp,
    paused: isPaused,
    made,
    skipped,
    next_at: isoTimeOrNull(recurring.nextAtMs),
    last_at: isoTimeOrNull(recurring.lastAtMs),
    created_at: isoTime(recurring.createdAtMs),
  };
}

function templateAnswer(template: Template): Plain<TemplateAnswer> {
  const { queue, body, contentType = null, ttlMs, tries, ttrMs, priority, type, tags, attributes } = template;
  const { leaseGraceMs, dependsOn, onDependencyFailure, retry, unique, concurrencyKey } = template;
  const { retentionMs, history } = template;
  return given<Plain<TemplateAnswer>>({
    queue,
    ...dataFields(body, contentType),
    ttl_ms: ttlMs,
    tries,
    ttr_ms: ttrMs,
    lease_grace_ms: leaseGraceMs,
    priority,
    type,
    tags,
    attributes,
    depends_on: dependsOn,
    on_dependency_failure: onDependencyFailure,
    retry: retry && retryFields(retry),
    unique: unique && { key: unique.key, mode: unique.mode, window_ms: unique.windowMs ?? 0 },
    concurrency_key: concurrencyKey,
    retention_ms: retentionMs,
    history,
  });
}

function retryFields(retry: RetryPolicy): Plain<RetryPolicyFields> {
  const { kind, nonRetryable } = retry;
  const more = nonRetryable === undefined ? {} : { non_retryable: [...nonRetryable] };
  if (kind === 'none') return { kind, ...more };
  if (kind === 'list') return { kind, delays_ms: [...retry.delaysMs], ...more };
  if (kind === 'fixed') return { kind, delay_ms: retry.delayMs, ...more };
  const max = retry.maxMs === undefined ? {} : { max_ms: retry.maxMs };
  if (kind === 'linear') return { kind, delay_ms: retry.delayMs, ...max, ...more };
  const { delayMs, factor, jitter } = retry;
  return {
    ...{ kind, delay_ms: delayMs, ...max, ...more },
    ...(factor === undefined ? {} : { factor }),
    ...(jitter === undefined ? {} : { jitter }),
  };
}
