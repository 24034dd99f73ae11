import { performance } from 'node:perf_hooks';
import type { LeasedJob } from '../../domain/job/job.js';
import { MAX_TIMER_MS } from '../../domain/limits.js';
import { isForQueue } from '../../domain/rights.js';
import type { EndedWaits } from '../../redis/wakeups.js';
import type { TimedLeaseRequest } from './fetch-requests.js';
import { haveSameTerms, withoutLinger } from './fetch-requests.js';

/**
 * A queue with waiters is checked again after this time even without a wake-up, in milliseconds: below one second
 * including the check.
 */
const RECHECK_MS = 850;
/** Queues whose checks are due within this time of each other are checked together, in milliseconds. */
const TOGETHER_MS = 100;
const TICK_MS = 25;
/** How many waiters send a fetch request on a wake-up: one script's worth. Doubles as long as all of them get a job. */
const FIRST_BURST = 64;
const LAST_BURST = 512;
/** How many queues are checked in one script: about a millisecond of Redis. */
const MAX_CHECKED = 256;

/** Receives jobs for a waiter: for the one of the request that is given, else for any of those that share the fetch. */
export type Hand = (jobs: LeasedJob[], request?: TimedLeaseRequest) => void;

/**
 * Fetches jobs for equal requests, one job each (a single request may want more), and hands them over as they arrive.
 * Registers this server as waiting if not all get a job. Rejects if one of the requests failed.
 */
type Fetch = (namespace: string, requests: readonly TimedLeaseRequest[], hand: Hand) => Promise<FetchEnd>;

/** `too_few`: the requests linger, and nothing was leased: there are jobs, but fewer than their minimum. */
export type FetchEnd = 'too_few' | undefined;

/** Registers this server as waiting for the queues that are empty. @returns the indexes of the others */
type RegisterWaiters = (namespace: string, queues: readonly string[]) => Promise<readonly number[]>;

/** `namespace queue` → its waiters, in the order of arrival. */
export type WaitersByQueue = Map<string, Set<Waiter>>;

interface Waiter {
  readonly namespace: string;
  /** As it is sent now: one that has lingered for long enough takes the jobs that are there. */
  request: TimedLeaseRequest;
  /** As it came. */
  readonly wholeRequest: TimedLeaseRequest;
  readonly queues: readonly string[];
  /** The types that it names, '' = none, and how they are compared; undefined: it takes any job. */
  readonly types: ReadonlySet<string> | undefined;
  readonly typesText: string | undefined;
  readonly endsAtMs: number;
  /** Undefined unless it lingers, and there are jobs, but too few. */
  lingersUntilMs: number | undefined;
  timer: NodeJS.Timeout | undefined;
  readonly settle: (jobs: LeasedJob[], error?: unknown) => void;
  isFetching: boolean;
  /** A wake-up came during its fetch: an empty reply is not reliable then. */
  isWoken: boolean;
  /** See `expectJob`. */
  hasFetchedAhead: boolean;
  isOver: boolean;
}

/**
 * Keeps long polls waiting in memory, without a connection each. An empty fetch registers this server as waiting,
 * atomically, so the next job causes a wake-up. Wake-ups may be lost: each queue is checked again within a second.
 */
export class LongPollManager {
  /** `namespace queue` → when to check again; in that order. */
  private readonly checks = new Map<string, number>();
  /** `namespace queue`, with a type behind it if only its waiters are served. */
  private readonly bursts = new Map<string, { again: boolean }>();
  /** `namespace worker` → its waiters. */
  private readonly ofWorkers = new Map<string, Set<Waiter>>();
  private count = 0;
  private clients = 0;
  /** Queues that were found empty, with this server registered as waiting atomically, and that had no wake-up since. */
  private readonly empty = new Set<string>();
  /** Error of the last fetch or check, by namespace, while there are waiters. */
  private readonly failures = new Map<string, unknown>();
  /** Queues that are being checked. */
  private readonly checking = new Set<string>();
  private ticker: NodeJS.Timeout | undefined;
  private isClosed = false;

  /**
   * @param fetch fetches jobs for waiters
   * @param registerWaiters registers this server as waiting; returns the queues that may have jobs
   * @param isSimple true if the result does not depend on the client, and can only change after a wake-up
   * @param giveBack undoes leases whose waiters have gone
   * @param onCount is called with the number of waiters that are clients
   * @param onQueue is called when a queue of the namespace gets its first waiter or loses its last one
   * @param onWorker is called for each named worker that waits, about once a second
   * @param queues the waiters; others may look whether there are any
   */
  constructor(
    private readonly fetch: Fetch,
    private readonly registerWaiters: RegisterWaiters,
    private readonly isSimple: (namespace: string, request: TimedLeaseRequest) => boolean,
    private readonly giveBack: (namespace: string, jobs: readonly LeasedJob[]) => void,
    private readonly onCount: (count: number) => void,
    private readonly onQueue: (namespace: string, isWaiting: boolean) => void = () => undefined,
    private readonly onWorker: (namespace: string, worker: string) => void = () => undefined,
    private readonly queues: WaitersByQueue = new Map(),
  ) {}

  /**
   * Waits for the first job, up to `request.waitMs`; a request with `linger` goes on from there. Sends a fetch request at
   * once unless the queue is known to be empty; rejects if that fails. Later failures are tolerated: the wait fails only
   * if it ends while the store is unavailable.
   *
   * @returns the jobs, or [] if the time is over, the consumer has disconnected or the manager is closed
   */
  wait(namespace: string, request: TimedLeaseRequest): Promise<LeasedJob[]> {
    if (this.isClosed) return Promise.resolve([]);
    return new Promise((resolve, reject) => {
      const onAbort = (): void => waiter.settle([]);
      const types = request.types?.map((type) => type ?? '').toSorted();
      const waiter: Waiter = {
        namespace,
        request,
        wholeRequest: request,
        types: types && new Set(types),
        typesText: types?.join('\n'),
        queues: [...new Set(request.queues)].map((queue) => queueKey(namespace, queue)),
        endsAtMs: performance.now() + request.waitMs,
        lingersUntilMs: undefined,
        timer: undefined,
        isFetching: false,
        isWoken: false,
        hasFetchedAhead: false,
        isOver: false,
        settle: (jobs, error) => {
          if (waiter.isOver) return;
          waiter.isOver = true;
          clearTimeout(waiter.timer);
          request.signal?.removeEventListener('abort', onAbort);
          this.remove(waiter);
          if (error !== undefined)
            reject(error instanceof Error ? error : new Error('the wait failed', { cause: error }));
          else resolve(jobs);
        },
      };
      this.startTimer(waiter);
      const isKnownEmpty = this.isKnownEmpty(waiter);
      this.add(waiter);
      request.signal?.addEventListener('abort', onAbort, { once: true });
      if (request.signal?.aborted) onAbort();
      else if (!isKnownEmpty) void this.fetchFor([waiter], true);
    });
  }

  /**
   * Serves the waiters of a queue that may have jobs, in bursts, as long as they get jobs.
   *
   * @param type that of the jobs, '' = none; undefined: any type
   */
  wake(namespace: string, queue: string, type?: string): void {
    const key = queueKey(namespace, queue);
    this.empty.delete(key);
    let isAnyIdle = false;
    for (const waiter of this.queues.get(key) ?? []) {
      if (!takes(waiter, type)) continue;
      // A waiter that is fetching sends its request again after the reply.
      if (waiter.isFetching) waiter.isWoken = true;
      else isAnyIdle = true;
    }
    if (isAnyIdle) void this.serve(key, FIRST_BURST, type);
  }

  /**
   * This process has a job for the queue in its next script call. A single waiter fetches right behind it, without
   * waiting for the wake-up. Several waiters wait for the wake-up and share a fetch: two fetches would cost more. Each
   * waiter does so once: a queue that is paused or at a limit has no job for it, however many are published.
   */
  expectJob(namespace: string, queue: string): void {
    const key = queueKey(namespace, queue);
    const waiters = this.queues.get(key);
    if (
      /* guard: several-waiters-wait-for-the-wake-up */ waiters?.size !== 1 ||
      /* guard: no-prefetch-while-unavailable */ !this.empty.has(key) ||
      this.checking.has(key)
    )
      return;
    for (const waiter of waiters) {
      const mayFetch = !waiter.isFetching && waiter.request.linger === undefined;
      if (!mayFetch || /* guard: prefetch-once */ waiter.hasFetchedAhead) continue;
      waiter.hasFetchedAhead = true;
      void this.fetchFor([waiter]);
    }
  }

  /** Serves all queues of a namespace: wake-ups of it may have been lost. */
  wakeAll(namespace: string): void {
    const prefix = queueKey(namespace, '');
    for (const key of [...this.queues.keys()]) {
      if (key.startsWith(prefix)) this.wake(namespace, key.slice(prefix.length));
    }
  }

  /** Ends the waits of a worker, with no jobs; with a scope, those that a caller of this scope could have begun. */
  endOf(namespace: string, { worker, scope }: EndedWaits): void {
    const rights = scope === undefined ? null : { verbs: [], queues: scope.split(',') };
    for (const waiter of [...(this.ofWorkers.get(queueKey(namespace, worker)) ?? [])])
      if (waiter.request.queues.every((queue) => isForQueue(rights, queue))) waiter.settle([]);
  }

  /** Ends every wait now, with no jobs, and accepts no new ones. */
  close(): void {
    this.isClosed = true;
    clearInterval(this.ticker);
    for (const waiters of [...this.queues.values()]) for (const waiter of [...waiters]) waiter.settle([]);
  }

  private add(waiter: Waiter): void {
    for (const key of waiter.queues) {
      const waiters = this.queues.get(key);
      if (waiters) waiters.add(waiter);
      else {
        this.queues.set(key, new Set([waiter]));
        this.checks.set(key, nextCheckMs(performance.now()));
        this.onQueue(waiter.namespace, true);
      }
    }
    const { namespace, request } = waiter;
    if (request.worker) {
      const key = queueKey(namespace, request.worker);
      const own = this.ofWorkers.get(key);
      if (own) own.add(waiter);
      else this.ofWorkers.set(key, new Set([waiter]));
    }
    this.count++;
    if (request.isInternal !== true) this.onCount(++this.clients);
    this.ticker ??= setInterval(() => this.tick(), TICK_MS);
  }

  private remove(waiter: Waiter): void {
    for (const key of waiter.queues) {
      const waiters = this.queues.get(key);
      waiters?.delete(waiter);
      if (waiters?.size === 0) {
        this.queues.delete(key);
        this.checks.delete(key);
        this.empty.delete(key);
        this.onQueue(waiter.namespace, false);
      }
    }
    const { namespace, request } = waiter;
    if (request.worker) {
      const key = queueKey(namespace, request.worker);
      const own = this.ofWorkers.get(key);
      own?.delete(waiter);
      if (own?.size === 0) this.ofWorkers.delete(key);
    }
    this.count--;
    if (request.isInternal !== true) this.onCount(--this.clients);
    if (this.count === 0) {
      clearInterval(this.ticker);
      this.ticker = undefined;
      this.failures.clear();
    }
  }

  /** Starts the timer that ends a wait, or a linger. Both may be longer than the longest timer. */
  private startTimer(waiter: Waiter): void {
    const leftMs = (waiter.lingersUntilMs ?? waiter.endsAtMs) - performance.now();
    clearTimeout(waiter.timer);
    waiter.timer = setTimeout(
      () => this.onTimer(waiter),
      // guard: long-wait-timer
      Math.min(Math.max(leftMs, 0), MAX_TIMER_MS),
    );
  }

  private onTimer(waiter: Waiter): void {
    const isOver = hasEnded(waiter) || hasLingered(waiter);
    if (!isOver) this.startTimer(waiter);
    // A fetch in progress ends the wait itself: it may bring a job, or show that the store is unavailable.
    else if (waiter.isFetching) return;
    else if (hasLingered(waiter)) this.takeWhatIsThere(waiter);
    else if (!waiter.queues.some((key) => this.checking.has(key))) this.end(waiter);
  }

  private takeWhatIsThere(waiter: Waiter): void {
    // guard: linger-ends
    waiter.request = withoutLinger(waiter.wholeRequest);
    void this.fetchFor([waiter]);
  }

  /** After a fetch that brought a request that lingers no jobs. */
  private goOnLingering(waiter: Waiter, hasTooFew: boolean): void {
    if (waiter.wholeRequest.linger === undefined) return;
    if (hasTooFew) waiter.lingersUntilMs ??= performance.now() + waiter.wholeRequest.linger.ms;
    else {
      // Other workers took the jobs, or the store is away: it waits for a first job again.
      waiter.request = /* guard: linger-begins-again */ waiter.wholeRequest;
      waiter.lingersUntilMs = undefined;
    }
    this.startTimer(waiter);
  }

  /**
   * True if an older waiter is registered for that queue and the queue was empty: a fetch would find nothing. One that takes only some of its jobs
   * does not count: the others may be there.
   */
  private isKnownEmpty({ namespace, request, queues }: Waiter): boolean {
    const [key = ''] = queues;
    const [oldest] = this.queues.get(key) ?? [];
    const isKnown = queues.length === 1 && this.empty.has(key) && !this.checking.has(key);
    // guard: newcomer-fetches-during-a-wake-up
    return (
      isKnown &&
      oldest?.isFetching === false &&
      this.isSimple(namespace, request) &&
      /* guard: newcomer-takes-more-jobs */ this.isSimple(namespace, oldest.wholeRequest)
    );
  }

  /**
   * Fetches once for a group, and again for the waiters that had a wake-up meanwhile: their empty reply may be
   * outdated. If other servers are faster each time, the waits still end in time.
   *
   * @param group waiters of one namespace with equal requests (see `mayShareFetch`)
   * @returns true if the first fetch served all of them
   */
  private async fetchFor(group: readonly Waiter[], isFirst = false): Promise<boolean> {
    const [first] = group;
    if (!first) return false;
    const { namespace, queues } = first;
    let isServed = true;
    for (let fetching = group; fetching.length > 0;) {
      for (const waiter of fetching) {
        waiter.isFetching = true;
        waiter.isWoken = false;
      }
      const present = fetching;
      const hand: Hand = (jobs, request) => {
        if (jobs.length === 0) return;
        const next = present.find(
          (waiter) =>
            !waiter.isOver && /* guard: lease-for-its-request */ (!request || waiter.request === request),
        );
        if (next) next.settle(jobs);
        else /* guard: undo-when-no-waiter-is-left */ this.giveBack(namespace, jobs);
      };
      const requests = fetching.map(({ request }) => request);
      let failure: unknown;
      const end = await this.fetch(namespace, requests, hand).catch((error: unknown) => {
        failure = error ?? new Error('the fetch failed');
        return undefined;
      });
      const hasTooFew = end === 'too_few';
      for (const waiter of fetching) waiter.isFetching = false;
      const unserved = fetching.filter((waiter) => !waiter.isOver);
      isServed &&= unserved.length === 0;
      this.recordResult(
        namespace,
        queues,
        failure,
        unserved.length > 0 && /* guard: too-few-are-not-none */ !hasTooFew,
      );
      for (const waiter of unserved) {
        this.goOnLingering(waiter, hasTooFew);
        if (hasEnded(waiter) || (failure !== undefined && isFirst)) this.end(waiter);
      }
      fetching = failure === undefined ? unserved.filter(mustFetchAgain) : [];
    }
    return isServed;
  }

  /** Records the result of a fetch or check for some queues of a namespace. */
  private recordResult(
    namespace: string,
    keys: readonly string[],
    failure: unknown,
    areEmpty: boolean,
  ): void {
    if (failure === undefined) this.failures.delete(namespace);
    else if (this.count > 0) this.failures.set(namespace, failure);
    for (const key of keys) {
      if (failure !== undefined) /* guard: newcomer-fetches-after-a-failure */ this.empty.delete(key);
      else if (areEmpty && this.queues.has(key)) this.empty.add(key);
    }
  }

  /** Ends a wait with no jobs, or with the error that makes the store unavailable. */
  private end(waiter: Waiter): void {
    waiter.settle([], this.failures.get(waiter.namespace));
  }

  /**
   * Serves the waiters of a queue in bursts, each twice as large as the one before, until a burst is not fully served.
   *
   * @param type only those that take jobs of it; undefined: all
   */
  private async serve(key: string, firstBurst: number, type?: string): Promise<void> {
    const name = type === undefined ? key : `${key} ${type}`;
    const running = this.bursts.get(name);
    if (running) {
      running.again = true;
      return;
    }
    const burst = { again: false };
    this.bursts.set(name, burst);
    try {
      let size = firstBurst;
      do {
        burst.again = false;
        // guard: lingering-request-takes-no-place
        this.serveLingering(key, type);
        const groups = this.groupsOf(this.idle(key, size, type));
        const served = await Promise.all(groups.map((group) => this.fetchFor(group)));
        if (served.length > 0 && served.every(Boolean)) {
          burst.again = true;
          size = Math.min(Math.max(size, FIRST_BURST / 2) * 2, LAST_BURST);
        }
      } while (burst.again && this.queues.has(key));
    } finally {
      this.bursts.delete(name);
    }
  }

  /** Before a burst, so that they are no part of it: what is too little for them may be enough for all others. */
  private serveLingering(key: string, type?: string): void {
    const waiters = [...(this.queues.get(key) ?? [])].filter(
      (waiter) => waiter.request.linger !== undefined && !waiter.isFetching && takes(waiter, type),
    );
    for (const group of this.groupsOf(waiters)) void this.fetchFor(group);
  }

  private idle(key: string, most: number, type?: string): Waiter[] {
    const found: Waiter[] = [];
    for (const waiter of this.queues.get(key) ?? []) {
      if (found.length === most) break;
      if (!waiter.isFetching && takes(waiter, type)) found.push(waiter);
    }
    return found;
  }

  /** The first of the waiters for each set of types: one for any job, if there is one, comes first. */
  private idleByTypes(key: string): Waiter[] {
    const found = new Map<string | undefined, Waiter>();
    for (const waiter of this.queues.get(key) ?? []) {
      if (found.size === FIRST_BURST) break;
      if (!waiter.isFetching && !found.has(waiter.typesText)) found.set(waiter.typesText, waiter);
    }
    const isForAny = ({ types }: Waiter): number => Number(types === undefined);
    return [...found.values()].toSorted((one, other) => isForAny(other) - isForAny(one));
  }

  private tick(): void {
    const now = performance.now();
    const due = new Map<string, string[]>();
    for (const [key, at] of this.checks) {
      if (at > now) break;
      this.checks.delete(key);
      this.checks.set(key, nextCheckMs(now));
      this.reportWorkers(key);
      // guard: recheck-asks-for-lingering-requests
      this.serveLingering(key);
      const [first, ...others] = this.idleByTypes(key);
      if (!first || this.checking.has(key)) continue;
      for (const waiter of /* guard: recheck-asks-for-all-types */ others)
        void this.fetchFor([waiter]).then((isServed) => (isServed ? this.serve(key, 1) : undefined));
      const keys = due.get(first.namespace);
      // An extended queue may have jobs without a wake-up.
      if (!this.isSimple(first.namespace, first.request))
        // guard: recheck-asks-for-extended-queues
        void this.serve(key, 1);
      else if (keys && keys.length < MAX_CHECKED) keys.push(key);
      else {
        if (keys) void this.check(first.namespace, keys);
        due.set(first.namespace, [key]);
      }
    }
    for (const [namespace, keys] of due) void this.check(namespace, keys);
  }

  private reportWorkers(key: string): void {
    for (const { namespace, request } of this.queues.get(key) ?? [])
      if (request.worker) this.onWorker(namespace, request.worker);
  }

  /** Checks queues, and sends a fetch request of one waiter for each queue that may have jobs. */
  private async check(namespace: string, keys: readonly string[]): Promise<void> {
    const skip = queueKey(namespace, '').length;
    for (const key of keys) this.checking.add(key);
    let places: readonly number[] = [];
    let failure: unknown;
    try {
      places = await this.registerWaiters(
        namespace,
        keys.map((key) => key.slice(skip)),
      );
    } catch (error) {
      failure = error ?? new Error('the check failed');
    }
    const busy = new Set(places);
    const others = keys.filter((_key, place) => !busy.has(place));
    this.recordResult(namespace, others, failure, true);
    for (const key of keys) {
      this.checking.delete(key);
      for (const waiter of this.queues.get(key) ?? [])
        if (!waiter.isFetching && hasEnded(waiter)) this.end(waiter);
    }
    for (const place of places) {
      const key = /* guard: recheck-lost-wakeup */ keys[place] ?? '';
      this.empty.delete(key);
      void this.serve(key, 1);
    }
  }

  /** Groups waiters that may share a fetch, keeping their order. */
  private groupsOf(waiters: readonly Waiter[]): Waiter[][] {
    const groups: Waiter[][] = [];
    for (const waiter of waiters) {
      const last = groups.at(-1);
      if (last && last.length < FIRST_BURST && this.mayShareFetch(last[0], waiter)) last.push(waiter);
      else groups.push([waiter]);
    }
    return groups;
  }

  /** True if both want one job each, with the same terms, from the same queues; or linger for the same jobs. */
  private mayShareFetch(first: Waiter | undefined, waiter: Waiter): boolean {
    const { namespace, request } = waiter;
    if (request.linger !== undefined) return first !== undefined && lingerForTheSame(first, waiter);
    return (
      first?.request.count === 1 &&
      request.count === 1 &&
      first.request.confirms === request.confirms &&
      haveSameTerms(first.request, request) &&
      this.isSimple(namespace, first.request) &&
      this.isSimple(namespace, request)
    );
  }
}

/**
 * Timers have a precision of a millisecond, and may fire that much early. All callers must use the same tolerance: a
 * timer that leaves the end of the wait to a fetch in progress does not fire again.
 */
function hasEnded({ endsAtMs, lingersUntilMs }: Waiter): boolean {
  return lingersUntilMs === undefined && performance.now() >= endsAtMs - 1;
}

function hasLingered({ lingersUntilMs = Number.POSITIVE_INFINITY }: Waiter): boolean {
  return performance.now() >= lingersUntilMs - 1;
}

/** Not if it takes what is there, by its timer. */
function mustFetchAgain(waiter: Waiter): boolean {
  return /* guard: wakeup-during-fetch */ !waiter.isOver && waiter.isWoken && !hasLingered(waiter);
}

function lingerForTheSame(
  { request: one, typesText }: Waiter,
  { request: other, typesText: types }: Waiter,
): boolean {
  const isEqual = one.linger?.min === other.linger?.min && one.count === other.count && typesText === types;
  return isEqual && haveSameTerms(one, other);
}

function takes({ types }: Waiter, type: string | undefined): boolean {
  return type === undefined || types === undefined || /* guard: wake-up-of-a-type */ types.has(type);
}

function nextCheckMs(nowMs: number): number {
  return Math.ceil((nowMs + RECHECK_MS) / TOGETHER_MS) * TOGETHER_MS;
}

/** Key of a queue in the maps. Names have no spaces. */
function queueKey(namespace: string, queue: string): string {
  return `${namespace} ${queue}`;
}
