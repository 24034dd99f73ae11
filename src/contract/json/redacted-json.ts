import { isUtf8 } from 'node:buffer';
import type { JsonPath } from './json-path.js';
import { JsonScanner } from './scanner.js';

/** What stands in the place of a value that is withheld. */
export const REDACTED = '[redacted by Pumphouse]';
const MARK = Buffer.from(JSON.stringify(REDACTED));
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
/** Deeper data cannot be redacted: each level is a call. */
const MAX_DEPTH = 512;
/** A million takes about 30 ms to read. */
const MAX_VALUES = 1_000_000;

/**
 * Replaces the values at some paths by `REDACTED`, also where a name occurs twice. All other bytes stay as they are. If
 * there is nothing to replace, it returns the same buffer.
 *
 * @returns undefined if it cannot read the text: it is no JSON, too deep or too long
 */
export function redactedJson(text: Buffer, paths: readonly JsonPath[]): Buffer | undefined {
  const finder = new PlaceFinder(text, paths);
  if (!isUtf8(text) || !finder.read()) return undefined;
  const { ends } = finder;
  if (ends.length === 0) return text;
  const parts: Buffer[] = [];
  let from = 0;
  for (let i = 0; i < ends.length; i += 2) {
    parts.push(text.subarray(from, ends[i]), MARK);
    from = ends[i + 1] ?? 0;
  }
  return Buffer.concat([...parts, text.subarray(from)]);
}

/** Finds where the values at some paths begin and end. */
class PlaceFinder {
  readonly ends: number[] = [];
  private readonly scanner: JsonScanner;

  constructor(
    private readonly text: Buffer,
    private readonly paths: readonly JsonPath[],
  ) {
    this.scanner = new JsonScanner(text);
    this.scanner.maxDepth = MAX_DEPTH;
    this.scanner.maxValues = MAX_VALUES;
    this.scanner.readsSingly = true;
  }

  read(): boolean {
    const isAll = this.paths.some(({ steps }) => steps.length === 0);
    return (isAll ? this.found() : this.value(this.paths, 0)) && this.scanner.end();
  }

  /** @param open paths whose first steps lead to this value, or of which the last one may be at any depth */
  private value(open: readonly JsonPath[], depth: number): boolean {
    const byte = this.scanner.peek();
    if (open.length > 0 && byte === OPEN_OBJECT) return this.object(open, depth);
    if (open.length > 0 && byte === OPEN_LIST) return this.list(open, depth);
    return this.scanner.value();
  }

  private object(open: readonly JsonPath[], depth: number): boolean {
    const { scanner, text } = this;
    if (!scanner.open(OPEN_OBJECT)) return false;
    if (!scanner.takes(CLOSE_OBJECT)) {
      do {
        scanner.peek();
        const start = scanner.at;
        if (!scanner.name()) return false;
        // A name may be written with escapes.
        const name = JSON.parse(text.toString('utf8', start, scanner.nameEnd)) as string;
        if (!this.below(open, depth, name)) return false;
      } while (scanner.takes(COMMA));
      if (!scanner.takes(CLOSE_OBJECT)) return scanner.stop('syntax');
    }
    scanner.depth -= 1;
    return true;
  }

  private list(open: readonly JsonPath[], depth: number): boolean {
    const { scanner } = this;
    if (!scanner.open(OPEN_LIST)) return false;
    if (!scanner.takes(CLOSE_LIST)) {
      let index = 0;
      do {
        if (!this.below(open, depth, index)) return false;
        index += 1;
      } while (scanner.takes(COMMA));
      if (!scanner.takes(CLOSE_LIST)) return scanner.stop('syntax');
    }
    scanner.depth -= 1;
    return true;
  }

  /** Reads a member or an item. */
  private below(open: readonly JsonPath[], depth: number, at: string | number): boolean {
    const next: JsonPath[] = [];
    for (const path of open) {
      const last = path.steps.length - 1;
      const step = path.steps[Math.min(depth, last)];
      const isMatch = step === at || typeof step === 'object';
      if (isMatch && depth >= last) return this.found();
      if (isMatch || (path.isDeep && depth >= last)) next.push(path);
    }
    return this.value(next, depth + 1);
  }

  private found(): boolean {
    const { scanner } = this;
    scanner.peek();
    const { at } = scanner;
    if (!scanner.value()) return false;
    this.ends.push(at, scanner.at);
    return true;
  }
}
