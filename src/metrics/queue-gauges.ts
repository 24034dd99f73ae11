import { Injectable } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import { Gauge } from 'prom-client';
import type { QueueSettings } from '../contract/queue-settings.js';
import type { QueueCounts } from '../domain/job/job.js';
import { GAUGES, type PoolLabel, type QueueLabel } from './gauges.js';
import { OTHER } from './series.js';

/** Engine operations that the gauges need. */
export interface QueueSource {
  namespaces(): Promise<string[]>;
  readonly queues: {
    names(namespace: string): Promise<string[]>;
    counts(namespace: string, queues: readonly string[]): Promise<QueueCounts[]>;
    readonly stored: {
      /** Null for a queue that does not exist. */
      settings(
        namespace: string,
        queues: readonly string[],
      ): Promise<(Pick<QueueSettings, 'pausedAtMs'> | null)[]>;
    };
  };
  readonly sessions: {
    /** Worker sessions of a namespace that are not lost. */
    countSessions(namespace: string): Promise<number>;
    /** Those that lease from each queue. */
    sessionsByQueue(namespace: string): Promise<ReadonlyMap<string, number>>;
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

/** What the gauges of a queue show, each the field of its name in `QueueSizeGauges`. */
type Totals = Record<TotalName, number>;
type TotalName = (typeof SUMS)[number] | 'oldestMs';
/** Those that add up. */
const SUMS = [
  ...(['ready', 'scheduled', 'leased', 'dead', 'blocked', 'stuck', 'held', 'paused', 'workers'] as const),
];
/** What is read of a queue. */
interface QueueReading {
  readonly counts: QueueCounts;
  readonly isPaused: boolean;
  readonly workers: number;
}
type QueueLabels = Readonly<Record<QueueLabel, string>>;

/** The gauges of all pools' queues. */
@Injectable()
export class QueueSizeGauges {
  constructor(
    @InjectMetric(GAUGES.readyJobs.name) private readonly ready: Gauge<QueueLabel>,
    @InjectMetric(GAUGES.scheduledJobs.name) private readonly scheduled: Gauge<QueueLabel>,
    @InjectMetric(GAUGES.leasedJobs.name) private readonly leased: Gauge<QueueLabel>,
    @InjectMetric(GAUGES.deadJobs.name) private readonly dead: Gauge<QueueLabel>,
    @InjectMetric(GAUGES.blockedJobs.name) private readonly blocked: Gauge<QueueLabel>,
    @InjectMetric(GAUGES.stuckJobs.name) private readonly stuck: Gauge<QueueLabel>,
    @InjectMetric(GAUGES.heldJobs.name) private readonly held: Gauge<QueueLabel>,
    @InjectMetric(GAUGES.pausedQueues.name) private readonly paused: Gauge<QueueLabel>,
    @InjectMetric(GAUGES.queueWorkers.name) private readonly workers: Gauge<QueueLabel>,
    @InjectMetric(GAUGES.oldestReadyAge.name) private readonly oldest: Gauge<QueueLabel>,
    @InjectMetric(GAUGES.queueSizes.name) private readonly lmstfyReady: Gauge<QueueLabel>,
    @InjectMetric(GAUGES.deadletterSizes.name) private readonly lmstfyDead: Gauge<QueueLabel>,
    @InjectMetric(GAUGES.timerSizes.name) readonly timerSizes: Gauge<PoolLabel>,
    @InjectMetric(GAUGES.queues.name) readonly queues: Gauge<PoolLabel>,
    @InjectMetric(GAUGES.sessions.name) readonly sessions: Gauge<PoolLabel>,
  ) {}

  set(labels: QueueLabels, totals: Totals): void {
    for (const name of SUMS) this[name].set(labels, totals[name]);
    this.oldest.set(labels, totals.oldestMs / 1_000);
    this.lmstfyReady.set(labels, totals.ready);
    this.lmstfyDead.set(labels, totals.dead);
  }

  remove(labels: QueueLabels): void {
    for (const name of SUMS) this[name].remove(labels);
    for (const gauge of [this.oldest, this.lmstfyReady, this.lmstfyDead]) gauge.remove(labels);
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
  /** Sessions by queue of each namespace that has any, as the last refresh read them. */
  private workers: ReadonlyMap<string, ReadonlyMap<string, number>> = new Map();
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
    const workers = new Map<string, ReadonlyMap<string, number>>();
    let sessions = 0;
    const lists = await inTurns(namespaces, async (namespace) => {
      const [queues, count] = await Promise.all([
        this.source.queues.names(namespace),
        this.source.sessions.countSessions(namespace),
      ]);
      sessions += count;
      if (count > 0) workers.set(namespace, await this.source.sessions.sessionsByQueue(namespace));
      return queues.map((queue) => ({ namespace, queue }));
    });
    this.workers = workers;
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
    await this.count([...this.labelled.values()], (namespace, reading) => {
      const own = toTotals(reading);
      add(totals, own);
      this.show({ namespace, queue: reading.counts.queue }, own);
    });
    return totals;
  }

  /** Continues the sum of the other queues, and shows it when it is complete. */
  private async readRest(rest: readonly QueueName[]): Promise<void> {
    this.walk ??= { pending: [...rest], totals: zero() };
    const { walk } = this;
    const part = walk.pending.splice(0, Math.max(this.budget.limit, COUNTS_BATCH));
    try {
      await this.count(part, (_namespace, reading) => add(walk.totals, toTotals(reading)));
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
    each: (namespace: string, reading: QueueReading) => void,
  ): Promise<void> {
    await inTurns(batches(names), async ({ namespace, queues }) => {
      const [all, settings] = await Promise.all([
        this.source.queues.counts(namespace, queues),
        this.source.queues.stored.settings(namespace, queues),
      ]);
      all.forEach((counts, i) => {
        const isPaused = (settings[i]?.pausedAtMs ?? null) !== null;
        const workers = this.workers.get(namespace)?.get(counts.queue) ?? 0;
        each(namespace, { counts, isPaused, workers });
      });
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
  const sums = Object.fromEntries(SUMS.map((name) => [name, 0])) as Totals;
  return { ...sums, oldestMs: 0 };
}

function toTotals({ counts, isPaused, workers }: QueueReading): Totals {
  const { ready, scheduled, leased, dead, blocked, stuck, held, oldestReadyAgeMs: oldestMs } = counts;
  return {
    ...{ ready, scheduled, leased, dead, blocked, stuck, held },
    ...{ paused: isPaused ? 1 : 0, workers, oldestMs },
  };
}

function add(totals: Totals, own: Totals): void {
  for (const name of SUMS) totals[name] += own[name];
  totals.oldestMs = Math.max(totals.oldestMs, own.oldestMs);
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
