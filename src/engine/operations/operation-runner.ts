import type { Action } from '../../contract/operations.js';
import type { LoopStatus } from '../../domain/loop.js';
import { matchesPattern } from '../../domain/rights.js';
import type { RedisPool } from '../../redis/pool.js';
import { bytesAt, integerAt, type Raw } from '../../redis/scripts/script.js';
import { stepOperation, stepUndo } from '../../redis/scripts/extended.js';
import type { EngineObserver } from '../core/observer.js';
import type { NamespaceQuotas } from '../core/quotas.js';
import type { ScriptRunner } from '../core/scripts.js';
import { Loop } from '../timers/loop.js';
import type { ScheduleWakeup } from '../timers/schedule-wakeup.js';
import type { Timers } from '../timers/timers.js';
import {
  type Grant,
  grantOf,
  isUndone,
  readOperation,
  type StoredOperation,
  textOf,
  undoGrantOf,
} from './record.js';
import { StepSize } from './step-size.js';

/** What an undo has not: it walks no index. Its steps are as large as those of a move. */
const UNDO = { isUndo: true, queues: [] as string[], queue: '' } as const;
/** Queues that a step may walk. */
const QUEUES_IN_STEP = 50;
/** Pause after a step that failed, in milliseconds. */
const AFTER_FAILURE_MS = 500;
/** More than the longest pause between two steps (lua/commands/extended/step_operation.lua), in milliseconds. */
const MOST_PAUSE_MS = 2_000;
/** The reply of the script: code, and how it goes on. */
const CODE = { runs: 1 } as const;
const FIRST_COUNT = 7;

/** What a token may do at present, as far as an operation is concerned. */
export interface GrantCheck {
  /** Why the operation must stop; null = it goes on. */
  readonly reason: string | null;
  /** The token lacks the permission `push`. */
  readonly lacksPush: boolean;
}

/** Says what the token, or the account, that started an operation may do in a namespace at present. */
export type CheckGrant = (namespace: string, grant: Grant) => Promise<GrantCheck>;

/** An operation that this process goes on with. */
interface Wanted {
  readonly namespace: string;
  readonly id: string;
  /** When its next step is due, Unix ms, by Redis. */
  dueMs: number;
  known?: Known;
}

/** What does not change while it runs, read once. */
interface Known {
  /** Who started it; of an undo, who began that. */
  readonly grant: Grant | null;
  readonly size: StepSize;
  readonly isUndo: boolean;
  /** It walks one index of the namespace, not queue by queue. */
  readonly isByName: boolean;
  /** The queues of its jobs, sorted. */
  readonly queues: readonly string[];
  /** Where the next step goes on. */
  queue: string;
}

/**
 * Does the steps of operations, one after the other, with a pause as long as the step: other calls get at least half of
 * Redis. Each step is one script, which also says where the next one begins: so a killed server loses nothing, and any
 * other goes on five seconds later.
 */
export class OperationRunner {
  readonly loop: Loop;
  private readonly wanted = new Map<string, Wanted>();
  private check: CheckGrant | undefined;
  private halted: string | null = null;
  private isStarted = false;

  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
    private readonly observer: EngineObserver,
    private readonly quotas: NamespaceQuotas,
    private readonly queues: (namespace: string) => Promise<string[]>,
    private readonly scheduleWakeup: ScheduleWakeup,
    timers: Timers,
  ) {
    this.loop = new Loop({
      ...{ name: 'operations', pool: pool.name, timers, observer },
      run: () => this.stepNext(),
      pauseMs: (durationMs) => this.pauseMs(durationMs),
    });
  }

  /** Who started an operation is checked before each step. Without a check, operations that a token started are left to servers. */
  useGrants(check: CheckGrant): void {
    this.check = check;
  }

  get checksRights(): boolean {
    return this.check !== undefined;
  }

  /** All operations of this Redis stop at their next step. @param reason why */
  halt(reason: string): void {
    this.halted = reason;
  }

  start(): void {
    this.isStarted = true;
    if (this.wanted.size > 0) this.loop.hasten();
  }

  /** Waits for the step in progress. Another server goes on. */
  stop(): Promise<void> {
    this.wanted.clear();
    return this.loop.stop();
  }

  status(): LoopStatus {
    return this.loop.status();
  }

  /** This process goes on with an operation. */
  want(namespace: string, id: string): void {
    const name = `${namespace}\0${id}`;
    if (!this.wanted.has(name)) this.wanted.set(name, { namespace, id, dueMs: 0 });
    // Not started: steps are done in `runNow` only, so that a test controls them.
    if (this.isStarted) this.loop.hasten();
  }

  /** Does steps until none is due any more. @returns how many */
  async runNow(): Promise<number> {
    let steps = 0;
    while ((await this.stepNext()) > 0) steps++;
    return steps;
  }

  /** Does the step that is due first. @returns 1, or 0 if none is due */
  private async stepNext(): Promise<number> {
    const next = this.first();
    if (next === undefined || this.waitMs(next) > 0) return 0;
    next.dueMs = this.runner.now() + AFTER_FAILURE_MS;
    const goesOn = await this.step(next);
    if (!goesOn) this.wanted.delete(`${next.namespace}\0${next.id}`);
    return 1;
  }

  private first(): Wanted | undefined {
    let first: Wanted | undefined;
    for (const one of this.wanted.values()) if (first === undefined || one.dueMs < first.dueMs) first = one;
    return first;
  }

  private pauseMs(durationMs: number): number | null {
    const first = this.first();
    return first === undefined ? null : Math.max(this.waitMs(first), durationMs);
  }

  /** A longer one: the clock of Redis was set back. */
  private waitMs({ dueMs }: Wanted): number {
    const ms = dueMs - this.runner.now();
    return /* guard: operation-runner-sees-a-jump */ ms > MOST_PAUSE_MS ? 0 : ms;
  }

  /** @returns whether this process goes on with it */
  private async step(wanted: Wanted): Promise<boolean> {
    const { namespace, id } = wanted;
    const known = wanted.known ?? (await this.learn(namespace, id));
    if (known === undefined || (known.grant !== null && this.check === undefined)) return false;
    wanted.known = known;
    const { reason, lacksPush } = await this.checkOf(namespace, known.grant);
    if (known.isUndo) return this.stepBack(wanted, known.size, reason ?? '');
    const rest = known.queues.filter((queue) => known.isByName || queue >= known.queue);
    const queues = known.isByName ? rest : rest.slice(0, QUEUES_IN_STEP);
    const args = {
      ...{ id, reason: reason ?? '', limit: known.size.jobs, scan_limit: known.size.entries },
      is_last: queues.length === rest.length ? '1' : '0',
      is_limited: known.grant?.patterns ? '1' : '0',
      no_push: lacksPush ? '1' : '0',
      most_bytes: this.quotas.of(namespace).bytes,
      ...this.quotas.movesOf(namespace),
    };
    const items = queues.map((queue) => [queue]);
    const raw = await this.runScript(wanted, known.size, () =>
      this.runner.run(stepOperation, namespace, args, items),
    );
    for (let i = FIRST_COUNT; i + 1 < raw.length; i += 2)
      this.observer.respawned(namespace, bytesAt(raw, i).toString(), integerAt(raw, i + 1));
    known.queue = bytesAt(raw, 6).toString();
    return integerAt(raw, 2) === CODE.runs;
  }

  /** A step of an undo. @returns whether this process goes on with it */
  private async stepBack(wanted: Wanted, size: StepSize, reason: string): Promise<boolean> {
    const { namespace, id } = wanted;
    const args = { id, reason, limit: size.jobs, quotas: this.quotas.textOf(namespace, () => '1') };
    const raw = await this.runScript(wanted, size, () => this.runner.run(stepUndo, namespace, args));
    return integerAt(raw, 2) === CODE.runs;
  }

  /** Runs the script of a step, whose reply begins in the same way for all, and learns when the next one is due. */
  private async runScript(wanted: Wanted, size: StepSize, run: () => Promise<Raw>): Promise<Raw['raw']> {
    const beganMs = this.runner.now();
    const { raw } = await run();
    size.took(this.runner.now() - beganMs);
    this.scheduleWakeup(wanted.namespace, integerAt(raw, 4));
    wanted.dueMs = integerAt(raw, 3);
    return raw;
  }

  private async checkOf(namespace: string, grant: Grant | null): Promise<GrantCheck> {
    if (this.halted !== null) return { reason: this.halted, lacksPush: false };
    if (grant === null || this.check === undefined) return { reason: null, lacksPush: false };
    return this.check(namespace, grant);
  }

  private async learn(namespace: string, id: string): Promise<Known | undefined> {
    const stored = await readOperation(this.pool, namespace, id);
    if (stored === null) return undefined;
    const [grant, isByName] = [grantOf(stored), textOf(stored.name) !== ''];
    if (isUndone(stored))
      return { grant: undoGrantOf(stored), ...UNDO, size: new StepSize('move'), isByName };
    return {
      grant,
      isUndo: false,
      size: new StepSize(textOf(stored.action) as Action),
      isByName,
      queues: await this.queuesOf(namespace, stored, grant),
      queue: textOf(stored.queue),
    };
  }

  /** New queues have only jobs that came later. */
  private async queuesOf(namespace: string, stored: StoredOperation, grant: Grant | null): Promise<string[]> {
    const { patterns = null } = grant ?? {};
    // It walks one index, and may act on all that it finds there.
    if (textOf(stored.name) !== '' && patterns === null) return [];
    const { queue } = JSON.parse(textOf(stored.filter)) as { readonly queue?: string };
    const all = queue === undefined ? await this.queues(namespace) : [queue];
    // guard: operation-matches-allowed-queues
    const allowed =
      patterns === null ? all : all.filter((name) => patterns.some((one) => matchesPattern(one, name)));
    return allowed.sort();
  }
}
