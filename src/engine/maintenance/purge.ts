import { performance } from 'node:perf_hooks';
import type { QueueCounts } from '../../domain/job/job.js';
import type { RedisPool } from '../../redis/pool.js';
import { purge, purgeQueue, purgeNamespace } from '../../redis/scripts/simple.js';
import { MAX_HISTORY_DAYS } from '../../domain/limits.js';
import { singleKeys } from '../../redis/record-kinds.js';
import { checkNames } from '../core/checks.js';
import type { ScriptRunner } from '../core/scripts.js';

/** Number of jobs of a namespace per state, and of its queues. */
export interface Census extends Omit<QueueCounts, 'queue' | 'oldestReadyAgeMs' | 'oldestReadyAtMs'> {
  readonly queues: number;
}

/** Result of a purge. */
export interface Purged {
  readonly jobs: number;
  readonly queues: number;
  /** Keys other than those of jobs and queues. */
  readonly keys: number;
  /** Nothing is left. If false, and `isInUse` is false too, the next call continues. */
  readonly isDone: boolean;
  /** A client published meanwhile into a queue that was already purged: those jobs are still there. */
  readonly isInUse: boolean;
}

/** Operations of the engine that a purge needs. */
export interface PurgeParts {
  readonly queues: (namespace: string) => Promise<string[]>;
  readonly counts: (namespace: string, queues: readonly string[]) => Promise<QueueCounts[]>;
  /** Deletes the recurring jobs, which would create new jobs. */
  readonly endRecurring: (namespace: string) => Promise<void>;
  /** Removes a namespace from the list of the pool. */
  readonly delist: (namespace: string) => Promise<void>;
  /** Writes pending statistics of the namespace, so that none are written after its end. */
  readonly settle: () => Promise<void>;
}

/** All indexes of jobs. The ready list comes first, so that its jobs are no longer leased. */
const INDEXES = 'rpDQsSflLbhdz';
/** Maximum number of rounds over a queue that gets new jobs each time. */
const ROUNDS = 5;
/** Entries that one step checks: about a millisecond of Redis. */
const STEP = 128;
/** Keys that Redis checks for a page of SCAN, and keys that one script removes. */
const PAGE = 500;
const KEYS_IN_ONE = 100;
const DAY_MS = 86_400_000;
const NO_JOBS = {
  ready: 0,
  scheduled: 0,
  leased: 0,
  dead: 0,
  blocked: 0,
  stuck: 0,
  held: 0,
  done: 0,
  cancelled: 0,
};

/**
 * Deletes a namespace with all its data: jobs in every state, queues, settings, statistics. It works queue by queue, in
 * bounded steps; a scan of the keys of the Redis then finds what has no index (idempotency records). If interrupted,
 * the next call continues.
 */
export class Purge {
  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
    private readonly parts: PurgeParts,
  ) {}

  /**
   * Counts what a purge would delete; changes nothing. @throws {QueueError} `invalid_argument`; an error of the store
   */
  async census(namespace: string): Promise<Census> {
    checkNames(namespace);
    const queues = await this.parts.queues(namespace);
    const sum = { ...NO_JOBS, queues: queues.length };
    for (const one of await this.parts.counts(namespace, queues)) {
      for (const state of Object.keys(NO_JOBS) as (keyof typeof NO_JOBS)[]) sum[state] += one[state];
    }
    return sum;
  }

  /**
   * Purges for about `budgetMs`; the scan at the end is not interrupted. Leased jobs are deleted too: their holders get
   * `not_found`.
   *
   * @throws {QueueError} `invalid_argument`; an error of the store: what was deleted before stays deleted
   */
  async run(namespace: string, budgetMs = Number.POSITIVE_INFINITY): Promise<Purged> {
    checkNames(namespace);
    const endsAtMs = performance.now() + budgetMs;
    const sum = { jobs: 0, queues: 0, keys: 0, isDone: false, isInUse: false };
    await this.parts.endRecurring(namespace);
    for (const queue of await this.parts.queues(namespace)) {
      const { removed, left } = await this.purgeQueue(namespace, queue, endsAtMs);
      sum.jobs += removed;
      if (left === 'nothing') sum.queues += 1;
      else if (left === 'new jobs') sum.isInUse = true;
      else return sum;
    }
    if (sum.isInUse) return sum;
    await this.parts.settle();
    const rest = await this.removeRest(namespace);
    return { ...sum, ...rest, keys: sum.keys + rest.keys };
  }

  /** Purges a queue index by index until all are empty; gives up after some rounds if clients keep publishing to it. */
  private async purgeQueue(
    namespace: string,
    queue: string,
    endsAtMs: number,
  ): Promise<{ readonly removed: number; readonly left: 'nothing' | 'new jobs' | 'the rest' }> {
    let removed = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const { held } = await this.runner.run(purgeQueue, namespace, { queue, kinds: INDEXES });
      if (held === '') return { removed, left: 'nothing' };
      for (const kind of held) {
        const index = await this.purgeIndex(namespace, { queue, kind }, endsAtMs);
        removed += index.removed;
        if (!index.isDone) return { removed, left: 'the rest' };
      }
    }
    return { removed, left: 'new jobs' };
  }

  private async purgeIndex(
    namespace: string,
    index: { readonly queue: string; readonly kind: string },
    endsAtMs: number,
  ): Promise<{ readonly removed: number; readonly isDone: boolean }> {
    let removed = 0;
    for (let looked = STEP; looked > 0;) {
      if (performance.now() > endsAtMs) return { removed, isDone: false };
      const step = await this.runner.run(purge, namespace, { ...index, limit: STEP });
      removed += step.removed;
      looked = step.looked;
    }
    return { removed, isDone: true };
  }

  /** Removes the marker first: a later publish starts a new namespace, whose data is not touched. */
  private async removeRest(
    namespace: string,
  ): Promise<{ readonly keys: number; readonly isDone: boolean; readonly isInUse: boolean }> {
    const { pushed } = this.pool.keys;
    // Before their key: a target that is stored in between is listed after that.
    const hadTargets = Number(await this.pool.read('SREM', pushed, namespace)) > 0;
    let keys = await this.remove(namespace, 1, this.namedKeys(namespace));
    if (keys < 0 && hadTargets) await this.pool.read('SADD', pushed, namespace);
    if (keys < 0) return { keys: 0, isDone: false, isInUse: true };
    await this.parts.delist(namespace);
    await this.pool.read('ZREM', this.pool.keys.active, namespace);
    for await (const page of /* guard: purge-scans-all-keys */ this.pool.scan(
      this.pool.keys.allOf(namespace),
      PAGE,
    )) {
      for (let i = 0; i < page.length; i += KEYS_IN_ONE) {
        const removed = await this.remove(namespace, 0, page.slice(i, i + KEYS_IN_ONE));
        if (removed < 0) return { keys, isDone: false, isInUse: true };
        keys += removed;
      }
    }
    return { keys, isDone: true, isInUse: false };
  }

  /** The keys of a namespace whose names are known: those that it has once, and the statistics of each day. */
  private namedKeys(namespace: string): Buffer[] {
    const { keys } = this.pool;
    const single = singleKeys().map((name) => keys.single(namespace, name));
    // With tomorrow: clocks of servers differ.
    const today = Math.floor(this.runner.now() / DAY_MS);
    const days = Array.from({ length: MAX_HISTORY_DAYS + 2 }, (_, i) => keys.day(namespace, today + 1 - i));
    return [...single, ...days].map((key) => Buffer.from(key));
  }

  /** @returns how many keys; -1 if the namespace is in use again */
  private async remove(namespace: string, isMarker: 0 | 1, keys: readonly Buffer[]): Promise<number> {
    const items = keys.map((key) => [key]);
    const { removed } = await this.runner.run(purgeNamespace, namespace, { is_marker: isMarker }, items);
    return removed;
  }
}
