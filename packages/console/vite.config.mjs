import { join } from 'node:path';
import { defineConfig } from 'vite';

/** The page runs below any prefix, so its addresses are relative; names have hashes, so files may be cached for ever. */
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  build: {
    outDir: join(import.meta.dirname, '..', '..', 'dist', 'console', 'page'),
    emptyOutDir: true,
    target: 'es2022',
    // The policy of the page allows no data URLs, and no script in the page itself.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  logLevel: 'warn',
});
