import { JobLog, nowMs, type Operation } from './job-log.js';

/** A lease as its holder knows it. Times are Unix ms by this machine's clock, which Redis's is too. */
export interface Held {
  readonly id: string;
  readonly queue: string;
  /** Null: lmstfy's wire does not tell it. */
  readonly lease: number | null;
  /** The call that got it was sent then. */
  sentMs: number;
  /** It is valid from then on, for sure: its answer was here. */
  fromMs: number;
  /** It is valid until then, for sure, if no call ended it. */
  endMs: number;
  /** Heartbeats under way. */
  heartbeats: number;
  /** Several were. */
  isUnsure: boolean;
}

/** Milliseconds that times told in whole ones may differ by. */
const CLOCK_MS = 3;

/**
 * Judges a run of concurrent clients by what they were answered alone: it knows which leases are valid for sure, and which calls were under
 * way. Whatever may be right in some order of the calls passes.
 */
export class LeaseRules {
  readonly log = new JobLog();
  readonly problems: string[] = [];
  /** Jobs of the problems, and the calls that concerned each when the first problem was seen. */
  readonly suspects = new Map<string, string>();
  private readonly startedMs = nowMs();
  private readonly leases = new Map<string, Held[]>();
  /** By job and number of the lease: when it was settled for sure. */
  private readonly settled = new Map<string, number>();

  /** @param isReused ids that are used again, but whose leases are not numbered by the clock */
  constructor(private readonly isReused: (id: string) => boolean) {}

  report(id: string, what: string): void {
    this.problems.push(`${id}: ${what}`);
    this.suspect(id);
  }

  /** Keeps the calls that concern a job to be printed. */
  suspect(id: string): void {
    const queues = new Set(this.of(id).map(({ queue }) => queue));
    if (id !== '' && !this.suspects.has(id))
      this.suspects.set(id, this.log.tail(id, [...queues], this.startedMs));
  }

  /** The jobs of one answer. */
  granted(held: readonly Held[]): void {
    const ids = new Set(held.map(({ id }) => id));
    if (ids.size < held.length)
      for (const id of ids)
        if (held.filter((one) => one.id === id).length > 1) this.report(id, 'leased twice by one answer');
    for (const one of held) {
      this.checkAlone(one);
      this.checkNumber(one);
      this.checkIsThere(one);
      this.of(one.id).push(one);
    }
  }

  /** To be called as a heartbeat is sent: until it is answered nothing is sure. @returns until when it was valid for sure */
  beginHeartbeat(held: Held): number {
    const { endMs } = held;
    held.endMs = Math.min(endMs, nowMs());
    held.isUnsure = held.heartbeats++ > 0;
    return endMs;
  }

  /** @param endMs what the answer says; 0 if it was refused */
  endHeartbeat(operation: Operation, held: Held, endMs: number): void {
    held.heartbeats--;
    // Which of two calls was the last, their answers do not tell: of two heartbeats, or of one and a call that ended the lease.
    if (held.isUnsure || held.heartbeats > 0 || endMs === 0) return;
    const sinceMs = nowMs();
    if (this.log.has('ends', held.id, held.queue, operation.sentMs, sinceMs, operation)) return;
    Object.assign(held, { sentMs: sinceMs, fromMs: sinceMs, endMs });
  }

  /** The holder's word was accepted. @param isLast it ends the lease */
  accepted(operation: Operation, id: string, lease: number, isLast: boolean): void {
    const name = `${id} ${lease}`;
    const settledMs = this.settled.get(name) ?? Number.POSITIVE_INFINITY;
    if (isLast ? settledMs < nowMs() : settledMs < operation.sentMs)
      this.report(id, `lease ${lease} was settled, and accepted again`);
    if (isLast) this.settled.set(name, Math.min(settledMs, nowMs()));
    for (const other of this.of(id)) {
      const isNewer = other.lease !== null && other.lease > lease && other.fromMs < operation.sentMs;
      if (isNewer && !this.wasPublishedAgain(id))
        this.report(id, `lease ${lease} was accepted when ${other.lease} was out`);
    }
  }

  /** All leases that were out when a call that ended the lease of the job was sent are over. */
  revoked(operation: Operation, id: string): void {
    for (const { lease, fromMs } of this.of(id)) {
      if (lease === null || fromMs >= operation.sentMs) continue;
      const name = `${id} ${lease}`;
      this.settled.set(name, Math.min(this.settled.get(name) ?? Number.POSITIVE_INFINITY, nowMs()));
    }
  }

  /** The holder's word was refused as that of a lease that is none. @param endMs until when it was valid for sure */
  refused(operation: Operation, held: Held | undefined, endMs: number, answer: string): void {
    if (held === undefined || operation.sentMs < held.fromMs || nowMs() >= endMs - CLOCK_MS) return;
    if (!this.log.has('ends', held.id, held.queue, held.sentMs, nowMs(), operation))
      this.report(held.id, `lease ${held.lease} is valid, and its holder was told: ${answer}`);
  }

  find(id: string, lease: number): Held | undefined {
    return this.of(id).find((one) => one.lease === lease);
  }

  of(id: string): Held[] {
    const found = this.leases.get(id);
    if (found !== undefined) return found;
    const list: Held[] = [];
    this.leases.set(id, list);
    return list;
  }

  private checkAlone(one: Held): void {
    for (const other of this.of(one.id)) {
      const overlap = one.fromMs < other.endMs - CLOCK_MS && other.fromMs < one.endMs - CLOCK_MS;
      const sinceMs = Math.min(one.sentMs, other.sentMs);
      if (overlap && !this.log.has('ends', one.id, other.queue, sinceMs, one.fromMs))
        this.report(one.id, `leased as ${one.lease} while lease ${other.lease} was valid`);
    }
  }

  private checkNumber(one: Held): void {
    if (one.lease === null || this.wasPublishedAgain(one.id)) return;
    for (const other of this.of(one.id)) {
      if (other.lease === null) continue;
      const isBefore = other.fromMs < one.sentMs;
      if (one.lease === other.lease || (isBefore && one.lease < other.lease))
        this.report(one.id, `lease ${one.lease} after ${other.lease}`);
    }
  }

  /** What was taken away comes back only by a publish. */
  private checkIsThere({ id, sentMs, fromMs }: Held): void {
    const gone = this.log.of(id).findLast(({ isEnd }) => isEnd);
    if (gone === undefined || gone.untilMs >= sentMs) return;
    if (!this.log.has('publishes', id, null, gone.sentMs, fromMs))
      this.report(id, `leased after it was gone: ${gone.text}`);
  }

  private wasPublishedAgain(id: string): boolean {
    return this.isReused(id) && this.log.of(id).filter(({ effects }) => effects.publishes).length > 1;
  }
}
