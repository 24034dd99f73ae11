/** What the rows about waiting and time look at from probe a test server: memory of the processes, Redis, the script counters. */
import { readdirSync, readFileSync } from 'node:fs';
import { Redis } from 'ioredis';

const PAGE_BYTES = 4_096;

/** Resident memory of a process and its children, in bytes; those that have ended count nothing. @param {number} pid @returns {number} */
export function residentBytes(pid) {
  try {
    const pages = Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]);
    return pages * PAGE_BYTES + childrenOf(pid).reduce((sum, child) => sum + residentBytes(child), 0);
  } catch {
    return 0;
  }
}

/** @param {number} pid @returns {number[]} */
function childrenOf(pid) {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
  );
}

/** Open files that this user's processes may have; the benchmark's children have the same. */
export function openFileLimit() {
  return Number(/Max open files +(\d+)/.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1]);
}

/**
 * A connection of the benchmark's own to the test server's Redis.
 *
 * @param {import('../servers/test-server.mjs').TestServer} testServer
 */
export function probeServer(testServer) {
  const redis = new Redis({ host: '127.0.0.1', port: testServer.redisPort ?? 0 });
  const info = async (/** @type {string} */ section, /** @type {string} */ field) =>
    Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(await redis.info(section))?.[1]);
  return {
    redis,
    usedMemory: () => info('memory', 'used_memory'),
    /** Connections to Redis that are not this one. */
    connections: async () => (await info('clients', 'connected_clients')) - 1,
    /** Has Redis keep the calls that take longer than `overUs`, from now on. @param {number} overUs */
    async watchSlow(overUs) {
      await redis.config('SET', 'slowlog-log-slower-than', overUs);
      await redis.config('SET', 'slowlog-max-len', 4_096);
      await redis.slowlog('RESET');
    },
    /** The kept script calls in ms, longest first. @returns {Promise<number[]>} */
    async slowScripts() {
      const entries = /** @type {any[][]} */ (await redis.slowlog('GET', 4_096));
      const isScript = (/** @type {any[]} */ entry) => /^(?:eval|fcall)/i.test(String(entry[3][0]));
      return entries
        .filter(isScript)
        .map((entry) => Number(entry[2]) / 1_000)
        .sort((a, b) => b - a);
    },
    close: () => redis.disconnect(),
  };
}

/** The server's metrics as text. @param {import('../servers/test-server.mjs').TestServer} testServer */
export async function scrape(testServer) {
  const response = await fetch(`http://127.0.0.1:${testServer.adminPort}/metrics`);
  if (response.status !== 200) throw new Error(`metrics: status ${response.status}`);
  return response.text();
}

/**
 * Calls of each script so far, by its name.
 *
 * @param {string} metrics
 * @returns {Record<string, number>}
 */
export function scriptCalls(metrics) {
  /** @type {Record<string, number>} */
  const calls = {};
  for (const [, labels = '', value] of metrics.matchAll(/^infra_lmstfy_redis_qps\{(.*)\} (\S+)$/gm)) {
    const name = /command="([^"]*)"/.exec(labels)?.[1] ?? '';
    calls[name] = (calls[name] ?? 0) + Number(value);
  }
  return calls;
}

/** Sum of the series of a gauge. @param {string} metrics @param {string} name */
export function gauge(metrics, name) {
  let sum = 0;
  for (const [, value] of metrics.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gm')))
    sum += Number(value);
  return sum;
}
