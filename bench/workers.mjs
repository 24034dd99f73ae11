#!/usr/bin/env node
/**
 * What a job costs in a worker of `pumphouse/worker` (over Redis alone), of `@pumphouse/client` (over HTTP) and of BullMQ, on the same
 * Redis, and how soon each has a job of an idle queue.
 *
 *     runWorkers({ program, redis, quick, log }) → { rows: [{ key, name, values, unit, target, met }] }
 *
 * By itself: `node bench/workers.mjs [--quick]`. Each has a process of its own; they take turns, medians, and one round to warm up.
 */
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runStandalone } from './scenarios/standalone.mjs';
import { startLoad } from './load/child-process.mjs';
import { cpuSeconds } from './measure/processes.mjs';
import { median } from './measure/quantiles.mjs';
import { NAMESPACE, withServer } from './servers/test-server.mjs';

const SIZES = {
  full: { jobs: 40_000, rounds: 5, waits: 200 },
  quick: { jobs: 5_000, rounds: 2, waits: 50 },
};
/** In the order in which they take turns; later ones are compared with BullMQ. */
const NAMES = { bullmq: 'BullMQ', redis: 'in process', http: 'over HTTP' };
/** CPU as a part of BullMQ's, and the rate as a multiple of it. */
const GOALS = { redis: { cpu: 1 / 3, rate: 2.5 }, http: { rate: 1.5 } };
/** Milliseconds from a publish call over HTTP to the handler. */
const HTTP_MS = 1.5;

/** @typedef {'bullmq' | 'redis' | 'http'} Name */
/** @typedef {{ process: number, server: number, Redis: number, sum: number, rate: number }} Cost per job: CPU in us; jobs per second */
/** @typedef {{ p50: number, p99: number }} Wait ms */

/** @param {import('./scenarios/standalone.mjs').Options} options */
export async function runWorkers(options) {
  /** @type {import('./report/target-table.mjs').Row[]} */
  const rows = [];
  for (const aof of /** @type {const} */ (['off', 'everysec'])) {
    rows.push(
      ...(await withServer({ ...options, workers: 1, aof }, (testServer) =>
        measure(testServer, aof, options),
      )),
    );
  }
  return { rows };
}

/** @param {import('./servers/test-server.mjs').TestServer} testServer @param {'off' | 'everysec'} aof @param {import('./scenarios/standalone.mjs').Options} options */
async function measure(testServer, aof, { program, quick, log }) {
  const { jobs, rounds, waits } = quick ? SIZES.quick : SIZES.full;
  const names = /** @type {Name[]} */ (Object.keys(NAMES));
  const loads = names.map((name) => ({ name, load: startLoad('worker-process.mjs') }));
  /** @type {Record<Name, { costs: Cost[], waits: Wait[] }>} */
  const found = {
    bullmq: { costs: [], waits: [] },
    redis: { costs: [], waits: [] },
    http: { costs: [], waits: [] },
  };
  const where = {
    redis: `redis://127.0.0.1:${testServer.redisPort}`,
    url: `http://127.0.0.1:${testServer.port}`,
    token: testServer.token,
    namespace: NAMESPACE,
    dist: program,
    client: join(dirname(program), '..', 'packages', 'client', 'dist', 'node.js'),
  };
  try {
    for (const { name, load } of loads) await load.call('open', { name, ...where });
    for (let round = 0; round <= rounds; round++) {
      for (const { name, load } of loads) {
        await load.call('fill', { jobs });
        const cost = await costOf(testServer, load, jobs);
        const wait = await load.call('wait', { jobs: waits });
        // The first round is to warm up.
        if (round === 0) continue;
        found[name].costs.push(cost);
        found[name].waits.push(wait);
      }
      log(`AOF ${aof}: round ${round} of ${rounds}`);
    }
  } finally {
    for (const { load } of loads) await load.stop();
  }
  const costs = /** @param {Name} name */ (name) => medianOf(found[name].costs);
  const idle = /** @param {Name} name */ (name) => medianOf(found[name].waits);
  return [
    ...names.map((name) => costRow(name, aof, costs(name), costs('bullmq'))),
    ...names.map((name) => waitRow(name, aof, idle(name), idle('bullmq'))),
  ];
}

/** @param {import('./servers/test-server.mjs').TestServer} testServer @param {ReturnType<typeof startLoad>} load @param {number} jobs @returns {Promise<Cost>} */
async function costOf(testServer, load, jobs) {
  const cpu = () => ({ process: cpuSeconds(load.pid), ...testServer.cpu() });
  const startedMs = performance.now();
  const before = cpu();
  await load.call('work', { jobs });
  const seconds = (performance.now() - startedMs) / 1_000;
  const after = cpu();
  const of = (/** @type {'process' | 'server' | 'redis'} */ part) =>
    ((after[part] - before[part]) / jobs) * 1e6;
  const [own, server, redis] = [of('process'), of('server'), of('redis')];
  return { sum: own + server + redis, process: own, server, Redis: redis, rate: jobs / seconds };
}

/** Each figure's median. @template {Record<string, number>} T @param {T[]} rounds @returns {T} */
function medianOf(rounds) {
  const [first] = rounds;
  const pairs = Object.keys(first ?? {}).map((key) => [
    key,
    median(rounds.map((round) => round[key] ?? NaN)),
  ]);
  return Object.fromEntries(pairs);
}

/** @param {Name} name @param {string} aof @param {Cost} cost @param {Cost} bullmq @returns {import('./report/target-table.mjs').Row} */
function costRow(name, aof, cost, bullmq) {
  /** @type {{ cpu?: number, rate?: number }} */
  const goal = name === 'bullmq' ? {} : GOALS[name];
  const isGoal = goal.rate !== undefined;
  const isCheap = goal.cpu === undefined || cost.sum <= bullmq.sum * goal.cpu;
  const isFast = goal.rate === undefined || cost.rate >= bullmq.rate * goal.rate;
  const target = [
    ...(goal.cpu === undefined ? [] : [`sum ≤ ${(bullmq.sum * goal.cpu).toFixed(1)} (1/3 of BullMQ's)`]),
    ...(goal.rate === undefined
      ? []
      : [`rate ≥ ${Math.round(bullmq.rate * goal.rate).toLocaleString('en')} (${goal.rate} × BullMQ's)`]),
  ];
  return {
    key: `worker-${name}-${aof}`,
    name: `worker ${NAMES[name]}, AOF ${aof}, no-op handler, 64 at a time`,
    values: { ...cost },
    unit: 'us of CPU per job, per second',
    target: target.join('; '),
    met: isGoal ? isCheap && isFast : null,
  };
}

/** @param {Name} name @param {string} aof @param {Wait} wait @param {Wait} bullmq @returns {import('./report/target-table.mjs').Row} */
function waitRow(name, aof, wait, bullmq) {
  const most = name === 'http' ? HTTP_MS : name === 'redis' ? bullmq.p50 : undefined;
  return {
    key: `wait-${name}-${aof}`,
    name: `worker ${NAMES[name]}, AOF ${aof}: publish → handler, idle`,
    values: { ...wait },
    unit: 'ms',
    target: most === undefined ? '' : `p50 ≤ ${most.toFixed(2)}${name === 'redis' ? " (BullMQ's)" : ''}`,
    met: most === undefined ? null : wait.p50 <= most,
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runStandalone(runWorkers);
