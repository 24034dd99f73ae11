/**
 * The workloads: what the load generator sends (load/requests.mjs), and how many jobs one request of it moves (`per`). `spread` names a list of
 * targets that the requests go to instead of one queue.
 */
import { NAMESPACE } from '../servers/test-server.mjs';

export const BODY = 'x'.repeat(100);
/** Jobs in a bulk publish, in a consume of many, in a batch of acknowledgements. */
export const BULK = 64;
export const MANY = 100;
export const BATCH = 100;
/** Leases of the workloads must not run out while the run lasts. */
const TTR_S = 3_600;
/** Extended jobs have a namespace of their own, so that no other workload runs in a namespace that has some. */
export const EXTENDED = 'extended';
/** On a busy machine too each workload runs to its end: those after it need its jobs. */
const PAIR_WORKLOAD_MS = 120_000;

/** @param {string} queue */
export const pathOf = (queue) => `/api/${NAMESPACE}/${queue}`;

/** @typedef {{ key?: string, name?: string, spread?: string, connections?: number }} Variant `connections`: fewer than there are */

/** @param {string} queue @param {number} total @param {Variant} [variant] */
export function publish(queue, total, variant) {
  const request = { method: 'PUT', path: pathOf(queue), body: BODY, expect: 201 };
  return { key: 'publish', name: 'publish', requests: 'repeat', ...request, total, ...variant };
}

/** Leases, and keeps the ids for `ack`. @param {string} queue @param {number} total @param {Variant} [variant] */
export function consume(queue, total, variant) {
  const request = { method: 'GET', path: pathOf(queue), after: `?ttr=${TTR_S}`, expect: 200, collect: true };
  return { key: 'consume', name: 'consume', requests: 'repeat', ...request, total, ...variant };
}

/** Acknowledges what was leased. @param {number} total @param {Variant & { unseen?: boolean }} [variant] `unseen`: no workload of the tables */
export function ack(total, variant) {
  return { key: 'ack', name: 'ack', requests: 'ack', expect: 204, total, ...variant };
}

/** Publish, consume, acknowledge: one operation. @param {string} queue @param {number} total */
export function cycle(queue, total) {
  const request = { path: pathOf(queue), body: BODY, ttr: TTR_S };
  return { key: 'cycle', name: 'full cycle', requests: 'cycle', ...request, total };
}

/**
 * @param {string} queue
 * @param {number} jobs
 * @param {Variant & { after?: string, size?: number, maxMs?: number }} [variant] `size`: jobs in each request
 */
export function bulk(queue, jobs, { after = '', size = BULK, ...variant } = {}) {
  // 100 bytes each, the quotes included: an element is stored as it was sent.
  const body = JSON.stringify(Array(size).fill(BODY.slice(2)));
  const request = { method: 'PUT', path: pathOf(queue), after: `/bulk${after}`, body, expect: 201 };
  const work = { requests: 'repeat', ...request, per: size, total: Math.ceil(jobs / size) };
  return { key: 'bulk', name: `bulk of ${size}, per job`, ...work, ...variant };
}

/** Keeps the ids too. @param {string} queue @param {number} jobs as many as are ready, or fewer */
export function consumeMany(queue, jobs) {
  const request = { method: 'GET', path: pathOf(queue), after: `?count=${MANY}&ttr=${TTR_S}`, expect: 200 };
  const work = { requests: 'repeat', ...request, collect: true, per: MANY, total: Math.floor(jobs / MANY) };
  return { key: 'many', name: `consume count=${MANY}, per job`, ...work };
}

/** @param {string} queue where the leased jobs are from @param {number} jobs */
export function batchAck(queue, jobs) {
  const request = { path: BATCH_ACK_PATH, queue, expect: 200 };
  const work = { requests: 'batchAck', ...request, per: BATCH, total: Math.floor(jobs / BATCH) };
  return { key: 'acks', name: `batch ack of ${BATCH}, per job`, ...work };
}

export const BATCH_ACK_PATH = `/v1/${NAMESPACE}/acks`;

/** @param {number} total */
export function consumeNothing(total) {
  const request = { method: 'GET', path: pathOf('empty'), expect: 404 };
  return { key: 'empty', name: 'consume, queue empty', requests: 'repeat', ...request, total };
}

/**
 * The workloads of one testServer, in the order that fills and empties the queues.
 *
 * @param {{ jobs: number, cycles: number }} size
 * @param {{ batchAck: boolean }} has calls that not every server knows
 */
export function workloadsOf({ jobs, cycles }, has) {
  const many = 2 * jobs;
  return [
    publish('row', jobs),
    consume('row', jobs),
    ack(jobs),
    cycle('cycle', cycles),
    bulk('many', many),
    consumeMany('many', many),
    has.batchAck ? batchAck('many', many) : ack(many, { unseen: true }),
    consumeNothing(jobs / 2),
  ];
}

/**
 * Publish, lease and acknowledge on the native API.
 *
 * @param {string} key of the queue; the keys and names of the workloads begin with it
 * @param {number} jobs
 * @param {Variant & { fields?: object }} [variant] `fields`: what each job has besides its queue and data
 */
function nativeWorkloads(key, jobs, { fields = {}, ...variant } = {}) {
  const call = {
    method: 'POST',
    path: `/v1/${NAMESPACE}`,
    type: 'application/json',
    total: jobs,
    ...variant,
  };
  // 100 bytes, the quotes included: data is stored as it was sent.
  const job = JSON.stringify({ queue: key, data: BODY.slice(2), ...fields });
  const lease = JSON.stringify({ queues: [key], ttr_ms: TTR_S * 1_000 });
  const leased = { expect: 200, collect: true, contains: '"lease":' };
  const named = (/** @type {string} */ name) => ({ key: `${key}-${name}`, name: `${key} ${name}` });
  return [
    { ...named('publish'), requests: 'repeat', ...call, after: '/jobs', body: job, expect: 201 },
    { ...named('lease'), requests: 'repeat', ...call, after: '/leases', body: lease, ...leased },
    { ...named('ack'), requests: 'settle', ...call, expect: 200 },
  ];
}

/** A client with one connection: each script call has one job. @param {number} jobs */
function loneWorkloads(jobs) {
  const variant = (/** @type {string} */ name) => ({
    key: `lone-${name}`,
    name: `${name}, 1 connection`,
    connections: 1,
  });
  return [
    publish('lone', jobs, variant('publish')),
    consume('lone', jobs, variant('consume')),
    ack(jobs, variant('ack')),
  ];
}

/**
 * The workloads that two builds are compared by. Those of extended jobs go to the targets `EXTENDED`.
 *
 * @param {{ jobs: number, cycles: number, native: number, lone: number }} size
 */
export function pairWorkloads({ native, lone, ...size }) {
  const workloads = [
    ...workloadsOf(size, { batchAck: true }),
    ...nativeWorkloads('v1', native),
    ...nativeWorkloads('extended', native, { fields: { type: 'bench' }, spread: EXTENDED }),
    // Not by the simple script.
    ...nativeWorkloads('priority', native, { fields: { priority: 1 }, spread: EXTENDED }),
    ...loneWorkloads(lone),
  ];
  return workloads.map((workload) => ({ ...workload, maxMs: PAIR_WORKLOAD_MS }));
}
