/** A small SVG writer for line charts. Colours and greys stand out on a light page and on a dark one. */

const FONT = 'system-ui, -apple-system, "Segoe UI", "DejaVu Sans", Helvetica, Arial, sans-serif';
/** Of a chart: what is around the lines. */
const MARGIN = { top: 44, right: 18, bottom: 48, left: 62 };

/**
 * @typedef {object} Line
 * @property {string} name
 * @property {string} colour
 * @property {boolean} [isDashed]
 * @property {number[]} values one for each place on the x axis
 */

/**
 * @typedef {object} Chart
 * @property {string} title
 * @property {string} unit of the y axis, which begins at 0
 * @property {string} xTitle
 * @property {string[]} xLabels
 * @property {Line[]} lines
 * @property {(value: number) => string} label of a y value
 */

/**
 * Charts side by side, and one legend below.
 *
 * @param {{ title: string, note: string, charts: Chart[], legend: Omit<Line, 'values'>[], width?: number, height?: number }} picture
 */
export function svgOf({ title, note, charts, legend, width = 960, height = 400 }) {
  const head = 56;
  const foot = 40;
  const chartWidth = width / charts.length;
  const parts = charts.map(
    (chart, at) =>
      `<g transform="translate(${at * chartWidth} ${head})">${chartOf(chart, chartWidth, height - head - foot)}</g>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}" font-family='${FONT}' font-size="12">
<style>
  .text { fill: #57606a } .strong { fill: #24292f } .grid { stroke: #8c959f; stroke-opacity: .3 } .axis { stroke: #8c959f }
  @media (prefers-color-scheme: dark) { .text { fill: #9ba5b0 } .strong { fill: #e6edf3 } }
</style>
<text class="strong" x="16" y="24" font-size="16" font-weight="600">${escaped(title)}</text>
<text class="text" x="16" y="42">${escaped(note)}</text>
${parts.join('\n')}
${legendOf(legend, height - 16)}
</svg>
`;
}

/** @param {Chart} chart @param {number} width @param {number} height */
function chartOf({ title, unit, xTitle, xLabels, lines, label }, width, height) {
  const inner = { width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
  const ticks = ticksUpTo(Math.max(...lines.flatMap(({ values }) => values)));
  const top = ticks.at(-1) ?? 1;
  // Room at both ends, so that no point sits on the axis.
  const x = (/** @type {number} */ at) =>
    round(MARGIN.left + ((at + 0.4) / (xLabels.length - 0.2)) * inner.width);
  const y = (/** @type {number} */ value) => round(MARGIN.top + inner.height * (1 - value / top));
  const right = MARGIN.left + inner.width;
  const grid = ticks.map(
    (value) =>
      `<line class="${value === 0 ? 'axis' : 'grid'}" x1="${MARGIN.left}" x2="${right}" y1="${y(value)}" y2="${y(value)}"/>` +
      `<text class="text" x="${MARGIN.left - 8}" y="${y(value) + 4}" text-anchor="end">${escaped(label(value))}</text>`,
  );
  const names = xLabels.map(
    (name, at) =>
      `<text class="text" x="${x(at)}" y="${y(0) + 18}" text-anchor="middle">${escaped(name)}</text>`,
  );
  const middle = MARGIN.left + inner.width / 2;
  return [
    `<text class="strong" x="${MARGIN.left}" y="${MARGIN.top - 22}" font-size="13" font-weight="600">${escaped(title)}</text>`,
    `<text class="text" x="${MARGIN.left}" y="${MARGIN.top - 8}" font-size="11">${escaped(unit)}</text>`,
    ...grid,
    ...names,
    `<text class="text" x="${middle}" y="${y(0) + 38}" text-anchor="middle">${escaped(xTitle)}</text>`,
    ...lines.map((line) => lineOf(line, x, y)),
  ].join('\n');
}

/** @param {Line} line @param {(at: number) => number} x @param {(value: number) => number} y */
function lineOf({ colour, isDashed = false, values }, x, y) {
  const points = values.map((value, at) => `${x(at)},${y(value)}`).join(' ');
  const dash = isDashed ? ' stroke-dasharray="5 4"' : '';
  const dots = values.map((value, at) => `<circle cx="${x(at)}" cy="${y(value)}" r="3" fill="${colour}"/>`);
  return `<polyline points="${points}" fill="none" stroke="${colour}" stroke-width="2"${dash}/>${dots.join('')}`;
}

/** @param {Omit<Line, 'values'>[]} entries @param {number} y */
function legendOf(entries, y) {
  let x = MARGIN.left;
  return entries
    .map(({ name, colour, isDashed = false }) => {
      const from = x;
      x += 56 + name.length * 6.6;
      const dash = isDashed ? ' stroke-dasharray="5 4"' : '';
      return (
        `<line x1="${from}" x2="${from + 26}" y1="${y - 4}" y2="${y - 4}" stroke="${colour}" stroke-width="2"${dash}/>` +
        `<text class="text" x="${from + 34}" y="${y}">${escaped(name)}</text>`
      );
    })
    .join('\n');
}

/** Round numbers from 0 to the first that is not below `max`: four to six of them. @param {number} max @returns {number[]} */
export function ticksUpTo(max) {
  const rough = (max > 0 ? max : 1) / 5;
  const magnitude = 10 ** Math.floor(Math.log10(rough));
  const step = magnitude * ([1, 2, 2.5, 5, 10].find((factor) => factor * magnitude >= rough) ?? 10);
  const steps = Math.ceil((max > 0 ? max : 1) / step);
  return Array.from({ length: steps + 1 }, (_, n) => Number((n * step).toPrecision(12)));
}

const round = (/** @type {number} */ n) => Math.round(n * 10) / 10;

/** @param {string} text */
function escaped(text) {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
