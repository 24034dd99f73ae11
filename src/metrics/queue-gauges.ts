import { Injectable } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import { Gauge } from 'prom-client';
import type { QueueCounts } from '../domain/job/job.js';
import { GAUGES, type PoolLabel, type QueueLabel } from './gauges.js';
import { OTHER } from './series.js';

/** Engine operations that the gauges need. */
export interface QueueSource {
  namespaces(): Promise<string[]>;
  readonly queues: {
    names(namespace: string): Promise<string[]>;
    counts(namespace: string, queues: readonly string[]): Promise<QueueCounts[]>;
  };
  readonly sessions: {
    /** Worker sessions of a namespace that are not lost. */
    countSessions(namespace: string): Promise<number>;
  };
}

/** Most queues in one counts call, to keep the script call short. */
export const COUNTS_BATCH = 64;

interface QueueName {
  readonly namespace: string;
  readonly queue: string;
}

/** Labels of the sum of the queues without labels. */
const OTHERS: QueueName = { namespace: OTHER, queue: OTHER };

type Totals = Record<'ready' | 'scheduled' | 'leased' | 'dead' | 'oldestMs', number>;
type QueueLabels = Readonly<Record<QueueLabel, string>>;

/** The gauges of all pools' queues. */
@Injectable()
export class QueueSizeGauges {
  constructor(
    @InjectMetric(GAUGES.readyJobs.name) private readonly ready: Gauge<QueueLabel>,
    @InjectMetric(GAUGES.scheduledJobs.name) private readonly scheduled: Gauge<QueueLabel>,
    @InjectMetric(GAUGES.leasedJobs.name) private readonly leased: Gauge<QueueLabel>,
    @InjectMetric(GAUGES.deadJobs.name) private readonly dead: Gauge<QueueLabel>,
    @InjectMetric(GAUGES.oldestReadyAge.name) private readonly oldest: Gauge<QueueLabel>,
    @InjectMetric(GAUGES.queueSizes.name) private readonly lmstfyReady: Gauge<QueueLabel>,
    @InjectMetric(GAUGES.deadletterSizes.name) private readonly lmstfyDead: Gauge<QueueLabel>,
    @InjectMetric(GAUGES.timerSizes.name) readonly timerSizes: Gauge<PoolLabel>,
    @InjectMetric(GAUGES.queues.name) readonly queues: Gauge<PoolLabel>,
    @InjectMetric(GAUGES.sessions.name) readonly sessions: Gauge<PoolLabel>,
  ) {}

  set(labels: QueueLabels, { ready, scheduled, leased, dead, oldestMs }: Totals): void {
    this.ready.set(labels, ready);
    this.scheduled.set(labels, scheduled);
    this.leased.set(labels, leased);
    this.dead.set(labels, dead);
    this.oldest.set(labels, oldestMs / 1_000);
    this.lmstfyReady.set(labels, ready);
    this.lmstfyDead.set(labels, dead);
  }

  remove(labels: QueueLabels): void {
    const { ready, scheduled, leased, dead, oldest, lmstfyReady, lmstfyDead } = this;
    for (const gauge of [ready, scheduled, leased, dead, oldest, lmstfyReady, lmstfyDead])
      gauge.remove(labels);
  }
}

/** Limit of the gauges of all pools together. */
export interface GaugeBudget {
  /** Queues with their own labels, over all pools. */
  readonly limit: number;
  /** How many of them are in use. */
  held: number;
  /** Queues to label first: those whose counters have labels, so that both are about the same queues. */
  readonly preferred: (pool: string, namespace: string, queue: string) => boolean;
}

/**
 * The size gauges of one pool's queues. A queue keeps its labels while it exists. The others are summed up as `other`,
 * a bounded part of them per refresh: this sum is complete, but with very many queues it may be several refreshes old.
 */
export class QueueGauges {
  private readonly labelled = new Map<string, QueueName>();
  private walk: { pending: QueueName[]; totals: Totals } | undefined;
  private others = zero();

  constructor(
    private readonly gauges: QueueSizeGauges,
    private readonly pool: string,
    private readonly source: QueueSource,
    private readonly budget: GaugeBudget,
  ) {
    this.show(OTHERS, zero());
    gauges.timerSizes.set({ pool }, 0);
    gauges.queues.set({ pool }, 0);
    gauges.sessions.set({ pool }, 0);
  }

  /**
   * Reads all sizes: at most `limit` queues with labels and as many without.
   *
   * @throws {QueueError} the pool does not answer; values that could not be read stay unchanged
   */
  async refresh(): Promise<void> {
    const names = await this.names();
    this.gauges.queues.set({ pool: this.pool }, names.length);
    const rest = this.choose(names);
    const totals = await this.readLabelled();
    await this.readRest(rest);
    const { scheduled, leased } = this.others;
    this.gauges.timerSizes.set({ pool: this.pool }, totals.scheduled + totals.leased + scheduled + leased);
  }

  private async names(): Promise<QueueName[]> {
    const namespaces = await this.source.namespaces();
    let sessions = 0;
    const lists = await inTurns(namespaces, async (namespace) => {
      const [queues, count] = await Promise.all([
        this.source.queues.names(namespace),
        this.source.sessions.countSessions(namespace),
      ]);
      sessions += count;
      return queues.map((queue) => ({ namespace, queue }));
    });
    this.gauges.sessions.set({ pool: this.pool }, sessions);
    return lists.flat();
  }

  /** Releases and assigns labels. @returns the queues without labels */
  private choose(names: readonly QueueName[]): QueueName[] {
    const existing = new Set(names.map(keyOf));
    for (const [key, name] of this.labelled) {
      if (existing.has(key)) continue;
      this.labelled.delete(key);
      this.budget.held -= 1;
      this.gauges.remove({ pool: this.pool, ...name });
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
    this.labelled.set(keyOf(name), name);
    return true;
  }

  private async readLabelled(): Promise<Totals> {
    const totals = zero();
    await this.count([...this.labelled.values()], (namespace, counts) => {
      add(totals, counts);
      this.show({ namespace, queue: counts.queue }, toTotals(counts));
    });
    return totals;
  }

  /** Continues the sum of the other queues, and shows it when it is complete. */
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
    this.show(OTHERS, walk.totals);
  }

  private async count(
    names: readonly QueueName[],
    each: (namespace: string, counts: QueueCounts) => void,
  ): Promise<void> {
    await inTurns(batches(names), async ({ namespace, queues }) => {
      for (const counts of await this.source.queues.counts(namespace, queues)) each(namespace, counts);
    });
  }

  private show({ namespace, queue }: QueueName, totals: Totals): void {
    this.gauges.set({ pool: this.pool, namespace, queue }, totals);
  }
}

/** Names contain no slash. */
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

/** Maximum number of concurrent calls: gauges must not delay jobs. */
const AT_ONCE = 4;

async function inTurns<T, R>(items: readonly T[], act: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let i = 0; i < items.length; i += AT_ONCE) {
    results.push(...(await Promise.all(items.slice(i, i + AT_ONCE).map(act))));
  }
  return results;
}
