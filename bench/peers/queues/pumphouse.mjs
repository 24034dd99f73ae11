/** Pumphouse on a Redis of its own, by its Node.js client. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../../scripts/setup/free-port.mjs';
import { BUILT_SERVER, requestToken } from '../../servers/test-server.mjs';
import { start as run, until } from '../../measure/processes.mjs';
import { connects, redisArguments } from '../launch.mjs';

export const PROGRAMS = { 'redis-server': 'redis-server' };
const COMMON = [
  'one API process',
  'a worker with the concurrency of the row, that leases as many jobs ahead',
];
export const MODES = {
  relaxed: ['appendfsync everysec', ...COMMON],
  synced: ['appendfsync always', ...COMMON],
};
const NAMESPACE = 'bench';
const PUBLISHED_AT_ONCE = 64;

/** @param {import('../launch.mjs').Place} place */
export async function start({ folder, mode }) {
  const [redisPort, port, adminPort] = [await freePort(), await freePort(), await freePort()];
  const redis = run('redis-server', redisArguments(folder, redisPort, mode));
  await connects(redis, redisPort);
  const config = join(folder, 'pumphouse.toml');
  writeFileSync(
    config,
    `[server]
host = "127.0.0.1"
port = ${port}
[admin]
host = "127.0.0.1"
port = ${adminPort}
[pools.default]
url = "redis://127.0.0.1:${redisPort}"
allow_unsafe = true
[data]
dir = "${join(folder, 'data')}"
[log]
level = "warn"
`,
  );
  const server = run(process.execPath, [BUILT_SERVER, '-c', config]);
  const token = await until(server, () => requestToken(`http://127.0.0.1:${adminPort}`, NAMESPACE));
  await connects(server, port);
  return { address: { url: `http://127.0.0.1:${port}`, token }, processes: [server, redis] };
}

/** @param {{ url: string, token: string }} address */
export async function open({ url, token }) {
  const { Pumphouse } = await import('@pumphouse/client');
  const pumphouse = new Pumphouse({ url, namespace: NAMESPACE, token, retry: { tries: 1 } });
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
