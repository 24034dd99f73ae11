/** The picture of growth: throughput and CPU per operation against the number of jobs that wait. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OPERATIONS } from '../measure/turns.mjs';
import { svgOf } from './svg.mjs';

export const CHART = join(import.meta.dirname, '..', '..', 'docs', 'growth.svg');
const COLOURS = { publish: '#3b82d6', consume: '#e0782b', ack: '#2f9e6e' };

/**
 * @param {import('../scenarios/growth.mjs').Sized[]} sizes
 * @param {{ cpu: string, cores: number, redis: string, node: string, commit: string }} machine
 */
export function writeChart(sizes, machine) {
  writeFileSync(CHART, chartOf(sizes, machine));
}

/** @param {import('../scenarios/growth.mjs').Sized[]} sizes @param {{ cores: number, redis: string, node: string, commit: string }} machine */
export function chartOf(sizes, { cores, redis, node, commit }) {
  const values = (/** @type {string} */ operation, /** @type {string} */ figure) =>
    sizes.map(({ figures }) => Number(figures[operation]?.[figure]));
  const line = (/** @type {keyof typeof COLOURS} */ operation, /** @type {string} */ figure) => ({
    name: operation,
    colour: COLOURS[operation],
    isDashed: figure === 'redis',
    values: values(operation, figure),
  });
  const x = { xTitle: 'jobs that wait in the queue', xLabels: sizes.map(({ jobs }) => shortCount(jobs)) };
  const rates = {
    title: 'Throughput',
    unit: 'operations per second',
    lines: OPERATIONS.map((one) => line(one, 'rate')),
  };
  const cpu = {
    title: 'CPU per operation',
    unit: 'microseconds',
    lines: [...OPERATIONS.map((one) => line(one, 'server')), ...OPERATIONS.map((one) => line(one, 'redis'))],
  };
  return svgOf({
    title: 'Publish, consume and ack against the backlog',
    note: `1 worker, AOF off, 100 B bodies, 64 connections; ${cores} cores, Node ${node.slice(1)}, Redis ${redis}, commit ${commit}`,
    charts: [
      { ...rates, ...x, label: shortCount },
      { ...cpu, ...x, label: String },
    ],
    legend: [
      ...OPERATIONS.map((name) => ({ name, colour: COLOURS[name] })),
      { name: 'CPU of the server', colour: '#8c959f' },
      { name: 'CPU of Redis', colour: '#8c959f', isDashed: true },
    ],
  });
}

/** @param {number} n */
function shortCount(n) {
  if (n >= 1e6) return `${n / 1e6}M`;
  return n >= 1e3 ? `${n / 1e3}k` : String(n);
}
