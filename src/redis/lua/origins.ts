import { TABLE } from './tabled-names.js';

/** A line of a Lua file of the repository, `lua/modules/core/call.lua:12`. */
export type Origin = string;

/** What the loader may replace in a line: constants, numbers and texts. */
const REPLACED = /\b[A-Z][A-Z0-9_]+\b|\b\d+\b|"[^"]*"/g;
const LOCAL = /^local (?:(?=function)|(?=.* = ))/;
/** How far a statement may be from the one before, in lines: what a command does not use is left out. */
const NEAR = 200;

/**
 * Where the lines of an assembled script come from. The loader leaves out what a command does not use, puts constants in their places and nests modules:
 * a line is found again by what stays of it.
 *
 * @param text as Redis has it
 * @param sources the files that it was made of: their paths, and their texts
 * @returns for each line of the text its origin; null for one that the loader has made, such as the `do` around a module
 */
export function originsOf(text: string, sources: ReadonlyMap<string, string>): readonly (Origin | null)[] {
  const files = [...sources].map(([path, source]) => ({ path, lines: source.split('\n').map(shapeOf) }));
  let [file, at] = [files[0], 0];
  return text.split('\n').map((line) => {
    const shape = shapeOf(line);
    if (shape === '' || shape === 'end' || shape === 'do') {
      // Only where it follows at once: any block ends so.
      if (file?.lines[at] !== shape) return null;
    } else if (nextOf(file, shape, at) < 0) {
      const other = files.find((one) => one.lines.includes(shape));
      if (other === undefined) return null;
      [file, at] = [other, other.lines.indexOf(shape)];
    }
    if (file === undefined) return null;
    at = nextOf(file, shape, at) + 1;
    return `${file.path}:${String(at)}`;
  });
}

function nextOf(
  file: { readonly lines: readonly string[] } | undefined,
  shape: string,
  from: number,
): number {
  const found = file?.lines.indexOf(shape, from) ?? -1;
  return found >= 0 && found - from <= NEAR ? found : -1;
}

/** What the loader leaves of a line. */
function shapeOf(line: string): string {
  return line.trim().replaceAll(`${TABLE}.`, '').replace(LOCAL, '').replaceAll(REPLACED, '#');
}

const PLACE = /\buser_(?:function|script):(\d+)/;

/** The line of a script that Redis's error names, counted from 1; null = it names none. */
export function lineIn(message: string): number | null {
  const [, line] = PLACE.exec(message) ?? [];
  return line === undefined ? null : Number(line);
}
