/**
 * Guards by markers: a comment `guard: ID` stands in the code at what it protects, and a table says what happens when it is switched off.
 * No table repeats source text, so a guard survives formatting, renaming and moving.
 *
 * - `// guard: ID` or, in Lua, `-- guard: ID` (Python: `#`) on the line before a statement, list element, property or class member: this is
 *   the unit.
 * - `/* guard: ID *\/` or `--[[ guard: ID ]]` before an expression: the unit is the largest expression that begins there and is no `&&`,
 *   `||`, `??` or ternary. So the marker before one operand of a condition means this operand.
 */
import { conditionOf, statementAt } from './lines.mjs';
import { parse } from './syntax.mjs';

/**
 * @typedef {'remove' | 'true' | 'false' | 'unwrap' | { with: string }} Off
 *
 * - `remove`: the unit is taken away. An operand leaves the other one of its `&&`, `||` or `??`.
 * - `true`, `false`, `{ with }`: this stands in its place. In a statement: in place of its condition, or of the value that it assigns,
 *   returns or evaluates.
 * - `unwrap`: a call leaves its first argument, `!x` and `await x` leave `x`.
 */

const LINE = /(?:\/\/|--|#)[ \t]*guard:[ \t]*(?<id>[a-z0-9-]+)[ \t]*(?=\n|$)/gu;
const INLINE = /(?:\/\*|--\[\[)[ \t]*guard:[ \t]*(?<id>[a-z0-9-]+)[ \t]*(?:\*\/|\]\])/gu;

/**
 * All markers of a text.
 *
 * @param {string} text
 * @returns {{ id: string, isLine: boolean, start: number, end: number }[]} offsets of the comment
 */
export function markersOf(text) {
  const found = [];
  for (const [pattern, isLine] of [
    [LINE, true],
    [INLINE, false],
  ])
    for (const match of text.matchAll(pattern))
      found.push({ id: match.groups.id, isLine, start: match.index, end: match.index + match[0].length });
  return found.sort((a, b) => a.start - b.start);
}

/**
 * The part of a text that a guard protects.
 *
 * @param {string} file its name: the ending chooses the language
 * @param {string} text
 * @param {string} id
 */
export function unitOf(file, text, id) {
  const [marker, ...more] = markersOf(text).filter((m) => m.id === id);
  if (marker === undefined) throw new Error(`${file} has no marker "guard: ${id}"`);
  if (more.length > 0) throw new Error(`${file} has ${more.length + 1} markers "guard: ${id}"`);
  const at = codeAfter(file, text, marker.end);
  if (/\.(?:py|go)$/u.test(file)) return { ...statementAt(file, text, at), list: 'statement' };
  const { nodes, errors } = parse(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]}`);
  const starting = nodes
    .filter(({ start }) => start === at)
    .sort((a, b) => a.end - b.end || depth(b) - depth(a));
  const unit =
    (marker.isLine ? starting.findLast(({ list }) => list !== undefined) : undefined) ?? largest(starting);
  if (unit === undefined) throw new Error(`${file}: nothing begins behind the marker "guard: ${id}"`);
  return unit;
}

function depth(node) {
  return node.parent === undefined ? 0 : 1 + depth(node.parent);
}

/** The largest expression that no `&&`, `||`, `??` or ternary, and no statement, has begun before. */
function largest(starting) {
  const stop = starting.findIndex(({ isStop }) => isStop);
  if (stop === 0) return starting[0];
  return starting[(stop < 0 ? starting.length : stop) - 1];
}

const TRIVIA = {
  lua: /(?:\s|--\[\[[\s\S]*?\]\]|--[^\n]*)*/uy,
  py: /(?:\s|#[^\n]*)*/uy,
  other: /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/uy,
};

/** Comments and blanks are no code. */
function codeAfter(file, text, from) {
  const trivia = TRIVIA[file.split('.').at(-1)] ?? TRIVIA.other;
  trivia.lastIndex = from;
  return from + trivia.exec(text)[0].length;
}

/**
 * The text with one guard switched off.
 *
 * @param {string} file
 * @param {string} text
 * @param {string} id
 * @param {Off} off
 */
export function switchOff(file, text, id, off) {
  const unit = unitOf(file, text, id);
  const [{ start, end }, code] = changeOf(file, text, unit, off);
  return text.slice(0, start) + code + text.slice(end);
}

function changeOf(file, text, unit, off) {
  if (off === 'remove') return removal(file, text, unit);
  if (off === 'unwrap') {
    const inner = (unit.value ?? unit).inner;
    if (inner === undefined) throw new Error(`${file}: \`unwrap\` is for a call, \`await\` or \`not\``);
    return [unit.value ?? unit, text.slice(inner.start, inner.end)];
  }
  const isScript = /\.(?:py|go)$/u.test(file);
  const place = isScript ? conditionOf(file, text, unit) : (unit.value ?? unit);
  if (place === undefined) throw new Error(`${file}: ${JSON.stringify(off)} is for an \`if\` here`);
  if (typeof off === 'object') return [place, off.with];
  return [place, file.endsWith('.py') ? `${off[0].toUpperCase()}${off.slice(1)}` : off];
}

function removal(file, text, unit) {
  if (unit.other !== undefined) return [unit.parent, text.slice(unit.other.start, unit.other.end)];
  if (unit.list === 'statement')
    return [unit, file.endsWith('.py') ? 'pass' : file.endsWith('.ts') || file.endsWith('.mjs') ? ';' : ''];
  if (unit.list !== 'element')
    throw new Error(`${file}: \`remove\` is for a statement, a list element or an operand`);
  const after = /^\s*[,;]/u.exec(text.slice(unit.end));
  if (after !== null) return [{ start: unit.start, end: unit.end + after[0].length }, ''];
  const before = /,\s*(?:\/\/[^\n]*\s*|\/\*[^*]*\*\/\s*|--\[\[[^\]]*\]\]\s*)*$/u.exec(
    text.slice(0, unit.start),
  );
  return [{ start: before === null ? unit.start : before.index, end: unit.end }, ''];
}
