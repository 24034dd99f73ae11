import type { Cause, CauseName, Explanation } from '../../contract/explain.js';
import { isoTime, isoTimeOrNull } from '../../domain/iso-time.js';
import type { JobReasons, LeaseRequestSeen, QueueReasons } from './explainer.js';
import { remediesOf, type Remedies } from './remedies.js';
import { count, duration, joined, moment } from './sentences.js';

/** Time without a lease request after which no worker asks for a queue, in milliseconds. */
const NO_REQUEST_MS = 60_000;

/** What the process that answers knows of itself. */
export interface ServerReasons {
  readonly namespace: string;
  /** True if it pushes jobs to targets. */
  readonly isPushing: boolean;
  /** True while the pool of the namespace moves to another Redis. */
  readonly isMoving: boolean;
}

/** What all reasons of a job or a queue are made from. */
interface Known {
  readonly nowMs: number;
  readonly queue: QueueReasons;
  readonly server: ServerReasons;
  readonly remedies: Remedies;
}
interface KnownJob extends Known {
  readonly reasons: JobReasons;
}

/** A reason why a job or a queue waits; null = it does not hold. */
type Reason<T extends Known> = (known: T) => Cause | null;

/** Why a job waits, runs or has ended: the first is the cause, the others hold too. */
export function causesOfJob(reasons: JobReasons, server: ServerReasons): Cause[] {
  const { nowMs, queue } = reasons;
  const known = { nowMs, queue, server, remedies: remediesOf(server.namespace), reasons };
  return JOB_REASONS.flatMap((reason) => reason(known) ?? []);
}

/** Why a queue gives no jobs: the first is the cause. Empty if nothing holds its jobs back. */
export function causesOfQueue(queue: QueueReasons, server: ServerReasons): Cause[] {
  const known = { nowMs: queue.nowMs, queue, server, remedies: remediesOf(server.namespace) };
  return QUEUE_REASONS.flatMap((reason) => reason(known) ?? []);
}

function cause(
  name: CauseName,
  message: string,
  { facts = {}, sinceMs = null, nextAtMs = null, remedies = [] }: Partial<Cause> = {},
): Cause {
  return { cause: name, message, facts, sinceMs, nextAtMs, remedies };
}

/** When a job came into the state that it is in, as far as its timeline says; Unix ms. */
function enteredMs({ job }: JobReasons): number | null {
  return job.timeline.at(-1)?.atMs ?? job.publishedAtMs;
}

/** An explanation by causes: the first one, or that nothing holds the jobs back. */
export function explanationOf([first = FLOWING, ...others]: readonly Cause[]): Explanation {
  const { cause: name, message, facts, sinceMs, nextAtMs, remedies } = first;
  const also = others.map((one) => ({ cause: one.cause, message: one.message }));
  return { cause: name, message, facts, since: isoTimeOrNull(sinceMs), nextAtMs, remedies, also };
}

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
  const why = failure === null ? '' : `: ${failure.group}, ${failure.message}`;
  return cause(
    'dead',
    `The job is in the dead-letter queue of ${queue} since its attempt ${String(attempts)} failed${at}${why}. It runs again only if it is respawned.`,
    {
      facts: { attempts, failure_group: group, failure_message: failure?.message ?? null },
      sinceMs: endedAtMs,
      remedies: [remedies.respawn(id)],
    },
  );
}

/* A job that is leased. */

function leaseFacts({ job, session }: JobReasons) {
  return {
    worker: job.worker,
    attempt: job.attempts,
    lease_ends_at: isoTimeOrNull(job.leaseEndsAtMs),
    heartbeat_at: isoTimeOrNull(session?.heartbeatAtMs ?? null),
  };
}

function holderOf({ job }: JobReasons): string {
  return job.worker === null ? 'A worker without a name' : `The worker ${job.worker}`;
}

function leaseEnded({ reasons, nowMs }: KnownJob): Cause | null {
  const { state, leaseEndsAtMs, attempts } = reasons.job;
  if (state !== 'leased' || leaseEndsAtMs === null || leaseEndsAtMs > nowMs) return null;
  return cause(
    'lease_ended',
    `The lease of attempt ${String(attempts)} ended ${moment(leaseEndsAtMs, nowMs)}, and no server has returned the job yet: the pump of its pool is late, or no server runs.`,
    { facts: { ...leaseFacts(reasons), late_ms: nowMs - leaseEndsAtMs }, sinceMs: leaseEndsAtMs },
  );
}

function cancelRequested({ reasons, nowMs, remedies }: KnownJob): Cause | null {
  const { state, cancelRequested: isRequested, leaseEndsAtMs, id } = reasons.job;
  if (state !== 'leased' || !isRequested) return null;
  const sinceMs = reasons.job.timeline.findLast(({ what }) => what === 'cancel_requested')?.atMs ?? null;
  const until = leaseEndsAtMs === null ? '' : ` Its lease ends at ${moment(leaseEndsAtMs, nowMs)}.`;
  return cause(
    'cancel_requested',
    `A cancel is requested, and ${lowerFirst(holderOf(reasons))} has not answered it.${until}`,
    { facts: leaseFacts(reasons), sinceMs, nextAtMs: leaseEndsAtMs, remedies: [remedies.revoke(id)] },
  );
}

function leaseSilent({ reasons, nowMs, remedies }: KnownJob): Cause | null {
  const { session, job } = reasons;
  if (job.state !== 'leased' || session === null) return null;
  const silentMs = nowMs - session.heartbeatAtMs;
  if (silentMs < session.ttrMs / 2) return null;
  return cause(
    'lease_silent',
    `${holderOf(reasons)} has the job, and sent its last heartbeat ${moment(session.heartbeatAtMs, nowMs)}. The job returns when the lease ends${job.leaseEndsAtMs === null ? '' : `, at ${moment(job.leaseEndsAtMs, nowMs)}`}.`,
    {
      facts: leaseFacts(reasons),
      sinceMs: session.heartbeatAtMs,
      nextAtMs: job.leaseEndsAtMs,
      remedies: [remedies.revoke(job.id)],
    },
  );
}

function leased({ reasons, nowMs, remedies }: KnownJob): Cause | null {
  const { state, attempts, leaseEndsAtMs, id } = reasons.job;
  if (state !== 'leased') return null;
  const sinceMs = reasons.job.timeline.findLast(({ what }) => what === 'leased')?.atMs ?? null;
  const since = sinceMs === null ? '' : ` for ${duration(nowMs - sinceMs)}`;
  const until = leaseEndsAtMs === null ? '' : `, until ${moment(leaseEndsAtMs, nowMs)}`;
  return cause(
    'leased',
    `The job runs: ${lowerFirst(holderOf(reasons))} has leased it${since}${until}; this is attempt ${String(attempts)}.`,
    { facts: leaseFacts(reasons), sinceMs, nextAtMs: leaseEndsAtMs, remedies: [remedies.revoke(id)] },
  );
}

/* A job that waits for a time, for other jobs, or for a slot. */

function scheduled({ reasons, nowMs, remedies }: KnownJob): Cause | null {
  const { state, dueAtMs, id, uniqueKey, failure, attempts, timeline } = reasons.job;
  if (state !== 'scheduled') return null;
  const due =
    dueAtMs === null
      ? 'more than a minute from now; the exact time of a job far ahead is in no index'
      : `at ${moment(dueAtMs, nowMs)}`;
  const more = { sinceMs: enteredMs(reasons), nextAtMs: dueAtMs, remedies: [remedies.runNow(id)] };
  const facts = { due_at: isoTimeOrNull(dueAtMs) };
  const debounced = timeline.findLast(({ what }) => what === 'debounced');
  if (uniqueKey !== null && debounced !== undefined) {
    return cause(
      'debounce',
      `The job waits because its unique key ${uniqueKey} was published again ${moment(debounced.atMs, nowMs)}: each publish restarts its delay. It is due ${due}.`,
      { ...more, facts: { ...facts, unique_key: uniqueKey, debounced_at: isoTime(debounced.atMs) } },
    );
  }
  if (failure !== null) {
    return cause(
      'backoff',
      `Attempt ${String(attempts)} failed with ${failure.group} (${failure.message}); attempt ${String(attempts + 1)} is due ${due}.`,
      {
        ...more,
        facts: {
          ...facts,
          attempts,
          failure_group: failure.group,
          failure_message: failure.message,
          failed_at: isoTime(failure.atMs),
        },
      },
    );
  }
  return cause('scheduled', `The job is scheduled: it is due ${due}.`, { ...more, facts });
}

function blocked({ reasons, remedies }: KnownJob): Cause | null {
  const { state, dependsOn, failedDependencies, id } = reasons.job;
  if (state !== 'blocked') return null;
  const failed = Object.entries(failedDependencies);
  const waits = reasons.dependencies.map((one) => `${one.id} (${one.state ?? 'not known'})`);
  const waitsFor =
    dependsOn.length === 0 ? '' : ` It waits for ${count(dependsOn.length, 'job')}: ${joined(waits)}.`;
  const never =
    failed.length === 0
      ? ''
      : ` It will never run by itself: ${joined(failed.map(([one, how]) => `${one} ${how}`))}.`;
  return cause('blocked', `The job is blocked by its dependencies.${waitsFor}${never}`, {
    facts: {
      depends_on: reasons.dependencies.map((one) => ({ id: one.id, state: one.state, queue: one.queue })),
      depends_on_count: dependsOn.length,
      failed_dependencies: failedDependencies,
    },
    sinceMs: enteredMs(reasons),
    remedies: [
      remedies.dropDependencies(id, [...dependsOn, ...failed.map(([one]) => one)]),
      remedies.cancel(id),
    ],
  });
}

function concurrencyKey({ reasons, nowMs, queue, remedies }: KnownJob): Cause | null {
  const { state, concurrencyKey: key } = reasons.job;
  const { slots, keyRateAtMs, origin } = reasons;
  if (state !== 'held' || origin !== null || key === null || slots === null) return null;
  const limit = queue.maxRunningPerKey;
  if (keyRateAtMs !== null && (limit === null || slots.taken < limit)) {
    return cause(
      'rate',
      `The job is held: the rate limit of its concurrency key ${key} allows the next job at ${moment(keyRateAtMs, nowMs)}.`,
      {
        facts: { concurrency_key: key, allowed_at: isoTime(keyRateAtMs) },
        sinceMs: enteredMs(reasons),
        nextAtMs: keyRateAtMs,
        remedies: [remedies.withoutLimit(queue.queue, 'rate_per_key')],
      },
    );
  }
  return cause(
    'concurrency_key',
    `The job is held: ${count(slots.taken, 'job')} with its concurrency key ${key} ${slots.taken === 1 ? 'runs' : 'run'} (${joined(slots.holders)}), and the limit is ${String(limit)}.`,
    {
      facts: { concurrency_key: key, running: slots.taken, limit, holders: slots.holders },
      sinceMs: enteredMs(reasons),
      remedies: [
        ...slots.holders.slice(0, 1).map(remedies.revoke),
        remedies.withoutLimit(queue.queue, 'max_running_per_key'),
      ],
    },
  );
}

function originClosed({ reasons, queue, nowMs, remedies }: KnownJob): Cause | null {
  const { origin, job } = reasons;
  const { target } = queue;
  if (job.state !== 'held' || origin === null || target === null) return null;
  const where = origin.url === '' ? `the URL of the target ${target.name}` : origin.url;
  const until =
    origin.openUntilMs > nowMs
      ? `one job tries it again at ${moment(origin.openUntilMs, nowMs)}`
      : 'a job tries it now';
  return cause(
    'breaker_open',
    `The job is held: the circuit breaker of ${where} is open because its requests failed; ${until}.`,
    {
      facts: { target: target.name, origin: origin.url || null, open_until: isoTime(origin.openUntilMs) },
      sinceMs: enteredMs(reasons),
      nextAtMs: origin.openUntilMs,
      remedies: [remedies.testTarget(target.name)],
    },
  );
}

/* What holds back all jobs of a queue. */

function poolMoving({ server }: Known): Cause | null {
  if (!server.isMoving) return null;
  return cause(
    'pool_moving',
    'The pool of this namespace moves to another Redis: jobs of the old Redis are leased first, then those of the new one.',
    { facts: { seen_by: 'this server' } },
  );
}

function paused({ queue, nowMs, remedies }: Known): Cause | null {
  if (queue.pausedAtMs === null) return null;
  return cause('paused', `The queue ${queue.queue} is paused since ${moment(queue.pausedAtMs, nowMs)}.`, {
    facts: { queue: queue.queue, paused_at: isoTime(queue.pausedAtMs) },
    sinceMs: queue.pausedAtMs,
    remedies: [remedies.resume(queue.queue)],
  });
}

function draining({ queue, nowMs, remedies }: Known): Cause | null {
  if (queue.drainingAtMs === null) return null;
  return cause(
    'draining',
    `The queue ${queue.queue} is draining since ${moment(queue.drainingAtMs, nowMs)}: it takes no new jobs; those that it has still run.`,
    {
      facts: { queue: queue.queue, draining_at: isoTime(queue.drainingAtMs) },
      sinceMs: queue.drainingAtMs,
      remedies: [remedies.resume(queue.queue)],
    },
  );
}

function push({ queue, server, nowMs, remedies }: Known): Cause | null {
  const { target } = queue;
  if (target === null) return null;
  const facts = { queue: queue.queue, target: target.name };
  const stop = remedies.stopPush(queue.queue);
  if (!server.isPushing) {
    return cause(
      'push_off',
      `The jobs of ${queue.queue} are pushed to the target ${target.name}, and this server does not push: push.enabled is not set.`,
      { facts: { ...facts, seen_by: 'this server' }, remedies: [stop] },
    );
  }
  if (!target.exists) {
    return cause(
      'target_missing',
      `The jobs of ${queue.queue} are pushed to the target ${target.name}, which does not exist.`,
      { facts, remedies: [stop] },
    );
  }
  if (target.pausedAtMs !== null) {
    const why = target.pauseReason === 'gone' ? 'it answered 410' : 'an operator paused it';
    return cause(
      'target_paused',
      `The target ${target.name} is paused since ${moment(target.pausedAtMs, nowMs)}: ${why}.`,
      {
        facts: { ...facts, paused_at: isoTime(target.pausedAtMs), reason: target.pauseReason },
        sinceMs: target.pausedAtMs,
        remedies: [remedies.resumeTarget(target.name)],
      },
    );
  }
  if (target.openUntilMs === null) return null;
  return cause(
    'breaker_open',
    `The circuit breaker of the target ${target.name} is open because its requests failed; one job tries it again at ${moment(target.openUntilMs, nowMs)}.`,
    {
      facts: { ...facts, open_until: isoTime(target.openUntilMs) },
      nextAtMs: target.openUntilMs,
      remedies: [remedies.testTarget(target.name)],
    },
  );
}

function maxRunning({ queue, remedies }: Known): Cause | null {
  if (queue.maxRunning === null || queue.running < queue.maxRunning) return null;
  return cause(
    'max_running',
    `${count(queue.running, 'job')} of the queue ${queue.queue} ${queue.running === 1 ? 'runs' : 'run'}, and its limit max_running is ${String(queue.maxRunning)}.`,
    {
      facts: { queue: queue.queue, running: queue.running, limit: queue.maxRunning },
      remedies: [remedies.withoutLimit(queue.queue, 'max_running')],
    },
  );
}

function rate({ queue, nowMs, remedies }: Known): Cause | null {
  if (queue.rateAtMs === null || queue.rateAtMs <= nowMs) return null;
  return cause(
    'rate',
    `The rate limit of the queue ${queue.queue} allows the next job at ${moment(queue.rateAtMs, nowMs)}.`,
    {
      facts: { queue: queue.queue, allowed_at: isoTime(queue.rateAtMs) },
      nextAtMs: queue.rateAtMs,
      remedies: [remedies.withoutLimit(queue.queue, 'rate')],
    },
  );
}

function noHandler({ reasons, nowMs }: KnownJob): Cause | null {
  const { noHandler: releases, type } = reasons.job;
  if (releases === null) return null;
  const named = type === null ? 'a job without a type' : `the type ${type}`;
  const last = releases.worker === null ? '' : `, the last one ${releases.worker}`;
  return cause(
    'no_handler',
    `No worker has a handler for ${named}: it was given back ${count(releases.count, 'time')} in a row${last}, ${moment(releases.atMs, nowMs)}.`,
    {
      facts: { type, releases: releases.count, worker: releases.worker, at: isoTime(releases.atMs) },
      sinceMs: releases.atMs,
    },
  );
}

function requestFacts({ queue, atMs, worker }: LeaseRequestSeen) {
  return { queue, at: isoTime(atMs), worker };
}

function noWorker({ queue, nowMs, remedies }: Known): Cause | null {
  const { lastRequest, isAwaited, target } = queue;
  if (target !== null || isAwaited || (lastRequest !== null && nowMs - lastRequest.atMs < NO_REQUEST_MS))
    return null;
  const last =
    lastRequest === null
      ? 'no lease request for it is known'
      : `the last lease request for it was ${moment(lastRequest.atMs, nowMs)}`;
  const others = queue.requests.filter(
    (one) => one.queue !== queue.queue && nowMs - one.atMs < NO_REQUEST_MS,
  );
  const named = others.map((one) => (one.worker === null ? one.queue : `${one.queue} (${one.worker})`));
  const namedQueues =
    others.length === 0 ? 'No worker of the namespace asks for jobs' : `Workers ask for ${joined(named)}`;
  return cause('no_worker', `No worker asks for jobs of the queue ${queue.queue}: ${last}. ${namedQueues}.`, {
    facts: {
      queue: queue.queue,
      last_request_at: isoTimeOrNull(lastRequest?.atMs ?? null),
      last_worker: lastRequest?.worker ?? null,
      requests: others.map(requestFacts),
    },
    sinceMs: lastRequest?.atMs ?? null,
    remedies: [remedies.lease(queue.queue)],
  });
}

function behind({ reasons, queue, remedies }: KnownJob): Cause | null {
  const { front } = reasons;
  if (reasons.job.state !== 'ready' || front === null) return null;
  const { urgent, older, isExact } = front;
  const all = urgent + older;
  const facts = {
    queue: queue.queue,
    jobs_in_front: all,
    of_higher_priority: urgent,
    older,
    at_least: !isExact,
    running: queue.running,
  };
  const more = { facts, sinceMs: enteredMs(reasons), remedies: [remedies.lease(queue.queue)] };
  if (all === 0)
    return cause('behind', `The job is ready, and the next one that the queue ${queue.queue} gives.`, more);
  const parts = [
    ...(urgent > 0 ? [`${String(urgent)} of a higher priority`] : []),
    ...(older > 0 ? [`${isExact ? '' : 'at least '}${String(older)} older`] : []),
  ];
  return cause(
    'behind',
    `The job is ready, behind ${isExact ? '' : 'at least '}${count(all, 'job')} of the queue ${queue.queue}: ${joined(parts)}.`,
    more,
  );
}

/** True for a job that a lease could take, but for its queue. */
function ifReady(reason: Reason<KnownJob>): Reason<KnownJob> {
  return (known) => (known.reasons.job.state === 'ready' ? reason(known) : null);
}

/** What holds back a job that is not leased and has not ended, in the end. */
function ifWaiting(reason: Reason<Known>): Reason<KnownJob> {
  return (known) =>
    ['ready', 'scheduled', 'blocked', 'held'].includes(known.reasons.job.state) ? reason(known) : null;
}

const JOB_REASONS: readonly Reason<KnownJob>[] = [
  ended,
  dead,
  leaseEnded,
  cancelRequested,
  leaseSilent,
  leased,
  scheduled,
  blocked,
  originClosed,
  concurrencyKey,
  ifWaiting(poolMoving),
  ifWaiting(paused),
  ifWaiting(push),
  ifReady(maxRunning),
  ifReady(rate),
  ifReady(noHandler),
  ifWaiting(noWorker),
  behind,
  // Last: a draining queue still runs the jobs that it has.
  ifWaiting(draining),
];

const QUEUE_REASONS: readonly Reason<Known>[] = [
  poolMoving,
  paused,
  draining,
  push,
  maxRunning,
  rate,
  noWorker,
];

const FLOWING = cause('flowing', 'Nothing holds the jobs of the queue back: lease requests for it get them.');

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
