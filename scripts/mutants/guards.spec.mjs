import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GUARDS } from './guards.mjs';
import { switchOff } from './markers.mjs';
import { markedFiles } from './places.mjs';
import { syntaxErrors } from './syntax.mjs';
import { testNames } from './test-names.mjs';

const ROOT = join(import.meta.dirname, '..', '..');
const files = markedFiles(ROOT);
const read = (file) => readFileSync(join(ROOT, file), 'utf8');
const tests = new Map(GUARDS.map(({ spec, titles = spec }) => [titles, []]));
for (const file of tests.keys()) tests.set(file, testNames(read(file)));

/** The mutants themselves take an hour (`npm run test:mutants`); that they can still be made is checked each time. */
describe('the list of guards', () => {
  it('names each guard once', () => {
    expect(new Set(GUARDS.map(({ name }) => name)).size).toBe(GUARDS.length);
    expect(new Set(GUARDS.map(({ id }) => id)).size).toBe(GUARDS.length);
  });

  it('has an entry for each marker in the code, and the markers of an entry in one file', () => {
    expect([...files.keys()].toSorted()).toEqual(GUARDS.map(({ id }) => id).toSorted());
    expect([...files].filter(([, places]) => new Set(places).size > 1)).toEqual([]);
  });

  describe.each(GUARDS)('$id', ({ id, off, spec, titles = spec, test }) => {
    it('can be switched off', () => {
      const [file] = files.get(id);
      const mutant = switchOff(file, read(file), id, off);
      expect(mutant).not.toBe(read(file));
      if (/\.(?:ts|mjs|lua)$/u.test(file)) expect(syntaxErrors(file, mutant)).toEqual([]);
    });

    it('names exactly one test', () => {
      expect(tests.get(titles).filter((name) => name === test)).toEqual([test]);
    });
  });
});
