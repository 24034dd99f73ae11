/** For a process that fills a Redis and then ends. Its arguments: PORT NAMESPACE and numbers. */
import { PoolEngine } from '../../dist/engine/pool-engine.js';
import { RedisPool } from '../../dist/redis/pool.js';

/** Jobs of one call, and calls at once. */
const BATCH = 64;
export const AT_ONCE = 8;

const [port, name = '', ...texts] = process.argv.slice(2);
export const namespace = name;
export const numbers = texts.map(Number);

const silent = () => undefined;
const log = { debug: silent, info: silent, warn: silent, error: silent };
const options = {
  url: `redis://127.0.0.1:${port}`,
  allowUnsafe: true,
  keyPrefix: '',
  commandTimeoutMs: 30_000,
};
export const pool = await RedisPool.connect('default', options, log);
export const engine = new PoolEngine(pool, { history: null });
export const body = Buffer.alloc(100, 'x');

/**
 * Stores so many jobs, several calls at once.
 *
 * @param {number} count
 * @param {(first: number, size: number) => Promise<unknown>} store stores those from a number on
 */
export async function inBatches(count, store) {
  for (let from = 0; from < count; from += BATCH * AT_ONCE) {
    const firsts = Array.from({ length: AT_ONCE }, (_, i) => from + i * BATCH).filter(
      (first) => first < count,
    );
    await Promise.all(firsts.map((first) => store(first, Math.min(BATCH, count - first))));
  }
}

export async function close() {
  await engine.stop();
  await pool.close();
}
