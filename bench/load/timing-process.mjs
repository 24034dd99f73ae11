/**
 * The load generator of the rows about time: it publishes, waits and keeps the clock (its own, monotonic, for every difference of
 * two moments). The parent asks it for one thing after the other (`load/child-process.mjs`).
 */
import { performance } from 'node:perf_hooks';
import { answerParent, pause } from './child-process.mjs';
import { requestBytes } from './connection.mjs';
import { sendRequest, onConnections, runClosedLoop, runAtRate } from './pacing.mjs';
import { quantiles } from '../measure/quantiles.mjs';

const BODY = 'x'.repeat(100);
/** Long polls are asked again until the job comes; they never end within a run. */
const WAIT_S = 60;
/** Publishes of a paced load wait for a free connection on their own account; so many are enough for any rate here. */
const PACED_CONNECTIONS = 64;

/**
 * How late a delayed job is in the hand of a consumer that waits for it. It is due no sooner than the publish request's sending plus the
 * delay: so both trips over HTTP count as lateness, and a negative value would be a job that came early, whatever the clocks.
 */
function lateness({ port, token, path, jobs, delayS, perSecond, consumers }) {
  return onConnections(port, consumers + 8, async (connections) => {
    const sentMs = new Float64Array(jobs);
    /** @type {number[]} */
    const late = [];
    const consume = requestBytes('GET', `${path}?timeout=${WAIT_S}&ttr=600`, token);
    const received = new Promise((resolve, reject) => {
      const wait = async (connection) => {
        while (late.length < jobs) {
          const { status, body } = await sendRequest(connection, consume, 200, 404);
          if (status === 200) late.push(performance.now() - (sentMs[numberIn(body)] ?? NaN) - delayS * 1_000);
        }
        resolve(true);
      };
      for (const connection of connections.slice(0, consumers)) wait(connection).catch(reject);
    });
    const request = (n) => {
      const bytes = requestBytes('PUT', `${path}?delay=${delayS}`, token, String(n).padEnd(BODY.length));
      sentMs[n] = performance.now();
      return bytes;
    };
    await runAtRate(connections.slice(consumers), { request, expect: 201, perSecond, total: jobs });
    const isWhole = await Promise.race([received, pause(delayS * 1_000 + 15_000)]);
    if (!isWhole) throw new Error(`${jobs - late.length} of ${jobs} delayed jobs did not come`);
    return quantiles(late);
  });
}

/** The number that a job's body begins with. @param {string} answer */
function numberIn(answer) {
  const data = /"data":"([^"]+)"/.exec(answer)?.[1] ?? '';
  return Number.parseInt(Buffer.from(data, 'base64').toString('latin1'), 10);
}

/**
 * Leases without an ack: from the lease to the next delivery, to a waiting consumer. The lease begins somewhere between
 * the sending of its request and the arrival of its answer, so the time from the one is never too short, and from the
 * other never too long.
 */
function ttr({ port, token, path, pairs, rounds, ttrS }) {
  return onConnections(port, 2 * pairs, async (connections) => {
    /** @type {number[]} */
    const fromRequest = [];
    /** @type {number[]} */
    const fromAnswer = [];
    const leaseTwice = async (/** @type {number} */ pair) => {
      const queue = `${path}-${pair}`;
      const [first, second] = [connections[2 * pair], connections[2 * pair + 1]];
      for (let round = 0; round < rounds; round++) {
        await pause(Math.random() * 300);
        await sendRequest(first, requestBytes('PUT', `${queue}?tries=2`, token, BODY), 201);
        const requestMs = performance.now();
        const leased = await sendRequest(first, requestBytes('GET', `${queue}?ttr=${ttrS}`, token), 200);
        const answerMs = performance.now();
        const again = requestBytes('GET', `${queue}?ttr=600&timeout=${WAIT_S}`, token);
        const { body } = await sendRequest(second, again, 200);
        const endMs = performance.now();
        if (idIn(body) !== idIn(leased.body)) throw new Error('another job came than the one leased');
        fromRequest.push(endMs - requestMs);
        fromAnswer.push(endMs - answerMs);
        await sendRequest(second, requestBytes('DELETE', `${queue}/job/${idIn(body)}`, token), 204);
      }
    };
    await Promise.all(Array.from({ length: pairs }, (_, pair) => leaseTwice(pair)));
    return { fromRequest: quantiles(fromRequest), fromAnswer: quantiles(fromAnswer) };
  });
}

/** @param {string} answer */
function idIn(answer) {
  return /"job_id":"([^"]+)"/.exec(answer)?.[1] ?? '';
}

/**
 * Schedules `jobs` for one instant, as closely as delays in whole seconds allow: it sends only in the first part of each second of the
 * wall clock (the one that Redis, on this machine, reads too), each time with a delay that ends `atMs`.
 *
 * @returns how many it published, and between which moments (Unix ms) they are all due
 */
function schedule({ port, token, path, jobs, bulk, atMs, burstMs }) {
  const elements = JSON.stringify(Array(bulk).fill(BODY.slice(2)));
  return onConnections(port, 64, async (connections) => {
    const window = { published: 0, firstMs: Infinity, lastMs: 0 };
    let begun = 0;
    const loop = async (connection) => {
      while (begun < jobs) {
        const delayS = Math.floor((atMs + 500 - Date.now()) / 1_000);
        // The last second before is for coming to rest.
        if (delayS < 2) return;
        const intoSecond = (Date.now() - atMs + 3_600_000) % 1_000;
        if (intoSecond >= burstMs) {
          await pause(1_000 - intoSecond);
          continue;
        }
        begun += bulk;
        const sentMs = Date.now();
        await sendRequest(
          connection,
          requestBytes('PUT', `${path}/bulk?delay=${delayS}`, token, elements),
          201,
        );
        window.published += bulk;
        window.firstMs = Math.min(window.firstMs, sentMs + delayS * 1_000);
        window.lastMs = Math.max(window.lastMs, Date.now() + 1 + delayS * 1_000);
      }
    };
    await Promise.all(connections.map(loop));
    return window;
  });
}

/** A paced load that goes on until it is told to stop; its latencies by the moment of their answers (Unix ms). */
const steady = { isOver: true, answers: /** @type {{ latencyMs: number, at: number }[]} */ ([]), done: null };

answerParent({
  lateness,
  ttr,
  schedule,
  publishClosed({ port, token, path, total, maxMs = 15_000 }) {
    const bytes = requestBytes('PUT', path, token, BODY);
    const row = { request: () => bytes, expect: 201, total, maxMs };
    return onConnections(port, 64, (connections) => runClosedLoop(connections, row));
  },
  startSteady({ port, token, path, perSecond }) {
    const bytes = requestBytes('PUT', path, token, BODY);
    const offsetMs = Date.now() - performance.now();
    steady.isOver = false;
    steady.answers = [];
    const onAnswer = (latencyMs, endedMs) => steady.answers.push({ latencyMs, at: endedMs + offsetMs });
    const row = { request: () => bytes, expect: 201, perSecond, isOver: () => steady.isOver, onAnswer };
    steady.done = onConnections(port, PACED_CONNECTIONS, (connections) => runAtRate(connections, row));
  },
  /** Ends it; what was under way between the two moments, or at any time, is told. */
  async stopSteady({ fromMs = 0, toMs = Infinity }) {
    steady.isOver = true;
    const { rate } = await steady.done;
    // A request that was under way at some time of the window began before its end, and ended after its beginning.
    const meanwhile = steady.answers.filter(({ at, latencyMs }) => at >= fromMs && at - latencyMs <= toMs);
    return { rate, ...quantiles(meanwhile.map(({ latencyMs }) => latencyMs)) };
  },
});
