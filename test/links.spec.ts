import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { brokenLinks, PAGES, withoutCode } from '../scripts/checks/links.mjs';

const ROOT = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

it.each(PAGES)('links of documents point at existing targets: %s', (page) =>
  expect(brokenLinks(page)).toEqual([]),
);

/** First lines of tables: after a line that is none of a table's. */
function headless(page: string): string[] {
  const lines = withoutCode(read(page))
    .split('\n')
    .map((line) => line.trim());
  return lines.filter(
    (line, i) =>
      line.startsWith('|') && !lines[i - 1]?.startsWith('|') && !/^\|[-:| ]+\|$/.test(lines[i + 1] ?? ''),
  );
}

// A blank line ends a table, and what follows is shown as text.
it.each(PAGES)('each table of %s has a header', (page) => expect(headless(page)).toEqual([]));

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
it.each(PAGES)('paths in documents name existing files: %s', (page) => {
  expect(pathsIn(page).filter((path) => !exists(page, path))).toEqual([]);
});

it('the check of paths finds a path that does not exist', () => {
  expect(exists('README.md', 'src/main.ts')).toBe(true);
  expect(exists('README.md', 'src/engine/ids.spec')).toBe(false);
  expect(PAGES.flatMap(pathsIn).length).toBeGreaterThan(100);
});

/** Headings that name the address of a call: it belongs into the text, and makes anchors that are hard to write. */
const withAddress = (page: string): string[] =>
  [...withoutCode(read(page)).matchAll(/^#+ .*(?:\/:|\/v1|\/api\/).*$/gm)].map(([heading]) => heading);

// The reference is generated, and is a list of addresses.
it.each(PAGES.filter((page) => !page.startsWith('docs/reference/')))(
  'no heading of %s has an address',
  (page) => expect(withAddress(page)).toEqual([]),
);

it('docs/README.md links every page of docs/', () => {
  const index = read('docs/README.md');
  const missing = PAGES.filter((page) => page.startsWith('docs/') && page !== 'docs/README.md')
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
  const ofNow = PAGES.filter((page) => page !== 'CHANGELOG.md' && !page.includes('/adr/'));
  const wrong = ofNow.flatMap((page) =>
    [...read(page).matchAll(/\b(pumphouse|infra_lmstfy)_[a-z]\w+[a-z]\b/g)]
      .map(([name]) => name)
      .filter((name) => !known.has(name.replace(/_(bucket|sum|count)$/, ''))),
  );
  expect(wrong).toEqual([]);
});

it('config/default.toml has lines of at most 100 characters', () => {
  const lines = read('config/default.toml').split('\n');
  expect(lines.filter((line) => line.length > 100)).toEqual([]);
});

it('the README has at most 200 lines', () => {
  expect(read('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(200);
});
