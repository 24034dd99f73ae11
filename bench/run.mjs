#!/usr/bin/env node
/**
 * The benchmark: `npm run bench [-- --quick] [--out FILE] [--only "PART;…"] [--redis PROGRAM] [--server FILE]`.
 *
 * It starts its own Redis and the built server, plays every row with one load generator, prints tables and writes JSON. What it
 * counts first is CPU seconds per million operations, from /proc: unlike rates, they hardly change on a busy machine.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { cleanUp, machine, startModule, stop } from './machine.mjs';
import { restTable, stageTable } from './report.mjs';
import { ack, BODY, BULK, bulk, consume, PATH, publish, rowsOf } from './rows.mjs';
import { BUILT_SERVER, startBare, startServer } from './stage.mjs';

const CONNECTIONS = 64;
/** A row that takes longer is cut: its figures then stand for fewer operations. */
const ROW_MS = 15_000;

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    out: { type: 'string' },
    only: { type: 'string' },
    redis: { type: 'string', default: 'redis-server' },
    server: { type: 'string', default: BUILT_SERVER },
  },
});
/** Sizes of a run: operations per row, and jobs for the memory figures. */
const SIZE = flags.quick
  ? { jobs: 15_000, cycles: 5_000, warm: 4_000, memory: 100_000, late: 150, due: 30_000 }
  : { jobs: 60_000, cycles: 20_000, warm: 12_000, memory: 1_000_000, late: 500, due: 100_000 };
/** Name → what the stage runs on. */
const STAGES = {
  '1 worker, AOF off': { aof: 'off', workers: 1 },
  '1 worker, AOF everysec': { aof: 'everysec', workers: 1 },
  '2 workers, AOF everysec': { aof: 'everysec', workers: 2 },
  ...(flags.quick ? {} : { '2 workers, AOF off': { aof: 'off', workers: 2 } }),
};

const load = startModule(join(import.meta.dirname, 'load.mjs'));

/** Asks the load generator. @param {object} message @returns {Promise<any>} */
function ask(message) {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new Error('the load generator has ended'));
    load.child.once('exit', gone);
    load.child.once('message', (answer) => {
      load.child.off('exit', gone);
      if (answer.error) reject(new Error(answer.error));
      else resolve(answer.result);
    });
    load.child.send(message);
  });
}

/**
 * Plays one row and says what it cost. `per` is how many jobs one request moves.
 *
 * @param {import('./stage.mjs').Stage} stage
 * @param {any} row
 */
async function measure(stage, { per = 1, key, ...row }) {
  const before = stage.cpu();
  const { operations, seconds, ...latency } = await ask({ command: 'play', maxMs: ROW_MS, ...row });
  const after = stage.cpu();
  const units = operations * per;
  const perMillion = (/** @type {'server' | 'redis'} */ who) => ((after[who] - before[who]) / units) * 1e6;
  const result = { key, name: row.name, operations: units, rate: units / seconds };
  return { ...result, ...latency, server: perMillion('server'), redis: perMillion('redis') };
}

/** Runs the code of every row until it is compiled. */
async function warmUp(stage) {
  const total = SIZE.warm;
  for (const row of [
    publish('warm', total),
    consume('warm', total),
    ack('warm', total),
    ...rowsOf({ jobs: total / 4, cycles: total / 4 }).slice(3),
  ]) {
    await measure(stage, row);
  }
}

/** @param {string} name */
function runStage(name) {
  return onStage(STAGES[name], async (stage) => {
    await warmUp(stage);
    const rows = [];
    for (const row of rowsOf(SIZE)) rows.push(await measure(stage, row));
    return rows;
  });
}

async function runBare() {
  const stage = await startBare();
  try {
    await connect(stage);
    await measure(stage, publish('warm', SIZE.warm));
    return {
      ...(await measure(stage, publish('row', 2 * SIZE.jobs, 'bare node:http, same PUT'))),
      key: 'bare',
    };
  } finally {
    await stage.stop();
  }
}

/**
 * Runs `act` on a server of its own.
 *
 * @template T
 * @param {{ aof: 'off' | 'everysec', workers: number }} kind
 * @param {(stage: import('./stage.mjs').Stage) => Promise<T>} act
 */
async function onStage(kind, act) {
  const stage = await startServer({ program: flags.server, redis: flags.redis, ...kind });
  try {
    await connect(stage);
    return await act(stage);
  } finally {
    await stage.stop();
  }
}

/** @param {import('./stage.mjs').Stage} stage */
function connect(stage) {
  return ask({ command: 'connect', port: stage.port, token: stage.token, connections: CONNECTIONS });
}

/** Lateness, the pump's rate and the bytes per job. */
async function runRest() {
  const kind = { aof: /** @type {const} */ ('everysec'), workers: 1 };
  const times = await onStage(kind, async (stage) => {
    await warmUp(stage);
    const spreadMs = flags.quick ? 3_000 : 8_000;
    const late = { path: `${PATH}/late`, jobs: SIZE.late, waiting: CONNECTIONS / 2, delayS: 1, spreadMs };
    const lateness = await ask({ command: 'lateness', ...late });
    await connect(stage);
    return { lateness, due: await dueRate(stage) };
  });
  // On an empty Redis each: its tables double at powers of two, and one million stays below the next.
  const ready = await onStage({ ...kind, aof: 'off' }, (stage) => bytesPerJob(stage, ''));
  const scheduled = await onStage({ ...kind, aof: 'off' }, (stage) => bytesPerJob(stage, '?delay=7200'));
  return { ...times, bytes: { ready, scheduled } };
}

/** Publishes jobs that come due within one second, and looks how soon all are ready. */
async function dueRate(stage) {
  const size = async () => {
    const response = await fetch(`http://127.0.0.1:${stage.port}${PATH}/due/size`, {
      headers: { 'X-Token': stage.token },
    });
    return (await response.json()).size;
  };
  const startedMs = Date.now();
  const delayMs = flags.quick ? 4_000 : 10_000;
  let published = 0;
  while (published < SIZE.due) {
    const delayS = Math.floor((delayMs - (Date.now() - startedMs)) / 1_000);
    if (delayS < 1) break;
    published += (await measure(stage, bulk('due', SIZE.due / 40, `?delay=${delayS}`))).operations;
  }
  // Every job is due within the second before this moment; what is ready by then was made ready in time.
  const dueMs = startedMs + delayMs - 1_000;
  await new Promise((resolve) => setTimeout(resolve, Math.max(dueMs - Date.now(), 0)));
  const before = stage.cpu();
  while ((await size()) < published) {
    if (Date.now() > dueMs + 60_000) throw new Error('due jobs do not become ready');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const after = stage.cpu();
  const perMillion = (/** @type {'server' | 'redis'} */ who) =>
    ((after[who] - before[who]) / published) * 1e6;
  const rate = (published / (Date.now() - dueMs)) * 1_000;
  return { operations: published, rate, server: perMillion('server'), redis: perMillion('redis') };
}

/** @param {import('./stage.mjs').Stage} stage @param {string} query */
async function bytesPerJob(stage, query) {
  const before = await stage.usedMemory();
  const row = { ...bulk('bytes', SIZE.memory, query), maxMs: 60_000 };
  const { operations } = await measure(stage, row);
  return ((await stage.usedMemory()) - before) / operations;
}

/**
 * All wanted stages. E is measured before and after each one, and counts as the mean of both for it.
 *
 * @param {string[]} names
 * @param {(text: string) => void} say
 */
async function runStages(names, say) {
  /** @type {Record<string, { e: number, rows: any[] }>} */
  const stages = {};
  let before = await runBare();
  for (const name of names) {
    const rows = await runStage(name);
    const after = await runBare();
    const e = (before.server + after.server) / 2;
    stages[name] = { e, rows: [{ ...after, server: e }, ...rows] };
    say(`**${name}**, E = ${e.toFixed(1)}\n\n${stageTable(stages[name].rows, e)}\n`);
    before = after;
  }
  return stages;
}

async function main() {
  const startedMs = Date.now();
  const about = machine(flags.redis);
  const isWanted = (/** @type {string} */ name) =>
    !flags.only || flags.only.split(';').some((part) => name.includes(part.trim()));
  const say = (/** @type {string} */ text) => console.log(text);
  const { cpu, cores, node, redis, commit, startedAt, loadAverageBefore } = about;
  say(`${cpu}, ${cores} cores; Node ${node}, Redis ${redis}; commit ${commit}, ${startedAt.slice(0, 16)}Z;`);
  say(
    `load average before: ${loadAverageBefore.join(' ')}. CPU columns are seconds per million operations.\n`,
  );

  const stages = await runStages(Object.keys(STAGES).filter(isWanted), say);
  const rest = isWanted('rest') ? await runRest() : {};
  if (isWanted('rest')) say(`**Times and bytes**\n\n${restTable(rest)}\n`);

  const seconds = (Date.now() - startedMs) / 1_000;
  const settings = {
    connections: CONNECTIONS,
    bodyBytes: BODY.length,
    bulk: BULK,
    size: SIZE,
    quick: flags.quick,
  };
  const out = flags.out ?? join(import.meta.dirname, 'results', `${startedAt.replaceAll(':', '-')}.json`);
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(out, `${JSON.stringify({ machine: about, settings, seconds, stages, ...rest }, null, 2)}\n`);
  say(`${seconds.toFixed(0)} s; written to ${out}`);
  await stop(load, 'SIGKILL');
}

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    cleanUp();
    process.exit(1);
  });
}
try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  cleanUp();
}
