/** Fills a Redis for bench/console.mjs, then ends: PORT NAMESPACE QUEUES DEAD LIVE. */
import { PoolEngine } from '../../dist/engine/pool-engine.js';
import { RedisPool } from '../../dist/redis/pool.js';

const [port, namespace = '', ...numbers] = process.argv.slice(2);
const [queues = 0, dead = 0, live = 0] = numbers.map(Number);
/** Jobs of one call, and calls at once. */
const BATCH = 64;
const AT_ONCE = 8;

const silent = () => undefined;
const log = { debug: silent, info: silent, warn: silent, error: silent };
const options = {
  url: `redis://127.0.0.1:${port}`,
  allowUnsafe: true,
  keyPrefix: '',
  commandTimeoutMs: 30_000,
};
const pool = await RedisPool.connect('default', options, log);
const engine = new PoolEngine(pool, { history: null });
const body = Buffer.alloc(100, 'x');

/** @param {'dead' | 'ready'} state @param {number} n */
function jobOf(state, n) {
  const queue = `queue-${n % queues}`;
  const own = { id: `${state}-${n}`, queue, body, source: `${state} ${n}`, state };
  return { ...own, triesLeft: 1, attempts: 1, ttlLeftMs: 0, atMs: Date.now(), attributes: null };
}

/** @param {'dead' | 'ready'} state @param {number} count */
async function store(state, count) {
  for (let from = 0; from < count; from += BATCH * AT_ONCE) {
    await Promise.all(
      Array.from({ length: AT_ONCE }, (_, i) => {
        const first = from + i * BATCH;
        const size = Math.max(Math.min(BATCH, count - first), 0);
        const jobs = Array.from({ length: size }, (_job, j) => jobOf(state, first + j));
        return jobs.length > 0 ? engine.importJobs(namespace, jobs) : Promise.resolve([]);
      }),
    );
  }
}

await store('dead', dead);
await store('ready', live);
await pool.read('DEL', pool.keys.namespace(namespace).imported);
await engine.stop();
await pool.close();
