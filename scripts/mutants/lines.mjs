/**
 * Python and Go have no parser in npm that is kept: a marker there stands on the line before a statement, and the statement is read by its
 * brackets and its indentation.
 */

/**
 * The statement at an offset, with what it encloses.
 *
 * @param {string} file
 * @param {string} text
 * @param {number} at offset of its first character
 */
export function statementAt(file, text, at) {
  const headEnd = lineEndOutsideBrackets(text, at);
  if (!file.endsWith('.py')) return { start: at, end: headEnd };
  const indent = at - (text.lastIndexOf('\n', at) + 1);
  let end = headEnd;
  for (const line of text.slice(headEnd + 1).split('\n')) {
    if (line.trim() !== '' && line.length - line.trimStart().length <= indent) break;
    end += line.length + 1;
  }
  return { start: at, end: headEnd + text.slice(headEnd, end).trimEnd().length };
}

/** The end of the line on which all brackets are closed: in Go those of a block too. */
function lineEndOutsideBrackets(text, at) {
  let depth = 0;
  for (let i = at; i < text.length; i += 1) {
    const character = text[i];
    if (character === '"' || character === "'" || character === '`') {
      i = textEnd(text, i);
    } else if ('([{'.includes(character)) depth += 1;
    else if (')]}'.includes(character)) depth -= 1;
    else if (character === '\n' && depth <= 0) return i;
  }
  return text.length;
}

function textEnd(text, at) {
  const quote = text[at];
  const triple = quote.repeat(3);
  if (quote !== '`' && text.startsWith(triple, at)) return text.indexOf(triple, at + 3) + 2;
  for (let i = at + 1; i < text.length; i += 1) {
    if (text[i] === '\\' && quote !== '`') i += 1;
    else if (text[i] === quote) return i;
  }
  return text.length;
}

/** Where the condition of an `if` stands in a statement; undefined for another statement. */
export function conditionOf(file, text, { start, end }) {
  const head = file.endsWith('.py')
    ? /^(?:el)?if (?<condition>[^\n]*):[ ]*(?:#.*)?$/mu.exec(text.slice(start, end))
    : /^(?:\} else )?if (?:[^\n]*; )?(?<condition>[^\n]*) \{$/mu.exec(text.slice(start, end));
  if (head === null || head.index !== 0) return undefined;
  const from = start + head[0].lastIndexOf(head.groups.condition);
  return { start: from, end: from + head.groups.condition.length };
}
