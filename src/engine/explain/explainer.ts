import type { JobDetails } from '../../contract/job/extended-job.js';
import { type JobState, stateOf } from '../../domain/job/states.js';
import { explainJob, explainQueue } from '../../redis/scripts/extended.js';
import { checkNames } from '../core/checks.js';
import { decodeId, encodeId } from '../core/ids.js';
import type { ScriptRunner } from '../core/scripts.js';
import type { RequestedQueues } from '../queues/requested-queues.js';
import { detailsOf } from '../jobs/job-reader.js';

/** Jobs in front of a ready job that are counted exactly. */
export const MOST_COUNTED = 1_000;

/** A lease request that named a queue. */
export interface LeaseRequestSeen {
  readonly queue: string;
  /** Unix ms; at most ten seconds older than the newest one. */
  readonly atMs: number;
  /** The worker that the last one with a name was from; null = none gave a name. */
  readonly worker: string | null;
}

/** What decides whether a queue gives jobs. Times are Unix ms. */
export interface QueueReasons {
  readonly nowMs: number;
  readonly queue: string;
  readonly exists: boolean;
  readonly pausedAtMs: number | null;
  readonly drainingAtMs: number | null;
  readonly maxRunning: number | null;
  readonly maxRunningPerKey: number | null;
  /** Jobs with a lease. */
  readonly running: number;
  /** When the rate limit allows the next job; null = it allows one now, or there is none. */
  readonly rateAtMs: number | null;
  /** The last lease request that named it; null = none is known. */
  readonly lastRequest: LeaseRequestSeen | null;
  /** True while a lease request waits for its jobs. */
  readonly isAwaited: boolean;
  /** The newest lease requests of the namespace, one for each queue. */
  readonly requests: readonly LeaseRequestSeen[];
  /** Its push target; null = its jobs are not pushed. */
  readonly target: {
    readonly name: string;
    /** False: there is no target of this name. */
    readonly exists: boolean;
    readonly pausedAtMs: number | null;
    readonly pauseReason: string | null;
    /** Until when its circuit breaker is open; null = closed. */
    readonly openUntilMs: number | null;
  } | null;
}

/** A job that another one waits for. */
export interface DependencySeen {
  readonly id: string;
  /** Null: no such job is known. */
  readonly state: JobState | null;
  readonly queue: string | null;
}

/** What decides when a job runs. Times are Unix ms. */
export interface JobReasons {
  readonly nowMs: number;
  readonly job: JobDetails;
  readonly queue: QueueReasons;
  /** Jobs before a ready one: of a priority that goes first, and older ones. `isExact` false: there may be more. */
  readonly front: { readonly urgent: number; readonly older: number; readonly isExact: boolean } | null;
  /** The slots of its concurrency key: how many are taken, and some of the jobs that have them. */
  readonly slots: { readonly taken: number; readonly holders: readonly string[] } | null;
  /** When the rate limit of its key allows the next job; null = now. */
  readonly keyRateAtMs: number | null;
  /** Some of the jobs that it waits for. */
  readonly dependencies: readonly DependencySeen[];
  /** The origin of its push for which it is held, and until when that is closed to jobs; null = it is not held for one. */
  readonly origin: { readonly url: string; readonly openUntilMs: number } | null;
  /** The session of the worker that has its lease; null = it has none. */
  readonly session: { readonly heartbeatAtMs: number; readonly ttrMs: number } | null;
}

/** Reads why jobs do not run: each answer is one script call, which changes nothing. */
export class Explainer {
  constructor(
    private readonly runner: ScriptRunner,
    private readonly requested: Pick<RequestedQueues, 'seenAtMs'>,
  ) {}

  /** What decides when a job runs; null if there is no such job. */
  async job(namespace: string, id: string): Promise<JobReasons | null> {
    checkNames(namespace);
    const encoded = encodeId(id);
    if (!encoded) return null;
    const args = { id: encoded, most: MOST_COUNTED };
    const { parts, nowMs } = await this.runner.run(explainJob, namespace, args, []);
    const job = detailsOf(encoded, listOf(parts.get('job')), nowMs);
    if (job === null) return null;
    const front = listOf(parts.get('front')).map(Number);
    const [taken, ...holders] = listOf(parts.get('slots'));
    const session = pairsOf(parts.get('session'));
    return {
      nowMs,
      job,
      queue: this.queueOf(namespace, job.queue, parts, nowMs, true),
      front:
        front.length === 0 ? null : { urgent: front[0] ?? 0, older: front[1] ?? 0, isExact: front[2] === 1 },
      slots:
        taken === undefined
          ? null
          : { taken: Number(taken), holders: holders.map((one) => decodeId(one as Buffer)) },
      keyRateAtMs: timeOf(parts.get('key_rate_ms')),
      dependencies: dependenciesOf(listOf(parts.get('needs'))),
      origin: originOf(listOf(parts.get('origin')).map(textOf)),
      session: session.has('at')
        ? { heartbeatAtMs: Number(session.get('at')), ttrMs: Number(session.get('ttr')) }
        : null,
    };
  }

  /** What decides whether a queue gives jobs. */
  async queue(namespace: string, queue: string): Promise<QueueReasons> {
    checkNames(namespace, queue);
    const { parts, nowMs } = await this.runner.run(explainQueue, namespace, { queue }, []);
    return this.queueOf(namespace, queue, parts, nowMs, textOf(parts.get('exists')) === '1');
  }

  /** What Redis knows of a queue, and the lease requests to this process that Redis does not know yet. */
  private queueOf(
    namespace: string,
    queue: string,
    parts: Parts,
    nowMs: number,
    exists: boolean,
  ): QueueReasons {
    const known = queueOf(queue, parts, nowMs, exists);
    const seenAtMs = this.requested.seenAtMs(namespace, queue);
    const isNewer = seenAtMs > (known.lastRequest?.atMs ?? 0);
    if (!isNewer) return known;
    return { ...known, lastRequest: { queue, atMs: seenAtMs, worker: known.lastRequest?.worker ?? null } };
  }
}

type Parts = ReadonlyMap<string, unknown>;

function queueOf(queue: string, parts: Parts, nowMs: number, exists: boolean): QueueReasons {
  const settings = pairsOf(parts.get('settings'));
  const number = (name: string): number | null => {
    const text = settings.get(name);
    return text === undefined ? null : Number(text);
  };
  const atMs = timeOf(parts.get('last_request_ms'));
  return {
    nowMs,
    queue,
    exists,
    pausedAtMs: number('paused'),
    drainingAtMs: number('draining'),
    maxRunning: number('max'),
    maxRunningPerKey: number('kmax'),
    running: Number(textOf(parts.get('running'))),
    rateAtMs: timeOf(parts.get('rate_ms')),
    lastRequest: atMs === null ? null : requestOf(queue, atMs, parts.get('last_requester')),
    isAwaited: Number(textOf(parts.get('waits_until_ms'))) > nowMs,
    requests: threesOf(listOf(parts.get('requests'))).map(([name, at, worker]) =>
      requestOf(textOf(name), Number(textOf(at)), worker),
    ),
    target: targetOf(listOf(parts.get('target')).map(textOf), nowMs),
  };
}

function requestOf(queue: string, atMs: number, worker: unknown): LeaseRequestSeen {
  return { queue, atMs, worker: textOf(worker) || null };
}

function targetOf(
  [name, stored = '', breaker = '']: readonly string[],
  nowMs: number,
): QueueReasons['target'] {
  if (name === undefined) return null;
  const { target } = (stored === '' ? {} : JSON.parse(stored)) as {
    target?: { pausedAtMs: number | null; pauseReason: string | null };
  };
  const openUntilMs = openUntilOf(breaker);
  return {
    name,
    exists: target !== undefined,
    pausedAtMs: target?.pausedAtMs ?? null,
    pauseReason: target?.pauseReason ?? null,
    openUntilMs: openUntilMs > nowMs ? openUntilMs : null,
  };
}

function originOf([url, breaker = '']: readonly string[]): JobReasons['origin'] {
  return url === undefined ? null : { url, openUntilMs: openUntilOf(breaker) };
}

function openUntilOf(breaker: string): number {
  const { openUntilMs = 0 } = (breaker === '' ? {} : JSON.parse(breaker)) as { openUntilMs?: number };
  return openUntilMs;
}

function dependenciesOf(parts: readonly unknown[]): DependencySeen[] {
  return threesOf(parts).map(([id, state, queue]) => {
    const number = Number(textOf(state));
    const isKnown = number > 0;
    return {
      id: decodeId(id as Buffer),
      state: isKnown ? stateOf(number) : null,
      queue: isKnown ? textOf(queue) : null,
    };
  });
}

function threesOf(list: readonly unknown[]): [unknown, unknown, unknown][] {
  return Array.from({ length: Math.floor(list.length / 3) }, (_, i) => [
    list[i * 3],
    list[i * 3 + 1],
    list[i * 3 + 2],
  ]);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

function textOf(value: unknown): string {
  return Buffer.isBuffer(value) || typeof value === 'number' ? value.toString() : '';
}

/** A time, Unix ms; null for 0 and what is missing. */
function timeOf(value: unknown): number | null {
  return Math.ceil(Number(textOf(value))) || null;
}

function pairsOf(value: unknown): ReadonlyMap<string, string> {
  const [list, pairs] = [listOf(value), new Map<string, string>()];
  for (let i = 0; i + 1 < list.length; i += 2) pairs.set(textOf(list[i]), textOf(list[i + 1]));
  return pairs;
}
