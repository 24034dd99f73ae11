import { randomFillSync } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const CHARS = 26;
const BYTES = 16;
const TIME_CHARS = 10;
/** The last four characters count up within one millisecond; the twelve before them are drawn anew for each. */
const HEAD_RANDOM_CHARS = 12;
const TAIL_VALUES = 2 ** 20;

/** Character code → its five bits, -1 for what no ULID has. */
const VALUE = new Int8Array(128).fill(-1);
for (let i = 0; i < ALPHABET.length; i++) VALUE[ALPHABET.charCodeAt(i)] = i;
/** Five bits → character code. */
const LETTER = Buffer.from(ALPHABET, 'latin1');
/** Ten bits → two characters. */
const PAIRS = Array.from({ length: 1_024 }, (_, i) => ALPHABET.charAt(i >> 5) + ALPHABET.charAt(i & 31));

/**
 * Makes ULIDs that only grow, whatever the clock does (https://github.com/ulid/spec, "monotonicity"). The random part is drawn once
 * a millisecond and counted up within it: drawn for each id, as the usual library does, it costs more than all else about an id.
 */
export class UlidMinter {
  private readonly random = new Uint8Array(4_096);
  private drawn = this.random.length;
  private timeMs = -1;
  private head = '';
  private tail = TAIL_VALUES;
  /** The bytes of an id with this head, whose tail is 0. */
  private headBytes: Buffer = Buffer.alloc(BYTES);

  /** @param nowMs Unix ms; one that lies before the last id's counts as that one's */
  mint(nowMs: number): string {
    if (nowMs > this.timeMs) this.begin(Math.floor(nowMs));
    else if (this.tail === TAIL_VALUES) this.begin(this.timeMs + 1);
    const tail = this.tail++;
    return this.head + (PAIRS[tail >> 10] ?? '') + (PAIRS[tail & 1_023] ?? '');
  }

  /** The last id as `packUlid` gives it, without taking its text apart again. */
  lastBytes(): Buffer {
    const { headBytes } = this;
    const tail = this.tail - 1;
    const bytes = Buffer.allocUnsafe(BYTES);
    for (let i = 0; i < BYTES; i++) bytes[i] = headBytes[i] ?? 0;
    bytes[BYTES - 3] = (headBytes[BYTES - 3] ?? 0) | (tail >> 16);
    bytes[BYTES - 2] = tail >> 8;
    bytes[BYTES - 1] = tail;
    return bytes;
  }

  private begin(timeMs: number): void {
    this.timeMs = timeMs;
    let time = '';
    for (let i = 0, rest = timeMs; i < TIME_CHARS; i++, rest = Math.floor(rest / 32)) {
      time = ALPHABET.charAt(rest % 32) + time;
    }
    let random = '';
    for (let i = 0; i < HEAD_RANDOM_CHARS; i++) random += ALPHABET.charAt(this.draw() & 31);
    this.head = time + random;
    this.headBytes = packUlid(`${this.head}0000`) ?? this.headBytes;
    // From the lower half: half a million ids fit into the millisecond in any case.
    this.tail = (this.draw() << 11) | (this.draw() << 3);
  }

  private draw(): number {
    if (this.drawn === this.random.length) {
      randomFillSync(this.random);
      this.drawn = 0;
    }
    return this.random[this.drawn++] ?? 0;
  }
}

/** 26 characters of 5 bits as 16 bytes, the two bits too many being zero; null if it is not a canonical ULID. */
export function packUlid(id: string): Buffer | null {
  if (id.length !== CHARS) return null;
  const bytes = Buffer.allocUnsafe(BYTES);
  return packUlidAt(id, bytes, 0) ? bytes : null;
}

/** As `packUlid`, into 16 bytes of others. @returns false if it is not a canonical ULID; then they hold anything */
export function packUlidAt(id: string, bytes: Uint8Array, at: number): boolean {
  if (id.length !== CHARS) return false;
  const first = valueAt(id, 0);
  const second = valueAt(id, 1);
  bytes[at] = (first << 5) | second;
  const all =
    first |
    second |
    packEight(id, 2, bytes, at + 1) |
    packEight(id, 10, bytes, at + 6) |
    packEight(id, 18, bytes, at + 11);
  return all >= 0 && first <= 7;
}

function valueAt(id: string, at: number): number {
  return VALUE[id.charCodeAt(at)] ?? -1;
}

/** Eight characters as five bytes. @returns a negative number if one of them is none of a ULID's */
function packEight(id: string, from: number, bytes: Uint8Array, to: number): number {
  const a = valueAt(id, from);
  const b = valueAt(id, from + 1);
  const c = valueAt(id, from + 2);
  const d = valueAt(id, from + 3);
  const e = valueAt(id, from + 4);
  const f = valueAt(id, from + 5);
  const g = valueAt(id, from + 6);
  const h = valueAt(id, from + 7);
  bytes[to] = (a << 3) | (b >> 2);
  bytes[to + 1] = (b << 6) | (c << 1) | (d >> 4);
  bytes[to + 2] = (d << 4) | (e >> 1);
  bytes[to + 3] = (e << 7) | (f << 2) | (g >> 3);
  bytes[to + 4] = (g << 5) | h;
  return a | b | c | d | e | f | g | h;
}

/** Where an id's characters are put together: a text that is added up from pieces is a tree of them, and garbage eight times as large. */
const letters = Buffer.alloc(CHARS);

/** The ULID that `packUlid` made these 16 bytes of. */
export function unpackUlid(bytes: Buffer): string {
  const first = bytes[0] ?? 0;
  letters[0] = LETTER[first >> 5] ?? 0;
  letters[1] = LETTER[first & 31] ?? 0;
  unpackFive(bytes, 1, 2);
  unpackFive(bytes, 6, 10);
  unpackFive(bytes, 11, 18);
  return letters.toString('latin1');
}

/** Five bytes as eight characters. */
function unpackFive(bytes: Buffer, from: number, to: number): void {
  const a = bytes[from] ?? 0;
  const b = bytes[from + 1] ?? 0;
  const c = bytes[from + 2] ?? 0;
  const d = bytes[from + 3] ?? 0;
  const e = bytes[from + 4] ?? 0;
  letters[to] = LETTER[a >> 3] ?? 0;
  letters[to + 1] = LETTER[((a & 7) << 2) | (b >> 6)] ?? 0;
  letters[to + 2] = LETTER[(b >> 1) & 31] ?? 0;
  letters[to + 3] = LETTER[((b & 1) << 4) | (c >> 4)] ?? 0;
  letters[to + 4] = LETTER[((c & 15) << 1) | (d >> 7)] ?? 0;
  letters[to + 5] = LETTER[(d >> 2) & 31] ?? 0;
  letters[to + 6] = LETTER[((d & 3) << 3) | (e >> 5)] ?? 0;
  letters[to + 7] = LETTER[e & 31] ?? 0;
}
