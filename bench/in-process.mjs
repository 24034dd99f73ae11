#!/usr/bin/env node
/**
 * What a job costs in a process that uses the engine as a library, and beside it what BullMQ's jobs cost, on the same Redis.
 *
 *     runInProcess({ program, redis, quick, log }) → { rows: [{ key, name, values, unit, target, met }] }
 *
 * By itself: `node bench/in-process.mjs [--quick]`. AOF is off. Each library has a process of its own; they take turns, medians. A step
 * moves all jobs of a round before the next one begins, so leases and BullMQ's workers find a full queue.
 */
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runStandalone } from './scenarios/standalone.mjs';
import { startLoad } from './load/child-process.mjs';
import { cpuSeconds } from './measure/processes.mjs';
import { median } from './measure/quantiles.mjs';
import { startRedis } from './servers/redis.mjs';

const SIZES = { full: { jobs: 20_000, rounds: 7 }, quick: { jobs: 3_000, rounds: 2 } };
/** The steps of each library, in the order in which they move its jobs. @type {Record<string, Record<string, string>>} */
const STEPS = {
  pumphouse: {
    publish: 'engine: publish, type + tag + retry',
    lease: "engine: lease, with a worker's name",
    ack: 'engine: ack with a result',
  },
  bullmq: { publish: 'BullMQ: add, attempts + backoff', work: 'BullMQ: Worker, of 64 at a time' },
};
/** CPU of the process for a job's publish, lease and acknowledgement, at most. */
const MOST_US = 60;

/** @typedef {{ process: number, Redis: number, rate: number }} Cost per job: CPU in us; jobs per second */

/** @param {Pick<import('./scenarios/standalone.mjs').Options, 'program' | 'redis' | 'quick' | 'log'>} options */
export async function runInProcess({ program, redis, quick, log }) {
  const { jobs, rounds } = quick ? SIZES.quick : SIZES.full;
  const store = await startRedis(redis, 'off');
  const url = `redis://127.0.0.1:${store.port}`;
  const engine = join(dirname(program), 'engine', 'index.js');
  const libraries = Object.keys(STEPS).map((library) => ({
    library,
    load: startLoad('library-process.mjs'),
  }));
  /** @type {Record<string, Cost[]>} */
  const costs = {};
  try {
    for (const { library, load } of libraries) await load.call('open', { library, url, engine });
    for (let round = 0; round <= rounds; round++) {
      for (const { library, load } of libraries) {
        for (const step of Object.keys(STEPS[library] ?? {})) {
          const cost = await costOf(store, load, { step, jobs });
          // The first round is to warm up.
          if (round > 0) (costs[`${library}-${step}`] ??= []).push(cost);
        }
      }
      log(`round ${round} of ${rounds}`);
    }
  } finally {
    for (const { load } of libraries) await load.stop();
    await store.stop();
  }
  return { rows: Object.keys(STEPS).flatMap((library) => workloadsOf(library, costs)) };
}

/** @returns {Promise<Cost>} */
async function costOf(store, load, { step, jobs }) {
  const startedMs = performance.now();
  const before = { process: cpuSeconds(load.pid), redis: store.cpu() };
  await load.call('run', { step, jobs });
  const seconds = (performance.now() - startedMs) / 1_000;
  return {
    process: ((cpuSeconds(load.pid) - before.process) / jobs) * 1e6,
    Redis: ((store.cpu() - before.redis) / jobs) * 1e6,
    rate: jobs / seconds,
  };
}

/** A row for each step of a library, and one for all of them. @param {string} library @param {Record<string, Cost[]>} costs @returns {import('./report/target-table.mjs').Row[]} */
function workloadsOf(library, costs) {
  const rows = Object.entries(STEPS[library] ?? {}).map(([step, name]) => {
    const rounds = costs[`${library}-${step}`] ?? [];
    const of = (/** @type {keyof Cost} */ figure) => median(rounds.map((cost) => cost[figure]));
    const [cpu, store] = [of('process'), of('Redis')];
    const values = { sum: cpu + store, process: cpu, Redis: store, rate: of('rate') };
    return { key: `${library}-${step}`, name, values, unit: 'us, per second', target: '', met: null };
  });
  const total = (/** @type {'sum' | 'process' | 'Redis'} */ figure) =>
    rows.reduce((sum, { values }) => sum + values[figure], 0);
  const values = { sum: total('sum'), process: total('process'), Redis: total('Redis') };
  const isOurs = library === 'pumphouse';
  const label = isOurs ? 'engine' : 'BullMQ';
  return [
    ...rows,
    {
      ...{ key: `${library}-all`, name: `${label}: all of it`, values, unit: 'us' },
      target: isOurs ? `process ≤ ${MOST_US}` : '',
      met: isOurs ? values.process <= MOST_US : null,
    },
  ];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runStandalone(runInProcess);
