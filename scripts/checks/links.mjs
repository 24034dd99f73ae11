/**
 * `npm run lint`: links of the pages lead to files and headings that exist. Addresses outside of the repository are not
 * looked up.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');

const pagesIn = (folder, pattern) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => pattern.test(path) && !path.includes('node_modules'))
    .map((path) => join(folder, path))
    .sort();

export const PAGES = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CODE_OF_CONDUCT.md',
  'lua/README.md',
  ...pagesIn('packages', /^[^/]+\/README\.md$/),
  ...pagesIn('examples', /^[^/]+\/README\.md$/),
  ...pagesIn('docs', /\.md$/),
];

export const withoutCode = (text) => text.replaceAll(/^```.*?^```$/gms, '');

export function headingsOf(page) {
  const seen = new Map();
  const titles = withoutCode(page).matchAll(/^#+ (.*)$/gm);
  return new Set(
    [...titles].map(([, title = '']) => {
      const anchor = title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '')
        .replaceAll(' ', '-');
      const times = seen.get(anchor) ?? 0;
      seen.set(anchor, times + 1);
      return times === 0 ? anchor : `${anchor}-${times}`;
    }),
  );
}

export function brokenLinks(page) {
  const text = withoutCode(readFileSync(join(ROOT, page), 'utf8'));
  return [...text.matchAll(/\]\((?!https?:)([^)\s]*)\)/g)].flatMap(([, link]) => {
    const [path, anchor] = link.split('#');
    const file = path === '' ? page : relative(ROOT, join(ROOT, dirname(page), path));
    if (!existsSync(join(ROOT, file))) return [link];
    if (anchor === undefined) return [];
    return headingsOf(readFileSync(join(ROOT, file), 'utf8')).has(anchor) ? [] : [link];
  });
}

if (process.argv[1] === import.meta.filename) {
  const found = PAGES.flatMap((page) => brokenLinks(page).map((link) => `${page}: ${link} leads nowhere`));
  for (const line of found) console.log(line);
  process.exit(found.length > 0 ? 1 : 0);
}
