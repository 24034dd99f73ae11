import type { RetryPolicy } from '../../src/domain/rich-job.js';

export type FullState = 'ready' | 'scheduled' | 'leased' | 'dead' | 'done';

/** A job as the model knows it. Times in Unix ms. */
export interface FullModelJob {
  readonly id: string;
  queue: string;
  readonly isRich: boolean;
  readonly priority: number;
  /** As published. */
  readonly tries: number;
  triesLeft: number;
  readonly retry: RetryPolicy | undefined;
  readonly keepMs: number;
  readonly expiresMs: number;
  state: FullState;
  attempts: number;
  lease: number;
  crashes: number;
  failures: number;
  group: string | null;
  /** When it is due, or its lease ends. */
  atMs: number;
  /** Its place in the line among those of its priority. */
  place: number;
}

/** What the full lane is to do, said once more without Redis: single-threaded, and with nothing to go wrong. */
export class FullModel {
  readonly jobs = new Map<string, FullModelJob>();
  /** The earliest time for which the clock was asked to come, by timer; it may be older than what it stands for. */
  private readonly timers = new Map<string, number>();
  private readonly numbers = new Map<string, number>();
  private last = 0;
  private first = 0;

  constructor(readonly now: () => number) {}

  publish(
    job: Pick<FullModelJob, 'id' | 'queue' | 'isRich' | 'priority' | 'tries' | 'retry' | 'keepMs'> & {
      readonly delayMs: number;
      readonly ttlMs: number;
    },
  ): void {
    const { delayMs, ttlMs, ...rest } = job;
    const made: FullModelJob = {
      ...rest,
      expiresMs: ttlMs === 0 ? 0 : this.now() + ttlMs,
      triesLeft: job.tries,
      state: 'ready',
      attempts: 0,
      lease: 0,
      crashes: 0,
      failures: 0,
      group: null,
      atMs: 0,
      place: 0,
    };
    this.numberOf(job.queue);
    this.jobs.set(job.id, made);
    if (made.expiresMs > 0) this.arm('E', made.expiresMs);
    this.enter(made, delayMs);
  }

  /** The ids that a lease call gets, in order. */
  lease(queues: readonly string[], count: number, ttrMs: number): string[] {
    const taken: string[] = [];
    for (const queue of queues) {
      for (const job of this.line(queue)) {
        if (taken.length === count) return taken;
        // Whoever meets an expired job removes it.
        if (this.isExpired(job)) this.jobs.delete(job.id);
        else taken.push(this.take(job, ttrMs).id);
      }
    }
    return taken;
  }

  /** What an owner's word comes to: as the codes of lua/scripts/full_settle.lua. */
  claim(id: string, lease: number, isBeat: boolean): 'missing' | 'lost' | 'ours' {
    const job = this.jobs.get(id);
    if (!job) return 'missing';
    if (this.isExpired(job)) return job.lease === lease ? 'missing' : 'lost';
    if (job.state === 'dead' || job.state === 'done') return job.lease === lease ? 'missing' : 'lost';
    const isLate = isBeat && job.state === 'ready' && job.attempts > 0;
    return job.lease === lease && (job.state === 'leased' || isLate) ? 'ours' : 'lost';
  }

  ack(id: string): void {
    const job = this.get(id);
    if (job.keepMs > 0) this.jobs.set(id, { ...job, state: 'done', expiresMs: 0 });
    else this.jobs.delete(id);
  }

  move(id: string, queue: string): void {
    const job = this.get(id);
    this.numberOf(queue);
    Object.assign(job, { queue, triesLeft: job.tries, attempts: 0, group: null, lease: job.lease + 1 });
    this.enter(job, 0);
  }

  release(id: string, delayMs: number): void {
    const job = this.get(id);
    job.triesLeft++;
    job.attempts--;
    job.lease++;
    this.enter(job, delayMs, true);
  }

  retry(id: string, group: string): void {
    const job = this.blame(id, group);
    const delayMs = delayOf(job.retry, job.failures);
    if (job.triesLeft === 0 || delayMs === null) this.die(job);
    else this.enter(job, delayMs);
  }

  fail(id: string, group: string): void {
    this.die(this.blame(id, group));
  }

  beat(id: string, ttrMs: number): number {
    const job = this.get(id);
    this.hold(job, ttrMs);
    return job.atMs;
  }

  /** What is due happens: the plain pump first, then the clock's timers, in the order of their times. */
  pump(): void {
    for (const [what] of this.due()) {
      if (what === 'E') this.expireAll();
      else if (what.startsWith('S')) this.makeReady(what);
      else this.timeOut(what);
    }
  }

  counts(queue: string): Record<'ready' | 'scheduled' | 'leased' | 'dead' | 'ended', number> {
    const jobs = [...this.jobs.values()].filter((job) => job.queue === queue);
    const size = (state: FullState): number => jobs.filter((job) => job.state === state).length;
    return {
      ready: size('ready'),
      scheduled: size('scheduled'),
      leased: size('leased'),
      dead: size('dead'),
      ended: size('done'),
    };
  }

  private expireAll(): void {
    for (const job of [...this.jobs.values()])
      if (this.isExpired(job) && job.state !== 'done' && job.state !== 'dead') this.jobs.delete(job.id);
    const ends = [...this.jobs.values()].filter(({ state }) => state !== 'done' && state !== 'dead');
    this.rearm(
      'E',
      ends.flatMap(({ expiresMs }) => (expiresMs > 0 ? [expiresMs] : [])),
    );
  }

  private makeReady(what: string): void {
    for (const job of this.standing('scheduled', what)) {
      if (job.atMs > this.now()) break;
      if (this.isExpired(job)) this.jobs.delete(job.id);
      else this.enter(job, 0);
    }
    this.rearm(
      what,
      this.standing('scheduled', what).map(({ atMs }) => atMs),
    );
  }

  private timeOut(what: string): void {
    for (const job of this.standing('leased', what)) {
      if (job.atMs > this.now()) break;
      if (this.isExpired(job)) this.jobs.delete(job.id);
      else {
        job.crashes++;
        if (job.triesLeft === 0) this.die(job, 'lease_expired');
        else this.enter(job, 0);
      }
    }
    this.rearm(
      what,
      this.standing('leased', what).map(({ atMs }) => atMs),
    );
  }

  private blame(id: string, group: string): FullModelJob {
    const job = this.get(id);
    job.lease++;
    job.failures++;
    job.group = group;
    return job;
  }

  private die(job: FullModelJob, group = job.group): void {
    this.jobs.set(job.id, {
      ...job,
      state: 'dead',
      expiresMs: 0,
      group,
    });
  }

  private take(job: FullModelJob, ttrMs: number): FullModelJob {
    job.triesLeft--;
    job.attempts++;
    job.lease++;
    this.hold(job, ttrMs);
    return job;
  }

  private hold(job: FullModelJob, ttrMs: number): void {
    const endsMs = this.now() + ttrMs;
    job.state = 'leased';
    job.atMs = job.expiresMs > 0 ? Math.min(endsMs, job.expiresMs) : endsMs;
    this.arm(`L${this.numberOf(job.queue)}`, job.atMs);
  }

  private enter(job: FullModelJob, delayMs: number, toFront = false): void {
    job.state = delayMs > 0 ? 'scheduled' : 'ready';
    job.atMs = this.now() + delayMs;
    job.place = toFront ? --this.first : ++this.last;
    if (delayMs > 0) this.arm(`S${this.numberOf(job.queue)}`, job.atMs);
  }

  private line(queue: string): FullModelJob[] {
    return [...this.jobs.values()]
      .filter((job) => job.state === 'ready' && job.queue === queue)
      .sort((one, other) => one.priority - other.priority || one.place - other.place);
  }

  /** As a zset has them: by time, then by the bytes of the id. */
  private standing(state: FullState, what: string): FullModelJob[] {
    return [...this.jobs.values()]
      .filter((job) => job.state === state && String(this.numberOf(job.queue)) === what.slice(1))
      .sort((one, other) => one.atMs - other.atMs || (one.id < other.id ? -1 : 1));
  }

  private due(): [string, number][] {
    return [...this.timers]
      .filter(([, at]) => at <= this.now())
      .sort(([one, at], [other, otherAt]) => at - otherAt || (one < other ? -1 : 1));
  }

  private arm(what: string, at: number): void {
    this.timers.set(what, Math.min(this.timers.get(what) ?? Number.POSITIVE_INFINITY, at));
  }

  private rearm(what: string, times: readonly number[]): void {
    if (times.length === 0) this.timers.delete(what);
    else this.timers.set(what, Math.min(...times));
  }

  private isExpired({ expiresMs }: FullModelJob): boolean {
    return expiresMs > 0 && expiresMs <= this.now();
  }

  private numberOf(queue: string): number {
    if (!this.numbers.has(queue)) this.numbers.set(queue, this.numbers.size + 1);
    return this.numbers.get(queue) ?? 0;
  }

  private get(id: string): FullModelJob {
    const job = this.jobs.get(id);
    if (!job) throw new Error(`the model has no ${id}`);
    return job;
  }
}

function delayOf(policy: RetryPolicy | undefined, n: number): number | null {
  if (policy === undefined) return 0;
  switch (policy.kind) {
    case 'none':
      return null;
    case 'fixed':
      return policy.delayMs;
    case 'linear':
      return Math.min(policy.delayMs * n, policy.maxMs ?? Number.POSITIVE_INFINITY);
    case 'exponential':
      return Math.min(
        policy.delayMs * (policy.factor ?? 2) ** (n - 1),
        policy.maxMs ?? Number.POSITIVE_INFINITY,
      );
    case 'list':
      return policy.delaysMs[Math.min(n, policy.delaysMs.length) - 1] ?? 0;
  }
}
