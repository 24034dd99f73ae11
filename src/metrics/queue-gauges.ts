import type { QueueCounts } from '../domain/job.js';
import type { Cell } from './families.js';
import type { Metrics } from './metrics.js';
import { OTHER } from './series-table.js';

/** What the gauges ask of an engine. */
export interface QueueSource {
  namespaces(): Promise<string[]>;
  queues(namespace: string): Promise<string[]>;
  counts(namespace: string, queues: readonly string[]): Promise<QueueCounts[]>;
}

/** Most queues in one counts call: one script call stays short. */
export const COUNTS_BATCH = 64;

interface QueueName {
  readonly namespace: string;
  readonly queue: string;
}

type Totals = Record<'ready' | 'scheduled' | 'leased' | 'dead' | 'oldestMs', number>;
type QueueCells = Readonly<Record<'ready' | 'scheduled' | 'leased' | 'dead' | 'oldest', Cell>>;

/** What bounds the gauges of all pools together. */
export interface GaugeBudget {
  /** Queues with labels of their own, over all pools. */
  readonly limit: number;
  /** How many of them are taken. */
  held: number;
  /** Queues to take first: those whose counters have labels, so that both speak of the same ones. */
  readonly preferred: (pool: string, namespace: string, queue: string) => boolean;
}

/**
 * The size gauges of one pool's queues. A queue keeps its labels while it exists; the rest are summed up as `other`, a bounded
 * part of them per refresh, so that this sum is whole but may be several refreshes old where there are very many.
 */
export class QueueGauges {
  private readonly labelled = new Map<string, { readonly name: QueueName; readonly cells: QueueCells }>();
  private readonly other: QueueCells;
  private readonly timerSize: Cell;
  private readonly known: Cell;
  private walk: { pending: QueueName[]; totals: Totals } | undefined;
  private others = zero();

  constructor(
    private readonly metrics: Metrics,
    private readonly pool: string,
    private readonly source: QueueSource,
    private readonly budget: GaugeBudget,
  ) {
    this.other = this.cells({ namespace: OTHER, queue: OTHER });
    this.timerSize = metrics.timerSizes.cell({ pool });
    this.known = metrics.queues.cell({ pool });
  }

  /**
   * Reads all sizes anew: at most `limit` queues with labels and as many without.
   *
   * @throws {QueueError} the pool does not answer; what could not be read stays as it was
   */
  async refresh(): Promise<void> {
    const names = await this.names();
    this.known.value = names.length;
    const rest = this.choose(names);
    const totals = await this.readLabelled();
    await this.readRest(rest);
    this.timerSize.value = totals.scheduled + totals.leased + this.others.scheduled + this.others.leased;
  }

  private async names(): Promise<QueueName[]> {
    const namespaces = await this.source.namespaces();
    const lists = await inTurns(namespaces, async (namespace) => {
      const queues = await this.source.queues(namespace);
      return queues.map((queue) => ({ namespace, queue }));
    });
    return lists.flat();
  }

  /** Gives labels back and out; answers the queues that have none. */
  private choose(names: readonly QueueName[]): QueueName[] {
    const existing = new Set(names.map(keyOf));
    for (const [key, { cells }] of this.labelled) {
      if (existing.has(key)) continue;
      this.labelled.delete(key);
      this.budget.held -= 1;
      this.drop(cells);
    }
    const without = names.filter((name) => !this.labelled.has(keyOf(name)));
    const preferred = (name: QueueName): boolean =>
      this.budget.preferred(this.pool, name.namespace, name.queue);
    const ordered = [...without.filter(preferred), ...without.filter((name) => !preferred(name))];
    return ordered.filter((name) => !this.label(name));
  }

  private label(name: QueueName): boolean {
    const isOther = name.namespace === OTHER && name.queue === OTHER;
    if (isOther || this.budget.held >= this.budget.limit) return false;
    this.budget.held += 1;
    this.labelled.set(keyOf(name), { name, cells: this.cells(name) });
    return true;
  }

  private async readLabelled(): Promise<Totals> {
    const totals = zero();
    await this.count(
      [...this.labelled.values()].map(({ name }) => name),
      (namespace, counts) => {
        add(totals, counts);
        const cells = this.labelled.get(keyOf({ namespace, queue: counts.queue }))?.cells;
        if (cells) show(cells, toTotals(counts));
      },
    );
    return totals;
  }

  /** Goes on with the sum of the others, and shows it when it is whole. */
  private async readRest(rest: readonly QueueName[]): Promise<void> {
    this.walk ??= { pending: [...rest], totals: zero() };
    const { walk } = this;
    const part = walk.pending.splice(0, Math.max(this.budget.limit, COUNTS_BATCH));
    try {
      await this.count(part, (_namespace, counts) => add(walk.totals, counts));
    } catch (error) {
      this.walk = undefined;
      throw error;
    }
    if (walk.pending.length > 0) return;
    this.walk = undefined;
    this.others = walk.totals;
    show(this.other, walk.totals);
  }

  private async count(
    names: readonly QueueName[],
    each: (namespace: string, counts: QueueCounts) => void,
  ): Promise<void> {
    await inTurns(batches(names), async ({ namespace, queues }) => {
      for (const counts of await this.source.counts(namespace, queues)) each(namespace, counts);
    });
  }

  private cells({ namespace, queue }: QueueName): QueueCells {
    const { metrics, pool } = this;
    const labels = { pool, namespace, queue };
    return {
      ready: metrics.queueSizes.cell(labels),
      scheduled: metrics.scheduledJobs.cell(labels),
      leased: metrics.leasedJobs.cell(labels),
      dead: metrics.deadletterSizes.cell(labels),
      oldest: metrics.oldestReadyAge.cell(labels),
    };
  }

  private drop(cells: QueueCells): void {
    const { metrics } = this;
    metrics.queueSizes.drop(cells.ready);
    metrics.scheduledJobs.drop(cells.scheduled);
    metrics.leasedJobs.drop(cells.leased);
    metrics.deadletterSizes.drop(cells.dead);
    metrics.oldestReadyAge.drop(cells.oldest);
  }
}

/** No name holds a slash. */
function keyOf({ namespace, queue }: QueueName): string {
  return `${namespace}/${queue}`;
}

function zero(): Totals {
  return { ready: 0, scheduled: 0, leased: 0, dead: 0, oldestMs: 0 };
}

function toTotals({ ready, scheduled, leased, dead, oldestReadyAgeMs }: QueueCounts): Totals {
  return { ready, scheduled, leased, dead, oldestMs: oldestReadyAgeMs };
}

function add(totals: Totals, counts: QueueCounts): void {
  totals.ready += counts.ready;
  totals.scheduled += counts.scheduled;
  totals.leased += counts.leased;
  totals.dead += counts.dead;
  totals.oldestMs = Math.max(totals.oldestMs, counts.oldestReadyAgeMs);
}

function show(cells: QueueCells, totals: Totals): void {
  cells.ready.value = totals.ready;
  cells.scheduled.value = totals.scheduled;
  cells.leased.value = totals.leased;
  cells.dead.value = totals.dead;
  cells.oldest.value = totals.oldestMs / 1_000;
}

/** Names by namespace, in lists of at most `COUNTS_BATCH`. */
function batches(names: readonly QueueName[]): { namespace: string; queues: string[] }[] {
  const open = new Map<string, string[]>();
  const all: { namespace: string; queues: string[] }[] = [];
  for (const { namespace, queue } of names) {
    let queues = open.get(namespace);
    if (!queues || queues.length >= COUNTS_BATCH) {
      queues = [];
      open.set(namespace, queues);
      all.push({ namespace, queues });
    }
    queues.push(queue);
  }
  return all;
}

/** At most this many calls are under way at once: gauges must not crowd out jobs. */
const AT_ONCE = 4;

async function inTurns<T, R>(items: readonly T[], act: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let i = 0; i < items.length; i += AT_ONCE) {
    results.push(...(await Promise.all(items.slice(i, i + AT_ONCE).map(act))));
  }
  return results;
}
