/**
 * The mixed load of a soak: everything that clients do all day, at a steady rate. It keeps account of every job, so that in the end
 * none may be missing. The parent starts it, asks for samples and ends it (`load/child-process.mjs`).
 */
import { performance } from 'node:perf_hooks';
import { answerParent, pause } from './child-process.mjs';
import { Connection, requestBytes } from './connection.mjs';
import { connect, sendRequest, runAtRate } from './pacing.mjs';
import { quantiles } from '../measure/quantiles.mjs';

const HOST = '127.0.0.1';
const BODY_BYTES = 100;
const WORK_QUEUES = 8;
/** A passing queue's name is used for so long, in milliseconds. Its consumers ask for the last one, this one and the next. */
const PASSING_MS = 2_000;
/** Broken-off leases come back after their ttr, so a job needs more than one try. */
const TRIES = 30;
const CONSUMERS = 48;
/** No longer than a passing name is new. */
const CONSUMER_WAIT_S = 2;
const PUBLISHERS = 32;
const CAPACITY_MS = 4_000;

/** A job that is on its way. @typedef {{ queue: string, sentMs: number, isDelayed: boolean }} Sent */

/**
 * What is published: the share, and the queue and the query of one.
 *
 * @type {{ kind: string, share: number, to: () => { queue: string, query: string } }[]}
 */
const MIX = [
  { kind: 'work', share: 0.68, to: () => ({ queue: workQueue(), query: `tries=${TRIES}` }) },
  {
    kind: 'delayed',
    share: 0.2,
    to: () => ({ queue: workQueue(), query: `tries=${TRIES}&delay=${1 + Math.floor(Math.random() * 3)}` }),
  },
  { kind: 'passing', share: 0.04, to: () => ({ queue: passingQueue(0), query: `tries=${TRIES}` }) },
  { kind: 'expiring', share: 0.05, to: () => ({ queue: 'expiring', query: 'ttl=2' }) },
  { kind: 'failing', share: 0.03, to: () => ({ queue: 'failing', query: 'tries=1' }) },
];

const workQueue = () => `work-${Math.floor(Math.random() * WORK_QUEUES)}`;
const passingQueue = (/** @type {number} */ ago) => `passing-${Math.floor(Date.now() / PASSING_MS) - ago}`;

let root = '';
let port = 0;
let token = '';
let isOver = false;
/** @type {Promise<unknown>[]} */
let running = [];
/** Jobs that must be consumed and are not yet acknowledged, by their number. @type {Map<number, Sent>} */
const outstanding = new Map();
const counts = { published: 0, acked: 0, redelivered: 0, brokenOff: 0, leaked: 0, refused: 0 };
/** Latencies since the last sample. */
let publishMs = /** @type {number[]} */ ([]);
let deliveryMs = /** @type {number[]} */ ([]);

const put = (queue, query, body) => requestBytes('PUT', `${root}/${queue}?${query}`, token, body);
const get = (queue, query) => requestBytes('GET', `${root}/${queue}?${query}`, token);
const remove = (path) => requestBytes('DELETE', `${root}/${path}`, token);

/** Cycles per second that the server can do: publish, consume, acknowledge, on 64 connections. */
async function capacity(/** @type {any} */ options) {
  ({ port, token, root } = options);
  const connections = await connect(port, 64);
  const endMs = performance.now() + CAPACITY_MS;
  let cycles = 0;
  await Promise.all(
    connections.map(async (connection) => {
      while (performance.now() < endMs) {
        await sendRequest(connection, put('capacity', 'tries=2', 'x'.repeat(BODY_BYTES)), 201);
        const { body } = await sendRequest(connection, get('capacity', 'ttr=60'), 200);
        await sendRequest(connection, remove(`capacity/job/${jobsIn(body)[0]?.id}`), 204);
        cycles++;
      }
      connection.close();
    }),
  );
  return cycles / (CAPACITY_MS / 1_000);
}

/** Starts the load: `perSecond` jobs, of which a share of `leak` is never consumed: a leak for the verdict to find. */
async function start({ perSecond, leak = 0, breakOffsPerSecond }) {
  running = [
    publishMix(perSecond, leak),
    ...Array.from({ length: CONSUMERS }, (_, i) =>
      consume(() => `work-${i % WORK_QUEUES}`, i % 4 === 0 ? 10 : 1),
    ),
    ...Array.from({ length: 4 }, () => consume(() => [1, 0, -1].map(passingQueue).join(), 1)),
    letDie(),
    bury(),
    breakOff(breakOffsPerSecond),
  ];
  // Told by the next command, or by `finish`.
  for (const part of running) part.catch(() => undefined);
}

/** @param {number} perSecond @param {number} leak */
async function publishMix(perSecond, leak) {
  const connections = await connect(port, PUBLISHERS);
  const request = (/** @type {number} */ n) => {
    const body = String(n).padEnd(BODY_BYTES);
    if (Math.random() < leak) {
      counts.leaked++;
      return put('forgotten', 'ttl=0', body);
    }
    let left = Math.random();
    const { kind, to } = MIX.find(({ share }) => (left -= share) < 0) ?? MIX[0];
    const { queue, query } = to();
    counts.published++;
    if (kind !== 'expiring' && kind !== 'failing')
      outstanding.set(n, { queue, sentMs: performance.now(), isDelayed: kind === 'delayed' });
    return put(queue, query, body);
  };
  /** @type {(latencyMs: number, endedMs: number, n: number, status: number) => void} */
  const onAnswer = (latencyMs, _endedMs, n, status) => {
    publishMs.push(latencyMs);
    if (status === 201) return;
    // A rejected job is not stored: no client may expect it.
    counts.refused++;
    outstanding.delete(n);
  };
  await runAtRate(connections, { request, expect: [201, 503], perSecond, isOver: () => isOver, onAnswer });
  for (const connection of connections) connection.close();
}

/** A consumer with a long poll, that acknowledges what it gets. Goes on after the end until nothing is outstanding. */
async function consume(queues, count) {
  const [connection] = await connect(port, 1);
  while (!isOver || outstanding.size > 0) {
    // At the end, old names of passing queues too: no other consumer reads them.
    const names = isOver
      ? [...new Set([...outstanding.values()].map(({ queue }) => queue))].slice(0, 10).join()
      : queues();
    if (names === '') break;
    const query = `ttr=30&timeout=${isOver ? 1 : CONSUMER_WAIT_S}${count > 1 ? `&count=${count}` : ''}`;
    const { status, body } = await persist(connection, get(names, query), 200, 404);
    if (status === 404) continue;
    for (const { id, queue, n, remainingTries } of jobsIn(body)) {
      // A job of a lease that ran out was late by that lease; the others tell how fast the server is.
      if (remainingTries === TRIES - 1) noteDelivery(n);
      await persist(connection, remove(`${queue}/job/${id}`), 204);
      if (outstanding.delete(n)) counts.acked++;
      else counts.redelivered++;
    }
  }
  connection.close();
}

/** Asks again when it is refused, as a good client does. Refusals are counted: at half load there should be none. */
async function persist(connection, request, ...expected) {
  for (;;) {
    const answer = await sendRequest(connection, request, ...expected, 503);
    if (answer.status !== 503) return answer;
    counts.refused++;
    await pause(200);
  }
}

/** @param {number} n */
function noteDelivery(n) {
  const sent = outstanding.get(n);
  if (sent && !sent.isDelayed) deliveryMs.push(performance.now() - sent.sentMs);
}

/** Takes jobs that have one try, and lets their leases run out. */
async function letDie() {
  const [connection] = await connect(port, 1);
  while (!isOver) await persist(connection, get('failing', 'ttr=1&timeout=1&count=50'), 200, 404);
  connection.close();
}

/** Deletes dead jobs; one in some hundreds goes round again. */
async function bury() {
  const [connection] = await connect(port, 1);
  while (!isOver) {
    await pause(250);
    await persist(connection, requestBytes('PUT', `${root}/failing/deadletter?limit=1`, token, ''), 200);
    await persist(connection, remove('failing/deadletter?limit=500'), 204);
  }
  connection.close();
}

/** Clients that hang up while they wait, or while their answer is on the way. */
async function breakOff(/** @type {number} */ perSecond) {
  while (!isOver) {
    await pause((2_000 / perSecond) * Math.random());
    const connection = new Connection(HOST, port);
    await connection.opened;
    const ignore = () => undefined;
    connection.send(get(workQueue(), 'ttr=2&timeout=5'), false, ignore, ignore);
    setTimeout(() => connection.close(), Math.random() * 20);
    counts.brokenOff++;
  }
}

/**
 * The jobs of an answer to a consume, one or many.
 *
 * @param {string} body
 * @returns {{ id: string, queue: string, remainingTries: number, n: number }[]}
 */
function jobsIn(body) {
  const answer = JSON.parse(body);
  return (Array.isArray(answer) ? answer : [answer]).map(({ job_id: id, queue, data, remain_tries }) => ({
    id,
    queue,
    remainingTries: remain_tries,
    n: Number.parseInt(Buffer.from(data, 'base64').toString('latin1'), 10),
  }));
}

/** @param {number[]} values */
const shape = (values) => {
  const { p50, p99 } = quantiles(values);
  return { p50, p99 };
};

answerParent({
  capacity,
  start,
  async sample() {
    // Throws if a part of the load has ended with an error.
    await Promise.race([Promise.all(running), pause(0)]);
    const sample = {
      ...counts,
      inFlight: outstanding.size,
      publish: shape(publishMs),
      delivery: shape(deliveryMs),
    };
    publishMs = [];
    deliveryMs = [];
    return sample;
  },
  /** Ends the load, waits until all jobs are done, and tells how many never came. */
  async finish({ withinMs }) {
    isOver = true;
    await Promise.race([Promise.all(running), pause(withinMs)]);
    return { ...counts, missing: outstanding.size };
  },
});
