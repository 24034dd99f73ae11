import type { Receipt } from '../domain/job.js';

/** The name of a record in Redis. It is used again and again: each use overwrites the last. */
export interface Slot {
  readonly field: string;
  /** Redis holds a record under it whose answers have left since. */
  isStale: boolean;
  /** The tick in which it became stale. */
  staleSince: number;
  /** When the last lease of that record ends, Unix ms: it tells that record from one that is written over it. 0 = there is none. */
  staleEndsAtMs: number;
  /** A removal of it failed, and may yet happen. */
  isSuspect: boolean;
}

/** A batch of leases, from before the reserve until all of its answers have left: one script call, many consumers. */
export class Batch implements Receipt {
  jobs = 0;
  endsAtMs = 0;
  private callsLeft = 0;

  constructor(
    readonly shelf: RecordShelf,
    readonly slot: Slot,
  ) {}

  /** So many jobs were leased until `endsAtMs` (Unix ms) at the latest; so many calls will tell of their arrival. */
  leased(jobs: number, calls: number, endsAtMs: number): void {
    this.jobs = jobs;
    this.callsLeft = calls;
    this.endsAtMs = endsAtMs;
    if (jobs === 0) this.shelf.putBack(this.slot);
    else this.shelf.begin(this);
    if (calls === 0) this.shelf.close(this);
  }

  arrived(): void {
    if (this.callsLeft > 0 && --this.callsLeft === 0) this.shelf.close(this);
  }
}

/** A slot whose reserve was sent, and whose reply never came; `sentMs` on the clock of `performance.now`. */
export interface Lost {
  readonly slot: Slot;
  readonly sentMs: number;
}

/** The slots of one server in one namespace. */
export class RecordShelf {
  /** Slots whose reserve was sent and not answered, or whose reply was lost. */
  readonly lost = new Map<Slot, Lost>();
  /** Slots of which nobody knows whether they were removed: tried again, and not used any more. */
  readonly retired: Slot[] = [];
  isRecovering = false;
  /** Jobs under way in all open batches. */
  openJobs = 0;
  private readonly open = new Set<Batch>();
  /** Stale ones are taken first: what is overwritten need not be removed. */
  private readonly stale: Slot[] = [];
  private readonly clean: Slot[] = [];
  private made = 0;
  private gone = 0;

  /** @param now the present tick */
  constructor(
    readonly namespace: string,
    private readonly instance: string,
    private readonly now: () => number,
  ) {}

  take(): Batch {
    return new Batch(this, this.stale.pop() ?? this.clean.pop() ?? this.make());
  }

  /** Its reserve found nothing, or did not run: what Redis holds under it has not changed. */
  putBack(slot: Slot): void {
    (slot.isStale ? this.stale : this.clean).push(slot);
  }

  /** Redis holds nothing under it any more. */
  putBackClean(slot: Slot): void {
    slot.isStale = false;
    slot.staleEndsAtMs = 0;
    this.clean.push(slot);
  }

  /** The same, after a removal that may have been sent twice. */
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

  /** Batches whose leases ended before `beforeMs` (Unix ms): what was to be known of them is known. */
  closeEnded(beforeMs: number): void {
    for (const batch of this.open) if (batch.endsAtMs < beforeMs) this.close(batch);
  }

  /** Takes out the slots that were stale before a tick. */
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

  /** Every slot is at home, and Redis holds nothing of it. */
  get isIdle(): boolean {
    return this.clean.length + this.gone === this.made;
  }
}
