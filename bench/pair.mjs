#!/usr/bin/env node
/**
 * Two builds side by side: `npm run bench:pair -- --before DIR [FLAGS]`. DIR is another checkout of this repository, built.
 *
 *     --now DIR               the build to compare with it, instead of this checkout
 *     --gate                  a verdict on each row; exits with 1 if the build costs more than it may (gate.mjs)
 *     --rounds N              measured rounds, 6 if left out
 *     --processes N           servers of each build, 3 if left out
 *     --rows KEY,KEY          these rows only, each with those that fill its queue: `lone` is all rows with one connection. A row that was
 *                             over its bound can be repeated with more rounds
 *     --redis PROGRAM         another program than redis-server
 *
 * First Redis's instructions are counted, on a Redis of their own: by `perf` where the processor has counters, else by callgrind.
 * Then several servers of each build, each with its own Redis, are measured in turns, round after round: whatever else the machine
 * does affects both builds, and processes of one build that differ can be told from builds that differ. Warm-up rounds do not count.
 * With `--gate` the build before is run twice, as if it were two builds: what they differ by is measurement error.
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { cleaningUp } from './scenarios/standalone.mjs';
import { verdictsOf } from './report/gate.mjs';
import { startGenerator } from './load/generator.mjs';
import { findCounter } from './measure/instructions.mjs';
import { machine } from './measure/processes.mjs';
import { median } from './measure/quantiles.mjs';
import { markdown, percent, whole } from './report/tables.mjs';
import { EXTENDED, pairWorkloads } from './load/workloads.mjs';
import { startServer } from './servers/test-server.mjs';
import { medianOf } from './scenarios/throughput.mjs';

const SIZE = { jobs: 25_000, cycles: 8_000, native: 20_000, lone: 6_000 };
const WARM_ROUNDS = 2;
/** Few jobs, many rounds: then some rounds have nothing else in them. Twice `jobs` fill a batch. */
const COUNTED_SIZE = { jobs: 50, cycles: 10, native: 10, lone: 3 };
const COUNTED_ROUNDS = 20;
/** Jobs of a script call, about as many as there are in a row with 64 connections. */
const COUNTED_BATCH = 10;

const { values: flags } = parseArgs({
  options: {
    before: { type: 'string' },
    now: { type: 'string', default: join(import.meta.dirname, '..') },
    gate: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '6' },
    processes: { type: 'string', default: '3' },
    rows: { type: 'string' },
    redis: { type: 'string', default: 'redis-server' },
  },
});

const wantedRows = flags.rows?.split(',');

/** @param {Parameters<typeof pairWorkloads>[0]} size */
function rowsOf(size) {
  const isWanted = (/** @type {string} */ key) =>
    wantedRows?.some((name) => key === name || key.startsWith(`${name}-`)) ?? true;
  return pairWorkloads(size).filter(({ key }) => isWanted(key));
}

/**
 * @typedef {import('./load/generator.mjs').Generator} Generator
 * @typedef {import('./load/generator.mjs').Measured} Measured
 * @typedef {Awaited<ReturnType<typeof startBuild>>} Server
 * @typedef {import('./measure/instructions.mjs').CounterName} CounterName
 */

/** What a row of one build costs per job: CPU in us, and instructions of Redis. @typedef {{ key: string, name: string, server: number, redis: number, instructions: number }} Cost */

/** @param {string} folder of the build @param {CounterName} [counts] */
async function startBuild(folder, counts) {
  const program = join(resolve(folder), 'dist', 'main.js');
  const testServer = await startServer({ program, redis: flags.redis, aof: 'off', workers: 1, counts });
  const [token = ''] = await testServer.tokens([EXTENDED]);
  const targets = [{ path: `/v1/${EXTENDED}`, token }];
  /** Of all rounds that count. @type {Measured[]} */
  const measuredWorkloads = [];
  return { testServer, targets, measuredWorkloads };
}

/** @param {Generator} load @param {Server} server @param {any[]} rows */
async function runWorkloads(load, { testServer, targets }, rows) {
  await load.connect(testServer);
  await load.spread(EXTENDED, targets);
  /** @type {Measured[]} */
  const measured = [];
  for (const row of rows) measured.push(await load.measure(testServer, row));
  return measured;
}

/**
 * Runs all workloads on each server in turns, and keeps what they cost, but for the warm-up rounds.
 *
 * @param {Generator} load
 * @param {Server[]} servers
 * @param {{ name: string, rounds: number, rows: any[] }} what
 */
async function runInTurns(load, servers, { name, rounds, rows }) {
  const all = WARM_ROUNDS + rounds;
  for (let round = 0; round < all; round++) {
    for (const at of servers.keys()) {
      const server = /** @type {Server} */ (servers[(at + round) % servers.length]);
      const measured = await runWorkloads(load, server, rows);
      if (round >= WARM_ROUNDS) server.measuredWorkloads.push(...measured);
    }
    console.error(`${name}: round ${round + 1} of ${all}`);
  }
}

/**
 * Instructions of Redis per job, by the keys of the rows. What Redis and the server do from time to time, and not for these jobs, only
 * adds to a count: the least of all rounds has the least of it.
 *
 * @param {Generator} load
 * @param {string} folder
 * @param {CounterName} counter
 */
async function countInstructions(load, folder, counter) {
  const server = await startBuild(folder, counter);
  const batch = { connections: COUNTED_BATCH, hold: server.testServer.pids?.server };
  const rows = rowsOf(COUNTED_SIZE).map((row) => ({ ...batch, ...row }));
  await runInTurns(load, [server], { name: `${counter}, ${folder}`, rounds: COUNTED_ROUNDS, rows });
  await server.testServer.stop();
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { key, instructions = NaN } of server.measuredWorkloads) {
    counts.set(key, Math.min(instructions, counts.get(key) ?? Infinity));
  }
  return counts;
}

/** Medians over rounds, then over servers. @param {Server[]} servers @param {Map<string, number>} counts @returns {Cost[]} */
function costsOf(servers, counts) {
  return rowsOf(SIZE).map(({ key, name }) => {
    const medians = servers.map(({ measuredWorkloads }) =>
      medianOf(measuredWorkloads.filter((row) => row.key === key)),
    );
    const [server = NaN, redis = NaN] = ['server', 'redis'].map((part) =>
      median(medians.map((row) => row[part])),
    );
    return { key, name, server, redis, instructions: counts.get(key) ?? NaN };
  });
}

/** @param {Cost[]} before @param {Cost[]} now */
function costTable(before, now) {
  const rows = before.map((old, at) => {
    const fresh = /** @type {Cost} */ (now[at]);
    const us = (/** @type {'server' | 'redis'} */ part) => [
      old[part].toFixed(2),
      fresh[part].toFixed(2),
      percent(fresh[part] / old[part]),
    ];
    const instructions = [old, fresh].map((cost) => whole(cost.instructions));
    const change = percent(fresh.instructions / old.instructions);
    return [old.name, ...us('server'), ...us('redis'), ...instructions, change];
  });
  const figures = ['server us', 'Redis us', 'Redis instructions'].flatMap((name) => [
    `${name}: before`,
    'now',
    'change',
  ]);
  return markdown({ header: ['per job', ...figures], rows });
}

/** @param {ReturnType<typeof verdictsOf>} verdicts */
function gateTable(verdicts) {
  const cells = (/** @type {import('./report/gate.mjs').Verdict | undefined} */ verdict) =>
    verdict ? [percent(1 + verdict.change), percent(1 + verdict.bound)] : ['', ''];
  const rows = verdicts.map(({ name, instructions, server, met }) => [
    name,
    ...cells(instructions),
    ...cells(server),
    met ? 'yes' : 'NO',
  ]);
  return markdown({
    header: ['gate', 'Redis instructions', 'at most', 'server CPU', 'at most', 'met'],
    rows,
  });
}

await cleaningUp(async () => {
  if (!flags.before) throw new Error('--before names the checkout of the other build');
  const folders = flags.gate ? [flags.before, flags.before, flags.now] : [flags.before, flags.now];
  const load = startGenerator();
  const counter = findCounter();
  /** @type {Map<string, number>[]} */
  const counts = [];
  for (const folder of folders) counts.push(await countInstructions(load, folder, counter));

  /** @type {Server[][]} */
  const builds = folders.map(() => []);
  // By turns here too: when a server of the same build starts later, it may cost ten percent more or less.
  /** @type {Server[]} */
  const servers = [];
  for (let i = 0; i < Number(flags.processes); i++) {
    for (const [at, folder] of folders.entries()) {
      const server = await startBuild(folder);
      builds[at]?.push(server);
      servers.push(server);
    }
  }
  await runInTurns(load, servers, {
    name: 'CPU',
    rounds: Number(flags.rounds),
    rows: rowsOf(SIZE),
  });
  for (const { testServer } of servers) await testServer.stop();
  await load.stop();

  const { cpu, node, startedAt } = machine(flags.redis);
  const costs = builds.map((build, at) => costsOf(build, counts[at] ?? new Map()));
  const [before = [], again = []] = costs;
  const now = costs.at(-1) ?? [];
  console.log(`${cpu}; Node ${node}; ${startedAt.slice(0, 16)}Z; medians of ${flags.rounds} rounds\n`);
  console.log(costTable(before, now));
  if (!flags.gate) return;
  const verdicts = verdictsOf({ before, again, now });
  console.log(`\n${gateTable(verdicts)}`);
  if (verdicts.some(({ met }) => !met)) process.exitCode = 1;
});
