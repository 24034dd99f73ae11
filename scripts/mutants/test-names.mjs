import ts from 'typescript';

/** What a title may hold that Jest replaces by a value of the table of `each`. */
const PLACEHOLDER = /%[sdifjop#%]|\$[#\w.]+|\$\{[^}]*\}/gu;

/**
 * The full names of the tests of a spec file, as they are written: titles from the outermost `describe` to the `it`, joined by ` › `. A title
 * of `each` keeps its placeholders, a template its `${…}`.
 *
 * @param {string} text of the spec file
 */
export function testNames(text) {
  const names = [];
  const visit = (node, titles) => {
    const call = ts.isCallExpression(node) ? blockOf(node) : undefined;
    if (call === undefined) return ts.forEachChild(node, (child) => visit(child, titles));
    const own = [...titles, call.title];
    if (call.isTest) names.push(own.join(' › '));
    else node.arguments.slice(1).forEach((body) => visit(body, own));
  };
  visit(ts.createSourceFile('spec.ts', text, ts.ScriptTarget.Latest, true), []);
  return names;
}

/** `describe`, `it` or `test`, also with `.each(table)` and `.each` of a template, and as `(isPossible ? it : it.skip)`. */
function blockOf({ expression, arguments: [title] }) {
  const word = /^(?:\(\w+ \? )?(?<word>describe|it|test)\b/u.exec(expression.getText())?.groups.word;
  const isEach = ts.isCallExpression(expression) || ts.isTaggedTemplateExpression(expression);
  if (word === undefined || title === undefined || (!isEach && /\.each$/u.test(expression.getText())))
    return undefined;
  if (!ts.isStringLiteralLike(title) && !ts.isTemplateExpression(title)) return undefined;
  return {
    isTest: word !== 'describe',
    title: ts.isTemplateExpression(title) ? title.getText().slice(1, -1) : title.text,
  };
}

/**
 * What `--testNamePattern` takes to run this test alone.
 *
 * @param {string} name as `testNames` gives it
 */
export function testNamePattern(name) {
  const plain = name.replaceAll(' › ', ' ');
  const parts = plain.split(PLACEHOLDER).map((part) => part.replaceAll(/[$()*+.?[\\\]^{|}]/gu, '\\$&'));
  return `^${parts.join('.*')}$`;
}
