#!/usr/bin/env node
/**
 * What it costs to wake one of many clients that wait on one queue, and how soon it has its job.
 *
 *     runWakeUps({ program, redis, workers, quick, log }) → { rows: [{ key, name, values, unit, target, met }] }
 *
 * By itself: `node bench/wake-ups.mjs [--quick]`. One job every 20 ms; AOF is off. The latency is from the publish's request to the
 * job in the client's hand, both in one other process. CPU is that of the same time without publishes taken off, so it includes the
 * publish. The last row is the floor: a bare node:http server that stores the job with one function of Redis and answers the oldest
 * request that waits.
 */
import { fileURLToPath } from 'node:url';
import { runStandalone } from './scenarios/standalone.mjs';
import { pause, startLoad } from './load/child-process.mjs';
import { NAMESPACE, startBare, startServer } from './servers/test-server.mjs';
import { startRedis } from './servers/redis.mjs';

const PATH = `/api/${NAMESPACE}/woken-`;
const CROWDS = [1, 100, 1_000];
const PER_SECOND = 50;
/** Longer than any run. */
const WAIT_S = 1_800;
const SIZES = { full: { wakes: 1_000, warm: 300 }, quick: { wakes: 250, warm: 100 } };

/** @param {import('./scenarios/standalone.mjs').Options} options */
export async function runWakeUps({ program, redis, workers, quick, log }) {
  const size = quick ? SIZES.quick : SIZES.full;
  const rows = [];
  for (const count of CROWDS) {
    const testServer = await startServer({ program, redis, aof: 'off', workers });
    rows.push(await rowOf({ testServer, count, size }));
    log(`${count} on one queue: done`);
  }
  const store = await startRedis(redis, 'off');
  const testServer = await startBare(store.port);
  try {
    const row = await rowOf({ testServer, count: 1, size });
    rows.push({ ...row, key: 'wake-bare', name: 'bare node:http + one function of Redis, 1 poll' });
    log('bare: done');
  } finally {
    await store.stop();
  }
  return { rows };
}

/** Measures a row, and stops its server. */
async function rowOf({ testServer, count, size }) {
  const load = startLoad('poll-process.mjs');
  try {
    return await wakeUps({ testServer, load, count, size });
  } finally {
    await load.stop();
    await testServer.stop();
  }
}

async function wakeUps({ testServer, load, count, size }) {
  const { port, token } = testServer;
  await load.call('open', { port, token, path: PATH, count, queues: 1, waitS: WAIT_S });
  const wake = (/** @type {number} */ wakes) =>
    load.call('wake', { port, token, path: PATH, queues: 1, count: wakes, perSecond: PER_SECOND });
  await wake(size.warm);
  await pause(1_000);
  const idle = await cpuOf(testServer, () => pause((size.wakes / PER_SECOND) * 1_000));
  const { value: latency, ...busy } = await cpuOf(testServer, () => wake(size.wakes));
  const perWake = (/** @type {'server' | 'redis'} */ part) =>
    Math.round(((busy[part] - idle[part]) / size.wakes) * 1_000_000);
  const values = { p50: latency.p50, p99: latency.p99, server: perWake('server'), redis: perWake('redis') };
  return {
    key: `wake-${count}`,
    name: `${count} polls on one queue, a job every ${1_000 / PER_SECOND} ms`,
    values,
    unit: 'ms; CPU of a publish and a wake-up in us',
    target: count === 1_000 ? 'p50 ≤ 0.5, p99 ≤ 1.5, server ≤ 300' : '',
    met: count === 1_000 ? values.p50 <= 0.5 && values.p99 <= 1.5 && values.server <= 300 : null,
  };
}

/** @template T @param {import('./servers/test-server.mjs').TestServer} testServer @param {() => Promise<T>} act */
async function cpuOf(testServer, act) {
  const before = testServer.cpu();
  const value = await act();
  const after = testServer.cpu();
  return { value, server: after.server - before.server, redis: after.redis - before.redis };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runStandalone(runWakeUps);
