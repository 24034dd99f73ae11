#!/usr/bin/env node
/**
 * What the native API costs, saturated and with few connections, as multiples of E: the CPU of a bare node:http PUT echo in the same
 * run.
 *
 *     runNative({ program, redis, workers, quick, log }) → { rows: [{ key, name, values, unit, target, met }] }
 *
 * By itself: `node bench/native.mjs [--quick]`. AOF is off. Rows are measured several times, on one server; medians.
 */
import { fileURLToPath } from 'node:url';
import { runStandalone } from './scenarios/standalone.mjs';
import { startGenerator } from './load/generator.mjs';
import { ack, BATCH, BODY, BULK, consume, cycle, MANY, publish } from './load/workloads.mjs';
import { callsOn, NAMESPACE, startServer } from './servers/test-server.mjs';
import { measureBare, medianOf } from './scenarios/throughput.mjs';

const SIZES = {
  full: { jobs: 20_000, cycles: 8_000, lone: 3_000, bare: 40_000, rounds: 5, priced: 3_000, turns: 24 },
  quick: { jobs: 3_000, cycles: 1_000, lone: 500, bare: 10_000, rounds: 2, priced: 1_000, turns: 4 },
};
const PATH = `/v1/${NAMESPACE}`;
const TYPE = 'application/json';
const TTR_MS = 3_600_000;
const WORKLOAD_MS = 120_000;
/** What most jobs of a client library have. */
const TYPED = { type: 'mail', tags: ['welcome'], retry: { kind: 'exponential', delay_ms: 1_000 } };

/** A done job whose result others have. */
const SOURCE = 'source-1';

/** The most that a row may cost, as a multiple of E: server and Redis together, per job. @type {Record<string, number>} */
const TARGETS = {
  ...{ 'v1-publish': 2.2, 'v1-keyed': 2.8, 'v1-lease': 2.6, 'v1-ack': 2.0, 'v1-cycle': 7 },
  ...{ 'v1-bulk': 0.7, 'v1-many': 0.8, 'v1-acks': 0.35 },
  ...{ 'settings-publish': 3, 'settings-lease': 3.5 },
  ...{ 'typed-publish': 4.5, 'typed-lease': 4.5, 'typed-ack': 4 },
  'fair-lease': 5.8,
  ...{ 'cycle-8': 7.5, 'v1-cycle-8': 7.5 },
};
/** The most that a lease may cost, as a multiple of one of the same jobs from a plain queue. @type {Record<string, number>} */
const PRICES = { 'one-type': 1.2, 'many-types': 1.2, fair: 1.3 };
/** The least rate of a row with one connection, as a part of the bare server's rate with one. @type {Record<string, number>} */
const RATES = { 'publish-1': 0.4, 'v1-publish-1': 0.4, 'cycle-1': 0.12, 'v1-cycle-1': 0.12 };

/** @param {string} queue @param {object} [fields] */
const jobOf = (queue, fields) => ({ queue, data: BODY.slice(2), ...fields });

/** @param {string} after @param {object} body @param {number} total @param {object} variant */
const call = (after, body, total, variant) => ({
  ...{ requests: 'repeat', method: 'POST', path: PATH, after, type: TYPE, body: JSON.stringify(body), total },
  ...{ expect: after === '/jobs' ? 201 : 200, maxMs: WORKLOAD_MS },
  ...variant,
});

/** @param {string} queue @param {number} total @param {object} variant */
const lease = (queue, total, variant) =>
  call('/leases', { queues: [queue], ttr_ms: TTR_MS, worker: 'bench', count: 1, ...variant.with }, total, {
    ...{ collect: true, contains: '"lease":' },
    ...variant,
  });

/** @param {number} total @param {object} variant */
const settle = (total, variant) => ({
  ...{ requests: 'settle', path: PATH, type: TYPE, expect: 200, total, maxMs: WORKLOAD_MS },
  ...variant,
});

/** @param {string} queue @param {number} total @param {object} variant */
const nativeCycle = (queue, total, variant) => ({
  ...{ requests: 'nativeCycle', path: PATH, type: TYPE, total, maxMs: WORKLOAD_MS },
  ...{ job: JSON.stringify(jobOf(queue)), lease: JSON.stringify({ queues: [queue], ttr_ms: TTR_MS }) },
  ...variant,
});

/** Both APIs with few connections. @param {number} connections @param {number} total */
function fewRows(connections, total) {
  const [queue, native] = [`few-${connections}`, `few-v1-${connections}`];
  const few = (/** @type {string} */ key) => ({
    key: `${key}-${connections}`,
    name: `${key.replace('v1-', 'v1 ')}, ${connections} connection${connections === 1 ? '' : 's'}`,
    connections,
    maxMs: WORKLOAD_MS,
  });
  return [
    publish(queue, total, few('publish')),
    consume(queue, total, few('consume')),
    ack(total, few('ack')),
    { ...cycle(queue, total), ...few('cycle') },
    call('/jobs', jobOf(native), total, few('v1-publish')),
    lease(native, total, few('v1-lease')),
    settle(total, few('v1-ack')),
    nativeCycle(native, total, few('v1-cycle')),
  ];
}

/** The type of the jobs, and others before it. @param {number} count */
const typesOf = (count) => [...Array.from({ length: count - 1 }, (_, i) => `type-${i}`), TYPED.type];

/** Publish, lease and ack of typed jobs with something more, beside those of typed jobs without. @param {string} key of the queue, too @param {string} what @param {object} fields @param {number} jobs */
const flowRows = (key, what, fields, jobs) => [
  call('/jobs', jobOf(key, { ...TYPED, ...fields }), jobs, {
    key: `${key}-publish`,
    name: `v1 publish, ${what}`,
  }),
  lease(key, jobs, { key: `${key}-lease`, name: `v1 lease, ${what}` }),
  settle(jobs, { key: `${key}-ack`, name: `v1 ack, ${what}`, outcome: { result: { sent: true } } }),
];

/** @param {{ jobs: number, cycles: number, lone: number }} size */
function workloadsOf({ jobs, cycles, lone }) {
  const many = jobs * 2;
  return [
    call('/jobs', jobOf('v1'), jobs, { key: 'v1-publish', name: 'v1 publish' }),
    lease('v1', jobs, { key: 'v1-lease', name: "v1 lease, with a worker's name" }),
    settle(jobs, { key: 'v1-ack', name: 'v1 ack' }),
    call('/jobs', jobOf('keyed'), jobs, {
      key: 'v1-keyed',
      name: 'v1 publish with a key',
      requests: 'keyed',
    }),
    nativeCycle('cycle', cycles, { key: 'v1-cycle', name: 'v1 cycle' }),
    call('/jobs', { jobs: Array(BULK).fill(jobOf('bulk')) }, Math.ceil(many / BULK), {
      ...{ key: 'v1-bulk', name: `v1 publish of ${BULK}, per job`, per: BULK },
    }),
    lease('bulk', Math.floor(many / MANY), {
      ...{ key: 'v1-many', name: `v1 lease of ${MANY}, per job`, per: MANY, with: { count: MANY } },
    }),
    settle(Math.floor(many / BATCH), {
      ...{ key: 'v1-acks', name: `v1 acks of ${BATCH}, per job`, requests: 'settleMany', per: BATCH },
    }),
    call('/jobs', jobOf('settings'), jobs, {
      key: 'settings-publish',
      name: 'v1 publish, queue with settings',
    }),
    lease('settings', jobs, { key: 'settings-lease', name: 'v1 lease, queue with settings' }),
    settle(jobs, { key: 'settings-ack', name: 'v1 ack, queue with settings' }),
    call('/jobs', jobOf('typed', TYPED), jobs, {
      key: 'typed-publish',
      name: 'v1 publish, type + tag + retry',
    }),
    lease('typed', jobs, { key: 'typed-lease', name: 'v1 lease, type + tag + retry' }),
    settle(jobs, { key: 'typed-ack', name: 'v1 ack with a result', outcome: { result: { sent: true } } }),
    call('/jobs', jobOf('fair', { fair_key: 'one' }), jobs, {
      key: 'fair-publish',
      name: 'v1 publish with a fair key, fair queue',
    }),
    lease('fair', jobs, { key: 'fair-lease', name: 'v1 lease, fair queue' }),
    settle(jobs, { key: 'fair-ack', name: 'v1 ack, fair queue' }),
    ...flowRows('paused', 'another type of the queue is paused', {}, jobs),
    ...flowRows('max-run', 'with max_run_ms', { max_run_ms: TTR_MS }, jobs),
    ...flowRows('results', 'with the result of a dependency', { depends_on: [SOURCE] }, jobs),
    call('/jobs', { jobs: Array(BULK).fill(jobOf('linger')) }, Math.ceil(many / BULK), {
      ...{ key: 'linger-publish', name: `v1 publish of ${BULK}, per job, again`, per: BULK },
    }),
    lease('linger', Math.floor(many / MANY), {
      ...{ key: 'linger-many', name: `v1 lease of ${MANY} that lingers, per job`, per: MANY },
      with: { count: MANY, min: MANY, linger_ms: 50 },
    }),
    settle(Math.floor(many / BATCH), {
      ...{
        key: 'linger-acks',
        name: `v1 acks of ${BATCH}, per job, again`,
        requests: 'settleMany',
        per: BATCH,
      },
    }),
    ...fewRows(1, lone),
    nativeCycle('strict', lone, {
      ...{ key: 'strict-cycle-1', name: 'v1 cycle, strict order of one key, 1 connection', connections: 1 },
      job: JSON.stringify(jobOf('strict', { concurrency_key: 'one' })),
    }),
    ...fewRows(8, cycles),
  ];
}

/**
 * What a lease costs by type and in a fair queue, as a multiple of a plain one: the same jobs, in short turns, as what a machine
 * does besides changes within a row.
 *
 * @param {import('./load/generator.mjs').Generator} load @param {import('./servers/test-server.mjs').TestServer} testServer @param {{ priced: number, turns: number }} size
 */
async function measurePrices(load, testServer, { priced, turns }) {
  const kinds = [
    { key: 'plain', name: 'v1 lease, plain queue, in turns', with: {} },
    { key: 'one-type', name: 'v1 lease by 1 type, in turns', with: { types: typesOf(1) } },
    { key: 'many-types', name: 'v1 lease by 16 types, in turns', with: { types: typesOf(16) } },
    { key: 'fair', name: 'v1 lease, fair queue, in turns', with: {} },
  ];
  /** @type {import('./load/generator.mjs').Measured[]} */
  const leases = [];
  await load.connect(testServer);
  for (let turn = 0; turn <= turns; turn++) {
    for (let i = 0; i < kinds.length; i++) {
      // Each of them comes first in some turns.
      const { key, ...kind } = kinds[(turn + i) % kinds.length];
      const queue = `price-${key}`;
      await load.measure(testServer, call('/jobs', jobOf(queue, TYPED), priced, { key, name: 'fill' }));
      const leased = await load.measure(testServer, lease(queue, priced, { key, ...kind }));
      await load.measure(testServer, settle(priced, { key, name: 'empty' }));
      if (turn > 0) leases.push(leased);
    }
  }
  const medians = kinds.map(({ key }) => medianOf(leases.filter((row) => row.key === key)));
  const sumOf = (/** @type {any} */ row) => row.server + row.redis;
  return medians.map((row) => {
    const price = sumOf(row) / sumOf(medians[0]);
    const most = PRICES[row.key];
    const { key, name, server, redis, rate, p50, p99 } = row;
    return {
      ...{ key: `price-${key}`, name, unit: 'us, per second, ms' },
      values: { 'of plain': price, server, redis, rate, p50, p99 },
      target: most === undefined ? '' : `≤ ${most} × plain`,
      met: most === undefined ? null : price <= most,
    };
  });
}

/** @param {import('./scenarios/standalone.mjs').Options} options */
export async function runNative({ program, redis, workers, quick, log }) {
  const size = quick ? SIZES.quick : SIZES.full;
  const testServer = await startServer({ program, redis, aof: 'off', workers });
  const load = startGenerator();
  try {
    await setQueues(testServer);
    /** @type {import('./load/generator.mjs').Measured[]} */
    const measuredWorkloads = [];
    const bare = [await measureBare(load, size)];
    for (let round = 0; round <= size.rounds; round++) {
      await load.connect(testServer);
      for (const row of workloadsOf(size)) {
        const measured = await load.measure(testServer, row);
        // The first round is to warm up.
        if (round > 0) measuredWorkloads.push(measured);
      }
      bare.push(
        await measureBare(load, size),
        await loneBare(load, size),
        await loneStore(load, size, testServer),
      );
      log(`round ${round} of ${size.rounds}`);
    }
    const [e, alone] = ['bare', 'bare-1'].map((key) => medianOf(bare.filter((row) => row.key === key)));
    const keys = new Set(measuredWorkloads.map(({ key }) => key));
    const rows = Array.from(keys, (key) => medianOf(measuredWorkloads.filter((row) => row.key === key)));
    rows.push(medianOf(bare.filter(({ key }) => key === 'store-1')));
    const prices = await measurePrices(load, testServer, size);
    return { rows: [...rows.map((row) => judged(row, e?.server ?? NaN, alone?.rate ?? NaN)), ...prices] };
  } finally {
    await load.stop();
    await testServer.stop();
  }
}

/** The bare server with one connection. @param {import('./load/generator.mjs').Generator} load @param {{ lone: number }} size */
async function loneBare(load, { lone }) {
  const row = { name: 'bare node:http, 1 connection', connections: 1 };
  return { ...(await measureBare(load, { bare: lone }, row)), key: 'bare-1' };
}

/**
 * The bare server, with each body stored by one call of Redis: what a publish of one connection costs at least.
 *
 * @param {import('./load/generator.mjs').Generator} load @param {{ lone: number }} size @param {import('./servers/test-server.mjs').TestServer} testServer
 */
async function loneStore(load, { lone }, { redisPort }) {
  const row = { name: 'bare node:http + one function of Redis, 1 connection', connections: 1 };
  return { ...(await measureBare(load, { bare: lone }, row, redisPort)), key: 'store-1' };
}

/** @param {import('./servers/test-server.mjs').TestServer} testServer */
async function setQueues({ port, token }) {
  const send = callsOn(port, token);
  await send('PATCH', 'queues/settings', { max_running: 1_000_000 });
  for (const queue of ['fair', 'price-fair']) await send('PATCH', `queues/${queue}`, { fair: true });
  await send('PATCH', 'queues/strict', { order: 'strict' });
  await send('POST', 'queues/paused/pause', { type: 'other' });
  await send('POST', 'jobs', { queue: 'source', id: SOURCE, data: 1, retention_ms: TTR_MS });
  const { jobs } = await send('POST', 'leases', { queues: ['source'] });
  await send('POST', `jobs/${SOURCE}/ack`, { lease: jobs[0].lease, result: { sent: true } });
}

/** @param {import('./load/generator.mjs').Measured} row @param {number} e @param {number} loneRate @returns {import('./report/target-table.mjs').Row} */
function judged({ key, name, rate, p50, p99, server, redis }, e, loneRate) {
  const sum = (server + redis) / e;
  const part = rate / loneRate;
  const [most, least] = [TARGETS[key], RATES[key]];
  const met = most !== undefined ? sum <= most : least !== undefined ? part >= least : null;
  return {
    ...{ key, name, unit: 'us, per second, ms' },
    values: {
      'sum / E': sum,
      server,
      redis,
      rate,
      p50,
      p99,
      ...(key.endsWith('-1') ? { 'of bare': part } : {}),
    },
    target: most !== undefined ? `sum ≤ ${most} E` : least !== undefined ? `rate ≥ ${least} of bare` : '',
    met,
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runStandalone(runNative);
