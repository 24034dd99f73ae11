import type { Cause } from '../../contract/explain.js';
import type { Recurring, SkipReason } from '../../contract/job/recurring.js';
import { isoTimeOrNull } from '../../domain/iso-time.js';
import { cause, type Known, type Reason } from './cause.js';
import { draining, maxRunning, noWorker, paused, poolMoving, push, rate, storeFull } from './queue-causes.js';
import { moment } from './sentences.js';

/* What decides when a recurring job makes its next job. */

interface KnownRecurring extends Known {
  readonly recurring: Recurring;
}

const SKIPS: Readonly<Record<SkipReason, string>> = {
  max_catch_up: 'more slots had passed than max_catch_up makes up for',
  catch_up_ms: 'it had passed more than catch_up_ms before',
  late: 'it had passed a minute before, and max_catch_up is 0',
  quota: 'a quota of the namespace allowed no further job',
  unique_key: 'another job had the unique key of its jobs',
  overlap: 'the job of an earlier slot had not ended, and overlap forbids a second one',
  missing_dependency: 'a job that its jobs depend on did not exist',
  store_full: 'Redis was full',
};

function facts({ id, template, nextAtMs, lastAtMs, lastSkip, made, skipped, note }: Recurring) {
  return {
    ...{ recurring: id, queue: template.queue, note, made, skipped },
    next_at: isoTimeOrNull(nextAtMs),
    last_at: isoTimeOrNull(lastAtMs),
    last_skip_at: isoTimeOrNull(lastSkip?.atMs ?? null),
    last_skip_reason: lastSkip?.reason ?? null,
  };
}

function lastSlots({ lastAtMs, lastSkip }: Recurring, nowMs: number): string {
  const last =
    lastAtMs === null ? 'It has had no slot yet.' : `Its last slot was ${moment(lastAtMs, nowMs)}.`;
  if (lastSkip === null) return last;
  return `${last} The last one that made no job was ${moment(lastSkip.atMs, nowMs)}: ${SKIPS[lastSkip.reason]}.`;
}

function recurringPaused({ recurring, nowMs, remedies }: KnownRecurring): Cause | null {
  if (!recurring.paused) return null;
  const note = recurring.note === null ? '' : `: ${recurring.note}`;
  return cause(
    'paused',
    `The recurring job ${recurring.id} is paused${note}. ${lastSlots(recurring, nowMs)}`,
    { facts: facts(recurring), remedies: [remedies.resumeRecurring(recurring.id)] },
  );
}

function ended({ recurring, nowMs, remedies }: KnownRecurring): Cause | null {
  if (recurring.paused || recurring.nextAtMs !== null) return null;
  return cause(
    'done',
    `The schedule of the recurring job ${recurring.id} has ended. ${lastSlots(recurring, nowMs)}`,
    {
      facts: facts(recurring),
      sinceMs: recurring.lastAtMs,
      remedies: [remedies.runRecurring(recurring.id)],
    },
  );
}

function waits({ recurring, nowMs, remedies }: KnownRecurring): Cause | null {
  const { id, nextAtMs, lastAtMs } = recurring;
  if (recurring.paused || nextAtMs === null) return null;
  const when = nextAtMs > nowMs ? 'The next slot' : 'A slot that has come, and whose job is made soon,';
  return cause(
    'scheduled',
    `${when} of the recurring job ${id} is ${moment(nextAtMs, nowMs)}. ${lastSlots(recurring, nowMs)}`,
    {
      facts: facts(recurring),
      sinceMs: lastAtMs,
      nextAtMs,
      remedies: [remedies.runRecurring(id)],
    },
  );
}

function storeIsFull(known: KnownRecurring): Cause | null {
  const full = storeFull(known);
  const { recurring } = known;
  return full && { ...full, facts: facts(recurring), nextAtMs: recurring.nextAtMs };
}

/** The queue of its jobs comes behind: it holds back the jobs that it makes. */
export const RECURRING_REASONS: readonly Reason<KnownRecurring>[] = [
  storeIsFull,
  recurringPaused,
  ended,
  waits,
  poolMoving,
  paused,
  draining,
  push,
  maxRunning,
  rate,
  noWorker,
];
