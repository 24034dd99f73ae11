/** Characters between values. */
const BLANKS = new Set(Buffer.from(' \t\n\r'));
const LITERALS = ['true', 'false', 'null'];
/** What may follow a backslash in a string; `u` is checked separately. */
const ESCAPED = new Set(Buffer.from('"\\/bfnrt'));
const HEX = /^[0-9a-fA-F]{4}$/;
const NOT_SHOWN = /[^\x21-\x7e]/;
const [QUOTE, BACKSLASH] = [0x22, 0x5c];

/** What a text must have at a place; the keys of `EXPECTED`. */
type Next = 'value' | 'valueOrEnd' | 'name' | 'nameOrEnd' | 'colon' | 'commaOrEnd';

const EXPECTED: Readonly<Record<Next, string>> = {
  value: 'a value',
  valueOrEnd: 'a value or `]`',
  name: 'a name in double quotes',
  nameOrEnd: 'a name in double quotes or `}`',
  colon: '`:`',
  commaOrEnd: 'a comma or the closing bracket',
};

/**
 * Says where a text stops being JSON: `line 2, column 5: found `}`, expected a value`. It repeats one character of the
 * text, never more: the rest may be secret. Lines and columns count from 1, columns in UTF-16 code units.
 *
 * Node's own message has a position only for some mistakes, and repeats a piece of the text. One pass, no recursion.
 *
 * @returns undefined if the text is JSON
 */
export function jsonFault(text: string): string | undefined {
  const finder = new FaultFinder(text);
  const expected = finder.find();
  if (expected === undefined) return undefined;
  return `${placeIn(text, finder.at)}: found ${characterAt(text, finder.at)}, expected ${expected}`;
}

/** Line and column of an index of a text. */
export function placeIn(text: string, at: number): string {
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

/** Walks through a text as a JSON parser does, up to the first mistake. Its steps return what is missing, if anything. */
class FaultFinder {
  at = 0;
  private next: Next = 'value';
  /** The closing brackets of the open lists and objects. */
  private readonly closing: string[] = [];

  constructor(private readonly text: string) {}

  /** Returns what is expected at `at`; undefined at the end of a complete value. */
  find(): string | undefined {
    for (;;) {
      while (BLANKS.has(this.text.charCodeAt(this.at))) this.at += 1;
      const isComplete = this.next === 'commaOrEnd' && this.closing.length === 0;
      if (isComplete) return this.at === this.text.length ? undefined : 'the end of the body';
      const missing = this.step(this.text.charAt(this.at));
      if (missing !== undefined) return missing;
    }
  }

  private step(character: string): string | undefined {
    const { next } = this;
    if (next.endsWith('OrEnd') && character !== '' && character === this.closing.at(-1)) return this.close();
    if (next === 'commaOrEnd' && character === ',') {
      return this.take(1, this.closing.at(-1) === '}' ? 'name' : 'value');
    }
    if (next === 'colon' && character === ':') return this.take(1, 'value');
    if (next === 'name' || next === 'nameOrEnd')
      return character === '"' ? this.string('colon') : EXPECTED[next];
    if (next === 'value' || next === 'valueOrEnd') return this.value(character);
    return EXPECTED[next];
  }

  private value(character: string): string | undefined {
    if (character === '{') return this.open('}', 'nameOrEnd');
    if (character === '[') return this.open(']', 'valueOrEnd');
    if (character === '"') return this.string('commaOrEnd');
    if (character === '-' || isDigit(character)) return this.number();
    const literal = LITERALS.find((one) => this.text.startsWith(one, this.at));
    return literal === undefined ? EXPECTED[this.next] : this.take(literal.length, 'commaOrEnd');
  }

  private take(length: number, next: Next): string | undefined {
    this.at += length;
    this.next = next;
    return undefined;
  }

  private open(closing: string, next: Next): string | undefined {
    this.closing.push(closing);
    return this.take(1, next);
  }

  private close(): string | undefined {
    this.closing.pop();
    return this.take(1, 'commaOrEnd');
  }

  private string(next: Next): string | undefined {
    for (this.at += 1; ; this.at += 1) {
      const code = this.text.charCodeAt(this.at);
      if (code === QUOTE) return this.take(1, next);
      if (Number.isNaN(code)) return 'the closing double quote of a text';
      if (code < 0x20) return 'no line break or other control character within a text (write `\\n`)';
      if (code !== BACKSLASH) continue;
      this.at += 1;
      if (this.text.charAt(this.at) === 'u') {
        if (!HEX.test(this.text.slice(this.at + 1, this.at + 5)))
          return 'four hexadecimal digits behind `\\u`';
        this.at += 4;
      } else if (!ESCAPED.has(this.text.charCodeAt(this.at))) return 'an escape that JSON has behind `\\`';
    }
  }

  private number(): string | undefined {
    if (this.text.charAt(this.at) === '-') this.at += 1;
    if (this.text.charAt(this.at) === '0') this.at += 1;
    else if (!this.digits()) return 'a digit';
    if (this.text.charAt(this.at) === '.') {
      this.at += 1;
      if (!this.digits()) return 'a digit';
    }
    if (/^[eE]$/.test(this.text.charAt(this.at))) {
      this.at += 1;
      if (/^[+-]$/.test(this.text.charAt(this.at))) this.at += 1;
      if (!this.digits()) return 'a digit';
    }
    return this.take(0, 'commaOrEnd');
  }

  /** Takes digits. @returns false if there is none */
  private digits(): boolean {
    const start = this.at;
    while (isDigit(this.text.charAt(this.at))) this.at += 1;
    return this.at > start;
  }
}

function isDigit(character: string): boolean {
  return character >= '0' && character <= '9' && character.length === 1;
}
