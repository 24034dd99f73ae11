/** Figures as a Markdown table, which is also readable on a terminal. */

/**
 * lmstfy's figures on a quiet machine of 2 cores, Redis beside it, 64 connections, 100 B: operations per second, and CPU seconds
 * of server and of Redis per million operations. Its E there was 19.5.
 */
export const LMSTFY = {
  bare: { rate: 52_000, server: 19.5, redis: 0 },
  publish: { rate: 16_700, server: 58, redis: 25 },
  consume: { rate: 12_500, server: 77, redis: 34 },
  ack: { rate: 22_000, server: 42, redis: 14 },
  cycle: { rate: 4_900, server: 200, redis: 78 },
  bulk: { rate: 32_000, server: 32, redis: 21 },
  many: { rate: 20_000, server: 53, redis: 32 },
};
export const LMSTFY_E = 19.5;
export const LMSTFY_BYTES = { ready: 289, scheduled: 399 };
export const LMSTFY_DUE_RATE = 9_150;

/** @param {{ header: string[], rows: string[][] }} table */
export function markdown({ header, rows }) {
  const widths = header.map((_, column) =>
    Math.max(...[header, ...rows].map((row) => row[column]?.length ?? 0)),
  );
  const line = (/** @type {string[]} */ cells) =>
    `| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(' | ')} |`;
  const rule = `|${widths.map((width, i) => (i === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return [line(header), rule, ...rows.map(line)].join('\n');
}

/**
 * @param {any[]} results rows of one stage
 * @param {number} e CPU seconds of the bare server per million requests, in this run
 */
export function stageTable(results, e) {
  const header = [
    '',
    'per second',
    'p50 ms',
    'p99 ms',
    'server',
    'Redis',
    'sum',
    'sum / E',
    'lmstfy',
    'its sum / E',
    'ours / its',
  ];
  const rows = results.map(({ name, key, rate, p50, p99, server, redis }) => {
    const sum = server + redis;
    const theirs = LMSTFY[key];
    const theirSum = theirs ? theirs.server + theirs.redis : 0;
    return [
      name,
      Math.round(rate).toLocaleString('en'),
      p50.toFixed(2),
      p99.toFixed(2),
      server.toFixed(1),
      redis.toFixed(1),
      sum.toFixed(1),
      (sum / e).toFixed(2),
      theirs ? `${theirs.server} + ${theirs.redis}` : '',
      theirs ? (theirSum / LMSTFY_E).toFixed(2) : '',
      theirs ? (sum / e / (theirSum / LMSTFY_E)).toFixed(2) : '',
    ];
  });
  return markdown({ header, rows });
}

/** @param {any} figures */
export function restTable({ lateness, bytes, due }) {
  const rows = [];
  if (lateness) {
    const { p50, p99, max, earliest } = lateness;
    rows.push([
      'lateness of a delayed job, p50 / p99 / max ms',
      [p50, p99, max].map((ms) => ms.toFixed(1)).join(' / '),
      '',
    ]);
    rows.push(['earliest, ms after its due time (never negative)', earliest.toFixed(1), '']);
  }
  if (due)
    rows.push([
      'due jobs made ready, per second',
      Math.round(due.rate).toLocaleString('en'),
      String(LMSTFY_DUE_RATE),
    ]);
  for (const state of ['ready', 'scheduled']) {
    const measured = bytes?.[state];
    if (measured)
      rows.push([
        `Redis bytes per ${state} job, 100 B body`,
        measured.toFixed(1),
        String(LMSTFY_BYTES[state]),
      ]);
  }
  return markdown({ header: ['', 'here', 'lmstfy'], rows });
}
