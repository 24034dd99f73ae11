/**
 * The load generator: a child process that holds the connections and plays one row after the other, as the parent tells it over
 * IPC. The same generator plays all rows of a run, the bare server's included. Its own CPU is not counted.
 */
import { performance } from 'node:perf_hooks';
import { Connection, requestBytes } from './connection.mjs';

const HOST = '127.0.0.1';

/** @type {Connection[]} */
let connections = [];
let token = '';
/** Ids that the last consume row leased, for the ack row. @type {string[]} */
let leasedIds = [];

/**
 * What a row does: `next` gives the request of the n-th operation's step, or null when the operation is done.
 *
 * @typedef {object} Play
 * @property {(n: number, step: number, answer: string) => { request: string, expect: number, wantsBody: boolean } | null} next
 */

const ID = /"job_id":"([^"]+)"/g;

/** @type {Record<string, (row: any) => Play>} */
const PLAYS = {
  /** The same request again and again; `collect` keeps the ids of what was leased. */
  repeat({ method, path, body, expect, collect }) {
    const request = requestBytes(method, path, token, body);
    const sent = { request, expect, wantsBody: Boolean(collect) };
    if (collect) leasedIds = [];
    return {
      next(_n, step, answer) {
        if (step === 0) return sent;
        if (collect) for (const match of answer.matchAll(ID)) leasedIds.push(match[1] ?? '');
        return null;
      },
    };
  },

  /** Acknowledges what was collected. */
  ack({ path, expect }) {
    return {
      next: (n, step) =>
        step === 0
          ? {
              request: requestBytes('DELETE', `${path}/job/${leasedIds[n]}`, token),
              expect,
              wantsBody: false,
            }
          : null,
    };
  },

  /** Publish, consume, acknowledge, on one connection. */
  cycle({ path, body, ttr }) {
    const publish = { request: requestBytes('PUT', path, token, body), expect: 201, wantsBody: false };
    const consume = {
      request: requestBytes('GET', `${path}?ttr=${ttr}`, token),
      expect: 200,
      wantsBody: true,
    };
    return {
      next(_n, step, answer) {
        if (step === 0) return publish;
        if (step === 1) return consume;
        if (step === 3) return null;
        const id = /"job_id":"([^"]+)"/.exec(answer)?.[1];
        return { request: requestBytes('DELETE', `${path}/job/${id}`, token), expect: 204, wantsBody: false };
      },
    };
  },
};

/**
 * Plays `total` operations, or as many as `maxMs` allows, in a closed loop over all connections.
 *
 * @param {any} row
 */
async function play(row) {
  const total = row.play === 'ack' ? Math.min(row.total, leasedIds.length) : row.total;
  const plan = PLAYS[row.play]?.(row);
  if (!plan) throw new Error(`no such play: ${row.play}`);
  const latencies = new Float64Array(total);
  const startedMs = performance.now();
  const deadlineMs = startedMs + row.maxMs;
  let begun = 0;
  let done = 0;

  await Promise.all(
    connections.map(
      (connection) =>
        new Promise((resolve, reject) => {
          const operation = () => {
            if (begun >= total || performance.now() > deadlineMs) return resolve(undefined);
            const n = begun++;
            const operationMs = performance.now();
            const step = (/** @type {number} */ at, /** @type {string} */ answer) => {
              const request = plan.next(n, at, answer);
              if (!request) {
                latencies[done++] = performance.now() - operationMs;
                return operation();
              }
              connection.send(
                request.request,
                request.wantsBody,
                (status, body) => {
                  if (status === request.expect) step(at + 1, body);
                  else
                    reject(new Error(`${row.name}: status ${status} instead of ${request.expect}: ${body}`));
                },
                reject,
              );
            };
            step(0, '');
          };
          operation();
        }),
    ),
  );
  const seconds = (performance.now() - startedMs) / 1_000;
  return { operations: done, seconds, ...quantiles(latencies.subarray(0, done)) };
}

/**
 * How late a delayed job reaches a consumer that waits for it. The due time is the publish request's sending plus its delay, so
 * both trips over HTTP are part of the lateness; a negative one would be a job that came early.
 *
 * @param {any} row
 */
async function lateness({ path, jobs, waiting, delayS, spreadMs }) {
  const publishers = connections.slice(waiting);
  const consumers = connections.slice(0, waiting);
  /** @type {number[]} */
  const sentMs = [];
  /** @type {number[]} */
  const late = [];
  const waitMs = 20_000;
  const consume = requestBytes('GET', `${path}?timeout=${waitMs / 1_000}&ttr=600`, token);
  const received = new Promise((resolve, reject) => {
    for (const consumer of consumers) {
      const wait = () => {
        const askedMs = performance.now();
        consumer.send(
          consume,
          true,
          (status, body) => {
            const now = performance.now();
            if (status === 404 && now - askedMs > waitMs - 50) return wait();
            if (status !== 200) return reject(new Error(`lateness: status ${status}: ${body}`));
            const data = /"data":"([^"]+)"/.exec(body)?.[1] ?? '';
            const n = Number(Buffer.from(data, 'base64').toString().trim());
            late.push(now - (sentMs[n] ?? NaN) - delayS * 1_000);
            if (late.length >= jobs) return resolve(undefined);
            wait();
          },
          reject,
        );
      };
      wait();
    }
  });
  for (let n = 0; n < jobs; n++) {
    const publisher = publishers[n % publishers.length];
    if (!publisher) throw new Error('no connection is left to publish with');
    await new Promise((resolve, reject) => {
      sentMs[n] = performance.now();
      publisher.send(
        requestBytes('PUT', `${path}?delay=${delayS}`, token, String(n).padEnd(100)),
        false,
        (status) => (status === 201 ? resolve(undefined) : reject(new Error(`lateness: publish ${status}`))),
        reject,
      );
    });
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 2 * (spreadMs / jobs)));
  }
  await received;
  return { operations: jobs, earliest: Math.min(...late), ...quantiles(Float64Array.from(late)) };
}

/** @param {Float64Array} values */
function quantiles(values) {
  values.sort();
  const at = (/** @type {number} */ q) =>
    values[Math.min(values.length - 1, Math.floor(q * values.length))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

/** @type {Record<string, (message: any) => Promise<unknown>>} */
const COMMANDS = {
  async connect(message) {
    for (const connection of connections) connection.close();
    token = message.token;
    connections = Array.from({ length: message.connections }, () => new Connection(HOST, message.port));
    await Promise.all(connections.map(({ opened }) => opened));
  },
  play,
  lateness,
  async leased() {
    return leasedIds.length;
  },
};

process.on('message', async (/** @type {any} */ message) => {
  try {
    process.send?.({ result: (await COMMANDS[message.command]?.(message)) ?? null });
  } catch (error) {
    process.send?.({ error: error instanceof Error ? error.message : String(error) });
  }
});
// The parent is gone: so are we.
process.on('disconnect', () => process.exit());
