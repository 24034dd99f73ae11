import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, posix } from 'node:path';
import { codeGroupsOf, withCodeGroups } from './tabs.mjs';

export const ROOT = join(import.meta.dirname, '..', '..');
const SITE = join(import.meta.dirname, '..');
/** A copy of the documents: from pages outside of this folder, Vue is not found. */
const PAGES = join(SITE, 'pages');
const PICTURE = 'docs/system.svg';

/** Documents outside of docs/ that are pages of the site, and where they are there. */
const OUTSIDE = new Map([
  ['README.md', 'readme.md'],
  ['CHANGELOG.md', 'changelog.md'],
  ['CONTRIBUTING.md', 'contributing.md'],
  ['SECURITY.md', 'security-policy.md'],
  ...['packages', 'examples'].flatMap((folder) =>
    readdirSync(join(ROOT, folder))
      .map((name) => `${folder}/${name}/README.md`)
      .filter((path) => isFile(path))
      .map((path) => [path, `${dirname(path)}.md`]),
  ),
]);

/** Writes all pages with links that work in the site. @throws {Error} a link to a file that does not exist */
export function writePages() {
  rmSync(PAGES, { recursive: true, force: true });
  const docs = readdirSync(join(ROOT, 'docs'), { recursive: true }).map((path) => `docs/${path}`);
  for (const path of [...docs.filter((each) => each.endsWith('.md')), ...OUTSIDE.keys()])
    write(pageOf(path), withLinks(path, withPictures(path, withCodeGroups(read(path)))));
  const [sample] = codeGroupsOf(read('README.md'));
  const home = readFileSync(join(SITE, 'home.md'), 'utf8').replace('%sample%', () => sample);
  write('index.md', withLinks('README.md', home.replace('%picture%', images('How it works'))));
  writePicture();
}

/**
 * The groups of the side bar, in the order of a reader: the sections of the list of all documents, with the pages that
 * they link.
 */
export function sidebar() {
  const sections = read('docs/README.md').split(/^## /m).slice(1);
  const groups = sections.map((section) => {
    const paths = [...section.matchAll(/\]\(([^)#]+\.md)\)/g)].map(([, to]) => posix.join('docs', to));
    return { text: section.split('\n', 1)[0], items: [...new Set(paths)].map(entryOf) };
  });
  return [
    { text: 'Pumphouse', items: ['README.md', 'docs/README.md'].map(entryOf) },
    ...groups.map(({ text, items }) => ({
      text,
      collapsed: text === 'Decisions',
      items: nested(text, items),
    })),
  ];
}

/** Entries of a group, with those of one kind in a group of their own, in the place of the first of them. */
function nested(text, items) {
  if (text === 'How-to guides') return within(items, 'Coming from', /^\/how-to\/from-/);
  if (text !== 'Reference') return items;
  const calls = pagesOf('docs/reference/api').map(entryOf);
  return within(
    within([...items, ...calls], 'Guides to the API', /^\/api\//),
    'All calls',
    /^\/reference\/api\//,
  );
}

function within(items, text, pattern) {
  const first = items.findIndex(({ link }) => pattern.test(link ?? ''));
  if (first < 0) return items;
  const isInside = ({ link }) => pattern.test(link ?? '');
  const group = { text, collapsed: true, items: items.filter(isInside) };
  return [...items.slice(0, first), group, ...items.slice(first).filter((item) => !isInside(item))];
}

function pagesOf(folder) {
  return readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `${folder}/${name}`);
}

/** A page in the side bar, by its first heading. */
function entryOf(path) {
  const title = /^# (.+)$/m.exec(read(path))?.[1] ?? path;
  const text = { 'README.md': 'What it is, quick start', 'docs/README.md': 'All documents' }[path] ?? title;
  return { text: text.replaceAll('`', ''), link: `/${pageOf(path).replace(/\.md$/, '')}` };
}

/** The page of a document, or undefined if the site does not have it. */
function pageOf(path) {
  if (path === 'docs/README.md') return 'overview.md';
  return OUTSIDE.get(path) ?? (path.startsWith('docs/') ? path.slice('docs/'.length) : undefined);
}

/** Relative links, outside of code, as absolute ones of the site. */
function withLinks(path, text) {
  return text
    .split(/(^ *```.*?^ *```$)/ms)
    .map((part, i) =>
      i % 2 === 1
        ? part
        : part.replaceAll(/\]\((?!\w+:|#|\/)([^)\s#]+)(#[^)\s]*)?\)/g, (_, to, hash = '') => {
            const target = posix.join(posix.dirname(path), to).replace(/\/$/, '');
            return `](${linkTo(target)}${hash})`;
          }),
    )
    .join('');
}

function linkTo(target) {
  // The list of all decisions.
  if (target === 'docs/adr') return '/overview.md#decisions';
  const folder = `${target}/README.md`;
  const page = pageOf(isFile(target) ? target : folder);
  if (page?.endsWith('.md') && isFile(isFile(target) ? target : folder)) return `/${page}`;
  if (isFile(target)) return fileFor(target);
  throw new Error(`a link to ${target}, which is neither a page nor a file`);
}

/** A file that is no page: a picture as it is, others as plain text. */
function fileFor(path) {
  const ending = ['.svg', '.png'].includes(extname(path)) ? '' : '.txt';
  const file = `files/${path.replaceAll('/', '-').replace(/^\./, '')}${ending}`;
  writePublic(file, readFileSync(join(ROOT, path)));
  return `/${file}`;
}

/** Pictures follow the mode that the reader chose in the site, which their own files cannot know. */
function withPictures(path, text) {
  const folder = posix.dirname(path);
  const to = posix.relative(folder, PICTURE);
  return text
    .replaceAll(/!\[([^\]]*)\]\(([^)]+)\)/g, (all, alt, target) => (target === to ? images(alt) : all))
    .replaceAll(
      /<picture><source [^>]*srcset="([^"]+)">\s*<img alt="([^"]+)" src="([^"]+)"([^>]*)><\/picture>/g,
      (_, dark, alt, light, more) => {
        const [lightFile, darkFile] = [light, dark].map((file) => fileFor(posix.join(folder, file)));
        return imagesOf(alt, { light: lightFile, dark: darkFile }, more);
      },
    );
}

const images = (alt) => imagesOf(alt, { light: '/system-light.svg', dark: '/system-dark.svg' });

/** An image for each mode. @param {Record<string, string>} files by mode @param {string} more attributes */
const imagesOf = (alt, files, more = '') =>
  Object.entries(files)
    .map(
      ([mode, file]) => `<img class="only-${mode}" src="${file}" alt="${alt.replaceAll('\n', ' ')}"${more}>`,
    )
    .join('\n');

function writePicture() {
  const [all, dark] = /@media \(prefers-color-scheme: dark\) \{ (.*) \}\n/.exec(read(PICTURE));
  writePublic('system-light.svg', read(PICTURE).replace(all, ''));
  writePublic('system-dark.svg', read(PICTURE).replace(all, `${dark}\n`));
}

function writePublic(file, text) {
  mkdirSync(dirname(join(PAGES, 'public', file)), { recursive: true });
  writeFileSync(join(PAGES, 'public', file), text);
}

function write(page, text) {
  mkdirSync(dirname(join(PAGES, page)), { recursive: true });
  writeFileSync(join(PAGES, page), text);
}

function read(path) {
  return readFileSync(join(ROOT, path), 'utf8');
}

function isFile(path) {
  return statSync(join(ROOT, path), { throwIfNoEntry: false })?.isFile() === true;
}
