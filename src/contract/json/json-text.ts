import { randomBytes } from 'node:crypto';
import { asciiJson, inAscii } from './ascii-json.js';
import { jsonOf } from './deep-json.js';
import { textOf } from './utf8.js';

/** JSON that is kept as it was written: numbers beyond the precision of a double, blanks, and repeated names. */
export class JsonText {
  /** @param source one complete JSON value; bytes are UTF-8 */
  constructor(private readonly source: string | Buffer) {}

  get text(): string {
    return typeof this.source === 'string' ? this.source : textOf(this.source);
  }

  /** Not a copy, if it was made of bytes. */
  get bytes(): Buffer {
    return typeof this.source === 'string' ? Buffer.from(this.source) : this.source;
  }
}

/** Placeholder for a text while an answer is built; random, so that no client can guess it. */
const SIGN = randomBytes(12).toString('hex');
const PLACE = new RegExp(`"${SIGN}([0-9]+)"`, 'g');
/** Outside of strings JSON has no other control characters, and inside none. */
const BLANKS = /[\t\n\r]/g;

/** Like `asciiJson`, for a value that may contain `JsonText`. */
export function jsonOfTexts(value: unknown): string {
  const texts: string[] = [];
  const withPlaces = jsonOf(value, (one) =>
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
