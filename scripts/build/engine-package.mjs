// Assembles packages/engine from the build: the compiled files that its two exports reach, their types, and the Lua
// scripts. `npm run build` runs it. There is no second copy of the engine's sources.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BUILD = join(ROOT, 'dist');
const PACKAGE = join(ROOT, 'packages', 'engine');
const ENTRIES = ['engine/index', 'worker/index'];
/** The package has no source maps: they contain the sources, and would double its size. */
const SOURCE_MAP = /^\/\/# sourceMappingURL=.*$/m;

const { dependencies } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'));
const files = new Map();
const undeclared = new Set();
for (const entry of ENTRIES) for (const kind of ['.js', '.d.ts']) collect(join(BUILD, entry + kind));
if (undeclared.size > 0) {
  throw new Error(`packages/engine/package.json does not declare: ${[...undeclared].sort().join(', ')}`);
}
for (const folder of ['dist', 'lua']) rmSync(join(PACKAGE, folder), { recursive: true, force: true });
for (const [file, text] of files) {
  const copy = join(PACKAGE, 'dist', relative(BUILD, file));
  mkdirSync(dirname(copy), { recursive: true });
  writeFileSync(copy, text.replace(SOURCE_MAP, ''));
}
cpSync(join(ROOT, 'lua'), join(PACKAGE, 'lua'), {
  recursive: true,
  filter: (path) => !path.endsWith('.luacheckrc'),
});

/** Adds a file and, recursively, what it imports. */
function collect(file) {
  if (files.has(file)) return;
  const text = readFileSync(file, 'utf8');
  files.set(file, text);
  const extension = file.endsWith('.d.ts') ? '.d.ts' : '.js';
  for (const { fileName } of ts.preProcessFile(text, true, true).importedFiles) {
    const path = pathOf(fileName, file);
    if (path !== null) collect(path + extension);
    else if (!fileName.startsWith('node:') && !(packageOf(fileName) in dependencies))
      undeclared.add(fileName);
  }
}

/**
 * The path that an import names, without its extension; null for a package. `#src/` is dist here and in the package, as `imports` of
 * package.json says.
 */
function pathOf(name, importer) {
  if (name.startsWith('#src/')) return join(BUILD, name.slice('#src/'.length));
  return name.startsWith('.') ? join(dirname(importer), name).replace(/\.js$/, '') : null;
}

/** `a` of `a/b`, `@a/b` of `@a/b/c`. */
function packageOf(name) {
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');
}
