import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { faultOf } from '../redis/errors.js';
import type { RedisPool } from '../redis/pool.js';
import { bytesAt, integerAt } from '../redis/scripts/script.js';
import { recall } from '../redis/scripts/plain.js';
import type { Settling } from './full/settling.js';
import { decodeId } from './ids.js';
import type { EngineObserver } from './observer.js';
import { type Batch, RecordShelf, type Slot } from './record-shelf.js';
import type { ScriptRunner } from './script-runner.js';

/** How often what has left is taken out of Redis, in milliseconds: within two ticks, and no lease that has a record is as short as that. */
const TICK_MS = 250;
/** Shorter leases have no record: they end before it could be known whether their answers left. */
const SHORTEST_LEASE_MS = 1_000;
/** Jobs of a namespace whose answers one server may have under way with a record: the pump reads all of them when a lease runs out. */
const MOST_OPEN_JOBS = 2_048;
/** Slots of a namespace whose reserve nobody has heard of. */
const MOST_LOST = 1_024;
/** A batch whose leases ended so long ago is over, in milliseconds; looked at each so many ticks. */
const ENDED_MS = 10_000;
const ENDED_EVERY = 40;
/** How much longer than a call's time-out a script may begin, in milliseconds: Redis's clock is known by estimate. */
const LATE_MARGIN_MS = 1_000;

/**
 * Keeps a record in Redis of each batch of leases until its answers have left this server (lua/lib/record.lua writes it, in the step
 * that leases). If this server dies first, the leases run out uncharged; if only the reply of a reserve is lost, the leases are given
 * back as soon as Redis can be reached.
 */
export class DeliveryRecords {
  /** Begins the name of each record. */
  private readonly instance = randomBytes(6).toString('base64url');
  private readonly shelves = new Map<string, RecordShelf>();
  private ticker: NodeJS.Timeout | undefined;
  private ticks = 0;
  private isStopped = false;
  private readonly running = new Set<Promise<void>>();

  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
    private readonly observer: EngineObserver,
    /** Takes back the leases of rich jobs, which the plain scripts leave alone. */
    private readonly settling: Settling,
  ) {}

  /** For the leases of a reserve that is to be sent now, the shortest of which lasts so long; undefined: they go without a record. */
  take(namespace: string, shortestMs: number): Batch | undefined {
    if (shortestMs < SHORTEST_LEASE_MS) return undefined;
    const shelf = this.shelfOf(namespace);
    if (shelf.openJobs >= MOST_OPEN_JOBS || shelf.lost.size >= MOST_LOST) return undefined;
    return shelf.take();
  }

  /** The reserve failed. It may have run: then what it leased goes back. */
  failed({ shelf, slot }: Batch, error: unknown): void {
    if (error instanceof Error && faultOf(error.cause) === 'not_run') {
      shelf.putBack(slot);
      return;
    }
    shelf.lost.set(slot, { slot, sentMs: performance.now() });
    this.recover(shelf);
  }

  /** Takes all out of Redis that has left. What is sent on this connection afterwards finds it done. */
  flush(namespace: string): void {
    const shelf = this.shelves.get(namespace);
    if (shelf) this.remove(shelf, shelf.takeStale(Number.POSITIVE_INFINITY));
  }

  /** Takes out what has left. What has not stays, and is told by its record. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearInterval(this.ticker);
    if (this.pool.status.up) for (const namespace of this.shelves.keys()) this.flush(namespace);
    await Promise.all(this.running);
  }

  private shelfOf(namespace: string): RecordShelf {
    let shelf = this.shelves.get(namespace);
    if (!shelf) {
      shelf = new RecordShelf(namespace, this.instance, () => this.ticks);
      this.shelves.set(namespace, shelf);
      if (!this.isStopped) this.ticker ??= setInterval(() => this.tick(), TICK_MS).unref();
    }
    return shelf;
  }

  private tick(): void {
    this.ticks++;
    for (const [namespace, shelf] of this.shelves) {
      if (this.ticks % ENDED_EVERY === 0) shelf.closeEnded(this.runner.now() - ENDED_MS);
      this.remove(shelf, [...shelf.takeStale(this.ticks - 1), ...shelf.retired.splice(0)]);
      this.recover(shelf);
      if (shelf.isIdle) this.shelves.delete(namespace);
    }
    if (this.shelves.size > 0) return;
    clearInterval(this.ticker);
    this.ticker = undefined;
  }

  /** Their names are not used until Redis has answered, and never again if it did not: a late removal must not take a new record. */
  private remove(shelf: RecordShelf, slots: readonly Slot[]): void {
    if (slots.length === 0) return;
    const { sending } = this.pool.keys.namespace(shelf.namespace);
    this.track(
      this.pool.read('HDEL', sending, ...slots.map(({ field }) => field)).then(
        () => slots.forEach((slot) => shelf.removed(slot)),
        (error: unknown) => {
          this.observer.loopError('records', error);
          slots.forEach((slot) => shelf.retire(slot));
        },
      ),
    );
  }

  private recover(shelf: RecordShelf): void {
    if (shelf.isRecovering || shelf.lost.size === 0 || this.isStopped) return;
    shelf.isRecovering = true;
    this.track(
      this.recallAll(shelf)
        .catch((error: unknown) => this.observer.loopError('records', error))
        .finally(() => (shelf.isRecovering = false)),
    );
  }

  /** Until its deadline is over a reserve may still begin: not to find its record says nothing before. */
  private async recallAll(shelf: RecordShelf): Promise<void> {
    const patienceMs = this.pool.options.commandTimeoutMs + LATE_MARGIN_MS;
    for (const { slot, sentMs } of [...shelf.lost.values()]) {
      const isOver = performance.now() - sentMs > patienceMs;
      const args = { record: slot.field, left_ms: slot.staleEndsAtMs };
      const { isFound, given, rich } = await this.runner.run(recall, shelf.namespace, args);
      if (given > 0) this.observer.undone(shelf.namespace, given);
      if (rich.length > 0) await this.undoRich(shelf.namespace, rich);
      if (!isFound && !isOver) continue;
      shelf.lost.delete(slot);
      if (isFound) shelf.putBackClean(slot);
      else shelf.putBack(slot);
    }
  }

  /** @param leases ids and lease numbers in turn */
  private async undoRich(namespace: string, leases: readonly (number | Buffer)[]): Promise<void> {
    const rich: { id: string; lease: number }[] = [];
    for (let i = 0; i + 1 < leases.length; i += 2) {
      rich.push({ id: decodeId(bytesAt(leases, i)), lease: integerAt(leases, i + 1) });
    }
    await this.settling.undo(namespace, rich);
    this.observer.undone(namespace, rich.length);
  }

  private track(work: Promise<void>): void {
    this.running.add(work);
    void work.finally(() => this.running.delete(work));
  }
}
