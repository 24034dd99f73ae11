import type { Cause } from '../../contract/explain.js';
import type { Pause, TypeSeen } from '../../contract/queue-settings.js';
import { isoTime, isoTimeOrNull } from '../../domain/iso-time.js';
import { cause, type Known, type KnownJob, type Reason, THIS_SERVER } from './cause.js';
import type { BreakerSeen, CountsSeen, LeaseRequestSeen, TargetSeen } from './reasons.js';
import { count, firstLine, joined, moment } from './sentences.js';

/* What holds back all jobs of a queue. */

/** Time without a lease request after which no worker asks for a queue, in milliseconds. */
export const NO_REQUEST_MS = 60_000;

export function storeFull({ queue, remedies }: Known): Cause | null {
  if (!queue.isStoreFull) return null;
  return cause(
    'store_full',
    `Redis has used all of its maxmemory: nothing new is published, and recurring jobs make no jobs. Workers still get the jobs that the queue ${queue.queue} has.`,
    { facts: { queue: queue.queue }, remedies: [remedies.purgeEnded(queue.queue)] },
  );
}

export function poolMoving({ server }: Known): Cause | null {
  if (!server.isMoving) return null;
  return cause(
    'pool_moving',
    'The pool of this namespace moves to another Redis: jobs of the old Redis are leased first, then those of the new one.',
    { facts: { seen_by: THIS_SERVER } },
  );
}

export function paused({ queue: { queue, settings }, nowMs, remedies }: Known): Cause | null {
  const { pausedAtMs, pausedBy, pauseNote: note, pauseEndsAtMs: endsAtMs } = settings;
  if (pausedAtMs === null) return null;
  const how = howPaused({ pausedAtMs, pausedBy, note, endsAtMs }, nowMs);
  return cause('paused', `The queue ${queue} is paused ${how}.`, {
    facts: { queue, paused_at: isoTime(pausedAtMs), paused_by: pausedBy, note },
    ...{ sinceMs: pausedAtMs, nextAtMs: endsAtMs },
    remedies: [remedies.resume(queue)],
  });
}

function howPaused({ pausedAtMs, pausedBy, note, endsAtMs }: Pause, nowMs: number): string {
  const by = pausedBy === null ? '' : ` by "${pausedBy}"`;
  const until = endsAtMs === null ? '' : `, until ${moment(endsAtMs, nowMs)}`;
  const why = note === null ? '' : `: ${note}`;
  return `since ${moment(pausedAtMs, nowMs)}${by}${until}${why}`;
}

/** What a pause of some jobs is about: `the type sms`. */
function pausedJobs({ type, fairKey, concurrencyKey }: Pause): string {
  if (fairKey !== undefined) return `the fair key ${fairKey}`;
  if (concurrencyKey !== undefined) return `the concurrency key ${concurrencyKey}`;
  return typeof type === 'string' ? `the type ${type}` : 'jobs without a type';
}

/** @param subject what is held: the job, or jobs of the queue */
function pauseCause({ queue: { queue }, nowMs, remedies }: Known, pause: Pause, subject: string): Cause {
  const { pausedAtMs, pausedBy, note, endsAtMs, ...jobs } = pause;
  return cause(
    jobs.fairKey === undefined && jobs.concurrencyKey === undefined ? 'type_paused' : 'key_paused',
    `${subject}: in the queue ${queue} ${pausedJobs(pause)} ${jobs.type === null ? 'are' : 'is'} paused ${howPaused(pause, nowMs)}.`,
    {
      facts: {
        ...{ queue, type: jobs.type ?? null },
        ...{ fair_key: jobs.fairKey ?? null, concurrency_key: jobs.concurrencyKey ?? null },
        ...{ paused_at: isoTime(pausedAtMs), paused_by: pausedBy, note },
      },
      ...{ sinceMs: pausedAtMs, nextAtMs: endsAtMs },
      remedies: [remedies.resumeSome(queue, jobs)],
    },
  );
}

/** Its type or one of its keys is paused. */
export function jobsPaused(known: KnownJob): Cause | null {
  const { type, fairKey, concurrencyKey } = known.reasons.job;
  const { fair, pauses } = known.queue.settings;
  const turn = fair === false ? undefined : (fairKey ?? concurrencyKey);
  const pause = pauses.find(
    (one) =>
      one.type === type ||
      (one.fairKey !== undefined && one.fairKey === turn) ||
      (one.concurrencyKey !== undefined && one.concurrencyKey === concurrencyKey),
  );
  return pause === undefined ? null : pauseCause(known, pause, 'The job is not leased');
}

/** Some jobs of a queue are paused: of several pauses it names one that holds ready jobs. */
export function someJobsPaused(known: Known): Cause | null {
  const { types, readyOfPausedKeys, settings } = known.queue;
  const { pauses } = settings;
  const holdsSome = ({ type, fairKey }: Pause): boolean =>
    fairKey === undefined ? types.some((one) => one.type === type) : readyOfPausedKeys > 0;
  const pause = pauses.find(holdsSome) ?? pauses[0];
  if (pause === undefined) return null;
  const others = pauses.length - 1;
  const more = others === 0 ? '' : `, and ${count(others, 'other pause')} hold others`;
  return pauseCause(known, pause, `Some jobs are not leased${more}`);
}

export function draining({ queue: { queue, settings, counts }, nowMs, remedies }: Known): Cause | null {
  const { drainingSinceMs: sinceMs } = settings;
  const left = counts.ready + counts.scheduled + counts.blocked + counts.held + counts.leased;
  // A drain is over when the queue is empty; the next publish clears the stored time.
  if (sinceMs === null || left === 0) return null;
  return cause(
    'draining',
    `The queue ${queue} is draining since ${moment(sinceMs, nowMs)}: it takes no new jobs; the ${count(left, 'job')} that it has still ${left === 1 ? 'runs' : 'run'}.`,
    {
      facts: { queue, draining_at: isoTime(sinceMs), jobs: left },
      sinceMs,
      remedies: [remedies.resume(queue)],
    },
  );
}

export function push(known: Known): Cause | null {
  const { target } = known.queue;
  if (target === null) return null;
  return pushOff(known, target) ?? targetState(known, target);
}

function pushOff({ queue: { queue }, server, remedies }: Known, { name, exists }: TargetSeen): Cause | null {
  const facts = { queue, target: name };
  const stop = remedies.stopPush(queue);
  if (!server.isPushing) {
    return cause(
      'push_off',
      `The jobs of ${queue} are pushed to the target ${name}, and this server does not push: push.enabled is not set.`,
      { facts: { ...facts, seen_by: THIS_SERVER }, remedies: [stop] },
    );
  }
  if (exists) return null;
  return cause(
    'target_missing',
    `The jobs of ${queue} are pushed to the target ${name}, which does not exist.`,
    { facts, remedies: [stop] },
  );
}

function targetState({ queue: { queue }, nowMs, remedies }: Known, target: TargetSeen): Cause | null {
  const { name, pausedAtMs, pauseReason, breaker } = target;
  if (pausedAtMs !== null) {
    const why = pauseReason === 'gone' ? 'it answered 410' : 'an operator paused it';
    return cause(
      'target_paused',
      `The target ${name} is paused since ${moment(pausedAtMs, nowMs)}: ${why}.`,
      {
        facts: { queue, target: name, paused_at: isoTime(pausedAtMs), reason: pauseReason },
        sinceMs: pausedAtMs,
        remedies: [remedies.resumeTarget(name)],
      },
    );
  }
  if (breaker === null) return null;
  return cause(
    'breaker_open',
    `The circuit breaker of the target ${name} is open because its requests failed${answered(breaker)}; one job tries it again at ${moment(breaker.openUntilMs, nowMs)}.`,
    {
      facts: { queue, target: name, ...breakerFacts(breaker) },
      nextAtMs: breaker.openUntilMs,
      remedies: [remedies.resumeTarget(name)],
    },
  );
}

/** What opened a breaker, for a sentence. */
export function answered({ lastAnswer }: BreakerSeen): string {
  return lastAnswer === null ? '' : ` (the last one: ${firstLine(lastAnswer)})`;
}

export function breakerFacts({ openUntilMs, lastAnswer }: BreakerSeen) {
  return { open_until: isoTime(openUntilMs), last_answer: lastAnswer };
}

export function maxRunning({ queue: { queue, settings, counts }, remedies }: Known): Cause | null {
  const { leased } = counts;
  if (settings.maxRunning === null || leased < settings.maxRunning) return null;
  return cause(
    'max_running',
    `${count(leased, 'job')} of the queue ${queue} ${leased === 1 ? 'runs' : 'run'}, and its limit max_running is ${String(settings.maxRunning)}.`,
    {
      facts: { queue, running: leased, limit: settings.maxRunning },
      remedies: [remedies.withoutLimit(queue, 'max_running')],
    },
  );
}

export function rate({ queue: { queue, rateAtMs }, nowMs, remedies }: Known): Cause | null {
  if (rateAtMs === null || rateAtMs <= nowMs) return null;
  return cause(
    'rate',
    `The rate limit of the queue ${queue} allows the next job at ${moment(rateAtMs, nowMs)}.`,
    {
      facts: { queue, allowed_at: isoTime(rateAtMs) },
      nextAtMs: rateAtMs,
      remedies: [remedies.withoutLimit(queue, 'rate')],
    },
  );
}

const OTHER_STATES = ['scheduled', 'blocked', 'held', 'leased'] as const;

function empty({ queue: { queue, exists, counts }, nowMs, remedies }: Known): Cause | null {
  if (counts.ready > 0) return null;
  const others = OTHER_STATES.filter((state) => counts[state] > 0);
  const facts = { queue, exists, ...statesOf(counts) };
  const { nextDueMs } = counts;
  if (others.length > 0) {
    const due = nextDueMs === null ? '' : `; the next one is due at ${moment(nextDueMs, nowMs)}`;
    const named = joined(others.map((state) => `${String(counts[state])} ${state}`));
    return cause('empty', `The queue ${queue} has no job that is ready, but ${named}${due}.`, {
      facts: { ...facts, next_due_at: isoTimeOrNull(nextDueMs) },
      nextAtMs: nextDueMs,
    });
  }
  const message = exists ? `The queue ${queue} has no jobs to run.` : `There is no queue ${queue}.`;
  return cause('empty', message, { facts, remedies: [remedies.publish(queue)] });
}

function statesOf({ scheduled, blocked, held, leased }: CountsSeen) {
  return { scheduled, blocked, held, leased };
}

function requestFacts({ queue, atMs, worker }: LeaseRequestSeen) {
  return { queue, at: isoTime(atMs), worker };
}

export function noWorker({ queue: reasons, nowMs, remedies }: Known): Cause | null {
  const { queue, lastRequest, isAwaited, target, requests } = reasons;
  const isRecent = (one: LeaseRequestSeen): boolean => nowMs - one.atMs < NO_REQUEST_MS;
  if (target !== null || isAwaited || (lastRequest !== null && isRecent(lastRequest))) return null;
  const last =
    lastRequest === null
      ? 'no lease request for it is known'
      : `the last lease request for it was ${moment(lastRequest.atMs, nowMs)}`;
  const others = requests.filter((one) => one.queue !== queue && isRecent(one));
  const named = others.map((one) => (one.worker === null ? one.queue : `${one.queue} (${one.worker})`));
  const namedQueues =
    others.length === 0 ? 'No worker of the namespace asks for jobs' : `Workers ask for ${joined(named)}`;
  return cause('no_worker', `No worker asks for jobs of the queue ${queue}: ${last}. ${namedQueues}.`, {
    facts: {
      queue,
      last_request_at: isoTimeOrNull(lastRequest?.atMs ?? null),
      last_worker: lastRequest?.worker ?? null,
      requests: others.map(requestFacts),
    },
    sinceMs: lastRequest?.atMs ?? null,
    remedies: [remedies.lease(queue)],
  });
}

/** Types that a cause names. */
const MOST_NAMED = 16;

function typesWithoutWorker({ queue: { target, types }, nowMs }: Known): TypeSeen[] {
  if (target !== null) return [];
  return types.filter(
    ({ lastRequestAtMs }) => lastRequestAtMs === null || nowMs - lastRequestAtMs >= NO_REQUEST_MS,
  );
}

/** True if a ready job is neither paused nor of a type that no worker asks for, as far as its types were looked at. */
export function hasJobsToLease(known: Known): boolean {
  const { types, hasMoreTypes, readyOfPausedKeys, counts, settings } = known.queue;
  if (/* guard: paused-keys-do-not-flow */ readyOfPausedKeys >= counts.ready) return false;
  const without = typesWithoutWorker(known);
  const paused = new Set(settings.pauses.map(({ type }) => type));
  const isLeased = (one: TypeSeen): boolean =>
    !without.includes(one) && /* guard: paused-types-do-not-flow */ !paused.has(one.type);
  return types.length === 0 || types.some(isLeased) || (hasMoreTypes && without.length === 0);
}

/** Workers ask for other types of its ready jobs, or of jobs that it may get. */
export function noWorkerForTypes(known: Known): Cause | null {
  const { queue, hasMoreTypes } = known.queue;
  const types = typesWithoutWorker(known);
  if (types.length === 0 || noWorker(known) !== null) return null;
  const names = types.map(({ type, ready }) => `${type ?? 'no type'} (${String(ready)} ready)`);
  const least = hasMoreTypes ? 'at least ' : '';
  const sinceMs = Math.min(...types.map(({ firstReadyAtMs }) => firstReadyAtMs ?? Infinity));
  return cause(
    'no_worker_for_type',
    `No worker asks for jobs of ${least}${count(types.length, 'type')} of the queue ${queue}, but for other types of its jobs: ${joined(names)}.`,
    {
      facts: {
        ...{ queue, types_without_worker: types.length, at_least: hasMoreTypes },
        types: types.slice(0, MOST_NAMED).map(typeFacts),
      },
      sinceMs: Number.isFinite(sinceMs) ? sinceMs : null,
      remedies: [known.remedies.leaseWithHandler(queue)],
    },
  );
}

function typeFacts({ type, ready, firstReadyAtMs, lastRequestAtMs }: TypeSeen) {
  return {
    ...{ type, ready, first_ready_at: isoTimeOrNull(firstReadyAtMs) },
    last_request_at: isoTimeOrNull(lastRequestAtMs),
  };
}

/** Nothing holds its jobs back, or those of some types. */
export function flowing(known: Known): Cause {
  const { queue, target } = known.queue;
  const how =
    target === null ? 'lease requests for it get them' : `they are pushed to its target ${target.name}`;
  const jobs = typesWithoutWorker(known).length > 0 ? 'jobs of other types' : 'jobs';
  return cause('flowing', `Nothing holds the ${jobs} of the queue ${queue} back: ${how}.`, {
    facts: { queue, target: target?.name ?? null },
  });
}

export const QUEUE_REASONS: readonly Reason<Known>[] = [
  storeFull,
  poolMoving,
  paused,
  draining,
  push,
  maxRunning,
  rate,
  empty,
  noWorker,
];
