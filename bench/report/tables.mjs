/** Figures as Markdown tables, which are also readable on a terminal. */
import { LMSTFY_BYTES } from './targets.mjs';
import { OPERATIONS } from '../measure/turns.mjs';
import { judge } from '../scenarios/throughput.mjs';

/** Figures to the right, what has a name to the left. @param {{ header: string[], rows: string[][], left?: number[] }} table `left`: columns of text */
export function markdown({ header, rows, left = [0] }) {
  const widths = header.map((_, column) =>
    Math.max(...[header, ...rows].map((row) => row[column]?.length ?? 0)),
  );
  const isLeft = (/** @type {number} */ column) => left.includes(column);
  const line = (/** @type {string[]} */ cells) =>
    `| ${cells.map((cell, i) => (isLeft(i) ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(' | ')} |`;
  const rule = `|${widths.map((width, i) => (isLeft(i) ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return [line(header), rule, ...rows.map(line)].join('\n');
}

export const whole = (/** @type {number | undefined} */ n) =>
  isKnown(n) ? Math.round(n).toLocaleString('en') : '';
const fixed = (/** @type {number | undefined} */ n, digits = 2) => (isKnown(n) ? n.toFixed(digits) : '');

/** @param {number | undefined} n @returns {n is number} */
function isKnown(n) {
  return n !== undefined && !Number.isNaN(n);
}

/**
 * One configuration. Both targets and lmstfy's rates are scaled to this machine.
 *
 * @param {import('../scenarios/throughput.mjs').ConfigurationFigures} configuration
 */
export function throughputTable(configuration) {
  const header = [
    '',
    'per second',
    'target',
    'p50 ms',
    'p99 ms',
    'server',
    'Redis',
    'sum / E',
    'target',
    'met',
    'lmstfy per s',
    'its sum / E',
  ];
  const rows = configuration.rows.map((row) => {
    const { multiple, target, lmstfy, isCheap, isFast } = judge(configuration, row);
    return [
      row.name,
      whole(row.rate),
      whole(target.rate),
      fixed(row.p50),
      fixed(row.p99),
      fixed(row.server, 1),
      fixed(row.redis, 1),
      fixed(multiple),
      fixed(target.e, 1),
      metText(isCheap, isFast),
      whole(lmstfy.rate),
      fixed(lmstfy.e, 1),
    ];
  });
  return markdown({ header, rows });
}

/** @param {boolean | null} isCheap @param {boolean | null} isFast */
function metText(isCheap, isFast) {
  if (isCheap === null && isFast === null) return '';
  if (isCheap !== false && isFast !== false) return 'yes';
  const missed = [...(isCheap === false ? ['CPU'] : []), ...(isFast === false ? ['rate'] : [])];
  return `NO: ${missed.join(', ')}`;
}

/**
 * What operations cost in stores of several sizes.
 *
 * @param {import('../scenarios/growth.mjs').Sized[]} sizes
 */
export function growthTable(sizes) {
  const header = ['', 'operation', 'per second', 'server', 'Redis', 'sum / E', 'commands', 'scripts'];
  const rows = sizes.flatMap(({ name, e, figures }) =>
    OPERATIONS.flatMap((operation, at) => {
      const row = figures[operation];
      if (!row) return [];
      const { rate, server, redis, commands, scripts } = row;
      const costs = [fixed(server, 1), fixed(redis, 1), fixed((server + redis) / e)];
      const counts = [fixed(commands), fixed(scripts, 3)];
      return [[at === 0 ? name : '', operation, whole(rate), ...costs, ...counts]];
    }),
  );
  return markdown({ header, rows, left: [0, 1] });
}

/**
 * How much more they cost than in another store.
 *
 * @param {import('../scenarios/growth.mjs').Sized[]} sizes
 */
export function comparisonTable(sizes) {
  const header = ['', 'operation', 'server +', 'Redis +', 'commands +'];
  const rows = sizes.flatMap(({ comparisons }) =>
    comparisons.flatMap(({ name, ratios }) =>
      OPERATIONS.flatMap((operation, at) => {
        const ratio = ratios[operation];
        if (!ratio) return [];
        const percents = [ratio.server, ratio.redis, ratio.commands].map(percent);
        return [[at === 0 ? name : '', operation, ...percents]];
      }),
    ),
  );
  return markdown({ header, rows, left: [0, 1] });
}

/** @param {number} ratio 1 = no change */
export function percent(ratio) {
  const change = 100 * (ratio - 1);
  return `${change < 0 ? '−' : '+'}${Math.abs(change).toFixed(1)} %`;
}

/** @param {import('../scenarios/idle.mjs').Idle} idle */
export function idleTable({ full, empty }) {
  const header = ['idle', 'server, % of a core', 'Redis, % of a core', 'commands per second'];
  const row = (
    /** @type {string} */ name,
    /** @type {typeof full} */ { server, redis, commandsPerSecond },
  ) => [name, fixed(100 * server), fixed(100 * redis), fixed(commandsPerSecond, 1)];
  return markdown({ header, rows: [row('full store', full), row('empty store', empty)] });
}

/** @param {'ready' | 'scheduled'} state @param {import('../scenarios/job-memory.mjs').Bytes} bytes */
export function bytesTable(state, { jobs, perJob, account }) {
  const header = [`${state}, ${whole(jobs)} jobs`, 'bytes per job', 'what'];
  const rows = account.map(({ what, perJob: bytes, note }) => [what, fixed(bytes, 1), note]);
  rows.push(['all', fixed(perJob, 1), `lmstfy: ${LMSTFY_BYTES[state]}`]);
  return markdown({ header, rows, left: [0, 2] });
}
