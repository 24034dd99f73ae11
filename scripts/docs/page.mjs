/** What stands at the top of each page. @param {string} sources */
export const NOTE = (sources) =>
  `<!-- Generated from ${sources} by \`npm run docs:reference\`. Do not edit: test/reference.spec.ts compares. -->`;

/** @param {number} level @param {string} text */
export const heading = (level, text) => `${'#'.repeat(level)} ${text}`;

/** Text as it may stand in a cell of a table, and in a page that Vue compiles. @param {unknown} text */
export const cell = (text) => escaped(String(text)).replaceAll('|', '\\|').replaceAll('\n', ' ');

/** `<` outside of code would begin a tag. @param {string} text */
export const escaped = (text) =>
  text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? part : part.replaceAll('<', '&lt;').replaceAll('{{', '{ {')))
    .join('');

/** @param {readonly string[]} head @param {readonly (readonly unknown[])[]} rows */
export const table = (head, rows) =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');
