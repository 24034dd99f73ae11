import { performance } from 'node:perf_hooks';
import type { QueueCounts } from '../../domain/job.js';
import type { RedisPool } from '../../redis/pool.js';
import { purge, purgeQueue, purgeSpace } from '../../redis/scripts/plain.js';
import { checkNames } from '../checks.js';
import type { ScriptRunner } from '../script-runner.js';

/** How many jobs of a namespace are in which state, and in how many queues. */
export interface Census extends Omit<QueueCounts, 'queue' | 'oldestReadyAgeMs'> {
  readonly queues: number;
}

/** What a purge has done. */
export interface Purged {
  readonly jobs: number;
  readonly queues: number;
  /** Keys besides those of jobs and queues. */
  readonly keys: number;
  /** Nothing is left. If not, and `isInUse` is false, it goes on when it is called again. */
  readonly isDone: boolean;
  /** Somebody published meanwhile, in a queue that was purged already: that is still there. */
  readonly isInUse: boolean;
}

/** What a purge asks of the engine that it belongs to. */
export interface PurgeParts {
  readonly queues: (namespace: string) => Promise<string[]>;
  readonly counts: (namespace: string, queues: readonly string[]) => Promise<QueueCounts[]>;
  /** Ends what would make new jobs. */
  readonly endRecurring: (namespace: string) => Promise<void>;
  /** Takes a namespace off the list of the pool. */
  readonly delist: (namespace: string) => Promise<void>;
  /** Writes what is remembered of the namespace, so that nothing comes after its end. */
  readonly settle: () => Promise<void>;
}

/** Every index that jobs may stand in. The line comes first: who is ready is not given out any more. */
const INDEXES = 'rpsSflLbhdz';
/** How often a queue is looked through in which there are new jobs each time. */
const ROUNDS = 5;
/** Members that one step looks at: about a millisecond of Redis. */
const STEP = 128;
/** Queues whose jobs are counted by one script. */
const COUNTED_AT_ONCE = 64;
/** Keys that Redis looks at for a page, and keys that one script removes. */
const PAGE = 500;
const KEYS_IN_ONE = 100;
const NO_JOBS = { ready: 0, scheduled: 0, leased: 0, dead: 0, blocked: 0, stuck: 0, held: 0, ended: 0 };

/**
 * Takes a namespace away with everything in it: jobs in every state, queues, settings, statistics. By its queues, in bounded steps; what
 * is left then without an index (notes of idempotency keys) is found by a walk over the keys of the Redis. Broken off, it goes on where
 * it was when it is called again: what is gone is gone.
 */
export class Purge {
  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
    private readonly parts: PurgeParts,
  ) {}

  /** What a purge would take away; changes nothing. @throws {QueueError} `invalid_argument`; the store's own */
  async census(namespace: string): Promise<Census> {
    checkNames(namespace);
    const queues = await this.parts.queues(namespace);
    const sum = { ...NO_JOBS, queues: queues.length };
    for (let i = 0; i < queues.length; i += COUNTED_AT_ONCE) {
      for (const one of await this.parts.counts(namespace, queues.slice(i, i + COUNTED_AT_ONCE))) {
        for (const state of Object.keys(NO_JOBS) as (keyof typeof NO_JOBS)[]) sum[state] += one[state];
      }
    }
    return sum;
  }

  /**
   * Purges for about `budgetMs`; the walk at the end is not broken off. Jobs that are leased go too: their owners are told `not_found`.
   *
   * @throws {QueueError} `invalid_argument`; the store's own: what was done until then is done
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

  /** Index by index, until none holds anything; who publishes all the time is left alone after some rounds. */
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

  /** The marker first: whoever publishes from then on begins a new namespace, and nothing of that is touched. */
  private async removeRest(
    namespace: string,
  ): Promise<{ readonly keys: number; readonly isDone: boolean; readonly isInUse: boolean }> {
    let keys = await this.remove(namespace, 1, []);
    if (keys < 0) return { keys: 0, isDone: false, isInUse: true };
    await this.parts.delist(namespace);
    for await (const page of this.pool.scan(this.pool.keys.allOf(namespace), PAGE)) {
      for (let i = 0; i < page.length; i += KEYS_IN_ONE) {
        const removed = await this.remove(namespace, 0, page.slice(i, i + KEYS_IN_ONE));
        if (removed < 0) return { keys, isDone: false, isInUse: true };
        keys += removed;
      }
    }
    return { keys, isDone: true, isInUse: false };
  }

  /** @returns how many keys; -1 if the namespace is in use again */
  private async remove(namespace: string, isMarker: 0 | 1, keys: readonly Buffer[]): Promise<number> {
    const items = keys.map((key) => [key]);
    const { removed } = await this.runner.run(purgeSpace, namespace, { is_marker: isMarker }, items);
    return removed;
  }
}
