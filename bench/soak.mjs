#!/usr/bin/env node
/**
 * The soak: `npm run soak [-- --minutes N] [--rate N] [--workers N] [--out FILE] [--redis PROGRAM] [--server FILE]`.
 *
 * A steady mixed load at half of what the server can do, for 10 minutes (below 5, the heap's own swing hides what leaks). In the end
 * memory of the server and of Redis, latencies and jobs in flight must be flat, no request refused, and no job missing; else it exits
 * with 1. On a busy machine give the rate (jobs per second) that it can bear. A hidden leak fails it, which can be tried:
 *
 *     --leak redis|server     runs with a real one: jobs that are never consumed, or long polls that never end
 *     --prove FILE            takes the samples of an earlier run and adds a leak to each of its series in turn
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { cleaningUp } from './scenarios/standalone.mjs';
import { pause, startLoad } from './load/child-process.mjs';
import { probeServer, residentBytes } from './measure/server-probe.mjs';
import { machine } from './measure/processes.mjs';
import { markdown } from './report/tables.mjs';
import { blindSpots, judge, PROOF_TIMES, SERIES, warmUpOf, withLeak } from './report/soak-verdict.mjs';
import { BUILT_SERVER, NAMESPACE, startServer } from './servers/test-server.mjs';

/** Samples of a run, however long it is: slopes are found between all pairs of them. */
const SAMPLES = 120;
const SHARE_OF_CAPACITY = 0.5;
const BREAK_OFFS_PER_SECOND = 10;
/** The leaks of `--leak`: a share of the jobs, and long polls per second. */
const LEAKED_JOBS = 0.04;
const LEAKED_POLLS_PER_SECOND = 20;
/** The end: broken-off leases of 2 s and delays of 3 s must be over; more would be a hang. */
const FINISH_MS = 30_000;
const MIB = 2 ** 20;

const { values: flags } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string' },
    workers: { type: 'string', default: '1' },
    out: { type: 'string' },
    redis: { type: 'string', default: 'redis-server' },
    server: { type: 'string', default: BUILT_SERVER },
    leak: { type: 'string' },
    prove: { type: 'string' },
  },
});

/** Runs the load and samples. */
async function soak(/** @type {number} */ totalS) {
  const testServer = await startServer({
    program: flags.server,
    redis: flags.redis,
    aof: 'everysec',
    workers: Number(flags.workers),
  });
  const probe = probeServer(testServer);
  const load = startLoad('soak-process.mjs');
  // The AOF of a long run must be rewritten, as it is in production.
  await probe.redis.config('SET', 'auto-aof-rewrite-percentage', 100);
  try {
    const to = { port: testServer.port, token: testServer.token, root: `/api/${NAMESPACE}` };
    const capacity = await load.call('capacity', to);
    const perSecond = flags.rate ? Number(flags.rate) : capacity * SHARE_OF_CAPACITY;
    console.log(
      `${Math.round(capacity)} cycles/s at full load; soaking with ${Math.round(perSecond)} jobs/s for ${totalS} s\n`,
    );
    const leak = flags.leak === 'redis' ? LEAKED_JOBS : 0;
    await load.call('start', { perSecond, leak, breakOffsPerSecond: BREAK_OFFS_PER_SECOND });
    const endLeak = flags.leak === 'server' ? leakPolls(testServer) : async () => undefined;
    const samples = await sampleAll({ testServer, probe, load, totalS });
    await endLeak();
    const account = await load.call('finish', { withinMs: FINISH_MS });
    return { samples, account, capacity, perSecond };
  } finally {
    probe.close();
    await load.stop();
    await testServer.stop();
  }
}

/** @returns {Promise<import('./report/soak-verdict.mjs').Sample[]>} */
async function sampleAll({ testServer, probe, load, totalS }) {
  const startedMs = performance.now();
  const intervalMs = Math.max((totalS * 1_000) / SAMPLES, 500);
  const samples = [];
  for (let n = 1; n * intervalMs <= totalS * 1_000; n++) {
    await pause(startedMs + n * intervalMs - performance.now());
    const { inFlight, publish, delivery } = await load.call('sample');
    const sample = {
      seconds: (performance.now() - startedMs) / 1_000,
      rss: residentBytes(testServer.pids.server),
      redis: await probe.usedMemory(),
      ...publish,
      deliveryP99: delivery.p99,
      inFlight,
    };
    samples.push(sample);
    if (n % (SAMPLES / 12) === 0) console.log(line(sample));
  }
  return samples;
}

/** @param {import('./report/soak-verdict.mjs').Sample} sample */
function line({ seconds, rss, redis, p50, p99, deliveryP99, inFlight }) {
  const memory = `RSS ${(rss / MIB).toFixed(1)} MiB, Redis ${(redis / MIB).toFixed(1)} MiB`;
  const times = `publish p50 ${p50.toFixed(2)} p99 ${p99.toFixed(2)} ms, delivery p99 ${deliveryP99.toFixed(2)} ms`;
  return `${seconds.toFixed(0).padStart(6)} s: ${memory}, ${times}, ${inFlight} in flight`;
}

/** A leak of a server, seen from outside: long polls come and none ever goes. */
function leakPolls(testServer) {
  const load = startLoad('poll-process.mjs');
  let count = 0;
  const timer = setInterval(() => {
    count += LEAKED_POLLS_PER_SECOND;
    const poll = {
      port: testServer.port,
      token: testServer.token,
      path: `/api/${NAMESPACE}/leak-`,
      count,
      queues: 100,
      waitS: 86_400,
    };
    load.call('open', poll).catch((/** @type {Error} */ error) => console.error(error.message));
  }, 1_000);
  return async () => {
    clearInterval(timer);
    await load.stop();
  };
}

/** @param {ReturnType<typeof judge>} verdict */
function verdictTable({ checks }) {
  const number = (/** @type {number} */ value) => value.toFixed(2);
  return markdown({
    header: ['', 'unit', 'level', 'growth', 'bound', 'flat'],
    rows: checks.map(({ name, unit, level, growth, bound, isFlat }) => [
      name,
      unit,
      ...[level, growth, bound].map(number),
      isFlat ? 'yes' : 'NO',
    ]),
  });
}

async function run() {
  const totalS = Number(flags.minutes) * 60;
  const about = machine(flags.redis);
  const { samples, account, ...rates } = await soak(totalS);
  const warmUpS = warmUpOf(totalS);
  const verdict = judge(samples, warmUpS);
  const blind = blindSpots(samples, warmUpS);
  console.log(`\nafter a warm-up of ${warmUpS.toFixed(0)} s:\n\n${verdictTable(verdict)}\n`);
  console.log(
    Object.entries(account)
      .map(([name, count]) => `${count} ${name}`)
      .join(', '),
  );
  if (blind.length > 0) console.log(`too unsteady to see a leak in: ${blind.join(', ')}`);
  const isPassed = verdict.isFlat && blind.length === 0 && account.missing === 0 && account.refused === 0;
  console.log(isPassed ? 'PASSED: flat, and every job done' : 'FAILED');
  save({ machine: about, settings: { ...flags, warmUpS, ...rates }, isPassed, verdict, account, samples });
  if (!isPassed) process.exitCode = 1;
}

/** @param {{ machine: { startedAt: string } }} result */
function save(result) {
  const name = `soak-${result.machine.startedAt.replaceAll(':', '-')}.json`;
  const out = flags.out ?? join(import.meta.dirname, 'results', name);
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(out, `${JSON.stringify(result, null, 2)}\n`);
  console.log(`written to ${out}`);
}

/** Adds a leak of `PROOF_TIMES` its bound to each series of a recorded run; every one must be found. @param {string} file */
function prove(file) {
  const { samples, settings } = JSON.parse(readFileSync(file, 'utf8'));
  const { warmUpS } = settings;
  const rows = SERIES.map(({ key, name }) => {
    const found = judge(withLeak(samples, warmUpS, key, PROOF_TIMES), warmUpS).checks.find(
      (check) => check.key === key,
    );
    return [name, `${found?.growth.toFixed(2)} ${found?.unit}`, found?.isFlat ? 'NO' : 'yes'];
  });
  console.log(markdown({ header: ['hidden leak in', 'growth then', 'found'], rows }));
  if (rows.some(([, , found]) => found === 'NO')) process.exitCode = 1;
}

await cleaningUp(async () => (flags.prove ? prove(flags.prove) : run()));
