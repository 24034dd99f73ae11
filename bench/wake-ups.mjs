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
import { startLoad } from './load/child-process.mjs';
import { measureWakeUps, WAKE_EACH_MS } from './measure/wake-ups.mjs';
import { startBare, startServer } from './servers/test-server.mjs';
import { startRedis } from './servers/redis.mjs';

const CROWDS = [1, 100, 1_000];
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
    const woken = await measureWakeUps(testServer, load, { name: 'woken', polls: count, queues: 1, ...size });
    const values = { ...woken, server: Math.round(woken.server), redis: Math.round(woken.redis) };
    return {
      key: `wake-${count}`,
      name: `${count} polls on one queue, a job every ${WAKE_EACH_MS} ms`,
      values,
      unit: 'ms; CPU of a publish and a wake-up in us',
      target: count === 1_000 ? 'p50 ≤ 0.5, p99 ≤ 1.5, server ≤ 300' : '',
      met: count === 1_000 ? values.p50 <= 0.5 && values.p99 <= 1.5 && values.server <= 300 : null,
    };
  } finally {
    await load.stop();
    await testServer.stop();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runStandalone(runWakeUps);
