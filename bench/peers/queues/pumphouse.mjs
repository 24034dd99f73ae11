/** Pumphouse on a Redis of its own, by its Node.js client. */
import { BUILT_SERVER, NAMESPACE, requestToken, spawnServer } from '../../servers/test-server.mjs';
import { until } from '../../measure/processes.mjs';
import { connects, startRedis } from '../launch.mjs';

export const PROGRAMS = { 'redis-server': 'redis-server' };
export const WORKER = 'a worker with the concurrency of the row, that leases as many jobs ahead';
const COMMON = ['one API process', 'each publish has an idempotency key, as the client makes one', WORKER];
export const MODES = {
  relaxed: ['appendfsync everysec', ...COMMON],
  synced: ['appendfsync always', ...COMMON],
};
const PUBLISHED_AT_ONCE = 64;

/** @param {import('../launch.mjs').Place} place */
export async function start(place) {
  const { port: redisPort, redis } = await startRedis(place);
  const store = { port: redisPort, folder: place.folder };
  const { server, port, adminPort } = await spawnServer({ program: BUILT_SERVER, store, workers: 1 });
  const token = await until(server, () => requestToken(`http://127.0.0.1:${adminPort}`, NAMESPACE));
  await connects(server, port);
  return { address: { url: `http://127.0.0.1:${port}`, token }, processes: [server, redis] };
}

/** @param {{ url: string, token: string }} address */
export async function open({ url, token }) {
  const { Pumphouse } = await import('@pumphouse/client');
  return clientOf(new Pumphouse({ url, namespace: NAMESPACE, token, retry: { tries: 1 } }));
}

/** What all have, by a producer of ours. @param {any} pumphouse */
export function clientOf(pumphouse) {
  const job = (text) => ({ queue: 'jobs', data: text });
  return {
    publish: (text) => pumphouse.publish(job(text)),
    publishMany: (texts) => pumphouse.publishMany(texts.map(job)),
    publishLater: (text, delayMs) => pumphouse.publish({ ...job(text), delayMs }),
    async work(concurrency, handle) {
      const logger = { warn: () => undefined, error: () => undefined };
      const worker = pumphouse.worker({
        queues: ['jobs'],
        concurrency,
        prefetch: Math.max(concurrency, PUBLISHED_AT_ONCE),
        logger,
      });
      worker.handle('*', ({ data }) => handle(data));
      void worker.run();
      return () => worker.stop();
    },
    close: () => Promise.resolve(),
  };
}
