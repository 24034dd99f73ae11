/*
 * JSON as text. `JSON.parse` changes numbers beyond 2^53 and drops members that come twice: what users stored is shown from
 * its text, which is never written again.
 */

/** A piece of a JSON text. `mark` is a bracket, a comma or a colon. */
export interface Token {
  readonly kind: 'name' | 'string' | 'number' | 'literal' | 'mark';
  readonly text: string;
}

const NUMBER = /[-+.\deE]/;

/** True if a text is JSON. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Where the string that begins at `at` ends. */
function endOfString(text: string, at: number): number {
  let end = at + 1;
  while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
  return Math.min(end + 1, text.length);
}

function skipSpace(text: string, at: number): number {
  let end = at;
  while (end < text.length && text.charCodeAt(end) <= 32) end++;
  return end;
}

/** Where the value that begins at `at` ends. */
function endOfValue(text: string, at: number): number {
  let depth = 0;
  let end = at;
  while (end < text.length) {
    const mark = text[end];
    if (mark === '"') {
      end = endOfString(text, end);
      continue;
    }
    if (depth === 0 && (mark === ',' || mark === ']' || mark === '}')) break;
    if (mark === '{' || mark === '[') depth++;
    if (mark === '}' || mark === ']') depth--;
    end++;
  }
  return end;
}

/** The text of each member of a JSON object by its name; of equal names the last. Empty if it is no object. */
export function rawMembers(text: string): Map<string, string> {
  const members = new Map<string, string>();
  let at = skipSpace(text, 0);
  if (text[at] !== '{') return members;
  at = skipSpace(text, at + 1);
  while (at < text.length && text[at] === '"') {
    const nameEnd = endOfString(text, at);
    const name = unescaped(text.slice(at, nameEnd));
    const from = skipSpace(text, skipSpace(text, nameEnd) + 1);
    const end = endOfValue(text, from);
    members.set(name, text.slice(from, end).trimEnd());
    at = text[end] === ',' ? skipSpace(text, end + 1) : text.length;
  }
  return members;
}

function unescaped(quoted: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted.slice(1, -1);
  }
}

/** Cuts a JSON text into tokens, at most `limit` of them. A text that is no JSON gives tokens, too; none is changed. */
export function tokensOf(text: string, limit: number): { tokens: Token[]; isCut: boolean } {
  const tokens: Token[] = [];
  let at = skipSpace(text, 0);
  while (at < text.length) {
    if (tokens.length >= limit) return { tokens, isCut: true };
    const token = tokenAt(text, at);
    tokens.push(token);
    at = skipSpace(text, at + token.text.length);
  }
  return { tokens, isCut: false };
}

function tokenAt(text: string, at: number): Token {
  const first = text[at] ?? '';
  if (first === '"') {
    const end = endOfString(text, at);
    const kind = text[skipSpace(text, end)] === ':' ? 'name' : 'string';
    return { kind, text: text.slice(at, end) };
  }
  if ('{}[],:'.includes(first)) return { kind: 'mark', text: first };
  let end = at + 1;
  const isNumber = NUMBER.test(first) && first !== 'e' && first !== 'E';
  while (end < text.length && !'{}[],:"'.includes(text[end] ?? '') && text.charCodeAt(end) > 32) end++;
  return { kind: isNumber ? 'number' : 'literal', text: text.slice(at, end) };
}

/** A line of a JSON text that is laid out for reading. */
export interface Line {
  readonly indent: number;
  readonly tokens: readonly Token[];
}

/** Lays tokens out in lines, one for each member. Empty objects and lists stay on their line. */
export function linesOf(tokens: readonly Token[]): Line[] {
  const lines: Line[] = [];
  let indent = 0;
  let line: Token[] = [];
  const end = (): void => {
    if (line.length > 0) lines.push({ indent, tokens: line });
    line = [];
  };
  tokens.forEach((token, i) => {
    const next = tokens[i + 1]?.text;
    const before = tokens[i - 1]?.text;
    if (token.text === '}' || token.text === ']') {
      if (before !== '{' && before !== '[') {
        end();
        indent = Math.max(0, indent - 1);
      }
      line.push(token);
      return;
    }
    line.push(token);
    if ((token.text === '{' || token.text === '[') && next !== '}' && next !== ']') {
      end();
      indent++;
    } else if (token.text === ',') end();
  });
  end();
  return lines;
}

/** Characters that change how the text around them looks, or that show nothing. */
const HIDDEN =
  /[\u0000-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff]/;
const ESCAPE = /\\(?:u[\da-fA-F]{4}|.)/g;

/** A string of JSON with its `\uXXXX` as characters, but those that hide or turn text: they stay as they are. */
export function readable(quoted: string): string {
  const text = quoted.replace(
    /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}/g,
    (pair, at: number) => (isEscaped(quoted, at) ? pair : pairOf(pair)),
  );
  return text.replace(ESCAPE, (escape) => {
    if (escape[1] !== 'u') return escape;
    const letter = String.fromCharCode(Number.parseInt(escape.slice(2), 16));
    return HIDDEN.test(letter) || letter.charCodeAt(0) < 128 ? escape : letter;
  });
}

/** True if the backslash at `at` is itself escaped. */
function isEscaped(text: string, at: number): boolean {
  let count = 0;
  while (text[at - 1 - count] === '\\') count++;
  return count % 2 === 1;
}

function pairOf(pair: string): string {
  const code = (at: number): number => Number.parseInt(pair.slice(at, at + 4), 16);
  return String.fromCharCode(code(2), code(8));
}

/** Plain text with hidden and turning characters written as `\u{…}`; tabs and ends of lines stay. */
export function visible(text: string): string {
  return Array.from(text, (letter) => {
    if (letter === '\n' || letter === '\t' || letter === '\r') return letter;
    const code = letter.codePointAt(0) ?? 0;
    return letter.length === 1 && HIDDEN.test(letter) ? `\\u{${code.toString(16)}}` : letter;
  }).join('');
}
