import { QueueError } from '../../domain/errors.js';
import { MAX_TRIES } from '../../domain/limits.js';
import type { QueueDefaults, Rate, SettingsChange } from '../../domain/queue-settings.js';

/** More running jobs than one Redis can hold. */
const MOST_RUNNING = 1_000_000_000;
/** Maximum number of starts per millisecond: Redis computes times in steps of about 1/4000 of a millisecond. */
const MOST_PER_MS = 10;
const LONGEST_PERIOD_MS = 31_536_000_000;
const MOST_MS = 2 ** 46;
const PLACES: ReadonlySet<string> = new Set(['back', 'front']);

/** @throws {QueueError} `invalid_argument`, naming the field and the rule */
export function checkSettings(change: SettingsChange): void {
  checkWhole('max_running', change.maxRunning, 1, MOST_RUNNING);
  checkWhole('max_running_per_key', change.maxRunningPerKey, 1, MOST_RUNNING);
  checkWhole('max_kept', change.maxKept, 0, MOST_RUNNING);
  checkWhole('lease_grace_ms', change.leaseGraceMs, 0, MOST_MS);
  if (change.expired !== undefined && change.expired !== null && !PLACES.has(change.expired))
    throw invalid('expired', 'is back or front');
  checkRate('rate', change.rate);
  checkRate('rate_per_key', change.ratePerKey);
  if (change.defaults) checkDefaults(change.defaults);
}

function checkRate(field: string, rate: Rate | null | undefined): void {
  if (!rate) return;
  checkWhole(`${field}.rate`, rate.rate, 1, MOST_RUNNING);
  checkWhole(`${field}.period_ms`, rate.periodMs, 1, LONGEST_PERIOD_MS);
  checkWhole(`${field}.burst`, rate.burst, 1, MOST_RUNNING);
  if (rate.rate > rate.periodMs * MOST_PER_MS)
    throw invalid(`${field}.rate`, `is at most ${String(MOST_PER_MS)} for each millisecond of the period`);
}

function checkDefaults({ ttlMs, tries, ttrMs, priority, retentionMs }: QueueDefaults): void {
  checkWhole('defaults.ttl_ms', ttlMs, 0, MOST_MS);
  checkWhole('defaults.tries', tries, 1, MAX_TRIES);
  checkWhole('defaults.ttr_ms', ttrMs, 1, MOST_MS);
  checkWhole('defaults.priority', priority, -128, 127);
  checkWhole('defaults.retention_ms', retentionMs, 0, MOST_MS);
}

function checkWhole(field: string, value: number | null | undefined, least: number, most: number): void {
  if (value === undefined || value === null) return;
  if (!Number.isInteger(value) || value < least || value > most)
    throw invalid(field, `is a whole number from ${String(least)} to ${String(most)}`);
}

function invalid(field: string, rule: string): QueueError {
  return new QueueError('invalid_argument', `${field} ${rule}`);
}
