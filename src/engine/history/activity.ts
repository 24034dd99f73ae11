import type { RedisPool } from '../../redis/pool.js';
import { addActivity } from '../../redis/scripts/simple.js';
import type { Item } from '../../redis/scripts/script.js';
import type { EngineObserver } from '../core/observer.js';
import type { ScriptRunner } from '../core/scripts.js';
import { Loop } from '../timers/loop.js';
import type { Timers } from '../timers/timers.js';
import { unlessFull } from '../timers/unless-full.js';
import { countedText, QueueActivity } from './counts.js';
import { PAST, RECENT } from './points.js';

/** Queues that one process counts between two flushes, over all namespaces. */
const MOST_OPEN = 5_000;
/** Queues of a namespace that are counted in five minutes, over all processes. */
export const MOST_QUEUES = 10_000;
/** Queues of one script call. */
const BATCH = 64;
/** Namespaces that are written at once: a history must not delay jobs. */
const AT_ONCE = 4;
/** Namespaces of one command. */
const ANNOUNCED_AT_ONCE = 500;

/**
 * Counts in memory what happens to the jobs of each queue, and writes it at the end of each ten seconds. A process that
 * is killed loses what it has counted since.
 */
export class Activity {
  readonly loop: Loop;
  private open = new Map<string, Map<string, QueueActivity>>();
  private openQueues = 0;
  /** When the first of it was counted, Unix ms. */
  private sinceMs = 0;
  private last: QueueActivity | undefined;
  private lastNamespace = '';
  private lastQueue = '';
  private isStarted = false;
  /** What counts for queues beyond the bound: it is not written. */
  private readonly unwritten = new QueueActivity();

  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
    observer: EngineObserver,
    timers: Timers,
  ) {
    this.loop = new Loop({
      ...{ name: 'activity', pool: pool.name, timers, observer },
      run: () => unlessFull(() => this.flush()),
      pauseMs: () => this.pauseMs(),
    });
  }

  start(): void {
    this.isStarted = true;
    this.loop.schedule(this.pauseMs());
  }

  /** Writes what is left, if the store is available. */
  async stop(): Promise<void> {
    await this.loop.stop();
    if (!this.isStarted) return;
    this.isStarted = false;
    await unlessFull(() => this.flush()).catch((error: unknown) => this.loop.fail(error));
  }

  /** What is counted of a queue now; valid until the next turn of the event loop. */
  of(namespace: string, queue: string): QueueActivity {
    // Most jobs are of the same queue as the job before.
    if (this.last !== undefined && queue === this.lastQueue && namespace === this.lastNamespace) {
      return this.last;
    }
    this.last = this.open.get(namespace)?.get(queue) ?? this.admit(namespace, queue);
    this.lastNamespace = namespace;
    this.lastQueue = queue;
    return this.last;
  }

  /**
   * Writes what was counted so far; what cannot be written is lost.
   *
   * @returns of how many queues something was written
   * @throws {QueueError} an error of the store
   */
  async flush(): Promise<number> {
    const { open, sinceMs } = this;
    this.open = new Map();
    this.openQueues = 0;
    this.last = undefined;
    if (open.size === 0 || !this.pool.status.up) return 0;
    // A reply that was read after a purge may be about what was done before it.
    const countedFromMs = sinceMs - Math.ceil(this.pool.options.commandTimeoutMs);
    const slot = Math.floor(sinceMs / PAST.stepMs);
    const batches = [...open].flatMap(([namespace, queues]) => batchesOf(namespace, queues));
    let written = 0;
    for (let i = 0; i < batches.length; i += AT_ONCE) {
      await Promise.all(
        batches.slice(i, i + AT_ONCE).map(async ({ namespace, items }) => {
          const args = { slot, since_ms: countedFromMs, most: MOST_QUEUES };
          await this.runner.run(addActivity, namespace, args, items);
          written += items.length;
        }),
      );
    }
    await announce(this.pool, [...open.keys()], this.runner.now());
    return written;
  }

  private admit(namespace: string, queue: string): QueueActivity {
    if (this.openQueues >= MOST_OPEN) return this.unwritten;
    if (this.openQueues === 0) this.sinceMs = this.runner.now();
    let queues = this.open.get(namespace);
    if (!queues) this.open.set(namespace, (queues = new Map<string, QueueActivity>()));
    const activity = new QueueActivity();
    queues.set(queue, activity);
    this.openQueues += 1;
    return activity;
  }

  /** Flushes at the end of each interval: all open activity is of one. */
  private pauseMs(): number {
    return RECENT.stepMs - (this.runner.now() % RECENT.stepMs);
  }
}

/** Lists namespaces as those whose queues were counted or sampled at this time, Unix ms. */
export async function announce(
  pool: Pick<RedisPool, 'keys' | 'read'>,
  namespaces: readonly string[],
  nowMs: number,
): Promise<void> {
  const score = String(Math.floor(nowMs));
  for (let i = 0; i < namespaces.length; i += ANNOUNCED_AT_ONCE) {
    const members = namespaces.slice(i, i + ANNOUNCED_AT_ONCE).flatMap((name) => [score, name]);
    await pool.read('ZADD', pool.keys.active, ...members);
  }
}

function batchesOf(
  namespace: string,
  queues: ReadonlyMap<string, QueueActivity>,
): { readonly namespace: string; readonly items: Item[] }[] {
  const items = [...queues].map(([queue, { counts, waits, runs }]): Item => [
    ...[queue, countedText(counts), waits.toText(), runs.toText()],
  ]);
  const batches: { namespace: string; items: Item[] }[] = [];
  for (let i = 0; i < items.length; i += BATCH) batches.push({ namespace, items: items.slice(i, i + BATCH) });
  return batches;
}
