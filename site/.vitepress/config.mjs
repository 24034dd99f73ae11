import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import { withMermaid } from 'vitepress-plugin-mermaid';
import { ROOT, writePages } from './pages.mjs';

const DOCS = join(ROOT, 'docs');
writePages();

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
// A dead link fails the build.
export default withMermaid(
  defineConfig({
    title: 'Pumphouse',
    description: 'HTTP job queue server on Redis',
    srcDir: './pages',
    outDir: './dist',
    cacheDir: './cache',
    cleanUrls: false,
    themeConfig: {
      search: { provider: 'local' },
      outline: [2, 3],
      sidebar: [
        {
          text: 'Guide',
          items: [
            { text: 'Overview', link: '/readme' },
            ...pagesOf('.'),
            { text: 'Contributing', link: '/contributing' },
            { text: 'Changelog', link: '/changelog' },
          ],
        },
        ...Object.entries(NAMES)
          .filter(([folder]) => readdirSync(DOCS, { recursive: true }).includes(folder))
          .map(([folder, text]) => ({ text, collapsed: folder === 'adr', items: pagesOf(folder) })),
      ],
    },
  }),
);
