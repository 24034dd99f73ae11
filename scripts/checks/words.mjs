/**
 * `npm run lint`: no words of `refused-words.mjs`, and names of tests that are understood alone. docs/glossary.md has the words of this project.
 *
 *     node scripts/checks/words.mjs              all of src, lua, test, bench, scripts, packages and examples
 *     node scripts/checks/words.mjs src/engine   one folder
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { testNames } from '../mutants/test-names.mjs';
import { PAGES } from './links.mjs';
import {
  INSIDE,
  INSTEAD,
  NOT_FIRST_IN_A_TITLE,
  REFUSED_IDENTIFIERS,
  REFUSED_IN_TITLES,
} from './refused-words.mjs';

const ROOT = join(import.meta.dirname, '..', '..');
const FOLDERS = [
  'src',
  'lua',
  'test',
  'bench',
  'scripts',
  'packages/cli/src',
  'packages/client/src',
  'packages/client/test',
  'packages/console/src',
  'packages/console/test',
  'packages/engine/src',
  'packages/python',
  'packages/go',
  'examples',
];

/** It has to spell them. */
const LEFT_OUT = ['scripts/checks/refused-words.mjs'];

/** Lower-case words of a line: identifiers are cut at underscores and at capitals, a plural counts as its singular. */
function wordsOf(line) {
  return line
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .map((word) => (INSTEAD.has(word.replace(/s$/, '')) ? word.replace(/s$/, '') : word));
}

/** @returns the refused words of a line */
export function refusedIn(line) {
  const words = wordsOf(line);
  return [...INSTEAD.keys()].filter((word) =>
    word.includes(' ') ? words.join(' ').includes(word) : words.includes(word),
  );
}

/** Folders whose test names follow CONTRIBUTING.md. */
const NAMED_FOLDERS = ['src', 'packages/cli/src', 'packages/client/test', 'scripts', 'bench', 'test'];
const FIRST_WORD = /^[^\s,:;]+/;

/** @param {string} name of a test, its titles joined by ` › ` @returns {string[]} what is wrong with it */
export function problemsOfName(name) {
  const titles = name.split(' › ');
  const found = titles.flatMap((title) => {
    const words = title.toLowerCase().split(/[^a-z%$]+/);
    return REFUSED_IN_TITLES.filter((word) => words.includes(word)).map((word) => `has the word "${word}"`);
  });
  const first = titles.map((title) => FIRST_WORD.exec(title)?.[0].toLowerCase() ?? '');
  const last = first.at(-1) ?? '';
  if (/^[%$]/.test(last)) found.push('begins with a value: write a verb before it');
  for (const word of new Set(first))
    if (NOT_FIRST_IN_A_TITLE.includes(word))
      found.push(`begins a title with "${word}": write a subject or a verb`);
  return found;
}

/** @returns the refused identifiers of a Lua script. Comments and texts do not count; oxlint checks TypeScript and JavaScript. */
export function refusedInLua(text) {
  const code = text.replaceAll(/--\[\[.*?\]\]|--[^\n]*|"(?:[^"\\]|\\.)*"/gs, (part) =>
    part.replaceAll(/[^\n]/g, ' '),
  );
  const refused = new RegExp(`\\b(?:${REFUSED_IDENTIFIERS.join('|')})\\b`, 'g');
  return [...code.matchAll(refused)].map(({ 0: name, index }) => ({
    name,
    line: code.slice(0, index).split('\n').length,
  }));
}

/** Pages for those who use the program; the others are for readers of its code. */
const FOR_USERS =
  /^README\.md$|^docs\/(?:tutorial|api|lmstfy-api|states|cli|configuration)\.md$|^docs\/(?:how-to|api|reference)\/|^(?:packages|examples)\//;

/** @returns {{ line: number, word: string }[]} the inside words of a page, which may be broken over two lines */
export function insideWordsOf(text) {
  return [...INSIDE.keys()].flatMap((word) =>
    [...text.matchAll(new RegExp(`\\b${word.replace(' ', '\\s+')}`, 'gi'))].map(({ index }) => ({
      line: text.slice(0, index).split('\n').length,
      word,
    })),
  );
}

function main(folders) {
  const files = (folders.length > 0 ? folders : FOLDERS)
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) =>
        join(folder, file),
      ),
    )
    .filter((file) => /\.(ts|mjs|lua|sh|py|go)$/.test(file) && !/node_modules/.test(file))
    .filter((file) => !LEFT_OUT.includes(file));
  let found = 0;
  for (const file of files) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    text.split('\n').forEach((line, i) => {
      for (const word of refusedIn(line)) {
        found++;
        console.log(`${file}:${i + 1}: "${word}": write ${INSTEAD.get(word)}`);
      }
    });
    for (const { name, line } of file.endsWith('.lua') ? refusedInLua(text) : []) {
      found++;
      console.log(`${file}:${line}: identifier "${name}": write a word of docs/glossary.md`);
    }
  }
  for (const file of files.filter((each) => NAMED_FOLDERS.some((folder) => each.startsWith(`${folder}/`)))) {
    for (const name of /\.ts$|\.spec\.mjs$/.test(file)
      ? testNames(readFileSync(join(ROOT, file), 'utf8'))
      : []) {
      for (const problem of problemsOfName(name)) {
        found++;
        console.log(`${file}: the test name "${name}" ${problem}`);
      }
    }
  }
  for (const page of folders.length > 0 ? [] : PAGES.filter((each) => FOR_USERS.test(each))) {
    for (const { line, word } of insideWordsOf(readFileSync(join(ROOT, page), 'utf8'))) {
      found++;
      console.log(`${page}:${line}: "${word}" is a word of the code: write ${INSIDE.get(word)}`);
    }
  }
  if (found > 0) console.log(`${found} words that docs/glossary.md does not have`);
  process.exit(found > 0 ? 1 : 0);
}

if (process.argv[1] === import.meta.filename) main(process.argv.slice(2));
