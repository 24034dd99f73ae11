import { randomFillSync } from 'node:crypto';
import { monotonicFactory } from 'ulid';
import { isJobId } from '../domain/names.js';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const VALUE = new Int8Array(128).fill(-1);
for (let i = 0; i < ALPHABET.length; i++) VALUE[ALPHABET.charCodeAt(i)] = i;

const ULID_CHARS = 26;
const ULID_BYTES = 16;
/** Stands before an id that is kept as text. No id begins with it, so it can be repeated to avoid a length of 16. */
const TEXT_TAG = 0;

/** Makes a minter of ULIDs that only grow; `now` gives the time in Unix ms. */
export function idMinter(now: () => number): () => string {
  const mint = monotonicFactory(pooledRandom());
  return () => mint(now());
}

/** Random fractions of the system's making, drawn 4 KiB at a time: the library's own source is a call of 1 µs per character. */
function pooledRandom(): () => number {
  const pool = new Uint8Array(4_096);
  let at = pool.length;
  return () => {
    if (at === pool.length) {
      randomFillSync(pool);
      at = 0;
    }
    return (pool[at++] ?? 0) / 256;
  };
}

/**
 * An id as it is kept in Redis: a canonical ULID as its 16 bytes, any other id as a tag byte and its text. Sixteen bytes are always
 * a ULID: a text that would be as long gets the tag twice.
 *
 * @returns null if no job can have this id
 */
export function encodeId(id: string): Buffer | null {
  const ulid = packUlid(id);
  if (ulid) return ulid;
  if (!isJobId(id)) return null;
  const tags = id.length + 1 === ULID_BYTES ? 2 : 1;
  const bytes = Buffer.alloc(id.length + tags, TEXT_TAG);
  bytes.write(id, tags, 'latin1');
  return bytes;
}

/** The id that `encodeId` turned into these bytes. */
export function decodeId(bytes: Buffer): string {
  if (bytes.length === ULID_BYTES) return unpackUlid(bytes);
  return bytes.toString('latin1', bytes[1] === TEXT_TAG ? 2 : 1);
}

/** When an id was minted, Unix ms; 0 for one that is no ULID. */
export function mintedAtMs(encoded: Buffer): number {
  return encoded.length === ULID_BYTES ? encoded.readUIntBE(0, 6) : 0;
}

/** 26 characters of 5 bits into 16 bytes, the two bits too many being zero; null if it is not a canonical ULID. */
function packUlid(id: string): Buffer | null {
  if (id.length !== ULID_CHARS) return null;
  const bytes = Buffer.allocUnsafe(ULID_BYTES);
  let held = VALUE[id.charCodeAt(0)] ?? -1;
  if (held < 0 || held > 7) return null;
  let bits = 3;
  let at = 0;
  for (let i = 1; i < ULID_CHARS; i++) {
    const value = VALUE[id.charCodeAt(i)] ?? -1;
    if (value < 0) return null;
    held = ((held << 5) | value) & 0xfff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = (held >> bits) & 0xff;
    }
  }
  return bytes;
}

function unpackUlid(bytes: Buffer): string {
  let text = '';
  let held = 0;
  let bits = 2;
  for (const byte of bytes) {
    held = ((held << 8) | byte) & 0x1fff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET.charAt((held >> bits) & 31);
    }
  }
  return text;
}
