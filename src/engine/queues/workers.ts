import { notFound, QueueError } from '../../domain/errors.js';
import { isJobId } from '../../domain/ids.js';
import type {
  ExtendedLease,
  SessionFlags,
  SessionHeartbeat,
  SessionHeartbeatResult,
  WorkerFacts,
  WorkerInfo,
  WorkerSession,
} from '../../contract/workers.js';
import type { ListPage, PageRequest } from '../../domain/job/job-lists.js';
import { MAX_PERIOD_MS, MAX_SESSION_LEASES, MAX_UINT32 } from '../../domain/limits.js';
import type { RedisPool } from '../../redis/pool.js';
import { bytesAt, integerAt } from '../../redis/scripts/script.js';
import {
  countQueueSessions,
  countStalled,
  stalledWorkers,
  recordSession,
  recordWorkers,
  workersScript,
} from '../../redis/scripts/extended.js';
import { checkNames, checkNumber } from '../core/checks.js';
import type { EngineObserver } from '../core/observer.js';
import { Batcher, type ScriptRunner } from '../core/scripts.js';
import type { NamespaceQuotas } from '../core/quotas.js';
import { hashEntries } from '../core/hash-entries.js';
import { rankedPage } from '../core/ranked.js';

/** Maximum number of workers whose leases one script counts. */
const STEP = 100;
const FIELDS_PER_WORKER = 9;
/** Flags of a session in the replies of scripts. */
const QUIET = 1;
const STOP = 2;
/** Replies of the script that records a heartbeat. */
const UNKNOWN = 0;
const STARTS = 2;
const RETURNS = 3;
const TOO_MANY = 4;
/** A worker is recorded again only after this time, in milliseconds. */
const RECORD_EVERY_MS = 1_000;
/** Number of workers whose record this process remembers. */
const MOST_REMEMBERED = 10_000;
/** Approximate size of a record in a batch, in bytes. */
const RECORD_BYTES = 100;
/** Workers whose stalled jobs are counted: those that were seen last; and of one script call, a millisecond of Redis. */
const MOST_WORKERS = 10_000;
/** Sessions that one script call reads: a millisecond of Redis. */
const MOST_READ = 200;
const PAGE = /* guard: stalled-jobs-by-pages */ 500;
/** Stalled jobs of one worker that are counted, and of one script call: a few milliseconds of Redis. */
const MOST_STALLED = 1_000;

/** The scope of a caller that may use all queues. Every other scope is a text that names the queues. */
const ALL_QUEUES = '';

type Stalled = Pick<WorkerFacts, 'name' | 'stalled'>;

/** Extends leases; see `LeaseOperations.heartbeatMany`. */
export interface LeaseExtender {
  heartbeatMany(
    namespace: string,
    leases: SessionHeartbeat['leases'],
    ttrMs: number,
  ): Promise<ExtendedLease[]>;
}

/**
 * Workers that lease jobs under a name, and their sessions. A worker that sends no request for a day is forgotten.
 *
 * A session is a worker whose process chose a name that no other has, and sends heartbeats. Its name is its id.
 */
export class Workers {
  /** `namespace worker` → when it was recorded last, Unix ms. */
  private readonly recorded = new Map<string, number>();
  private readonly records: Batcher<string, never>;

  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
    private readonly leases: LeaseExtender,
    private readonly observer: EngineObserver,
    private readonly quotas: NamespaceQuotas,
  ) {
    this.records = new Batcher(async (namespace, workers) => {
      await runner.run(
        recordWorkers,
        namespace,
        { most: quotas.of(namespace).workers },
        workers.map((worker) => [worker]),
      );
      return [];
    });
  }

  /** Records in the background that a worker has sent a request, or waits. If that fails, its next request does it. */
  see(namespace: string, worker: string): void {
    const key = keyOf(namespace, worker);
    const nowMs = this.runner.now();
    // Redis's clock may have been set back.
    if (Math.abs(nowMs - (this.recorded.get(key) ?? 0)) < RECORD_EVERY_MS) return;
    if (this.recorded.size >= MOST_REMEMBERED) this.recorded.clear();
    this.recorded.set(key, nowMs);
    this.records.add(namespace, [worker], RECORD_BYTES, {
      done: () => undefined,
      failed: () => this.recorded.delete(key),
    });
  }

  /** Lists workers, most recently seen first. @throws {QueueError} `invalid_argument`, or an error of the store */
  async list(namespace: string, page: PageRequest): Promise<ListPage<WorkerFacts>> {
    const found = await rankedPage(this.pool, namespace, 'workers', page);
    const names = found.items.map(([name]) => name);
    const items: WorkerFacts[] = [];
    for (let i = 0; i < names.length; i += STEP) {
      items.push(...(await this.send(namespace, 'read', names.slice(i, i + STEP))));
    }
    return { items: items.filter(({ seenAtMs }) => seenAtMs > 0), cursor: found.cursor };
  }

  /** Finds a worker; null if there is none of this name. */
  async find(namespace: string, name: string): Promise<WorkerFacts | null> {
    checkNames(namespace);
    const [worker] = await this.send(namespace, 'read', [name]);
    return worker === undefined || worker.seenAtMs === 0 ? null : worker;
  }

  /**
   * Forgets a worker until its next request, and its session. Its leases stay as they are; its lease requests that wait
   * end, on all servers.
   *
   * @param scope only a session that began in this scope, and lease requests from its queues; a worker with leases is
   *   listed further. See `heartbeat`
   * @returns false if there was none of this name
   */
  async deregister(namespace: string, name: string, scope = ALL_QUEUES): Promise<boolean> {
    checkNames(namespace);
    this.recorded.delete(keyOf(namespace, name));
    const [worker] = await this.send(namespace, 'forget', [name], scope);
    if (worker?.session && worker.seenAtMs > 0) this.observer.sessions(namespace, 'ended', 1);
    return worker !== undefined && worker.seenAtMs > 0;
  }

  /**
   * Ends the lease requests of a worker that wait, on all servers: they are answered with no jobs.
   *
   * @param scope only of a session that began in this scope, from its queues; see `heartbeat`
   */
  async endWaits(namespace: string, name: string, scope = ALL_QUEUES): Promise<void> {
    checkNames(namespace);
    await this.send(namespace, 'end_waits', [name], scope);
  }

  /** Counts the worker sessions that are not lost. */
  async countSessions(namespace: string): Promise<number> {
    return Number(await this.pool.read('ZCARD', this.pool.keys.namespace(namespace).sessions));
  }

  /**
   * Counts by queue the sessions that are not lost and lease from it; of more than 10,000 sessions a part. Queues without
   * a session are left out.
   */
  async sessionsByQueue(namespace: string): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>();
    const sessions = Math.min(await this.countSessions(namespace), MOST_WORKERS);
    for (let skip = 0; skip < sessions; skip += MOST_READ) {
      const { raw } = await this.runner.run(countQueueSessions, namespace, { skip, limit: MOST_READ });
      for (let at = 3; at + 1 < raw.length; at += 2) {
        const queue = bytesAt(raw, at).toString();
        counts.set(queue, (counts.get(queue) ?? 0) + integerAt(raw, at + 1));
      }
    }
    return counts;
  }

  /**
   * Records that a session is alive, then extends its leases: each for itself, by the rules of
   * `LeaseOperations.heartbeat`. The number of a lease proves who holds it, not the id of the session.
   *
   * @throws {QueueError} `worker_not_found`: there is no such session, and no `info`; no lease was extended.
   *   `namespace_full`: a quota, neither was one. `invalid_argument`, or an error of the store
   */
  async heartbeat(
    namespace: string,
    id: string,
    { ttrMs, leases, jobsAtHand = leases.length, info, scope = ALL_QUEUES }: SessionHeartbeat,
  ): Promise<SessionHeartbeatResult> {
    checkNames(namespace);
    checkSessionId(id);
    checkNumber('ttrMs', ttrMs, 1, MAX_PERIOD_MS);
    checkNumber('the number of leases', leases.length, 0, MAX_SESSION_LEASES);
    checkNumber('jobsAtHand', jobsAtHand, 0, MAX_UINT32);
    const { raw, nowMs } = await this.runner.run(recordSession, namespace, {
      ...{ worker: id, ttr_ms: ttrMs, jobs: /* guard: session-counts-all-its-jobs */ jobsAtHand },
      ...{ info: info === undefined ? '' : JSON.stringify(info), name: info?.name ?? '', scope },
      most: this.quotas.of(namespace).workers,
    });
    const found = integerAt(raw, 2);
    if (found === TOO_MANY) throw this.quotas.workersError(namespace, integerAt(raw, 3));
    if (found === UNKNOWN) throw notFound('worker', id);
    if (found === STARTS) this.observer.sessions(namespace, 'started', 1);
    if (found === RETURNS) this.observer.sessions(namespace, 'returned', 1);
    const jobs = await this.leases.heartbeatMany(namespace, leases, ttrMs);
    return { leaseEndsAtMs: nowMs + ttrMs, jobs, ...flagsOf(integerAt(raw, 3)) };
  }

  /** Asks a session to lease nothing more; its next heartbeat tells it. @throws {QueueError} `worker_not_found` */
  quiet(namespace: string, id: string): Promise<void> {
    return this.setFlag(namespace, id, 'quiet');
  }

  /** Asks a session to shut down; its next heartbeat tells it. @throws {QueueError} `worker_not_found` */
  stop(namespace: string, id: string): Promise<void> {
    return this.setFlag(namespace, id, 'stop');
  }

  private async setFlag(namespace: string, id: string, flag: 'quiet' | 'stop'): Promise<void> {
    checkNames(namespace);
    const [worker] = await this.send(namespace, flag, [id]);
    if ((worker?.session ?? null) === null) throw notFound('worker', id);
  }

  /** The queues that workers wait for, with or without jobs. The names are as the workers sent them. */
  async awaitedQueues(namespace: string): Promise<string[]> {
    const flags = await hashEntries(this.pool, this.pool.keys.namespace(namespace).waiting);
    const now = this.runner.now();
    return [...flags].filter(([, untilMs]) => Number(untilMs) > now).map(([queue]) => queue);
  }

  /** The workers that have stalled jobs, of the 10,000 that were seen last. */
  async stalled(namespace: string): Promise<string[]> {
    return (await this.stalledWorkers(namespace)).map(({ name }) => name);
  }

  /**
   * Counts the stalled jobs of each queue that has any: of named workers, as `WorkerFacts.stalled` does. Counts 1,000
   * jobs of one worker at most, and the 10,000 workers that were seen last.
   */
  async stalledByQueue(namespace: string): Promise<ReadonlyMap<string, number>> {
    const stalled = new Map<string, number>();
    await this.addStalled(namespace, await this.stalledWorkers(namespace), stalled);
    return stalled;
  }

  private async stalledWorkers(namespace: string): Promise<Stalled[]> {
    const { workers } = this.pool.keys.namespace(namespace);
    const seen = Math.min(Number(await this.pool.read('ZCARD', workers)), MOST_WORKERS);
    const pages = Array.from({ length: Math.ceil(seen / PAGE) }, (_, i) =>
      this.stalledOf(namespace, i * PAGE),
    );
    return (await Promise.all(pages)).flat();
  }

  /** Those of a page of workers that have stalled jobs, with their number. */
  private async stalledOf(namespace: string, skip: number): Promise<Stalled[]> {
    const { raw } = await this.runner.run(stalledWorkers, namespace, { skip, limit: PAGE });
    return Array.from({ length: (raw.length - 2) / 2 }, (_, i) => ({
      name: bytesAt(raw, 2 + i * 2).toString(),
      stalled: integerAt(raw, 3 + i * 2),
    }));
  }

  private async addStalled(
    namespace: string,
    workers: readonly Stalled[],
    stalled: Map<string, number>,
  ): Promise<void> {
    let [names, jobs]: [string[], number] = [[], 0];
    for (const [i, worker] of workers.entries()) {
      if (worker.stalled > 0) names.push(worker.name);
      jobs += Math.min(worker.stalled, MOST_STALLED);
      if (names.length === 0 || (jobs < MOST_STALLED && i < workers.length - 1)) continue;
      const items = names.map((name) => [name]);
      const { raw } = await this.runner.run(countStalled, namespace, { limit: MOST_STALLED }, items);
      for (let at = 2; at + 1 < raw.length; at += 2) {
        const queue = bytesAt(raw, at).toString();
        stalled.set(queue, (stalled.get(queue) ?? 0) + integerAt(raw, at + 1));
      }
      [names, jobs] = [[], 0];
    }
  }

  private async send(
    namespace: string,
    verb: 'read' | 'forget' | 'quiet' | 'stop' | 'end_waits',
    names: readonly string[],
    scope = ALL_QUEUES,
  ): Promise<WorkerFacts[]> {
    const items = names.map((name) => [name]);
    const { raw, nowMs } = await this.runner.run(workersScript, namespace, { verb, scope }, items);
    return names.map((name, i) => {
      const at = 2 + i * FIELDS_PER_WORKER;
      return {
        name,
        seenAtMs: integerAt(raw, at),
        leased: integerAt(raw, at + 1),
        stalled: integerAt(raw, at + 2),
        session: sessionOf(raw, at + 3, nowMs),
      };
    });
  }
}

function sessionOf(raw: readonly (number | Buffer)[], at: number, nowMs: number): WorkerSession | null {
  const [heartbeatAtMs, info] = [integerAt(raw, at), bytesAt(raw, at + 5)];
  if (heartbeatAtMs === 0 || info.length === 0) return null;
  const own = JSON.parse(info.toString()) as WorkerInfo;
  return {
    info: own,
    startedAtMs: own.startedAtMs ?? integerAt(raw, at + 3),
    heartbeatAtMs,
    jobsAtHand: integerAt(raw, at + 2),
    isLost: /* guard: session-lives-as-long-as-its-leases */ nowMs >= heartbeatAtMs + integerAt(raw, at + 1),
    ...flagsOf(integerAt(raw, at + 4)),
  };
}

function flagsOf(flags: number): SessionFlags {
  return { quiet: (flags & QUIET) !== 0, stop: (flags & STOP) !== 0 };
}

/** @throws {QueueError} `invalid_argument` */
function checkSessionId(id: string): void {
  if (!isJobId(id))
    throw new QueueError('invalid_argument', 'the id of a session has the form of the id of a job');
}

/** Names of namespaces have no spaces. */
function keyOf(namespace: string, worker: string): string {
  return `${namespace} ${worker}`;
}
