import type { PoolEngine } from '#src/engine/pool-engine';
import type { Tally } from './counts.js';
import { foundInList, foundInTimer, JobStore, type Found } from './jobs.js';
import { isDelayed, type ListKind, type QueueName, readEntry, readTimerEntry } from './layout.js';
import type { ImportLock } from './lock.js';
import type { LmstfySource, Member } from './source.js';
import { isWanted } from './survey.js';

/** Entries that are taken at once. */
const BATCH = 64;
/** Members of the timer that are read at once. */
const PAGE = 256;
/** If a lease expired longer ago than this, its lmstfy server is not running and the job may be taken. In seconds. */
const OVERDUE_S = 5;
/** Copies of a queue that are tried while consumers change it. */
const COPY_TRIES = 5;

/** Rounds of a drain, if each of them finds more. */
const MAX_ROUNDS = 10;

/** What to import. */
export interface TransferPlan {
  /** Only these namespaces; null = all. */
  readonly namespaces: ReadonlySet<string> | null;
  /** The lmstfy server and its workers have stopped: also import their leased jobs. */
  readonly isStopped: boolean;
  /** Ends the import before its next step, with its reason. */
  readonly signal: AbortSignal;
}

/** Imports the jobs of a lmstfy server. Each step may be interrupted and repeated. All throw the reason of the signal. */
export class Transfer {
  private readonly store: JobStore;

  constructor(
    private readonly source: LmstfySource,
    engine: PoolEngine,
    private readonly plan: TransferPlan,
    private readonly tally: Tally,
  ) {
    this.store = new JobStore(source, engine, tally);
  }

  /**
   * Moves all present jobs here, in two rounds or more, until a round finds no more: after a round has read the lists,
   * and before it reads the timer, lmstfy moves jobs from one to the other. What the lists have after the last round is
   * `left`, too.
   */
  async drainAll(lock: ImportLock): Promise<void> {
    for (let round = 1; round <= MAX_ROUNDS; round++) {
      const before = this.tally.handled;
      await this.drain(lock, true);
      const isMore = (await this.countLists()) > 0 || this.tally.handled > before;
      if (/* guard: drain-has-two-rounds */ round > 1 && !isMore) return;
    }
  }

  /** Counts what the lists have now. */
  private async countLists(): Promise<number> {
    let sum = 0;
    for (const name of await this.queues(true)) {
      for (const kind of ['q', 'd'] as const) {
        const length = await this.source.length(kind, name);
        if (length > 0) this.tally.add(name.namespace, 'left', length);
        sum += length;
      }
    }
    return sum;
  }

  /**
   * Moves all present jobs here. A job is removed from the source only after it is stored here.
   *
   * @param all also look for queues that are missing in the server's own lists
   */
  async drain(lock: ImportLock, all: boolean): Promise<void> {
    for (const name of await this.queues(all)) {
      for (const kind of ['q', 'd'] as const) await this.drainList(lock, kind, name);
    }
    await this.drainTimer(lock);
  }

  /**
   * Copies all present jobs and leaves the source unchanged.
   *
   * @throws {Error} consumers take jobs all the time, so no complete copy of a queue is possible
   */
  async copy(): Promise<void> {
    // The timer first: a job that becomes due in the meantime is found again in its queue.
    for await (const page of this.source.scanTimer()) {
      this.plan.signal.throwIfAborted();
      await this.store.store(page.flatMap((member) => this.foundIn(member) ?? []));
    }
    for (const name of await this.queues(true)) {
      for (const kind of ['q', 'd'] as const) await this.copyList(kind, name);
    }
  }

  private async queues(all: boolean): Promise<QueueName[]> {
    return (await this.source.queues(all)).filter(({ namespace }) =>
      isWanted(this.plan.namespaces, namespace),
    );
  }

  private async drainList(lock: ImportLock, kind: ListKind, name: QueueName): Promise<void> {
    // Jobs published in the meantime wait for the next round, so that one queue does not delay the others.
    for (let left = await this.source.length(kind, name); left > 0;) {
      // guard: import-ends-by-a-signal
      this.plan.signal.throwIfAborted();
      const taken = await this.source.take(kind, name, Math.min(left, BATCH));
      if (taken.length === 0) return;
      left -= taken.length;
      const { found, unreadable } = this.sort(kind, name, taken);
      lock.check();
      // guard: import-stores-before-release
      await this.store.store(found);
      // guard: import-forgets-after-release
      await this.source.release(kind, name, found, unreadable);
      await this.store.forget(found);
    }
  }

  private async drainTimer(lock: ImportLock): Promise<void> {
    // guard: import-resumes-timer
    await this.bringTimer(lock);
    this.tally.clear('left');
    const nowS = (await this.source.nowMs()) / 1_000;
    for (let skip = 0; ;) {
      this.plan.signal.throwIfAborted();
      const page = await this.source.readTimer(skip, PAGE);
      if (page.length === 0) return;
      const ours = page.filter((member) => this.isOurs(member, nowS));
      skip += page.length - ours.length;
      lock.check();
      if (ours.length > 0) await this.source.takeTimer(ours);
      await this.bringTimer(lock);
    }
  }

  /** Stores the members of the timer that were taken, from any namespace: an earlier run may have had another filter. */
  private async bringTimer(lock: ImportLock): Promise<void> {
    const members = await this.source.timerInHand();
    if (members.length === 0) return;
    const found: Found[] = [];
    const unreadable: Buffer[] = [];
    for (const { bytes, dueS } of members) {
      const entry = readTimerEntry(bytes);
      if (entry) found.push(foundInTimer(entry, dueS));
      else unreadable.push(bytes);
    }
    lock.check();
    await this.store.store(found);
    await this.source.releaseTimer(found, unreadable);
    await this.store.forget(found);
  }

  /**
   * True if a member of the timer may be taken. A running server keeps its leases: they end there, by an ack or by
   * expiry.
   */
  private isOurs(member: Member, nowS: number): boolean {
    const found = this.foundIn(member);
    if (!found) return false;
    const isFree =
      this.plan.isStopped ||
      // guard: import-leaves-leases
      isDelayed(found.id, member.dueS) ||
      member.dueS < nowS - OVERDUE_S;
    if (!isFree) this.tally.add(found.namespace, 'left');
    return isFree;
  }

  private async copyList(kind: ListKind, name: QueueName): Promise<void> {
    for (let tries = COPY_TRIES; tries > 0; tries--) {
      const [oldest] = await this.source.read(kind, name, 0, 1);
      if (!oldest) return;
      for (let skip = 0; ; skip += BATCH) {
        this.plan.signal.throwIfAborted();
        const entries = await this.source.read(kind, name, skip, BATCH);
        if (entries.length === 0) break;
        await this.store.store(this.sort(kind, name, entries).found);
      }
      // Positions are counted from the oldest entry: if a consumer took it, some entries were skipped.
      const [still] = await this.source.read(kind, name, 0, 1);
      if (/* guard: disturbed-copy-begins-anew */ still?.equals(oldest) === true) return;
    }
    throw new Error(
      `queue ${name.namespace}/${name.queue} is consumed while it is copied: stop its workers, or use --drain`,
    );
  }

  private sort(
    kind: ListKind,
    name: QueueName,
    entries: readonly Buffer[],
  ): { found: Found[]; unreadable: Buffer[] } {
    const found: Found[] = [];
    const unreadable: Buffer[] = [];
    for (const bytes of entries) {
      const entry = readEntry(bytes);
      if (entry) found.push(foundInList(kind, name, entry));
      else unreadable.push(bytes);
    }
    if (unreadable.length > 0) this.tally.add(name.namespace, 'unreadable', unreadable.length);
    return { found, unreadable };
  }

  private foundIn({ bytes, dueS }: Member): Found | null {
    const entry = readTimerEntry(bytes);
    return entry && isWanted(this.plan.namespaces, entry.namespace) ? foundInTimer(entry, dueS) : null;
  }
}
