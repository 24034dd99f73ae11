/**
 * Syntax nodes of TypeScript, JavaScript and Lua in one shape: all that a marker of a guard (`markers.mjs`) needs to know of a source text.
 */
import luaparse from 'luaparse';
import ts from 'typescript';

/**
 * @typedef {object} SyntaxNode
 * @property {number} start offset of its first character; comments before it do not count
 * @property {number} end offset behind its last character
 * @property {boolean} isStop an expression that a marker stands before does not grow over it: `&&`, `||`, `??`, a ternary, a statement
 * @property {boolean} isName the name of a property: a marker before it means the property
 * @property {'statement' | 'element' | undefined} list what it is a member of: a block, or a list with commas (or a class)
 * @property {SyntaxNode | undefined} value what `true`, `false` and `with` replace: the condition of an `if`, the value of a statement
 * @property {SyntaxNode | undefined} inner what `unwrap` leaves: the first argument of a call, the operand of `!` or `not`
 * @property {SyntaxNode | undefined} other the other operand of the `&&`, `||` or `??` around it
 * @property {SyntaxNode | undefined} parent
 */

/**
 * @param {string} file its name: the ending chooses the language
 * @param {string} text
 * @returns {{ nodes: SyntaxNode[], errors: string[] }}
 */
export function parse(file, text) {
  return file.endsWith('.lua') ? parseLua(text) : parseTypeScript(file, text);
}

/**
 * @param {string} file
 * @param {string} text
 * @returns {string[]} what is no syntax of its language
 */
export function syntaxErrors(file, text) {
  return file.endsWith('.lua') ? chunkOf(text).errors : errorsOf(sourceOf(file, text));
}

/** Makes all nodes first, then what points from one to another. */
function link(sources, rangeOf, featuresOf) {
  const made = new Map(sources.map((source) => [source.node, rangeOf(source)]));
  const get = (node) => (node === undefined || node === null ? undefined : made.get(node));
  for (const source of sources) {
    const { value, inner, other, parent, ...features } = featuresOf(source);
    const links = { value: get(value), inner: get(inner), other: get(other), parent: get(parent) };
    Object.assign(made.get(source.node), features, links);
  }
  return [...made.values()];
}

function parseTypeScript(file, text) {
  const source = sourceOf(file, text);
  const found = [];
  const visit = (node) => {
    if (node !== source) found.push({ node });
    ts.forEachChild(node, visit);
  };
  visit(source);
  return {
    nodes: link(
      found,
      ({ node }) => ({ start: node.getStart(source), end: node.getEnd() }),
      ({ node }) => typeScriptFeatures(node),
    ),
    errors: errorsOf(source),
  };
}

function sourceOf(file, text) {
  return ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
}

function errorsOf(source) {
  return source.parseDiagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
}

const LOGICAL = new Set([
  ts.SyntaxKind.AmpersandAmpersandToken,
  ts.SyntaxKind.BarBarToken,
  ts.SyntaxKind.QuestionQuestionToken,
]);

function isLogical(node) {
  return ts.isBinaryExpression(node) && LOGICAL.has(node.operatorToken.kind);
}

function typeScriptFeatures(node) {
  const { parent } = node;
  const isStatement = ts.isStatement(node) && !ts.isBlock(node);
  const isElement = isListElement(node, parent);
  return {
    isStop:
      isLogical(node) ||
      ts.isConditionalExpression(node) ||
      isStatement ||
      ts.isTemplateSpan(node) ||
      (isElement && !ts.isExpression(node)),
    isName: ts.isObjectLiteralElementLike(parent) && parent.name === node,
    list: isStatement ? 'statement' : isElement ? 'element' : undefined,
    value: valueOf(node),
    inner: innerOf(node),
    other: isLogical(parent) ? (parent.left === node ? parent.right : parent.left) : undefined,
    parent,
  };
}

function isListElement(node, parent) {
  if (ts.isClassElement(node) || ts.isObjectLiteralElementLike(node) || ts.isParameter(node)) return true;
  if (ts.isArrayLiteralExpression(parent)) return parent.elements.includes(node);
  if (ts.isCallExpression(parent) || ts.isNewExpression(parent))
    return parent.arguments?.includes(node) ?? false;
  return ts.isCaseOrDefaultClause(node);
}

function valueOf(node) {
  if (ts.isVariableStatement(node)) return node.declarationList.declarations[0].initializer;
  if (ts.isPropertyAssignment(node) || ts.isPropertyDeclaration(node)) return node.initializer;
  if (!ts.isExpressionStatement(node)) return ts.isStatement(node) ? node.expression : undefined;
  const { expression } = node;
  const assigns = ts.isBinaryExpression(expression) && ts.isAssignmentOperator(expression.operatorToken.kind);
  return assigns ? expression.right : expression;
}

function innerOf(node) {
  if (ts.isCallExpression(node)) return node.arguments[0];
  if (ts.isAwaitExpression(node)) return innerOf(node.expression) ?? node.expression;
  return ts.isPrefixUnaryExpression(node) ? node.operand : undefined;
}

function parseLua(text) {
  const { chunk, errors } = chunkOf(text);
  if (chunk === undefined) return { nodes: [], errors };
  const found = [];
  const visit = (parent) => {
    for (const [key, child] of Object.entries(parent))
      for (const node of Array.isArray(child) ? child : [child])
        if (typeof node?.type === 'string' && node.type !== 'Comment') {
          found.push({ node, parent, key });
          visit(node);
        }
  };
  visit(chunk);
  return { nodes: link(found, (source) => luaRange(text, source), luaFeatures), errors: [] };
}

function chunkOf(text) {
  try {
    // Redis has Lua 5.1. Offsets are those of the text, also behind characters beyond ASCII.
    return { chunk: luaparse.parse(text, { ranges: true, luaVersion: '5.1' }), errors: [] };
  } catch (error) {
    return { chunk: undefined, errors: [error.message] };
  }
}

/** luaparse leaves the parentheses around an expression out of its range. */
function luaRange(text, { node, parent, key }) {
  let [start, end] = node.range;
  if (key === 'arguments' || key === 'parameters') return { start, end };
  for (;;) {
    const before = text.slice(parent.range[0], start).replace(/(?:\s|--\[\[[^\]]*\]\])*$/u, '');
    const after = text.slice(end, parent.range[1]);
    if (!before.endsWith('(') || !after.trimStart().startsWith(')')) return { start, end };
    start = parent.range[0] + before.length - 1;
    end += after.indexOf(')') + 1;
  }
}

function luaFeatures({ node, parent, key }) {
  const isStatement = key === 'body' || key === 'clauses';
  const isElement = key === 'fields' || key === 'arguments';
  const isOperand = parent.type === 'LogicalExpression';
  return {
    isStop: node.type === 'LogicalExpression' || isStatement || key === 'fields',
    isName: parent.type === 'TableKeyString' && key === 'key',
    list: isStatement ? 'statement' : isElement ? 'element' : undefined,
    value: node.clauses?.[0].condition ?? node.condition ?? node.init?.[0] ?? luaValue(node),
    inner:
      node.type === 'CallExpression'
        ? node.arguments[0]
        : node.type === 'UnaryExpression'
          ? node.argument
          : undefined,
    other: isOperand ? (key === 'left' ? parent.right : parent.left) : undefined,
    parent,
  };
}

function luaValue(node) {
  if (node.type === 'ReturnStatement') return node.arguments[0];
  if (node.type === 'CallStatement') return node.expression;
  return node.type.startsWith('TableKey') ? node.value : undefined;
}
