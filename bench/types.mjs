#!/usr/bin/env node
/**
 * Leases by type, fair queues and strict order: how long a job waits for a worker of its type, or for the turn of its fair key, alone and behind
 * many jobs of another one; how soon a worker on another server is woken; and how long a queue takes that is leased by type for the
 * first time, or that becomes fair.
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
    const alone = await waits(call, 'alone', size, BY_TYPE);
    await fill(call, { queue: 'shared', type: 'mail' }, size.jobs);
    const beganMs = performance.now();
    await call('POST', 'leases', { queues: ['shared'], types: ['sms'], wait_ms: 10 });
    const orderMs = performance.now() - beganMs;
    log(`${size.jobs} jobs of another type are ready`);
    const shared = await waits(call, 'shared', size, BY_TYPE);
    const woken = await wakeUps(call, callOther, size);
    const fair = await fairWaits(call, size);
    const strict = await strictWaits(call, size);
    const memory = await typeMemory(call, store, size);
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
        rowOf(
          'type-memory',
          `a ready job with a type, of ${size.jobs}: bytes of Redis in a queue that is leased by type, and in another one`,
          memory,
          '≤ 1.2 × the other one',
          memory.ordered <= 1.2 * memory.plain,
        ),
        rowOf(
          'fair-alone',
          'publish and lease of a fair key, a queue without other jobs',
          fair.alone,
          '',
          null,
        ),
        rowOf(
          'fair-shared',
          `the same beside ${size.jobs} jobs of another key`,
          fair.shared,
          'p99 ≤ 2 × alone',
          fair.shared.p99 <= 2 * fair.alone.p99,
        ),
        rowOf(
          'fair-order',
          `a queue with ${size.jobs} ready jobs becomes fair`,
          { ms: fair.orderMs },
          '',
          null,
        ),
        rowOf(
          'strict-alone',
          'publish and lease in a strict order, a queue without other jobs',
          strict.alone,
          '',
          null,
        ),
        rowOf(
          'strict-shared',
          `the same beside ${size.jobs} jobs of a key whose first one waits for its next attempt`,
          strict.shared,
          'p99 ≤ 2 × alone',
          strict.shared.p99 <= 2 * strict.alone.p99,
        ),
      ],
    };
  } finally {
    await Promise.all([stop(one.server), stop(other.server)]);
    await store.stop();
  }
}

const rowOf = (key, name, values, target, met) => ({
  ...{ key, name, values, target, met },
  unit: key === 'type-memory' ? 'B' : 'ms',
});

async function startOne(program, store, workers) {
  const { server, port, adminPort } = await spawnServer({ program, store, workers });
  return { server, port, adminUrl: `http://127.0.0.1:${adminPort}` };
}

/** What a job has that is published and leased; the request that leases it; and how many of them it takes at most. */
const BY_TYPE = { job: { type: 'sms' }, request: { types: ['sms'] }, most: 1 };
const IN_ORDER = { job: { concurrency_key: 'small' }, request: {}, most: 1 };
const BY_KEY = { job: { fair_key: 'small' }, request: {}, most: 2 };

/** A key with a job now and then, beside one with many; before, their jobs are moved to the lists of their keys. */
async function fairWaits(call, size) {
  await call('PATCH', 'queues/fair-alone', { fair: true });
  const alone = await waits(call, 'fair-alone', size, BY_KEY);
  await fill(call, { queue: 'fair', fair_key: 'big' }, size.jobs);
  const beganMs = performance.now();
  await call('PATCH', 'queues/fair', { fair: true });
  while ((await call('GET', 'queues/fair/keys')).keys[0]?.ready !== size.jobs) await pause(20);
  const orderMs = performance.now() - beganMs;
  // The key with many jobs has the first turn.
  const { jobs } = await call('POST', 'leases', { queues: ['fair'] });
  await call('POST', `jobs/${jobs[0].id}/ack`, { lease: jobs[0].lease });
  return { alone, orderMs, shared: await waits(call, 'fair', size, BY_KEY) };
}

/** A key with a job now and then, beside one that waits for its first job. */
async function strictWaits(call, size) {
  await call('PATCH', 'queues/strict-alone', { order: 'strict' });
  const alone = await waits(call, 'strict-alone', size, IN_ORDER);
  await call('PATCH', 'queues/strict', { order: 'strict' });
  await fill(call, { queue: 'strict', concurrency_key: 'big' }, size.jobs);
  const { jobs } = await call('POST', 'leases', { queues: ['strict'] });
  await call('POST', `jobs/${jobs[0].id}/retry`, { lease: jobs[0].lease, delay_ms: 3_600_000 });
  return { alone, shared: await waits(call, 'strict', size, IN_ORDER) };
}

/** Ready jobs. */
async function fill(call, job, jobs) {
  let left = jobs;
  const publisher = async () => {
    while (left > 0) {
      const count = Math.min(BATCH, left);
      left -= count;
      await call('POST', 'jobs', { jobs: Array.from({ length: count }, () => job) });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, publisher));
}

/** Bytes of Redis for each job. */
async function typeMemory(call, store, { jobs }) {
  const bytesOf = async (queue) => {
    const before = await store.usedMemory();
    await fill(call, { queue, type: 'mail' }, jobs);
    return ((await store.usedMemory()) - before) / jobs;
  };
  await call('POST', 'jobs', { queue: 'memory-ordered', type: 'mail' });
  await call('POST', 'leases', { queues: ['memory-ordered'], types: ['sms'], wait_ms: 10 });
  return { plain: await bytesOf('memory-plain'), ordered: await bytesOf('memory-ordered') };
}

/** From the publish of a job to the answer of the lease that has it. In a fair queue one of another key may have its turn before. */
async function waits(call, queue, { waits: count }, { job, request, most }) {
  const times = [];
  for (let i = 0; i < count; i++) {
    const beganMs = performance.now();
    const { id } = await call('POST', 'jobs', { queue, ...job });
    const leased = [];
    while (leased.at(-1)?.id !== id && leased.length < most)
      leased.push((await call('POST', 'leases', { queues: [queue], ...request })).jobs[0]);
    times.push(performance.now() - beganMs);
    if (leased.at(-1)?.id !== id) throw new Error(`leased ${leased.map((one) => one?.id)} in place of ${id}`);
    for (const one of leased) await call('POST', `jobs/${one.id}/ack`, { lease: one.lease });
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
