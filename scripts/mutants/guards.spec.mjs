import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GUARDS } from './guards.mjs';
import { switchOff } from './markers.mjs';
import { markedFiles } from './places.mjs';
import { parse } from './syntax.mjs';
import { testNames } from './test-names.mjs';

const ROOT = join(import.meta.dirname, '..', '..');
const PATCHES = GUARDS.filter(({ id }) => id === undefined);
const MARKED = GUARDS.filter(({ id }) => id !== undefined);
const files = markedFiles(ROOT);
const read = (file) => readFileSync(join(ROOT, file), 'utf8');

/** The mutants themselves take an hour (`npm run test:mutants`); that they can still be made is checked each time. */
describe('the list of guards', () => {
  it.each(PATCHES)('finds the text to change: $name', ({ file, from, spec }) => {
    expect(read(file).split(from)).toHaveLength(2);
    expect(existsSync(join(ROOT, spec))).toBe(true);
  });

  it('names each guard once', () => {
    expect(new Set(GUARDS.map(({ name }) => name)).size).toBe(GUARDS.length);
    expect(new Set(MARKED.map(({ id }) => id)).size).toBe(MARKED.length);
  });

  it('has an entry for each marker in the code, and one marker for each entry', () => {
    const ids = [...files].flatMap(([id, places]) => places.map(() => id));
    expect(ids.toSorted()).toEqual(MARKED.map(({ id }) => id).toSorted());
  });

  describe.each(MARKED)('$id', ({ id, off, spec, test }) => {
    it('can be switched off', () => {
      const [file] = files.get(id);
      const mutant = switchOff(file, read(file), id, off);
      expect(mutant).not.toBe(read(file));
      if (/\.(?:ts|mjs|lua)$/u.test(file)) expect(parse(file, mutant).errors).toEqual([]);
    });

    it('names exactly one test', () => {
      expect(testNames(read(spec)).filter((name) => name === test)).toEqual([test]);
    });
  });
});
