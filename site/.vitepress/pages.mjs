import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';

export const ROOT = join(import.meta.dirname, '..', '..');
/** A copy of the documents: from pages outside of this folder, Vue is not found. */
const PAGES = join(import.meta.dirname, '..', 'pages');

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
  cpSync(join(ROOT, 'docs'), PAGES, { recursive: true, filter: (path) => !path.endsWith('.md') });
  const docs = readdirSync(join(ROOT, 'docs'), { recursive: true }).map((path) => `docs/${path}`);
  for (const path of [...docs.filter((each) => each.endsWith('.md')), ...OUTSIDE.keys()])
    write(pageOf(path), withLinks(path, readFileSync(join(ROOT, path), 'utf8')));
}

/** The page of a document, or undefined if the site does not have it. */
function pageOf(path) {
  if (path === 'docs/README.md') return 'index.md';
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
  if (target === 'docs/adr') return '/index.md#decisions';
  const folder = `${target}/README.md`;
  const page = pageOf(isFile(target) ? target : folder);
  if (page !== undefined && isFile(isFile(target) ? target : folder)) return `/${page}`;
  if (isFile(target)) return fileFor(target);
  throw new Error(`a link to ${target}, which is neither a page nor a file`);
}

/** A file that is no page, as plain text. */
function fileFor(path) {
  const file = `files/${path.replaceAll('/', '-').replace(/^\./, '')}.txt`;
  mkdirSync(join(PAGES, 'public', 'files'), { recursive: true });
  cpSync(join(ROOT, path), join(PAGES, 'public', file));
  return `/${file}`;
}

function write(page, text) {
  mkdirSync(dirname(join(PAGES, page)), { recursive: true });
  writeFileSync(join(PAGES, page), text);
}

function isFile(path) {
  return statSync(join(ROOT, path), { throwIfNoEntry: false })?.isFile() === true;
}
