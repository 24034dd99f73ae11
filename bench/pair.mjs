#!/usr/bin/env node
/**
 * Two builds side by side: `npm run bench:pair -- --before DIR [--rounds N] [--processes N] [--redis PROGRAM]`.
 *
 * DIR is another checkout of this repository, built. Several processes of each build, every one with a Redis of its own, are measured in
 * turns, round after round: what the machine does meanwhile befalls both, and what one process is dearer by than another of the
 * same build is told apart from what a build is. Rounds in which they warm up do not count.
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { cleanly } from './alone.mjs';
import { startGenerator } from './generator.mjs';
import { machine } from './machine.mjs';
import { median } from './quantiles.mjs';
import { markdown } from './report.mjs';
import { rowsOf } from './rows.mjs';
import { BUILT_SERVER, startServer } from './stage.mjs';

const SIZE = { jobs: 25_000, cycles: 8_000 };
const WARM_ROUNDS = 2;

const { values: flags } = parseArgs({
  options: {
    before: { type: 'string' },
    rounds: { type: 'string', default: '8' },
    processes: { type: 'string', default: '2' },
    redis: { type: 'string', default: 'redis-server' },
  },
});

/** @typedef {Map<string, { name: string, costs: number[] }>} Costs of each row, round by round: server and Redis together, in us */

/** @param {string} program */
async function contestant(program) {
  const stage = await startServer({ program, redis: flags.redis, aof: 'off', workers: 1 });
  return { stage, costs: /** @type {Costs} */ (new Map()) };
}

/** @param {import('./generator.mjs').Generator} load @param {Awaited<ReturnType<typeof contestant>>} contestant */
async function playRound(load, { stage, costs }) {
  await load.connect(stage);
  for (const row of rowsOf(SIZE, { batchAck: true })) {
    const { key, name, server, redis } = await load.measure(stage, row);
    const known = costs.get(key) ?? { name, costs: [] };
    costs.set(key, known);
    known.costs.push(server + redis);
  }
}

/** @param {Costs[]} processes @param {string} key medians over rounds, one for each process */
const mediansOf = (processes, key) =>
  processes.map((costs) => median(costs.get(key)?.costs.slice(WARM_ROUNDS) ?? []));

/** @param {Costs[]} before @param {Costs[]} now */
function table(before, now) {
  const rows = Array.from(now[0] ?? [], ([key, { name }]) => {
    const [old, fresh] = [mediansOf(before, key), mediansOf(now, key)];
    const change = (median(fresh) / median(old) - 1) * 100;
    const list = (/** @type {number[]} */ figures) => figures.map((us) => us.toFixed(2)).join(', ');
    return [name, list(old), list(fresh), `${change < 0 ? '−' : '+'}${Math.abs(change).toFixed(1)} %`];
  });
  return markdown({ header: ['µs of CPU, server + Redis', 'before', 'now', 'change'], rows });
}

await cleanly(async () => {
  if (!flags.before) throw new Error('--before names the checkout of the other build');
  const load = startGenerator();
  const programs = [join(resolve(flags.before), 'dist', 'main.js'), BUILT_SERVER];
  const builds = [];
  for (const program of programs) {
    const processes = [];
    for (let i = 0; i < Number(flags.processes); i++) processes.push(await contestant(program));
    builds.push(processes);
  }
  const all = builds.flat();
  for (let round = 0; round < Number(flags.rounds) + WARM_ROUNDS; round++) {
    for (const at of all.keys()) await playRound(load, all[(at + round) % all.length] ?? all[0]);
    console.error(`round ${round + 1} of ${Number(flags.rounds) + WARM_ROUNDS}`);
  }
  for (const { stage } of all) await stage.stop();
  await load.stop();
  const { cpu, node, startedAt } = machine(flags.redis);
  const [before = [], now = []] = builds.map((processes) => processes.map(({ costs }) => costs));
  console.log(`${cpu}; Node ${node}; ${startedAt.slice(0, 16)}Z; medians of ${flags.rounds} rounds\n`);
  console.log(table(before, now));
});
