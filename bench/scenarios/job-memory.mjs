/** Bytes of Redis's memory for each job, and where they go. */
import { memoryAccountOf } from '../measure/redis-memory.mjs';
import { BYTES } from '../report/targets.mjs';
import { fillOver } from './fill.mjs';
import { BULK, pathOf } from '../load/workloads.mjs';
import { withServer } from '../servers/test-server.mjs';

const HOUR_S = 3_600;
const DAY_S = 86_400;

/**
 * @typedef {object} Bytes
 * @property {number} jobs
 * @property {number} perJob growth of used_memory
 * @property {import('../measure/redis-memory.mjs').Entry[]} account bytes per job, by what holds them
 */

/**
 * Jobs that wait in one queue with the default ttl, and jobs that come due in the second hour from now, spread over it.
 *
 * @param {import('../run.mjs').Context} context
 * @returns {Promise<{ ready: Bytes, scheduled: Bytes }>}
 */
export async function measureBytes(context) {
  const path = pathOf('bytes');
  const delayed = Array.from({ length: HOUR_S }, (_, second) => `?delay=${HOUR_S + second}&ttl=${DAY_S}`);
  return {
    ready: await bytesOf(context, [{ path }]),
    scheduled: await bytesOf(
      context,
      delayed.map((query) => ({ path, query })),
    ),
  };
}

/**
 * On an empty Redis each: its tables double at powers of two, and one million stays below the next.
 *
 * @param {import('../run.mjs').Context} context
 * @param {{ path: string, query?: string }[]} targets
 * @returns {Promise<Bytes>}
 */
function bytesOf({ load, size, program, redis }, targets) {
  return withServer({ program, redis, aof: 'off', workers: 1 }, async (testServer) => {
    await load.connect(testServer);
    const jobs = Math.ceil(size.bytes.jobs / BULK) * BULK;
    const before = await testServer.usedMemory();
    const spread = {
      name: 'bytes',
      targets: targets.map((target) => ({ ...target, token: testServer.token })),
    };
    await fillOver(load, testServer, spread, jobs);
    const perJob = ((await testServer.usedMemory()) - before) / jobs;
    return {
      jobs,
      perJob,
      account: await memoryAccountOf(testServer.redisPort ?? 0, {
        jobs,
        perJob,
        samples: size.bytes.samples,
      }),
    };
  });
}

/** @param {{ ready: Bytes, scheduled: Bytes }} bytes @returns {import('../report/target-table.mjs').Row[]} */
export function bytesVerdicts(bytes) {
  return /** @type {const} */ (['ready', 'scheduled']).map((state) => ({
    key: `bytes-${state}`,
    name: state === 'ready' ? 'Redis bytes per ready job' : 'Redis bytes per job due in an hour or later',
    values: { bytes: bytes[state].perJob },
    unit: 'B, 100 B body',
    target: `≤ ${BYTES[state]}`,
    met: bytes[state].perJob <= BYTES[state],
  }));
}
