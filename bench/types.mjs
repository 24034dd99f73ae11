#!/usr/bin/env node
/**
 * Leases by type: how long a job waits for a worker of its type, alone and behind many jobs of another type; how soon a worker on
 * another server is woken; and how long a queue takes that is leased by type for the first time.
 *
 *     runTypes({ program, redis, workers, quick, log }) → { rows: [{ key, name, values, unit, target, met }] }
 *
 * By itself: `node bench/types.mjs [--quick]`. AOF is off. What a lease costs is in the rows of bench/native.mjs.
 */
import { fileURLToPath } from 'node:url';
import { pause } from './load/child-process.mjs';
import { quantiles } from './measure/quantiles.mjs';
import { stop, until } from './measure/processes.mjs';
import { runStandalone } from './scenarios/standalone.mjs';
import { callsOn, NAMESPACE, requestToken, spawnServer } from './servers/test-server.mjs';
import { startRedis } from './servers/redis.mjs';

const SIZES = {
  full: { jobs: 100_000, waits: 1_000, wakes: 200 },
  quick: { jobs: 5_000, waits: 100, wakes: 30 },
};
const BATCH = 64;
const AT_ONCE = 8;
/** Between two wake-ups, in milliseconds: not a part of the second after which servers look again. */
const BETWEEN_MS = 37;

/** @param {import('./scenarios/standalone.mjs').Options} options */
export async function runTypes({ program, redis, workers, quick, log }) {
  const size = quick ? SIZES.quick : SIZES.full;
  const store = await startRedis(redis, 'off');
  const one = await startOne(program, store, workers);
  const token = await until(one.server, () => requestToken(one.adminUrl, NAMESPACE));
  const other = await startOne(program, store, workers);
  const [call, callOther] = [callsOn(one.port, token), callsOn(other.port, token)];
  try {
    await until(other.server, () => callOther('POST', 'leases', { queues: ['none'] }));
    const alone = await waits(call, 'alone', size);
    await fill(call, 'shared', size.jobs);
    const beganMs = performance.now();
    await call('POST', 'leases', { queues: ['shared'], types: ['sms'], wait_ms: 10 });
    const orderMs = performance.now() - beganMs;
    log(`${size.jobs} jobs of another type are ready`);
    const shared = await waits(call, 'shared', size);
    const woken = await wakeUps(call, callOther, size);
    return {
      rows: [
        rowOf('type-alone', 'publish and lease by type, a queue without other jobs', alone, '', null),
        rowOf(
          'type-shared',
          `the same behind ${size.jobs} jobs of another type`,
          shared,
          'p99 ≤ 2 × alone',
          shared.p99 <= 2 * alone.p99,
        ),
        rowOf(
          'type-woken',
          'a worker of the type on another server is woken',
          woken,
          'p99 ≤ 50',
          woken.p99 <= 50,
        ),
        rowOf(
          'type-order',
          `the first lease by type of a queue with ${size.jobs} ready jobs`,
          { ms: orderMs },
          '',
          null,
        ),
      ],
    };
  } finally {
    await Promise.all([stop(one.server), stop(other.server)]);
    await store.stop();
  }
}

const rowOf = (key, name, values, target, met) => ({ key, name, values, unit: 'ms', target, met });

async function startOne(program, store, workers) {
  const { server, port, adminPort } = await spawnServer({ program, store, workers });
  return { server, port, adminUrl: `http://127.0.0.1:${adminPort}` };
}

/** Ready jobs of the type `mail`. */
async function fill(call, queue, jobs) {
  let left = jobs;
  const publisher = async () => {
    while (left > 0) {
      const count = Math.min(BATCH, left);
      left -= count;
      await call('POST', 'jobs', { jobs: Array.from({ length: count }, () => ({ queue, type: 'mail' })) });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, publisher));
}

/** From the publish of a job to the answer of the lease that has it. */
async function waits(call, queue, { waits: count }) {
  const times = [];
  for (let i = 0; i < count; i++) {
    const beganMs = performance.now();
    const { id } = await call('POST', 'jobs', { queue, type: 'sms' });
    const { jobs } = await call('POST', 'leases', { queues: [queue], types: ['sms'] });
    times.push(performance.now() - beganMs);
    if (jobs[0]?.id !== id) throw new Error(`leased ${jobs[0]?.id} in place of ${id}`);
    await call('POST', `jobs/${id}/ack`, { lease: jobs[0].lease });
  }
  return quantilesOf(times);
}

/** From the publish to the answer of a request that waits on another server. */
async function wakeUps(call, callOther, { wakes }) {
  const times = [];
  for (let i = 0; i < wakes; i++) {
    const waiting = callOther('POST', 'leases', { queues: ['shared'], types: ['fax'], wait_ms: 10_000 });
    await pause(BETWEEN_MS);
    const beganMs = performance.now();
    const { id } = await call('POST', 'jobs', { queue: 'shared', type: 'fax' });
    const { jobs } = await waiting;
    times.push(performance.now() - beganMs);
    await call('POST', `jobs/${id}/ack`, { lease: jobs[0].lease });
  }
  return quantilesOf(times);
}

function quantilesOf(times) {
  const { p50, p99, max } = quantiles(times);
  return { p50, p99, max };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runStandalone(runTypes);
