/** Fills a Redis for bench/operations.mjs, then ends: PORT NAMESPACE LIVE DEAD. All jobs have a type, and so a history. */
import { AT_ONCE, body, close, engine, inBatches, namespace, numbers } from './fill-engine.mjs';

const [live = 0, dead = 0] = numbers;
/** Jobs of a lease. */
const LEASE = 100;

/** @param {string} queue @param {number} count */
function publish(queue, count) {
  const job = { type: 'bench', body, tries: 1, queue };
  return inBatches(count, (_first, size) =>
    engine.jobs.publish(
      namespace,
      Array.from({ length: size }, () => job),
    ),
  );
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
await close();
