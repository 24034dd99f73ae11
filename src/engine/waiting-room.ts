import { performance } from 'node:perf_hooks';
import type { LeasedJob, ReserveRequest } from '../domain/job.js';

/** A waiting queue is looked at again after this, wake-up or not, in milliseconds: less than a second with the tick. */
const RECHECK_MS = 850;
const TICK_MS = 25;
/** How many waiters ask on a wake-up: one script's worth. It doubles for as long as all of them are served. */
const FIRST_WAVE = 64;
const LAST_WAVE = 512;
/** Node's longest timer. */
const MAX_TIMER_MS = 2_147_483_647;

type Ask = (namespace: string, request: ReserveRequest) => Promise<LeasedJob[]>;

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
  private failure: unknown = null;
  private ticker: NodeJS.Timeout | undefined;
  private isClosed = false;

  /**
   * @param ask reserves for one request, registering when it finds nothing
   * @param giveBack undoes leases that nobody waits for any more
   * @param onCount hears how many wait
   * @param onLine hears that a queue of the namespace has its first waiter, or has none any more
   */
  constructor(
    private readonly ask: Ask,
    private readonly giveBack: (namespace: string, jobs: readonly LeasedJob[]) => void,
    private readonly onCount: (count: number) => void,
    private readonly onLine: (namespace: string, isWaiting: boolean) => void = () => undefined,
  ) {}

  /**
   * Waits for a first job, up to `request.waitMs`. It asks at once; a failure of that is the caller's. Later failures are borne: only
   * a wait that ends while the store is away fails.
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
      this.enter(waiter);
      request.signal?.addEventListener('abort', onAbort, { once: true });
      if (request.signal?.aborted) onAbort();
      else void this.askFor(waiter, true);
    });
  }

  /** A queue may have work: as many as wait for it ask, for as long as they are served. */
  wake(namespace: string, queue: string): void {
    const key = lineKey(namespace, queue);
    for (const waiter of this.lines.get(key) ?? []) if (waiter.isAsking) waiter.isWoken = true;
    void this.serve(key, FIRST_WAVE);
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
        this.checks.set(key, performance.now() + RECHECK_MS);
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
        this.onLine(waiter.namespace, false);
      }
    }
    this.onCount(--this.count);
    if (this.count === 0) {
      clearInterval(this.ticker);
      this.ticker = undefined;
    }
  }

  /** Ends the wait in time. A wait may be longer than the longest timer. */
  private armTimer(waiter: Waiter, rearmed: (timer: NodeJS.Timeout) => void): NodeJS.Timeout {
    const leftMs = waiter.endsAtMs - performance.now();
    return setTimeout(
      () => {
        if (!hasEnded(waiter)) rearmed(this.armTimer(waiter, rearmed));
        // An answer that is under way ends the wait itself: it may bring a job.
        else if (!waiter.isAsking) waiter.settle([], this.failure ?? undefined);
      },
      Math.min(Math.max(leftMs, 0), MAX_TIMER_MS),
    );
  }

  /** Asks once, and again while wake-ups came meanwhile. True if the waiter got something. */
  private async askFor(waiter: Waiter, isFirst = false): Promise<boolean> {
    waiter.isAsking = true;
    try {
      do {
        waiter.isWoken = false;
        const jobs = await this.ask(waiter.namespace, waiter.request);
        this.failure = null;
        if (jobs.length > 0) {
          if (waiter.isOver) this.giveBack(waiter.namespace, jobs);
          else waiter.settle(jobs);
          return true;
        }
      } while (mustAskAgain(waiter));
    } catch (error) {
      this.failure = error;
      if (isFirst) waiter.settle([], error);
    } finally {
      waiter.isAsking = false;
    }
    if (hasEnded(waiter)) waiter.settle([], this.failure ?? undefined);
    return false;
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
        const served = await Promise.all(this.idle(key, size).map((waiter) => this.askFor(waiter)));
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
    for (const [key, at] of this.checks) {
      if (at > now) break;
      this.checks.delete(key);
      this.checks.set(key, now + RECHECK_MS);
      void this.serve(key, 1);
    }
  }
}

/**
 * Timers are as coarse as a millisecond, and may be that much early. Whoever asks must have the same answer: a timer that leaves the
 * end of the wait to an answer that is under way does not come again.
 */
function hasEnded({ endsAtMs }: Waiter): boolean {
  return performance.now() >= endsAtMs - 1;
}

/** A wake-up came while it was asking, so the empty answer may be old. Where others are faster each time, the wait still has its end. */
function mustAskAgain(waiter: Waiter): boolean {
  return waiter.isWoken && !waiter.isOver && !hasEnded(waiter);
}

/** Names have no spaces. */
function lineKey(namespace: string, queue: string): string {
  return `${namespace} ${queue}`;
}
