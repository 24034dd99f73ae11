import { isJobId, packUlid, packUlidAt, unpackUlid } from '../../domain/ids.js';

/** Size of a ULID in Redis. */
export const ULID_BYTES = 16;
/** Precedes an id that is stored as text. No id begins with it, so it can be repeated to avoid a length of 16. */
const TEXT_TAG = 0;

/**
 * Encodes an id as it is stored in Redis: a canonical ULID as its 16 bytes, any other id as a tag byte and its text.
 * Sixteen bytes are always a ULID: a text that would have that length gets the tag twice.
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

/** Reverses `encodeId`. */
export function decodeId(bytes: Buffer): string {
  if (bytes.length === ULID_BYTES) return unpackUlid(bytes);
  return bytes.toString('latin1', bytes[1] === TEXT_TAG ? 2 : 1);
}

/** When an id was minted, Unix ms; 0 if it is not a ULID. */
export function mintedAtMs(encoded: Buffer): number {
  return encoded.length === ULID_BYTES ? encoded.readUIntBE(0, 6) : 0;
}

const packed = Buffer.alloc(ULID_BYTES);

/** Like `mintedAtMs`, for an id as text. */
export function mintedAtMsOf(id: string): number {
  return packUlidAt(id, packed, 0) ? packed.readUIntBE(0, 6) : 0;
}
