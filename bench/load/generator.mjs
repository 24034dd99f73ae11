/** The parent's side of the load generator, and what a workload costs on the test server that it runs on. */
import { startLoad } from './child-process.mjs';

export const CONNECTIONS = 64;
/** A workload that takes longer is cut: its figures then stand for fewer operations. */
const WORKLOAD_MS = 15_000;

/**
 * What a workload cost. `server` and `redis` are CPU seconds per million jobs; commands and scripts are those of Redis, per job.
 *
 * @typedef {object} Measured
 * @property {string} key
 * @property {string} name
 * @property {number} operations jobs, where a request moves several
 * @property {number} rate per second
 * @property {number} p50 of a request, in ms
 * @property {number} p99
 * @property {number} server
 * @property {number} redis
 * @property {number} commands
 * @property {number} scripts
 * @property {number} [instructions] of Redis, per job, on a test server that counts them
 */

/** @typedef {ReturnType<typeof startGenerator>} Generator */

export function startGenerator() {
  const load = startLoad('generator-process.mjs');
  return {
    pid: load.pid,
    /** Sends all that follows to a testServer. @param {import('../servers/test-server.mjs').TestServer & { connections?: number }} testServer */
    connect: ({ host = '127.0.0.1', port, token, connections: count = CONNECTIONS }) =>
      load.call('connect', { host, port, token, count }),

    /** Names a list of targets, for workloads with that `spread`. @param {string} name @param {import('./requests.mjs').Target[]} targets */
    spread: (name, targets) => load.call('spread', { name, targets }),

    /**
     * Runs one workload and returns what it cost. `per` is how many jobs one request moves.
     *
     * @param {import('../servers/test-server.mjs').TestServer} testServer the one it is connected to
     * @param {any} workload
     * @returns {Promise<Measured>}
     */
    async measure(testServer, { per = 1, key, ...workload }) {
      const callsBefore = await testServer.calls();
      const [countBefore, before] = [await testServer.instructions?.(), testServer.cpu()];
      const { operations, seconds, ...latency } = await load.call('run', {
        maxMs: WORKLOAD_MS,
        per,
        ...workload,
      });
      const [after, countAfter] = [testServer.cpu(), await testServer.instructions?.()];
      const callsAfter = await testServer.calls();
      const jobs = operations * per;
      return {
        key,
        name: workload.name,
        operations: jobs,
        rate: jobs / seconds,
        ...latency,
        server: ((after.server - before.server) / jobs) * 1e6,
        redis: ((after.redis - before.redis) / jobs) * 1e6,
        commands: (callsAfter.commands - callsBefore.commands) / jobs,
        scripts: (callsAfter.scripts - callsBefore.scripts) / jobs,
        ...(countBefore === undefined ? {} : { instructions: ((countAfter ?? NaN) - countBefore) / jobs }),
      };
    },

    stop: () => load.stop(),
  };
}
