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

/** Paths of the repository that a page names as code; a test may be named without its ending, and `*` stands for any name. */
function pathsIn(page: string): string[] {
  const named = read(page).matchAll(/`((?:src|lua|test|scripts|bench|packages|config|site)\/[^`\s]*)`/g);
  return [...named].map(([, path = '']) => path).filter((path) => !/[{<…*]/.test(path));
}

const ROOTS = (page: string): string[] => (page.startsWith('examples/') ? [dirname(page), '.'] : ['.']);
const exists = (page: string, path: string): boolean =>
  ROOTS(page).some((root) =>
    ['', '.spec.ts', '.ts'].some((ending) => existsSync(join(ROOT, root, `${path}${ending}`))),
  );

// Also in records of decisions: they name where the code is today.
it.each(pages)('%s names files that exist', (page) => {
  expect(pathsIn(page).filter((path) => !exists(page, path))).toEqual([]);
});

it('a path that does not exist is found', () => {
  expect(exists('README.md', 'src/main.ts')).toBe(true);
  expect(exists('README.md', 'src/engine/ids.spec')).toBe(false);
  expect(pages.flatMap(pathsIn).length).toBeGreaterThan(100);
});

it('docs/README.md links every page of docs/', () => {
  const index = read('docs/README.md');
  const missing = pages
    .filter((page) => page.startsWith('docs/') && page !== 'docs/README.md')
    .map((page) => page.slice('docs/'.length))
    .filter((page) => !page.startsWith('reference/api/') && !index.includes(`](${page})`));
  expect(missing).toEqual([]);
});

it('pages name metrics that exist', () => {
  const known = new Set(
    [...read('docs/reference/metrics.md').matchAll(/`((?:pumphouse|infra_lmstfy)_\w+)`/g)].map(
      ([, name = '']) => name,
    ),
  );
  const ofNow = pages.filter((page) => page !== 'CHANGELOG.md' && !page.includes('/adr/'));
  const wrong = ofNow.flatMap((page) =>
    [...read(page).matchAll(/\b(pumphouse|infra_lmstfy)_[a-z]\w+[a-z]\b/g)]
      .map(([name]) => name)
      .filter((name) => !known.has(name.replace(/_(bucket|sum|count)$/, ''))),
  );
  expect(wrong).toEqual([]);
});

it('the README has at most 200 lines', () => {
  expect(read('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(200);
});
