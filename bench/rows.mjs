/** The rows: what the load generator plays, and how many jobs one request of it moves (`per`). */
import { NAMESPACE } from './stage.mjs';

export const BODY = 'x'.repeat(100);
export const BULK = 64;
export const PATH = `/api/${NAMESPACE}`;
/** Leases of the rows must not run out while the run lasts. */
const TTR_S = 3_600;
/** 100 bytes each, the quotes included: lmstfy stores an element as it was sent. */
const BULK_BODY = JSON.stringify(Array(BULK).fill(BODY.slice(2)));

/** @param {string} queue @param {number} total */
export function publish(queue, total, name = 'publish') {
  const request = { play: 'repeat', method: 'PUT', path: `${PATH}/${queue}`, body: BODY, expect: 201 };
  return { key: 'publish', name, ...request, total };
}

/** Leases, and keeps the ids for `ack`. @param {string} queue @param {number} total */
export function consume(queue, total, name = 'consume') {
  const request = { play: 'repeat', method: 'GET', path: `${PATH}/${queue}?ttr=${TTR_S}`, expect: 200 };
  return { key: 'consume', name, ...request, collect: true, total };
}

/** @param {string} queue @param {number} total */
export function ack(queue, total, name = 'ack') {
  return { key: 'ack', name, play: 'ack', path: `${PATH}/${queue}`, expect: 204, total };
}

/** Publish, consume, acknowledge: one operation. @param {number} total */
function cycle(total) {
  return {
    key: 'cycle',
    name: 'full cycle',
    play: 'cycle',
    path: `${PATH}/cycle`,
    body: BODY,
    ttr: TTR_S,
    total,
  };
}

/** @param {string} queue @param {number} jobs @param {string} [query] */
export function bulk(queue, jobs, query = '') {
  const request = {
    play: 'repeat',
    method: 'PUT',
    path: `${PATH}/${queue}/bulk${query}`,
    body: BULK_BODY,
    expect: 201,
  };
  return {
    key: 'bulk',
    name: `bulk of ${BULK}, per job`,
    ...request,
    per: BULK,
    total: Math.ceil(jobs / BULK),
  };
}

/** @param {string} queue @param {number} jobs as many as are ready, or fewer */
function consumeMany(queue, jobs) {
  const request = {
    play: 'repeat',
    method: 'GET',
    path: `${PATH}/${queue}?count=100&ttr=${TTR_S}`,
    expect: 200,
  };
  return {
    key: 'many',
    name: 'consume count=100, per job',
    ...request,
    per: 100,
    total: Math.floor(jobs / 100),
  };
}

/** @param {number} total */
function consumeNothing(total) {
  const request = { play: 'repeat', method: 'GET', path: `${PATH}/empty`, expect: 404 };
  return { key: 'empty', name: 'consume, queue empty', ...request, total };
}

/** The rows of one stage, in the order that fills and empties the queues. @param {{ jobs: number, cycles: number }} size */
export function rowsOf({ jobs, cycles }) {
  return [
    publish('row', jobs),
    consume('row', jobs),
    ack('row', jobs),
    cycle(cycles),
    bulk('many', 2 * jobs),
    consumeMany('many', 2 * jobs),
    consumeNothing(jobs / 2),
  ];
}
