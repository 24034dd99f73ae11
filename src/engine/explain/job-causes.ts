import type { Cause } from '../../contract/explain.js';
import { isoTime, isoTimeOrNull } from '../../domain/iso-time.js';
import type { JobState } from '../../domain/job/states.js';
import { cause, enteredMs, type Known, type KnownJob, type Reason } from './cause.js';
import { blocked, concurrencyKey, freed, keyRate, originClosed, strictOrder } from './held-causes.js';
import { JOB_LEASED } from './leased-causes.js';
import {
  draining,
  jobsPaused,
  maxRunning,
  NO_REQUEST_MS,
  noWorker,
  paused,
  poolMoving,
  push,
  rate,
  storeFull,
} from './queue-causes.js';
import { count, duration, firstLine, joined, moment } from './sentences.js';

/* Why a job waits, runs or has ended. */

/* A job that has ended. */

function ended({ reasons, nowMs }: KnownJob): Cause | null {
  const { state, endedAtMs, failure } = reasons.job;
  if (state !== 'done' && state !== 'cancelled') return null;
  const at = endedAtMs === null ? '' : ` at ${moment(endedAtMs, nowMs)}`;
  const facts = { ended_at: isoTimeOrNull(endedAtMs), failure_group: failure?.group ?? null };
  return cause(state, `The job is ${state}: it ended${at}.`, { facts, sinceMs: endedAtMs });
}

function dead({ reasons, nowMs, remedies }: KnownJob): Cause | null {
  const { state, id, failure, attempts, endedAtMs, queue } = reasons.job;
  if (state !== 'dead') return null;
  const at = endedAtMs === null ? '' : ` at ${moment(endedAtMs, nowMs)}`;
  const group = failure?.group ?? null;
  const after = attempts === 0 ? 'before its first attempt' : `after attempt ${String(attempts)}`;
  const why = failure === null ? '' : `: ${failure.group}, ${firstLine(failure.message)}`;
  return cause(
    'dead',
    `The job is in the dead-letter queue of ${queue}. It died${at}, ${after}${why}. It runs again only if it is respawned.`,
    {
      facts: { attempts, failure_group: group, failure_message: failure?.message ?? null },
      sinceMs: endedAtMs,
      remedies: [remedies.respawn(id)],
    },
  );
}

/* A job that waits for a time. */

function scheduled(known: KnownJob): Cause | null {
  const { reasons, nowMs, remedies } = known;
  const { state, dueAtMs, expiresAtMs, id } = reasons.job;
  if (state !== 'scheduled') return null;
  const due =
    dueAtMs === null
      ? `more than a minute from now${expiresAtMs === null ? '' : ', or only after its ttl has ended'}; the exact time is in no index`
      : `at ${moment(dueAtMs, nowMs)}`;
  const more = {
    facts: { due_at: isoTimeOrNull(dueAtMs) },
    ...{ sinceMs: enteredMs(reasons), nextAtMs: dueAtMs, remedies: [remedies.runNow(id)] },
  };
  return (
    debounce(known, due, more) ??
    backoff(known, due, more) ??
    cause('scheduled', `The job is scheduled: it is due ${due}.`, more)
  );
}

type Due = Pick<Cause, 'facts' | 'sinceMs' | 'nextAtMs' | 'remedies'>;

/** Events that give a job another due time. */
const RESCHEDULES = new Set([
  'debounced',
  'changed',
  'retried',
  'timed_out',
  'released',
  'respawned',
  'moved',
]);

function debounce({ reasons: { job }, nowMs }: KnownJob, due: string, more: Due): Cause | null {
  const last = job.timeline.findLast(({ what }) => RESCHEDULES.has(what));
  if (job.uniqueKey === null || /* guard: last-delay-is-explained */ last?.what !== 'debounced') return null;
  return cause(
    'debounce',
    `The job waits because its unique key ${job.uniqueKey} was published again ${moment(last.atMs, nowMs)}: each publish restarts its delay. It is due ${due}.`,
    {
      ...more,
      facts: { ...more.facts, unique_key: job.uniqueKey, debounced_at: isoTime(last.atMs) },
    },
  );
}

function backoff({ reasons }: KnownJob, due: string, more: Due): Cause | null {
  const { failure, attempts } = reasons.job;
  if (failure === null) return null;
  return cause(
    'backoff',
    `Attempt ${String(attempts)} failed with ${failure.group} (${firstLine(failure.message)}); attempt ${String(attempts + 1)} is due ${due}.`,
    {
      ...more,
      facts: {
        ...more.facts,
        ...{ attempts, failure_group: failure.group, failure_message: failure.message },
        failed_at: isoTime(failure.atMs),
      },
    },
  );
}

/* A job that no worker could handle. */

/** It is scheduled only because a worker without a handler released it: the delay is not why it does not run. */
function waitsForHandler({ job }: KnownJob['reasons']): boolean {
  const moves = ['released', 'changed', 'scheduled', 'ready', 'retried'];
  const last = job.timeline.findLast(({ what }) => moves.includes(what));
  return job.state === 'scheduled' && job.noHandler !== null && last?.what === 'released';
}

function releasedWithoutHandler(known: KnownJob): Cause | null {
  // guard: missing-handler-before-its-delay
  return waitsForHandler(known.reasons) ? noHandler(known) : null;
}

function stillWithoutHandler(known: KnownJob): Cause | null {
  return waitsForHandler(known.reasons) ? null : noHandler(known);
}

function noHandler({ reasons, nowMs, remedies, queue: { target } }: KnownJob): Cause | null {
  const { noHandler: releases, type, id, queue, state, dueAtMs } = reasons.job;
  if (releases === null) return null;
  const named = type === null ? 'a job without a type' : `the type ${type}`;
  const last = releases.worker === null ? '' : `, the last one ${releases.worker}`;
  const again =
    state === 'scheduled' && dueAtMs !== null ? ` It is offered again at ${moment(dueAtMs, nowMs)}.` : '';
  return cause(
    'no_handler',
    `No worker that got the job has a handler for ${named}: they released it ${count(releases.count, 'time')} in a row${last}, ${moment(releases.atMs, nowMs)}.${again}`,
    {
      facts: { type, releases: releases.count, worker: releases.worker, at: isoTime(releases.atMs) },
      ...{ sinceMs: releases.atMs, nextAtMs: dueAtMs },
      remedies: [...(target === null ? [remedies.leaseWithHandler(queue)] : []), remedies.cancel(id)],
    },
  );
}

/** Workers ask for other types of its queue. */
function noWorkerForType(known: KnownJob): Cause | null {
  const { reasons, queue, nowMs, remedies } = known;
  const { typeRequestMs: lastMs, typedRequestMs, isTypeAwaited, job } = reasons;
  const isRecent = (ms: number | null): boolean => ms !== null && nowMs - ms < NO_REQUEST_MS;
  if (queue.target !== null || isTypeAwaited || isRecent(lastMs) || !isRecent(typedRequestMs)) return null;
  const named = job.type === null ? 'jobs without a type' : `jobs of the type ${job.type}`;
  const last =
    lastMs === null
      ? 'no lease request that takes them is known'
      : `the last lease request that takes them was ${moment(lastMs, nowMs)}`;
  return cause(
    'no_worker_for_type',
    `No worker asks for ${named} of the queue ${queue.queue}, but for other types of its jobs: ${last}.`,
    {
      facts: { queue: queue.queue, type: job.type, last_request_at: isoTimeOrNull(lastMs) },
      sinceMs: lastMs,
      remedies: [remedies.leaseWithHandler(queue.queue)],
    },
  );
}

/* A job that is ready. */

/** How fast the queue goes, and when it is the turn of a job with so many others in front of it. */
function paceOf({ pace: { leased, withinMs } }: Known['queue'], inFront: number, isExact: boolean): string {
  const within = `in the last ${duration(withinMs)}`;
  if (leased === 0) return ` No job of the queue was leased ${within}.`;
  const turnMs = ((inFront + 1) / leased) * withinMs;
  const turn = `its turn comes in ${isExact ? 'about' : 'at least'} ${duration(turnMs)}`;
  return ` ${count(leased, 'job')} of the queue ${leased === 1 ? 'was' : 'were'} leased ${within}: at this rate ${turn}.`;
}

function behind({ reasons, queue, remedies }: KnownJob): Cause | null {
  const { front } = reasons;
  if (reasons.job.state !== 'ready' || front === null) return null;
  const { urgent, older, isExact, isOfType } = front;
  const all = urgent + older;
  const facts = {
    ...{ queue: queue.queue, jobs_in_front: all, of_higher_priority: urgent, older, at_least: !isExact },
    ...{ of_type: isOfType ? reasons.job.type : null },
    ...{ running: queue.counts.leased, leased_lately: queue.pace.leased, lately_ms: queue.pace.withinMs },
  };
  const { target } = queue;
  const more = {
    ...{ facts, sinceMs: enteredMs(reasons) },
    // A lease request gets no job of a pushed queue.
    remedies: target === null ? [remedies.lease(queue.queue)] : [],
  };
  const among = isOfType ? `of its type in the queue ${queue.queue}` : `of the queue ${queue.queue}`;
  const given = target === null ? 'gives' : `gives to its target ${target.name}`;
  const pace = paceOf(queue, all, isExact);
  if (all === 0)
    return cause(
      'behind',
      `The job is ready, and the next one ${isOfType ? 'of its type ' : ''}that the queue ${queue.queue} ${given}.${pace}`,
      more,
    );
  const least = isExact ? '' : 'at least ';
  const parts = [
    ...(urgent > 0 ? [`${String(urgent)} of a higher priority`] : []),
    ...(older > 0 ? [`${least}${String(older)} older`] : []),
  ];
  return cause(
    'behind',
    `The job is ready, behind ${least}${count(all, 'job')} ${among}: ${joined(parts)}.${pace}`,
    more,
  );
}

/** Other fair keys of its queue come first, or other jobs of its key. */
function fairTurn({ reasons, queue, remedies }: KnownJob): Cause | null {
  const { turn, front, job } = reasons;
  if (job.state !== 'ready' || turn === null || front === null) return null;
  const { urgent, older, isExact } = front;
  const [all, least] = [urgent + older, isExact ? '' : 'at least '];
  const facts = {
    ...{ queue: queue.queue, fair_key: turn.key, keys_before: turn.keysBefore },
    ...{ jobs_in_front: all, of_higher_priority: urgent, older, at_least: !isExact },
    ...{ running: queue.counts.leased, leased_lately: queue.pace.leased, lately_ms: queue.pace.withinMs },
  };
  const named = turn.key === null ? 'jobs without a fair key' : `the fair key ${turn.key}`;
  const place =
    all === 0
      ? `it is the next job of ${named}`
      : `${least}${count(all, 'job')} of ${named} ${all === 1 ? 'is' : 'are'} in front of it`;
  const others =
    turn.keysBefore === 0
      ? 'and no other key comes first'
      : `and ${count(turn.keysBefore, 'other key')} ${turn.keysBefore === 1 ? 'has its' : 'have their'} turn first`;
  return cause('fair_turn', `The job is ready in the fair queue ${queue.queue}: ${place}, ${others}.`, {
    ...{ facts, sinceMs: enteredMs(reasons) },
    remedies: queue.target === null ? [remedies.lease(queue.queue)] : [],
  });
}

const WAITING: readonly JobState[] = ['ready', 'scheduled', 'blocked', 'held'];

/** What holds back a job in one of these states. */
function ifIn(states: readonly JobState[], reason: Reason<KnownJob>): Reason<KnownJob> {
  return (known) => (states.includes(known.reasons.job.state) ? reason(known) : null);
}

/** In the order in which the first that holds is the cause. */
export const JOB_REASONS: readonly Reason<KnownJob>[] = [
  ifIn(WAITING, storeFull),
  ended,
  dead,
  ...JOB_LEASED,
  releasedWithoutHandler,
  scheduled,
  blocked,
  ifIn(['held'], jobsPaused),
  strictOrder,
  concurrencyKey,
  ifIn(WAITING, poolMoving),
  ifIn(WAITING, paused),
  ifIn(['ready', 'scheduled', 'blocked'], jobsPaused),
  ifIn(WAITING, push),
  originClosed,
  ifIn(['ready'], maxRunning),
  ifIn(['ready'], rate),
  keyRate,
  ifIn(['ready', 'scheduled'], stillWithoutHandler),
  ifIn(WAITING, (known) => noWorker(known) ?? noWorkerForType(known)),
  (known) => fairTurn(known) ?? behind(known),
  freed,
  // Last: a draining queue still runs the jobs that it has.
  ifIn(WAITING, draining),
];
