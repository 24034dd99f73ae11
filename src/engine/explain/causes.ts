import { type Cause, type Explanation, MAX_SENTENCE } from '../../contract/explain.js';
import { isoTime, isoTimeOrNull } from '../../domain/iso-time.js';
import { cause, type Known, type KnownJob, type Reason } from './cause.js';
import { JOB_REASONS } from './job-causes.js';
import { flowing, hasJobsToLease, noWorkerForTypes, QUEUE_REASONS, someJobsPaused } from './queue-causes.js';
import type { JobEnd, JobReasons, QueueReasons, RecurringReasons, ServerReasons } from './reasons.js';
import { RECURRING_REASONS } from './recurring-causes.js';
import { remediesOf } from './remedies.js';
import { moment } from './sentences.js';

/** Why a job waits, runs or has ended: the first is the cause, the others hold too. */
export function causesOfJob(reasons: JobReasons, server: ServerReasons): Cause[] {
  return holding<KnownJob>(JOB_REASONS, { ...knownOf(reasons.queue, server), reasons });
}

/** Why a queue gives no jobs: the first is the cause. `flowing` if nothing holds back its jobs, or some of them. */
export function causesOfQueue(queue: QueueReasons, server: ServerReasons): Cause[] {
  const known = knownOf(queue, server);
  const causes = holding<Known>(QUEUE_REASONS, known);
  const isFlowing = causes.length === 0 && hasJobsToLease(known);
  return [
    ...(isFlowing ? [flowing(known)] : causes),
    ...holding<Known>([someJobsPaused, noWorkerForTypes], known),
  ];
}

/** Why a recurring job makes no job now: the first is the cause, the others hold back its next job. */
export function causesOfRecurring({ queue, recurring }: RecurringReasons, server: ServerReasons): Cause[] {
  return holding(RECURRING_REASONS, { ...knownOf(queue, server), recurring });
}

const HOW: Readonly<Record<JobEnd['outcome'], string>> = {
  done: 'it was acknowledged',
  cancelled: 'it was cancelled',
  expired: 'its ttl_ms was over before it was done',
  replaced: 'another publish replaced it',
  deleted: 'it was deleted',
};

/** How a tracked job ended that is gone. */
export function causesOfEnd({ outcome, goneAtMs, nowMs, queue }: JobEnd): Cause[] {
  const message = `The job of the queue ${queue} is gone since ${moment(goneAtMs, nowMs)}: ${HOW[outcome]}. This is known because it was tracked.`;
  const facts = { queue, ended_at: isoTime(goneAtMs), tracked: true };
  return [cause(outcome, message, { facts, sinceMs: goneAtMs })];
}

/** An explanation by causes, of which the first one is named. There is always one. */
export function explanationOf([first, ...others]: readonly Cause[]): Explanation {
  if (first === undefined) throw new TypeError('an explanation has a cause');
  const { cause: name, facts, sinceMs, nextAtMs, remedies } = first;
  const also = others.map((one) => ({ cause: one.cause, message: sentence(one) }));
  return {
    ...{ cause: name, message: sentence(first), facts, remedies, also },
    ...{ since: isoTimeOrNull(sinceMs), nextAtMs },
  };
}

/** Notes, messages of failures and names of tokens may be long, and have control characters. */
function sentence({ message }: Cause): string {
  return message.slice(0, MAX_SENTENCE).replaceAll(/[\p{Cc}\p{Cs}]+/gu, ' ');
}

function holding<T extends Known>(all: readonly Reason<T>[], known: T): Cause[] {
  return all.flatMap((reason) => reason(known) ?? []);
}

function knownOf(queue: QueueReasons, server: ServerReasons): Known {
  return { nowMs: queue.nowMs, queue, server, remedies: remediesOf(server.namespace) };
}
