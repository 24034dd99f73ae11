#!/usr/bin/env node
/**
 * This build and another checkout with few clients, and with many that wait: rates, latencies and CPU, by turns.
 *
 *     node bench/light.mjs --before DIR [--now DIR] [--rounds 9] [--quick] [--out FILE]
 *
 * Pinned: the server has CPU 0; Redis and the load have CPU 1. A third server is the floor: bare node:http that stores each body with
 * one function of Redis. AOF is off. Medians of the rounds, with their quartiles; CPU is of the server and Redis together. Fails if
 * this build misses a goal.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { startLoad } from './load/child-process.mjs';
import { startGenerator } from './load/generator.mjs';
import { cycle, publish } from './load/workloads.mjs';
import { machine } from './measure/processes.mjs';
import { quartiles } from './measure/quantiles.mjs';
import { measureWakeUps } from './measure/wake-ups.mjs';
import { markdown } from './report/tables.mjs';
import { cleaningUp } from './scenarios/standalone.mjs';
import { startRedis } from './servers/redis.mjs';
import { startBare, startServer } from './servers/test-server.mjs';

const { values: flags } = parseArgs({
  options: {
    before: { type: 'string' },
    now: { type: 'string', default: join(import.meta.dirname, '..') },
    rounds: { type: 'string', default: '9' },
    quick: { type: 'boolean', default: false },
    redis: { type: 'string', default: 'redis-server' },
    out: { type: 'string' },
  },
});
/** Requests of a row, by connections; and wake-ups of one. */
const SIZE = flags.quick
  ? { 1: 300, 8: 2_000, 64: 4_000, wakes: 50 }
  : { 1: 3_000, 8: 12_000, 64: 30_000, wakes: 300 };
const CONNECTIONS = /** @type {const} */ ([1, 8, 64]);
/** Long polls, each on its own queue. */
const POLLS = [200, 1_000];
const [WARM_WAKES, MAX_MS] = [50, 120_000];

/**
 * What this build must reach, as a multiple of the other one: at least that rate, at most that p50, p99 and CPU.
 *
 * @typedef {{ rate?: number, p50?: number, p99?: number, cpu?: number }} Goal
 * @type {Record<string, Goal>}
 */
const GOALS = {
  'publish, 1': { rate: 1.2, cpu: 0.85, p99: 0.6 },
  'cycle, 1': { rate: 1.2, cpu: 0.85, p99: 0.6 },
  'publish, 8': { rate: 1.25 },
  'cycle, 8': { rate: 1.25 },
  'publish, 64': { cpu: 1 },
  'cycle, 64': { cpu: 1 },
  ...Object.fromEntries(POLLS.map((polls) => [`wake-up, ${polls}`, { p50: 0.65, cpu: 0.45 }])),
};

/** @typedef {import('./servers/test-server.mjs').TestServer} TestServer @typedef {{ rate: number, p50: number, p99: number, cpu: number }} Figures */

/** @param {number | undefined} pid @param {number} cpu */
function pin(pid, cpu) {
  const { status } = spawnSync('taskset', ['-apc', String(cpu), String(pid)]);
  if (status !== 0) throw new Error('cannot pin a process: this needs taskset and two CPUs');
}

/** @param {string} folder */
async function startBuild(folder) {
  const program = join(resolve(folder), 'dist', 'main.js');
  const server = await startServer({ program, redis: flags.redis, aof: 'off', workers: 1 });
  pin(server.pids?.server, 0);
  pin(server.pids?.redis, 1);
  return server;
}

/** The floor: its CPU has that of its Redis, too. @returns {Promise<TestServer>} */
async function startFloor() {
  const store = await startRedis(flags.redis, 'off');
  const bare = await startBare(store.port);
  pin(bare.pids?.server, 0);
  pin(store.pid, 1);
  return {
    ...bare,
    cpu: () => ({ server: bare.cpu().server, redis: store.cpu() }),
    stop: async () => {
      await bare.stop();
      await store.stop();
    },
  };
}

/** @param {import('./load/generator.mjs').Generator} load @param {TestServer} server @param {any} row @returns {Promise<Figures>} */
async function closedLoop(load, server, row) {
  const { rate, p50, p99, server: own, redis } = await load.measure(server, { ...row, maxMs: MAX_MS });
  return { rate, p50, p99, cpu: own + redis };
}

/** @param {TestServer} server @param {number} polls each on its own queue @returns {Promise<Figures>} */
async function wakeUps(server, polls) {
  const load = startLoad('poll-process.mjs');
  pin(load.pid, 1);
  try {
    const row = { name: `light-${polls}`, polls, queues: polls, warm: WARM_WAKES, wakes: SIZE.wakes };
    const { p50, p99, server: own, redis } = await measureWakeUps(server, load, row);
    return { rate: NaN, p50, p99, cpu: own + redis };
  } finally {
    await load.stop();
  }
}

/** One round of all rows. @param {import('./load/generator.mjs').Generator} load @param {TestServer} server @param {boolean} isFloor @param {(row: string, figures: Figures) => void} keep */
async function play(load, server, isFloor, keep) {
  await load.connect(server);
  for (const connections of CONNECTIONS) {
    const total = SIZE[connections];
    const row = publish(`light-${connections}`, total, { connections });
    keep(`publish, ${connections}`, await closedLoop(load, server, row));
    if (isFloor) continue;
    const whole = { ...cycle(`cycle-${connections}`, Math.ceil(total / 3)), connections };
    keep(`cycle, ${connections}`, await closedLoop(load, server, whole));
  }
  for (const polls of isFloor ? [] : POLLS) keep(`wake-up, ${polls}`, await wakeUps(server, polls));
}

/** @param {number} n */
const short = (n) => (Number.isNaN(n) ? '' : n >= 100 ? Math.round(n).toLocaleString('en') : n.toFixed(2));

await cleaningUp(async () => {
  if (!flags.before) throw new Error('--before names the checkout of the other build');
  const load = startGenerator();
  pin(load.pid, 1);
  const builds = [
    { name: 'before', server: await startBuild(flags.before) },
    { name: 'now', server: await startBuild(flags.now) },
    { name: 'floor', server: await startFloor() },
  ];
  /** By row, build and figure. @type {Record<string, Record<string, Figures[]>>} */
  const all = {};
  const rounds = Number(flags.rounds);
  for (let round = 0; round <= rounds; round++) {
    for (const at of builds.keys()) {
      const { name, server } = /** @type {(typeof builds)[number]} */ (builds[(at + round) % builds.length]);
      await play(load, server, name === 'floor', (row, figures) => {
        // The first round is to warm up.
        if (round > 0) ((all[row] ??= {})[name] ??= []).push(figures);
      });
    }
    console.error(`round ${round} of ${rounds}`);
  }
  for (const { server } of builds) await server.stop();
  await load.stop();

  const { cpu, node, startedAt } = machine(flags.redis);
  const rows = Object.entries(all).flatMap(([row, byBuild]) =>
    /** @type {const} */ (['rate', 'p50', 'p99', 'cpu']).flatMap((figure) => {
      const of = (/** @type {string} */ name) => quartiles((byBuild[name] ?? []).map((one) => one[figure]));
      const [before, now, floor] = [of('before'), of('now'), of('floor')];
      if (Number.isNaN(now.median)) return [];
      const change = now.median / before.median;
      const goal = GOALS[row]?.[figure];
      const isMet = goal === undefined || (figure === 'rate' ? change >= goal : change <= goal);
      const range = ({ low, median, high }) => `${short(median)} (${short(low)} to ${short(high)})`;
      return [
        {
          row,
          figure,
          before,
          now,
          floor,
          change,
          goal,
          isMet,
          cells: [range(before), range(now), short(floor.median)],
        },
      ];
    }),
  );
  console.log(
    `${cpu}; Node ${node}; ${startedAt.slice(0, 16)}Z; medians and quartiles of ${rounds} rounds\n`,
  );
  console.log(
    markdown({
      header: ['row', 'figure', 'before', 'now', 'floor', 'now / before', 'goal', 'met'],
      rows: rows.map(({ row, figure, cells, change, goal, isMet }) => [
        ...[row, figure, ...cells, change.toFixed(2)],
        goal === undefined ? '' : `${figure === 'rate' ? '≥' : '≤'} ${goal}`,
        goal === undefined ? '' : isMet ? 'yes' : 'NO',
      ]),
      left: [0, 1],
    }),
  );
  if (flags.out) {
    mkdirSync(dirname(resolve(flags.out)), { recursive: true });
    writeFileSync(flags.out, JSON.stringify(rows, null, 2));
  }
  if (rows.some(({ isMet }) => !isMet)) process.exitCode = 1;
});
