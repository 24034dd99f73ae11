import { Cluster } from 'ioredis';
import type { Calls } from './calls.js';
import type { Client } from './connect.js';

/**
 * The keys that match a pattern, page by page, of all nodes. Keys that exist from start to end are returned, perhaps
 * more than once.
 *
 * @param count about how many keys Redis checks for a page
 * @throws {QueueError} as `RedisPool.read`
 */
export async function* scanKeys(
  client: Client,
  calls: Calls,
  pattern: string,
  count: number,
): AsyncGenerator<Buffer[]> {
  for (const node of client instanceof Cluster ? client.nodes('master') : [client]) {
    let cursor = '0';
    do {
      const from = cursor;
      const page = await calls.persist(() => node.scanBuffer(from, 'MATCH', pattern, 'COUNT', count), {
        repeatable: true,
      });
      const [next, keys] = page as [Buffer, Buffer[]];
      if (keys.length > 0) yield keys;
      cursor = next.toString();
    } while (cursor !== '0');
  }
}
