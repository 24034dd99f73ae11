import { createHash } from 'node:crypto';
import type { ImportedJob, ImportResult } from '#src/domain/job/job';
import type { PoolEngine } from '#src/engine/pool-engine';
import type { Counted, Tally } from './counts.js';
import { type Entry, isDelayed, type QueueName, readPayload, type TimerEntry } from './layout.js';
import type { LmstfySource, Value } from './source.js';

/** A job found in lmstfy's Redis, with its queue and state. */
export interface Found extends Entry, QueueName {
  readonly state: ImportedJob['state'];
  readonly attempts: number;
  readonly atMs: number;
}

const LEAST_AHEAD_MS = 200;

const COUNTED_AS: Readonly<Record<ImportedJob['state'], Counted>> = {
  ready: 'ready',
  scheduled: 'delayed',
  leased: 'leased',
  dead: 'dead',
};

/** Converts a list entry. lmstfy drops an entry of the ready list without tries; we keep it as a dead job. */
export function foundInList(kind: 'q' | 'd', name: QueueName, entry: Entry): Found {
  const isReady = kind === 'q' && entry.tries > 0;
  if (isReady) return { ...name, ...entry, state: 'ready', attempts: 0, atMs: 0 };
  return { ...name, id: entry.id, tries: 0, state: 'dead', attempts: 1, atMs: 0 };
}

/** Converts a member of the timer. */
export function foundInTimer(entry: TimerEntry, dueS: number): Found {
  const atMs = Math.max(Math.floor(dueS * 1_000), 0);
  const isNew = entry.tries > 0 && isDelayed(entry.id, dueS);
  return { ...entry, state: isNew ? 'scheduled' : 'leased', attempts: isNew ? 0 : 1, atMs };
}

/** Stores jobs in the engine, in batches. */
export class JobStore {
  constructor(
    private readonly source: LmstfySource,
    private readonly engine: PoolEngine,
    private readonly tally: Tally,
  ) {}

  /**
   * Stores jobs in the given order. Leaves out jobs that were acknowledged or have expired. When it returns, all others
   * are stored.
   */
  async store(found: readonly Found[]): Promise<void> {
    const values = await this.source.values(found);
    const aheadMs = await this.aheadMs();
    const byNamespace = new Map<string, ImportedJob[]>();
    found.forEach((job, i) => {
      const value = values[i] ?? null;
      if (value === null) this.tally.add(job.namespace, 'gone');
      else {
        const jobs = byNamespace.get(job.namespace) ?? [];
        jobs.push(toJob(job, value, aheadMs));
        byNamespace.set(job.namespace, jobs);
      }
    });
    for (const [namespace, jobs] of byNamespace) await this.import(namespace, jobs);
  }

  /** How far the clock of the target is ahead. What is less than a measurement can tell counts as none. */
  private async aheadMs(): Promise<number> {
    const aheadMs = this.engine.targets.now() - (await this.source.nowMs());
    return Math.abs(aheadMs) < LEAST_AHEAD_MS ? 0 : /* guard: import-corrects-clocks */ aheadMs;
  }

  /** Removes the import records of jobs that the source no longer has: they cannot come again. */
  async forget(found: readonly Found[]): Promise<void> {
    const byNamespace = new Map<string, string[]>();
    for (const job of found) {
      byNamespace.set(job.namespace, [...(byNamespace.get(job.namespace) ?? []), sourceOf(job)]);
    }
    for (const [namespace, sources] of byNamespace) await this.engine.forgetImported(namespace, sources);
  }

  /**
   * lmstfy's ids are unique within a queue, ours within a namespace. The second job with an id gets another one, the
   * same in every run.
   */
  private async import(namespace: string, jobs: readonly ImportedJob[]): Promise<void> {
    const results = await this.engine.importJobs(namespace, jobs);
    const second = jobs.filter((_job, i) => results[i] === 'taken').map(withOtherId);
    this.count(namespace, jobs, results);
    if (second.length > 0) {
      this.count(namespace, second, await this.engine.importJobs(namespace, second));
    }
  }

  private count(namespace: string, jobs: readonly ImportedJob[], results: readonly ImportResult[]): void {
    jobs.forEach((job, i) => {
      if (results[i] === 'stored') this.tally.add(namespace, COUNTED_AS[job.state]);
      if (results[i] === 'known') this.tally.add(namespace, 'known');
    });
  }
}

/** @param aheadMs of the clock of the target */
function toJob(
  { id, queue, state, tries, attempts, atMs }: Found,
  value: NonNullable<Value>,
  aheadMs: number,
): ImportedJob {
  const { body, attributes } = readPayload(id, value.bytes);
  const { ttlLeftMs } = value;
  return {
    id,
    source: sourceOf({ queue, id }),
    queue,
    body,
    state,
    triesLeft: tries,
    attempts,
    ttlLeftMs,
    atMs: atMs === 0 ? 0 : Math.max(atMs + aheadMs, 0),
    attributes,
  };
}

/** Names contain no slash. */
function sourceOf({ queue, id }: Pick<Found, 'queue' | 'id'>): string {
  return `${queue}/${id}`;
}

function withOtherId(job: ImportedJob): ImportedJob {
  const mark = createHash('sha256').update(job.queue).digest('hex').slice(0, 12);
  return { ...job, id: `${job.id.slice(0, 50)}-${mark}` };
}
