/**
 * What the engine reports about itself. Metrics implement it; a library user implements what it needs. Calls are
 * synchronous and on the fast path: an implementation must be cheap and must not throw.
 */
export interface EngineObserver {
  /** Jobs stored; `scheduled` of them are delayed. */
  published(namespace: string, queue: string, jobs: number, scheduled: number): void;
  /** One job leased; `waitMs` since it was published. */
  leased(namespace: string, queue: string, waitMs: number): void;
  /** One job acknowledged, and so deleted; `ageMs` since it was published, null = unknown. */
  acked(namespace: string, queue: string, ageMs: number | null): void;
  /**
   * An acknowledgement that came, or may have come, from a worker whose lease had expired. `refused`: it named its
   * lease and changed nothing. `late`: no lease named, the job was waiting for its next try. `possible`: no lease
   * named, the job was under its second or a later lease, which may belong to another worker.
   */
  staleAck(namespace: string, kind: 'refused' | 'late' | 'possible'): void;
  /** Leases given back because their responses did not arrive. */
  undone(namespace: string, jobs: number): void;
  /** What the pump moved, and the greatest delay of a job after its due time, in milliseconds. */
  pumped(namespace: string, moved: PumpCounts, latenessMs: number): void;
  /** Jobs that expired and were removed. */
  expired(namespace: string, jobs: number): void;
  respawned(namespace: string, queue: string, jobs: number): void;
  /**
   * One lease ended with its job done, `runMs` after it began. Not called if the start is unknown because another
   * process gave the lease.
   */
  ran(namespace: string, queue: string, runMs: number): void;
  /** Jobs that went to the dead-letter queue: no try left, or a worker failed them. */
  failed(namespace: string, queue: string, jobs: number): void;
  /** Jobs that will be tried again: their leases expired, or a worker returned them. Undone leases do not count. */
  retried(namespace: string, queue: string, jobs: number): void;
  /** Jobs that workers released: because they have no handler for them, or for another reason. */
  released(namespace: string, queue: string, reason: 'no_handler' | 'other', jobs: number): void;
  /** One script call: its name, the number of its items, and the round trip in milliseconds. */
  script(name: string, items: number, roundTripMs: number): void;
  /** Long polls that wait in this process now. */
  waiters(count: number): void;
  /**
   * Events of changes made by this process: written for listeners, or dropped. Not called while there are no listeners.
   */
  emitted(written: number, dropped: number): void;
  /** Worker sessions that started, came back after they were lost, ended, or were lost: no heartbeat in time. */
  sessions(namespace: string, what: SessionChange, count: number): void;
  /** A background loop failed; it continues. */
  loopError(loop: string, error: unknown): void;
}

/** What happens to a worker session. */
export type SessionChange = 'started' | 'returned' | 'ended' | 'lost';

export interface PumpCounts {
  /** Scheduled jobs that became due. */
  readonly due: number;
  /** Leases that expired, with the job going back to its ready list. */
  readonly returned: number;
  /** Leases that expired with no try left: the job died. */
  readonly died: number;
  /** Jobs that had expired. */
  readonly expired: number;
}

const ignore = (): void => undefined;

/** An observer that ignores everything; a base for others. */
export const silentObserver: EngineObserver = {
  published: ignore,
  leased: ignore,
  acked: ignore,
  staleAck: ignore,
  undone: ignore,
  pumped: ignore,
  expired: ignore,
  respawned: ignore,
  ran: ignore,
  failed: ignore,
  retried: ignore,
  released: ignore,
  script: ignore,
  waiters: ignore,
  emitted: ignore,
  sessions: ignore,
  loopError: ignore,
};
