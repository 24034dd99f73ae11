import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { headingsOf } from './support/guide.js';

const ROOT = join(import.meta.dirname, '..');
const pages = [
  'README.md',
  'CHANGELOG.md',
  'packages/client/README.md',
  'packages/engine/README.md',
  'packages/python/README.md',
  'packages/go/README.md',
  'examples/node/README.md',
  'examples/http/README.md',
  'examples/python/README.md',
  'examples/go/README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => join('docs', path)),
];
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** What a page points at within the repository, and that is not there. */
function broken(page: string): string[] {
  const text = read(page).replaceAll(/^```.*?^```$/gms, '');
  return [...text.matchAll(/\]\((?!https?:)([^)\s]*)\)/g)].flatMap(([, link = '']) => {
    const [path = '', anchor] = link.split('#');
    const file = path === '' ? page : relative(ROOT, join(ROOT, dirname(page), path));
    if (!existsSync(join(ROOT, file))) return [link];
    return anchor === undefined || headingsOf(read(file)).has(anchor) ? [] : [link];
  });
}

it.each(pages)('%s points at what there is', (page) => expect(broken(page)).toEqual([]));

/** First lines of tables: after a line that is none of a table's. */
function headless(page: string): string[] {
  const lines = read(page)
    .replaceAll(/^```.*?^```$/gms, '')
    .split('\n')
    .map((line) => line.trim());
  return lines.filter(
    (line, i) =>
      line.startsWith('|') && !lines[i - 1]?.startsWith('|') && !/^\|[-:| ]+\|$/.test(lines[i + 1] ?? ''),
  );
}

// A blank line ends a table, and what follows is shown as text.
it.each(pages)('each table of %s has a header', (page) => expect(headless(page)).toEqual([]));
