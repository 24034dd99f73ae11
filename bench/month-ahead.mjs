#!/usr/bin/env node
/**
 * Ten million jobs that are due in a month: how fast they are published, what they take of Redis's memory, how late other jobs are
 * beside them, and how long a server takes to start on such a store.
 *
 *     runMonthAhead({ program, redis, workers, quick, jobs, log }) → { rows: [{ key, name, values, unit, target, met }] }
 *
 * By itself: `node bench/month-ahead.mjs [--quick] [--jobs N]`. AOF is off. Lateness and start are measured before the jobs, too.
 */
import { fileURLToPath } from 'node:url';
import { pause, startLoad } from './load/child-process.mjs';
import { startGenerator } from './load/generator.mjs';
import { pathOf } from './load/workloads.mjs';
import { median } from './measure/quantiles.mjs';
import { fillOver } from './scenarios/fill.mjs';
import { runStandalone } from './scenarios/standalone.mjs';
import { startOnce } from './scenarios/start-time.mjs';
import { startRedis } from './servers/redis.mjs';
import { startServerOn } from './servers/test-server.mjs';

const SIZES = {
  full: { jobs: 10_000_000, late: 1_000, starts: 5 },
  quick: { jobs: 100_000, late: 100, starts: 1 },
};
/** Jobs of one filling: a workload has a limit of time. */
const PART = 1_000_000;
const DAY_S = 86_400;
/** The jobs are due over the last day of the month, in so many steps. */
const [DAYS, STEPS] = [30, 1_440];
const LATE_PER_SECOND = 60;
const SETTLE_MS = 2_000;

/** @param {import('./scenarios/standalone.mjs').Options} options */
export async function runMonthAhead({ program, redis, workers, quick, jobs: wanted, log }) {
  const size = quick ? SIZES.quick : SIZES.full;
  const jobs = wanted ?? size.jobs;
  const store = await startRedis(redis, 'off');
  const [load, clock] = [startGenerator(), startLoad('timing-process.mjs')];
  const times = [];
  let testServer = await startServerOn({ program, store, workers });
  try {
    await lateness(clock, testServer, size, 'warm');
    times.push(await lateness(clock, testServer, size, 'before'));
    const before = await store.usedMemory();
    const rates = [];
    const spread = {
      name: 'month',
      targets: Array.from({ length: STEPS }, (_none, step) => ({
        ...{ path: pathOf('month'), token: testServer.token },
        query: `?ttl=0&delay=${(DAYS - 1) * DAY_S + Math.floor((step * DAY_S) / STEPS)}`,
      })),
    };
    await load.connect(testServer);
    for (let stored = 0; stored < jobs; stored += PART) {
      rates.push((await fillOver(load, testServer, spread, Math.min(PART, jobs - stored))).rate);
      log(`${Math.min(stored + PART, jobs)} jobs, ${Math.round(rates.at(-1))}/s`);
    }
    await pause(SETTLE_MS);
    const bytes = ((await store.usedMemory()) - before) / jobs;
    times.push(await lateness(clock, testServer, size, 'beside'));
    await testServer.stop();
    const starts = [];
    for (let i = 0; i < size.starts; i++) starts.push((await startOnce({ program, store, workers })).ms);
    testServer = null;
    const [alone, beside] = times;
    return {
      rows: [
        row('publish', `bulk publish of ${jobs} jobs that are due in a month`, 'per second', {
          ...{ first: rates[0], last: rates.at(-1), median: median(rates) },
        }),
        row('memory', 'Redis memory of such a job of 100 B', 'B', { bytes }),
        {
          ...row('lateness', 'lateness of jobs with a delay of 1 s beside them', 'ms', {
            ...{ 'p50 without': alone.p50, 'p99 without': alone.p99, p50: beside.p50, p99: beside.p99 },
          }),
          ...{ target: 'p99 ≤ 2 × without', met: beside.p99 <= 2 * alone.p99 },
        },
        row('start', 'start of a server on this store', 'ms', { median: median(starts) }),
      ],
    };
  } finally {
    await load.stop();
    await clock.stop();
    await testServer?.stop();
    await store.stop();
  }
}

const row = (key, name, unit, values) => ({ key: `month-${key}`, name, values, unit, target: '', met: null });

function lateness(clock, { port, token }, { late }, queue) {
  const consumers = { perSecond: LATE_PER_SECOND, delayS: 1, consumers: 32 };
  return clock.call('lateness', { port, token, path: pathOf(queue), jobs: late, ...consumers });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runStandalone(runMonthAhead);
