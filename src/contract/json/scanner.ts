import { MAX_JSON_DEPTH } from '../../domain/limits.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const MINUS = 0x2d;
const OPEN_LIST = 0x5b;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const LETTER_U = 0x75;
/** What may follow a backslash, except `u`: 1 for each such byte. */
const ESCAPES = new Uint8Array(256);
for (const byte of Buffer.from('"\\/bfnrt')) ESCAPES[byte] = 1;
const TRUE = Buffer.from('true');
const FALSE = Buffer.from('false');
const NULL = Buffer.from('null');
/** After so many bytes of a text without an escape the next are read four at a time. */
const LONG = 64;
/** In place of an index: there is a mistake. */
const WRONG = -1;

/** Levels of a request around its payloads, at most. */
export const AROUND = 8;

/** For each open bracket, whether it is an object's. Scans neither wait nor call one another: all share one stack. */
const SHARED_STACK = new Uint8Array(MAX_JSON_DEPTH + AROUND + 1);

/** Why a scan stopped. */
export type Fault = 'syntax' | 'depth' | 'values';

/**
 * Reads JSON byte by byte, in one pass and without recursion. It checks all of JSON's rules, and decodes nothing: bytes
 * in strings need not be UTF-8. It stops at the first mistake, and at the first value that is too deep or one too many.
 *
 * Each method moves `at` behind what it has read. After it has returned false, `fault` says why, and the scan is over: `at` is where
 * the mistake is, or where the text or number begins that has it.
 */
export class JsonScanner {
  at = 0;
  /** Lists and objects that are open around `at`. */
  depth = 0;
  /** The greatest depth so far. */
  deepest = 0;
  /** Values and names of members so far. */
  values = 0;
  fault: Fault | undefined;
  /** Where the last name ends that `name` has read. */
  nameEnd = 0;
  maxDepth = MAX_JSON_DEPTH;
  maxValues = Infinity;
  /** True: `value` reads one item of a list, also where texts and numbers follow one another. */
  readsSingly = false;

  /** @param isObjectAt for each open bracket, whether it is an object's */
  constructor(
    readonly text: Buffer,
    private readonly isObjectAt = SHARED_STACK,
  ) {}

  /** Without a limit of depth, on a stack of its own: as many bytes as the text has. */
  static ofAnyDepth(text: Buffer): JsonScanner {
    const scanner = new JsonScanner(text, new Uint8Array(text.length));
    scanner.maxDepth = Infinity;
    return scanner;
  }

  /** Skips blanks. @returns the byte behind them; -1 at the end */
  peek(): number {
    this.at = afterBlanks(this.text, this.at);
    return this.text[this.at] ?? -1;
  }

  /** Skips blanks, and then `byte` if it follows. */
  takes(byte: number): boolean {
    if (this.peek() !== byte) return false;
    this.at += 1;
    return true;
  }

  /** Nothing but blanks may follow. */
  end(): boolean {
    return this.peek() === -1 || this.stop('syntax');
  }

  /** Reads the opening bracket at `at`. */
  open(byte: number): boolean {
    this.values += 1;
    if (/* guard: json-values-end-the-scan */ this.values > this.maxValues) return this.stop('values');
    if (/* guard: json-depth-ends-the-scan */ this.depth >= this.maxDepth) return this.stop('depth');
    this.isObjectAt[this.depth] = byte === OPEN_OBJECT ? 1 : 0;
    this.depth += 1;
    if (this.depth > this.deepest) this.deepest = this.depth;
    this.at += 1;
    return true;
  }

  /** Reads the name of a member and its colon. */
  name(): boolean {
    this.values += 1;
    if (this.values > this.maxValues) return this.stop('values');
    const end = this.peek() === QUOTE ? stringEnd(this.text, this.at) : WRONG;
    if (end === WRONG) return this.stop('syntax');
    this.at = this.nameEnd = end;
    return this.takes(COLON) || this.stop('syntax');
  }

  /** Reads one value with its content. */
  value(): boolean {
    const { text } = this;
    const floor = this.depth;
    for (;;) {
      const byte = this.peek();
      if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
        if (!this.open(byte)) return false;
        // The code of a closing bracket is that of the opening one and 2.
        if (!this.takes(byte + 2)) {
          if (byte === OPEN_OBJECT && !this.name()) return false;
          continue;
        }
        this.depth -= 1;
      } else if (!this.scalars(byte)) return false;
      if (!this.afterValue(text, floor)) return this.fault === undefined;
    }
  }

  /** True if the innermost open bracket is that of an object. */
  isInObject(): boolean {
    return this.depth > 0 && this.isObjectAt[this.depth - 1] === 1;
  }

  stop(fault: Fault): false {
    this.fault = fault;
    return false;
  }

  /** @returns true if another value must follow; false if the outermost one is complete, or at a mistake */
  private afterValue(text: Buffer, floor: number): boolean {
    while (this.depth > floor) {
      const isObject = this.isObjectAt[this.depth - 1] === 1;
      const at = afterBlanks(text, this.at);
      const byte = text[at] ?? -1;
      this.at = at + 1;
      if (byte === COMMA) return !isObject || this.name();
      if (byte !== (isObject ? CLOSE_OBJECT : CLOSE_OBJECT - 0x20)) {
        this.at = at;
        return this.stop('syntax');
      }
      this.depth -= 1;
    }
    return false;
  }

  /** Reads a text, number or word, and in a list all that follow with no blank or bracket between: lists of numbers are long. */
  private scalars(first: number): boolean {
    const { text, maxValues } = this;
    const isInList = !this.readsSingly && this.depth > 0 && this.isObjectAt[this.depth - 1] === 0;
    let { at, values } = this;
    for (let byte = first; ;) {
      values += 1;
      if (values > maxValues) return this.stop('values');
      const end = scalarEnd(text, at, byte);
      if (end === WRONG) {
        this.at = at;
        return this.stop('syntax');
      }
      at = end;
      if (!isInList || text[at] !== COMMA) break;
      const next = text[at + 1] ?? -1;
      if (next <= 0x20 || next === OPEN_LIST || next === OPEN_OBJECT) break;
      at += 1;
      byte = next;
    }
    this.at = at;
    this.values = values;
    return true;
  }
}

function afterBlanks(text: Buffer, start: number): number {
  let at = start;
  for (;;) {
    const byte = text[at] ?? -1;
    if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) return at;
    at += 1;
  }
}

/** @param byte the one at `start` */
function scalarEnd(text: Buffer, start: number, byte: number): number {
  if (byte === QUOTE) return stringEnd(text, start);
  if (byte === MINUS || (byte >= 0x30 && byte <= 0x39)) return numberEnd(text, start);
  if (byte === 0x74) return wordEnd(text, start, TRUE);
  if (byte === 0x66) return wordEnd(text, start, FALSE);
  return byte === 0x6e ? wordEnd(text, start, NULL) : WRONG;
}

/** @param start the opening quote */
function stringEnd(text: Buffer, start: number): number {
  const { length } = text;
  let plain = 0;
  for (let at = start + 1; at < length;) {
    const byte = text[at] ?? 0;
    if (byte === QUOTE) return at + 1;
    if (byte < 0x20) return WRONG;
    if (byte !== BACKSLASH) {
      at += 1;
      plain += 1;
      if (plain === LONG) {
        at = plainEnd(text, at);
        plain = 0;
      }
      continue;
    }
    plain = 0;
    const escape = text[at + 1] ?? 0;
    if (ESCAPES[escape] === 1) at += 2;
    else if (escape === LETTER_U && isHex(text, at + 2)) at += 6;
    else return WRONG;
  }
  return WRONG;
}

/** Where the first four bytes begin that have a quote, a backslash or a control character, perhaps; else near the end. */
function plainEnd(text: Buffer, start: number): number {
  const view = new DataView(text.buffer, text.byteOffset, text.length);
  const last = text.length - 4;
  let at = start;
  while (at <= last && isPlain(view.getInt32(at, true))) at += 4;
  return at;
}

/** False if a byte of these four is a quote, a backslash or below 0x20: then subtracting borrows from its highest bit. */
function isPlain(four: number): boolean {
  const quote = four ^ 0x22222222;
  const backslash = four ^ 0x5c5c5c5c;
  const borrowed =
    ((four - 0x20202020) & ~four) | ((quote - 0x01010101) & ~quote) | ((backslash - 0x01010101) & ~backslash);
  return (borrowed & 0x80808080) === 0;
}

function wordEnd(text: Buffer, start: number, literal: Buffer): number {
  for (let i = 1; i < literal.length; i++) if (text[start + i] !== literal[i]) return WRONG;
  return start + literal.length;
}

function numberEnd(text: Buffer, start: number): number {
  let at = text[start] === MINUS ? start + 1 : start;
  at = text[at] === 0x30 ? at + 1 : digitsEnd(text, at);
  if (at === WRONG) return WRONG;
  let byte = text[at] ?? -1;
  if (byte === 0x2e) {
    at = digitsEnd(text, at + 1);
    if (at === WRONG) return WRONG;
    byte = text[at] ?? -1;
  }
  if (byte !== 0x65 && byte !== 0x45) return at;
  at += 1;
  const sign = text[at];
  return digitsEnd(text, sign === 0x2b || sign === MINUS ? at + 1 : at);
}

/** One digit or more. */
function digitsEnd(text: Buffer, start: number): number {
  let at = start;
  for (;;) {
    const byte = text[at] ?? -1;
    if (byte < 0x30 || byte > 0x39) return at > start ? at : WRONG;
    at += 1;
  }
}

function isHex(text: Buffer, start: number): boolean {
  for (let at = start; at < start + 4; at++) {
    const byte = text[at] ?? 0;
    const lower = byte | 0x20;
    if (!(byte >= 0x30 && byte <= 0x39) && !(lower >= 0x61 && lower <= 0x66)) return false;
  }
  return true;
}
