/**
 * The load generator of the rows about waiting: holds thousands of long polls and publishes among them. The parent sends it one
 * command after the other (`load/child-process.mjs`).
 */
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { answerParent, pause } from './child-process.mjs';
import { requestBytes } from './connection.mjs';
import { LongPoll } from './long-poll.mjs';
import { connect, sendRequest, onConnections, runClosedLoop, runAtRate } from './pacing.mjs';
import { quantiles } from '../measure/quantiles.mjs';

// It holds as many polls as the server does, and its own collections are in the latencies that it measures: they are kept short.
setFlagsFromString('--no-parallel-scavenge');

/**
 * Connections that are opened at a time, and the pause after them, in milliseconds. An accept queue that runs over (Node's own is 511
 * long) costs a second each, and it is not what is measured here. One loopback address has ports for 28,000.
 */
const BURST = 100;
const BURST_PAUSE_MS = 15;
const BODY = 'x'.repeat(100);

/** @type {LongPoll[]} */
let polls = [];
/** The first thing that went wrong with a poll: the next command throws it. @type {Error | null} */
let failure = null;
/** Takes a job that a poll was given. @type {(poll: LongPoll, body: string) => void} */
let onJob = (poll) => poll.call();

/** @param {LongPoll} poll @param {number} status @param {string} body */
function onAnswer(poll, status, body) {
  if (status === 200) onJob(poll, body);
  else if (status === 404) poll.call();
  else failure ??= new Error(`a long poll got status ${status}: ${body}`);
}

/** The number that a job's body begins with. @param {string} answer */
function numberIn(answer) {
  const data = /"data":"([^"]+)"/.exec(answer)?.[1] ?? '';
  return Number.parseInt(Buffer.from(data, 'base64').toString('latin1'), 10);
}

/** Opens long polls until there are `count`, the n-th on queue `path` + n mod `queues`. */
async function open({ port, token, path, count, queues, waitS }) {
  while (polls.length < count) {
    const burst = [];
    for (let n = polls.length; n < count && burst.length < BURST; n++) {
      const request = requestBytes('GET', `${path}${n % queues}?timeout=${waitS}&ttr=3600`, token);
      const poll = new LongPoll(port, request, onAnswer, (error) => (failure ??= error));
      polls.push(poll);
      burst.push(poll);
    }
    await Promise.race([Promise.all(burst.map(({ opened }) => opened)), pause(10_000)]);
    if (failure) throw failure;
    for (const poll of burst) poll.call();
    await pause(BURST_PAUSE_MS);
  }
}

/** Publishes at a steady rate to queues that polls wait on: how soon each job is in a consumer's hand. */
async function wake({ port, token, path, queues, count, perSecond }) {
  const publishers = await connect(port, 8);
  /** @type {Float64Array} */
  const sentMs = new Float64Array(count);
  /** @type {number[]} */
  const latencies = [];
  const received = new Promise((resolve) => {
    onJob = (poll, body) => {
      latencies.push(performance.now() - (sentMs[numberIn(body)] ?? NaN));
      poll.call();
      if (latencies.length === count) resolve(true);
    };
  });
  const request = (/** @type {number} */ n) => {
    const queue = `${path}${Math.floor(Math.random() * queues)}`;
    const bytes = requestBytes('PUT', queue, token, String(n).padEnd(BODY.length));
    sentMs[n] = performance.now();
    return bytes;
  };
  await runAtRate(publishers, { request, expect: 201, perSecond, total: count });
  const isWhole = await Promise.race([received, pause(5_000)]);
  for (const publisher of publishers) publisher.close();
  if (failure) throw failure;
  if (!isWhole) throw new Error(`${count - latencies.length} of ${count} jobs woke no client within 5 s`);
  return quantiles(latencies);
}

/** Publishes one job to a queue that many wait on. The consumer that got it stays away until `resume`. */
async function wakeOne({ port, token, path }) {
  const [publisher] = await connect(port, 1);
  if (!publisher) throw new Error('no connection');
  const received = new Promise((resolve) => {
    onJob = (poll) => resolve(polls.indexOf(poll));
  });
  const sentMs = performance.now();
  await sendRequest(publisher, requestBytes('PUT', path, token, BODY), 201);
  const poll = await Promise.race([received, pause(5_000).then(() => -1)]);
  const latencyMs = performance.now() - sentMs;
  publisher.close();
  if (poll === -1) throw new Error('one job and many waiters, and no client got it within 5 s');
  return { poll, latencyMs };
}

answerParent({
  open,
  wake,
  wakeOne,
  resume: ({ poll }) => polls[poll]?.call(),
  close() {
    for (const poll of polls) poll.close();
    polls = [];
    if (failure) throw failure;
  },
  publishPaced({ port, token, path, perSecond, total }) {
    const bytes = requestBytes('PUT', path, token, BODY);
    const row = { request: () => bytes, expect: 201, perSecond, total };
    return onConnections(port, 8, (connections) => runAtRate(connections, row));
  },
  publishClosed({ port, token, path, total }) {
    const bytes = requestBytes('PUT', path, token, BODY);
    const row = { request: () => bytes, expect: 201, total, maxMs: 15_000 };
    return onConnections(port, 64, (connections) => runClosedLoop(connections, row));
  },
});
