import { randomFillSync, randomInt } from 'node:crypto';
import { encodeTime, monotonicFactory, TIME_MAX, ulid } from 'ulid';
import { MAX_IDEMPOTENCY_KEY, MAX_JOB_ID_LENGTH, MAX_NAME_LENGTH, MAX_VARIABLE_NAME } from './limits.js';
import { QueueError } from './errors.js';

/** Names of pools, namespaces and queues: they are parts of Redis keys, so no other characters are allowed. */
const NAME = /^[-_A-Za-z0-9]+$/;
const VISIBLE = /^[\x21-\x7e]+$/;
const JOB_ID = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;
const VARIABLE = /^[A-Za-z0-9][-._A-Za-z0-9]*$/;

/** True if `name` has only characters that are legal in namespace and queue names. The length is checked separately. */
export function hasLegalCharacters(name: string): boolean {
  return NAME.test(name);
}

/** What a job's id must be, for people. */
export const JOB_ID_RULE = `has 1 to ${String(MAX_JOB_ID_LENGTH)} letters, digits, - and _, the first a letter or a digit`;

/** True for a name that jobs can be published to. */
export function isQueueName(name: string): boolean {
  return name.length <= MAX_NAME_LENGTH && !name.startsWith('_') && hasLegalCharacters(name);
}

/** True if `id` could be the id of a stored job. Others cannot exist, so Redis need not be asked. */
export function isJobId(id: string): boolean {
  return id.length <= MAX_JOB_ID_LENGTH && JOB_ID.test(id);
}

/** What the name of a variable must be, for people. */
export const VARIABLE_NAME_RULE = `must have 1 to ${String(MAX_VARIABLE_NAME)} letters, digits, -, _ and ., the first a letter or a digit`;

/** True for a name that a variable can be stored under. */
export function isVariableName(name: string): boolean {
  return name.length <= MAX_VARIABLE_NAME && VARIABLE.test(name);
}

/** True if `key` may be an idempotency key. */
export function isIdempotencyKey(key: string): boolean {
  return key.length <= MAX_IDEMPOTENCY_KEY && /* guard: idempotency-header-checked */ VISIBLE.test(key);
}

const NAME_RULE = `a name has 1 to ${String(MAX_NAME_LENGTH)} letters, digits, - and _, and that of a queue does not begin with _`;
const QUEUE_LIST = /^[-_,A-Za-z0-9]+$/;

/**
 * Rejects names that no queue can have, in the order and with the messages of lmstfy.
 *
 * @param queue omitted on routes of a whole namespace
 * @throws {QueueError} `invalid_argument`
 */
export function checkNames(namespace: string, queue?: string): void {
  if (isTooLong(namespace) || (queue !== undefined && isTooLong(queue))) {
    throw badName('namespace or queue name too long');
  }
  checkNamespace(namespace);
  if (queue !== undefined && (queue.startsWith('_') || !hasLegalCharacters(queue))) throw forbiddenQueue();
}

/**
 * Like `checkNames`, for the queues of a consume call: lmstfy only checks their characters, so names that are too long
 * or start with an underscore are accepted, and find nothing.
 *
 * @throws {QueueError} `invalid_argument`
 */
export function checkListedNames(namespace: string, queues: string): void {
  checkNamespace(namespace);
  if (!QUEUE_LIST.test(queues)) throw forbiddenQueue();
}

function checkNamespace(namespace: string): void {
  if (hasLegalCharacters(namespace)) return;
  throw badName('namespace name contains forbidden characters');
}

function forbiddenQueue(): QueueError {
  return badName('queue name contains forbidden characters');
}

/** @param message lmstfy's */
function badName(message: string): QueueError {
  return new QueueError('invalid_argument', message, { detail: `${message}: ${NAME_RULE}` });
}

/**
 * In bytes: the same limit applies to a name that is then rejected for its characters. No character has more than
 * three.
 */
function isTooLong(name: string): boolean {
  return name.length * 3 > MAX_NAME_LENGTH && Buffer.byteLength(name) > MAX_NAME_LENGTH;
}

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const CHARS = 26;
const BYTES = 16;
/**
 * The last four characters count up within one millisecond; the twelve before them are random, new for each
 * millisecond.
 */
const HEAD_RANDOM_CHARS = 12;
const TAIL_VALUES = 2 ** 20;

/** Character code → its five bits, -1 for characters that a ULID cannot have. */
const VALUE = new Int8Array(128).fill(-1);
for (let i = 0; i < ALPHABET.length; i++) VALUE[ALPHABET.charCodeAt(i)] = i;
/** Five bits → character code. */
const LETTER = Buffer.from(ALPHABET, 'latin1');
/** Ten bits → two characters. */
const PAIRS = Array.from({ length: 1_024 }, (_, i) => ALPHABET.charAt(i >> 5) + ALPHABET.charAt(i & 31));

/** Random bytes, 4 kB drawn at a time: the library's own source calls the system for each character, 30 µs per id. */
const random = new Uint8Array(4_096);
let drawn = random.length;

function randomByte(): number {
  if (drawn === random.length) {
    randomFillSync(random);
    drawn = 0;
  }
  return random[drawn++] ?? 0;
}

/** Random number as the library requires it: from 0 to less than 1. */
function randomFraction(): number {
  return randomByte() / 256;
}

/**
 * Creates a source of increasing ULIDs, also when the clock goes back: for ids that are not made for each job.
 *
 * @returns mints an id; `nowMs` is Unix ms
 */
export function ulidSource(): (nowMs: number) => string {
  const mint = monotonicFactory(randomFraction);
  return (nowMs) => mint(Math.floor(nowMs));
}

/** A ULID with 128 random bits: its time is random too. */
export function randomUlid(): string {
  return ulid(randomInt(1, TIME_MAX), randomFraction);
}

/**
 * Mints increasing ULIDs, whatever the clock does (https://github.com/ulid/spec, "monotonicity"), for job ids and the
 * request ids of the fast path. The random part is drawn once a millisecond and counted up within it. At 30 ids per
 * millisecond an id with its bytes costs 0.14 µs of CPU, with `ulidSource` and `packUlid` 0.9; a publish needs two ids
 * and costs 15 to 20 (docs/adr/0026).
 */
export class UlidMinter {
  private timeMs = -1;
  private head = '';
  private tail = TAIL_VALUES;
  /** The bytes of an id with this head, whose tail is 0. */
  private headBytes: Buffer = Buffer.alloc(BYTES);

  /** @param nowMs Unix ms; a time before that of the last id counts as the latter */
  mint(nowMs: number): string {
    if (nowMs > this.timeMs) this.begin(Math.floor(nowMs));
    else if (this.tail === TAIL_VALUES) this.begin(this.timeMs + 1);
    const tail = this.tail++;
    return this.head + (PAIRS[tail >> 10] ?? '') + (PAIRS[tail & 1_023] ?? '');
  }

  /** The bytes of the last id, as `packUlid` would return them, without parsing its text. */
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
    this.head = encodeTime(timeMs);
    for (let i = 0; i < HEAD_RANDOM_CHARS; i++) this.head += ALPHABET.charAt(randomByte() & 31);
    this.headBytes = packUlid(`${this.head}0000`) ?? this.headBytes;
    // Starts in the lower half: at least half a million ids fit into the millisecond.
    this.tail = (randomByte() << 11) | (randomByte() << 3);
  }
}

/** Packs 26 characters of 5 bits into 16 bytes; the two extra bits are zero. Null if it is not a canonical ULID. */
export function packUlid(id: string): Buffer | null {
  if (id.length !== CHARS) return null;
  const bytes = Buffer.allocUnsafe(BYTES);
  return packUlidAt(id, bytes, 0) ? bytes : null;
}

/**
 * Like `packUlid`, into 16 bytes of a larger buffer. @returns false if it is not a canonical ULID; their content is
 * undefined then
 */
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

/** Packs eight characters into five bytes. @returns a negative number if one of them is not a ULID character */
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

/**
 * Buffer for the characters of an id: a string concatenated from pieces is a tree of them, and eight times as much
 * garbage.
 */
const letters = Buffer.alloc(CHARS);

/** Reverses `packUlid`. */
export function unpackUlid(bytes: Buffer): string {
  const first = bytes[0] ?? 0;
  letters[0] = LETTER[first >> 5] ?? 0;
  letters[1] = LETTER[first & 31] ?? 0;
  unpackFive(bytes, 1, 2);
  unpackFive(bytes, 6, 10);
  unpackFive(bytes, 11, 18);
  return letters.toString('latin1');
}

/** Unpacks five bytes into eight characters. */
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
