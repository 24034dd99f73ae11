import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { isNativeError } from 'node:util/types';

/** What the operating system says of a file, in words, by its codes. */
const REASONS = new Map([
  ['ENOENT', 'there is no such file'],
  ['ENOTDIR', 'there is no such file'],
  ['EISDIR', 'it is a folder'],
  ['EACCES', 'permission denied'],
  ['EPERM', 'permission denied'],
  ['EROFS', 'the file system is read-only'],
  ['ENOSPC', 'the disk is full'],
]);
const LINE_FEED = 0x0a;
/** How texts of other encodings begin: programs of Windows write them. */
const UTF_16 = [Buffer.from([0xff, 0xfe]), Buffer.from([0xfe, 0xff])];

/** A file or an input that cannot be used. The message says why, and shows no content. */
export class TextError extends Error {}

/** Reads a file of UTF-8. @throws {TextError} it cannot be read, or has another encoding */
export function readTextFile(file: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw new TextError(fileProblem(error), { cause: error });
  }
  return utf8Text(bytes);
}

/** Decodes UTF-8, and leaves out a byte order mark. @throws {TextError} it has another encoding */
export function utf8Text(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8').replace(/^\uFEFF/, '');
  if (UTF_16.some((mark) => bytes.subarray(0, mark.length).equals(mark)))
    throw new TextError('it is UTF-16, not UTF-8');
  throw new TextError(`it is not UTF-8 (line ${String(lineOf(bytes))})`);
}

/** Why a file cannot be read or written: `there is no such file`. */
export function fileProblem(error: unknown): string {
  if (error instanceof TextError) return error.message;
  if (!isNativeError(error)) return String(error);
  const code = 'code' in error ? String(error.code) : '';
  return REASONS.get(code) ?? (code === '' ? error.message : code);
}

/** The line of the first byte that is no UTF-8, from 1. */
function lineOf(bytes: Buffer): number {
  const decoded = Buffer.from(bytes.toString('utf8'));
  const first = bytes.findIndex((byte, at) => byte !== decoded[at]);
  return bytes.subarray(0, first).filter((byte) => byte === LINE_FEED).length + 1;
}
