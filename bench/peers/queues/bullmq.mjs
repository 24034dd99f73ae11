/** BullMQ on a Redis with AOF. */
import { freePort } from '../../../scripts/setup/free-port.mjs';
import { start as run } from '../../measure/processes.mjs';
import { connects, redisArguments } from '../launch.mjs';

export const PROGRAMS = { 'redis-server': 'redis-server' };
const COMMON = ['a worker with the concurrency of the row', 'removeOnComplete'];
export const MODES = {
  relaxed: ['appendfsync everysec', ...COMMON],
  synced: ['appendfsync always', ...COMMON],
};

/** @param {import('../launch.mjs').Place} place */
export async function start({ folder, mode }) {
  const port = await freePort();
  const server = run('redis-server', redisArguments(folder, port, mode));
  await connects(server, port);
  return { address: { port }, processes: [server] };
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
