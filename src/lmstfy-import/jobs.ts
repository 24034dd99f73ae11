import { createHash } from 'node:crypto';
import type { ImportedJob, ImportResult } from '../domain/job.js';
import type { QueueEngine } from '../engine/engine.js';
import type { Counted, Tally } from './counts.js';
import { type Entry, isDelayed, type QueueName, readPayload, type TimerEntry } from './layout.js';
import type { LmstfySource, Value } from './source.js';

/** A job as it was found: where, and in which state. */
export interface Found extends Entry, QueueName {
  readonly state: ImportedJob['state'];
  readonly attempts: number;
  readonly atMs: number;
}

const COUNTED_AS: Readonly<Record<ImportedJob['state'], Counted>> = {
  ready: 'ready',
  scheduled: 'delayed',
  leased: 'leased',
  dead: 'dead',
};

/** An entry of a list. One that says "no try left" in the line of ready jobs is what lmstfy drops: we keep it, among the dead. */
export function foundInList(kind: 'q' | 'd', name: QueueName, entry: Entry): Found {
  const isReady = kind === 'q' && entry.tries > 0;
  if (isReady) return { ...name, ...entry, state: 'ready', attempts: 0, atMs: 0 };
  return { ...name, id: entry.id, tries: 0, state: 'dead', attempts: 1, atMs: 0 };
}

/** A member of the timer. */
export function foundInTimer(entry: TimerEntry, dueS: number): Found {
  const atMs = Math.max(Math.floor(dueS * 1_000), 0);
  const isNew = entry.tries > 0 && isDelayed(entry.id, dueS);
  return { ...entry, state: isNew ? 'scheduled' : 'leased', attempts: isNew ? 0 : 1, atMs };
}

/** Brings jobs over, in batches. */
export class JobStore {
  constructor(
    private readonly source: LmstfySource,
    private readonly engine: QueueEngine,
    private readonly tally: Tally,
  ) {}

  /** Stores what was found, in its order; what was done or has expired meanwhile is left out. When it is back, every job is here. */
  async store(found: readonly Found[]): Promise<void> {
    const values = await this.source.values(found);
    const byNamespace = new Map<string, ImportedJob[]>();
    found.forEach((job, i) => {
      const value = values[i] ?? null;
      if (value === null) this.tally.add(job.namespace, 'gone');
      else {
        const jobs = byNamespace.get(job.namespace) ?? [];
        jobs.push(toJob(job, value));
        byNamespace.set(job.namespace, jobs);
      }
    });
    for (const [namespace, jobs] of byNamespace) await this.import(namespace, jobs);
  }

  /** They cannot come again: the source has let go of them. */
  async forget(found: readonly Found[]): Promise<void> {
    const byNamespace = new Map<string, string[]>();
    for (const job of found) {
      byNamespace.set(job.namespace, [...(byNamespace.get(job.namespace) ?? []), sourceOf(job)]);
    }
    for (const [namespace, sources] of byNamespace) await this.engine.forgetImported(namespace, sources);
  }

  /** There an id is one within its queue, here within its namespace: who comes second gets another, always the same. */
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

function toJob({ id, queue, state, tries, attempts, atMs }: Found, value: NonNullable<Value>): ImportedJob {
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
    atMs,
    attributes,
  };
}

/** No name has a slash. */
function sourceOf({ queue, id }: Pick<Found, 'queue' | 'id'>): string {
  return `${queue}/${id}`;
}

function withOtherId(job: ImportedJob): ImportedJob {
  const mark = createHash('sha256').update(job.queue).digest('hex').slice(0, 12);
  return { ...job, id: `${job.id.slice(0, 50)}-${mark}` };
}
