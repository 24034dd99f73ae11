import {
  isCron,
  type NewRecurring,
  type NewSchedule,
  type Recurring,
  type RecurringChange,
  type Schedule,
  type Template,
} from '../domain/job/recurring.js';
import { localTimes } from '../domain/local-time.js';
import type { UpcomingSlot } from '../engine/recurring/recurring.js';
import type { RetryPolicy } from '../domain/job/extended-job.js';
import { MAX_CATCH_UP } from '../domain/limits.js';
import type { Plain } from '../http/fields/field.js';
import { given } from '../http/fields/given.js';
import { Problems } from '../http/fields/read.js';
import { dataFields } from '../http/job-fields/data-answer.js';
import { NULL, optionsOf } from '../http/job-fields/new-job.js';
import { isoTime, isoTimeOrNull } from '../domain/iso-time.js';
import type { RetryPolicyFields } from '../http/job-fields/retry-policy.v1.js';
import type {
  RecurringAnswer,
  RecurringChangeFields,
  ReplaceRecurringFields,
  ScheduleAnswer,
  ScheduleFields,
  TemplateAnswer,
  UpcomingAnswer,
} from './dto/recurring.v1.js';

/**
 * @param maxBytes the longest data, as stored
 * @throws {InputError} naming the fields that contradict each other
 */
export function newRecurringOf(
  { schedule, job, paused, catch_up_ms, overlap, note, ...rest }: ReplaceRecurringFields,
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
    ...{ catchUpMs: catch_up_ms, overlap, note },
    isPaused: paused ?? false,
  });
  problems.settle();
  return recurring;
}

/** @param maxBytes and @throws as `newRecurringOf` */
export function changeOf(
  { schedule, job, paused, catch_up_ms, overlap, note, ...rest }: RecurringChangeFields,
  maxBytes: number,
): RecurringChange {
  const problems = new Problems();
  const change = given<RecurringChange>({
    schedule: schedule && scheduleOf(schedule, problems),
    template: job && optionsOf(job, 'job.', maxBytes, problems),
    maxCatchUp: maxCatchUpOf(rest, problems),
    ...{ catchUpMs: catch_up_ms, overlap, note },
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
    problems.add('backlog', 'must not be set together with max_catch_up, whose old name it is');
  }
  return Math.min(backlog === 0 ? MAX_CATCH_UP : backlog, MAX_CATCH_UP);
}

/** A schedule to look at. @throws {InputError} naming the fields that contradict each other */
export function previewOf(schedule: ScheduleFields): NewSchedule {
  const problems = new Problems();
  const built = scheduleOf(schedule, problems);
  problems.settle();
  return built;
}

const OF_INTERVAL = ['every_ms', 'offset_ms', 'first_at'] as const;
const OF_CRON = ['cron', 'tz', 'jitter_ms', 'start_at', 'end_at'] as const;

function scheduleOf(fields: ScheduleFields, problems: Problems): NewSchedule {
  const { every_ms, cron, tz } = fields;
  const others = cron === undefined ? OF_CRON : OF_INTERVAL;
  for (const name of others) {
    if (fields[name] !== undefined)
      problems.add(
        `schedule.${name}`,
        cron === undefined ? 'needs cron' : 'must not be set together with cron',
      );
  }
  if (cron !== undefined) {
    if (tz === undefined)
      problems.add(
        'schedule.tz',
        'is required with cron: the name of a time zone, such as Europe/Berlin or UTC',
      );
    return cronScheduleOf(fields, cron, tz ?? '');
  }
  if (every_ms === undefined) {
    problems.add('schedule.every_ms', 'is required, or cron with tz');
    return { everyMs: 0 };
  }
  return intervalOf(fields, every_ms, problems);
}

function cronScheduleOf(
  { jitter_ms, start_at, end_at }: ScheduleFields,
  cron: string,
  tz: string,
): NewSchedule {
  return given<NewSchedule>({
    ...{ cron, timeZone: tz, jitterMs: jitter_ms },
    startAtMs: start_at === undefined ? undefined : Date.parse(start_at),
    endAtMs: end_at === undefined ? undefined : Date.parse(end_at),
  });
}

function intervalOf(
  { offset_ms, first_at }: ScheduleFields,
  every_ms: number,
  problems: Problems,
): NewSchedule {
  if (offset_ms !== undefined && first_at !== undefined)
    problems.add('schedule.first_at', 'must not be set together with offset_ms');
  return given<NewSchedule>({
    everyMs: every_ms,
    offsetMs: offset_ms,
    firstAtMs: first_at === undefined ? undefined : Date.parse(first_at),
  });
}

/** A recurring job in the format of the API. @param maxDepth deeper data is given in base64 */
export function recurringAnswer(recurring: Recurring, maxDepth: number): Plain<RecurringAnswer> {
  const { id, schedule, template, maxCatchUp, isPaused, made, skipped, lastSkip } = recurring;
  return {
    id,
    schedule: scheduleAnswer(schedule),
    job: templateAnswer(template, maxDepth),
    max_catch_up: maxCatchUp,
    catch_up_ms: recurring.catchUpMs,
    overlap: recurring.overlap,
    paused: isPaused,
    note: recurring.note,
    made,
    skipped,
    last_skip: lastSkip && { at: isoTime(lastSkip.atMs), reason: lastSkip.reason },
    next_at: isoTimeOrNull(recurring.nextAtMs),
    last_at: isoTimeOrNull(recurring.lastAtMs),
    created_at: isoTime(recurring.createdAtMs),
  };
}

function scheduleAnswer(schedule: Schedule): Plain<ScheduleAnswer> {
  if (!isCron(schedule)) {
    const { everyMs, firstAtMs, offsetMs } = schedule;
    return given<Plain<ScheduleAnswer>>({
      ...{ every_ms: everyMs, first_at: isoTime(firstAtMs), offset_ms: offsetMs },
    });
  }
  const { cron, timeZone, jitterMs = 0, startAtMs, endAtMs } = schedule;
  return given<Plain<ScheduleAnswer>>({
    ...{ cron, tz: timeZone, jitter_ms: jitterMs },
    start_at: startAtMs === undefined ? undefined : isoTime(startAtMs),
    end_at: endAtMs === undefined ? undefined : isoTime(endAtMs),
  });
}

/** Upcoming slots in the format of the API. @param timeZone of a cron schedule */
export function upcomingAnswer(slots: readonly UpcomingSlot[], timeZone?: string): Plain<UpcomingAnswer> {
  const local = timeZone === undefined ? () => null : localTimes(timeZone);
  return {
    slots: slots.map(({ atMs, isMoved }) => ({ at: isoTime(atMs), local: local(atMs), moved: isMoved })),
  };
}

function templateAnswer(template: Template, maxDepth: number): Plain<TemplateAnswer> {
  const { queue, body, contentType = null, ttlMs, tries, ttrMs, priority, type, tags, attributes } = template;
  const { leaseGraceMs, dependsOn, onDependencyFailure, retry, unique, concurrencyKey } = template;
  const { retentionMs, history } = template;
  return given<Plain<TemplateAnswer>>({
    queue,
    ...dataFields(body, contentType, maxDepth),
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
