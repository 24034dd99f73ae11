/** How much a server can do, and what it costs: all kinds of requests, on fresh configurations, against bare node:http in the same run. */
import { BARE_RATE, lmstfyOf, targetOf } from '../report/targets.mjs';
import { median } from '../measure/quantiles.mjs';
import { ack, BATCH_ACK_PATH, consume, publish, workloadsOf } from '../load/workloads.mjs';
import { withServer, startBare } from '../servers/test-server.mjs';

/** Name → what the test server runs on. */
export const CONFIGURATIONS = {
  '1 worker, AOF off': { aof: /** @type {const} */ ('off'), workers: 1 },
  '1 worker, AOF everysec': { aof: /** @type {const} */ ('everysec'), workers: 1 },
  '2 workers, AOF off': { aof: /** @type {const} */ ('off'), workers: 2 },
  '2 workers, AOF everysec': { aof: /** @type {const} */ ('everysec'), workers: 2 },
};

/**
 * One testServer's figures. `e` is the bare server's CPU seconds per million requests in this testServer, `rows` begin with the bare
 * server's own. Medians, where rows were repeated.
 *
 * @typedef {{ aof: 'off' | 'everysec', workers: number, e: number, bareRate: number, rows: Measured[] }} ConfigurationFigures
 * @typedef {import('../load/generator.mjs').Measured} Measured
 */

/**
 * @param {import('../run.mjs').Context} context
 * @param {keyof typeof CONFIGURATIONS} name
 * @returns {Promise<ConfigurationFigures>}
 */
export async function runConfiguration(context, name) {
  const kind = CONFIGURATIONS[name];
  const repeated = await withServer({ ...context, ...kind }, (testServer) =>
    runRepeatedly(context, testServer),
  );
  return { ...kind, ...repeated };
}

/**
 * All rows as often as the size says, the bare server before, between and after.
 *
 * @param {import('../run.mjs').Context} context
 * @param {import('../servers/test-server.mjs').TestServer} testServer
 * @param {{ onRefused?: (row: string, why: string) => void }} [options] onRefused: hears which row the server does not answer as it should, and the run goes on; left out, the run fails
 */
export async function runRepeatedly({ load, size, log }, testServer, { onRefused } = {}) {
  const { throughput } = size;
  const has = { batchAck: await knowsBatchAck(testServer) };
  if (!has.batchAck) log(`no batch ack: the server does not know POST ${BATCH_ACK_PATH}`);
  await load.connect(testServer);
  await warmUp(load, testServer, throughput.warm, { has, onRefused: onRefused && (() => undefined) });
  const bare = [await measureBare(load, throughput)];
  /** @type {Measured[]} */
  const measuredWorkloads = [];
  for (let round = 0; round < throughput.repeats; round++) {
    await load.connect(testServer);
    measuredWorkloads.push(
      ...(await runWorkloads(load, testServer, workloadsOf(throughput, has), onRefused)),
    );
    bare.push(await measureBare(load, throughput));
  }
  const yardstick = medianOf(bare);
  const keys = new Set(measuredWorkloads.map(({ key }) => key));
  const rows = Array.from(keys, (key) => medianOf(measuredWorkloads.filter((row) => row.key === key)));
  return { e: yardstick.server, bareRate: yardstick.rate, rows: [yardstick, ...rows] };
}

/**
 * @param {import('../load/generator.mjs').Generator} load
 * @param {import('../servers/test-server.mjs').TestServer} testServer
 * @param {any[]} rows
 * @param {(row: string, why: string) => void} [onRefused]
 */
async function runWorkloads(load, testServer, rows, onRefused) {
  /** @type {Measured[]} */
  const measuredWorkloads = [];
  for (const row of rows) {
    try {
      const measured = await load.measure(testServer, row);
      // What the last row leased and no row acknowledges is acknowledged unseen.
      if (!row.unseen) measuredWorkloads.push(measured);
    } catch (error) {
      if (!onRefused) throw error;
      onRefused(row.name, error instanceof Error ? error.message : String(error));
      await load.connect(testServer);
    }
  }
  return measuredWorkloads;
}

/**
 * The bare server, fresh, under the PUT of a publish.
 *
 * @param {import('../load/generator.mjs').Generator} load
 * @param {{ bare: number }} size
 * @param {import('../load/workloads.mjs').Variant} [variant]
 * @param {number} [redisPort] it stores each body there
 */
export async function measureBare(load, { bare }, variant = {}, redisPort = undefined) {
  const testServer = await startBare(redisPort);
  try {
    await load.connect(testServer);
    await load.measure(testServer, publish('warm', bare / 5));
    const measured = await load.measure(
      testServer,
      publish('row', bare, { name: 'bare node:http, same PUT', ...variant }),
    );
    return { ...measured, key: 'bare' };
  } finally {
    await testServer.stop();
  }
}

/**
 * Runs the code of every row until it is compiled.
 *
 * @param {import('../load/generator.mjs').Generator} load
 * @param {import('../servers/test-server.mjs').TestServer} testServer
 * @param {number} total
 * @param {{ has?: { batchAck: boolean }, onRefused?: (row: string, why: string) => void }} [options]
 */
export function warmUp(load, testServer, total, { has = { batchAck: false }, onRefused } = {}) {
  const few = workloadsOf({ jobs: total / 4, cycles: total / 4 }, has).slice(3);
  const rows = [publish('warm', total), consume('warm', total), ack(total), ...few];
  return runWorkloads(load, testServer, rows, onRefused);
}

/** @param {import('../servers/test-server.mjs').TestServer} testServer */
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
 * @param {ConfigurationFigures} configuration
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
 * @param {Record<string, ConfigurationFigures>} configurations
 * @returns {import('../report/target-table.mjs').Row[]}
 */
export function throughputVerdicts(configurations) {
  return ['off', 'everysec'].flatMap((aof) => {
    const measuredWorkloads = Object.values(configurations).filter(
      (configuration) => configuration.aof === aof,
    );
    return (measuredWorkloads[0]?.rows ?? []).flatMap(({ key }) => verdictOf(measuredWorkloads, key) ?? []);
  });
}

/** @param {ConfigurationFigures[]} measuredWorkloads @param {string} key @returns {import('../report/target-table.mjs').Row | null} */
function verdictOf(measuredWorkloads, key) {
  const candidates = measuredWorkloads.flatMap((configuration) => {
    const row = configuration.rows.find((one) => one.key === key);
    return row ? [{ configuration, row, ...judge(configuration, row) }] : [];
  });
  const failures = (/** @type {any} */ { isCheap, isFast }) => (isCheap === false) + (isFast === false);
  candidates.sort((a, b) => failures(a) - failures(b) || a.multiple - b.multiple);
  const [best] = candidates;
  if (!best || (best.isCheap === null && best.isFast === null)) return null;
  const { configuration, row, multiple, target } = best;
  const wanted = [
    ...(target.e === undefined ? [] : [`≤ ${target.e} E`]),
    ...(target.rate === undefined ? [] : [`≥ ${Math.round(target.rate).toLocaleString('en')}/s`]),
  ];
  return {
    key: configuration.aof === 'off' ? key : `${key}-aof`,
    name: `${row.name}${configuration.aof === 'off' ? '' : ', AOF everysec'}`,
    values: { E: multiple, 'per second': row.rate, workers: configuration.workers },
    unit: '',
    target: wanted.join(', '),
    met: failures(best) === 0,
  };
}
