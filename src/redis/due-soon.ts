import type { RedisPool } from './pool.js';
import { dueSoon, type DuePage } from './scripts/due-soon.js';

/** Cursor at the start and at the end of a walk over the namespaces. */
export const WALK_END = '0';

/** Arguments of a check. */
interface DueQuery {
  readonly cursor: string;
  /** Approximate number of namespaces to check. */
  readonly count: number;
  /** Later due times are ignored, Unix ms. */
  readonly horizonMs: number;
}

/**
 * Finds namespaces with jobs due soon, among those that follow `cursor`. A walk visits each namespace that exists
 * throughout. The names of the others stay in Redis, except in a Cluster, where no script may check all namespaces.
 *
 * @throws {QueueError} as `RedisPool.read`
 */
export function findDue(pool: RedisPool, { cursor, count, horizonMs }: DueQuery): Promise<DuePage> {
  if (pool.options.clusterNodes !== undefined) return findDueInCluster(pool, { cursor, count, horizonMs });
  const { namespaces, dueParts } = pool.keys;
  const args = { cursor, count, horizon_ms: horizonMs, before: dueParts[0], behind: dueParts[1] };
  return pool.run(dueSoon, { namespaces }, args);
}

async function findDueInCluster(pool: RedisPool, { cursor, count, horizonMs }: DueQuery): Promise<DuePage> {
  const { keys } = pool;
  const [page, total] = await Promise.all([
    pool.read('SSCAN', keys.namespaces, cursor, 'COUNT', count),
    pool.read('SCARD', keys.namespaces),
  ]);
  if (!Array.isArray(page)) throw new TypeError('SSCAN has no answer');
  const [next, members] = page as [string, unknown];
  const names = Array.isArray(members) ? members.map(String) : [];
  const heads = await pool.heads(names.map((namespace) => keys.namespace(namespace).due));
  const due = names.flatMap((namespace, i): [string, number][] => {
    const dueMs = heads[i] ?? Number.NaN;
    return dueMs <= horizonMs ? [[namespace, dueMs]] : [];
  });
  return { cursor: next, total: Number(total), due };
}
