import type { Receipt } from '../../domain/job/job.js';

/** Name of an entry of the delivery log in Redis. Slots are reused: each use overwrites the previous entry. */
export interface Slot {
  readonly field: string;
  /** Redis still has an entry under this name whose responses have left since. */
  isStale: boolean;
  /** The tick in which it became stale. */
  staleSince: number;
  /** When the last lease of that entry ends, Unix ms: distinguishes it from an entry written over it. 0 = no entry. */
  staleEndsAtMs: number;
  /** A removal of it failed, and may still be executed. */
  isSuspect: boolean;
}

/** A batch of leases, from before the lease script until all of its responses have left: one script call, many consumers. */
export class Batch implements Receipt {
  jobs = 0;
  endsAtMs = 0;
  private callsLeft = 0;

  constructor(
    readonly log: DeliveryLog,
    readonly slot: Slot,
  ) {}

  get record(): string {
    return this.slot.field;
  }

  /**
   * Records that `jobs` jobs were leased until `endsAtMs` (Unix ms) at the latest, and that `calls` responses must
   * arrive.
   */
  leased(jobs: number, calls: number, endsAtMs: number): void {
    this.jobs = jobs;
    this.callsLeft = calls;
    this.endsAtMs = endsAtMs;
    if (jobs === 0) this.log.putBack(this.slot);
    else this.log.begin(this);
    if (calls === 0) this.log.close(this);
  }

  arrived(): void {
    if (this.callsLeft > 0 && /* guard: batch-is-delivered-with-its-last-answer */ --this.callsLeft === 0)
      this.log.close(this);
  }
}

/** A slot whose lease script was sent but whose reply never came; `sentMs` on the clock of `performance.now`. */
export interface Lost {
  readonly slot: Slot;
  readonly sentMs: number;
}

/** The slots of one server in one namespace. */
export class DeliveryLog {
  /** Slots whose lease script failed: its reply was lost, so it may have run. */
  readonly lost = new Map<Slot, Lost>();
  /** Slots whose removal has an unknown outcome: the removal is retried, and the slot is not used any more. */
  readonly retired: Slot[] = [];
  isRecovering = false;
  /** Number of jobs in all open batches. */
  openJobs = 0;
  private readonly open = new Set<Batch>();
  /** Taken first: an entry that is overwritten need not be removed. */
  private readonly stale: Slot[] = [];
  private readonly clean: Slot[] = [];
  private made = 0;
  private gone = 0;

  /** @param now returns the current tick */
  constructor(
    readonly namespace: string,
    private readonly instance: string,
    private readonly now: () => number,
  ) {}

  take(): Batch {
    return new Batch(this, this.stale.pop() ?? this.clean.pop() ?? this.make());
  }

  /** Returns a slot whose lease script found nothing or did not run: its entry in Redis has not changed. */
  putBack(slot: Slot): void {
    (slot.isStale ? this.stale : this.clean).push(slot);
  }

  /** Returns a slot that has no entry in Redis any more. */
  putBackClean(slot: Slot): void {
    slot.isStale = false;
    slot.staleEndsAtMs = 0;
    this.clean.push(slot);
  }

  /** Like `putBackClean`, after a removal that may have been sent twice. */
  removed(slot: Slot): void {
    if (slot.isSuspect) this.gone++;
    else this.putBackClean(slot);
  }

  retire(slot: Slot): void {
    slot.isSuspect = true;
    this.retired.push(slot);
  }

  begin(batch: Batch): void {
    this.openJobs += batch.jobs;
    this.open.add(batch);
  }

  close(batch: Batch): void {
    if (!this.open.delete(batch)) return;
    this.openJobs -= batch.jobs;
    batch.slot.isStale = true;
    batch.slot.staleSince = this.now();
    batch.slot.staleEndsAtMs = batch.endsAtMs;
    this.stale.push(batch.slot);
  }

  /** Closes batches whose leases ended before `beforeMs` (Unix ms): their entries are not needed any more. */
  closeEnded(beforeMs: number): void {
    for (const batch of this.open) if (batch.endsAtMs < beforeMs) this.close(batch);
  }

  /** Takes out the slots that became stale before a tick. */
  takeStale(beforeTick: number): Slot[] {
    if (this.stale.length === 0) return [];
    const taken = this.stale.filter(({ staleSince }) => staleSince < beforeTick);
    if (taken.length > 0) {
      const kept = this.stale.filter(({ staleSince }) => staleSince >= beforeTick);
      this.stale.splice(0, this.stale.length, ...kept);
    }
    return taken;
  }

  private make(): Slot {
    const field = this.instance + String(this.made++);
    return { field, isStale: false, staleSince: 0, staleEndsAtMs: 0, isSuspect: false };
  }

  /** True if no slot is in use and Redis has no entry of them. */
  get isIdle(): boolean {
    return this.clean.length + this.gone === this.made;
  }
}
