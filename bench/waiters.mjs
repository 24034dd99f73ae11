#!/usr/bin/env node
/**
 * What waiting costs: thousands of idle long polls on one server.
 *
 *     runWaiters({ program, redis, workers, quick, log }) → { rows: [{ key, name, values, unit, target, met }] }
 *
 * By itself: `node bench/waiters.mjs [--quick] [--workers N]`. AOF is off. The polls are raw sockets of a process of its own.
 */
import { fileURLToPath } from 'node:url';
import { runAlone } from './alone.mjs';
import { pause, startLoad } from './child.mjs';
import { crowdOnOneQueue } from './crowd.mjs';
import { gauge, inspect, openFileLimit, residentBytes, scrape } from './inside.mjs';
import { median } from './quantiles.mjs';
import { NAMESPACE, startBare, startServer } from './stage.mjs';
import { bareSlope, FEW, MANY, QUEUES, slopeOf } from './waiter-memory.mjs';

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

/** @param {import('./alone.mjs').Options} options */
export async function runWaiters({ program, redis, workers, quick, log }) {
  if (openFileLimit() < MANY + SPARE_FILES)
    throw new Error(
      `open files: ${openFileLimit()} are too few, run \`ulimit -n ${MANY + SPARE_FILES}\` first`,
    );
  const size = quick ? SIZES.quick : SIZES.full;
  const bare = { slope: await bareSlope(size.restMs), p99: await bareLatency(size) };
  log(`bare node:http: ${Math.round(bare.slope)} bytes of RSS per waiter`);
  const stage = await startServer({ program, redis, aof: 'off', workers });
  const load = startLoad('poll-load.mjs');
  try {
    return { rows: await measureStage({ stage, load, size, workers, bare, log }) };
  } finally {
    await load.stop();
    await stage.stop();
  }
}

/** What the machine does to a p99 today: that of a bare server at the same low rate. */
async function bareLatency({ paced }) {
  const stage = await startBare();
  const load = startLoad('poll-load.mjs');
  try {
    const to = { port: stage.port, token: stage.token, path: PATH };
    await load.call('publishClosed', { ...to, total: 2_000 });
    return (await load.call('publishPaced', { ...to, perSecond: LOW_RATE, total: paced })).p99;
  } finally {
    await load.stop();
    await stage.stop();
  }
}

/** Everything on one server, from no waiter to MANY and back. */
async function measureStage({ stage, load, size, workers, bare, log }) {
  const inside = inspect(stage);
  const { port, token } = stage;
  try {
    await load.call('publishClosed', { port, token, path: `${PATH}/warm`, total: size.warm });
    const alone = await publishCost(stage, load, size);
    log('without waiters: done');
    const bytes = () => residentBytes(stage.pids.server);
    const isThere = async (/** @type {number} */ count) => (await waitersOf(stage)) === count;
    const slope = await slopeOf({ load, to: stage, bytes, isThere, restMs: size.restMs });
    log(`${MANY} waiters wait: ${Math.round(slope)} bytes of RSS each`);
    const counted = await waitersOf(stage);
    const connections = await inside.connections();
    const idle = await idleShare(stage, size.idleMs);
    const among = await publishCost(stage, load, size, idle);
    const wakeUps = { path: `${PATH}/held-`, queues: QUEUES, perSecond: LOW_RATE };
    await load.call('wake', { port, token, ...wakeUps, count: size.wakes / 2 });
    const wake = await load.call('wake', { port, token, ...wakeUps, count: size.wakes });
    log('among waiters: done');
    await load.call('close');
    await pause(size.restMs);
    const left = await waitersOf(stage);
    const after = await publishCost(stage, load, size);
    const crowd = await crowdOnOneQueue({ stage, load, inside, count: FEW, rounds: size.rounds });
    return rowsOf({
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
      crowd,
    });
  } finally {
    inside.close();
  }
}

/** Long polls that the server says it holds. @param {import('./stage.mjs').Stage} stage */
async function waitersOf(stage) {
  return gauge(await scrape(stage), 'pumphouse_waiters');
}

/**
 * A publish to a queue without waiters: its latency at a low rate; its CPU at full rate, the median of three, without
 * what the server does meanwhile anyway (`idle`, in percent of a core).
 */
async function publishCost(stage, load, { paced, closed }, idle = { server: 0, redis: 0 }) {
  const to = { port: stage.port, token: stage.token, path: `${PATH}/unwatched` };
  const { p50, p99 } = await load.call('publishPaced', { ...to, perSecond: LOW_RATE, total: paced });
  const costs = [];
  for (let i = 0; i < 3; i++) {
    const before = stage.cpu();
    const { operations, seconds } = await load.call('publishClosed', { ...to, total: closed });
    const after = stage.cpu();
    const spent = after.server + after.redis - before.server - before.redis;
    costs.push(((spent - (seconds * (idle.server + idle.redis)) / 100) / operations) * 1e6);
  }
  return { p50, p99, cpu: median(costs) };
}

/** Percent of a core that server and Redis use while nothing happens. */
async function idleShare(stage, idleMs) {
  const before = stage.cpu();
  const startedMs = performance.now();
  await pause(idleMs);
  const seconds = (performance.now() - startedMs) / 1_000;
  const after = stage.cpu();
  const share = (/** @type {'server' | 'redis'} */ who) => ((after[who] - before[who]) / seconds) * 100;
  return { server: share('server'), redis: share('redis') };
}

/** @returns {import('./targets.mjs').Row[]} */
function rowsOf({
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
  crowd,
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
      'crowd',
      `lease scripts for 1 job, ${FEW} waiters on its queue`,
      { median: crowd.leases.p50, most: crowd.leases.max, 'all scripts, median': crowd.evals.p50 },
      'calls',
      `${workers}, at most ${2 * workers}`,
      crowd.leases.min >= 1 && crowd.leases.p50 <= workers && crowd.leases.max <= 2 * workers,
    ),
    row(
      'crowd-latency',
      `publish sent → job in hand, ${FEW} waiters on its queue`,
      { p50: crowd.latency.p50, max: crowd.latency.max },
      'ms',
      '',
      null,
    ),
  ];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runAlone(runWaiters);
