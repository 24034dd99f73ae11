/** Fills a Redis for bench/console.mjs, then ends: PORT NAMESPACE QUEUES DEAD LIVE. */
import { body, close, engine, inBatches, namespace, numbers, pool } from './fill-engine.mjs';

const [queues = 0, dead = 0, live = 0] = numbers;

/** @param {'dead' | 'ready'} state @param {number} n */
function jobOf(state, n) {
  const queue = `queue-${n % queues}`;
  const own = { id: `${state}-${n}`, queue, body, source: `${state} ${n}`, state };
  return { ...own, triesLeft: 1, attempts: 1, ttlLeftMs: 0, atMs: Date.now(), attributes: null };
}

/** @param {'dead' | 'ready'} state @param {number} count */
function store(state, count) {
  return inBatches(count, (first, size) =>
    engine.importJobs(
      namespace,
      Array.from({ length: size }, (_, i) => jobOf(state, first + i)),
    ),
  );
}

await store('dead', dead);
await store('ready', live);
await pool.read('DEL', pool.keys.namespace(namespace).imported);
await close();
