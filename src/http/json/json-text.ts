import { randomBytes } from 'node:crypto';
import { asciiJson, inAscii } from '../answer/answer.js';

/** JSON that is kept as it was written: numbers beyond the precision of a double, blanks, and repeated names. */
export class JsonText {
  /** @param text one complete JSON value */
  constructor(readonly text: string) {}
}

/** Placeholder for a text while an answer is built; random, so that no client can guess it. */
const SIGN = randomBytes(12).toString('hex');
const PLACE = new RegExp(`"${SIGN}([0-9]+)"`, 'g');
/** Outside of strings JSON has no other control characters, and inside none. */
const BLANKS = /[\t\n\r]/g;

/** Like `asciiJson`, for a value that may contain `JsonText`. */
export function jsonOfTexts(value: unknown): string {
  const texts: string[] = [];
  const withPlaces = JSON.stringify(value, (_name, one: unknown) =>
    one instanceof JsonText ? SIGN + String(texts.push(one.text) - 1) : one,
  );
  if (texts.length === 0) return asciiJson(value);
  return asciiText(withPlaces).replace(PLACE, (_place, index: string) =>
    asciiText(texts[Number(index)] ?? 'null'),
  );
}

/** JSON text in ASCII, on one line. @param text valid JSON */
export function asciiText(text: string): string {
  return inAscii(text.replace(BLANKS, ' '));
}

/**
 * Calls `take` with the name of each member of an object and the text of its value, in order.
 *
 * @param text valid JSON of an object; blanks may surround it
 */
export function eachMember(text: string, take: (name: string, value: string) => void): void {
  const scanner = new Scanner(text);
  scanner.open();
  while (!scanner.isAtEnd()) {
    const name = JSON.parse(scanner.value()) as string;
    take(name, scanner.value());
  }
}

/** The texts of the elements of a list, in order. @param text valid JSON of a list */
export function elementsOf(text: string): string[] {
  const scanner = new Scanner(text);
  const elements: string[] = [];
  scanner.open();
  while (!scanner.isAtEnd()) elements.push(scanner.value());
  return elements;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Characters between values: blanks, commas and colons. */
const BETWEEN = new Set(Buffer.from(' \t\n\r,:'));
const OPENING = new Set(Buffer.from('{['));
const CLOSING = new Set(Buffer.from('}]'));

/**
 * Scans valid JSON by its brackets and strings only; one pass, no recursion, and no regular expression that could
 * backtrack.
 */
class Scanner {
  private at = 0;

  constructor(private readonly text: string) {}

  /** Steps past the outermost opening bracket. */
  open(): void {
    this.skipBetween();
    this.at += 1;
  }

  /** True if no value follows within the brackets. */
  isAtEnd(): boolean {
    this.skipBetween();
    return this.at >= this.text.length || CLOSING.has(this.text.charCodeAt(this.at));
  }

  value(): string {
    this.skipBetween();
    const start = this.at;
    let depth = 0;
    do {
      const code = this.text.charCodeAt(this.at);
      if (code === QUOTE) this.skipString();
      else if (depth === 0 && !OPENING.has(code)) this.skipScalar();
      else {
        depth += OPENING.has(code) ? 1 : CLOSING.has(code) ? -1 : 0;
        this.at += 1;
      }
    } while (depth > 0 && this.at < this.text.length);
    return this.text.slice(start, this.at);
  }

  private skipBetween(): void {
    while (BETWEEN.has(this.text.charCodeAt(this.at))) this.at += 1;
  }

  private skipScalar(): void {
    while (this.at < this.text.length) {
      const code = this.text.charCodeAt(this.at);
      if (BETWEEN.has(code) || CLOSING.has(code)) return;
      this.at += 1;
    }
  }

  /** Skips to after the closing quote: the first one after an even number of backslashes. */
  private skipString(): void {
    for (let quote = this.text.indexOf('"', this.at + 1); quote !== -1;) {
      let before = quote - 1;
      while (this.text.charCodeAt(before) === BACKSLASH) before -= 1;
      this.at = quote + 1;
      if ((quote - before) % 2 === 1) return;
      quote = this.text.indexOf('"', this.at);
    }
    this.at = this.text.length;
  }
}
