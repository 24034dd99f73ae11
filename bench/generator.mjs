/** The parent's side of the load generator, and what a row costs on the stage that it is played on. */
import { startLoad } from './child.mjs';

export const CONNECTIONS = 64;
/** A row that takes longer is cut: its figures then stand for fewer operations. */
const ROW_MS = 15_000;

/**
 * What a row cost. `server` and `redis` are CPU seconds per million jobs; commands and scripts are those of Redis, per job.
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
 * @property {number} [instructions] of Redis, per job, on a stage that counts them
 */

/** @typedef {ReturnType<typeof startGenerator>} Generator */

export function startGenerator() {
  const load = startLoad('load.mjs');
  return {
    /** Sends all that follows to a stage. @param {import('./stage.mjs').Stage} stage */
    connect: ({ host = '127.0.0.1', port, token }) =>
      load.call('connect', { host, port, token, count: CONNECTIONS }),

    /** Names a list of targets, for rows with that `spread`. @param {string} name @param {import('./plays.mjs').Target[]} targets */
    spread: (name, targets) => load.call('spread', { name, targets }),

    /**
     * Plays one row and says what it cost. `per` is how many jobs one request moves.
     *
     * @param {import('./stage.mjs').Stage} stage the one it is connected to
     * @param {any} row
     * @returns {Promise<Measured>}
     */
    async measure(stage, { per = 1, key, ...row }) {
      const callsBefore = await stage.calls();
      const [countBefore, before] = [await stage.instructions?.(), stage.cpu()];
      const { operations, seconds, ...latency } = await load.call('play', { maxMs: ROW_MS, per, ...row });
      const [after, countAfter] = [stage.cpu(), await stage.instructions?.()];
      const callsAfter = await stage.calls();
      const jobs = operations * per;
      return {
        key,
        name: row.name,
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
