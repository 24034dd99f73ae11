import { performance } from 'node:perf_hooks';
import type { LeasedJob, ReserveRequest } from '../domain/job.js';
import { haveSameTerms } from './questions.js';

/** A waiting queue is looked at again after this, wake-up or not, in milliseconds: less than a second with what follows. */
const RECHECK_MS = 850;
/** Queues are looked at together that would be within so long of each other, in milliseconds. */
const TOGETHER_MS = 100;
const TICK_MS = 25;
/** How many waiters ask on a wake-up: one script's worth. It doubles for as long as all of them are served. */
const FIRST_WAVE = 64;
const LAST_WAVE = 512;
/** How many queues are looked at in one step: about a millisecond of Redis. */
const MOST_LOOKED_AT = 256;
/** Node's longest timer. */
const MAX_TIMER_MS = 2_147_483_647;

/**
 * Reserves for so many consumers who ask alike, one job each (a single one may want more), and hands over what each gets as soon as it is
 * there. Registers when not all are served. Rejects if it could not ask for one of them.
 */
type Ask = (
  namespace: string,
  request: ReserveRequest,
  seats: number,
  hand: (jobs: LeasedJob[]) => void,
) => Promise<void>;

/** Registers for queues that are empty. @returns the others' places among them */
type Look = (namespace: string, queues: readonly string[]) => Promise<readonly number[]>;

interface Waiter {
  readonly namespace: string;
  readonly request: ReserveRequest;
  readonly lines: readonly string[];
  readonly endsAtMs: number;
  readonly settle: (jobs: LeasedJob[], error?: unknown) => void;
  isAsking: boolean;
  /** A wake-up came while it was asking: it must not sleep on the answer. */
  isWoken: boolean;
  isOver: boolean;
}

/**
 * Where consumers wait for work: in memory, without a connection each. An empty reserve has registered this server's interest in
 * the same step, so a wake-up follows the next job; since wake-ups may be lost, each queue is looked at again within a second.
 */
export class WaitingRoom {
  /** `namespace queue` → its waiters, in the order in which they came. */
  private readonly lines = new Map<string, Set<Waiter>>();
  /** `namespace queue` → when to look again; in that order. */
  private readonly checks = new Map<string, number>();
  private readonly waves = new Map<string, { again: boolean }>();
  private count = 0;
  /** Lines of queues that were found empty, with this server's interest noted in the same step, and of which no wake-up came since. */
  private readonly empty = new Set<string>();
  /** What the last question or look failed with, by namespace, while anybody waits. */
  private readonly failures = new Map<string, unknown>();
  /** Lines that are being looked at. */
  private readonly looking = new Set<string>();
  private ticker: NodeJS.Timeout | undefined;
  private isClosed = false;

  /**
   * @param ask reserves for those who wait
   * @param look tells which queues somebody should ask for
   * @param isPlain the store gives the same to whoever asks, and nothing that it did not give a moment before unless a wake-up follows
   * @param giveBack undoes leases that nobody waits for any more
   * @param onCount hears how many wait
   * @param onLine hears that a queue of the namespace has its first waiter, or has none any more
   */
  constructor(
    private readonly ask: Ask,
    private readonly look: Look,
    private readonly isPlain: (namespace: string, request: ReserveRequest) => boolean,
    private readonly giveBack: (namespace: string, jobs: readonly LeasedJob[]) => void,
    private readonly onCount: (count: number) => void,
    private readonly onLine: (namespace: string, isWaiting: boolean) => void = () => undefined,
  ) {}

  /**
   * Waits for a first job, up to `request.waitMs`. It asks at once, unless the queue is known to be empty; a failure of that is the
   * caller's. Later failures are borne: only a wait that ends while the store is away fails.
   *
   * @returns the jobs, or [] when the time is over, the consumer has gone or the room is closed
   */
  wait(namespace: string, request: ReserveRequest): Promise<LeasedJob[]> {
    if (this.isClosed) return Promise.resolve([]);
    return new Promise((resolve, reject) => {
      const onAbort = (): void => waiter.settle([]);
      const waiter: Waiter = {
        namespace,
        request,
        lines: [...new Set(request.queues)].map((queue) => lineKey(namespace, queue)),
        endsAtMs: performance.now() + request.waitMs,
        isAsking: false,
        isWoken: false,
        isOver: false,
        settle: (jobs, error) => {
          if (waiter.isOver) return;
          waiter.isOver = true;
          clearTimeout(timer);
          request.signal?.removeEventListener('abort', onAbort);
          this.leave(waiter);
          if (error !== undefined)
            reject(error instanceof Error ? error : new Error('the wait failed', { cause: error }));
          else resolve(jobs);
        },
      };
      let timer = this.armTimer(waiter, (next) => (timer = next));
      const isKnownEmpty = this.isKnownEmpty(waiter);
      this.enter(waiter);
      request.signal?.addEventListener('abort', onAbort, { once: true });
      if (request.signal?.aborted) onAbort();
      else if (!isKnownEmpty) void this.askFor([waiter], true);
    });
  }

  /** A queue may have work: as many as wait for it ask, for as long as they are served. */
  wake(namespace: string, queue: string): void {
    const key = lineKey(namespace, queue);
    this.empty.delete(key);
    let isAnyIdle = false;
    for (const waiter of this.lines.get(key) ?? []) {
      // Whoever asks sees to it when the answer is there.
      if (waiter.isAsking) waiter.isWoken = true;
      else isAnyIdle = true;
    }
    if (isAnyIdle) void this.serve(key, FIRST_WAVE);
  }

  /** Any queue of the namespace may have work: what told of it was not heard. */
  wakeAll(namespace: string): void {
    const prefix = lineKey(namespace, '');
    for (const key of [...this.lines.keys()]) {
      if (key.startsWith(prefix)) this.wake(namespace, key.slice(prefix.length));
    }
  }

  /** Ends every wait now, with nothing, and lets nobody in from here on. */
  close(): void {
    this.isClosed = true;
    clearInterval(this.ticker);
    for (const line of [...this.lines.values()]) for (const waiter of [...line]) waiter.settle([]);
  }

  private enter(waiter: Waiter): void {
    for (const key of waiter.lines) {
      const line = this.lines.get(key);
      if (line) line.add(waiter);
      else {
        this.lines.set(key, new Set([waiter]));
        this.checks.set(key, nextCheckMs(performance.now()));
        this.onLine(waiter.namespace, true);
      }
    }
    this.onCount(++this.count);
    this.ticker ??= setInterval(() => this.tick(), TICK_MS);
  }

  private leave(waiter: Waiter): void {
    for (const key of waiter.lines) {
      const line = this.lines.get(key);
      line?.delete(waiter);
      if (line?.size === 0) {
        this.lines.delete(key);
        this.checks.delete(key);
        this.empty.delete(key);
        this.onLine(waiter.namespace, false);
      }
    }
    this.onCount(--this.count);
    if (this.count === 0) {
      clearInterval(this.ticker);
      this.ticker = undefined;
      this.failures.clear();
    }
  }

  /** Ends the wait in time. A wait may be longer than the longest timer. */
  private armTimer(waiter: Waiter, rearmed: (timer: NodeJS.Timeout) => void): NodeJS.Timeout {
    const leftMs = waiter.endsAtMs - performance.now();
    return setTimeout(
      () => {
        if (!hasEnded(waiter)) rearmed(this.armTimer(waiter, rearmed));
        // An answer that is under way ends the wait itself: it may bring a job, or tell that the store is away.
        else if (!waiter.isAsking && !waiter.lines.some((key) => this.looking.has(key))) this.end(waiter);
      },
      Math.min(Math.max(leftMs, 0), MAX_TIMER_MS),
    );
  }

  /** Somebody waits on that queue already and hears of the next job: there is nothing to be asked. */
  private isKnownEmpty({ namespace, request, lines }: Waiter): boolean {
    const [key = ''] = lines;
    const [oldest] = this.lines.get(key) ?? [];
    const isKnown = lines.length === 1 && this.empty.has(key) && !this.looking.has(key);
    return isKnown && oldest?.isAsking === false && this.isPlain(namespace, request);
  }

  /**
   * Asks once for all of a party, and again for those for whom a wake-up came meanwhile: their empty answer may be old. Where others are
   * faster each time, the wait still has its end.
   *
   * @param party waiters of one namespace who want the same (see `mayAskAsOne`)
   * @returns true if the first question served all of them
   */
  private async askFor(party: readonly Waiter[], isFirst = false): Promise<boolean> {
    const [first] = party;
    if (!first) return false;
    const { namespace, request, lines } = first;
    let isServed = true;
    for (let asking = party; asking.length > 0;) {
      for (const waiter of asking) {
        waiter.isAsking = true;
        waiter.isWoken = false;
      }
      const present = asking;
      const hand = (jobs: LeasedJob[]): void => {
        if (jobs.length === 0) return;
        const next = present.find(({ isOver }) => !isOver);
        if (next) next.settle(jobs);
        else this.giveBack(namespace, jobs);
      };
      const failure = await this.ask(namespace, request, asking.length, hand).then(
        () => undefined,
        (error: unknown) => error ?? new Error('the question failed'),
      );
      for (const waiter of asking) waiter.isAsking = false;
      const unserved = asking.filter((waiter) => !waiter.isOver);
      isServed &&= unserved.length === 0;
      this.note(namespace, lines, failure, unserved.length > 0);
      for (const waiter of unserved)
        if (hasEnded(waiter) || (failure !== undefined && isFirst)) this.end(waiter);
      asking = failure === undefined ? unserved.filter(({ isOver, isWoken }) => !isOver && isWoken) : [];
    }
    return isServed;
  }

  /** What a question or a look has told of some lines of a namespace. */
  private note(namespace: string, keys: readonly string[], failure: unknown, areEmpty: boolean): void {
    if (failure === undefined) this.failures.delete(namespace);
    else if (this.count > 0) this.failures.set(namespace, failure);
    for (const key of keys) {
      if (failure !== undefined) this.empty.delete(key);
      else if (areEmpty && this.lines.has(key)) this.empty.add(key);
    }
  }

  /** Ends a wait with nothing, or with what keeps the store from being asked. */
  private end(waiter: Waiter): void {
    waiter.settle([], this.failures.get(waiter.namespace));
  }

  /** Lets waiters of a line ask in waves, the next one twice as large, until one comes back with nothing. */
  private async serve(key: string, firstWave: number): Promise<void> {
    const running = this.waves.get(key);
    if (running) {
      running.again = true;
      return;
    }
    const wave = { again: false };
    this.waves.set(key, wave);
    try {
      let size = firstWave;
      do {
        wave.again = false;
        const parties = this.partiesOf(this.idle(key, size));
        const served = await Promise.all(parties.map((party) => this.askFor(party)));
        if (served.length > 0 && served.every(Boolean)) {
          wave.again = true;
          size = Math.min(Math.max(size, FIRST_WAVE / 2) * 2, LAST_WAVE);
        }
      } while (wave.again && this.lines.has(key));
    } finally {
      this.waves.delete(key);
    }
  }

  private idle(key: string, most: number): Waiter[] {
    const found: Waiter[] = [];
    for (const waiter of this.lines.get(key) ?? []) {
      if (found.length === most) break;
      if (!waiter.isAsking) found.push(waiter);
    }
    return found;
  }

  private tick(): void {
    const now = performance.now();
    const due = new Map<string, string[]>();
    for (const [key, at] of this.checks) {
      if (at > now) break;
      this.checks.delete(key);
      this.checks.set(key, nextCheckMs(now));
      const [first] = this.idle(key, 1);
      if (!first || this.looking.has(key)) continue;
      const keys = due.get(first.namespace);
      // Who has a name is heard by the store when it asks, and a full queue may give without a wake-up.
      if (!this.isPlain(first.namespace, first.request)) void this.serve(key, 1);
      else if (keys && keys.length < MOST_LOOKED_AT) keys.push(key);
      else {
        if (keys) void this.lookAt(first.namespace, keys);
        due.set(first.namespace, [key]);
      }
    }
    for (const [namespace, keys] of due) void this.lookAt(namespace, keys);
  }

  /** Has one waiter ask of each queue that may have jobs. */
  private async lookAt(namespace: string, keys: readonly string[]): Promise<void> {
    const skip = lineKey(namespace, '').length;
    for (const key of keys) this.looking.add(key);
    let places: readonly number[] = [];
    let failure: unknown;
    try {
      places = await this.look(
        namespace,
        keys.map((key) => key.slice(skip)),
      );
    } catch (error) {
      failure = error ?? new Error('the look failed');
    }
    const busy = new Set(places);
    const others = keys.filter((_key, place) => !busy.has(place));
    this.note(namespace, others, failure, true);
    for (const key of keys) {
      this.looking.delete(key);
      for (const waiter of this.lines.get(key) ?? [])
        if (!waiter.isAsking && hasEnded(waiter)) this.end(waiter);
    }
    for (const place of places) {
      const key = keys[place] ?? '';
      this.empty.delete(key);
      void this.serve(key, 1);
    }
  }

  /** Waiters who may ask as one, in their order. */
  private partiesOf(waiters: readonly Waiter[]): Waiter[][] {
    const parties: Waiter[][] = [];
    for (const waiter of waiters) {
      const last = parties.at(-1);
      if (last && last.length < FIRST_WAVE && this.mayAskAsOne(last[0], waiter)) last.push(waiter);
      else parties.push([waiter]);
    }
    return parties;
  }

  /** Each wants one job, in the same way, from the same queues. */
  private mayAskAsOne(first: Waiter | undefined, { namespace, request }: Waiter): boolean {
    return (
      first?.request.count === 1 &&
      request.count === 1 &&
      first.request.confirms === request.confirms &&
      haveSameTerms(first.request, request) &&
      this.isPlain(namespace, first.request) &&
      this.isPlain(namespace, request)
    );
  }
}

/**
 * Timers are as coarse as a millisecond, and may be that much early. Whoever asks must have the same answer: a timer that leaves the
 * end of the wait to an answer that is under way does not come again.
 */
function hasEnded({ endsAtMs }: Waiter): boolean {
  return performance.now() >= endsAtMs - 1;
}

function nextCheckMs(nowMs: number): number {
  return Math.ceil((nowMs + RECHECK_MS) / TOGETHER_MS) * TOGETHER_MS;
}

/** Names have no spaces. */
function lineKey(namespace: string, queue: string): string {
  return `${namespace} ${queue}`;
}
