import { ArgumentError } from '../../contract/fields/problems.js';
import type { ListPage, PageRequest } from '../../domain/job/job-lists.js';
import type { RedisPool } from '../../redis/pool.js';
import { checkNames, checkNumber } from './checks.js';
import { scoresOf } from './flat-lists.js';

const MOST_ITEMS = 1_000;

/** Lists that are stored in one zset of a namespace, highest score first. */
type Ranked = 'tags' | 'groups' | 'workers';

/**
 * A page of such a list: names with their scores. The cursor is a rank.
 *
 * @throws {QueueError} `invalid_argument`, or an error of the store
 */
export async function rankedPage(
  pool: RedisPool,
  namespace: string,
  of: Ranked,
  { limit, cursor = '0' }: PageRequest,
): Promise<ListPage<readonly [name: string, score: number]>> {
  checkNames(namespace);
  checkNumber('limit', limit, 1, MOST_ITEMS);
  if (!/^\d{1,15}$/.test(cursor)) throw new ArgumentError('cursor', 'must be the next_cursor of a page');
  const first = Number(cursor);
  const last = first + limit - 1;
  const key = pool.keys.namespace(namespace)[of];
  const items = scoresOf(await pool.read('ZREVRANGE', key, first, last, 'WITHSCORES'));
  return { items, cursor: items.length < limit ? null : String(last + 1) };
}
