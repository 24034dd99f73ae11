#!/usr/bin/env node
/**
 * What waiting costs: thousands of idle long polls on one server.
 *
 *     runWaiters({ program, redis, workers, quick, log }) → { rows: [{ key, name, values, unit, target, met }] }
 *
 * By itself: `node bench/waiters.mjs [--quick] [--workers N]`. AOF is off. The polls are raw sockets of a process of its own.
 */
import { fileURLToPath } from 'node:url';
import { runStandalone } from './scenarios/standalone.mjs';
import { pause, startLoad } from './load/child-process.mjs';
import { wakeOneOfMany } from './scenarios/shared-queue.mjs';
import { gauge, probeServer, openFileLimit, residentBytes, scrape } from './measure/server-probe.mjs';
import { median } from './measure/quantiles.mjs';
import { NAMESPACE, startBare, startServer } from './servers/test-server.mjs';
import { bareSlope, FEW, MANY, QUEUES, slopeOf } from './scenarios/waiter-memory.mjs';

const PATH = `/api/${NAMESPACE}`;
/** A publish a long way below what the server can do: its latency is the way, not the queue before it. */
const LOW_RATE = 200;
/** Sockets of a process that are not polls: its own files, Redis, publishers, those of the run before that still close. */
const SPARE_FILES = 500;

const SIZES = {
  full: {
    restMs: 4_000,
    idleMs: 10_000,
    paced: 2_000,
    closed: 15_000,
    wakes: 1_000,
    rounds: 21,
    warm: 20_000,
  },
  quick: { restMs: 800, idleMs: 1_500, paced: 300, closed: 5_000, wakes: 300, rounds: 7, warm: 8_000 },
};

/** @param {import('./scenarios/standalone.mjs').Options} options */
export async function runWaiters({ program, redis, workers, quick, log }) {
  if (openFileLimit() < MANY + SPARE_FILES)
    throw new Error(
      `open files: ${openFileLimit()} are too few, run \`ulimit -n ${MANY + SPARE_FILES}\` first`,
    );
  const size = quick ? SIZES.quick : SIZES.full;
  const bare = { slope: await bareSlope(size.restMs), p99: await bareLatency(size) };
  log(`bare node:http: ${Math.round(bare.slope)} bytes of RSS per waiter`);
  const testServer = await startServer({ program, redis, aof: 'off', workers });
  const load = startLoad('poll-process.mjs');
  try {
    return { rows: await measureServer({ testServer, load, size, workers, bare, log }) };
  } finally {
    await load.stop();
    await testServer.stop();
  }
}

/** What the machine does to a p99 today: that of a bare server at the same low rate. */
async function bareLatency({ paced }) {
  const testServer = await startBare();
  const load = startLoad('poll-process.mjs');
  try {
    const to = { port: testServer.port, token: testServer.token, path: PATH };
    await load.call('publishClosed', { ...to, total: 2_000 });
    return (await load.call('publishPaced', { ...to, perSecond: LOW_RATE, total: paced })).p99;
  } finally {
    await load.stop();
    await testServer.stop();
  }
}

/** Everything on one server, from no waiter to MANY and back. */
async function measureServer({ testServer, load, size, workers, bare, log }) {
  const probe = probeServer(testServer);
  const { port, token } = testServer;
  try {
    await load.call('publishClosed', { port, token, path: `${PATH}/warm`, total: size.warm });
    const alone = await publishCost(testServer, load, size);
    log('without waiters: done');
    const bytes = () => residentBytes(testServer.pids.server);
    const isThere = async (/** @type {number} */ count) => (await waitersOf(testServer)) === count;
    const slope = await slopeOf({ load, to: testServer, bytes, isThere, restMs: size.restMs });
    log(`${MANY} waiters wait: ${Math.round(slope)} bytes of RSS each`);
    const counted = await waitersOf(testServer);
    const connections = await probe.connections();
    const idle = await idleShare(testServer, size.idleMs);
    const among = await publishCost(testServer, load, size, idle);
    const wakeUps = { path: `${PATH}/held-`, queues: QUEUES, perSecond: LOW_RATE };
    await load.call('wake', { port, token, ...wakeUps, count: size.wakes / 2 });
    const wake = await load.call('wake', { port, token, ...wakeUps, count: size.wakes });
    log('among waiters: done');
    await load.call('close');
    await pause(size.restMs);
    const left = await waitersOf(testServer);
    const after = await publishCost(testServer, load, size);
    const shared = await wakeOneOfMany({ testServer, load, probe, count: FEW, rounds: size.rounds });
    return workloadsOf({
      workers,
      bare,
      slope,
      counted,
      left,
      connections,
      idle,
      alone,
      among,
      after,
      wake,
      shared,
    });
  } finally {
    probe.close();
  }
}

/** Long polls that the server says it holds. @param {import('./servers/test-server.mjs').TestServer} testServer */
async function waitersOf(testServer) {
  return gauge(await scrape(testServer), 'pumphouse_waiters');
}

/**
 * A publish to a queue without waiters: its latency at a low rate; its CPU at full rate, the median of three, without
 * what the server does meanwhile anyway (`idle`, in percent of a core).
 */
async function publishCost(testServer, load, { paced, closed }, idle = { server: 0, redis: 0 }) {
  const to = { port: testServer.port, token: testServer.token, path: `${PATH}/unwatched` };
  const { p50, p99 } = await load.call('publishPaced', { ...to, perSecond: LOW_RATE, total: paced });
  const costs = [];
  for (let i = 0; i < 3; i++) {
    const before = testServer.cpu();
    const { operations, seconds } = await load.call('publishClosed', { ...to, total: closed });
    const after = testServer.cpu();
    const spent = after.server + after.redis - before.server - before.redis;
    costs.push(((spent - (seconds * (idle.server + idle.redis)) / 100) / operations) * 1e6);
  }
  return { p50, p99, cpu: median(costs) };
}

/** Percent of a core that server and Redis use while nothing happens. */
async function idleShare(testServer, idleMs) {
  const before = testServer.cpu();
  const startedMs = performance.now();
  await pause(idleMs);
  const seconds = (performance.now() - startedMs) / 1_000;
  const after = testServer.cpu();
  const share = (/** @type {'server' | 'redis'} */ who) => ((after[who] - before[who]) / seconds) * 100;
  return { server: share('server'), redis: share('redis') };
}

/** @returns {import('./report/target-table.mjs').Row[]} */
function workloadsOf({
  workers,
  bare,
  slope,
  counted,
  left,
  connections,
  idle,
  alone,
  among,
  after,
  wake,
  shared,
}) {
  const without = {
    p50: (alone.p50 + after.p50) / 2,
    p99: Math.max(alone.p99, after.p99),
    cpu: (alone.cpu + after.cpu) / 2,
  };
  const row = (key, name, values, unit, target, met) => ({ key, name, values, unit, target, met });
  return [
    row(
      'waiter-rss',
      `server RSS per waiter, ${FEW} to ${MANY}`,
      { ours: slope / 1_024, 'bare node:http': bare.slope / 1_024 },
      'KiB',
      '≤ 16',
      slope <= 16 * 1_024,
    ),
    row(
      'waiter-count',
      `waiters that the server counts, and when all have gone`,
      { held: counted, gone: left },
      '',
      `${MANY}, 0`,
      counted === MANY && left === 0,
    ),
    row(
      'waiter-redis',
      `Redis connections at ${MANY} waiters`,
      { connections },
      '',
      `≤ 8 (per process)`,
      connections <= 8 * workers,
    ),
    row('waiter-idle', `idle CPU at ${MANY} waiters`, idle, '% of a core', '', null),
    row(
      'waiter-publish',
      `publish at ${LOW_RATE}/s, without and among waiters`,
      {
        'p50 without': without.p50,
        among: among.p50,
        'p99 without': without.p99,
        'p99 among': among.p99,
        'p99 of bare node:http': bare.p99,
      },
      'ms',
      'p50 + 0.2, p99 + 1 + p99 of bare, at most',
      among.p50 <= without.p50 + 0.2 && among.p99 <= without.p99 + 1 + bare.p99,
    ),
    row(
      'waiter-publish-cpu',
      'CPU of a publish, without and among waiters',
      { without: without.cpu, among: among.cpu, ratio: among.cpu / without.cpu },
      'µs',
      'ratio ≤ 1.1',
      among.cpu <= without.cpu * 1.1,
    ),
    row(
      'wake',
      'publish sent → job in the hand of a waiter',
      { p50: wake.p50, p99: wake.p99, max: wake.max },
      'ms',
      'p50 ≤ 1.5, p99 ≤ 5',
      wake.p50 <= 1.5 && wake.p99 <= 5,
    ),
    row(
      'shared',
      `lease scripts for 1 job, ${FEW} waiters on its queue`,
      { median: shared.leases.p50, most: shared.leases.max, 'all scripts, median': shared.evals.p50 },
      'calls',
      `${workers}, at most ${2 * workers}`,
      shared.leases.min >= 1 && shared.leases.p50 <= workers && shared.leases.max <= 2 * workers,
    ),
    row(
      'shared-latency',
      `publish sent → job in hand, ${FEW} waiters on its queue`,
      { p50: shared.latency.p50, max: shared.latency.max },
      'ms',
      '',
      null,
    ),
  ];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runStandalone(runWaiters);
