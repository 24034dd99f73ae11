import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { QueueError } from '../../domain/errors.js';
import { faultOf } from '../../redis/errors.js';
import type { RedisPool } from '../../redis/pool.js';
import { bytesAt, integerAt } from '../../redis/scripts/script.js';
import { reclaimUndelivered } from '../../redis/scripts/simple.js';
import { decodeId } from '../core/ids.js';
import { Loop } from '../timers/loop.js';
import type { EngineObserver } from '../core/observer.js';
import { type Batch, DeliveryLog, type Slot } from './delivery-log.js';
import type { ScriptRunner } from '../core/scripts.js';
import type { Timers } from '../timers/timers.js';

/**
 * How often entries of delivered responses are removed from Redis, in milliseconds. Removal takes up to two ticks;
 * every lease with an entry is longer.
 */
const TICK_MS = 250;
/** Shorter leases have no entry: they end before the server could know whether their responses left. */
const SHORTEST_LEASE_MS = 1_000;
/** Jobs with an entry that one server may have open per namespace: the pump reads all of them when a lease expires. */
const MOST_OPEN_JOBS = 2_048;
/** Maximum number of slots per namespace whose lease script has an unknown outcome. */
const MOST_LOST = 1_024;
/** A batch is closed this long after its leases ended, in milliseconds; checked every `ENDED_EVERY` ticks. */
const ENDED_MS = 10_000;
const ENDED_EVERY = 40;
/** Leases per server whose undo failed, and is tried again. */
const MOST_NOT_UNDONE = 10_000;
/** How much later than a call's timeout a script may start, in milliseconds: Redis's clock is only estimated. */
const LATE_MARGIN_MS = 1_000;

/** Leases whose response did not reach the client, and that could not be taken back yet. */
interface FailedUndo {
  readonly jobs: number;
  readonly undo: () => Promise<void>;
}

/**
 * Keeps an entry in Redis for each batch of leases until its responses have left this server (lua/modules/jobs/deliveries.lua writes
 * it, atomically with the leases). If this server dies first, the leases expire without using a try. If only the reply
 * of a lease script is lost, the leases are given back as soon as Redis can be reached.
 */
export class DeliveryLogs {
  readonly loop: Loop;
  /** Prefix of the name of each entry. */
  private readonly instance = randomBytes(6).toString('base64url');
  private readonly logs = new Map<string, DeliveryLog>();
  private ticks = 0;
  private isStopped = false;
  private readonly running = new Set<Promise<void>>();
  private notUndone: FailedUndo[] = [];

  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
    private readonly observer: EngineObserver,
    /** Takes back the leases of extended jobs, which the simple scripts do not change. */
    private readonly extended: {
      undo(
        namespace: string,
        leases: readonly { readonly id: string; readonly lease: number }[],
      ): Promise<void>;
    },
    timers: Timers,
  ) {
    this.loop = new Loop({
      ...{ name: 'delivery_log', pool: pool.name, timers, observer },
      run: () => Promise.resolve(this.tick()),
      pauseMs: () => (this.logs.size === 0 && this.notUndone.length === 0 ? null : TICK_MS),
    });
  }

  /** Opens an entry for a lease script whose shortest lease lasts `shortestMs`; undefined: these leases have no entry. */
  take(namespace: string, shortestMs: number): Batch | undefined {
    if (shortestMs < SHORTEST_LEASE_MS) return undefined;
    const log = this.logOf(namespace);
    if (log.openJobs >= MOST_OPEN_JOBS || log.lost.size >= MOST_LOST) return undefined;
    return log.take();
  }

  /** Handles a failed lease script. It may have run: then its leases are given back. */
  failed({ log, slot }: Batch, error: unknown): void {
    if (error instanceof Error && faultOf(error.cause) === 'not_run') {
      log.putBack(slot);
      return;
    }
    log.lost.set(slot, { slot, sentMs: performance.now() });
    this.recover(log);
  }

  /**
   * Tries an undo again that failed because Redis was away, refused writes or was full. An undo of leases that have ended
   * changes nothing, and succeeds.
   *
   * @param jobs how many leases it takes back
   */
  undoLater(jobs: number, undo: () => Promise<void>, error: unknown): void {
    const isTemporary = error instanceof QueueError;
    const waiting = this.notUndone.reduce((sum, one) => sum + one.jobs, jobs);
    if (!isTemporary || waiting > MOST_NOT_UNDONE || this.isStopped) return;
    // guard: failed-undo-is-tried-again
    this.notUndone.push({ jobs, undo });
    this.loop.schedule(TICK_MS);
  }

  /** Removes all entries of delivered responses. Commands sent later on this connection run after the removal. */
  flush(namespace: string): void {
    const log = this.logs.get(namespace);
    if (log) this.remove(log, log.takeStale(Number.POSITIVE_INFINITY));
  }

  /** Removes entries of delivered responses. Those of undelivered ones stay, for the pump to find. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await this.loop.stop();
    if (this.pool.status.up) for (const namespace of this.logs.keys()) this.flush(namespace);
    await Promise.all(this.running);
  }

  private logOf(namespace: string): DeliveryLog {
    let log = this.logs.get(namespace);
    if (!log) {
      log = new DeliveryLog(namespace, this.instance, () => this.ticks);
      this.logs.set(namespace, log);
      this.loop.schedule(TICK_MS);
    }
    return log;
  }

  /** @returns how many entries it removes, without waiting for the replies of Redis */
  private tick(): number {
    this.ticks++;
    let removed = 0;
    for (const [namespace, log] of this.logs) {
      if (this.ticks % ENDED_EVERY === 0) log.closeEnded(this.runner.now() - ENDED_MS);
      const stale = /* guard: tick-flushes-delivered */ [
        ...log.takeStale(this.ticks - 1),
        ...log.retired.splice(0),
      ];
      removed += stale.length;
      this.remove(log, stale);
      this.recover(log);
      if (log.isIdle) this.logs.delete(namespace);
    }
    for (const { jobs, undo } of this.notUndone.splice(0))
      this.track(undo().catch((error: unknown) => this.undoLater(jobs, undo, error)));
    return removed;
  }

  /**
   * Removes entries. Their names are not used until Redis has answered, and never again if it did not: a late removal
   * must not delete a new entry.
   */
  private remove(log: DeliveryLog, slots: readonly Slot[]): void {
    if (slots.length === 0) return;
    const { sending } = this.pool.keys.namespace(log.namespace);
    this.track(
      this.pool.read('HDEL', sending, ...slots.map(({ field }) => field)).then(
        () => slots.forEach((slot) => log.removed(slot)),
        (error: unknown) => {
          this.loop.fail(error);
          slots.forEach((slot) => log.retire(slot));
        },
      ),
    );
  }

  private recover(log: DeliveryLog): void {
    if (log.isRecovering || log.lost.size === 0 || this.isStopped) return;
    log.isRecovering = true;
    this.track(
      this.reclaimUndelivered(log)
        .catch((error: unknown) => this.loop.fail(error))
        .finally(() => (log.isRecovering = false)),
    );
  }

  /**
   * Gives back the leases of lost replies. Until its deadline a lease script may still start: a missing entry proves nothing
   * before.
   */
  private async reclaimUndelivered(log: DeliveryLog): Promise<void> {
    const patienceMs = this.pool.options.commandTimeoutMs + LATE_MARGIN_MS;
    for (const { slot, sentMs } of [...log.lost.values()]) {
      const isOver = performance.now() - sentMs > patienceMs;
      const args = { record: slot.field, left_ms: slot.staleEndsAtMs };
      const {
        isFound,
        given,
        extendedLeases: extendedLeases,
      } = await this.runner.run(reclaimUndelivered, log.namespace, args);
      if (given > 0) this.observer.undone(log.namespace, given);
      if (extendedLeases.length > 0) await this.undoExtended(log.namespace, extendedLeases);
      if (!isFound && !isOver) continue;
      log.lost.delete(slot);
      if (isFound) log.putBackClean(slot);
      else log.putBack(slot);
    }
  }

  /** @param leases ids and lease numbers, alternating */
  private async undoExtended(namespace: string, leases: readonly (number | Buffer)[]): Promise<void> {
    const extendedLeases: { id: string; lease: number }[] = [];
    for (let i = 0; i + 1 < leases.length; i += 2) {
      extendedLeases.push({ id: decodeId(bytesAt(leases, i)), lease: integerAt(leases, i + 1) });
    }
    await this.extended.undo(namespace, extendedLeases);
    this.observer.undone(namespace, extendedLeases.length);
  }

  private track(work: Promise<void>): void {
    this.running.add(work);
    void work.finally(() => this.running.delete(work));
  }
}
