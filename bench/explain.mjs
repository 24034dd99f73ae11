#!/usr/bin/env node
/**
 * How long the script of an explanation takes in Redis: of a job in the middle of a long queue, and of others that need many reads.
 *
 *     runExplain({ program, redis, workers, quick, log }) → { rows: [{ key, name, values, unit, target, met }] }
 *
 * By itself: `node bench/explain.mjs [--quick]`. AOF is off. The CPU is all that Redis needs for a call, with the check of the token.
 */
import { fileURLToPath } from 'node:url';
import { runStandalone } from './scenarios/standalone.mjs';
import { callsOn, withServer } from './servers/test-server.mjs';

const JOBS = { full: 1_000_000, quick: 20_000 };
const CALLS = { full: 500, quick: 50 };
/** Jobs of one publish. */
const BATCH = 64;
/** Batches under way at once. */
const AT_ONCE = 16;
/** Jobs that others have in front of them by their priority, and that a concurrency key holds. */
const SOME = 2_000;
const DEPENDENCIES = 64;
/** Milliseconds of Redis for one explanation, at most. */
const MOST_MS = 3;

/** @typedef {import('./scenarios/standalone.mjs').Options} Options */

/** @param {Options} options */
export function runExplain({ program, redis, workers, quick, log }) {
  const size = quick ? 'quick' : 'full';
  return withServer({ program, redis, workers, aof: 'off' }, async (testServer) => {
    const call = callsOn(testServer.port, testServer.token);
    const cases = await stage(call, JOBS[size], log);
    const rows = [];
    for (const [key, name, path] of cases) {
      const explain = () => call('GET', path);
      rows.push(await measure(testServer, { key, name, explain, calls: CALLS[size] }));
    }
    return { rows };
  });
}

/** Publishes so many jobs. @param {(n: number) => object} jobOf */
async function publish(call, jobs, jobOf) {
  let next = 0;
  const worker = async () => {
    while (next < jobs) {
      const from = next;
      next += BATCH;
      const count = Math.min(BATCH, jobs - from);
      await call('POST', 'jobs', { jobs: Array.from({ length: count }, (_, i) => jobOf(from + i)) });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** @returns {Promise<[key: string, name: string, path: string][]>} what is explained */
async function stage(call, jobs, log) {
  await publish(call, jobs / 2, () => ({ queue: 'long' }));
  await call('POST', 'jobs', { queue: 'long', id: 'middle' });
  await publish(call, jobs / 2, () => ({ queue: 'long' }));
  log(`${jobs} jobs are ready`);
  await publish(call, SOME, (n) => ({ queue: 'ranked', priority: (n % 9) - 4 }));
  await call('POST', 'jobs', { queue: 'ranked', id: 'ranked', priority: 0 });
  await call('PATCH', 'queues/keyed', { max_running_per_key: 20 });
  await publish(call, SOME, () => ({ queue: 'keyed', concurrency_key: 'k' }));
  await call('POST', 'jobs', { queue: 'keyed', id: 'keyed', concurrency_key: 'k' });
  // What a lease meets beyond the limit is held from then on.
  const lease = { queues: ['keyed'], count: 100, worker: 'w', ttr_ms: 3_600_000 };
  for (let i = 0; i < 2; i++) await call('POST', 'leases', lease);
  const needs = Array.from({ length: DEPENDENCIES }, (_, i) => `need-${i}`);
  await publish(call, DEPENDENCIES, (n) => ({ queue: 'needs', id: needs[n], delay_ms: 3_600_000 }));
  await call('POST', 'jobs', { queue: 'needs', id: 'blocked', depends_on: needs });
  const { items: held } = await call('GET', 'jobs?queue=keyed&state=held&limit=1');
  return [
    ['explain-long', `a job behind ${jobs / 2} others`, 'jobs/middle/explain'],
    ['explain-ranked', `a job among ${SOME} of 9 priorities`, 'jobs/ranked/explain'],
    ['explain-held', 'a held job, 20 jobs with its key run', `jobs/${held[0]?.id ?? 'keyed'}/explain`],
    ['explain-blocked', `a job with ${DEPENDENCIES} dependencies`, 'jobs/blocked/explain'],
    ['explain-queue', `a queue of ${jobs} jobs`, 'queues/long/explain'],
  ];
}

/** One case: Redis's CPU for each call, which other load on the machine does not change. @returns {Promise<import('./report/target-table.mjs').Row>} */
async function measure(testServer, { key, name, explain, calls }) {
  for (let i = 0; i < 10; i++) await explain();
  const before = testServer.cpu().redis;
  for (let i = 0; i < calls; i++) await explain();
  const values = { Redis: ((testServer.cpu().redis - before) / calls) * 1_000 };
  return {
    ...{ key, name: `explain: ${name}`, values, unit: 'ms' },
    ...{ target: `≤ ${MOST_MS}`, met: values.Redis <= MOST_MS },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runStandalone(runExplain);
