/**
 * The load generator of steady work: jobs come at a rate, and workers on long polls take, do (nothing) and acknowledge them. The parent
 * starts it, asks for what happened since it last asked, and ends it (`load/child-process.mjs`).
 */
import { performance } from 'node:perf_hooks';
import { answerParent, pause } from './child-process.mjs';
import { requestBytes } from './connection.mjs';
import { connect, sendRequest, runAtRate } from './pacing.mjs';
import { quantiles } from '../measure/quantiles.mjs';

const BODY_BYTES = 100;
const PUBLISHERS = 32;
const WAIT_S = 5;
/** Longer than what may be left to do at the end of a rate. */
const REST_MS = 30_000;

let isOver = false;
let done = 0;
/** When the publish of each job was sent. @type {Map<number, number>} */
const sentMs = new Map();
/** Latencies since the last question. */
let publishMs = /** @type {number[]} */ ([]);
let deliveryMs = /** @type {number[]} */ ([]);
/** @type {Promise<unknown>[]} */
let running = [];

/** @param {{ port: number, token: string, root: string, queues: number, workers: number, perSecond: number }} options */
function start({ port, token, root, queues, workers, perSecond }) {
  isOver = false;
  running = [
    publish({ port, token, root, queues, perSecond }),
    ...Array.from({ length: workers }, (_, i) => work({ port, token, path: `${root}/steady-${i % queues}` })),
  ];
  // Told by the next command.
  for (const part of running) part.catch(() => undefined);
}

async function publish({ port, token, root, queues, perSecond }) {
  const connections = await connect(port, PUBLISHERS);
  const request = (/** @type {number} */ n) => {
    sentMs.set(n, performance.now());
    const path = `${root}/steady-${Math.floor(Math.random() * queues)}?tries=3`;
    return requestBytes('PUT', path, token, String(n).padEnd(BODY_BYTES));
  };
  const onAnswer = (/** @type {number} */ latencyMs) => publishMs.push(latencyMs);
  await runAtRate(connections, { request, expect: 201, perSecond, isOver: () => isOver, onAnswer });
  for (const connection of connections) connection.close();
}

/** One worker: it waits for a job, acknowledges it, and waits again. */
async function work({ port, token, path }) {
  const [connection] = await connect(port, 1);
  const consume = requestBytes('GET', `${path}?ttr=60&timeout=${WAIT_S}`, token);
  while (!isOver || sentMs.size > 0) {
    const { status, body } = await sendRequest(connection, consume, 200, 404);
    if (status === 404) continue;
    const { job_id: id, data } = JSON.parse(body);
    const n = Number.parseInt(Buffer.from(data, 'base64').toString('latin1'), 10);
    deliveryMs.push(performance.now() - (sentMs.get(n) ?? NaN));
    await sendRequest(connection, requestBytes('DELETE', `${path}/job/${id}`, token), 204);
    sentMs.delete(n);
    done++;
  }
  connection.close();
}

/** As many requests of a bare server as jobs of this rate take: one to publish, one to consume, one to acknowledge. */
async function bare({ port, token, root, perSecond, forMs }) {
  const connections = await connect(port, PUBLISHERS);
  const request = () => requestBytes('PUT', `${root}/bare`, token, 'x'.repeat(BODY_BYTES));
  const rate = 3 * perSecond;
  const total = Math.ceil((rate * forMs) / 1_000);
  await runAtRate(connections, { request, expect: 201, perSecond: rate, total });
  for (const connection of connections) connection.close();
  return total / 3;
}

answerParent({
  start,
  bare,
  /** What happened since the last sample. */
  async sample() {
    // Throws if a part of the load has ended with an error.
    await Promise.race([Promise.all(running), pause(0)]);
    const seen = { done, publish: quantiles(publishMs), delivery: quantiles(deliveryMs) };
    [done, publishMs, deliveryMs] = [0, [], []];
    return seen;
  },
  /** Ends the load when all that was published is done. */
  async stop() {
    isOver = true;
    const isDone = await Promise.race([Promise.all(running).then(() => true), pause(REST_MS)]);
    if (!isDone) throw new Error(`${sentMs.size} jobs were never delivered`);
    running = [];
  },
});
