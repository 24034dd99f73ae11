import type { LeasedJob, LeaseOfJob, LeaseRequest } from '../../domain/job/job.js';
import { TYPES_SINCE } from '../../domain/data-format.js';
import { formatTooOld } from '../../domain/errors.js';
import type { RedisPool } from '../../redis/pool.js';
import { integerAt, type Item, type Raw } from '../../redis/scripts/script.js';
import { extendedLease } from '../../redis/scripts/extended.js';
import {
  deliver,
  registerWaiters,
  lease as leaseScript,
  undo as undoScript,
} from '../../redis/scripts/simple.js';
import { Batcher, type ScriptRunner } from '../core/scripts.js';
import { checkNames, checkRequest } from '../core/checks.js';
import { decodeLeases, type FetchResult } from '../core/decode.js';
import type { DeliveryLogs } from './delivery-logs.js';
import type { EventWriter } from '../events/writer.js';
import { encodeId } from '../core/ids.js';
import { InFlight } from './in-flight.js';
import type { EngineObserver } from '../core/observer.js';
import { decodeExtendedLeases, type ExtendedLeases, extendedItemOf } from './extended-leases.js';
import { partOf, restOf, weightOfPart } from './extended-parts.js';
import {
  type FetchRequest,
  groupsOf,
  itemOf,
  type TimedLeaseRequest,
  presentPartOf,
  withoutLinger,
} from './fetch-requests.js';
import type { Batch } from './delivery-log.js';
import type { ExtendedQueues } from '../queues/extended-queues.js';
import type { RequestedQueues } from '../queues/requested-queues.js';
import type { Workers } from '../queues/workers.js';
import type { LeaseDurations } from '../settle/lease-durations.js';
import type { Settler } from '../settle/settler.js';
import { type FetchEnd, type Hand, LongPollManager, type WaitersByQueue } from './long-poll-manager.js';

/** How long Redis remembers that a server waits for a queue, in milliseconds; the server renews it within a second. */
const FLAG_MS = 5_000;
/** A lease script stops taking jobs at this many bytes. */
const MAX_BYTES_OUT = 4_194_304;
/**
 * Batch weight of a job to lease, in proportion to its cost in time: 500 of them fill a script (about 1.5 ms of Redis).
 */
const TAKE_WEIGHT = 524;
/** Batch weight of a queue name to check, likewise: 1,000 of them fill a script. */
const NAME_WEIGHT = 262;
/** Reply code of lua/commands/simple/undo.lua for a job that the extended path gives back. */
const EXTENDED = 2;

const NOTHING_FOUND: FetchResult = { jobs: [], again: false, isExtended: false };

/** Reply of a lease script, its time (Unix ms), and the delivery log's batch for it. */
interface LeaseAnswer {
  readonly raw: Raw['raw'];
  readonly nowMs: number;
  readonly batch: Batch | undefined;
}

/** What leasing needs of the extended path. */
export interface ExtendedLeasing {
  /** Queues that are known to be extended. */
  readonly queues: ExtendedQueues;
  readonly workers: Pick<Workers, 'see'>;
  readonly requested: Pick<RequestedQueues, 'see' | 'stop'>;
  readonly settler: Pick<Settler, 'undo'>;
}

/** Leases jobs to consumers, and takes back leases that did not reach their consumer. */
export class Leases {
  private readonly longPolls: LongPollManager;
  private readonly requests: Batcher<FetchRequest, FetchResult>;
  /** Fetch requests for the extended path. */
  private readonly beginnings: Batcher<Item, undefined>;
  private readonly extendedRequests: Batcher<FetchRequest, LeasedJob[] | null>;
  /** Fetch requests and undos that Redis has not answered yet. */
  private readonly underWay = new InFlight();
  private readonly offWake: () => void;

  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
    private readonly observer: EngineObserver,
    private readonly scheduleWakeup: (namespace: string, dueMs: number) => void,
    private readonly records: DeliveryLogs,
    private readonly extended: ExtendedLeasing,
    private readonly events: EventWriter,
    /** Start times of leases, read when a lease ends. */
    private readonly durations: LeaseDurations,
    waiters: WaitersByQueue,
  ) {
    this.requests = new Batcher((namespace, requests) =>
      fetchForPresent(requests, NOTHING_FOUND, (present) => this.runSimple(namespace, present)),
    );
    this.extendedRequests = new Batcher((namespace, requests) =>
      fetchForPresent(requests, [], async (present) => (await this.runExtended(namespace, present)).found),
    );
    this.beginnings = new Batcher(async (namespace, items) => {
      await runner.run(deliver, namespace, {}, items);
      return items.map(() => undefined);
    });
    this.longPolls = new LongPollManager(
      (namespace, requests, hand) => this.fetchForMany(namespace, requests, hand),
      (namespace, queues) => this.registerWaiters(namespace, queues),
      (namespace, request) => !this.needsExtended(namespace, request),
      (namespace, jobs) => this.giveBack(namespace, jobs),
      (count) => observer.waiters(count),
      (namespace, isWaiting) => (isWaiting ? pool.follow(namespace) : pool.unfollow(namespace)),
      (namespace, worker) => extended.workers.see(namespace, worker),
      waiters,
    );
    this.offWake = pool.onWake((namespace, queue, ended, type) => {
      if (ended !== undefined) this.longPolls.endOf(namespace, ended);
      else if (queue === null) this.longPolls.wakeAll(namespace);
      else this.longPolls.wake(namespace, queue, type);
    });
  }

  /** See `EngineCalls.lease`. */
  lease(namespace: string, options: TimedLeaseRequest): Promise<LeasedJob[]> {
    return new Promise((resolve, reject) => {
      checkNames(namespace, ...options.queues);
      checkRequest(options);
      const { linger } = options;
      const request = linger && (linger.ms === 0 || linger.min === 1) ? withoutLinger(options) : options;
      if (request.types !== undefined && /* guard: types-need-their-format */ this.pool.format < TYPES_SINCE)
        throw formatTooOld(this.pool, 'types', TYPES_SINCE, 'lease without types');
      // Before the fetch: a worker that has a job is listed.
      if (request.worker) this.extended.workers.see(namespace, request.worker);
      // A server that pushes, or sends callbacks, is no worker.
      if (/* guard: own-requests-are-no-workers */ request.isInternal !== true)
        this.extended.requested.see(namespace, request.queues, request.worker, request.types);
      const deliver = (jobs: LeasedJob[]): void => resolve(this.deliver(namespace, request, jobs));
      if (request.waitMs > 0 || request.linger !== undefined)
        this.longPolls.wait(namespace, request).then(deliver, reject);
      else this.take(namespace, { request, waits: false }, deliver, reject);
    });
  }

  /**
   * True if a request must use the extended path at once: it names types, takes turns, lingers, is of a server that
   * pushes, or a queue of it is known to be extended. The simple script reports other extended queues, and the request is
   * repeated.
   */
  private needsExtended(
    namespace: string,
    { types, inTurns, isPushed, linger, queues }: LeaseRequest,
  ): boolean {
    const isPlain = types === undefined && inTurns !== true && isPushed !== true && linger === undefined;
    return !isPlain || this.extended.queues.hasAny(namespace, queues);
  }

  /** See `LongPollManager.expectJob`. */
  expectJob(namespace: string, queue: string): void {
    this.longPolls.expectJob(namespace, queue);
  }

  /** See `EngineCalls.undo`. */
  async undo(namespace: string, jobs: readonly LeaseOfJob[]): Promise<void> {
    // Without the jobs' data: it may be kept for long.
    const leases = jobs.map(({ id, lease, receipt, leasedAtMs }) => ({ id, lease, receipt, leasedAtMs }));
    const undo = (): Promise<void> => this.undoOnce(namespace, leases);
    try {
      await undo();
    } catch (error) {
      this.records.undoLater(leases.length, undo, error);
      throw error;
    }
  }

  private async undoOnce(namespace: string, jobs: readonly LeaseOfJob[]): Promise<void> {
    const known = jobs.flatMap((job) => {
      const encoded = encodeId(job.id);
      return encoded ? [{ job, item: [encoded, job.lease] }] : [];
    });
    const items = known.map(({ item }) => item);
    const { codes } = await this.runner.run(undoScript, namespace, {}, items);
    const undone = codes.reduce((sum, code) => sum + (code === 1 ? 1 : 0), 0);
    const extendedJobs = known.flatMap(({ job }, i) => (codes[i] === EXTENDED ? [job] : []));
    if (extendedJobs.length > 0) await this.extended.settler.undo(namespace, extendedJobs);
    if (undone + extendedJobs.length > 0) this.observer.undone(namespace, undone + extendedJobs.length);
    // guard: undo-drops-record
    for (const receipt of new Set(jobs.map((job) => job.receipt))) receipt?.arrived();
  }

  /** See `EngineCalls.begin`. */
  begin(
    namespace: string,
    { id, lease, receipt }: Pick<LeasedJob, 'id' | 'lease' | 'receipt'>,
  ): Promise<void> {
    const encoded = encodeId(id);
    if (!encoded || receipt === undefined) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const item: Item = [receipt.record, encoded, lease];
      this.beginnings.add(namespace, [item], TAKE_WEIGHT, { done: () => resolve(), failed: reject });
    });
  }

  /** Ends every wait, now and in future. */
  stop(): void {
    this.offWake();
    this.extended.requested.stop();
    this.longPolls.close();
  }

  /** Resolves when no lease is being delivered to a consumer (who may have disconnected) or given back. */
  settled(): Promise<void> {
    return this.underWay.idle();
  }

  /** Returns the jobs to a client that is still connected; otherwise gives them back and returns none. */
  private deliver(namespace: string, { signal }: LeaseRequest, jobs: LeasedJob[]): LeasedJob[] {
    // guard: undo-after-the-lease-script
    if (jobs.length > 0 && signal?.aborted) {
      this.giveBack(namespace, jobs);
      return [];
    }
    for (const job of jobs) this.observer.leased(namespace, job.queue, job.elapsedMs);
    return jobs;
  }

  private take(
    namespace: string,
    fetch: FetchRequest,
    deliver: (jobs: LeasedJob[]) => void,
    reject: (error: unknown) => void,
  ): void {
    this.underWay.begin();
    const { request } = fetch;
    if (this.needsExtended(namespace, request)) {
      this.fetchExtended(namespace, fetch, deliver, reject);
      return;
    }
    this.requests.add(namespace, [fetch], weightOf(request), {
      done: (found, first) => {
        const { jobs, again, isExtended } = found[first] ?? NOTHING_FOUND;
        if (isExtended) this.extended.queues.add(namespace, request.queues);
        if (isExtended || (again && jobs.length === 0)) this.take(namespace, fetch, deliver, reject);
        else deliver(jobs);
        // Last: if something above throws, `failed` is called and ends it instead.
        this.underWay.end();
      },
      failed: (error) => {
        reject(error);
        this.underWay.end();
      },
    });
  }

  /**
   * Fetches for several equal requests for one job each: `hand` receives each job. Jobs of an extended queue are leased
   * for the request that is passed with them, which may name a worker. Rejects after all were answered if one of them
   * failed.
   *
   * @returns `too_few` if the requests linger, and there are fewer jobs than the minimum
   */
  private async fetchForMany(
    namespace: string,
    requests: readonly TimedLeaseRequest[],
    hand: Hand,
  ): Promise<FetchEnd> {
    const [first] = requests;
    if (!first) return;
    if (first.linger !== undefined) return this.fetchTogether(namespace, requests, hand);
    if (requests.length === 1 || this.needsExtended(namespace, first)) {
      await this.fetchForEach(namespace, requests, hand);
      return;
    }
    const { jobs, again, isExtended } = await this.fetchShared(namespace, first, requests);
    if (isExtended) {
      this.extended.queues.add(namespace, first.queues);
      await this.fetchForEach(namespace, requests, hand);
      return;
    }
    for (const job of jobs) hand([job]);
    if (again) await this.fetchForMany(namespace, requests.slice(jobs.length), hand);
  }

  /** Fetches for equal requests that linger, one after the other: what is too little for one is so for those after it. */
  private async fetchTogether(
    namespace: string,
    requests: readonly TimedLeaseRequest[],
    hand: Hand,
  ): Promise<FetchEnd> {
    for (const request of requests) {
      // Its client is gone.
      if (request.signal?.aborted === true) continue;
      const jobs = await this.takeTogether(namespace, { request, waits: true });
      if (jobs === 'too_few') return jobs;
      hand(jobs, request);
      if (jobs.length === 0) return;
    }
  }

  /** Leases the minimum of a request that lingers at least, or nothing. */
  private async takeTogether(namespace: string, fetch: FetchRequest): Promise<LeasedJob[] | 'too_few'> {
    this.underWay.begin();
    try {
      // In a script call of its own: it may have to drop what it planned.
      const { found, hasTooFew } = await this.runExtended(namespace, [partOf(fetch)]);
      const [jobs] = found;
      if (hasTooFew) return 'too_few';
      if (!jobs) return await this.takeTogether(namespace, fetch);
      const rest = restOf(fetch, jobs);
      if (!rest) return jobs;
      return await new Promise((resolve) => this.fetchRest(namespace, rest, jobs, resolve));
    } finally {
      this.underWay.end();
    }
  }

  private fetchShared(
    namespace: string,
    request: TimedLeaseRequest,
    sharedBy: readonly TimedLeaseRequest[],
  ): Promise<FetchResult> {
    this.underWay.begin();
    const weight = weightOf({ ...request, count: sharedBy.length });
    return new Promise<FetchResult>((resolve, reject) => {
      this.requests.add(namespace, [{ request, waits: true, sharedBy }], weight, {
        done: (found, first) => resolve(found[first] ?? NOTHING_FOUND),
        failed: reject,
      });
    }).finally(() => this.underWay.end());
  }

  private fetchForEach(namespace: string, requests: readonly TimedLeaseRequest[], hand: Hand): Promise<void> {
    return new Promise((resolve, reject) => {
      let open = requests.length;
      let failure: Error | null = null;
      const end = (): void => {
        if (--open > 0) return;
        if (failure === null) resolve();
        else reject(failure);
      };
      const fail = (error: unknown): void => {
        failure = error instanceof Error ? error : new Error('the fetch failed', { cause: error });
        end();
      };
      for (const request of requests) {
        const take = (jobs: LeasedJob[]): void => {
          hand(jobs, request);
          end();
        };
        this.take(namespace, { request, waits: true }, take, fail);
      }
    });
  }

  private fetchExtended(
    namespace: string,
    fetch: FetchRequest,
    deliver: (jobs: LeasedJob[]) => void,
    reject: (error: unknown) => void,
  ): void {
    const part = partOf(fetch);
    this.extendedRequests.add(namespace, [part], weightOfPart(part), {
      done: (found, first) => {
        const jobs = found[first];
        const rest = /* guard: long-lease-goes-on */ jobs ? restOf(fetch, jobs) : null;
        if (!jobs) this.take(namespace, fetch, deliver, reject);
        else if (rest) this.fetchRest(namespace, rest, jobs, deliver);
        else deliver(jobs);
        this.underWay.end();
      },
      failed: (error) => {
        reject(error);
        this.underWay.end();
      },
    });
  }

  /**
   * Fetches the rest of a request that has found jobs. If that fails or finds none, the client gets the jobs found so
   * far.
   */
  private fetchRest(
    namespace: string,
    rest: FetchRequest,
    jobs: readonly LeasedJob[],
    deliver: (jobs: LeasedJob[]) => void,
  ): void {
    const end = (more: readonly LeasedJob[]): void => deliver([...jobs, ...more]);
    this.take(namespace, rest, end, () => end([]));
  }

  /** Registers this server again as waiting for the queues. @returns indexes of the queues that may have jobs */
  private async registerWaiters(namespace: string, queues: readonly string[]): Promise<number[]> {
    const names = queues.map((queue): Item => [queue]);
    const { raw } = await this.runner.run(registerWaiters, namespace, { flag_ms: FLAG_MS }, names);
    return raw.slice(2).map((_place, i) => integerAt(raw, i + 2) - 1);
  }

  private async runExtended(
    namespace: string,
    requests: readonly FetchRequest[],
  ): Promise<Pick<ExtendedLeases, 'found' | 'hasTooFew'>> {
    const shortestMs = Math.min(
      ...requests.map(({ request }) =>
        request.hasOwnTtr === true ? Number.POSITIVE_INFINITY : request.ttrMs || Number.POSITIVE_INFINITY,
      ),
    );
    const items = requests.map(extendedItemOf);
    const answer = await this.runLease(namespace, extendedLease, items, shortestMs, (late) =>
      decodeExtendedLeases(late, requests).found.flatMap((jobs) => jobs ?? []),
    );
    const { found, hasTooFew, expired, nextMs } = decodeExtendedLeases(answer.raw, requests);
    this.recordDelivery(namespace, requests, found, answer);
    if (nextMs > 0) this.scheduleWakeup(namespace, nextMs);
    if (expired > 0) this.observer.expired(namespace, expired);
    return { found, hasTooFew };
  }

  private async runSimple(namespace: string, requests: readonly FetchRequest[]): Promise<FetchResult[]> {
    const groups = groupsOf(requests);
    let shortestMs = Number.POSITIVE_INFINITY;
    for (const { ttrMs } of groups) shortestMs = Math.min(shortestMs, ttrMs);
    const items = groups.map(itemOf);
    const answer = await this.runLease(namespace, leaseScript, items, shortestMs, (late) =>
      decodeLeases(late, groups, requests.length).items.flatMap(({ jobs }) => jobs),
    );
    const { items: found, expired } = decodeLeases(answer.raw, groups, requests.length);
    this.recordDelivery(
      namespace,
      requests,
      found.map(({ jobs }) => jobs),
      answer,
    );
    if (this.events.isOn) this.events.leased(namespace, found);
    if (expired > 0) this.observer.expired(namespace, expired);
    return found;
  }

  /**
   * Runs a lease script, with a delivery log entry that is kept until its responses have left.
   *
   * @param jobsOf reads the leases of a late reply: the clients have already been told of the failure, so the leases
   *   are given back
   */
  private async runLease(
    namespace: string,
    script: typeof leaseScript | typeof extendedLease,
    items: readonly Item[],
    shortestMs: number,
    jobsOf: (raw: Raw['raw']) => LeasedJob[],
  ): Promise<LeaseAnswer> {
    const batch = this.records.take(namespace, shortestMs);
    const args = { flag_ms: FLAG_MS, max_bytes: MAX_BYTES_OUT, record: batch?.slot.field ?? '' };
    const late = (reply: Raw): void => {
      if (reply.status === 0) this.giveBack(namespace, jobsOf(reply.raw));
    };
    const run = this.runner.run(
      script as typeof leaseScript,
      namespace,
      args,
      /* guard: waiters-register-with-the-lease */ items,
      late,
    );
    if (batch)
      run.catch((error: unknown) =>
        // guard: lost-lease-reply-is-given-back
        this.records.failed(batch, error),
      );
    const { raw, nowMs } = await run;
    return { raw, nowMs, batch };
  }

  /**
   * Schedules a pump wake-up for the first of the new leases to expire, and tells the batch how many responses must
   * arrive.
   */
  private recordDelivery(
    namespace: string,
    requests: readonly FetchRequest[],
    found: readonly (readonly LeasedJob[] | null)[],
    { nowMs, batch }: LeaseAnswer,
  ): void {
    let [calls, count, firstMs, lastMs] = [0, 0, Number.POSITIVE_INFINITY, 0];
    for (let i = 0; i < found.length; i++) {
      const jobs = found[i];
      if (!jobs || jobs.length === 0) continue;
      const confirms = requests[i]?.request.confirms === true;
      // Each client of a shared request gets a response of its own.
      if (confirms) calls += requests[i]?.sharedBy ? jobs.length : 1;
      count += jobs.length;
      for (const job of jobs) {
        if (confirms) job.receipt = batch;
        const isExtended = this.isOfExtendedQueue(namespace, job);
        this.durations.begin(job.id, nowMs, job.leaseEndsAtMs, job.elapsedMs, isExtended);
        firstMs = Math.min(firstMs, job.leaseEndsAtMs);
        lastMs = Math.max(lastMs, job.leaseEndsAtMs);
      }
    }
    batch?.leased(count, calls, lastMs);
    if (count > 0) this.scheduleWakeup(namespace, firstMs);
  }

  /** Whether a leased job is known to be of an extended queue: one with a type is in no other. */
  private isOfExtendedQueue(namespace: string, { queue, extended }: LeasedJob): boolean {
    if (extended === undefined) return false;
    if (this.extended.queues.hasAny(namespace, [queue])) return true;
    if (extended.type === null) return false;
    this.extended.queues.add(namespace, [queue]);
    return true;
  }

  /** Gives jobs back in the background. */
  private giveBack(namespace: string, jobs: readonly LeasedJob[]): void {
    if (jobs.length === 0) return;
    this.underWay.begin();
    this.undo(namespace, jobs)
      .catch((error: unknown) => this.observer.loopError('undo', error))
      .finally(() => this.underWay.end());
  }
}

/**
 * Fetches only for clients that are still connected when the script is sent.
 *
 * @param nothing the reply for a fetch request without one
 * @returns a reply for each fetch request
 */
async function fetchForPresent<R>(
  requests: readonly FetchRequest[],
  nothing: R,
  run: (present: readonly FetchRequest[]) => Promise<readonly R[]>,
): Promise<readonly R[]> {
  const parts = requests.map(presentPartOf);
  if (!parts.includes(null)) return run(parts as readonly FetchRequest[]);
  const present = parts.filter((part) => part !== null);
  const found = present.length > 0 ? (await run(present)).values() : [].values();
  return parts.map((part) => (part === null ? nothing : (found.next().value ?? nothing)));
}

function weightOf({ count, queues }: LeaseRequest): number {
  return count * TAKE_WEIGHT + (queues.length - 1) * NAME_WEIGHT;
}
