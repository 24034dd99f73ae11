import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';

const DOCS = join(import.meta.dirname, '..', '..', 'docs');

// A copy: from pages outside of this folder, Vue is not found.
const PAGES = join(import.meta.dirname, '..', 'pages');
rmSync(PAGES, { recursive: true, force: true });
cpSync(DOCS, PAGES, { recursive: true });

/** The first heading of a page. */
const titleOf = (path) => /^# (.+)$/m.exec(readFileSync(join(DOCS, path), 'utf8'))?.[1] ?? path;

/** All pages of a folder, as entries of the side bar; decisions and references by name, which have an order. */
const pagesOf = (folder) =>
  readdirSync(join(DOCS, folder), { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.md') && entry.name !== 'README.md')
    .map(({ name }) => join(folder, name))
    .sort()
    .map((path) => ({ text: titleOf(path).replaceAll('`', ''), link: `/${path.replace(/\.md$/, '')}` }));

const NAMES = { reference: 'Reference', 'reference/api': 'HTTP API', 'how-to': 'How-to', adr: 'Decisions' };

/** The pages of docs/ with a side bar and a search that runs in the browser. Nothing is loaded from elsewhere. */
export default defineConfig({
  title: 'Pumphouse',
  description: 'HTTP job queue server on Redis',
  srcDir: './pages',
  outDir: './dist',
  cacheDir: './cache',
  cleanUrls: false,
  rewrites: { 'README.md': 'index.md' },
  // Files beside docs/ (README, configuration, scripts) are not pages; test/links.spec.ts checks those links.
  ignoreDeadLinks: [
    /^(\.\/)?(\.\.\/)+(README|CHANGELOG|config|packages|examples|test|src|scripts|bench|lua|Docker|docker)/,
    /adr\/index$/,
  ],
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: [
      { text: 'Guide', items: pagesOf('.') },
      ...Object.entries(NAMES)
        .filter(([folder]) => readdirSync(DOCS, { recursive: true }).includes(folder))
        .map(([folder, text]) => ({ text, collapsed: folder === 'adr', items: pagesOf(folder) })),
    ],
  },
});
