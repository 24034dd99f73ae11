import { JsonScanner } from './scanner.js';
import { MAX_JSON_DEPTH } from '../../domain/limits.js';

const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;

/** The elements of a JSON array. */
export interface SplitArray {
  readonly count: number;
  /** Views of the text, byte for byte; at most as many as requested. */
  readonly elements: Buffer[];
}

/**
 * Splits the text of a JSON array into the texts of its elements. It checks the text and decodes nothing:
 * spelling of numbers, inner blanks and duplicate keys are kept, bytes in strings need not be UTF-8.
 *
 * @param keep at the first element beyond this number it stops, with a count of one more
 * @returns null if it is not a JSON array
 */
export function splitArray(text: Buffer, keep: number): SplitArray | null {
  const scanner = new JsonScanner(text);
  // The array that is split counts as one level.
  scanner.maxDepth = MAX_JSON_DEPTH - 1;
  if (!scanner.takes(OPEN_LIST)) return null;
  const elements: Buffer[] = [];
  let count = 0;
  if (!scanner.takes(CLOSE_LIST)) {
    do {
      scanner.peek();
      const start = scanner.at;
      if (!scanner.value()) return null;
      count += 1;
      if (count > keep) return { count, elements };
      elements.push(text.subarray(start, scanner.at));
    } while (scanner.takes(COMMA));
    if (!scanner.takes(CLOSE_LIST)) return null;
  }
  return scanner.end() ? { count, elements } : null;
}
