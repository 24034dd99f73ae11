// Writes docs/reference from the build: `npm run build && npm run docs:reference`. test/reference.spec.ts compares.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import 'reflect-metadata';
import { referencePages, SOURCES } from './pages.mjs';

const ROOT = join(import.meta.dirname, '..', '..');
const FOLDER = join(ROOT, 'docs', 'reference');

const modules = {};
for (const [name, path] of Object.entries(SOURCES)) {
  modules[name] = await import(new URL(`../../dist/${path}`, import.meta.url).href);
}
const document = JSON.parse(readFileSync(join(ROOT, 'dist', 'openapi', 'document.json'), 'utf8'));
rmSync(join(FOLDER, 'api'), { recursive: true, force: true });
for (const [path, text] of referencePages(modules, document)) {
  const file = join(FOLDER, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
