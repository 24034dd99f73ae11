/** From the start of the server's process until it says that it is ready, with Redis up. */
import http from 'node:http';
import { pause } from '../load/child-process.mjs';
import { START_MS } from '../report/targets.mjs';
import { cpuSeconds, stop } from '../measure/processes.mjs';
import { median } from '../measure/quantiles.mjs';
import { spawnServer } from '../servers/test-server.mjs';
import { startRedis } from '../servers/redis.mjs';

const ASK_EVERY_MS = 5;
const PATIENCE_MS = 30_000;

/** `cpuSeconds`: of the process until then, which a busy machine changes less. @typedef {{ workers: number, medianMs: number, allMs: number[], cpuSeconds: number }} Start */

/** @param {import('../run.mjs').Context} context @returns {Promise<Start[]>} for each number of workers */
export async function measureStart({ program, redis, size }) {
  const store = await startRedis(redis, 'everysec');
  try {
    const starts = [];
    for (const workers of size.start.workers) {
      const each = [];
      for (let time = 0; time < size.start.times; time++)
        each.push(await startOnce({ program, store, workers }));
      const allMs = each.map(({ ms }) => ms);
      const cpu = median(each.map((one) => one.cpu));
      starts.push({ workers, medianMs: median(allMs), allMs, cpuSeconds: cpu });
    }
    return starts;
  } finally {
    await store.stop();
  }
}

/** @param {{ program: string, store: import('../servers/redis.mjs').Store, workers: number }} options */
export async function startOnce(options) {
  const { server, port, spawnedMs } = await spawnServer(options);
  try {
    while (!(await isReady(port))) {
      if (server.child.exitCode !== null || performance.now() - spawnedMs > PATIENCE_MS)
        throw new Error(`the server does not become ready\n${server.output()}`);
      await pause(ASK_EVERY_MS);
    }
    return { ms: performance.now() - spawnedMs, cpu: cpuSeconds(server.pid) };
  } finally {
    await stop(server);
  }
}

/** @param {number} port @returns {Promise<boolean>} */
function isReady(port) {
  return new Promise((resolve) => {
    const request = http.get({ host: '127.0.0.1', port, path: '/readyz', agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.once('error', () => resolve(false));
  });
}

/** @param {Start[]} starts @returns {import('../report/target-table.mjs').Row[]} */
export function startVerdicts(starts) {
  return starts.map(({ workers, medianMs, allMs, cpuSeconds: cpu }) => ({
    key: `start-${workers}`,
    name: `start of the process → ready, ${workers} worker${workers > 1 ? 's' : ''}`,
    values: { median: medianMs, slowest: Math.max(...allMs), CPU: 1_000 * cpu },
    unit: 'ms',
    target: `≤ ${START_MS.toLocaleString('en')}`,
    met: medianMs <= START_MS,
  }));
}
