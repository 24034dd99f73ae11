import { QueueError } from '../../domain/errors.js';
import type { NewRichJob } from '../../domain/rich-job.js';
import { MAX_BULK_JOBS, MAX_TRIES } from '../../domain/limits.js';
import { isJobId } from '../../domain/names.js';

const MAX_TIME_MS = Number.MAX_SAFE_INTEGER;
/** A priority is 8 bits, signed. */
const MOST_PRIORITY = 127;

/** @throws {QueueError} `invalid_argument`, naming the field and the rule */
export function checkRichJobs(jobs: readonly NewRichJob[]): void {
  if (jobs.length < 1 || jobs.length > MAX_BULK_JOBS)
    throw invalid('jobs', `are 1 to ${String(MAX_BULK_JOBS)} in one call`);
  for (const { id, delayMs, dueMs, ttlMs, tries, ttrMs, priority } of jobs) {
    if (id !== undefined && !isJobId(id)) throw invalid('id', 'has 1 to 64 letters, digits, - and _');
    for (const [field, value] of Object.entries({ delayMs, dueMs, ttlMs, ttrMs })) {
      if (value !== undefined && !isWhole(value, 0, MAX_TIME_MS))
        throw invalid(field, 'is a whole number of milliseconds, 0 or more');
    }
    if (tries !== undefined && !isWhole(tries, 1, MAX_TRIES))
      throw invalid('tries', `is a whole number from 1 to ${String(MAX_TRIES)}`);
    if (priority !== undefined && !isWhole(priority, -MOST_PRIORITY - 1, MOST_PRIORITY))
      throw invalid('priority', 'is a whole number from -128 to 127');
  }
  const ids = jobs.flatMap(({ id }) => (id === undefined ? [] : [id]));
  if (new Set(ids).size < ids.length) throw invalid('id', 'is different for each job of a call');
}

function isWhole(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}

function invalid(field: string, rule: string): QueueError {
  return new QueueError('invalid_argument', `${field} ${rule}`);
}
