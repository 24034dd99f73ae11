import type { RedisPool } from './pool.js';
import { bytesAt, flatReply, integerAt, script } from './scripts/script.js';

/** Where a walk over the namespaces begins, and has ended. */
export const WALK_END = '0';

/** Some namespaces of a walk. */
export interface DuePage {
  /** What the next look goes on from. */
  readonly cursor: string;
  /** How many namespaces there are in all, about. */
  readonly total: number;
  /** Those with something due soon, and when that is, Unix ms. */
  readonly due: readonly (readonly [namespace: string, dueMs: number])[];
}

/** What a look takes. */
interface Look {
  readonly cursor: string;
  /** Namespaces to look at, about. */
  readonly count: number;
  /** What is due later does not count, Unix ms. */
  readonly horizonMs: number;
}

export const dueSoon = script({
  name: 'due_soon',
  keys: ['namespaces'],
  args: ['cursor', 'count', 'horizon_ms', 'before', 'behind'],
  item: [],
  repeatable: true,
  reply: (raw): DuePage => {
    const reply = flatReply(raw);
    const due: [string, number][] = [];
    for (let i = 2; i < reply.length; i += 2)
      due.push([bytesAt(reply, i).toString(), Number(bytesAt(reply, i + 1))]);
    return { cursor: bytesAt(reply, 0).toString(), total: integerAt(reply, 1), due };
  },
});

/**
 * Looks at some of the namespaces of a pool, those that follow `cursor`: which have something due soon? A walk meets each that was there all
 * the time; what it costs to name them stays in Redis, but in a Cluster, where no script may look at all of them.
 *
 * @throws {QueueError} as `RedisPool.read`
 */
export function lookForDue(pool: RedisPool, { cursor, count, horizonMs }: Look): Promise<DuePage> {
  if (pool.options.clusterNodes !== undefined) return lookInCluster(pool, { cursor, count, horizonMs });
  const { namespaces, dueParts } = pool.keys;
  const args = { cursor, count, horizon_ms: horizonMs, before: dueParts[0], behind: dueParts[1] };
  return pool.run(dueSoon, { namespaces }, args);
}

async function lookInCluster(pool: RedisPool, { cursor, count, horizonMs }: Look): Promise<DuePage> {
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
