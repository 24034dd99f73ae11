import { JsonScanner } from './scanner.js';

/** What may follow a backslash in a string; `u` is checked separately. */
const ESCAPED = new Set(Buffer.from('"\\/bfnrt'));
const HEX = /^[0-9a-fA-F]{4}$/;
const NOT_SHOWN = /[^\x21-\x7e]/;
const BLANKS = new Set(Buffer.from(' \t\n\r'));
const [QUOTE, BACKSLASH, LETTER_U, MINUS, POINT] = [0x22, 0x5c, 0x75, 0x2d, 0x2e];

/** What must be at a place, by what is before it. */
const AFTER: Readonly<Record<string, string>> = {
  '{': 'a name in double quotes or `}`',
  '[': 'a value or `]`',
  ':': 'a value',
};
const [VALUE, NAME] = ['a value', 'a name in double quotes'];

/** A mistake: where it is, in bytes, and what must be there. */
interface Mistake {
  readonly at: number;
  readonly expected: string;
}

/**
 * Says where a text stops being JSON: `line 2, column 5: found `}`, expected a value`. It repeats one character of the
 * text, never more: the rest may be secret. Lines and columns count from 1, columns in UTF-16 code units.
 *
 * Node's own message has a position only for some mistakes, and repeats a piece of the text.
 *
 * @returns undefined if the text is JSON
 */
export function jsonFault(text: string): string | undefined {
  const bytes = Buffer.from(text);
  const scanner = JsonScanner.ofAnyDepth(bytes);
  if (scanner.value() && scanner.end()) return undefined;
  const { at, expected } = mistakeOf(scanner);
  const index = bytes.toString('utf8', 0, at).length;
  return `${placeIn(text, index)}: found ${characterAt(text, index)}, expected ${expected}`;
}

/** The mistake at which a scan has stopped. */
function mistakeOf(scanner: JsonScanner): Mistake {
  const { text, at } = scanner;
  const expected = expectedAt(scanner);
  const byte = text[at] ?? -1;
  const isName = expected.startsWith(NAME);
  if (byte === QUOTE && (isName || expected.startsWith(VALUE))) return stringMistake(text, at);
  if ((byte === MINUS || isDigit(byte)) && expected.startsWith(VALUE)) return numberMistake(text, at);
  return { at, expected };
}

function expectedAt(scanner: JsonScanner): string {
  const { text, at, depth, nameEnd } = scanner;
  let before = at - 1;
  while (before >= 0 && BLANKS.has(text[before] ?? 0)) before -= 1;
  if (depth === 0) return before < 0 ? VALUE : 'the end of the body';
  const last = String.fromCharCode(text[before] ?? 0);
  if (last === ',') return scanner.isInObject() ? NAME : VALUE;
  if (scanner.isInObject() && nameEnd === before + 1) return '`:`';
  return AFTER[last] ?? 'a comma or the closing bracket';
}

/** @param start the opening quote */
function stringMistake(text: Buffer, start: number): Mistake {
  for (let at = start + 1; ; at += 1) {
    const byte = text[at];
    if (byte === undefined) return { at, expected: 'the closing double quote of a text' };
    if (byte < 0x20)
      return { at, expected: 'no line break or other control character within a text (write `\\n`)' };
    if (byte !== BACKSLASH) continue;
    at += 1;
    if (text[at] === LETTER_U) {
      if (!HEX.test(text.toString('latin1', at + 1, at + 5)))
        return { at, expected: 'four hexadecimal digits behind `\\u`' };
      at += 4;
    } else if (!ESCAPED.has(text[at] ?? -1)) return { at, expected: 'an escape that JSON has behind `\\`' };
  }
}

/** A number has one mistake: no digit where one must be. */
function numberMistake(text: Buffer, start: number): Mistake {
  let at = text[start] === MINUS ? start + 1 : start;
  while (isDigit(text[at])) at += 1;
  if (text[at] === POINT && isDigit(text[at - 1])) at = digitsEnd(text, at + 1);
  if (/[eE]/.test(String.fromCharCode(text[at] ?? 0)) && isDigit(text[at - 1])) {
    at += /[+-]/.test(String.fromCharCode(text[at + 1] ?? 0)) ? 2 : 1;
    at = digitsEnd(text, at);
  }
  return { at, expected: 'a digit' };
}

function digitsEnd(text: Buffer, start: number): number {
  let at = start;
  while (isDigit(text[at])) at += 1;
  return at;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

/** Line and column of an index of a text. */
function placeIn(text: string, at: number): string {
  let line = 1;
  let start = 0;
  for (let end = text.indexOf('\n'); end !== -1 && end < at; end = text.indexOf('\n', start)) {
    line += 1;
    start = end + 1;
  }
  return `line ${String(line)}, column ${String(at - start + 1)}`;
}

function characterAt(text: string, at: number): string {
  const character = text.charAt(at);
  if (character === '') return 'the end of the body';
  if (character === '\n' || character === '\r') return 'a line break';
  if (!NOT_SHOWN.test(character)) return `\`${character}\``;
  return `U+${(text.codePointAt(at) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
