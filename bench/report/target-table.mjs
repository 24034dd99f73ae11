/** Rows that have a target, as a Markdown table. */
import { markdown } from './tables.mjs';

/**
 * @typedef {object} Row
 * @property {string} key
 * @property {string} name
 * @property {Record<string, number>} values
 * @property {string} unit
 * @property {string} target in words; '' if there is none
 * @property {boolean | null} met null: a figure without a target
 */

/** @param {Row[]} rows */
export function targetTable(rows) {
  return markdown({
    header: ['', 'figures', 'unit', 'target', 'met'],
    rows: rows.map(({ name, values, unit, target, met }) => [
      name,
      Object.entries(values)
        .map(([label, value]) => `${label} ${short(value)}`)
        .join(', '),
      unit,
      target,
      met === null ? '' : met ? 'yes' : 'NO',
    ]),
  });
}

/** Three digits are enough for anything that is measured here. @param {number} value */
function short(value) {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 1_000) return Math.round(value).toLocaleString('en');
  return String(Number(value.toFixed(Math.abs(value) >= 100 ? 1 : 2)));
}
