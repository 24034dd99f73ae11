import { AROUND, JsonScanner } from './scanner.js';
import { type DeclaredField, type FieldsClass, fieldsOf } from '../fields/field.js';
import { isObject } from '../fields/kinds.js';
import { JsonText } from './json-text.js';
import { textOf } from './utf8.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
/** A name with escapes that is longer than this, in bytes, is none of ours: an escape of one character has six. */
const LONGEST_NAME = 256;
/**
 * Values and names that a body may have outside of its payloads. A thousand acknowledgements have 10,000. The parser
 * needs up to a microsecond for each.
 */
const MAX_VALUES = 50_000;
/** Those of payloads and around them together, which are only read: a million takes about 30 ms. */
const MAX_ALL_VALUES = 1_000_000;

/** A field that is read in another way than by the parser alone. */
interface Place {
  readonly name: string;
  readonly bytes: Buffer;
  /** A payload: its depth counts from itself on. */
  readonly isPayload: boolean;
  /** A payload that is kept as it was written. */
  readonly isAsWritten: boolean;
  /** The fields of an object, or of the objects of a list. */
  readonly places: Places;
  readonly isList: boolean;
}
type Places = readonly Place[];

/** The payloads in the bodies of some classes. A body is of one of them. */
export function placesOf(...classes: readonly FieldsClass[]): Places {
  return classes.flatMap((of) => [...fieldsOf(of)].map(placeOf).filter((place) => place !== undefined));
}

function placeOf([name, field]: readonly [string, DeclaredField]): Place | undefined {
  const { isAsWritten = false, isPayload = false, of, maxItems } = field;
  const places = of === undefined ? [] : placesOf(of());
  if (!isPayload && places.length === 0) return undefined;
  return { name, bytes: Buffer.from(name), isPayload, isAsWritten, places, isList: maxItems !== undefined };
}

/** What is wrong with a body. */
export interface JsonProblem {
  /** The path of the value; empty for the whole body. */
  readonly field: string;
  /** Undefined if it is not JSON. */
  readonly rule?: string;
}

/**
 * Parses a body. Its bytes are checked in one pass, which stops at the first value that is too deep or one too many; what
 * is kept as it was written is cut out of it, and not parsed. So the parser has a bounded number of values to make.
 *
 * @param body UTF-8
 * @param maxDepth of each payload: 1 for `[]`
 */
export function parseBody(
  body: Buffer,
  maxDepth: number,
  places: Places,
): { readonly value: unknown } | JsonProblem {
  const reader = new BodyReader(body, maxDepth);
  if (!reader.read(places)) return reader.problem();
  const { texts } = reader;
  const value = JSON.parse(reader.outline()) as unknown;
  if (texts.length > 0 && isObject(value)) putTexts(value, places, texts);
  return { value };
}

/** Puts texts where the outline has their numbers. */
function putTexts(object: Record<string, unknown>, places: Places, texts: readonly JsonText[]): void {
  for (const { name, isAsWritten, isList, places: below } of places) {
    if (!Object.hasOwn(object, name)) continue;
    const value = object[name];
    if (isAsWritten) object[name] = texts[Number(value)];
    else if (isList && Array.isArray(value)) {
      for (const one of value) if (isObject(one)) putTexts(one, below, texts);
    } else if (!isList && isObject(value)) putTexts(value, below, texts);
  }
}

/** Finds the payloads of a body by the fields of its class. */
class BodyReader {
  readonly texts: JsonText[] = [];
  private readonly scanner: JsonScanner;
  /** Where the texts begin and end. */
  private readonly ends: number[] = [];
  /** Where it stopped: names and indexes from the inside out. */
  private readonly path: string[] = [];
  /** Values within texts. */
  private textValues = 0;

  constructor(
    private readonly body: Buffer,
    private readonly maxDepth: number,
  ) {
    this.scanner = new JsonScanner(body);
    this.scanner.maxDepth = maxDepth + AROUND;
    this.scanner.maxValues = MAX_VALUES;
  }

  read(places: Places): boolean {
    const { scanner } = this;
    return (scanner.peek() === OPEN_OBJECT ? this.object(places) : scanner.value()) && scanner.end();
  }

  problem(): JsonProblem {
    const { fault, maxValues } = this.scanner;
    if (fault === 'depth') {
      const field = this.path
        .reverse()
        .map((one, i) => (i > 0 && !one.startsWith('[') ? `.${one}` : one))
        .join('');
      const most = `at most ${String(this.maxDepth)} levels deep`;
      const rule = `must be nested ${most}, the limit that the server sets in limits.max_json_depth`;
      return { field, rule: `${rule}; deeper data can be sent as bytes, in base64` };
    }
    if (fault !== 'values') return { field: '' };
    const where = maxValues === MAX_ALL_VALUES ? '' : ' outside of data and results';
    const rule = `must have at most ${String(maxValues)} values and names${where}`;
    return { field: '', rule: `${rule}: send less in one call, or data as bytes, in base64` };
  }

  /** The body with a number in the place of each text. */
  outline(): string {
    const { body, ends, texts } = this;
    let outline = '';
    let from = 0;
    for (let i = 0; i < texts.length; i++) {
      outline += textOf(body, from, ends[2 * i]) + String(i);
      from = ends[2 * i + 1] ?? 0;
    }
    return outline + textOf(body, from);
  }

  private object(places: Places): boolean {
    const { scanner } = this;
    if (!scanner.open(OPEN_OBJECT)) return false;
    if (!scanner.takes(CLOSE_OBJECT)) {
      do {
        scanner.peek();
        const start = scanner.at;
        if (!scanner.name()) return false;
        const place = this.placeAt(start, places);
        if (!(place === undefined ? scanner.value() : this.member(place))) return false;
      } while (scanner.takes(COMMA));
      if (!scanner.takes(CLOSE_OBJECT)) return scanner.stop('syntax');
    }
    scanner.depth -= 1;
    return true;
  }

  private member(place: Place): boolean {
    const { isPayload, isList, places } = place;
    const byte = this.scanner.peek();
    let isRead: boolean;
    if (isPayload) isRead = this.payload(place);
    else if (isList && byte === OPEN_LIST) isRead = this.list(places);
    else if (!isList && byte === OPEN_OBJECT) isRead = this.object(places);
    else isRead = this.scanner.value();
    if (!isRead) this.path.push(place.name);
    return isRead;
  }

  private list(places: Places): boolean {
    const { scanner } = this;
    if (!scanner.open(OPEN_LIST)) return false;
    let index = 0;
    if (!scanner.takes(CLOSE_LIST)) {
      do {
        if (!(scanner.peek() === OPEN_OBJECT ? this.object(places) : scanner.value())) {
          this.path.push(`[${String(index)}]`);
          return false;
        }
        index += 1;
      } while (scanner.takes(COMMA));
      if (!scanner.takes(CLOSE_LIST)) return scanner.stop('syntax');
    }
    scanner.depth -= 1;
    return true;
  }

  private payload({ isAsWritten }: Place): boolean {
    const { scanner, body } = this;
    const { at, depth, maxDepth, values } = scanner;
    scanner.maxDepth = depth + this.maxDepth;
    if (isAsWritten) {
      scanner.values += this.textValues;
      scanner.maxValues = MAX_ALL_VALUES;
    }
    if (!scanner.value()) return false;
    scanner.maxDepth = maxDepth;
    if (!isAsWritten) return true;
    this.textValues = scanner.values - values;
    scanner.values = values;
    scanner.maxValues = MAX_VALUES;
    this.ends.push(at, scanner.at);
    this.texts.push(new JsonText(body.subarray(at, scanner.at)));
    return true;
  }

  /** The field whose name is at `start`; `scanner.at` is behind its colon. */
  private placeAt(start: number, places: Places): Place | undefined {
    const { body, scanner } = this;
    const { nameEnd } = scanner;
    for (const place of places) if (isNameAt(body, start + 1, place.bytes)) return place;
    // A name may be written with escapes.
    if (nameEnd - start > LONGEST_NAME || body.subarray(start, nameEnd).indexOf(BACKSLASH) === -1)
      return undefined;
    const name = JSON.parse(body.toString('utf8', start, nameEnd)) as string;
    return places.find((place) => place.name === name);
  }
}

function isNameAt(body: Buffer, at: number, name: Buffer): boolean {
  if (body[at + name.length] !== QUOTE) return false;
  for (let i = 0; i < name.length; i++) if (body[at + i] !== name[i]) return false;
  return true;
}
