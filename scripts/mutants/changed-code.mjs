/**
 * Code as it looks after the changes that every guard must outlive: other line breaks, another name for a local variable, and functions in
 * another order.
 */
import luaparse from 'luaparse';
import { format } from 'oxfmt';
import ts from 'typescript';

/** The new name of a local variable begins so. */
export const RENAMED = 'renamed_';
const WIDTH = 70;

/**
 * @param {string} file TypeScript, JavaScript or Lua
 * @param {string} text
 * @param {{ start: number, end: number }[]} units what is guarded in it
 * @returns {Promise<string>}
 */
export async function changed(file, text, units) {
  if (file.endsWith('.lua')) return rewrapped(replaced(text, luaSwap(text), luaRename(text, units)));
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const other = replaced(text, typeScriptSwap(source, units), typeScriptRename(source, units));
  const { code, errors } = await format(file, other, { printWidth: WIDTH, singleQuote: true });
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`);
  return code;
}

/** The text with some parts renamed, and then with two neighbouring parts in the other order. */
function replaced(text, swap, renames) {
  const edited = ([start, end]) =>
    renames
      .filter((at) => at >= start && at < end)
      .reduceRight(
        (part, at) => part.slice(0, at - start) + RENAMED + part.slice(at - start),
        text.slice(start, end),
      );
  if (swap === undefined) return edited([0, text.length]);
  const [first, second] = swap;
  return edited([0, first[0]]) + edited(second) + edited(first) + edited([second[1], text.length]);
}

const isIn = (node, { start, end }) => node.pos >= start && node.end <= end;

/** Two neighbouring declarations with comments: functions and types of the file, or else methods of a class. */
function typeScriptSwap(source, units) {
  const lists = [
    source.statements,
    ...source.statements.filter(ts.isClassDeclaration).map(({ members }) => members),
  ];
  const canMove = (node) =>
    ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) || ts.isInterfaceDeclaration(node);
  const isGuarded = (node) => units.some(({ start }) => start >= node.pos && start < node.end);
  for (const list of lists)
    for (const [i, node] of list.entries()) {
      const next = list[i + 1];
      if (next !== undefined && canMove(node) && canMove(next) && (isGuarded(node) || isGuarded(next)))
        return [
          [node.pos, node.end],
          [next.pos, next.end],
        ];
    }
  return undefined;
}

/** Where the name of one local variable stands: one that a guarded part uses, if there is such a one. */
function typeScriptRename(source, units) {
  const names = new Map();
  const locals = new Set();
  const taken = new Set();
  const visit = (node) => {
    const { parent } = node;
    if (ts.isIdentifier(node)) {
      if ((ts.isVariableDeclaration(parent) || ts.isParameter(parent)) && parent.name === node)
        locals.add(node.text);
      if (isPropertyName(node, parent)) taken.add(node.text);
      else names.set(node.text, [...(names.get(node.text) ?? []), node]);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  const free = [...locals].filter((name) => !taken.has(name));
  const isUsed = (name) => names.get(name).some((node) => units.some((unit) => isIn(node, unit)));
  const name = free.find(isUsed) ?? free[0];
  return (names.get(name) ?? []).map((node) => node.getStart(source));
}

/** Also `{ name }`, which means a property as well as a variable, and what other files may use. */
function isPropertyName(node, parent) {
  if (ts.isPropertyAccessExpression(parent)) return parent.name === node;
  if (ts.isVariableDeclaration(parent) || ts.isParameter(parent)) return false;
  return (
    parent.name === node ||
    ts.isBindingElement(parent) ||
    ts.isImportSpecifier(parent) ||
    ts.isExportSpecifier(parent)
  );
}

/** Two neighbouring functions of the file with their comments. */
function luaSwap(text) {
  const { body } = luaparse.parse(text, { ranges: true, luaVersion: '5.1' });
  for (const [i, node] of body.entries()) {
    const [before, next] = [body[i - 1], body[i + 1]];
    if (before !== undefined && node.type === 'FunctionDeclaration' && next?.type === 'FunctionDeclaration')
      return [
        [before.range[1], node.range[1]],
        [node.range[1], next.range[1]],
      ];
  }
  return undefined;
}

function luaRename(text, units) {
  const places = new Map();
  // The loader makes locals of the names in a header.
  const named = [...text.matchAll(/^(?:KEYS|ARGV) (.+)$/gmu)].flatMap(([, names]) => names.split(', '));
  const visit = (node) => {
    if (node.type === 'Identifier' && (node.isLocal || named.includes(node.name)))
      places.set(node.name, [...(places.get(node.name) ?? []), node.range]);
    for (const child of Object.values(node).flat()) if (typeof child?.type === 'string') visit(child);
  };
  visit(luaparse.parse(text, { ranges: true, scope: true, luaVersion: '5.1' }));
  const isUsed = ([, ranges]) =>
    ranges.some(([from, to]) => units.some(({ start, end }) => from >= start && to <= end));
  const [, ranges] = [...places].find(isUsed) ?? [...places][0] ?? [undefined, []];
  return ranges.map(([from]) => from).toSorted((a, b) => a - b);
}

const LUA_TOKEN =
  /--\[\[[\s\S]*?\]\]|--[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\[\[[\s\S]*?\]\]|, | (?:and|or) /gu;

/** Lua with a line for each operand and each element of a list. */
function rewrapped(text) {
  return text.replaceAll(LUA_TOKEN, (token) => {
    if (token === ', ') return ',\n  ';
    return /^ (?:and|or) $/u.test(token) ? `\n ${token}` : token;
  });
}
