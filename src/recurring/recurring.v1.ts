import { pick } from '../contract/fields/derived.js';
import { Problems } from '../contract/fields/problems.js';
import { type Inside, toInside } from '../contract/fields/wire.js';
import { answerData } from '../contract/job/data-answer.js';
import { NULL, optionsOf } from '../contract/job/new-job.js';
import {
  type GivenOptions,
  type NewRecurring,
  type NewSchedule,
  type Recurring,
  type RecurringChange,
  type RecurringChangeFields,
  RecurringOptions,
  type ReplaceRecurringFields,
  ScheduleFields,
  type Template,
  type TemplateChangeFields,
} from '../contract/job/recurring.js';
import { type RecurringAnswer, recurringFacts } from '../contract/job/recurring-answers.js';
import { MAX_CATCH_UP } from '../domain/limits.js';

/**
 * @param maxBytes the longest data, as stored
 * @throws {InputError} naming the fields that contradict each other
 */
export function newRecurringOf(fields: ReplaceRecurringFields, maxBytes: number, id?: string): NewRecurring {
  const problems = new Problems();
  const { queue } = fields.job;
  const options = optionsOf(fields.job, 'job.', maxBytes, problems);
  const recurring: NewRecurring = {
    ...(id === undefined ? {} : { id }),
    schedule: scheduleOf(fields.schedule, problems),
    template: { ...options, queue, body: options.body ?? NULL },
    ...recurringOptionsOf(fields, problems),
  };
  problems.settle();
  return recurring;
}

/** @param maxBytes and @throws as `newRecurringOf` */
export function changeOf(fields: RecurringChangeFields, maxBytes: number): RecurringChange {
  const problems = new Problems();
  const { schedule, job } = fields;
  const change: RecurringChange = {
    ...(schedule && { schedule: scheduleOf(schedule, problems) }),
    ...(job && { template: templateOf(job, maxBytes, problems) }),
    ...recurringOptionsOf(fields, problems),
  };
  problems.settle();
  return change;
}

function templateOf(job: TemplateChangeFields, maxBytes: number, problems: Problems): Partial<Template> {
  const { queue } = job;
  return { ...optionsOf(job, 'job.', maxBytes, problems), ...(queue === undefined ? {} : { queue }) };
}

/** `backlog` is the old name of `max_catch_up`, in which 0 means as many as possible. */
function recurringOptionsOf(fields: GivenOptions, problems: Problems): Inside<RecurringOptions> {
  const { backlog, max_catch_up } = fields;
  const options = toInside(RecurringOptions, fields);
  if (backlog === undefined) return options;
  if (max_catch_up !== undefined) {
    problems.add('backlog', 'must not be set together with max_catch_up, whose old name it is');
  }
  return { ...options, maxCatchUp: Math.min(backlog === 0 ? MAX_CATCH_UP : backlog, MAX_CATCH_UP) };
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
