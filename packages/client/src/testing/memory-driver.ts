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
  SessionAnswer,
  SessionHeartbeat,
} from '../driver.js';
import { PumphouseError } from '../errors.js';
import type { NewJob, RetryPolicy } from '../producer/new-job.js';
import { jsonOf } from '../producer/new-job.js';

export type MemoryState = 'ready' | 'scheduled' | 'leased' | 'dead' | 'done' | 'cancelled';

/** A job of the memory driver. */
export interface MemoryJob {
  readonly id: string;
  readonly queue: string;
  readonly type: string | null;
  readonly state: MemoryState;
  readonly data: unknown;
  readonly attempts: number;
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
  cancelRequested: boolean;
  readonly order: number;
  readonly publishedMs: number;
  readonly job: NewJob;
};

/** In a lease request: every queue there is. */
export const ALL_QUEUES = '*';
const USUAL_TRIES = 5;
/** The server's default retry policy, without its random part. */
const USUAL_POLICY: RetryPolicy = { kind: 'exponential', delayMs: 1_000, maxMs: 600_000 };
const USUAL_FACTOR = 2;
/** What only a server can do. */
const UNSUPPORTED = ['dependsOn', 'unique', 'concurrencyKey', 'push'] as const;

/**
 * A queue server in memory, for tests of handlers: the rules of leases, tries and retry policies, on a clock that moves
 * only by `advance`. Ended jobs are kept. Leases do not run out.
 */
export class MemoryDriver implements JobDriver {
  /** Milliseconds; begins at the time of the machine. */
  nowMs = Date.now();
  private readonly stored = new Map<string, Stored>();
  private readonly answers = new Map<string, readonly PublishedJob[]>();
  private changes: (() => void)[] = [];
  private count = 0;

  /** All jobs, in the order of publishing. */
  get jobs(): readonly MemoryJob[] {
    return [...this.stored.values()];
  }

  /** True while a job is ready or leased. */
  get hasWork(): boolean {
    return this.jobs.some(({ state }) => state === 'ready' || state === 'leased');
  }

  /** When the next scheduled job is due; undefined if there is none. */
  get nextDueMs(): number | undefined {
    const due = this.jobs.flatMap(({ state, dueMs }) =>
      state === 'scheduled' && dueMs !== null ? [dueMs] : [],
    );
    return due.length === 0 ? undefined : Math.min(...due);
  }

  /** Moves the clock; jobs that are due by then are ready. */
  moveTo(ms: number): void {
    this.nowMs = ms;
    for (const job of this.stored.values()) {
      if (job.state === 'scheduled' && (job.dueMs ?? 0) <= ms) this.place(job, 0);
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
    if (known) return Promise.resolve(known);
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
    const { id, existing } = published as PublishedJob;
    const endMs = performance.now() + options.waitMs;
    let ended = this.find(id);
    while (!['done', 'dead', 'cancelled'].includes(ended.state) && performance.now() < endMs) {
      await this.changeWithin(endMs - performance.now(), options.signal);
      ended = this.find(id);
    }
    return { id, existing, state: ended.state, result: ended.result, failure: ended.failure };
  }

  async lease(request: LeaseRequest): Promise<readonly LeasedJob[]> {
    const { queues, count, waitMs, signal } = request;
    const endMs = performance.now() + waitMs;
    for (;;) {
      const ready = this.readyIn(queues).slice(0, count);
      const leftMs = endMs - performance.now();
      if (ready.length > 0 || signal.aborted || leftMs <= 0) return ready.map((job) => this.leaseOne(job));
      await this.changeWithin(leftMs, signal);
    }
  }

  heartbeatSession({ leases }: SessionHeartbeat): Promise<SessionAnswer> {
    const extended = leases.map((lease): ExtendedLease => {
      const job = this.stored.get(lease.id);
      if (job === undefined || job.state === 'done') return { status: 'not_found', cancelRequested: false };
      const status = isHeld(job, lease) ? 'extended' : 'lease_lost';
      return { status, cancelRequested: status === 'extended' && job.cancelRequested };
    });
    return Promise.resolve({ leases: extended, quiet: false, stop: false });
  }

  endSession(): Promise<void> {
    return Promise.resolve();
  }

  heartbeat(lease: LeaseRef, { progress }: HeartbeatCall): Promise<HeartbeatAnswer> {
    return this.under(lease, (job) => {
      if (progress !== undefined) job.progress = progress;
      return { cancelRequested: job.cancelRequested };
    });
  }

  ack(acks: readonly Ack[]): Promise<readonly AckStatus[]> {
    const statuses = acks.map((ack) => {
      const job = this.stored.get(ack.id);
      if (job?.queue !== ack.queue || job.state === 'done') return 'not_found';
      if (!isHeld(job, ack)) return 'lease_lost';
      return this.complete(job, ack);
    });
    this.changed();
    return Promise.resolve(statuses);
  }

  release(lease: LeaseRef, { delayMs = 0 }: { readonly delayMs?: number | undefined }): Promise<void> {
    return this.under(lease, (job) => {
      job.triesLeft++;
      this.giveBack(job, delayMs);
    });
  }

  retry(lease: LeaseRef, failure: FailureReport & { readonly delayMs?: number | undefined }): Promise<void> {
    return this.under(lease, (job) => {
      this.failed(job, failure);
      const { retry } = job.job;
      if (job.triesLeft === 0 || retry?.nonRetryable?.includes(failure.group)) job.state = 'dead';
      else this.giveBack(job, failure.delayMs ?? delayOf(retry, job.failures));
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
    const { queue, type = null, tries = USUAL_TRIES, delayMs, runAt } = job;
    const id = job.id ?? `memory-${String(++this.count)}`;
    const payload = payloadOf(job);
    const stored: Stored = {
      ...{ id, queue, type, state: 'ready', payload, data: valueOf(payload), attempts: 0, triesLeft: tries },
      ...{ result: undefined, failure: null, progress: null, dueMs: null, log: [], lease: 0, failures: 0 },
      ...{ cancelRequested: false, order: this.stored.size, publishedMs: this.nowMs, job },
    };
    this.place(stored, delayMs ?? (runAt === undefined ? 0 : new Date(runAt).getTime() - this.nowMs));
    this.stored.set(id, stored);
    return { id, state: stored.state, existing: false };
  }

  /** By priority, then in the order of publishing. */
  private readyIn(queues: readonly string[]): Stored[] {
    const rank = ({ queue }: Stored): number => queues.indexOf(queue);
    return [...this.stored.values()]
      .filter(
        ({ state, queue }) => state === 'ready' && (queues.includes(ALL_QUEUES) || queues.includes(queue)),
      )
      .sort(
        (a, b) => rank(a) - rank(b) || (a.job.priority ?? 0) - (b.job.priority ?? 0) || a.order - b.order,
      );
  }

  private leaseOne(job: Stored): LeasedJob {
    job.state = 'leased';
    job.lease++;
    job.attempts++;
    job.triesLeft--;
    const { id, queue, type, lease, attempts, triesLeft, failures, progress, payload } = job;
    const bytes = 'bytes' in payload ? payload.bytes : new TextEncoder().encode(payload.json);
    return {
      ...{ id, queue, type, lease, attempts, triesLeft, failures, progress, bytes, crashes: 0 },
      tags: job.job.tags ?? [],
      attributes: job.job.attributes ?? null,
      priority: job.job.priority ?? 0,
      tries: job.job.tries ?? USUAL_TRIES,
      publishedAt: new Date(job.publishedMs).toISOString(),
      expiresAt: null,
      contentType:
        'bytes' in payload ? (payload.contentType ?? 'application/octet-stream') : 'application/json',
      // A handler that changes its data changes a copy.
      data: valueOf(payload),
      text: 'json' in payload ? payload.json : new TextDecoder().decode(bytes),
    };
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
    if (job === undefined || job.state === 'done') return Promise.reject(notFound(lease.id));
    if (!isHeld(job, lease)) {
      return Promise.reject(new PumphouseError('lease_lost', 'the job has another lease', { status: 409 }));
    }
    const answer = operation(job);
    this.changed();
    return Promise.resolve(answer);
  }

  /** Resolves at the next change, after `ms`, or when the signal aborts. */
  private changeWithin(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
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

function isHeld(job: Stored, { lease }: LeaseRef): boolean {
  return job.state === 'leased' && job.lease === lease;
}

function payloadOf({ data, json, contentType }: NewJob): EncodedPayload {
  if (json !== undefined) return { json };
  if (data instanceof Uint8Array) return { bytes: data, contentType };
  if (typeof data === 'string' && contentType !== undefined && !contentType.includes('json')) {
    return { bytes: new TextEncoder().encode(data), contentType };
  }
  return { json: data === undefined ? 'null' : jsonOf(data) };
}

function valueOf(payload: EncodedPayload): unknown {
  return 'json' in payload ? (JSON.parse(payload.json) as unknown) : payload.bytes;
}

/** Without the random part of it. */
function delayOf(policy: RetryPolicy | undefined, failures: number): number {
  if (policy === undefined) return delayOf(USUAL_POLICY, failures);
  switch (policy.kind) {
    case 'fixed':
      return policy.delayMs;
    case 'linear':
      return Math.min(policy.maxMs ?? Infinity, policy.delayMs * failures);
    case 'exponential':
      return Math.min(
        policy.maxMs ?? Infinity,
        policy.delayMs * (policy.factor ?? USUAL_FACTOR) ** (failures - 1),
      );
    case 'list':
      return policy.delaysMs[Math.min(failures, policy.delaysMs.length) - 1] ?? 0;
    default:
      return 0;
  }
}

function notFound(id: string): PumphouseError {
  return new PumphouseError('job_not_found', `there is no job ${id}`, { status: 404 });
}
