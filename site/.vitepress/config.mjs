import { defineConfig } from 'vitepress';
import { withMermaid } from 'vitepress-plugin-mermaid';
import { sidebar, writePages } from './pages.mjs';

writePages();

/** The documents with a side bar and a search that runs in the browser. Nothing is loaded from elsewhere. */
// A dead link fails the build.
export default withMermaid(
  defineConfig({
    title: 'Pumphouse',
    description: 'One job queue for services in several languages, over HTTP, with its jobs in Redis',
    srcDir: './pages',
    outDir: './dist',
    cacheDir: './cache',
    cleanUrls: false,
    head: [['style', {}, '.dark .only-light, html:not(.dark) .only-dark { display: none }']],
    markdown: { languageAlias: { mjs: 'js' } },
    themeConfig: {
      search: { provider: 'local' },
      outline: [2, 3],
      nav: [
        { text: 'Tutorial', link: '/tutorial' },
        { text: 'How-to', link: '/overview#how-to-guides' },
        { text: 'Reference', link: '/overview#reference' },
        { text: 'Changelog', link: '/changelog' },
      ],
      sidebar: sidebar(),
    },
  }),
);
