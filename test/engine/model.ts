import type { NewJob, QueueCounts } from '../../src/domain/job/job.js';
import type { TimedLeaseRequest } from '../../src/engine/lease/fetch-requests.js';
import type { JobState } from '../../src/domain/job/states.js';
import { encodeId } from '../../src/engine/core/ids.js';

/** A job in the model. */
export interface ModelJob {
  readonly id: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, string>> | null;
  readonly queue: string;
  state: JobState;
  tries: number;
  attempts: number;
  lease: number;
  /** Unix ms, 0 = never. */
  expiresMs: number;
  /** When a scheduled job is due, a lease ends, or a dead job died; Unix ms. */
  atMs: number;
}

/** What a consumer sees of a lease. */
export interface ModelLease {
  readonly id: string;
  readonly queue: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, string>> | null;
  readonly triesLeft: number;
  readonly attempts: number;
  readonly lease: number;
  readonly ttlLeftMs: number;
  readonly leaseEndsAtMs: number;
}

export type LeaseCall = Pick<TimedLeaseRequest, 'queues' | 'count' | 'ttrMs'>;

/**
 * A model of the engine's namespace, in memory and without Redis: plain lists, without stale entries or packing. Time
 * moves only with
 * `nowMs`. An expired job stays in its ready list until a call removes it, as in the engine; until then only the size shows it.
 */
export class QueueModel {
  private readonly jobs = new Map<string, ModelJob>();
  private readonly lines = new Map<string, string[]>();

  constructor(public nowMs: number) {}

  /** False if the id is in use. */
  publish(queue: string, id: string, job: NewJob, replaces?: string): boolean {
    if (this.alive(id)) return false;
    this.remove(id);
    const old = replaces === undefined ? undefined : this.jobs.get(replaces);
    if (old?.queue === queue) this.remove(old.id);
    const expiresMs = job.ttlMs > 0 ? this.nowMs + job.ttlMs : 0;
    const dueMs = this.nowMs + job.delayMs;
    this.jobs.set(id, {
      id,
      body: job.body.toString('latin1'),
      attributes: job.attributes ?? null,
      queue,
      state: job.delayMs > 0 ? 'scheduled' : 'ready',
      tries: job.tries,
      attempts: 0,
      // An id that was chosen may have been another job's before.
      lease: job.id === undefined ? 0 : this.nowMs % 2 ** 31,
      expiresMs,
      // A job that expires before it is due is removed when it expires.
      atMs: expiresMs > 0 ? Math.min(dueMs, expiresMs) : dueMs,
    });
    if (job.delayMs === 0) this.line(queue).push(id);
    return true;
  }

  lease({ queues, count, ttrMs }: LeaseCall): ModelLease[] {
    const leases: ModelLease[] = [];
    for (const queue of queues) {
      while (leases.length < count) {
        const job = this.takeHead(queue);
        if (!job) break;
        leases.push(this.leaseOne(job, ttrMs));
      }
    }
    return leases;
  }

  /** Lease 0 = any. */
  ack(queue: string, id: string, lease: number): boolean | 'lease_lost' {
    const job = this.alive(id);
    if (job?.queue !== queue) return false;
    // After a lease expired its holder is accepted until the next lease.
    const isHeld = job.state === 'leased' || (['ready', 'dead'].includes(job.state) && job.attempts > 0);
    if (lease > 0 && (!isHeld || job.lease !== lease)) return 'lease_lost';
    this.remove(id);
    return true;
  }

  undo(leases: readonly { id: string; lease: number }[]): void {
    const front = new Map<string, string[]>();
    for (const { id, lease } of leases) {
      const job = this.alive(id);
      if (job?.state !== 'leased' || job.lease !== lease) continue;
      job.state = 'ready';
      job.tries++;
      job.attempts--;
      front.set(job.queue, [...(front.get(job.queue) ?? []), id]);
    }
    for (const [queue, ids] of front) this.line(queue).unshift(...ids);
  }

  /** Moves what is due, queue by queue: first scheduled jobs, then expired leases, each by time and id. */
  pump(): void {
    for (const queue of this.queues()) {
      for (const state of ['scheduled', 'leased'] as const) {
        for (const job of this.inState(queue, state)) if (job.atMs <= this.nowMs) this.moveDue(job);
      }
    }
  }

  /** The janitor: removes expired jobs from their ready lists. */
  tidy(): void {
    for (const [queue, ids] of this.lines) {
      this.lines.set(
        queue,
        ids.filter((id) => {
          if (this.alive(id)) return true;
          this.jobs.delete(id);
          return false;
        }),
      );
    }
  }

  /** @returns the number of removed entries of the ready list */
  destroy(queue: string): number {
    const ids = [...this.line(queue)];
    for (const id of ids) this.remove(id);
    return ids.length;
  }

  respawn(queue: string, limit: number, ttlMs: number): number {
    const dead = this.inState(queue, 'dead').slice(0, limit);
    for (const job of dead) {
      job.state = 'ready';
      job.tries = 1;
      job.lease++;
      job.expiresMs = ttlMs > 0 ? this.nowMs + ttlMs : 0;
      this.line(queue).push(job.id);
    }
    return dead.length;
  }

  deleteDead(queue: string, limit: number): number {
    const dead = this.inState(queue, 'dead').slice(0, limit);
    for (const { id } of dead) this.remove(id);
    return dead.length;
  }

  peekJob(queue: string, id: string): ModelJob | null {
    const job = this.alive(id);
    return job?.queue === queue ? job : null;
  }

  peekQueue(queue: string): ModelJob | null {
    const id = this.line(queue).find((one) => this.alive(one));
    return id === undefined ? null : (this.jobs.get(id) ?? null);
  }

  deadHead(queue: string): { id: string | null; size: number } {
    const dead = this.inState(queue, 'dead');
    return { id: dead[0]?.id ?? null, size: dead.length };
  }

  counts(queue: string): Omit<QueueCounts, 'oldestReadyAgeMs' | 'oldestReadyAtMs'> {
    const [scheduled, leased, dead] = (['scheduled', 'leased', 'dead'] as const).map(
      (state) => this.inState(queue, state).length,
    ) as [number, number, number];
    return {
      queue,
      ready: this.line(queue).length,
      scheduled,
      leased,
      dead,
      blocked: 0,
      stuck: 0,
      held: 0,
      done: 0,
      cancelled: 0,
    };
  }

  /** All jobs, including expired ones that were not removed yet. */
  all(): readonly ModelJob[] {
    return [...this.jobs.values()];
  }

  private queues(): string[] {
    return [...new Set([...this.jobs.values()].map(({ queue }) => queue))];
  }

  private line(queue: string): string[] {
    const line = this.lines.get(queue) ?? [];
    this.lines.set(queue, line);
    return line;
  }

  private alive(id: string): ModelJob | undefined {
    const job = this.jobs.get(id);
    return job && (job.expiresMs === 0 || job.expiresMs > this.nowMs) ? job : undefined;
  }

  private remove(id: string): void {
    const job = this.jobs.get(id);
    if (!job) return;
    this.jobs.delete(id);
    const line = this.line(job.queue);
    const at = line.indexOf(id);
    if (at >= 0) line.splice(at, 1);
  }

  private takeHead(queue: string): ModelJob | undefined {
    const line = this.line(queue);
    for (let id = line.shift(); id !== undefined; id = line.shift()) {
      const job = this.alive(id);
      if (job) return job;
      this.jobs.delete(id);
    }
    return undefined;
  }

  private leaseOne(job: ModelJob, ttrMs: number): ModelLease {
    job.state = 'leased';
    job.tries--;
    job.attempts++;
    job.lease++;
    job.atMs = this.nowMs + ttrMs;
    if (job.expiresMs > 0) job.atMs = Math.min(job.atMs, job.expiresMs);
    const { id, queue, body, attributes, tries: triesLeft, attempts, lease, atMs } = job;
    const ttlLeftMs = job.expiresMs === 0 ? 0 : job.expiresMs - this.nowMs;
    return { id, queue, body, attributes, triesLeft, attempts, lease, ttlLeftMs, leaseEndsAtMs: atMs };
  }

  private moveDue(job: ModelJob): void {
    if (!this.alive(job.id)) {
      this.jobs.delete(job.id);
    } else if (job.state === 'leased' && job.tries === 0) {
      job.state = 'dead';
      job.expiresMs = 0;
      job.atMs = this.nowMs;
    } else {
      job.state = 'ready';
      this.line(job.queue).push(job.id);
    }
  }

  /** Sorted as in a Redis zset: by time, then by the bytes of the id. */
  private inState(queue: string, state: JobState): ModelJob[] {
    return [...this.jobs.values()]
      .filter((job) => job.queue === queue && job.state === state)
      .sort((a, b) => a.atMs - b.atMs || Buffer.compare(bytesOf(a.id), bytesOf(b.id)));
  }
}

function bytesOf(id: string): Buffer {
  return encodeId(id) ?? Buffer.alloc(0);
}
