/** Deepest nesting that is accepted, as in Go's JSON: far above practical use. */
const MAX_DEPTH = 10_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const LETTER_U = 0x75;
/** Characters that may follow a backslash, except `u`. */
const ESCAPES = new Set(Buffer.from('"\\/bfnrt'));
const LITERALS = new Map([
  [0x74, Buffer.from('true')],
  [0x66, Buffer.from('false')],
  [0x6e, Buffer.from('null')],
]);

/** The elements of a JSON array. */
export interface SplitArray {
  readonly count: number;
  /** Views of the text, byte for byte; at most as many as requested. */
  readonly elements: Buffer[];
}

/**
 * Splits the text of a JSON array into the texts of its elements. It checks the whole text and decodes nothing:
 * spelling of numbers, inner blanks and duplicate keys are kept, bytes in strings need not be UTF-8. One pass, no
 * recursion.
 *
 * @param keep elements beyond this number are only counted
 * @returns null if it is not a JSON array
 */
export function splitArray(text: Buffer, keep: number): SplitArray | null {
  return new ArraySplitter(text, keep).split();
}

class ArraySplitter {
  private at = 0;
  private readonly elements: Buffer[] = [];
  private count = 0;
  /** For each open bracket, whether it is an object's. */
  private readonly open = new Uint8Array(MAX_DEPTH);
  private depth = 0;

  constructor(
    private readonly text: Buffer,
    private readonly keep: number,
  ) {}

  split(): SplitArray | null {
    if (!this.takes(OPEN_LIST)) return null;
    if (!this.takes(CLOSE_LIST)) {
      do {
        this.blanks();
        const start = this.at;
        if (!this.value()) return null;
        this.count += 1;
        if (this.count <= this.keep) this.elements.push(this.text.subarray(start, this.at));
      } while (this.takes(COMMA));
      if (!this.takes(CLOSE_LIST)) return null;
    }
    this.blanks();
    return this.at === this.text.length ? { count: this.count, elements: this.elements } : null;
  }

  /** Reads one value with its content; open brackets are kept on a stack of our own. */
  private value(): boolean {
    const floor = this.depth;
    for (;;) {
      const opened = this.scalarOrOpen();
      if (opened === undefined) return false;
      if (opened && !this.takes(this.closer())) {
        if (this.isObject() && !this.key()) return false;
        continue;
      }
      if (opened) this.depth -= 1;
      const more = this.afterValue(floor);
      if (more !== true) return more === false;
    }
  }

  /** @returns true if another value must follow, false if the outermost one is complete, undefined for invalid JSON */
  private afterValue(floor: number): boolean | undefined {
    while (this.depth > floor) {
      if (this.takes(COMMA)) return !this.isObject() || this.key() ? true : undefined;
      if (!this.takes(this.closer())) return undefined;
      this.depth -= 1;
    }
    return false;
  }

  private isObject(): boolean {
    return this.open[this.depth - 1] === 1;
  }

  private closer(): number {
    return this.isObject() ? CLOSE_OBJECT : CLOSE_LIST;
  }

  /** @returns true if a bracket was opened, false for a complete value, undefined for invalid JSON */
  private scalarOrOpen(): boolean | undefined {
    this.blanks();
    const byte = this.text[this.at];
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      // The array that is split counts as one level.
      if (this.depth + 1 >= MAX_DEPTH) return undefined;
      this.open[this.depth++] = byte === OPEN_OBJECT ? 1 : 0;
      this.at += 1;
      return true;
    }
    if (byte === QUOTE) return this.string() ? false : undefined;
    const literal = byte === undefined ? undefined : LITERALS.get(byte);
    const whole = literal === undefined ? this.number() : this.literal(literal);
    return whole ? false : undefined;
  }

  private key(): boolean {
    this.blanks();
    return this.text[this.at] === QUOTE && this.string() && this.takes(COLON);
  }

  private string(): boolean {
    const { text } = this;
    for (let at = this.at + 1; at < text.length; at++) {
      const byte = text[at] ?? 0;
      if (byte === QUOTE) {
        this.at = at + 1;
        return true;
      }
      if (byte < 0x20) return false;
      if (byte !== BACKSLASH) continue;
      at += 1;
      const escape = text[at] ?? 0;
      if (escape === LETTER_U) {
        if (!isHex(text, at + 1)) return false;
        at += 4;
      } else if (!ESCAPES.has(escape)) return false;
    }
    return false;
  }

  private literal(text: Buffer): boolean {
    const end = this.at + text.length;
    if (this.text.compare(text, 0, text.length, this.at, Math.min(end, this.text.length)) !== 0) return false;
    this.at = end;
    return true;
  }

  private number(): boolean {
    if (this.text[this.at] === 0x2d) this.at += 1;
    if (this.text[this.at] === 0x30) this.at += 1;
    else if (!this.digits()) return false;
    if (this.text[this.at] === 0x2e) {
      this.at += 1;
      if (!this.digits()) return false;
    }
    const exponent = this.text[this.at];
    if (exponent !== 0x65 && exponent !== 0x45) return true;
    this.at += 1;
    const sign = this.text[this.at];
    if (sign === 0x2b || sign === 0x2d) this.at += 1;
    return this.digits();
  }

  /** Reads one digit or more. */
  private digits(): boolean {
    const start = this.at;
    for (let byte = this.text[this.at]; byte !== undefined && byte >= 0x30 && byte <= 0x39;) {
      byte = this.text[++this.at];
    }
    return this.at > start;
  }

  /** Skips blanks, and then `byte` if it follows. */
  private takes(byte: number): boolean {
    this.blanks();
    if (this.text[this.at] !== byte) return false;
    this.at += 1;
    return true;
  }

  private blanks(): void {
    for (;;) {
      const byte = this.text[this.at];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return;
      this.at += 1;
    }
  }
}

function isHex(text: Buffer, start: number): boolean {
  if (start + 4 > text.length) return false;
  for (let at = start; at < start + 4; at++) {
    const byte = text[at] ?? 0;
    const isDigit = byte >= 0x30 && byte <= 0x39;
    const lower = byte | 0x20;
    if (!isDigit && !(lower >= 0x61 && lower <= 0x66)) return false;
  }
  return true;
}
