/**
 * The same requests on several servers in turn, so that what else the machine does affects all equally.
 *
 * A full store is compared with an empty one as follows. Two servers are warmed up in the same way and measured in turns, then one store is
 * filled, then they are measured in turns again. How the ratio of the two has changed is what filling did; that two processes
 * of one program never cost quite the same, and that a machine has better and worse minutes, falls out.
 */
import { median } from './quantiles.mjs';
import { ack, consume, publish } from '../load/workloads.mjs';
import { measureBare, medianOf } from '../scenarios/throughput.mjs';

export const OPERATIONS = /** @type {const} */ (['publish', 'consume', 'ack']);

/**
 * @typedef {{ testServer: import('../servers/test-server.mjs').TestServer, spread?: string }} Candidate a server, and where on it requests go (one queue if left out)
 * @typedef {import('../load/generator.mjs').Measured} Measured
 * @typedef {Record<string, Measured[]>} RoundsOfServer what each operation cost, round by round
 * @typedef {{ e: number, bareRate: number, of: Record<string, RoundsOfServer> }} Rounds
 * @typedef {{ server: number, redis: number, commands: number }} Ratios 1 = as before
 */

/**
 * Publishes, consumes and acknowledges the same number of jobs on each candidate, again and again; the bare server before each
 * round.
 *
 * @param {import('../run.mjs').Context} context
 * @param {Record<string, Candidate>} candidates
 * @returns {Promise<Rounds>}
 */
export async function runInTurns({ load, size }, candidates) {
  const { growth } = size;
  const names = Object.keys(candidates);
  /** @type {Record<string, RoundsOfServer>} */
  const of = Object.fromEntries(names.map((name) => [name, {}]));
  const bare = [];
  for (let round = 0; round < growth.rounds; round++) {
    bare.push(await measureBare(load, growth));
    for (const at of names.keys()) {
      const name = names[(at + round) % names.length] ?? '';
      const { testServer, spread } = /** @type {Candidate} */ (candidates[name]);
      await load.connect(testServer);
      for (const measured of await runOnce(load, testServer, growth.jobs, spread))
        /** @type {RoundsOfServer} */ (of[name][measured.key] ??= []).push(measured);
    }
  }
  const { server: e, rate: bareRate } = medianOf(bare);
  return { e, bareRate, of };
}

/**
 * @param {import('../run.mjs').Context['load']} load
 * @param {import('../servers/test-server.mjs').TestServer} testServer
 * @param {number} jobs
 * @param {string} [spread]
 */
async function runOnce(load, testServer, jobs, spread) {
  const where = spread ? { spread } : {};
  const published = await load.measure(testServer, publish('row', jobs, where));
  // No more than were published, should that row have been cut: every queue of a spread gives out what it was given.
  const consumed = await load.measure(testServer, consume('row', published.operations, where));
  return [published, consumed, await load.measure(testServer, ack(consumed.operations))];
}

/**
 * How much more `full` costs than `empty` after it was filled, if both were equal before.
 *
 * @param {{ before: Rounds, after: Rounds, full: string, empty: string }} compared
 * @returns {Record<string, Ratios>} for each operation
 */
export function ratiosOf({ before, after, full, empty }) {
  const ratio = (
    /** @type {Rounds} */ { of },
    /** @type {string} */ operation,
    /** @type {keyof Ratios} */ figure,
  ) =>
    median(
      (of[full]?.[operation] ?? []).map(
        (one, round) => one[figure] / (of[empty]?.[operation]?.[round]?.[figure] ?? NaN),
      ),
    );
  const change = (/** @type {string} */ operation, /** @type {keyof Ratios} */ figure) =>
    ratio(after, operation, figure) / ratio(before, operation, figure);
  const entries = OPERATIONS.map((operation) => [
    operation,
    {
      server: change(operation, 'server'),
      redis: change(operation, 'redis'),
      // Exact figures, as they are: there is no machine in them.
      commands: ratio(after, operation, 'commands'),
    },
  ]);
  return Object.fromEntries(entries);
}

/** The medians of a candidate's rounds. @param {Rounds} rounds @param {string} name @returns {Record<string, Measured>} */
export function figuresOf({ of }, name) {
  return Object.fromEntries(
    Object.entries(of[name] ?? {}).map(([operation, measured]) => [operation, medianOf(measured)]),
  );
}
