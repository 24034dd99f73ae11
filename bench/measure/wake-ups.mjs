/** Publishes to queues of clients that wait: how soon a job is in the client's hand, and what that costs. */
import { pause } from '../load/child-process.mjs';
import { NAMESPACE } from '../servers/test-server.mjs';

const PER_SECOND = 50;
/** Longer than any run, in seconds. */
const WAIT_S = 1_800;

/** Of a job every so many ms. */
export const WAKE_EACH_MS = 1_000 / PER_SECOND;

/**
 * Opens long polls and wakes them, one by one. The latency is from the publish's request to the job in the client's hand, both in
 * the process of the load, in ms. CPU is in µs for each, with the publish; that of an equal time without publishes is taken off.
 *
 * @param {import('../servers/test-server.mjs').TestServer} server
 * @param {ReturnType<typeof import('../load/child-process.mjs').startLoad>} load of poll-process.mjs
 * @param {{ name: string, polls: number, queues: number, warm: number, wakes: number }} row a name of its own; the polls are spread
 *   over the queues
 */
export async function measureWakeUps(server, load, { name, polls, queues, warm, wakes }) {
  const to = { port: server.port, token: server.token, path: `/api/${NAMESPACE}/${name}-`, queues };
  const wake = (/** @type {number} */ count) => load.call('wake', { ...to, count, perSecond: PER_SECOND });
  await load.call('open', { ...to, count: polls, waitS: WAIT_S });
  await wake(warm);
  await pause(1_000);
  const idle = await cpuOf(server, () => pause(wakes * WAKE_EACH_MS));
  const { value: latency, ...busy } = await cpuOf(server, () => wake(wakes));
  const perWake = (/** @type {'server' | 'redis'} */ part) => ((busy[part] - idle[part]) / wakes) * 1e6;
  return { p50: latency.p50, p99: latency.p99, server: perWake('server'), redis: perWake('redis') };
}

/** @template T @param {import('../servers/test-server.mjs').TestServer} server @param {() => Promise<T>} act */
async function cpuOf(server, act) {
  const before = server.cpu();
  const value = await act();
  const after = server.cpu();
  return { value, server: after.server - before.server, redis: after.redis - before.redis };
}
