#!/usr/bin/env node
/**
 * How exact the clock of the queue is: delays, leases that run out, and many jobs that come due at one instant.
 *
 *     runTiming({ program, redis, workers, quick, log }) → { rows: [{ key, name, values, unit, target, met }] }
 *
 * By itself: `node bench/timing.mjs [--quick] [--workers N]`. AOF everysec. Load and clock are in two processes of their own, so that
 * the one that keeps the clock is not busy with the load.
 */
import { fileURLToPath } from 'node:url';
import { runStandalone } from './scenarios/standalone.mjs';
import { pause, startLoad } from './load/child-process.mjs';
import { probeServer } from './measure/server-probe.mjs';
import { NAMESPACE, startServer } from './servers/test-server.mjs';

const PATH = `/api/${NAMESPACE}`;
const BULK = 64;
/** Due jobs are published within so long of each second. Wider, and they are not due at one instant; narrower, and it takes all day. */
const BURST_MS = 100;
/** Publishes of others, per second, while many jobs come due. */
const OTHERS_PER_SECOND = 500;
/** Calls of Redis that are looked at, in microseconds. */
const SLOW_US = 1_000;

const SIZES = {
  full: { late: 1_000, latePerSecond: 60, pairs: 25, rounds: 8, due: 300_000, warm: 20_000, rateMs: 4_000 },
  quick: { late: 100, latePerSecond: 100, pairs: 25, rounds: 1, due: 10_000, warm: 8_000, rateMs: 500 },
};

/** @param {import('./scenarios/standalone.mjs').Options} options */
export async function runTiming({ program, redis, workers, quick, log }) {
  const size = quick ? SIZES.quick : SIZES.full;
  const testServer = await startServer({ program, redis, aof: 'everysec', workers });
  const [clock, load] = [startLoad('timing-process.mjs'), startLoad('timing-process.mjs')];
  try {
    const to = { port: testServer.port, token: testServer.token };
    await load.call('publishClosed', { ...to, path: `${PATH}/warm`, total: size.warm });
    await clock.call('lateness', { ...to, ...latenessOf(size, 'warm-late'), jobs: size.late / 4 });
    const idle = await clock.call('lateness', { ...to, ...latenessOf(size, 'late') });
    log('delays on an idle server: done');
    const ttr = await clock.call('ttr', { ...to, path: `${PATH}/ttr`, ttrS: 1, ...size });
    log('leases: done');
    const half = await atHalfLoad({ to, clock, load, size });
    log(`delays at half load, ${Math.round(half.rate)} publishes/s: done`);
    const due = await dueAtOnce({ testServer, to, clock, load, size });
    return { rows: workloadsOf({ idle, ttr, half, due }) };
  } finally {
    await clock.stop();
    await load.stop();
    await testServer.stop();
  }
}

function latenessOf({ late, latePerSecond }, queue) {
  return { path: `${PATH}/${queue}`, jobs: late, perSecond: latePerSecond, delayS: 1, consumers: 32 };
}

/** Half of the publishes that the server was just seen to take, on another queue, while delays are measured. */
async function atHalfLoad({ to, clock, load, size }) {
  const path = `${PATH}/load`;
  const full = await load.call('publishClosed', { ...to, path, total: 1e9, maxMs: size.rateMs });
  await load.call('startSteady', { ...to, path, perSecond: full.rate / 2 });
  await pause(500);
  const late = await clock.call('lateness', { ...to, ...latenessOf(size, 'late-at-load') });
  const { rate } = await load.call('stopSteady');
  return { ...late, rate };
}

/** Many jobs due at one instant: how soon all are ready, the longest script meanwhile, and what others notice. */
async function dueAtOnce({ testServer, to, clock, load, size }) {
  const probe = probeServer(testServer);
  try {
    // Seconds that publishing takes, at 10,000 jobs per burst (slow machines manage that), and some to come to rest.
    const aheadS = Math.ceil(size.due / 10_000) + 4;
    const atMs = Date.now() + aheadS * 1_000;
    const path = `${PATH}/due`;
    const jobs = { path, jobs: size.due, bulk: BULK, atMs, burstMs: BURST_MS };
    const window = await load.call('schedule', { ...to, ...jobs });
    await clock.call('startSteady', { ...to, path: `${PATH}/others`, perSecond: OTHERS_PER_SECOND });
    await pause(window.firstMs - 500 - Date.now());
    const early = await readyBefore(to, path, window.firstMs);
    await probe.watchSlow(SLOW_US);
    const before = testServer.cpu();
    const readyMs = await untilReady(to, path, window);
    const after = testServer.cpu();
    const scripts = await probe.slowScripts();
    const others = await clock.call('stopSteady', { fromMs: window.firstMs, toMs: readyMs });
    const seconds = (readyMs - window.firstMs) / 1_000;
    const perJob = (who) => ((after[who] - before[who]) / window.published) * 1e6;
    const cpu = { server: perJob('server'), redis: perJob('redis') };
    return { ...window, early, rate: window.published / seconds, seconds, scripts, others, cpu };
  } finally {
    probe.close();
  }
}

/** @returns {Promise<number>} the moment (Unix ms) at which all were seen to be ready */
async function untilReady(to, path, { firstMs, published }) {
  await pause(firstMs - Date.now());
  while ((await readySize(to, path)) < published) {
    if (Date.now() > firstMs + 60_000) throw new Error('due jobs do not become ready');
    await pause(10);
  }
  return Date.now();
}

/** Jobs that are ready before the first may be; NaN if the answer came too late to say. */
async function readyBefore(to, path, firstMs) {
  const size = await readySize(to, path);
  return Date.now() < firstMs ? size : NaN;
}

async function readySize({ port, token }, path) {
  const response = await fetch(`http://127.0.0.1:${port}${path}/size`, { headers: { 'X-Token': token } });
  if (response.status !== 200) throw new Error(`size: status ${response.status}`);
  return /** @type {{ size: number }} */ (await response.json()).size;
}

/** @returns {import('./report/target-table.mjs').Row[]} */
function workloadsOf({ idle, ttr, half, due }) {
  const row = (key, name, values, unit, target, met) => ({ key, name, values, unit, target, met });
  const late = ({ min, p50, p99, max }) => ({ earliest: min, p50, p99, max });
  const [longest = 0] = due.scripts;
  const { fromRequest, fromAnswer } = ttr;
  const spanMs = due.lastMs - due.firstMs;
  return [
    row(
      'late-idle',
      'lateness of a delay of 1 s, idle',
      late(idle),
      'ms',
      'p99 ≤ 10, earliest ≥ 0',
      idle.p99 <= 10 && idle.min >= 0,
    ),
    row(
      'late-load',
      `lateness at half load, ${Math.round(half.rate).toLocaleString('en')} publishes/s`,
      late(half),
      'ms',
      'p99 ≤ 50, earliest ≥ 0',
      half.p99 <= 50 && half.min >= 0,
    ),
    row(
      'ttr',
      'ttr=1: lease request sent → next delivery',
      late(fromRequest),
      'ms',
      'earliest ≥ 1,000, p99 ≤ 1,010',
      fromRequest.min >= 1_000 && fromRequest.p99 <= 1_010,
    ),
    row(
      'ttr-answer',
      'ttr=1: lease answer in hand → next delivery',
      late(fromAnswer),
      'ms',
      'p99 ≤ 1,010',
      fromAnswer.p99 <= 1_010,
    ),
    row(
      'due',
      `${due.published.toLocaleString('en')} jobs due within ${spanMs} ms → ready`,
      { 'jobs/s': due.rate, seconds: due.seconds, 'ready before': due.early },
      '',
      '≥ 150,000 jobs/s, none before',
      due.rate >= 150_000 && due.early === 0,
    ),
    row('due-cpu', 'CPU per due job', due.cpu, 'µs', '', null),
    row(
      'due-script',
      'longest script meanwhile',
      { longest, 'above 1 ms': due.scripts.length, 'above 3 ms': due.scripts.filter((ms) => ms > 3).length },
      'ms, calls',
      '≤ 3 ms',
      longest <= 3,
    ),
    row(
      'due-others',
      `publishes of others meanwhile, ${OTHERS_PER_SECOND}/s`,
      { count: due.others.count, p50: due.others.p50, p99: due.others.p99, max: due.others.max },
      'ms',
      'p99 < 20',
      due.others.p99 < 20,
    ),
  ];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runStandalone(runTiming);
