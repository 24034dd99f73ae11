/** Two runs side by side: what each row cost then and now. */
import { readFileSync } from 'node:fs';
import { markdown, percent } from './tables.mjs';

/** A difference beyond this is marked: below it, two runs of the same program differ too. */
const MARK_BEYOND = 0.1;

/**
 * @param {string} file of an earlier run
 * @param {any} now this run, as it is written to a file
 * @returns {string} Markdown
 */
export function comparison(file, now) {
  const then = JSON.parse(readFileSync(file, 'utf8'));
  const title = `Against ${file} (commit ${then.machine?.commit}, ${then.machine?.startedAt?.slice(0, 16)}Z)`;
  return [title, ...compareRuns(then, now)].join('\n\n');
}

/** @param {any} then @param {any} now @returns {string[]} a table for every configuration and store that both have */
export function compareRuns(then, now) {
  const [before, after] = [rowsByName(then), rowsByName(now)];
  const common = Object.keys(after).filter((name) => before[name]);
  const tables = common.map((name) => compareRows(name, before[name], after[name]));
  return tables.length > 0 ? tables : ['The two runs have no configuration in common.'];
}

/** Configurations, and stores of the growth rows: all have an E and rows. @param {any} run @returns {Record<string, { e: number, rows: any[] }>} */
function rowsByName(run) {
  const grown = [
    ...(run.growth?.backlog ?? []),
    ...(run.growth?.queues ?? []),
    ...(run.growth?.namespaces ?? []),
  ];
  const stores = grown.map(({ name, e, figures }) => [
    `growth: ${name}`,
    { e, rows: Object.values(figures) },
  ]);
  return { ...run.configurations, ...Object.fromEntries(stores) };
}

/** @param {string} name @param {{ e: number, rows: any[] }} before @param {{ e: number, rows: any[] }} after */
function compareRows(name, before, after) {
  const changed = `E ${before.e.toFixed(1)} → ${after.e.toFixed(1)}, ${percent(after.e / before.e)}`;
  const header = [`${name}: ${changed}`, 'server', 'Redis', 'sum / E', 'change', 'per second'];
  const rows = after.rows.flatMap((row) => {
    const old = before.rows.find(({ key }) => key === row.key);
    if (!old) return [];
    const multiples = [(old.server + old.redis) / before.e, (row.server + row.redis) / after.e];
    const ratio = (multiples[1] ?? NaN) / (multiples[0] ?? NaN);
    return [
      [
        row.name,
        arrow(old.server, row.server, 1),
        arrow(old.redis, row.redis, 1),
        arrow(multiples[0] ?? NaN, multiples[1] ?? NaN, 2),
        `${percent(ratio)}${marked(ratio)}`,
        `${Math.round(old.rate).toLocaleString('en')} → ${Math.round(row.rate).toLocaleString('en')}`,
      ],
    ];
  });
  return markdown({ header, rows });
}

/** @param {number} old @param {number} now @param {number} digits */
const arrow = (old, now, digits) => `${old.toFixed(digits)} → ${now.toFixed(digits)}`;

/** @param {number} ratio */
function marked(ratio) {
  if (ratio > 1 + MARK_BEYOND) return ' MORE';
  return ratio < 1 - MARK_BEYOND ? ' less' : '';
}
