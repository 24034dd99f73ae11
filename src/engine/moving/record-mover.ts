import { performance } from 'node:perf_hooks';
import { QueueError } from '../../domain/errors.js';
import type { MoveRule } from '../../redis/record-kinds.js';
import { kindOf } from '../../redis/record-kinds.js';
import type { EngineObserver } from '../core/observer.js';
import type { QueueControls } from '../queues/queue-controls.js';
import type { Targets } from '../queues/targets.js';
import type { Settings } from '../queues/settings.js';
import type { Variables } from '../queues/variables.js';
import { isSettingKey } from '../queues/known-settings.js';
import { Loop } from '../timers/loop.js';
import type { Timers } from '../timers/timers.js';
import type { FoundKey, LeavingRecurring, MovableRecords } from './movable-records.js';

/** Pause between two rounds over the namespaces with queues or targets, in milliseconds. */
const ROUND_MS = 2_000;
/** Pause between two rounds over all keys, in milliseconds; and how long one is left to a process that shows no progress. */
const FULL_ROUND_MS = 30_000;
const STALLED_MS = 10_000;
const DAY_MS = 86_400_000;
/** Queues whose settings are read at once. */
const QUEUES_AT_ONCE = 64;

/** What users of a namespace see and change of it. */
const BROUGHT = ['settings', 'variables', 'targets', 'queue settings', 'recurring jobs', 'sessions'] as const;

/** What a move does with each kind of records that does not leave the old store with its jobs. */
type MovedBy = Exclude<MoveRule, 'drains' | 'temporary'>;

/** A store as a move sees it. */
export interface MovingStore {
  readonly records: MovableRecords;
  readonly controls: Pick<QueueControls, 'stored' | 'add' | 'withdraw'>;
  readonly targets: Pick<Targets, 'namespaces' | 'read' | 'change' | 'repush' | 'ofQueues'>;
  readonly settings: Pick<Settings, 'chosen' | 'add' | 'withdraw'>;
  readonly variables: Pick<Variables, 'list' | 'add' | 'withdraw'>;
  readonly isUp: boolean;
  namespaces(): Promise<string[]>;
  queues(namespace: string): Promise<string[]>;
}

/** What calls need of a move: what they read or change is moved before. */
export type MoverOfCalls = Pick<RecordMover, 'bring' | 'moveRecurring' | 'moveSession'>;

/** Moves nothing. */
export const NO_MOVER: MoverOfCalls = {
  bring: () => Promise.resolve(),
  moveRecurring: () => Promise.resolve('none'),
  moveSession: () => Promise.resolve(false),
};

/**
 * Moves the records of a pool that its jobs do not take with them to the store that replaces its own: settings, targets,
 * recurring jobs and the rest of `RECORD_KINDS`. Any number of processes may do it at once, and each step may be broken
 * off and repeated.
 */
export class RecordMover {
  readonly loop: Loop;
  private readonly steps: Record<MovedBy, (namespace: string, keys: readonly FoundKey[]) => Promise<number>>;
  private fullRoundMs = Number.NEGATIVE_INFINITY;
  private hasResumed = false;
  private isStopped = false;

  constructor(
    private readonly old: MovingStore,
    private readonly next: MovingStore,
    {
      pool,
      observer,
      timers,
    }: { readonly pool: string; readonly observer: EngineObserver; readonly timers: Timers },
  ) {
    this.steps = {
      copied: (_namespace, keys) => this.copy(keys),
      settings: (namespace) => this.copySettings(namespace),
      variables: (namespace) => this.copyVariables(namespace),
      'queue settings': (namespace) => this.copyQueueSettings(namespace),
      targets: (namespace) => this.copyTargets(namespace),
      'recurring jobs': (namespace) => this.moveRecurringJobs(namespace),
      sessions: (namespace) => this.moveSessions(namespace),
      statistics: (namespace, keys) => this.moveStatistics(namespace, keys),
    };
    this.loop = new Loop({
      ...{ name: 'record_move', pool, timers, observer },
      run: () => this.round(),
      // Rounds over many namespaces take a fifth of the time at most.
      pauseMs: (tookMs) => Math.max(ROUND_MS * (0.75 + Math.random() / 2), tookMs * 4),
    });
  }

  start(): void {
    this.loop.schedule(0);
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.loop.stop();
  }

  /** Moves all that there is. @returns how many records were moved. @throws {QueueError} an error of a store */
  async moveAll(): Promise<number> {
    let moved = 0;
    for await (const page of this.old.records.scan()) {
      moved += await this.movePage(page);
      await this.old.records.extendScan(STALLED_MS);
      if (this.isStopped) return moved;
    }
    return moved;
  }

  /**
   * Moves what a namespace's users see and change, so that they find all of it in the new store. While a store is
   * unavailable nothing is moved.
   */
  async bring(namespace: string): Promise<void> {
    if (!this.old.isUp || !this.next.isUp) return;
    await this.moveNamespace(namespace);
  }

  private async round(): Promise<number> {
    if (!this.old.isUp || !this.next.isUp) return 0;
    const namespaces = new Set([...(await this.old.namespaces()), ...(await this.old.targets.namespaces())]);
    if (!this.hasResumed) await this.resume();
    let moved = 0;
    for (const namespace of namespaces) {
      if (this.isStopped) return moved;
      moved += await this.moveNamespace(namespace).catch((error: unknown) => this.failed(error));
    }
    if (performance.now() - this.fullRoundMs < FULL_ROUND_MS) return moved;
    if (!(await this.old.records.beginScan(STALLED_MS))) return moved;
    moved += await this.moveAll();
    this.fullRoundMs = performance.now();
    await this.old.records.extendScan(FULL_ROUND_MS);
    return moved;
  }

  private failed(error: unknown): number {
    this.loop.fail(error);
    return 0;
  }

  /** A record that cannot move now, as a store is full, holds back neither the others nor a call that reads them. */
  private leftBehind(error: unknown): number {
    const isUnavailable = error instanceof QueueError && error.code === 'pool_unavailable';
    if (/* guard: stuck-record-holds-back-no-other */ isUnavailable) throw error;
    return this.failed(error);
  }

  private async moveNamespace(namespace: string): Promise<number> {
    let moved = 0;
    for (const rule of BROUGHT) moved += await this.steps[rule](namespace, []);
    // Older days are found by the round over all keys.
    const today = Math.floor(this.old.records.now() / DAY_MS);
    for (const day of [today - 1, today])
      await this.moveDay(namespace, day).catch((error: unknown) => this.leftBehind(error));
    return moved;
  }

  /** Each key goes by the rule of its kind. */
  private async movePage(page: readonly FoundKey[]): Promise<number> {
    const found = new Map<
      string,
      { readonly namespace: string; readonly rule: MovedBy; readonly keys: FoundKey[] }
    >();
    for (const key of page) {
      const rule = kindOf(key.rest)?.move;
      if (rule === undefined)
        this.loop.fail(new Error(`a key of an unknown kind is not moved: ${key.rest.slice(0, 40)}`));
      if (rule === undefined || rule === 'drains' || rule === 'temporary') continue;
      const place = `${key.namespace} ${rule}`;
      const known = found.get(place);
      if (known) known.keys.push(key);
      else found.set(place, { namespace: key.namespace, rule, keys: [key] });
    }
    let moved = 0;
    for (const { namespace, rule, keys } of found.values())
      moved += await this.steps[rule](namespace, keys).catch((error: unknown) => this.failed(error));
    return moved;
  }

  /** Idempotency records, unique keys that are held for a time, imported names: as they are, until they expire. */
  private async copy(keys: readonly FoundKey[]): Promise<number> {
    let copied = 0;
    for (const found of keys) {
      const copy = await this.old.records.readCopy(found.key);
      if (copy && (await this.next.records.storeCopy(found, copy))) copied++;
    }
    return copied;
  }

  /**
   * Settings stay in both stores: each is changed in both while the pool moves. A change that is made while one is copied
   * wins: only what is missing is added. What was removed from the old store meanwhile is removed from the new one, too.
   */
  private async copySettings(namespace: string): Promise<number> {
    const old = await this.old.settings.chosen(namespace);
    if (Object.keys(old).length === 0) return 0;
    const next = await this.next.settings.chosen(namespace);
    let copied = 0;
    for (const [key, value] of Object.entries(old)) {
      if (!isSettingKey(key) || next[key] !== undefined) continue;
      await this.next.settings.add(namespace, key, value);
      const isThere = (await this.old.settings.chosen(namespace))[key] !== undefined;
      if (!isThere) await this.next.settings.withdraw(namespace, key, value);
      copied++;
    }
    return copied;
  }

  /** Like settings. */
  private async copyVariables(namespace: string): Promise<number> {
    const old = await this.old.variables.list(namespace);
    if (old.size === 0) return 0;
    const next = await this.next.variables.list(namespace);
    const missing = [...old].filter(([name]) => !next.has(name));
    for (const [name, json] of missing) await this.next.variables.add(namespace, name, json);
    if (missing.length === 0) return 0;
    const left = await this.old.variables.list(namespace);
    for (const [name, json] of missing)
      if (!left.has(name)) await this.next.variables.withdraw(namespace, name, json);
    return missing.length;
  }

  private async copyQueueSettings(namespace: string): Promise<number> {
    const queues = await this.old.queues(namespace);
    let copied = 0;
    for (let i = 0; i < queues.length; i += QUEUES_AT_ONCE) {
      const some = queues.slice(i, i + QUEUES_AT_ONCE);
      const old = await this.old.controls.stored(namespace, some);
      if (old.every((one) => one === null || one.size === 0)) continue;
      const next = await this.next.controls.stored(namespace, some);
      for (const [at, queue] of some.entries()) {
        const missing = new Map([...(old[at] ?? [])].filter(([field]) => next[at]?.has(field) !== true));
        copied += await this.copyMissing(namespace, queue, missing).catch((error: unknown) =>
          this.leftBehind(error),
        );
      }
    }
    return copied;
  }

  /** @param missing settings of the queue that the new store lacks */
  private async copyMissing(
    namespace: string,
    queue: string,
    missing: ReadonlyMap<string, string>,
  ): Promise<number> {
    if (missing.size === 0) return 0;
    await this.next.controls.add(namespace, queue, missing);
    const [now] = await this.old.controls.stored(namespace, [queue]);
    const gone = new Map([...missing].filter(([field]) => now?.has(field) !== true));
    if (gone.size > 0) await this.next.controls.withdraw(namespace, queue, gone);
    return 1;
  }

  private async copyTargets(namespace: string): Promise<number> {
    const [from, to] = [this.old.targets, this.next.targets];
    const [old, next] = [await from.read(namespace), await to.read(namespace)];
    let copied = 0;
    for (const [name, value] of old.targets) {
      if (next.targets.has(name)) continue;
      await to.change(namespace, name, (text) => (text === null ? { value } : null));
      const isThere = (await from.read(namespace)).targets.has(name);
      if (!isThere) await to.change(namespace, name, (text) => (text === value ? { value: null } : null));
      copied++;
    }
    for (const [queue, target] of old.queues) {
      if (next.queues.has(queue)) continue;
      await to.repush(namespace, queue, null, target);
      const [now] = await from.ofQueues(namespace, [queue]);
      if (now !== target) await to.repush(namespace, queue, target, now ?? null);
      copied++;
    }
    return copied;
  }

  private async moveRecurringJobs(namespace: string): Promise<number> {
    let moved = 0;
    for (const id of await this.old.records.recurringIds(namespace)) {
      const outcome = await this.moveRecurring(namespace, id).catch((error: unknown) =>
        this.leftBehind(error),
      );
      if (outcome === 'moved') moved++;
    }
    return moved;
  }

  /**
   * Moves one recurring job: it stands still in the old store, is stored in the new one, and is removed from the old one.
   * Each slot makes one job, wherever a process ends in between.
   */
  async moveRecurring(namespace: string, id: string): Promise<'moved' | 'stays' | 'none'> {
    let leaving: LeavingRecurring | 'stays' | null = await this.old.records.leaveRecurring(namespace, id);
    if (leaving === null) return 'none';
    if (leaving === 'stays') return 'stays';
    let arrival = await this.next.records.arriveRecurring(namespace, id, leaving);
    if (arrival === 'kept') {
      leaving = await this.old.records.leaveRecurring(namespace, id, leaving.handover);
      if (leaving === null || leaving === 'stays') return leaving ?? 'none';
      arrival = await this.next.records.arriveRecurring(namespace, id, leaving);
      if (arrival === 'kept') return 'stays';
    }
    // guard: moved-recurring-job-leaves
    await this.old.records.endLeaving(namespace, id, leaving.handover, 'remove');
    return arrival === 'stored' ? 'moved' : 'none';
  }

  /** After a change of direction: recurring jobs that stand still in the new store go on, unless they are in the old one. */
  async resume(): Promise<void> {
    for (const namespace of await this.next.namespaces()) {
      for (const id of await this.next.records.recurringIds(namespace)) {
        const handover = await this.next.records.handoverOf(namespace, id);
        if (handover === null) continue;
        const isRefused = await this.old.records.endLeaving(namespace, id, handover, 'refuse');
        // guard: interrupted-recurring-job-goes-on
        if (isRefused) await this.next.records.endLeaving(namespace, id, handover, 'keep');
      }
    }
    this.hasResumed = true;
  }

  private async moveSessions(namespace: string): Promise<number> {
    const [old, next] = [
      await this.old.records.workers(namespace),
      await this.next.records.workers(namespace),
    ];
    let moved = 0;
    for (const [worker, seenAtMs] of old) {
      const seenMs = next.get(worker) ?? 0;
      moved += await this.moveWorker(namespace, worker, seenAtMs, seenMs).catch((error: unknown) =>
        this.leftBehind(error),
      );
    }
    return moved;
  }

  /** @param seenMs when the new store saw it */
  private async moveWorker(
    namespace: string,
    worker: string,
    seenAtMs: number,
    seenMs: number,
  ): Promise<number> {
    if (await this.moveSession(namespace, worker)) return 1;
    if (seenMs < seenAtMs) await this.next.records.seeWorker(namespace, worker, seenAtMs);
    return 0;
  }

  /** @returns false if there is none */
  async moveSession(namespace: string, worker: string): Promise<boolean> {
    const session = await this.old.records.session(namespace, worker);
    if (!session.has('at')) return false;
    await this.next.records.storeSession(namespace, worker, session);
    await this.old.records.dropSession(namespace, worker);
    return true;
  }

  private async moveStatistics(namespace: string, keys: readonly FoundKey[]): Promise<number> {
    const days = new Set(keys.map(({ rest }) => Number(/\d+/.exec(rest)?.[0])));
    // Twice: what a process that ended had set aside, and what was counted since.
    for (const day of [...days, ...days]) await this.moveDay(namespace, day);
    return days.size;
  }

  private async moveDay(namespace: string, day: number): Promise<void> {
    const [old, next] = [this.old.records, this.next.records];
    const sinceMs = next.now();
    const { number, tallies } = await old.takeDay(namespace, day);
    if (tallies.size === 0) return;
    const after =
      number === '' ? await old.numberDay(namespace, day, await next.lastBatch(namespace, day)) : number;
    await next.addDay(namespace, day, Number(after), tallies, sinceMs);
    // guard: moved-statistics-leave
    await old.dropDay(namespace, day, after);
  }
}
