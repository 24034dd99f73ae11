/** Drives a server that runs already, with the rows of a test server: for runs side by side with any server that speaks lmstfy's API. */
import { cpuSeconds } from '../measure/processes.mjs';
import { NAMESPACE, requestToken } from '../servers/test-server.mjs';
import { runRepeatedly } from './throughput.mjs';

/**
 * @typedef {object} Other
 * @property {string} url of its API
 * @property {string} [token] of the namespace `bench`
 * @property {string} [admin] URL where a token can be made, if none is given
 * @property {number[]} pids of its processes, for its CPU figures; their children count too
 * @property {number[]} redisPids
 */

/**
 * @param {import('../run.mjs').Context} context
 * @param {Other} other
 * @returns {Promise<import('./throughput.mjs').ConfigurationFigures>} its workers are not known: 0
 */
export async function measureRunningServer(context, other) {
  const testServer = await testServerOf(other);
  try {
    const onRefused = (/** @type {string} */ row, /** @type {string} */ why) =>
      context.log(`${row} is left out: ${why.slice(0, 200)}`);
    return { aof: 'off', workers: 0, ...(await runRepeatedly(context, testServer, { onRefused })) };
  } finally {
    await testServer.stop();
  }
}

/** @param {Other} other @returns {Promise<import('../servers/test-server.mjs').TestServer>} */
async function testServerOf({ url, token, admin, pids, redisPids }) {
  const { protocol, hostname, port } = new URL(url);
  if (protocol !== 'http:') throw new Error(`${url}: only http: can be driven`);
  if (!token && !admin)
    throw new Error('a token of the namespace `bench` is needed: --token, or --admin to make one');
  const all = (/** @type {number[]} */ some) =>
    some.length > 0 ? some.reduce((sum, pid) => sum + cpuSeconds(pid), 0) : NaN;
  const its = token ?? (await requestToken(admin ?? '', NAMESPACE));
  const unknown = () => Promise.reject(new Error('not known of a server that runs by itself'));
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || 80),
    token: its,
    cpu: () => ({ server: all(pids), redis: all(redisPids) }),
    calls: () => Promise.resolve({ commands: NaN, scripts: NaN }),
    usedMemory: unknown,
    tokens: unknown,
    stop: () => clearAway(url, its),
  };
}

/** Takes away what the rows left in its queues, as far as a client can. @param {string} url @param {string} token */
async function clearAway(url, token) {
  for (const queue of ['row', 'cycle', 'many', 'empty', 'warm']) {
    const response = await fetch(new URL(`/api/${NAMESPACE}/${queue}`, url), {
      method: 'DELETE',
      headers: { 'X-Token': token },
    });
    await response.arrayBuffer();
  }
}
