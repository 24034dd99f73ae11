import { QueueError } from '../../domain/errors.js';
import { type NewExtendedJob, SERVER_KEY, type UniqueKey } from '../../domain/job/extended-job.js';
import {
  isCron,
  type NewIntervalSchedule,
  type NewRecurring,
  type Overlap,
} from '../../domain/job/recurring.js';
import {
  MAX_CATCH_UP,
  MAX_BULK_JOBS,
  MAX_LABEL,
  MAX_PERIOD_MS,
  MAX_RECURRING_ID,
  MAX_TAGS_IN_CALL,
  MAX_TRIES,
  MIN_RECURRING_MS,
} from '../../domain/limits.js';
import { isJobId, JOB_ID_RULE } from '../../domain/ids.js';

const MAX_TIME_MS = Number.MAX_SAFE_INTEGER;
/** Half of a UTF-16 pair: scripts cannot read it, and one job would fail the batch that it travels in. */
const LONE_SURROGATE = /\p{Surrogate}/u;
/** A priority is 8 bits, signed. */
const MOST_PRIORITY = 127;
/** Latest start of a recurring job: scripts compute exactly with it and with the times that follow. */
const LAST_FIRST_MS = 2 ** 46;
const UNIQUE_MODES: ReadonlySet<string> = new Set<UniqueKey['mode']>([
  'reject',
  'existing',
  'replace',
  'debounce',
]);

const OVERLAPS: ReadonlySet<string> = new Set<Overlap>(['allow', 'skip', 'replace']);

/** @throws {QueueError} `invalid_argument`, naming the field and the rule */
export function checkExtendedJobs(jobs: readonly NewExtendedJob[]): void {
  if (jobs.length < 1 || jobs.length > MAX_BULK_JOBS)
    throw invalid('jobs', `are 1 to ${String(MAX_BULK_JOBS)} in one call`);
  for (const job of jobs) checkExtendedJob(job);
  if (jobs.reduce((sum, { tags = [] }) => sum + tags.length, 0) > MAX_TAGS_IN_CALL)
    throw invalid('tags', `are at most ${String(MAX_TAGS_IN_CALL)} in one call, of all of its jobs together`);
  const ids = jobs.flatMap(({ id }) => (id === undefined ? [] : [id]));
  if (new Set(ids).size < ids.length) throw invalid('id', 'is different for each job of a call');
}

function checkExtendedJob({
  id,
  delayMs,
  dueMs,
  ttlMs,
  tries,
  ttrMs,
  leaseGraceMs,
  priority,
  unique,
  type = '',
  contentType = '',
  tags = [],
}: NewExtendedJob): void {
  for (const [field, text] of Object.entries({ type, contentType, tags: tags.join() }))
    if (LONE_SURROGATE.test(text)) throw invalid(field, 'is text that UTF-8 can encode');
  if (unique) checkUniqueKey(unique);
  if (id !== undefined && !isJobId(id)) throw invalid('id', JOB_ID_RULE);
  for (const [field, value] of Object.entries({ delayMs, dueMs, ttlMs, ttrMs, leaseGraceMs })) {
    if (value !== undefined && !isWhole(value, 0, MAX_TIME_MS))
      throw invalid(field, 'is a whole number of milliseconds, 0 or more');
  }
  if (tries !== undefined && !isWhole(tries, 1, MAX_TRIES))
    throw invalid('tries', `is a whole number from 1 to ${String(MAX_TRIES)}`);
  if (priority !== undefined && !isWhole(priority, -MOST_PRIORITY - 1, MOST_PRIORITY))
    throw invalid('priority', 'is a whole number from -128 to 127');
}

/** @throws {QueueError} `invalid_argument`, naming the field and the rule */
export function checkRecurring(id: string, recurring: NewRecurring): void {
  const { schedule, template, maxCatchUp = 1, catchUpMs = null, overlap = 'allow', note } = recurring;
  if (id.length > MAX_RECURRING_ID || !isJobId(id))
    throw invalid('id', `has 1 to ${String(MAX_RECURRING_ID)} letters, digits, - and _`);
  if (!isCron(schedule)) checkInterval(schedule);
  if (catchUpMs !== null && !isWhole(catchUpMs, 0, MAX_PERIOD_MS))
    throw invalid('catchUpMs', 'is a whole number of milliseconds, 0 or more');
  if (!OVERLAPS.has(overlap)) throw invalid('overlap', `is one of ${[...OVERLAPS].join(', ')}`);
  if (overlap !== 'allow' && template.unique !== undefined)
    throw invalid('overlap', 'is allow where the jobs have a unique key: the others use a key of their own');
  if ((note ?? '').length > MAX_LABEL) throw invalid('note', `has at most ${String(MAX_LABEL)} characters`);
  if (!isWhole(maxCatchUp, 0, MAX_CATCH_UP))
    throw invalid('maxCatchUp', `is a whole number from 0 to ${String(MAX_CATCH_UP)}`);
  checkExtendedJobs([template]);
}

function checkInterval({ everyMs, offsetMs = 0, firstAtMs = 0 }: NewIntervalSchedule): void {
  if (!isWhole(everyMs, MIN_RECURRING_MS, MAX_PERIOD_MS))
    throw invalid(
      'schedule.everyMs',
      `is a whole number of milliseconds, ${String(MIN_RECURRING_MS)} or more`,
    );
  if (!isWhole(offsetMs, 0, MAX_PERIOD_MS))
    throw invalid('schedule.offsetMs', 'is a whole number of milliseconds, 0 or more');
  if (!isWhole(firstAtMs, 0, LAST_FIRST_MS)) throw invalid('schedule.firstAtMs', 'is a time, Unix ms');
}

/** @throws {QueueError} `invalid_argument`, naming the field and the rule */
export function checkUniqueKey({ key, mode, windowMs = 0 }: UniqueKey): void {
  if (key.length < 1 || key.length > MAX_LABEL)
    throw invalid('unique.key', `has 1 to ${String(MAX_LABEL)} characters`);
  // guard: callers-have-no-server-key
  if (key.startsWith(SERVER_KEY)) throw invalid('unique.key', 'does not begin with U+0001');
  if (!UNIQUE_MODES.has(mode)) throw invalid('unique.mode', `is one of ${[...UNIQUE_MODES].join(', ')}`);
  if (!isWhole(windowMs, 0, MAX_TIME_MS))
    throw invalid('unique.windowMs', 'is a whole number of milliseconds, 0 or more');
}

function isWhole(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}

function invalid(field: string, rule: string): QueueError {
  return new QueueError('invalid_argument', `${field} ${rule}`);
}
