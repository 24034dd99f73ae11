#!/usr/bin/env node
/**
 * What a job costs from its publish to its acknowledgement when workers wait for it: steady rates below what the server can do, so that
 * batches are as small as the rate makes them, and a process that slept has to be woken for nearly every step. What that costs by itself
 * the bare server shows: `bare`, three requests of it at the same rate.
 *
 *     runSteady({ program, redis, workers, quick, log }) → { rows: [{ key, name, values, unit, target, met }] }
 *
 * By itself: `node bench/steady.mjs [--quick] [--workers N]`. AOF is off.
 */
import { fileURLToPath } from 'node:url';
import { runStandalone } from './scenarios/standalone.mjs';
import { pause, startLoad } from './load/child-process.mjs';
import { median } from './measure/quantiles.mjs';
import { NAMESPACE, startBare, startServer } from './servers/test-server.mjs';

const ROOT = `/api/${NAMESPACE}`;
const QUEUES = 8;
const WORKERS = 64;
const SIZES = {
  full: { rates: [200, 1_000, 3_000, 6_000], warmMs: 3_000, spanMs: 4_000, spans: 5 },
  quick: { rates: [1_000, 4_000], warmMs: 1_500, spanMs: 2_000, spans: 2 },
};

/** @param {import('./scenarios/standalone.mjs').Options} options */
export async function runSteady({ program, redis, workers, quick, log }) {
  const size = quick ? SIZES.quick : SIZES.full;
  const bare = await bareCosts(size);
  const testServer = await startServer({ program, redis, aof: 'off', workers });
  const load = startLoad('steady-process.mjs');
  try {
    const to = {
      port: testServer.port,
      token: testServer.token,
      root: ROOT,
      queues: QUEUES,
      workers: WORKERS,
    };
    await measureAt({ testServer, load, size, to, perSecond: size.rates.at(-1) ?? 0 });
    const rows = [];
    for (const perSecond of size.rates) {
      const figures = await measureAt({ testServer, load, size, to, perSecond });
      rows.push(rowOf(perSecond, { bare: bare.get(perSecond) ?? NaN, ...figures }));
      log(`${perSecond} jobs/s: done`);
    }
    return { rows };
  } finally {
    await load.stop();
    await testServer.stop();
  }
}

/** @returns {Promise<Map<number, number>>} µs of CPU for three requests, by the rate of jobs */
async function bareCosts({ rates, spanMs }) {
  const testServer = await startBare();
  const load = startLoad('steady-process.mjs');
  try {
    const to = { port: testServer.port, token: testServer.token, root: ROOT };
    await load.call('bare', { ...to, perSecond: rates.at(-1), forMs: spanMs });
    const costs = new Map();
    for (const perSecond of rates) {
      const before = testServer.cpu().server;
      const jobs = await load.call('bare', { ...to, perSecond, forMs: spanMs });
      costs.set(perSecond, ((testServer.cpu().server - before) / jobs) * 1e6);
    }
    return costs;
  } finally {
    await load.stop();
    await testServer.stop();
  }
}

/** Measures one rate. @returns the median of each figure over its spans */
async function measureAt({ testServer, load, size, to, perSecond }) {
  await load.call('start', { ...to, perSecond });
  await pause(size.warmMs);
  await load.call('sample');
  const spans = [];
  for (let i = 0; i < size.spans; i++) {
    const before = { ...testServer.cpu(), ...(await testServer.calls()) };
    await pause(size.spanMs);
    const after = { ...testServer.cpu(), ...(await testServer.calls()) };
    const { done, publish, delivery } = await load.call('sample');
    spans.push({
      server: ((after.server - before.server) / done) * 1e6,
      Redis: ((after.redis - before.redis) / done) * 1e6,
      scripts: (after.scripts - before.scripts) / done,
      'publish p50': publish.p50,
      p99: publish.p99,
      'delivery p50': delivery.p50,
      'its p99': delivery.p99,
    });
  }
  await load.call('stop');
  const keys = /** @type {(keyof typeof spans[0])[]} */ (Object.keys(spans[0] ?? {}));
  return Object.fromEntries(keys.map((key) => [key, median(spans.map((span) => span[key]))]));
}

/** @returns {import('./report/target-table.mjs').Row} */
function rowOf(perSecond, values) {
  const name = `${perSecond.toLocaleString('en')} jobs/s to ${WORKERS} workers on long polls, per job`;
  return { key: `steady-${perSecond}`, name, values, unit: 'µs of CPU, ms', target: '', met: null };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) runStandalone(runSteady);
