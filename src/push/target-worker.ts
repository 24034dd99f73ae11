import type { LeasedJob } from '../domain/job/job.js';
import type { Log } from '../domain/log.js';
import { PUSH_URL, pushUrlOf } from '../domain/push-url.js';
import type { TargetCalls } from '../engine/engine.js';
import type { PoolEngine } from '../engine/pool-engine.js';
import type { PushMetrics, TargetSeries } from '../metrics/push-metrics.js';
import type { BreakerChange } from '../engine/queues/targets.js';
import { type ChangedBreaker, FailureCounter, SharedBreaker } from './breaker.js';
import type { AckLinks } from './ack-links.js';
import { leaseMsOf, MORE_MS, recordOutcome, watchLease } from './job-lease.js';
import { LeaseLoop, PAUSE_MS } from './lease-loop.js';
import { messageOf } from './send/message.js';
import type { PushAnswer, Sender } from './send/sender.js';
import { SendError } from './send/send-error.js';
import type { TenantSlots } from './slots.js';
import {
  type OpenBreaker,
  openUntilOf,
  readTarget,
  type Target,
  type TargetSecrets,
} from '../engine/queues/stored-targets.js';
import { pauseOf } from './targets.service.js';
import { type Verdict, verdictOfAnswer, verdictOfError } from './send/verdict.js';

/** What a worker knows of its target; renewed when something of it has changed. */
export interface WorkerTarget {
  readonly target: Target;
  /** Null: this server cannot decrypt them. */
  readonly secrets: TargetSecrets | null;
  readonly queues: readonly string[];
  /** Its open breakers, by origin; '' = of its own URL. */
  readonly breakers: ReadonlyMap<string, OpenBreaker>;
}

/** Where a job goes. */
interface Way {
  readonly url: URL;
  /** '' = to the URL of the target. */
  readonly origin: string;
}

/** What watches one origin, or the URL of the target. */
interface Watch {
  readonly counter: FailureCounter;
  readonly shared: SharedBreaker;
  /** True: it was closed, but the store did not take that. The next answers are to close it there, too. */
  isToClose: boolean;
}

export interface WorkerParts {
  readonly engine: PoolEngine;
  /** Targets as clients see them: of two pools, while they move. */
  readonly clientTargets: TargetCalls;
  readonly pool: string;
  /** The pool in which clients find its jobs, also while and after it moves. */
  readonly clientPool: string;
  readonly namespace: string;
  readonly name: string;
  readonly sender: Sender;
  readonly slots: TenantSlots;
  readonly log: Log;
  /** True once the server lets no client wait any more. */
  readonly isClosing: () => boolean;
  /** Null: this server makes no URLs that acknowledge. */
  readonly links: AckLinks | null;
  readonly metrics: PushMetrics | undefined;
}

/** How long one lease request waits for a job, in milliseconds. */
const WAIT_MS = 20_000;
/** Jobs of one lease request. */
const MOST_JOBS = 32;
/** Pause of a busy worker after a lease of a few jobs, in milliseconds: slots get free meanwhile, and the next one takes more. */
const GATHER_MS = 2;
/** Bytes of an answer that are read: what a job can keep as its result. */
const MAX_ANSWER_BYTES = 65_536;
/** As long as a worker rests at most, in milliseconds: the clock of Redis may be set meanwhile. */
const LONGEST_REST_MS = 10_000;
/** How long a job is held back, at least, while another one shows whether its origin works again. */
const HELD_MS = 1_000;
/** Characters of an answer that are kept with the breaker that it opened. */
const MOST_ANSWERED = 120;
/** A change of a breaker that is not known to be stored. */
const NOT_STORED: ChangedBreaker = { isDone: false, breaker: null };
const NOT_SENT = { isGone: false, isHealthy: null } as const;
const HELD: Verdict = { action: 'release', group: '', message: '', ...NOT_SENT };
const NOT_ALLOWED: Verdict = {
  ...{ action: 'fail', group: 'blocked', message: 'the target has no such origin', ...NOT_SENT },
};

/**
 * Sends the jobs of a target's queues, one after another as slots get free. A job that is leased is settled here, under its
 * lease, or comes back when the lease ends.
 */
export class TargetWorker {
  private readonly key: string;
  /** Of the target. */
  private url: URL;
  /** By origin, '' = the URL of the target. */
  private readonly watches = new Map<string, Watch>();
  private readonly loop: LeaseLoop;
  /** True while there have been jobs at once. */
  private isBusy = false;

  constructor(
    private readonly parts: WorkerParts,
    private known: WorkerTarget,
  ) {
    const { namespace, name, log, isClosing } = parts;
    this.key = `${namespace}/${name}`;
    this.url = new URL(known.target.url);
    const details = { target: this.key };
    this.loop = new LeaseLoop({ step: () => this.step(), isClosing, log, name: 'push', details });
  }

  start(): void {
    this.loop.start();
  }

  update(known: WorkerTarget): void {
    const before = this.known;
    this.known = known;
    if (known.target.url !== before.target.url) this.watches.get('')?.counter.forget();
    this.url = new URL(known.target.url);
    for (const [origin, { counter }] of this.watches) {
      if (breakerOf(before, origin) !== null && breakerOf(known, origin) === null) counter.forget();
      if (origin !== '' && !known.target.origins.includes(origin)) this.watches.delete(origin);
    }
    this.loop.wake();
  }

  /** Leases nothing more. Requests under way have `graceMs`; then they are cut off, and their jobs released. */
  stop(graceMs: number): Promise<void> {
    return this.loop.stop(graceMs);
  }

  private async step(): Promise<void> {
    const pauseMs = this.pauseMs();
    if (pauseMs > 0) await this.loop.rest(Math.min(pauseMs, LONGEST_REST_MS));
    else if (this.waitsForOne) this.isBusy = await this.probe();
    else this.isBusy = this.isBusy ? await this.leaseMany() : await this.leaseFirst();
  }

  /** True while the breaker is open and all jobs go to one place; jobs of several origins are held back one by one. */
  private get waitsForOne(): boolean {
    return breakerOf(this.known, '') !== null && this.known.target.origins.length === 0;
  }

  private watchOf(origin: string): Watch {
    const { engine, namespace, name } = this.parts;
    const watch = this.watches.get(origin) ?? {
      counter: new FailureCounter(),
      shared: new SharedBreaker(engine.targets, namespace, name, /* guard: breaker-of-each-origin */ origin),
      isToClose: false,
    };
    this.watches.set(origin, watch);
    return watch;
  }

  /** How long nothing may be leased; 0 = it may. */
  private pauseMs(): number {
    const { target, secrets, queues } = this.known;
    if (target.pausedAtMs !== null || secrets === null || queues.length === 0) return LONGEST_REST_MS;
    if (target.ack === 'later' && this.parts.links === null) return LONGEST_REST_MS;
    const breaker = breakerOf(this.known, '');
    if (breaker === null || target.breakerSettings === null || !this.waitsForOne) return 0;
    const nowMs = this.now();
    const openUntilMs = openUntilOf(breaker, target.breakerSettings, nowMs);
    const isTried = breaker.probeUntilMs <= nowMs + this.tryMs;
    return Math.max(openUntilMs, isTried ? breaker.probeUntilMs : nowMs) - nowMs;
  }

  /** Waits for a job without a slot: most targets are idle, and must not hold any. @returns true if there was one */
  private async leaseFirst(): Promise<boolean> {
    const startMs = performance.now();
    const jobs = await this.lease(1, WAIT_MS);
    const [job] = jobs;
    if (job === undefined) {
      await this.loop.restAfterWait(startMs);
      return false;
    }
    if (this.loop.isEnding || this.parts.slots.tryTake(this.key, 1) === 0) {
      // No slot: back to the front, and again with a slot in hand.
      await this.parts.engine.undo(this.parts.namespace, jobs);
    } else {
      this.begin(job);
    }
    return true;
  }

  /** Leases as many as there are slots for. @returns false if there are no jobs */
  private async leaseMany(): Promise<boolean> {
    const { slots } = this.parts;
    const taken = await slots.take(this.key, MOST_JOBS, this.loop.signal);
    if (taken === 0) return true;
    let jobs: readonly LeasedJob[] = [];
    try {
      jobs = await this.lease(taken, 0);
    } finally {
      slots.free(this.key, taken - jobs.length);
    }
    for (const job of jobs) this.begin(job);
    if (jobs.length > 0 && jobs.length < MOST_JOBS / 2) await this.loop.rest(GATHER_MS);
    return jobs.length > 0;
  }

  /** The breaker has been open for its time: one server tries with one job. @returns false */
  private async probe(): Promise<boolean> {
    const { engine, namespace, slots } = this.parts;
    const jobs = await this.lease(1, WAIT_MS);
    const [job] = jobs;
    if (job === undefined) {
      await this.loop.rest(PAUSE_MS);
      return false;
    }
    const hasSlot = !this.loop.isEnding && slots.tryTake(this.key, 1) > 0;
    if (hasSlot && job.attributes?.[PUSH_URL] !== undefined) {
      // It says nothing of the target: jobs of this one may not name a URL.
      this.begin(job);
      return false;
    }
    const isOurs = hasSlot && (await this.claim({ url: this.url, origin: '' }));
    if (isOurs) {
      this.begin(job, true);
      // Its outcome closes the breaker, or opens it anew, and wakes this worker.
      await this.loop.rest(Math.min(this.tryMs, LONGEST_REST_MS));
      return false;
    }
    if (hasSlot) slots.free(this.key, 1);
    await engine.undo(namespace, jobs);
    await this.loop.rest(PAUSE_MS);
    return false;
  }

  /**
   * Takes the right to try the target with one job. Where that cannot be stored, the job is sent nevertheless: a breaker
   * must not stop deliveries, and each of them frees memory.
   */
  private async claim(way: Way): Promise<boolean> {
    const { isDone, breaker } = await this.changeBreaker(way, 'try').catch(() => NOT_STORED);
    return isDone || /* guard: probe-without-record */ breaker === null;
  }

  /** @throws {QueueError} an error of the store: a target that works is used by this server nevertheless */
  private async changeBreaker(
    { url, origin }: Way,
    action: BreakerChange['action'],
    answered = '',
  ): Promise<ChangedBreaker> {
    const { breakerSettings: settings } = this.known.target;
    if (settings === null) return NOT_STORED;
    const watch = this.watchOf(origin);
    const trial = { url: url.href, settings, tryMs: this.tryMs, answered };
    try {
      const changed = await watch.shared.change(action, trial);
      watch.isToClose = false;
      this.setBreaker(origin, changed.breaker);
      return changed;
    } catch (error) {
      if (action === 'close') {
        watch.isToClose = true;
        this.setBreaker(origin, null);
      }
      throw error;
    } finally {
      // A probe has ended.
      if (action === 'close' || action === 'fail') this.loop.wake();
    }
  }

  private setBreaker(origin: string, breaker: OpenBreaker | null): void {
    const breakers = new Map(this.known.breakers);
    if (breaker === null) breakers.delete(origin);
    else breakers.set(origin, breaker);
    this.known = { ...this.known, breakers };
  }

  /** How long one server may try the target with one job, in milliseconds. */
  private get tryMs(): number {
    return this.known.target.timeoutMs + MORE_MS;
  }

  /** The time of Redis, Unix ms: the clock of this machine may be wrong. */
  private now(): number {
    return this.parts.engine.targets.now();
  }

  /** Null: the job names a URL that the target does not allow. */
  private wayOf({ attributes }: LeasedJob): Way | null {
    const { target } = this.known;
    const named = attributes?.[PUSH_URL];
    if (named === undefined) return { url: this.url, origin: '' };
    const url = pushUrlOf(named);
    return url !== null && /* guard: job-url-origin-checked */ target.origins.includes(url.origin)
      ? { url, origin: url.origin }
      : null;
  }

  /** Whether a job of several origins may be sent now. @returns how long it is held back, 0 = it is sent */
  private async holdMs(way: Way): Promise<{ readonly ms: number; readonly isProbe: boolean }> {
    const { breakerSettings, origins } = this.known.target;
    const breaker =
      origins.length === 0 ? null : /* guard: held-while-origin-is-open */ breakerOf(this.known, way.origin);
    if (breaker === null || breakerSettings === null) return { ms: 0, isProbe: false };
    const nowMs = this.now();
    const openMs = openUntilOf(breaker, breakerSettings, nowMs) - nowMs;
    if (openMs > 0) return { ms: openMs, isProbe: false };
    const isProbe = await this.claim(way);
    return { ms: isProbe ? 0 : HELD_MS * (1 + Math.random()), isProbe };
  }

  private lease(count: number, waitMs: number): Promise<LeasedJob[]> {
    const { queues, target } = this.known;
    return this.parts.engine.lease(this.parts.namespace, {
      ...{ queues, count, waitMs, signal: this.loop.signal, isInternal: true },
      ttrMs: leaseMsOf(target),
      ...(queues.length > 1 ? { inTurns: true, worker: '' } : {}),
      // guard: own-url-open-leases-none
      ...(target.origins.length > 0 ? { isPushed: true } : {}),
    });
  }

  /** @param isProbe its outcome decides about the breaker */
  private begin(job: LeasedJob, isProbe = false): void {
    this.loop.begin(
      job,
      (cutting) => this.push(job, isProbe, cutting),
      () => this.parts.slots.free(this.key, 1),
    );
  }

  private async push(job: LeasedJob, isFirst: boolean, cutting: AbortController): Promise<void> {
    const way = this.wayOf(job);
    if (way === null) return recordOutcome(this.parts, job, NOT_ALLOWED, null);
    const hold = isFirst ? { ms: 0, isProbe: true } : await this.holdMs(way);
    const series = this.series;
    if (hold.ms > 0 && series) series.jobs.held.value += 1;
    if (hold.ms > 0) return recordOutcome(this.parts, job, { ...HELD, delayMs: Math.ceil(hold.ms) }, null);
    const { verdict, answer } = await this.timed(() => this.send(job, way.url, cutting));
    if (series) series.jobs[verdict.action].value += 1;
    await recordOutcome(this.parts, job, verdict, answer);
    if (verdict.isGone && way.origin === '') await this.pauseGone(way.url);
    await this.judge(way, verdict, answer !== null, hold.isProbe).catch((error: unknown) => {
      this.parts.log.debug({ err: error, target: this.key }, 'push: a circuit breaker was not stored');
    });
  }

  /**
   * What the outcome of a request says of its target.
   *
   * @param hasAnswer false if there was no answer at all
   * @param isTrial the breaker was open, and this request had the right to try
   */
  private async judge(way: Way, verdict: Verdict, hasAnswer: boolean, isTrial: boolean): Promise<void> {
    const { breakerSettings, url } = this.known.target;
    const watch = this.watchOf(way.origin);
    // guard: close-that-was-not-stored-is-stored-later
    const isProbe = isTrial || watch.isToClose;
    // A probe that was cut off says nothing: another server takes over when its time is up.
    if (
      breakerSettings === null ||
      (verdict.isHealthy === null && /* guard: cut-off-probe-says-nothing */ (!isProbe || !hasAnswer))
    )
      return;
    // The target has another URL by now, of which this says nothing.
    if (way.origin === '' && way.url.href !== new URL(url).href) return;
    const isHealthy = verdict.isHealthy ?? true;
    const { counter } = watch;
    const opens = counter.count(isHealthy, hasAnswer, performance.now(), breakerSettings);
    if (!isProbe && (!opens || breakerOf(this.known, way.origin) !== null)) return;
    counter.forget();
    const action = isProbe ? (isHealthy ? 'close' : 'fail') : 'open';
    const { isDone } = await this.changeBreaker(way, action, verdict.message.slice(0, MOST_ANSWERED));
    if (isProbe || !isDone) return;
    if (this.series) this.series.opened.value += 1;
    this.parts.log.warn(
      { target: this.key, host: way.url.host },
      'push: the target failed, and its circuit breaker opened',
    );
  }

  private get series(): TargetSeries | undefined {
    const { metrics, pool, namespace, name } = this.parts;
    return metrics?.of(pool, namespace, name);
  }

  private async timed<T>(send: () => Promise<T>): Promise<T> {
    const { metrics, pool } = this.parts;
    if (!metrics) return send();
    const startMs = performance.now();
    metrics.inFlight.value += 1;
    try {
      return await send();
    } finally {
      metrics.inFlight.value -= 1;
      metrics.timeOf(pool).observe(/* guard: push-duration-in-seconds */ performance.now() - startMs);
    }
  }

  private async send(
    job: LeasedJob,
    url: URL,
    cutting: AbortController,
  ): Promise<{ readonly verdict: Verdict; readonly answer: PushAnswer | null }> {
    const { target, secrets } = this.known;
    const stopWatching = watchLease(this.parts, job, target, cutting);
    try {
      if (secrets === null) throw new SendError('aborted', 'the secrets of the target cannot be read');
      const answer = await this.parts.sender.send({
        ...messageOf(job, target, secrets, this.now(), this.ackUrlOf(job)),
        ...{ url, method: target.method, timeoutMs: target.timeoutMs },
        maxAnswerBytes: MAX_ANSWER_BYTES,
        signal: cutting.signal,
      });
      return { verdict: verdictOfAnswer(answer, target, job.extended?.released ?? 0, this.now()), answer };
    } catch (error) {
      if (!(error instanceof SendError)) throw error;
      return { verdict: verdictOfError(error), answer: null };
    } finally {
      stopWatching();
    }
  }

  private ackUrlOf({ id, lease, queue }: LeasedJob): string | undefined {
    const { clientPool: pool, namespace, links } = this.parts;
    if (this.known.target.ack !== 'later') return undefined;
    return links?.urlOf({ pool, namespace, queue, id, lease });
  }

  /** @param url that answered: the target may have another one by now */
  private async pauseGone(url: URL): Promise<void> {
    const { engine, clientTargets, pool, namespace, name, log } = this.parts;
    const outcome = { isPaused: false };
    const pauseIn = (targets: TargetCalls): Promise<void> =>
      targets.change(namespace, name, (text) => {
        const target = text === null ? null : readTarget(text).target;
        // Several answers may say so at once.
        outcome.isPaused =
          target !== null &&
          target.pausedAtMs === null /* guard: old-url-gone-ignored */ &&
          target.url === url.href;
        return outcome.isPaused && text !== null ? pauseOf(name, text, 'gone', targets.now()) : null;
      });
    // While the other pool of a move is away, the target is paused in this one.
    await pauseIn(/* guard: gone-pauses-in-both-stores */ clientTargets).catch(() => pauseIn(engine.targets));
    if (!outcome.isPaused) return;
    log.warn({ target: this.key }, 'push: the target answered 410 and is paused');
    log.info(
      { audit: 'target.pause', pool, namespace, token_hint: null, target: name, reason: 'gone' },
      'audit',
    );
  }
}

function breakerOf({ target, breakers }: WorkerTarget, origin: string): OpenBreaker | null {
  return target.breakerSettings === null ? null : (breakers.get(origin) ?? null);
}
