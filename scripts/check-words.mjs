/**
 * `npm run lint`: no made-up words. docs/glossary.md has the words of this project; those below were once used in their place. They are refused
 * everywhere in code, comments and test names, also as a part of an identifier (`hotLane`, `is_doomed`).
 *
 *     node scripts/check-words.mjs              all of src, lua, test, bench, scripts, packages and examples
 *     node scripts/check-words.mjs src/engine   one folder
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const FOLDERS = [
  'src',
  'lua',
  'test',
  'bench',
  'scripts',
  'packages/client/src',
  'packages/client/test',
  'packages/python',
  'packages/go',
  'examples',
];

/** What is refused, and what to write. */
const INSTEAD = new Map([
  ['lane', 'path: simple, extended or fast'],
  ['door', 'API'],
  ['shelf', 'delivery log'],
  ['shelves', 'delivery logs'],
  ['ghost', 'stale entry'],
  ['haunted', 'has stale entries'],
  ['doom', 'mark for deletion'],
  ['doomed', 'to delete'],
  ['teller', 'event writer'],
  ['bell', 'timer handler'],
  ['somebody', 'a client, a worker, a server'],
  ['nobody', 'no client, no worker, no server'],
  ['whoever', 'the client, worker or server that …'],
  ['waiting room', 'long-poll manager'],
]);
/** This file has to spell them. */
const LEFT_OUT = ['scripts/check-words.mjs'];
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

function main(folders) {
  const files = (folders.length > 0 ? folders : FOLDERS)
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) =>
        join(folder, file),
      ),
    )
    .filter((file) => /\.(ts|mjs|lua|sh|py|go)$/.test(file) && !LEFT_OUT.includes(file));
  let found = 0;
  for (const file of files) {
    readFileSync(join(ROOT, file), 'utf8')
      .split('\n')
      .forEach((line, i) => {
        for (const word of refusedIn(line)) {
          found++;
          console.log(`${file}:${i + 1}: "${word}": write ${INSTEAD.get(word)}`);
        }
      });
  }
  if (found > 0) console.log(`${found} words that docs/glossary.md does not have`);
  process.exit(found > 0 ? 1 : 0);
}

if (process.argv[1] === import.meta.filename) main(process.argv.slice(2));
