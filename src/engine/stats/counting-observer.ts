import type { EngineObserver, PumpCounts, SessionChange } from '../core/observer.js';
import type { Activity } from '../history/activity.js';
import type { Statistics } from './statistics.js';

/** Counts what the statistics and the history need, and forwards every call. */
export class CountingObserver implements EngineObserver {
  constructor(
    private readonly next: EngineObserver,
    /** Null: there are none. */
    private readonly statistics: Statistics | null,
    /** Null: there is none. */
    private readonly activity: Activity | null,
  ) {}

  published(namespace: string, queue: string, jobs: number, scheduled: number): void {
    // Also a queue whose jobs are never leased stays listed for a day.
    // guard: publishes-list-their-queue
    this.statistics?.of(namespace, queue);
    if (this.activity) this.activity.of(namespace, queue).counts.published += jobs;
    this.next.published(namespace, queue, jobs, scheduled);
  }

  leased(namespace: string, queue: string, waitMs: number): void {
    this.statistics?.of(namespace, queue).waits.add(waitMs);
    this.activity?.of(namespace, queue).addLease(waitMs);
    this.next.leased(namespace, queue, waitMs);
  }

  acked(namespace: string, queue: string, ageMs: number | null): void {
    if (this.activity) this.activity.of(namespace, queue).counts.acked += 1;
    this.next.acked(namespace, queue, ageMs);
  }

  staleAck(namespace: string, kind: 'refused' | 'late' | 'possible'): void {
    this.next.staleAck(namespace, kind);
  }

  undone(namespace: string, jobs: number): void {
    this.next.undone(namespace, jobs);
  }

  pumped(namespace: string, moved: PumpCounts, latenessMs: number): void {
    this.next.pumped(namespace, moved, latenessMs);
  }

  expired(namespace: string, jobs: number): void {
    this.next.expired(namespace, jobs);
  }

  respawned(namespace: string, queue: string, jobs: number): void {
    this.next.respawned(namespace, queue, jobs);
  }

  ran(namespace: string, queue: string, runMs: number): void {
    this.statistics?.of(namespace, queue).runs.add(runMs);
    this.activity?.of(namespace, queue).runs.add(runMs);
    this.next.ran(namespace, queue, runMs);
  }

  failed(namespace: string, queue: string, jobs: number): void {
    if (this.statistics) this.statistics.of(namespace, queue).failures += jobs;
    this.activity?.of(namespace, queue).addDeaths(jobs);
    this.next.failed(namespace, queue, jobs);
  }

  retried(namespace: string, queue: string, jobs: number): void {
    if (this.statistics) this.statistics.of(namespace, queue).retries += jobs;
    if (this.activity) this.activity.of(namespace, queue).counts.failed += jobs;
    this.next.retried(namespace, queue, jobs);
  }

  released(namespace: string, queue: string, reason: 'no_handler' | 'other', jobs: number): void {
    this.next.released(namespace, queue, reason, jobs);
  }

  script(name: string, items: number, roundTripMs: number): void {
    this.next.script(name, items, roundTripMs);
  }

  emitted(written: number, dropped: number): void {
    this.next.emitted(written, dropped);
  }

  waiters(count: number): void {
    this.next.waiters(count);
  }

  sessions(namespace: string, what: SessionChange, count: number): void {
    this.next.sessions(namespace, what, count);
  }

  loopError(loop: string, error: unknown): void {
    this.next.loopError(loop, error);
  }
}
