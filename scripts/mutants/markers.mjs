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
 * @typedef {'remove' | 'true' | 'false' | 'unwrap' | { with: string } | { replace: string } | { behind: number }} Off
 *
 * - `remove`: the unit is taken away. An operand leaves the other one of its `&&`, `||` or `??`. (The formatter may put the marker of a
 *   second operand before its `&&`: that means the same.)
 * - `true`, `false`, `{ with }`: this stands in its place. In a statement: in place of its condition, or of the value that it assigns,
 *   returns or evaluates. `$&` stands for what was there.
 * - `unwrap`: a call leaves its first argument, `!x` and `await x` leave `x`.
 * - `{ replace }`: this stands in place of the whole statement or list element; `$&` stands for it.
 * - `{ behind }`: the statement or list element is moved behind so many of those that follow it.
 *
 * A guard that is at several places of a file has a marker at each; all are switched off in the same way.
 */

const LINE = /(?:\/\/|--|#)[ \t]*guard:[ \t]*(?<id>[a-z0-9-]+)[ \t]*(?=\n|$)/gu;
const INLINE = /(?:\/\*|--\[\[)[ \t]*guard:[ \t]*(?<id>[a-z0-9-]+)[ \t]*(?:\*\/|\]\])/gu;

/** The syntax of the files as they were last read. */
const parsed = new Map();

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
 * The parts of a text that a guard protects: one for each of its markers.
 *
 * @param {string} file its name: the ending chooses the language
 * @param {string} text
 * @param {string} id
 */
export function unitsOf(file, text, id) {
  const markers = markersOf(text).filter((m) => m.id === id);
  if (markers.length === 0) throw new Error(`${file} has no marker "guard: ${id}"`);
  if (/\.(?:py|go)$/u.test(file))
    return markers.map(({ end }) => ({
      ...statementAt(file, text, codeAfter(file, text, end)),
      list: 'statement',
    }));
  const { nodes, errors } = parseOnce(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]}`);
  return markers.map((marker) => {
    const unit = unitAt(nodes, codeAfter(file, text, marker.end), marker.isLine);
    if (unit === undefined) throw new Error(`${file}: nothing begins behind the marker "guard: ${id}"`);
    return unit;
  });
}

/** A file has many guards. */
function parseOnce(file, text) {
  const known = parsed.get(file);
  if (known?.text === text) return known.syntax;
  const syntax = parse(file, text);
  parsed.set(file, { text, syntax });
  return syntax;
}

function unitAt(nodes, at, isLine) {
  const starting = nodes
    .filter(({ start, isName }) => start === at && !isName)
    .sort((a, b) => a.end - b.end || depth(b) - depth(a));
  const unit =
    (isLine ? starting.findLast(({ list }) => list !== undefined) : undefined) ?? largest(starting);
  const next = nodes.filter(
    (node) =>
      node.list !== undefined &&
      node.list === unit?.list &&
      node.parent === unit.parent &&
      node.start > unit.start,
  );
  return unit && { ...unit, next: next.sort((a, b) => a.start - b.start) };
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
  // From the last one: what stands before it does not move.
  return unitsOf(file, text, id)
    .map((unit) => changeOf(file, text, unit, off))
    .reduceRight((rest, [{ start, end }, code]) => rest.slice(0, start) + code + rest.slice(end), text);
}

function changeOf(file, text, unit, off) {
  if (off === 'remove') return removal(file, text, unit);
  if (off === 'unwrap') {
    const inner = (unit.value ?? unit).inner;
    if (inner === undefined) throw new Error(`${file}: \`unwrap\` is for a call, \`await\` or \`not\``);
    return [unit.value ?? unit, text.slice(inner.start, inner.end)];
  }
  if (off.behind !== undefined) return moved(file, text, unit, off.behind);
  const isScript = /\.(?:py|go)$/u.test(file);
  const isWhole = typeof off === 'object' && off.replace !== undefined;
  const place = isWhole ? unit : isScript ? conditionOf(file, text, unit) : (unit.value ?? unit);
  if (place === undefined) throw new Error(`${file}: ${JSON.stringify(off)} is for an \`if\` here`);
  if (typeof off === 'object')
    return [place, (off.replace ?? off.with).replaceAll('$&', () => text.slice(place.start, place.end))];
  return [place, file.endsWith('.py') ? `${off[0].toUpperCase()}${off.slice(1)}` : off];
}

/** A statement or list element, and those that come to stand before it, with what is between them. */
function moved(file, text, { start, end, next }, count) {
  const others = next.slice(0, count);
  if (others.length < count)
    throw new Error(`${file}: \`behind\` is for a statement or list element with others behind it`);
  const [first, last] = [others[0], others.at(-1)];
  const code = text.slice(first.start, last.end) + text.slice(end, first.start) + text.slice(start, end);
  return [{ start, end: last.end }, code];
}

function removal(file, text, expression) {
  const { other, parent } = expression;
  if (other !== undefined) return [parent, text.slice(other.start, other.end)];
  // An expression may be all of a statement (for example behind `else`) or of a list element.
  const isAll =
    parent?.start === expression.start && (parent.list === 'statement' || parent.end === expression.end);
  const unit = expression.list === undefined && isAll ? parent : expression;
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
