import { performance } from 'node:perf_hooks';
import type { Census, Purge, Purged } from '../maintenance/purge.js';

type PurgeSteps = Pick<Purge, 'census' | 'run'>;

/** Purges a namespace in both pools of a migration. See `Purge`. */
export class MigratingPurge implements PurgeSteps {
  constructor(
    private readonly old: PurgeSteps,
    private readonly next: PurgeSteps,
    /** Ends moves of records that are under way: what arrived later would be left. */
    private readonly bring: (namespace: string) => Promise<void>,
  ) {}

  /** Sums the jobs of both pools; a queue that is in both counts twice. */
  async census(namespace: string): Promise<Census> {
    const [old, next] = await Promise.all([this.old.census(namespace), this.next.census(namespace)]);
    const both = { ...old };
    for (const what of Object.keys(next) as (keyof Census)[]) both[what] += next[what];
    return both;
  }

  /** The old pool first: it gets no new jobs. */
  async run(namespace: string, budgetMs = Number.POSITIVE_INFINITY): Promise<Purged> {
    const beganMs = performance.now();
    await this.bring(namespace);
    const old = await this.old.run(namespace, budgetMs);
    if (!old.isDone && !old.isInUse) return old;
    const next = await this.next.run(namespace, budgetMs - (performance.now() - beganMs));
    return {
      jobs: old.jobs + next.jobs,
      queues: old.queues + next.queues,
      keys: old.keys + next.keys,
      isDone: old.isDone && next.isDone,
      isInUse: old.isInUse || next.isInUse,
    };
  }
}
