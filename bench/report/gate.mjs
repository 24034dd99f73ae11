/** Whether a build may cost what it costs, compared with the build before it. */

/** Maximum cost increase: instructions and server per row, server over all rows. */
export const LIMITS = { instructions: 0.02, server: 0.05, serverSum: 0.02 };

/**
 * A row of one build: CPU of the server in us, instructions of Redis, both per job.
 *
 * @typedef {{ key: string, name: string, server: number, instructions: number }} Cost
 */

/**
 * @typedef {object} Verdict
 * @property {number} change of the build, as a share
 * @property {number} bound the limit; or how much two runs of the build before it differ, if that is more
 * @property {boolean} met
 */

/**
 * @param {object} builds the same rows of each
 * @param {Cost[]} builds.before
 * @param {Cost[]} builds.again a second run of the build before
 * @param {Cost[]} builds.now
 * @returns {{ name: string, instructions?: Verdict, server: Verdict, met: boolean }[]} the last one is of all rows together
 */
export function verdictsOf({ before, again, now }) {
  const rows = before.map((old) => {
    const same = (/** @type {Cost} */ { key }) => key === old.key;
    const [repeated, fresh] = [again.find(same), now.find(same)];
    const of = (/** @type {'instructions' | 'server'} */ figure) =>
      judge(LIMITS[figure], old[figure], repeated?.[figure], fresh?.[figure]);
    const [instructions, server] = [of('instructions'), of('server')];
    return { name: old.name, instructions, server, met: instructions.met && server.met };
  });
  const sum = (/** @type {Cost[]} */ costs) => costs.reduce((total, { server }) => total + server, 0);
  const server = judge(LIMITS.serverSum, sum(before), sum(again), sum(now));
  return [...rows, { name: 'all rows', server, met: server.met }];
}

/** A figure that is missing meets no bound. @param {number} limit @param {number} before @returns {Verdict} */
function judge(limit, before, again = NaN, now = NaN) {
  const difference = Math.max(before, again) / Math.min(before, again) - 1;
  const [change, bound] = [now / before - 1, Math.max(limit, difference)];
  return { change, bound, met: change <= bound };
}
