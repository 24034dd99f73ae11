import { QueueError } from '../../domain/errors.js';
import type { RedisPool } from '../../redis/pool.js';

/** Reads all fields of a hash with their values, in bounded steps. Fields that exist from start to end are returned. */
export async function hashEntries(pool: Pick<RedisPool, 'read'>, key: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  let cursor = '0';
  do {
    const page: unknown = await pool.read('HSCAN', key, cursor, 'COUNT', 500);
    if (!Array.isArray(page) || !Array.isArray(page[1]))
      throw new QueueError('internal', 'HSCAN has no answer');
    cursor = String(page[0]);
    const entries = page[1].map(String);
    for (let i = 0; i + 1 < entries.length; i += 2) found.set(entries[i] ?? '', entries[i + 1] ?? '');
  } while (cursor !== '0');
  return found;
}
