/** Two ways to send one request many times: as fast as answers come, or at a steady rate whether or not they come. */
import { performance } from 'node:perf_hooks';
import { Connection } from './connection.mjs';
import { quantiles } from '../measure/quantiles.mjs';

const HOST = '127.0.0.1';

/** @param {number} port @param {number} count @returns {Promise<Connection[]>} */
export async function connect(port, count) {
  const connections = Array.from({ length: count }, () => new Connection(HOST, port));
  await Promise.all(connections.map(({ opened }) => opened));
  return connections;
}

/** Opens connections for `act`, and closes them. @param {(connections: import('./connection.mjs').Connection[]) => Promise<any>} act */
export async function onConnections(port, count, act) {
  const connections = await connect(port, count);
  try {
    return await act(connections);
  } finally {
    for (const connection of connections) connection.close();
  }
}

/**
 * One request, its answer's body.
 *
 * @param {Connection} connection
 * @param {string} request
 * @param {number[]} expected statuses
 * @returns {Promise<{ status: number, body: string }>}
 */
export function sendRequest(connection, request, ...expected) {
  return new Promise((resolve, reject) => {
    const answered = (/** @type {number} */ status, /** @type {string} */ body) => {
      if (expected.includes(status)) resolve({ status, body });
      else reject(new Error(`status ${status} instead of ${expected.join(' or ')}: ${body}`));
    };
    connection.send(request, true, answered, reject);
  });
}

/**
 * A closed loop: every connection sends its next request when it has its answer.
 *
 * @param {Connection[]} connections
 * @param {{ request: (n: number) => string, expect: number, total: number, maxMs: number }} options
 */
export async function runClosedLoop(connections, { request, expect, total, maxMs }) {
  const startedMs = performance.now();
  /** @type {number[]} */
  const latencies = [];
  let begun = 0;
  const loop = async (/** @type {Connection} */ connection) => {
    while (begun < total && performance.now() < startedMs + maxMs) {
      const sentMs = performance.now();
      await sendRequest(connection, request(begun++), expect);
      latencies.push(performance.now() - sentMs);
    }
  };
  await Promise.all(connections.map(loop));
  const seconds = (performance.now() - startedMs) / 1_000;
  return { operations: latencies.length, seconds, rate: latencies.length / seconds, ...quantiles(latencies) };
}

/**
 * An open loop at a steady rate. A latency counts from the moment when the request should go out and the generator was awake, so a
 * server that stalls is not asked less; what waits for a free connection waits on its account.
 *
 * @param {Connection[]} connections
 * @param {object} options
 * @param {(n: number) => string} options.request
 * @param {number | number[]} options.expect statuses
 * @param {number} options.perSecond
 * @param {number} [options.total] endless if left out: until `isOver` says so
 * @param {() => boolean} [options.isOver]
 * @param {(latencyMs: number, endedMs: number, n: number, status: number) => void} [options.onAnswer] in place of the quantiles
 * @returns {Promise<{ operations: number, rate: number, p50: number, p99: number, max: number }>}
 */
export function runAtRate(connections, options) {
  const { request, expect, perSecond, total = Infinity, isOver = () => false, onAnswer } = options;
  const free = [...connections];
  /** When each request that waits for a connection was due. @type {number[]} */
  const waiting = [];
  /** @type {number[]} */
  const latencies = [];
  const startedMs = performance.now();
  let due = 0;
  let sent = 0;
  return new Promise((resolve, reject) => {
    const send = () => {
      while (free.length > 0 && waiting.length > 0) {
        const connection = /** @type {Connection} */ (free.pop());
        const dueMs = /** @type {number} */ (waiting.shift());
        const n = sent++;
        sendRequest(connection, request(n), ...[expect].flat()).then(
          ({ status }) => answered(connection, dueMs, n, status),
          reject,
        );
      }
    };
    /** @type {(connection: Connection, dueMs: number, n: number, status: number) => void} */
    const answered = (connection, dueMs, n, status) => {
      const now = performance.now();
      if (onAnswer) onAnswer(now - dueMs, now, n, status);
      else latencies.push(now - dueMs);
      free.push(connection);
      send();
    };
    const tick = () => {
      const now = performance.now();
      const isEnding = due >= total || isOver();
      if (isEnding && waiting.length === 0 && free.length === connections.length) {
        const rate = sent / ((now - startedMs) / 1_000);
        return resolve({ operations: sent, rate, ...quantiles(latencies) });
      }
      if (!isEnding) {
        const target = Math.min(total, Math.floor(((now - startedMs) / 1_000) * perSecond) + 1);
        for (; due < target; due++) waiting.push(now);
        send();
      }
      setTimeout(tick, 1);
    };
    tick();
  });
}
