/**
 * What the engine tells about itself. Metrics implement it; a library user passes what it needs. Calls are synchronous
 * and on the hot path: an implementation must be cheap and must not throw.
 */
export interface EngineObserver {
  /** Jobs stored: `scheduled` of them wait for their time. */
  published(namespace: string, queue: string, jobs: number, scheduled: number): void;
  /** One job leased; `waitMs` since it was published. */
  leased(namespace: string, queue: string, waitMs: number): void;
  /** One job acknowledged, and so gone; `ageMs` since it was published. */
  acked(namespace: string, queue: string, ageMs: number): void;
  /**
   * An acknowledgement that came, or may have come, from an owner whose lease had run out. `refused`: it named its lease and
   * changed nothing. `late`: no lease named, the job was waiting for its next try. `possible`: no lease named, the job was under
   * its second or a later lease, which may be another owner's.
   */
  staleAck(namespace: string, kind: 'refused' | 'late' | 'possible'): void;
  /** Leases given back because their answers reached nobody. */
  undone(namespace: string, jobs: number): void;
  /** What the pump moved, and how late the latest of it was, in milliseconds after its due time. */
  pumped(namespace: string, moved: PumpCounts, latenessMs: number): void;
  /** Jobs that expired and were removed. */
  expired(namespace: string, jobs: number): void;
  respawned(namespace: string, queue: string, jobs: number): void;
  /** One lease ended with its job done, `runMs` after it began. Not told where its beginning is not known: another process gave it. */
  ran(namespace: string, queue: string, runMs: number): void;
  /** Jobs that went to the dead letter: no try left, or a worker said so. */
  failed(namespace: string, queue: string, jobs: number): void;
  /** Jobs that go back to be tried again: their leases ran out, or a worker gave them up. Undone leases are none. */
  retried(namespace: string, queue: string, jobs: number): void;
  /** One script call: its name, how many items travelled in it, and the round trip in milliseconds. */
  script(name: string, items: number, roundTripMs: number): void;
  /** Long polls waiting in this process now. */
  waiters(count: number): void;
  /** Events of steps that this process took: written for whoever listens, or left out. Silent while nobody listens. */
  told(written: number, dropped: number): void;
  /** A background loop failed; it goes on. */
  loopError(loop: string, error: unknown): void;
}

export interface PumpCounts {
  /** Scheduled jobs whose time came. */
  readonly due: number;
  /** Leases that ran out, the job going back to its line. */
  readonly returned: number;
  /** Leases that ran out with no try left: the job died. */
  readonly died: number;
  /** Jobs that had expired. */
  readonly expired: number;
}

const ignore = (): void => undefined;

/** An observer that ignores everything, to build others on. */
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
  script: ignore,
  waiters: ignore,
  told: ignore,
  loopError: ignore,
};
