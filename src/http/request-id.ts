import { randomBytes } from 'node:crypto';

/** The name of the header that carries it, in the spelling that lmstfy's clients see. */
export const REQUEST_ID_HEADER = 'X-Request-Id';

/** Crockford's base 32, as ULIDs use it; in the order of character codes. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_LENGTH = 10;
/** The counted end of an id: four characters, made of two pairs. */
const COUNTED_BITS = 20;
const PAIR_BITS = 10;
const PAIR_MASK = (1 << PAIR_BITS) - 1;
/** What stands between time and count: 60 bits, the first of which starts as 0, so that counting on never overflows them. */
const MIDDLE_LENGTH = 12;

const PAIRS = Array.from({ length: 1 << PAIR_BITS }, (_, i) => base32(i, 2));

/**
 * Makes a ULID for each request: unique without a word with anybody, and in order within a process. Instead of 80 new random bits
 * each has the next number after a random start, so that most of its text is that of the one before. Nobody gains by guessing one.
 */
export class RequestIds {
  private middle: bigint;
  private middleText: string;
  private count: number;
  private lastMs = -1;
  private time = '';
  private stem = '';

  /** @param clock Unix ms; a step back is as if it stood still */
  constructor(private readonly clock: () => number = Date.now) {
    const random = BigInt(`0x${randomBytes(10).toString('hex')}`);
    this.middle = (random >> BigInt(COUNTED_BITS)) & ((1n << 59n) - 1n);
    this.middleText = base32(this.middle, MIDDLE_LENGTH);
    this.count = Number(random & ((1n << BigInt(COUNTED_BITS)) - 1n));
  }

  next(): string {
    const now = this.clock();
    if (now > this.lastMs) {
      this.lastMs = now;
      this.time = base32(now, TIME_LENGTH);
      this.stem = this.time + this.middleText;
    }
    if (++this.count >> COUNTED_BITS !== 0) this.carry();
    return `${this.stem}${PAIRS[this.count >> PAIR_BITS] ?? ''}${PAIRS[this.count & PAIR_MASK] ?? ''}`;
  }

  private carry(): void {
    this.count = 0;
    this.middle += 1n;
    this.middleText = base32(this.middle, MIDDLE_LENGTH);
    this.stem = this.time + this.middleText;
  }
}

function base32(value: number | bigint, length: number): string {
  const digits = value.toString(32).padStart(length, '0');
  return digits.replace(/./g, (digit) => ALPHABET.charAt(Number.parseInt(digit, 32)));
}

const ids = new RequestIds();

/** A new id, in order after all that this process has made before. */
export function nextRequestId(): string {
  return ids.next();
}
