/** How much a server can do, and what it costs: all kinds of requests, on fresh stages, against bare node:http in the same run. */
import { BARE_RATE, lmstfyOf, targetOf } from './goals.mjs';
import { median } from './quantiles.mjs';
import { ack, BATCH_ACK_PATH, consume, publish, rowsOf } from './rows.mjs';
import { onServer, startBare } from './stage.mjs';

/** Name → what the stage runs on. */
export const STAGES = {
  '1 worker, AOF off': { aof: /** @type {const} */ ('off'), workers: 1 },
  '1 worker, AOF everysec': { aof: /** @type {const} */ ('everysec'), workers: 1 },
  '2 workers, AOF off': { aof: /** @type {const} */ ('off'), workers: 2 },
  '2 workers, AOF everysec': { aof: /** @type {const} */ ('everysec'), workers: 2 },
};

/**
 * One stage's figures. `e` is the bare server's CPU seconds per million requests in this stage, `rows` begin with the bare
 * server's own. Medians, where rows were repeated.
 *
 * @typedef {{ aof: 'off' | 'everysec', workers: number, e: number, bareRate: number, rows: Measured[] }} StageFigures
 * @typedef {import('./generator.mjs').Measured} Measured
 */

/**
 * @param {import('./run.mjs').Context} context
 * @param {keyof typeof STAGES} name
 * @returns {Promise<StageFigures>}
 */
export async function runStage(context, name) {
  const kind = STAGES[name];
  const repeated = await onServer({ ...context, ...kind }, (stage) => playRepeatedly(context, stage));
  return { ...kind, ...repeated };
}

/**
 * All rows as often as the size says, the bare server before, between and after.
 *
 * @param {import('./run.mjs').Context} context
 * @param {import('./stage.mjs').Stage} stage
 * @param {{ onRefused?: (row: string, why: string) => void }} [options] onRefused: hears which row the server does not play as it should, and the run goes on; left out, the run fails
 */
export async function playRepeatedly({ load, size, log }, stage, { onRefused } = {}) {
  const { throughput } = size;
  const has = { batchAck: await knowsBatchAck(stage) };
  if (!has.batchAck) log(`no batch ack: the server does not know POST ${BATCH_ACK_PATH}`);
  await load.connect(stage);
  await warmUp(load, stage, throughput.warm, { has, onRefused: onRefused && (() => undefined) });
  const bare = [await measureBare(load, throughput)];
  /** @type {Measured[]} */
  const played = [];
  for (let round = 0; round < throughput.repeats; round++) {
    await load.connect(stage);
    played.push(...(await playRows(load, stage, rowsOf(throughput, has), onRefused)));
    bare.push(await measureBare(load, throughput));
  }
  const yardstick = medianOf(bare);
  const keys = new Set(played.map(({ key }) => key));
  const rows = Array.from(keys, (key) => medianOf(played.filter((row) => row.key === key)));
  return { e: yardstick.server, bareRate: yardstick.rate, rows: [yardstick, ...rows] };
}

/**
 * @param {import('./generator.mjs').Generator} load
 * @param {import('./stage.mjs').Stage} stage
 * @param {any[]} rows
 * @param {(row: string, why: string) => void} [onRefused]
 */
async function playRows(load, stage, rows, onRefused) {
  /** @type {Measured[]} */
  const played = [];
  for (const row of rows) {
    try {
      const measured = await load.measure(stage, row);
      // What the last row leased and no row acknowledges is acknowledged unseen.
      if (!row.unseen) played.push(measured);
    } catch (error) {
      if (!onRefused) throw error;
      onRefused(row.name, error instanceof Error ? error.message : String(error));
      await load.connect(stage);
    }
  }
  return played;
}

/**
 * The bare server, fresh, under the PUT of a publish.
 *
 * @param {import('./generator.mjs').Generator} load
 * @param {{ bare: number }} size
 * @param {import('./rows.mjs').Variant} [variant]
 * @param {number} [redisPort] it stores each body there
 */
export async function measureBare(load, { bare }, variant = {}, redisPort = undefined) {
  const stage = await startBare(redisPort);
  try {
    await load.connect(stage);
    await load.measure(stage, publish('warm', bare / 5));
    const measured = await load.measure(
      stage,
      publish('row', bare, { name: 'bare node:http, same PUT', ...variant }),
    );
    return { ...measured, key: 'bare' };
  } finally {
    await stage.stop();
  }
}

/**
 * Runs the code of every row until it is compiled.
 *
 * @param {import('./generator.mjs').Generator} load
 * @param {import('./stage.mjs').Stage} stage
 * @param {number} total
 * @param {{ has?: { batchAck: boolean }, onRefused?: (row: string, why: string) => void }} [options]
 */
export function warmUp(load, stage, total, { has = { batchAck: false }, onRefused } = {}) {
  const few = rowsOf({ jobs: total / 4, cycles: total / 4 }, has).slice(3);
  const rows = [publish('warm', total), consume('warm', total), ack(total), ...few];
  return playRows(load, stage, rows, onRefused);
}

/** @param {import('./stage.mjs').Stage} stage */
async function knowsBatchAck({ host = '127.0.0.1', port, token }) {
  const body = JSON.stringify({ acks: [{ queue: 'many', id: '01HZZZZZZZZZZZZZZZZZZZZZZZ', lease: 1 }] });
  const url = `http://${host}:${port}${BATCH_ACK_PATH}`;
  const headers = { 'X-Token': token, 'Content-Type': 'application/json' };
  const { status } = await fetch(url, { method: 'POST', headers, body });
  return status === 200;
}

/** The median of each figure. @param {Measured[]} measured the same row, again and again @returns {Measured} */
export function medianOf(measured) {
  const [first] = measured;
  if (!first) throw new Error('nothing was measured');
  const entries = Object.entries(first).map(([figure, value]) => [
    figure,
    typeof value === 'number' ? median(measured.map((one) => Number(one[figure]))) : value,
  ]);
  return Object.fromEntries(entries);
}

/**
 * A row held against its target, which is scaled to this machine.
 *
 * @param {StageFigures} stage
 * @param {Measured} row
 */
export function judge({ aof, e, bareRate }, row) {
  const scale = bareRate / BARE_RATE;
  const target = targetOf(aof, row.key);
  const theirs = lmstfyOf(aof, row.key);
  const multiple = (row.server + row.redis) / e;
  const targetRate = target.rate && target.rate * scale;
  return {
    multiple,
    target: { e: target.e, rate: targetRate },
    lmstfy: { e: theirs.e, rate: theirs.rate && theirs.rate * scale },
    /** Null: no target. */
    isCheap: target.e === undefined || Number.isNaN(multiple) ? null : multiple <= target.e,
    isFast: targetRate === undefined ? null : row.rate >= targetRate,
  };
}

/**
 * One verdict for each kind of request, with the number of workers that serves it better: a server may run as many as is best.
 *
 * @param {Record<string, StageFigures>} stages
 * @returns {import('./targets.mjs').Row[]}
 */
export function throughputVerdicts(stages) {
  return ['off', 'everysec'].flatMap((aof) => {
    const played = Object.values(stages).filter((stage) => stage.aof === aof);
    return (played[0]?.rows ?? []).flatMap(({ key }) => verdictOf(played, key) ?? []);
  });
}

/** @param {StageFigures[]} played @param {string} key @returns {import('./targets.mjs').Row | null} */
function verdictOf(played, key) {
  const candidates = played.flatMap((stage) => {
    const row = stage.rows.find((one) => one.key === key);
    return row ? [{ stage, row, ...judge(stage, row) }] : [];
  });
  const failures = (/** @type {any} */ { isCheap, isFast }) => (isCheap === false) + (isFast === false);
  candidates.sort((a, b) => failures(a) - failures(b) || a.multiple - b.multiple);
  const [best] = candidates;
  if (!best || (best.isCheap === null && best.isFast === null)) return null;
  const { stage, row, multiple, target } = best;
  const wanted = [
    ...(target.e === undefined ? [] : [`≤ ${target.e} E`]),
    ...(target.rate === undefined ? [] : [`≥ ${Math.round(target.rate).toLocaleString('en')}/s`]),
  ];
  return {
    key: stage.aof === 'off' ? key : `${key}-aof`,
    name: `${row.name}${stage.aof === 'off' ? '' : ', AOF everysec'}`,
    values: { E: multiple, 'per second': row.rate, workers: stage.workers },
    unit: '',
    target: wanted.join(', '),
    met: failures(best) === 0,
  };
}
