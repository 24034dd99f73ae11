/** Fills a store over HTTP, with bulk publishes: one queue, many queues of a namespace, or queues of many namespaces. */
import { BULK, bulk, pathOf } from '../load/workloads.mjs';

const FILL_MS = 300_000;
/** Bulk publishes for each queue of a spread store. */
const REQUESTS_EACH = 2;

/** @typedef {import('../run.mjs').Context['load']} Load */

/**
 * Publishes jobs into one queue.
 *
 * @param {Load} load connected to the test server
 * @param {import('../servers/test-server.mjs').TestServer} testServer
 * @param {string} queue
 * @param {number} jobs
 */
export function fillQueue(load, testServer, queue, jobs) {
  return fill(load, testServer, bulk(queue, jobs, { maxMs: FILL_MS }));
}

/**
 * Publishes `each` jobs into every target of a spread.
 *
 * @param {Load} load
 * @param {import('../servers/test-server.mjs').TestServer} testServer
 * @param {{ name: string, targets: import('../load/requests.mjs').Target[] }} spread
 * @param {number} each 1, or an even number up to two bulks
 */
export async function fillEach(load, testServer, { name, targets }, each) {
  const requests = each === 1 ? 1 : REQUESTS_EACH;
  if (each > requests * BULK || each % requests > 0)
    throw new Error(`cannot put ${each} jobs into each queue`);
  await load.spread(name, targets);
  const size = each / requests;
  return fill(load, testServer, bulk('', targets.length * each, { size, spread: name, maxMs: FILL_MS }));
}

/**
 * Publishes jobs over the targets of a spread.
 *
 * @param {Load} load
 * @param {import('../servers/test-server.mjs').TestServer} testServer
 * @param {{ name: string, targets: import('../load/requests.mjs').Target[] }} spread
 * @param {number} jobs
 */
export async function fillOver(load, testServer, { name, targets }, jobs) {
  await load.spread(name, targets);
  return fill(load, testServer, bulk('', jobs, { spread: name, maxMs: FILL_MS }));
}

/** @param {Load} load @param {import('../servers/test-server.mjs').TestServer} testServer @param {ReturnType<typeof bulk>} row */
async function fill(load, testServer, row) {
  const filled = await load.measure(testServer, row);
  const wanted = row.per * row.total;
  if (filled.operations < wanted)
    throw new Error(`only ${filled.operations} of ${wanted} jobs were stored in time`);
  return filled;
}

/** Queues of the one namespace. @param {number} count @param {string} token @returns {import('../load/requests.mjs').Target[]} */
export function queueTargets(count, token) {
  return Array.from({ length: count }, (_, n) => ({ path: pathOf(`spread-${n}`), token }));
}

/**
 * Queues over namespaces, each with its own token; neighbours are in different namespaces.
 *
 * @param {import('../servers/test-server.mjs').TestServer} testServer
 * @param {number} namespaces
 * @param {number} queues in all
 * @returns {Promise<import('../load/requests.mjs').Target[]>}
 */
export async function namespaceTargets(testServer, namespaces, queues) {
  const names = Array.from({ length: namespaces }, (_, n) => `tenant-${n}`);
  const tokens = await testServer.tokens(names);
  return Array.from({ length: queues }, (_, n) => ({
    path: `/api/${names[n % namespaces]}/queue-${Math.floor(n / namespaces)}`,
    token: tokens[n % namespaces] ?? '',
  }));
}
