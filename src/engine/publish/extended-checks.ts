import { problemIn } from '../../contract/fields/check.js';
import { omit } from '../../contract/fields/derived.js';
import { PublishFields } from '../../contract/job/options.js';
import { ArgumentError } from '../../contract/fields/problems.js';
import { type NewExtendedJob } from '../../contract/job/extended-job.js';
import {
  isCron,
  type NewIntervalSchedule,
  type NewRecurring,
  RecurringOptions,
} from '../../contract/job/recurring.js';
import {
  MAX_BULK_JOBS,
  MAX_PERIOD_MS,
  MAX_RECURRING_ID,
  MAX_TAGS_IN_CALL,
  MIN_RECURRING_MS,
} from '../../domain/limits.js';
import { isJobId } from '../../domain/ids.js';
import { isoTime } from '../../domain/iso-time.js';

const MAX_TIME_MS = Number.MAX_SAFE_INTEGER;
/** Latest start of a recurring job: scripts compute exactly with it and with the times that follow. */
const LAST_FIRST_MS = 2 ** 46;
const FIRST_RULE = `must be a time from 1970-01-01T00:00:00Z to ${isoTime(LAST_FIRST_MS)}`;

/** @throws {QueueError} `invalid_argument`, naming the field and the rule */
export function checkExtendedJobs(jobs: readonly NewExtendedJob[]): void {
  if (jobs.length < 1 || jobs.length > MAX_BULK_JOBS)
    throw new ArgumentError('jobs', `are 1 to ${String(MAX_BULK_JOBS)} in one call`);
  for (const job of jobs) checkExtendedJob(job);
  if (jobs.reduce((sum, { tags = [] }) => sum + tags.length, 0) > MAX_TAGS_IN_CALL)
    throw new ArgumentError(
      'tags',
      `are at most ${String(MAX_TAGS_IN_CALL)} in one call, of all of its jobs together`,
    );
  const ids = jobs.flatMap(({ id }) => (id === undefined ? [] : [id]));
  if (new Set(ids).size < ids.length) throw new ArgumentError('id', 'is different for each job of a call');
}

/**
 * Options with the bounds of requests: all but the queue, which has a check of its own; attributes, which have other names
 * in lmstfy's API; and dependencies, which are counted in `dependencies.ts`.
 */
const CheckedOptions = omit(PublishFields, ['queue', 'attributes', 'depends_on', 'push']);

function checkExtendedJob(job: NewExtendedJob): void {
  // A tag that is given twice is stored once.
  const tags = job.tags && { tags: [...new Set(job.tags)] };
  const problem = problemIn(CheckedOptions, tags === undefined ? job : { ...job, ...tags });
  // Among them that a unique key has no control character: with one begin those of the server (`SERVER_KEY`).
  // guard: callers-have-no-server-key
  if (problem !== undefined) throw new ArgumentError(problem.field, problem.rule);
  if (job.dueMs !== undefined && !isWhole(job.dueMs, 0, MAX_TIME_MS))
    throw new ArgumentError('dueMs', 'is a whole number of milliseconds, 0 or more');
}

/** @throws {QueueError} `invalid_argument`, naming the field and the rule */
export function checkRecurring(id: string, recurring: NewRecurring): void {
  const { schedule, template, overlap = 'allow' } = recurring;
  if (id.length > MAX_RECURRING_ID || !isJobId(id))
    throw new ArgumentError('id', `has 1 to ${String(MAX_RECURRING_ID)} letters, digits, - and _`);
  if (!isCron(schedule)) checkInterval(schedule);
  const problem = problemIn(RecurringOptions, recurring);
  if (problem !== undefined) throw new ArgumentError(problem.field, problem.rule);
  if (overlap !== 'allow' && template.unique !== undefined)
    throw new ArgumentError(
      'overlap',
      'is allow where the jobs have a unique key: the others use a key of their own',
    );
  checkExtendedJobs([template]);
}

function checkInterval({ everyMs, offsetMs = 0, firstAtMs = 0 }: NewIntervalSchedule): void {
  if (!isWhole(everyMs, MIN_RECURRING_MS, MAX_PERIOD_MS))
    throw new ArgumentError(
      'schedule.everyMs',
      `is a whole number of milliseconds, ${String(MIN_RECURRING_MS)} or more`,
    );
  if (!isWhole(offsetMs, 0, MAX_PERIOD_MS))
    throw new ArgumentError('schedule.offsetMs', 'is a whole number of milliseconds, 0 or more');
  if (!isWhole(firstAtMs, 0, LAST_FIRST_MS)) throw new ArgumentError('schedule.firstAtMs', FIRST_RULE);
}

function isWhole(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}
