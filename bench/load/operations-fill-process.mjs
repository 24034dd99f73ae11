/** Fills a Redis for bench/operations.mjs, then ends: PORT NAMESPACE LIVE DEAD. All jobs have a type, and so a history. */
import { PoolEngine } from '../../dist/engine/pool-engine.js';
import { RedisPool } from '../../dist/redis/pool.js';

const [port, namespace = '', ...numbers] = process.argv.slice(2);
const [live = 0, dead = 0] = numbers.map(Number);
/** Jobs of a publish and of a lease, and calls at once. */
const BATCH = 64;
const LEASE = 100;
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
const job = { type: 'bench', body: Buffer.alloc(100, 'x'), tries: 1 };

/** @param {string} queue @param {number} count */
async function publish(queue, count) {
  const call = (/** @type {number} */ first) => {
    const jobs = Array.from({ length: Math.min(BATCH, count - first) }, () => ({ ...job, queue }));
    return engine.jobs.publish(namespace, jobs);
  };
  for (let from = 0; from < count; from += BATCH * AT_ONCE) {
    const firsts = Array.from({ length: AT_ONCE }, (_, i) => from + i * BATCH);
    await Promise.all(firsts.filter((first) => first < count).map(call));
  }
}

/** They die when their only lease runs out. @param {string} queue @param {number} count */
async function kill(queue, count) {
  const request = { queues: [queue], count: LEASE, ttrMs: 1, waitMs: 0 };
  let leased = 0;
  while (leased < count) {
    const all = await Promise.all(Array.from({ length: AT_ONCE }, () => engine.lease(namespace, request)));
    leased += all.flat().length;
    await engine.pumpNow(namespace);
  }
  const died = async () => (await engine.queues.counts(namespace, [queue]))[0]?.dead ?? 0;
  while ((await died()) < count) await engine.pumpNow(namespace);
}

await publish('live', live);
for (const queue of ['dead-a', 'dead-b']) {
  await publish(queue, dead / 2);
  await kill(queue, dead / 2);
}
await engine.stop();
await pool.close();
