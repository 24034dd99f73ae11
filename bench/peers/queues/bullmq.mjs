/** BullMQ on a Redis with AOF. */
import { startRedis } from '../launch.mjs';

export const PROGRAMS = { 'redis-server': 'redis-server' };
const COMMON = ['a worker with the concurrency of the row', 'removeOnComplete'];
export const MODES = {
  relaxed: ['appendfsync everysec', ...COMMON],
  synced: ['appendfsync always', ...COMMON],
};

/** @param {import('../launch.mjs').Place} place */
export async function start(place) {
  const { port, redis } = await startRedis(place);
  return { address: { port }, processes: [redis] };
}

/** @param {{ port: number }} address */
export async function open({ port }) {
  const { Queue, Worker } = await import('bullmq');
  const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null };
  const queue = new Queue('jobs', { connection, defaultJobOptions: { removeOnComplete: true } });
  await queue.waitUntilReady();
  return {
    publish: (text) => queue.add('job', { text }),
    publishMany: (texts) => queue.addBulk(texts.map((text) => ({ name: 'job', data: { text } }))),
    publishLater: (text, delay) => queue.add('job', { text }, { delay }),
    async work(concurrency, handle) {
      const worker = new Worker('jobs', (job) => Promise.resolve(handle(job.data.text)), {
        connection,
        concurrency,
      });
      worker.on('error', () => undefined);
      await worker.waitUntilReady();
      return () => worker.close();
    },
    close: () => queue.close(),
  };
}
