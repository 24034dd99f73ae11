import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { changed, RENAMED } from './changed-code.mjs';
import { unitsOf } from './markers.mjs';
import { markedFiles } from './places.mjs';

const ROOT = join(import.meta.dirname, '..', '..');
const files = new Map();
for (const [id, [file]] of markedFiles(ROOT))
  if (/\.(?:ts|mjs|lua)$/u.test(file)) files.set(file, [...(files.get(file) ?? []), id]);

/** A text without what a formatter changes, and without comments. */
function plain(file, text) {
  const code = file.endsWith('.lua')
    ? text.replaceAll(/--\[\[[\s\S]*?\]\]|--[^\n]*/gu, '')
    : text.replaceAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*/gu, '');
  return code.replaceAll(RENAMED, '').replaceAll(/[\s;,()]+/gu, '');
}

function guarded(file, text, ids) {
  return ids.map((id) => {
    const of = (node) => node && plain(file, text.slice(node.start, node.end));
    return [id, ...unitsOf(file, text, id).flatMap((unit) => [unit, unit.value, unit.other].map(of))];
  });
}

describe('markers of guards in reformatted code', () => {
  it.each([...files])(
    'mark the same code of %s after changes of line breaks, names and places',
    async (file, ids) => {
      const text = readFileSync(join(ROOT, file), 'utf8');
      const units = ids.flatMap((id) => unitsOf(file, text, id));
      const expected = guarded(file, text, ids);
      const other = await changed(file, text, units);
      expect(other).toContain(RENAMED);
      expect(guarded(file, other, ids)).toEqual(expected);
    },
  );
});
