import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { headingsOf } from './support/guide.js';

const ROOT = join(import.meta.dirname, '..');
const pages = [
  'README.md',
  'CHANGELOG.md',
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
