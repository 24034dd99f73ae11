import { readdirSync, readFileSync } from 'node:fs';
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

const LUA = readdirSync(join(ROOT, 'lua'), { recursive: true })
  .filter((name) => name.endsWith('.lua'))
  .map((name) => read(join('lua', name)))
  .join('\n');

/** Words of the languages, and what the code of a mutant has without a declaration. */
const KNOWN =
  /^(?:and|as|const|else|end|for|function|if|in|local|new|nil|not|null|or|return|then|throw|true|false|undefined|Array|Date|Infinity|Math|Number|Object|Promise|String|ipairs|redis|type|error|math|string|process)$/u;

/** What the code of a mutant names and its file does not. A name that another file has may have been changed there. */
function unknownNames({ file, off }) {
  const code = (typeof off === 'object' ? (off.with ?? off.replace ?? '') : '').replaceAll(
    /"[^"]*"|'[^']*'|\$&/gu,
    '""',
  );
  const own = [...code.matchAll(/(?:function\(|local |for )(?<names>[\w, ]+)|(?<assigned>\w+) = /gu)];
  const declared = new Set(own.flatMap(({ groups }) => (groups.names ?? groups.assigned).split(/\W+/u)));
  const words = code.match(/(?<![.\w])[A-Za-z_]\w*/gu) ?? [];
  // Modules of Lua share their names.
  const text = file.endsWith('.lua') ? LUA : read(file);
  return words.filter(
    (word) => !KNOWN.test(word) && !declared.has(word) && !new RegExp(`\\b${word}\\b`, 'u').test(text),
  );
}

/** The mutants themselves take an hour (`npm run test:mutants`); that they can still be made is checked each time. */
describe('the list of guards', () => {
  it('has no name and no id twice', () => {
    expect(new Set(GUARDS.map(({ name }) => name)).size).toBe(GUARDS.length);
    expect(new Set(GUARDS.map(({ id }) => id)).size).toBe(GUARDS.length);
  });

  it('has one entry for each id of a marker, and all markers of an id are in one file', () => {
    expect([...files.keys()].toSorted()).toEqual(GUARDS.map(({ id }) => id).toSorted());
    expect([...files].filter(([, places]) => new Set(places).size > 1)).toEqual([]);
  });

  describe.each(GUARDS)('the guard $id', ({ id, off, spec, titles = spec, test }) => {
    it('is switched off without a syntax error or an unknown name in the code', () => {
      const [file] = files.get(id);
      const mutant = switchOff(file, read(file), id, off);
      expect(mutant).not.toBe(read(file));
      expect(unknownNames({ file, off })).toEqual([]);
      if (/\.(?:ts|mjs|lua)$/u.test(file)) expect(syntaxErrors(file, mutant)).toEqual([]);
    });

    it('is given with the full name of exactly one test', () => {
      expect(tests.get(titles).filter((name) => name === test)).toEqual([test]);
    });
  });
});
