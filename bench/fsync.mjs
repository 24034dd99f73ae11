#!/usr/bin/env node
/**
 * What an fsync before each answer costs (`appendfsync always`), beside one a second: publishes and cycles with 64 connections, where
 * many commands share an fsync, and with one, where each waits for its own. Both run in turns. What an fsync takes is measured in the same
 * run and on the same Redis: by how much a bare SET is slower.
 *
 *     runFsync({ program, redis, workers, quick, log }) → { rows: [{ key, name, values, unit, target, met }] }
 *
 * By itself: `node bench/fsync.mjs [--quick]`. Medians of the rounds. The temporary folder must be on a disk.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { startGenerator } from './load/generator.mjs';
import { BODY, cycle, publish } from './load/workloads.mjs';
import { median } from './measure/quantiles.mjs';
import { runStandalone } from './scenarios/standalone.mjs';
import { medianOf } from './scenarios/throughput.mjs';
import { startServer } from './servers/test-server.mjs';

const SIZES = {
  full: { jobs: 20_000, cycles: 6_000, lone: 2_000, syncs: 1_000, rounds: 5 },
  quick: { jobs: 3_000, cycles: 800, lone: 300, syncs: 100, rounds: 1 },
};
/** The least rate of `always`, as a part of that of `everysec`, with 64 connections. */
const LEAST = 0.8;
/** What a command of one connection may take longer: so many fsyncs. */
const MOST_SYNCS = 1;
const POLICIES = /** @type {const} */ (['everysec', 'always']);

/** @param {import('./scenarios/standalone.mjs').Options} options */
export async function runFsync({ program, redis, workers, quick, log }) {
  const size = quick ? SIZES.quick : SIZES.full;
  const servers = await Promise.all(
    POLICIES.map(async (aof) => [aof, await startServer({ program, redis, aof, workers })]),
  );
  const load = startGenerator();
  const measured = [];
  try {
    /** @type {Record<string, number[]>} */
    const sets = { everysec: [], always: [] };
    for (let round = 0; round <= size.rounds; round++) {
      for (const [aof, server] of round % 2 === 0 ? servers : servers.toReversed()) {
        sets[aof]?.push(await medianSet(server.redisPort ?? 0, size.syncs));
        await load.connect(server);
        for (const row of workloadsOf(size)) {
          const one = await load.measure(server, row);
          // The first round is to warm up.
          if (round > 0) measured.push({ ...one, key: `${one.key} ${aof}` });
        }
      }
      log(`round ${round} of ${size.rounds}`);
    }
    return { rows: rowsOf(measured, median(sets.always) - median(sets.everysec)) };
  } finally {
    await load.stop();
    await Promise.all(servers.map(([, server]) => server.stop()));
  }
}

function workloadsOf({ jobs, cycles, lone }) {
  const alone = (row) => ({ ...row, key: `${row.key}-1`, name: `${row.name}, 1 connection`, connections: 1 });
  return [
    publish('many', jobs),
    cycle('cycled', cycles),
    alone(publish('few', lone)),
    alone(cycle('few-cycled', lone)),
  ];
}

/** A SET of a job by one connection, in milliseconds. @param {number} port @param {number} count */
async function medianSet(port, count) {
  const socket = connect(port, '127.0.0.1').setNoDelay(true);
  const times = [];
  for (let i = 0; i < count; i++) {
    const beganMs = performance.now();
    socket.write(`SET bench ${String(BODY)}\r\n`);
    await once(socket, 'data');
    times.push(performance.now() - beganMs);
  }
  socket.destroy();
  return median(times);
}

function rowsOf(measured, syncMs) {
  return workloadsOf(SIZES.full).map(({ key, name }) => {
    const [every, always] = POLICIES.map((aof) =>
      medianOf(measured.filter((row) => row.key === `${key} ${aof}`)),
    );
    const [ratio, laterMs] = [always.rate / every.rate, always.p50 - every.p50];
    const isAlone = key.endsWith('-1');
    // A publish is one command, and a cycle three calls.
    const syncs = key.startsWith('cycle') ? 3 * MOST_SYNCS : MOST_SYNCS;
    return {
      ...{ key: `fsync-${key}`, name, unit: 'per second, ms' },
      values: {
        ...{ everysec: every.rate, always: always.rate, ratio },
        ...{ 'p50 everysec': every.p50, 'p50 always': always.p50, 'an fsync': syncMs },
      },
      target: isAlone ? `p50 ≤ + ${syncs} fsync` : `≥ ${LEAST} ×`,
      met: isAlone ? laterMs <= syncs * syncMs : ratio >= LEAST,
    };
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runStandalone(runFsync);
