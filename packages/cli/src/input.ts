import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { fileProblem, readTextFile, utf8Text } from '#src/config/text-files';
import { Unreachable } from './admin-client.js';
import type { Output } from './print.js';

/* What a user gives: files, the standard input, arguments. Node.js replaces bytes that are not UTF-8 without a word. */

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
/** What Node.js makes of bytes in an argument that are not UTF-8. */
const REPLACED = '\ufffd';

/** The text in a file. @param what describes the file in error messages @throws {Unreachable} */
export function fileText(file: string, what = file): string {
  try {
    return readTextFile(file);
  } catch (error) {
    throw new Unreachable(`cannot read ${what}: ${fileProblem(error)}`);
  }
}

/**
 * The text of bytes.
 *
 * @param where what they are, for error messages
 * @param remedy a sentence
 * @throws {Unreachable} they are not UTF-8
 */
export function textIn(bytes: Buffer, where: string, remedy = 'Convert it to UTF-8.'): string {
  try {
    return utf8Text(bytes);
  } catch (error) {
    throw new Unreachable(`cannot read ${where}: ${fileProblem(error)}. ${remedy}`);
  }
}

/** The bytes of an argument. @throws {Unreachable} they were not UTF-8 */
export function argumentBytes(text: string, where: string): Buffer {
  // guard: argument-must-be-utf-8
  if (text.includes(REPLACED))
    throw new Unreachable(`cannot read ${where}: it is not UTF-8. Pipe it in to publish it as it is.`);
  return Buffer.from(text);
}

/** A line typed at the terminal, which does not show it; empty at its end. */
export async function typedSecret(err: Output['err'], prompt: string): Promise<string> {
  err(prompt);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: process.stdin, output: silent, terminal: true });
  try {
    return await new Promise<string>((resolve) => {
      reader.once('line', resolve);
      reader.once('close', () => resolve(''));
    });
  } finally {
    reader.close();
    err('\n');
  }
}

/** The lines of an input, without their ends; an empty one at the end is none. */
export function linesOf(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const found = bytes.indexOf(LINE_FEED, at);
    const end = found === -1 ? bytes.length : found;
    lines.push(bytes.subarray(at, end > at && bytes[end - 1] === CARRIAGE_RETURN ? end - 1 : end));
    at = end + 1;
  }
  return lines;
}
