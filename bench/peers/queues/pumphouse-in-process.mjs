/** Pumphouse without a server: producer and worker in the client's process, on a Redis of its own. */
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { BUILT_SERVER, NAMESPACE } from '../../servers/test-server.mjs';
import { startRedis } from '../launch.mjs';
import { clientOf, WORKER } from './pumphouse.mjs';

export const PROGRAMS = { 'redis-server': 'redis-server' };
export const MODES = {
  relaxed: ['appendfsync everysec', WORKER],
  synced: ['appendfsync always', WORKER],
};

/** @param {import('../launch.mjs').Place} place */
export async function start(place) {
  const { port, redis } = await startRedis(place);
  return { address: { port }, processes: [redis] };
}

/** @param {{ port: number }} address */
export async function open({ port }) {
  const { connect } = await import(pathToFileURL(join(dirname(BUILT_SERVER), 'worker', 'index.js')).href);
  const redis = `redis://127.0.0.1:${port}`;
  return clientOf(await connect({ redis, namespace: NAMESPACE, allowUnsafe: true }));
}
