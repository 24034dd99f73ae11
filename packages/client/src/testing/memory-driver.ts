import type {
  Ack,
  AckStatus,
  EncodedPayload,
  EndedJob,
  ExtendedLease,
  FailureReport,
  HeartbeatAnswer,
  HeartbeatCall,
  JobDriver,
  JobFailure,
  LeasedJob,
  LeaseRef,
  LeaseRequest,
  PublishCall,
  PublishedJob,
  ReleaseOptions,
  SessionAnswer,
  SessionHeartbeat,
} from '../driver.js';
import { PumphouseError } from '../errors.js';
import { JobWithPayload } from '../leased-payload.js';
import type { NewJob, RetryPolicy } from '../producer/new-job.js';
import { dataJson } from '../producer/data-json.js';
import { timerMs } from '../transport/transport.js';
import { ANY } from '../worker/handlers.js';
import { MOMENT_RULE, momentOf } from './moment.js';

export type MemoryState = 'ready' | 'scheduled' | 'leased' | 'dead' | 'done' | 'cancelled' | 'expired';

/** A job of the memory driver. */
export interface MemoryJob {
  readonly id: string;
  readonly queue: string;
  readonly type: string | null;
  readonly state: MemoryState;
  readonly data: unknown;
  readonly attempts: number;
  /** Leases that ran out. */
  readonly crashes: number;
  readonly triesLeft: number;
  /** Undefined without one. */
  readonly result: unknown;
  readonly failure: JobFailure | null;
  readonly progress: unknown;
  /** Failures that its handlers reported. */
  readonly failures: number;
  /** When a scheduled job is due, on the clock of the driver. */
  readonly dueMs: number | null;
  readonly log: readonly { readonly message: string; readonly data: unknown }[];
}

type Stored = { -readonly [K in keyof MemoryJob]: MemoryJob[K] } & {
  payload: EncodedPayload;
  log: { message: string; data: unknown }[];
  lease: number;
  /** Releases in a row without a handler. */
  unhandled: number;
  leaseEndsMs: number;
  /** When the run of its lease ends by `maxRunMs`. */
  runEndsMs: number;
  /** The handler of its lease has begun. */
  hasBegun: boolean;
  cancelRequested: boolean;
  /** Infinity: it has no ttl. */
  readonly expiresMs: number;
  readonly order: number;
  readonly publishedMs: number;
  readonly job: NewJob;
};

const USUAL_TRIES = 5;
/** The server's default retry policy, without its random part. */
const USUAL_POLICY: RetryPolicy = { kind: 'exponential', delayMs: 1_000, maxMs: 600_000 };
const USUAL_FACTOR = 2;
/** What the server takes as the name of a queue. */
const QUEUE_NAME = /^(?!_)[-\w]{1,255}$/;
/** Failure group of a job whose last lease ran out, as the server names it. */
const LEASE_EXPIRED = 'lease_expired';
/** That of a job that ran for longer than its `maxRunMs`. */
const MAX_RUN_EXCEEDED = 'max_run_exceeded';
/** What only a server can do. */
const UNSUPPORTED = ['dependsOn', 'unique', 'concurrencyKey', 'push'] as const;

/**
 * A queue server in memory, for tests of handlers: the rules of leases, tries, ttls and retry policies, on a clock that
 * moves only by `moveTo`. Ended jobs are kept.
 */
export class MemoryDriver implements JobDriver {
  /** Nothing but the program itself can publish to it: a test ends without `stop`. */
  readonly keepsProcess = false;
  /** Milliseconds; begins at the time of the machine. */
  nowMs = Date.now();
  private readonly stored = new Map<string, Stored>();
  private readonly answers = new Map<string, readonly PublishedJob[]>();
  private changes: (() => void)[] = [];
  private count = 0;
  /** For `round_robin`: from which queue the last job was leased. */
  private lastQueue = '';
  /** Those of the last lease request. */
  private types: LeaseRequest['types'];

  /** All jobs, in the order of publishing. */
  get jobs(): readonly MemoryJob[] {
    return [...this.stored.values()];
  }

  /** True while a job is leased, or ready and of a type that the last lease request asked for. */
  get hasWork(): boolean {
    return this.jobs.some((job) => job.state === 'leased' || isReady(job, this.types));
  }

  /** When the next job is due, loses its lease or expires; undefined if none will. */
  get nextDueMs(): number | undefined {
    const next = Math.min(...[...this.stored.values()].map(nextOf));
    return next === Infinity ? undefined : next;
  }

  /** Moves the clock: jobs that are due by then are ready, leases that end by then run out, and ttls count. */
  moveTo(ms: number): void {
    this.nowMs = ms;
    for (const job of this.stored.values()) {
      if (nextOf(job) > ms) continue;
      if (job.expiresMs <= ms) job.state = 'expired';
      else if (job.state === 'leased') this.loseLease(job);
      else this.place(job, 0);
    }
    this.changed();
  }

  /** Resolves at the next change of a job. */
  change(): Promise<void> {
    return new Promise((resolve) => this.changes.push(resolve));
  }

  /** Ends a job; the handler of a leased one is told by its signal. */
  cancel(id: string): void {
    const job = this.stored.get(id);
    if (job === undefined) throw notFound(id);
    if (job.state === 'leased') job.cancelRequested = true;
    else job.state = 'cancelled';
    this.changed();
  }

  publish(jobs: readonly NewJob[], { idempotencyKey }: PublishCall): Promise<readonly PublishedJob[]> {
    const known = this.answers.get(idempotencyKey);
    if (known) return Promise.resolve(known.map((job) => ({ ...job, replayed: true })));
    for (const job of jobs) {
      const wrong = UNSUPPORTED.find((name) => job[name] !== undefined);
      if (wrong)
        return Promise.reject(new TypeError(`${wrong}: the memory driver has none; use a test server`));
      if (job.id !== undefined && this.stored.has(job.id)) {
        return Promise.reject(new PumphouseError('job_exists', `there is a job ${job.id}`, { status: 409 }));
      }
    }
    const published = jobs.map((job) => this.store(job));
    this.answers.set(idempotencyKey, published);
    this.changed();
    return Promise.resolve(published);
  }

  async publishAndWait(job: NewJob, options: PublishCall & { readonly waitMs: number }): Promise<EndedJob> {
    const [published] = await this.publish([job], options);
    const { id, existing, replayed } = published as PublishedJob;
    const endMs = performance.now() + options.waitMs;
    let ended = this.find(id);
    while (!['done', 'dead', 'cancelled', 'expired'].includes(ended.state) && performance.now() < endMs) {
      await this.changeWithin(endMs - performance.now(), options.signal);
      ended = this.find(id);
    }
    const state = ended.state === 'expired' ? null : ended.state;
    return { id, existing, replayed, state, result: ended.result, failure: ended.failure };
  }

  async lease(request: LeaseRequest): Promise<readonly LeasedJob[]> {
    const { queues, order, types, count, waitMs, lingerMs = 0, min = count, ttrMs, signal } = request;
    const least = lingerMs > 0 ? min : 1;
    const endMs = performance.now() + waitMs;
    let lingersUntilMs: number | undefined;
    this.types = types;
    for (;;) {
      const ready = this.chosen(this.readyIn(queues, types), count, order);
      lingersUntilMs = ready.length === 0 ? undefined : (lingersUntilMs ?? performance.now() + lingerMs);
      const leftMs = (lingersUntilMs ?? endMs) - performance.now();
      if (ready.length < least && signal.aborted) return [];
      if (ready.length >= least || leftMs <= 0) return ready.map((job) => this.leaseOne(job, ttrMs));
      await this.changeWithin(leftMs, signal, this.keepsProcess);
    }
  }

  heartbeatSession({ leases, ttrMs }: SessionHeartbeat): Promise<SessionAnswer> {
    const extended = leases.map((lease): ExtendedLease => {
      const job = this.stored.get(lease.id);
      if (job === undefined || isGone(job)) return { status: 'not_found', cancelRequested: false };
      const status = isHeld(job, lease) ? 'extended' : 'lease_lost';
      if (status === 'extended') extend(job, this.nowMs + ttrMs);
      return { status, cancelRequested: status === 'extended' && job.cancelRequested };
    });
    return Promise.resolve({ leases: extended, quiet: false, stop: false });
  }

  endSession(): Promise<void> {
    return Promise.resolve();
  }

  heartbeat(lease: LeaseRef, { ttrMs, progress, begin }: HeartbeatCall): Promise<HeartbeatAnswer> {
    return this.under(lease, (job) => {
      if (begin && !job.hasBegun) {
        job.hasBegun = true;
        job.runEndsMs = this.nowMs + Math.min(job.job.maxRunMs ?? Infinity, begin.maxRunMs ?? Infinity);
      }
      extend(job, this.nowMs + ttrMs);
      if (progress !== undefined) job.progress = progress;
      return { cancelRequested: job.cancelRequested };
    });
  }

  ack(acks: readonly Ack[]): Promise<readonly AckStatus[]> {
    const wrong = acks.find(({ next }) => next !== undefined && !QUEUE_NAME.test(next.queue));
    if (wrong !== undefined)
      return Promise.reject(
        new PumphouseError(
          'invalid_argument',
          `next: ${JSON.stringify(wrong.next?.queue)} is no name of a queue`,
          { status: 400 },
        ),
      );
    const statuses = acks.map((ack) => {
      const job = this.stored.get(ack.id);
      if (job?.queue !== ack.queue || isGone(job)) return 'not_found';
      if (!isHeld(job, ack)) return 'lease_lost';
      return this.complete(job, ack);
    });
    this.changed();
    return Promise.resolve(statuses);
  }

  /** Without a handler: 1 s, then twice as long each time, 60 s at most, as the server does. */
  release(lease: LeaseRef, { delayMs, reason }: ReleaseOptions): Promise<void> {
    return this.under(lease, (job) => {
      job.triesLeft++;
      job.unhandled = reason === undefined ? 0 : job.unhandled + 1;
      const usualMs = reason === undefined ? 0 : Math.min(1_000 * 2 ** (job.unhandled - 1), 60_000);
      this.giveBack(job, delayMs ?? usualMs);
    });
  }

  /** A delay of the caller's comes before the retry policy, as on the server. */
  retry(lease: LeaseRef, failure: FailureReport & { readonly delayMs?: number | undefined }): Promise<void> {
    return this.under(lease, (job) => {
      this.failed(job, failure);
      const isFinal = failure.delayMs === undefined ? isLastAttempt(job, failure.group) : job.triesLeft === 0;
      if (isFinal) job.state = 'dead';
      else this.giveBack(job, failure.delayMs ?? delayOf(job));
    });
  }

  fail(lease: LeaseRef, failure: FailureReport): Promise<void> {
    return this.under(lease, (job) => {
      this.failed(job, failure);
      job.state = 'dead';
    });
  }

  log(id: string, message: string, data?: unknown): Promise<void> {
    this.stored.get(id)?.log.push({ message, data });
    return Promise.resolve();
  }

  private store(job: NewJob): PublishedJob {
    const { queue, type = null, tries = USUAL_TRIES, delayMs, runAt, ttlMs = 0 } = job;
    const dueInMs = delayMs ?? (runAt === undefined ? 0 : dueOf(runAt) - this.nowMs);
    const id = job.id ?? `memory-${String(++this.count)}`;
    const payload = payloadOf(job);
    const stored: Stored = {
      ...{ id, queue, type, state: 'ready', payload, data: valueOf(payload), attempts: 0, triesLeft: tries },
      ...{
        result: undefined,
        failure: null,
        progress: null,
        dueMs: null,
        log: [],
        lease: 0,
        failures: 0,
        unhandled: 0,
      },
      ...{
        crashes: 0,
        leaseEndsMs: Infinity,
        runEndsMs: Infinity,
        hasBegun: false,
        expiresMs: ttlMs === 0 ? Infinity : this.nowMs + ttlMs,
      },
      ...{ cancelRequested: false, order: this.stored.size, publishedMs: this.nowMs, job },
    };
    this.place(stored, dueInMs);
    this.stored.set(id, stored);
    return { id, state: stored.state, existing: false, replayed: false };
  }

  /** By priority, then in the order of publishing. */
  private readyIn(queues: readonly string[], types: LeaseRequest['types']): Stored[] {
    const rank = ({ queue }: Stored): number => queues.indexOf(queue);
    return [...this.stored.values()]
      .filter((job) => isReady(job, types) && (queues.includes(ANY) || queues.includes(job.queue)))
      .sort(
        (a, b) => rank(a) - rank(b) || (a.job.priority ?? 0) - (b.job.priority ?? 0) || a.order - b.order,
      );
  }

  /** As many as are wanted; for `round_robin` one of each queue in turn, from the queue behind the last one. */
  private chosen(ready: readonly Stored[], count: number, order: LeaseRequest['order']): readonly Stored[] {
    if (order !== 'round_robin') return ready.slice(0, count);
    const byQueue = new Map<string, Stored[]>();
    for (const job of ready) byQueue.set(job.queue, [...(byQueue.get(job.queue) ?? []), job]);
    const names = [...byQueue.keys()].sort();
    const first = names.findIndex((name) => name > this.lastQueue);
    const turns = first > 0 ? [...names.slice(first), ...names.slice(0, first)] : names;
    const chosen: Stored[] = [];
    while (chosen.length < Math.min(count, ready.length)) {
      for (const name of turns) {
        const job = byQueue.get(name)?.shift();
        if (job !== undefined && chosen.length < count) chosen.push(job);
      }
    }
    this.lastQueue = chosen.at(-1)?.queue ?? this.lastQueue;
    return chosen;
  }

  /** The lease ran out: its job is tried again by its policy, after `leaseGraceMs` at least. */
  private loseLease(job: Stored): void {
    const { leaseGraceMs = 0 } = job.job;
    const group = job.runEndsMs <= this.nowMs ? MAX_RUN_EXCEEDED : LEASE_EXPIRED;
    job.crashes++;
    job.unhandled = 0;
    if (job.cancelRequested) job.state = 'cancelled';
    else if (isLastAttempt(job, group)) {
      const at = new Date(this.nowMs).toISOString();
      job.failure = { group, message: 'its last lease ran out', at, worker: null };
      job.state = 'dead';
    } else this.place(job, Math.max(leaseGraceMs, delayOf(job)));
  }

  private leaseOne(job: Stored, ttrMs: number): LeasedJob {
    job.state = 'leased';
    job.hasBegun = false;
    job.runEndsMs = this.nowMs + (job.job.maxRunMs ?? Infinity);
    extend(job, this.nowMs + ttrMs);
    job.lease++;
    job.attempts++;
    job.triesLeft--;
    const { id, queue, type, lease, attempts, crashes, triesLeft, failures, progress, payload } = job;
    const bytes = 'bytes' in payload ? payload.bytes : new TextEncoder().encode(payload.json);
    return memoryJob({
      ...{ id, queue, type, lease, attempts, triesLeft, failures, progress, crashes },
      tags: job.job.tags ?? [],
      attributes: job.job.attributes ?? null,
      priority: job.job.priority ?? 0,
      ...(job.job.maxRunMs !== undefined && { maxRunMs: job.job.maxRunMs }),
      tries: job.job.tries ?? USUAL_TRIES,
      publishedAt: new Date(job.publishedMs).toISOString(),
      expiresAt: job.expiresMs === Infinity ? null : new Date(job.expiresMs).toISOString(),
      contentType:
        'bytes' in payload ? (payload.contentType ?? 'application/octet-stream') : 'application/json',
      // A handler that changes its data changes a copy.
      data: valueOf(payload),
      text: 'json' in payload ? payload.json : new TextDecoder().decode(bytes),
      bytes,
    });
  }

  private complete(job: Stored, { result, next, data }: Ack): AckStatus {
    if (data) this.replaceData(job, data);
    if (next) {
      job.queue = next.queue;
      job.triesLeft = job.job.tries ?? USUAL_TRIES;
      this.place(job, next.delayMs ?? 0);
      return 'moved';
    }
    job.state = 'done';
    job.result = result && valueOf(result);
    return 'acked';
  }

  private replaceData(job: Stored, data: EncodedPayload): void {
    job.payload = data;
    job.data = valueOf(data);
  }

  private failed(job: Stored, { group, message }: FailureReport): void {
    job.failures++;
    job.unhandled = 0;
    job.failure = { group, message, at: new Date(this.nowMs).toISOString(), worker: null };
  }

  private giveBack(job: Stored, delayMs: number): void {
    if (job.cancelRequested) job.state = 'cancelled';
    else this.place(job, delayMs);
  }

  private place(job: Stored, delayMs: number): void {
    job.state = delayMs > 0 ? 'scheduled' : 'ready';
    job.dueMs = delayMs > 0 ? this.nowMs + delayMs : null;
  }

  private find(id: string): Stored {
    const job = this.stored.get(id);
    if (job === undefined) throw notFound(id);
    return job;
  }

  /** An operation of the job's present lease. */
  private under<T>(lease: LeaseRef, operation: (job: Stored) => T): Promise<T> {
    const job = this.stored.get(lease.id);
    if (job === undefined || isGone(job)) return Promise.reject(notFound(lease.id));
    if (!isHeld(job, lease)) {
      return Promise.reject(new PumphouseError('lease_lost', 'the job has another lease', { status: 409 }));
    }
    const answer = operation(job);
    this.changed();
    return Promise.resolve(answer);
  }

  /** Resolves at the next change, after `ms`, or when the signal aborts. */
  private changeWithin(ms: number, signal: AbortSignal | undefined, keepsProcess = true): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, timerMs(ms));
      if (!keepsProcess) timer.unref();
      signal?.addEventListener('abort', done, { once: true });
      this.changes.push(done);
    });
  }

  private changed(): void {
    const { changes } = this;
    this.changes = [];
    for (const resolve of changes) resolve();
  }
}

class MemoryLeasedJob extends JobWithPayload {}

function memoryJob(fields: LeasedJob): LeasedJob {
  return Object.assign(new MemoryLeasedJob(), fields);
}

function isReady({ state, type }: Stored | MemoryJob, types: LeaseRequest['types']): boolean {
  return state === 'ready' && (types?.includes(type) ?? true);
}

/** When the clock next changes a job; Infinity if it does not. */
function nextOf({ state, dueMs, leaseEndsMs, expiresMs }: Stored): number {
  if (state === 'scheduled') return Math.min(dueMs ?? Infinity, expiresMs);
  if (state === 'leased') return Math.min(leaseEndsMs, expiresMs);
  return state === 'ready' ? expiresMs : Infinity;
}

/** A lease ends no later than the run. */
function extend(job: Stored, endsMs: number): void {
  job.leaseEndsMs = Math.min(endsMs, job.runEndsMs);
}

function isGone({ state }: Stored): boolean {
  return state === 'done' || state === 'expired';
}

function isHeld(job: Stored, { lease }: LeaseRef): boolean {
  return job.state === 'leased' && job.lease === lease;
}

function payloadOf({ data, json, contentType }: NewJob): EncodedPayload {
  if (json !== undefined) return { json };
  if (data instanceof Uint8Array) return { bytes: data, contentType };
  if (typeof data === 'string' && contentType !== undefined && !contentType.includes('json')) {
    return { bytes: new TextEncoder().encode(data), contentType };
  }
  return { json: data === undefined ? 'null' : dataJson(data) };
}

function valueOf(payload: EncodedPayload): unknown {
  return 'json' in payload ? (JSON.parse(payload.json) as unknown) : payload.bytes;
}

/** True if no tries are left, or its retry policy forbids another try after a failure of this group. */
function isLastAttempt({ triesLeft, job: { retry } }: Stored, group: string): boolean {
  return triesLeft === 0 || retry?.kind === 'none' || (retry?.nonRetryable?.includes(group) ?? false);
}

/** Until the next attempt, in ms, by its retry policy without the random part: failures and expired leases count. */
function delayOf({ failures, crashes, job: { retry: policy = USUAL_POLICY } }: Stored): number {
  const count = failures + crashes;
  switch (policy.kind) {
    case 'fixed':
      return policy.delayMs;
    case 'linear':
      return Math.min(policy.maxMs ?? Infinity, policy.delayMs * count);
    case 'exponential':
      return Math.min(
        policy.maxMs ?? Infinity,
        policy.delayMs * (policy.factor ?? USUAL_FACTOR) ** (count - 1),
      );
    case 'list':
      return policy.delaysMs[Math.min(count, policy.delaysMs.length) - 1] ?? 0;
    default:
      return 0;
  }
}

function notFound(id: string): PumphouseError {
  return new PumphouseError('job_not_found', `there is no job ${id}`, { status: 404 });
}

/** @throws {PumphouseError} `invalid_argument`: the server would refuse it */
function dueOf(runAt: Date | string): number {
  const ms = momentOf(runAt);
  if (!Number.isNaN(ms)) return ms;
  const errors = [{ field: 'run_at', rule: MOMENT_RULE }];
  throw new PumphouseError('invalid_argument', `run_at: ${MOMENT_RULE}`, {
    status: 400,
    details: { errors },
  });
}
