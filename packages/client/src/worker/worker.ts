import type { AnyJobDefinition } from '../define-job.js';
import { validate } from '../define-job.js';
import type { Ack, AckStatus, FailureReport, LeasedJob, ReleaseOptions, WorkerDriver } from '../driver.js';
import { isOfProxy, isPumphouseError, PumphouseError } from '../errors.js';
import { checkNames, definedOf } from '../optional.js';
import { sleep, timerMs, wholeWait } from '../transport/transport.js';
import { AckBatcher } from './ack-batcher.js';
import { clock } from './clock.js';
import {
  ANY,
  compose,
  type HandlerContext,
  type HandlerOptions,
  type HandlerOf,
  Handlers,
  type Job,
  type Middleware,
} from './handlers.js';
import { HeldJob } from './held-job.js';
import { callers, JobContext } from './job-context.js';
import { LeaseKeeper } from './lease-keeper.js';
import { consoleLogger, errorText, type Logger } from './logger.js';
import { LoopGuard } from './loop-guard.js';
import {
  Bytes,
  encode,
  type Ending,
  endingOf,
  Fail,
  failureOf,
  INVALID_OUTCOME,
  isA,
  isThrowable,
  logLine,
  Next,
  wholeDelay,
} from './outcomes.js';
import { newSession, type Session } from './session.js';
import { onStopSignals } from './stop-signals.js';

export interface WorkerOptions {
  /** The queues that are leased; those of the definitions that have a handler, in the order of `handle`, if it is left out. */
  readonly queues?: readonly string[] | undefined;
  /** `ordered`: a queue is served when those before it are empty; `round_robin`: one job of each in turn. */
  readonly order?: 'ordered' | 'round_robin' | undefined;
  /** Handlers that run at once; 10. */
  readonly concurrency?: number | undefined;
  /** Jobs that are leased ahead and wait here, with heartbeats; 0. Saves round trips where jobs are short. */
  readonly prefetch?: number | undefined;
  /** How long a lease lasts without a heartbeat; 60,000. A heartbeat is sent every third of it. */
  readonly ttrMs?: number | undefined;
  /** How long one lease request waits for a job; 20,000. */
  readonly waitMs?: number | undefined;
  /** How long `stop` waits for handlers before it aborts their signals; 25,000: less than Kubernetes waits. */
  readonly shutdownGraceMs?: number | undefined;
  /** How long it waits then, before it gives their jobs back; 5,000. */
  readonly shutdownAbortMs?: number | undefined;
  /**
   * Jobs without a handler are given back for so long. Left out, the server decides: 1 s at first, twice as long each
   * time until a handler begins, 60 s at most.
   */
  readonly unhandledDelayMs?: number | undefined;
  /** Its name in lists. Workers with equal names are listed each for itself. */
  readonly name?: string | undefined;
  readonly logger?: Logger | undefined;
}

const DEFAULTS = {
  concurrency: 10,
  prefetch: 0,
  ttrMs: 60_000,
  waitMs: 20_000,
  shutdownGraceMs: 25_000,
  shutdownAbortMs: 5_000,
};

const OPTIONS: Readonly<Record<keyof WorkerOptions, true>> = {
  ...{ queues: true, order: true, concurrency: true, prefetch: true, ttrMs: true, waitMs: true },
  ...{ shutdownGraceMs: true, shutdownAbortMs: true, unhandledDelayMs: true, name: true, logger: true },
};

type ChosenOptions = WorkerOptions & typeof DEFAULTS;

/** Most jobs of one lease request. */
const MAX_LEASES = 100;
/** Pauses between lease requests that fail, or are answered too soon, as by a server that stops. */
const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 5_000;
/** An empty answer that comes sooner than this part of the wait. */
const SOON_PART = 0.5;
/** Shortest time from one lease request to the next while the queues are empty, where `waitMs` is shorter; without jitter. */
const FIRST_EMPTY_MS = 100;
const MAX_EMPTY_MS = 1_000;
/** Part of that time that jitter may take away. */
const EMPTY_JITTER = 0.5;
/** How long a worker leases jobs of all types after the server has refused to lease by type. */
const TYPES_AGAIN_MS = 600_000;
/** At a second stop signal the rest is given back within this time. */
const AT_ONCE_MS = 1_000;
/** Refusals that no later lease request can get past. */
const HOPELESS = [
  ...[
    'invalid_argument',
    'bad_request',
    'token_missing',
    'token_invalid',
    'verb_missing',
    'queue_not_allowed',
  ],
  ...['pool_not_found', 'not_found'],
];
const NO_HANDLER = 'no_handler';
/** The status of an answer, if Redis is full. */
const NO_ROOM = 507;
const TOO_LONG = 413;
/** Statuses of an ack that the same ack gets again: the job fails. */
const FINAL_STATUSES = [
  'namespace_full',
  'verb_missing',
  'dependency_cycle',
  'too_many_dependencies',
  'missing_dependency',
];
/** Statuses of an ack with `next` whose queue may have room later: the try fails, as if the handler had published there. */
const NO_ROOM_NEXT = ['queue_full', 'too_many_queues'];
/** Kinds of jobs without a handler that are warned of, each once. */
const MAX_WARNED = 1_000;

/** Leases jobs, runs their handlers, keeps the leases and settles the jobs. */
export class Worker {
  private readonly options: ChosenOptions;
  private readonly logger: Logger;
  private readonly handlers = new Handlers();
  private readonly middleware: Middleware[] = [];
  private readonly session: Session;
  private readonly guard: LoopGuard;
  private readonly keeper: LeaseKeeper;
  private readonly acks: AckBatcher;
  private readonly held = new Set<HeldJob>();
  private readonly waiting: HeldJob[] = [];
  private runningCount = 0;
  /** Lease requests that have failed since the last one that was answered. */
  private failedLeases = 0;
  /** Until then it names no types, on the monotonic clock. */
  private noTypesUntilMs = -Infinity;
  private hasWarnedOfTypes = false;
  /** The workers for whose ends handlers of this one wait. */
  private readonly awaited: Worker[] = [];
  /** Aborted: nothing more is leased. */
  private readonly quieting = new AbortController();
  private readonly stopping = new AbortController();
  /** Aborted: what is left is given back at once. */
  private readonly atOnce = new AbortController();
  /** When the last jobs were to be settled, on the monotonic clock: from then on a stop waits for one lease at most. */
  private leftMs = Infinity;
  private onChange: (() => void)[] = [];
  private running: Promise<void> | undefined;
  private readonly warnedTypes = new Set<string>();
  /** In which handlers run: that of `run`. */
  private context = new JobContext(this);

  constructor(
    private readonly driver: WorkerDriver,
    options: WorkerOptions = {},
  ) {
    checkNames('worker', options, OPTIONS);
    const chosen: ChosenOptions = { ...DEFAULTS, ...definedOf(options) };
    checkOptions(chosen);
    this.options = { ...chosen, waitMs: wholeWait(timerMs(chosen.waitMs)) };
    this.logger = options.logger ?? consoleLogger;
    this.guard = new LoopGuard(this.options.ttrMs, this.logger);
    this.session = newSession(this.options);
    this.keeper = new LeaseKeeper({
      ...{ driver, session: this.session, guard: this.guard, logger: this.logger },
      queues: () => this.queues,
      ttrMs: this.options.ttrMs,
      onRequest: (what) => (what === 'quiet' ? this.quiet() : void this.stop()),
    });
    this.acks = new AckBatcher(driver, this.keeper, () => this.runningCount === 0);
  }

  /**
   * Sets the handler of a kind of job; as text: of a type, in whatever queue, or `*` for all others. Without `*`, only
   * jobs of the types that have a handler are leased, if they are 64 at most.
   */
  handle<T extends AnyJobDefinition | string>(
    kind: T,
    handler: HandlerOf<T>,
    options: HandlerOptions = {},
  ): this {
    this.handlers.add(kind, handler, options);
    return this;
  }

  /** Adds a middleware around all handlers. */
  use(middleware: Middleware): this {
    this.middleware.push(middleware);
    return this;
  }

  /** The id of its session, which lists, events and `leasedBy` show. No other worker has it. */
  get id(): string {
    return this.session.id;
  }

  /** Jobs that this worker has leased: waiting, running and being settled. */
  get heldCount(): number {
    return this.held.size;
  }

  /**
   * Works until `stop` is called, here or by an operator; with `signals`, until SIGTERM or SIGINT. A second signal gives all jobs back at once,
   * and then ends the process, if it has not ended within half a second.
   *
   * @throws {PumphouseError} the server refuses this worker: its token, its queues. What was running has ended by then
   * @throws {TypeError} it was made without `queues`, and no definition has a handler
   */
  run(options: { readonly signals?: boolean } = {}): Promise<void> {
    checkNames('worker.run', options, { signals: true });
    if (this.running === undefined) {
      this.context = new JobContext(this);
      this.running = this.work(options.signals ?? false);
    }
    return this.running;
  }

  /** Leases nothing more; what it has goes on. `run` ends with `stop` only. An operator can ask for both by the API. */
  quiet(): void {
    this.quieting.abort();
    this.changed();
  }

  /**
   * Stops leasing, waits for handlers, aborts them, gives the rest back. Resolves when no job is held; at once in a
   * handler that this would wait for: one of this worker, or of a worker for which a handler of this one waits. The job
   * of that handler is settled as usual.
   */
  async stop(): Promise<void> {
    this.stopNow();
    const own = callers() as readonly Worker[];
    if (/* guard: stop-in-handler-returns */ this.isWaitingFor(own)) return;
    for (const { awaited } of own) awaited.push(this);
    await this.ended;
    for (const { awaited } of own) awaited.splice(awaited.indexOf(this), 1);
  }

  private isWaitingFor(workers: readonly Worker[]): boolean {
    // guard: stop-sees-workers-that-wait-for-each-other
    if (this.awaited.some((worker) => worker.isWaitingFor(workers))) return true;
    return workers.includes(this);
  }

  /** Resolves when `run` has ended; at once if it was never called. */
  get ended(): Promise<void> {
    return this.running?.catch(() => undefined) ?? Promise.resolve();
  }

  /** True in a handler of this worker, and in all that it calls. Waiting for the end there would never end. */
  get isInHandler(): boolean {
    return callers().includes(this);
  }

  /** The queues that it leases. */
  private get queues(): readonly string[] {
    return this.options.queues ?? this.handlers.queues;
  }

  private async work(signals: boolean): Promise<void> {
    this.checkQueues();
    const unlisten = signals
      ? onStopSignals(
          () => void this.stop(),
          () => this.stopAtOnce(),
        )
      : undefined;
    this.keeper.start();
    try {
      await /* guard: one-lease-request-at-a-time */ this.leaseLoop();
      while (!this.stopping.signal.aborted) await this.change();
    } finally {
      this.stopNow();
      // guard: heartbeats-while-draining
      await this.drain();
      await this.keeper.stop();
      unlisten?.();
    }
  }

  /** Gives all jobs back now. @returns when that is done, or after a second */
  private async stopAtOnce(): Promise<void> {
    // guard: client-second-signal-stops-now
    this.atOnce.abort();
    this.stopNow();
    await Promise.race([this.running?.catch(() => undefined), sleep(AT_ONCE_MS)]);
  }

  private stopNow(): void {
    this.stopping.abort();
    this.quiet();
  }

  /** Warns of names that do not fit: queues whose jobs no handler takes, and handlers that get no jobs. */
  private checkQueues(): void {
    const { queues } = this;
    if (queues.length === 0)
      throw new TypeError(
        'the worker has no queues: handle a definition of defineJob, or name `queues` in its options',
      );
    if (queues.includes(ANY)) return;
    const unhandled = this.handlers.withoutHandler(queues);
    if (unhandled.length > 0)
      this.logger.warn(
        'no handler for jobs of these queues; this worker runs none of them. Is a name misspelt?',
        {
          queues: unhandled,
        },
      );
    const idle = this.handlers.outside(queues);
    if (idle.length > 0)
      this.logger.warn('these handlers get no jobs: the worker does not lease their queues', {
        handlers: idle,
        queues,
      });
  }

  private async leaseLoop(): Promise<void> {
    const { signal } = this.quieting;
    let pauses = 0;
    let empties = 0;
    while (!signal.aborted) {
      const free = this.options.concurrency + this.options.prefetch - this.held.size;
      if (free <= 0) {
        await this.change();
        continue;
      }
      const begunMs = clock.nowMs();
      const jobs = await this.lease(Math.min(free, MAX_LEASES));
      const isDoubtful = this.guard.stoodStillSince(begunMs);
      // Of all of them now: the first handler may block the event loop.
      const answeredMs = clock.nowMs();
      for (const job of jobs ?? []) this.take(job, answeredMs, isDoubtful);
      const tookMs = clock.nowMs() - begunMs;
      const isEmpty = jobs?.length === 0;
      let pauseMs = 0;
      if (jobs === undefined || (isEmpty && tookMs < this.options.waitMs * SOON_PART)) {
        pauseMs = Math.random() * Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** pauses++);
      } else pauses = 0;
      empties = isEmpty ? empties + 1 : 0;
      if (/* guard: empty-answers-pause */ isEmpty)
        pauseMs = Math.max(pauseMs, emptyPauseMs(empties) - tookMs);
      if (pauseMs > 0) await sleep(pauseMs, signal).catch(() => undefined);
    }
  }

  /** @returns undefined if that failed */
  private async lease(count: number): Promise<readonly LeasedJob[] | undefined> {
    const { order, waitMs, ttrMs } = this.options;
    const { queues } = this;
    const { signal } = this.quieting;
    const types = clock.nowMs() < this.noTypesUntilMs ? undefined : this.handlers.typesIn(queues);
    try {
      const jobs = await this.driver.lease({
        ...{ queues, order, types, count, waitMs, ttrMs, worker: this.id, signal },
      });
      if (this.failedLeases > 0)
        this.logger.warn('leasing jobs works again', { failedRequests: this.failedLeases });
      this.failedLeases = 0;
      return jobs;
    } catch (error) {
      if (signal.aborted) return [];
      if (types !== undefined && /* guard: leases-without-types */ isRefusalOfTypes(error)) {
        this.noTypesUntilMs = clock.nowMs() + TYPES_AGAIN_MS;
        this.warnOfTypes(error);
        return this.lease(count);
      }
      if (isPumphouseError(error, ...HOPELESS)) throw error;
      this.failedLeases += 1;
      this.logger.warn('leasing jobs failed; trying again', { error: errorText(error) });
      return undefined;
    }
  }

  private warnOfTypes(error: unknown): void {
    if (this.hasWarnedOfTypes) return;
    this.hasWarnedOfTypes = true;
    this.logger.warn(
      'the server cannot lease by type; this worker leases jobs of all types, and tries again every 10 minutes. Upgrade the server, or run `pumphouse format raise`',
      { error: errorText(error) },
    );
  }

  /** @param isDoubtful the answer may be old: the process stood still while it was on its way */
  private take(job: LeasedJob, answeredMs: number, isDoubtful: boolean): void {
    const held = new HeldJob(
      job,
      this.handlers.find(job),
      /* guard: leases-count-from-the-answer */ answeredMs,
    );
    this.held.add(held);
    this.keeper.add(held);
    if (/* guard: unhandled-is-given-back */ held.registration === undefined) this.releaseUnhandled(held);
    else if (this.quieting.signal.aborted) void this.giveBack(held);
    else if (/* guard: no-handler-after-a-standstill */ isDoubtful) void this.confirm(held);
    else this.enqueue(held);
  }

  private enqueue(held: HeldJob): void {
    this.waiting.push(held);
    this.startWaiting();
  }

  /** Another worker may have the job by now: its handler begins when a heartbeat says that the lease is there. */
  private async confirm(held: HeldJob): Promise<void> {
    const isConfirmed = await this.keeper.confirm(held);
    if (isConfirmed && !this.stopping.signal.aborted) this.enqueue(held);
    else await this.giveBack(held);
  }

  private startWaiting(): void {
    while (this.runningCount < this.options.concurrency) {
      const held = this.waiting.shift();
      if (held === undefined) return;
      if (this.isStillLeased(held)) void this.execute(held);
    }
  }

  /** @returns false if its handler must not begin, now or at all */
  private isStillLeased(held: HeldJob): boolean {
    // What happened while it waited.
    if (held.abortedBy !== undefined) void this.giveBack(held);
    // The process may have stood still since: no timer has found the lease doubtful yet.
    else if (/* guard: no-handler-after-a-blocked-loop */ this.keeper.isDoubtful(held))
      void this.confirm(held);
    else return true;
    return false;
  }

  private async execute(held: HeldJob): Promise<void> {
    const { registration } = held;
    if (registration === undefined) return;
    this.runningCount++;
    this.guard.entered(registration.name);
    held.state = 'running';
    const beginning = this.begin(held, registration.maxRunMs);
    if (beginning !== undefined && !(await this.mayBegin(held, beginning))) {
      this.runningCount--;
      this.guard.left(registration.name);
      this.startWaiting();
      return;
    }
    let outcome: Outcome;
    try {
      outcome = {
        returned: await this.context.run(() => this.result(held, registration)),
      };
    } catch (error) {
      outcome = { thrown: error };
    }
    this.runningCount--;
    this.guard.left(registration.name);
    if (!held.isAbandoned) held.state = 'ended';
    // First, so that an ack waits for those of handlers that begin now.
    this.startWaiting();
    // The process may have stood still: the handler's end came before the timer that would have found the lease lost.
    // guard: client-doubtful-confirms-first
    if (this.keeper.isDoubtful(held) && !held.isAbandoned) await this.keeper.confirm(held);
    // guard: client-released-settles-nothing
    if (held.isAbandoned) return;
    // guard: client-lost-settles-nothing
    if (held.isLost) this.warnLost(held);
    else await this.settle(held, outcome);
    this.drop(held);
  }

  /** @returns undefined: the server need not know that the handler begins */
  private begin(held: HeldJob, maxRunMs: number | undefined): Promise<unknown> | undefined {
    const beginning = this.driver.begin?.(held.job);
    const mayHaveWaited = this.options.prefetch > 0 && held.job.maxRunMs !== undefined;
    if (maxRunMs === undefined && !mayHaveWaited) return beginning;
    // guard: client-handler-begins-its-run
    return Promise.all([beginning, this.keeper.begin(held, maxRunMs)]);
  }

  /** What the handler returns, checked and ready to be acknowledged. */
  private async result(
    held: HeldJob,
    { name, definition, handler }: NonNullable<HeldJob['registration']>,
  ): Promise<unknown> {
    const input = definition?.input;
    const { job } = held;
    if (/* guard: unreadable-job-fails-alone */ job.unreadable !== undefined)
      throw new Fail(job.unreadable, { group: 'invalid_data' });
    const data = input ? await refused(validate(input, job.data, 'invalid_input')) : job.data;
    const given = input ? withData(job, data) : job;
    const run = compose(this.middleware, handler);
    const returned = await this.guard.run(name, () => run(given, this.contextOf(held)));
    if (/* guard: returned-outcome-counts */ isThrowable(returned)) throw returned;
    const output = definition?.output;
    if (output === undefined || returned instanceof Next) return returned;
    const value = /* guard: schema-checks-the-bytes */ returned instanceof Bytes ? returned.data : returned;
    await refused(validate(output, value, 'invalid_output'));
    return returned;
  }

  private contextOf(held: HeldJob): HandlerContext {
    const { keeper } = this;
    return {
      get signal() {
        return held.signal;
      },
      progress: (value) => keeper.progress(held, value),
      log: (message, data) => this.log(held, message, data),
      dependencies: () => held.job.dependencies ?? [],
    };
  }

  /** A line of the log is not worth its job. */
  private async log(held: HeldJob, message: string, data: unknown): Promise<void> {
    const { id, queue } = held.job;
    try {
      await this.driver.log(id, logLine(message), data);
    } catch (error) {
      if (held.hasWarnedOfLog) return;
      held.hasWarnedOfLog = true;
      this.logger.warn('a line of the log of a job was not stored', { id, queue, error: errorText(error) });
    }
  }

  /** Tells the server how the job ended. A stop signal, a cancellation or a doubtful lease gives back what has failed. */
  private settle(held: HeldJob, outcome: Outcome): Promise<void> {
    if ('returned' in outcome) return this.ack(held, outcome.returned);
    return this.end(held, endingOf(outcome.thrown, held.abortedBy !== undefined));
  }

  /** What the server refuses is sent again, without what may be the reason. */
  private end(held: HeldJob, ending: Ending): Promise<void> {
    const { driver } = this;
    const { job } = held;
    if (ending.kind !== 'release') this.warnFailed(held, ending.kind, ending.group);
    return this.settleBy(held, async () => {
      try {
        if (ending.kind === 'release') await driver.release(job, { delayMs: ending.delayMs });
        else if (ending.kind === 'fail') await driver.fail(job, ending);
        else await driver.retry(job, ending);
      } catch (error) {
        if (/* guard: refused-ending-is-sent-again */ !isRefusal(error)) throw error;
        this.warnRefused(held, error);
        if (ending.kind === 'release') await driver.release(job, {});
        else if (ending.kind === 'fail') await driver.fail(job, refusalOf(error));
        else await driver.retry(job, refusalOf(error));
      }
    });
  }

  private async ack(held: HeldJob, returned: unknown): Promise<void> {
    const { id, queue, lease } = held.job;
    let ack: Ack = { id, queue, lease };
    try {
      if (returned instanceof Next)
        ack = { ...ack, next: returned.next, data: encode(returned.data, 'data') };
      else if (returned !== undefined) ack = { ...ack, result: encode(returned, 'result') };
    } catch (error) {
      // What is too deep for this process is JSON all the same.
      const group = isA(error, RangeError) ? INVALID_OUTCOME : 'invalid_output';
      return this.end(held, { kind: 'fail', ...failureOf(error), group });
    }
    // guard: heartbeats-until-the-ack
    await this.sendUntilOver(held, async () => {
      const status = await this.acked(held, ack);
      if (status === 'lease_lost') this.warnLost(held);
      else if (status === 'not_found') this.warnGone(held);
      else if (FINAL_STATUSES.includes(status) || NO_ROOM_NEXT.includes(status)) {
        const what = /* guard: full-next-queue-is-tried-again */ NO_ROOM_NEXT.includes(status)
          ? 'retry'
          : 'fail';
        this.warnFailed(held, what, status);
        await this.driver[what](held.job, { group: status, message: 'the job cannot go to its next queue' });
      } else if (status !== 'acked' && status !== 'moved') {
        // Redis is full, or a newer server says what this client does not know.
        // guard: client-waits-for-room
        if (this.leftMs === Infinity) throw notYet(status);
        await this.driver.release(held.job, {});
      }
    });
  }

  private async acked(held: HeldJob, ack: Ack): Promise<AckStatus> {
    try {
      return await this.acks.add(held, ack);
    } catch (error) {
      // The result is too long, or breaks another rule of the server: the job would come again for ever.
      if (/* guard: refused-result-fails-its-job */ !isRefusal(error)) throw error;
      this.warnRefused(held, error);
      await this.driver.fail(held.job, refusalOf(error));
      return 'acked';
    }
  }

  private settleBy(held: HeldJob, operation: () => Promise<void>): Promise<void> {
    held.state = 'settling';
    return this.sendUntilOver(held, operation);
  }

  /** Sends one operation, again and again until the lease would have ended. */
  private async sendUntilOver(held: HeldJob, operation: () => Promise<void>): Promise<void> {
    const begunMs = clock.nowMs();
    for (let pauses = 0; ; pauses++) {
      try {
        await operation();
        return;
      } catch (error) {
        if (isPumphouseError(error, 'lease_lost')) {
          this.warnLost(held);
          return;
        }
        if (isPumphouseError(error, 'job_not_found')) {
          this.warnGone(held);
          return;
        }
        // Heartbeats may keep the lease for ever, while a proxy refuses each outcome.
        const sinceMs = isUnheard(error) ? Math.min(begunMs, held.confirmedMs) : held.confirmedMs;
        const nowMs = clock.nowMs();
        const isOver = nowMs - sinceMs > this.options.ttrMs || this.atOnce.signal.aborted;
        // A stop waits for one lease more: by then another worker may do what this one cannot store.
        const isLeft = nowMs - Math.max(begunMs, this.leftMs) > this.options.ttrMs;
        if (isOver || /* guard: client-stop-ends */ isLeft || !mayPass(error)) {
          const { id, queue } = held.job;
          if (isLeft && !isOver) await this.driver.release(held.job, {}).catch(() => undefined);
          this.logger.error('a job could not be settled; it comes again when its lease ends', {
            id,
            queue,
            error: errorText(error),
          });
          return;
        }
        this.warnWaits(held, error);
        await sleep(
          Math.random() * Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** pauses),
          this.atOnce.signal,
        ).catch(() => undefined);
      }
    }
  }

  private releaseUnhandled(held: HeldJob): void {
    const { queue, type } = held.job;
    const kind = `${queue} ${type ?? ''}`;
    if (!this.warnedTypes.has(kind) && this.warnedTypes.size < MAX_WARNED) {
      this.warnedTypes.add(kind);
      this.logger.warn(
        'no handler for jobs of this type; they are given back. Register a handler, or give the type a queue of its own',
        { queue, type, reason: NO_HANDLER },
      );
    }
    const delayMs = wholeDelay(this.options.unhandledDelayMs);
    void this.giveBack(held, { delayMs, reason: NO_HANDLER, worker: this.id });
  }

  /** Releases a job whose handler has not begun, or is not waited for any longer. */
  private async giveBack(held: HeldJob, options: ReleaseOptions = {}): Promise<void> {
    held.isAbandoned = true;
    if (!held.isLost) await this.settleBy(held, () => this.driver.release(held.job, options));
    this.drop(held);
  }

  private drop(held: HeldJob): void {
    held.state = 'gone';
    this.keeper.remove(held);
    this.held.delete(held);
    this.changed();
  }

  /** Heartbeats go on until the last job is settled. */
  private async drain(): Promise<void> {
    // guard: client-releases-prefetched-first
    for (const held of this.waiting.splice(0)) void this.giveBack(held);
    await this.empty(this.options.shutdownGraceMs);
    // guard: client-aborts-after-grace
    for (const held of this.held) held.abort('shutdown');
    await this.empty(this.options.shutdownAbortMs);
    for (const held of this.held) if (held.state === 'running') void this.giveBack(held);
    // guard: client-stops-in-a-full-store
    this.leftMs = clock.nowMs();
    // Each operation ends by itself when the lease would have ended.
    await this.empty(Infinity, false);
  }

  /** Waits until no job is held, for `withinMs` at most; not at all when all is to end at once. */
  private async empty(withinMs: number, canHurry = true): Promise<void> {
    const endMs = clock.nowMs() + withinMs;
    while (this.held.size > 0 && !(canHurry && this.atOnce.signal.aborted)) {
      const leftMs = endMs - clock.nowMs();
      if (leftMs <= 0) return;
      const change = this.change();
      if (leftMs === Infinity) await change;
      else await within(change, leftMs);
    }
  }

  /** Once for each job: a full Redis may stay full for long, and a proxy may refuse for long. */
  private warnWaits(held: HeldJob, error: unknown): void {
    const isWorthIt = isPumphouseError(error) && (hasNoRoom(error) || isUnheard(error));
    if (!isWorthIt || held.hasWarnedOfWait) return;
    held.hasWarnedOfWait = true;
    const { id, queue } = held.job;
    this.logger.warn('the outcome of a job cannot be stored yet; the worker keeps the job and tries again', {
      id,
      queue,
      reason: error.code,
    });
  }

  /** Without the message, which may have data of the job: the server keeps it. */
  private warnFailed({ job }: HeldJob, kind: Ending['kind'], group: string): void {
    const { id, queue, type, attempts, triesLeft } = job;
    this.logger.warn(kind === 'fail' ? 'a job failed and is not tried again' : 'an attempt at a job failed', {
      ...{ id, queue, type, attempt: attempts, triesLeft, group },
    });
  }

  private warnRefused({ job: { id, queue } }: HeldJob, error: unknown): void {
    this.logger.warn('the outcome of a job was refused; it is settled without it', {
      id,
      queue,
      error: errorText(error),
    });
  }

  private warnLost({ abortedBy, job: { id, queue } }: HeldJob): void {
    this.logger.warn('the lease of a job was lost before it was settled; another worker may run it too', {
      ...{ id, queue },
      ...(abortedBy === 'max_run_exceeded' && { reason: abortedBy }),
    });
  }

  private warnGone({ job: { id, queue } }: HeldJob): void {
    this.logger.warn('a job was gone before it was settled: another worker has ended it, or it was deleted', {
      id,
      queue,
    });
  }

  /** Resolves when a job is settled, or the worker is to stop. */
  private change(): Promise<void> {
    return new Promise((resolve) => this.onChange.push(resolve));
  }

  /**
   * Waits until the begin of a handler is recorded; without an answer the job may be tried once more than its tries, as
   * after a lost ack. @returns false if the job was given back meanwhile, or its lease may be lost
   */
  private async mayBegin(held: HeldJob, beginning: Promise<unknown>): Promise<boolean> {
    await beginning.catch(() => undefined);
    if (held.isAbandoned) return false;
    held.state = 'waiting';
    if (/* guard: begin-under-a-lease-that-is-there */ !this.isStillLeased(held)) return false;
    held.state = 'running';
    return true;
  }

  private changed(): void {
    const { onChange } = this;
    if (onChange.length === 0) return;
    this.onChange = [];
    for (const resolve of onChange) resolve();
  }
}

/** Shortest time between two lease requests after so many empty answers in a row. */
function emptyPauseMs(empties: number): number {
  const most = Math.min(MAX_EMPTY_MS, FIRST_EMPTY_MS * 2 ** (empties - 1));
  return most * (1 - EMPTY_JITTER * Math.random());
}

type Outcome = { readonly returned: unknown } | { readonly thrown: unknown };

/** True if the same call fails again: the server refuses what it says, or the client cannot send it. */
function isRefusal(error: unknown): boolean {
  if (!isPumphouseError(error)) return true;
  const { status } = error;
  // In process there is no status; 507 is a quota. An answer of a proxy, or a fault of the server, says nothing of the call.
  // guard: only-refusals-fail-jobs
  const isOfServer =
    status === 0
      ? error.code !== 'invalid_response'
      : (status === NO_ROOM || (status >= 400 && status < 500)) && (!isOfProxy(error) || status === TOO_LONG);
  const isOver = isPumphouseError(error, 'lease_lost', 'job_not_found');
  return isOfServer && !mayPass(error) && status !== 401 && !isOver;
}

/** True if a proxy in between has refused a call that the server may take. A body that is too long for it stays so. */
function isUnheard(error: unknown): boolean {
  if (!isPumphouseError(error) || !isOfProxy(error)) return false;
  const { status } = error;
  // guard: client-proxy-refuses-no-outcome
  return status >= 400 && status < 500 && status !== TOO_LONG;
}

/** True if the same call may succeed while the lease lasts: a full Redis gets room, a proxy finds its server. */
function mayPass(error: unknown): boolean {
  return isPumphouseError(error) && (error.retryable || error.code === 'store_full' || isUnheard(error));
}

/** True if Redis has an older data format, or the server is of an older version. */
function isRefusalOfTypes(error: unknown): boolean {
  if (isPumphouseError(error, 'format_too_old')) return true;
  return (
    isPumphouseError(error, 'invalid_argument') && error.fields.some(({ field }) => /^types\b/.test(field))
  );
}

/** An ack that the server could not store now. */
function notYet(status: string): PumphouseError {
  return new PumphouseError(status, 'the outcome cannot be stored now', { status: NO_ROOM, retryable: true });
}

/** In process there is no status. */
function hasNoRoom({ status, code }: PumphouseError): boolean {
  return status === NO_ROOM || code === 'store_full';
}

function refusalOf(error: unknown): FailureReport {
  return { group: INVALID_OUTCOME, message: failureOf(error).message };
}

async function within(change: Promise<void>, ms: number): Promise<void> {
  const timer = new AbortController();
  await Promise.race([change, sleep(ms, timer.signal).catch(() => undefined)]);
  timer.abort();
}

/** A value that its schema refuses fails its job for good: it would be refused again. */
async function refused<T>(validated: Promise<T>): Promise<T> {
  try {
    return await validated;
  } catch (error) {
    if (!(error instanceof PumphouseError)) throw error;
    throw new Fail(error.message, { group: error.code, cause: error });
  }
}

/** The job with other data. */
function withData(job: LeasedJob, data: unknown): Job {
  return Object.create(Object.getPrototypeOf(job) as object, {
    ...Object.getOwnPropertyDescriptors(job),
    data: { value: data, enumerable: true, configurable: true, writable: true },
  }) as Job;
}

function checkOptions(options: ChosenOptions): void {
  const { queues, concurrency, prefetch, ttrMs } = options;
  if (queues?.length === 0)
    throw new TypeError('queues: name one at least, or leave it out for those of the handlers');
  const atLeast = (name: string, value: number, min: number): void => {
    if (!Number.isInteger(value) || value < min)
      throw new TypeError(`${name}: must be a whole number from ${min}`);
  };
  atLeast('concurrency', concurrency, 1);
  atLeast('prefetch', prefetch, 0);
  atLeast('ttrMs', ttrMs, 1);
  for (const name of ['waitMs', 'shutdownGraceMs', 'shutdownAbortMs'] as const) {
    if (!(options[name] >= 0)) throw new TypeError(`${name}: must be 0 or more, in milliseconds`);
  }
}
