import type { NewRecurring, NewSchedule, Recurring, RecurringChange } from '../contract/job/recurring.js';
import { localTimes } from '../domain/local-time.js';
import type { UpcomingSlot } from '../engine/recurring/recurring.js';
import { MAX_CATCH_UP } from '../domain/limits.js';
import { pick } from '../contract/fields/derived.js';
import { given } from '../contract/fields/given.js';
import { Problems } from '../contract/fields/problems.js';
import { type Inside, toInside } from '../contract/fields/wire.js';
import {
  type RecurringAnswer,
  recurringFacts,
  type UpcomingAnswer,
} from '../contract/job/recurring-answers.js';
import { answerData } from '../contract/job/data-answer.js';
import { NULL, optionsOf } from '../contract/job/new-job.js';
import {
  type RecurringChangeFields,
  type ReplaceRecurringFields,
  ScheduleFields,
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
const IntervalFields = pick(ScheduleFields, OF_INTERVAL);
const CronFields = pick(ScheduleFields, OF_CRON);

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
    const { tz: timeZone = '', ...schedule } = toInside(CronFields, fields);
    return { ...schedule, cron, timeZone };
  }
  if (every_ms === undefined) {
    problems.add('schedule.every_ms', 'is required, or cron with tz');
    return { everyMs: 0 };
  }
  return intervalOf(fields, problems);
}

function intervalOf(fields: ScheduleFields, problems: Problems): NewSchedule {
  if (fields.offset_ms !== undefined && fields.first_at !== undefined)
    problems.add('schedule.first_at', 'must not be set together with offset_ms');
  return toInside(IntervalFields, fields) as NewSchedule;
}

/** A recurring job as answers have it. @param maxDepth deeper data is given in base64 */
export function recurringFactsOf(recurring: Recurring, maxDepth: number): Inside<RecurringAnswer> {
  const { body, contentType = null } = recurring.template;
  return recurringFacts(recurring, answerData(body, contentType, maxDepth));
}

/** Upcoming slots as answers have them. @param timeZone of a cron schedule */
export function upcomingFacts(slots: readonly UpcomingSlot[], timeZone?: string): Inside<UpcomingAnswer> {
  const local = timeZone === undefined ? () => null : localTimes(timeZone);
  return { slots: slots.map(({ atMs, isMoved }) => ({ atMs, local: local(atMs), moved: isMoved })) };
}
