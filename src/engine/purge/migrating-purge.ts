import { performance } from 'node:perf_hooks';
import type { Census, Purge, Purged } from './purge.js';

type Purging = Pick<Purge, 'census' | 'run'>;

/** The purge of a namespace of a pool that moves to another one: in both. See `Purge`. */
export class MigratingPurge implements Purging {
  constructor(
    private readonly old: Purging,
    private readonly next: Purging,
  ) {}

  /** The jobs of both; a queue that is in both counts twice. */
  async census(namespace: string): Promise<Census> {
    const [old, next] = await Promise.all([this.old.census(namespace), this.next.census(namespace)]);
    const both = { ...old };
    for (const what of Object.keys(next) as (keyof Census)[]) both[what] += next[what];
    return both;
  }

  /** The old pool first: nobody publishes there. */
  async run(namespace: string, budgetMs = Number.POSITIVE_INFINITY): Promise<Purged> {
    const beganMs = performance.now();
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
