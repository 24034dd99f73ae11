import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { markersOf } from './markers.mjs';

const FOLDERS = ['src', 'lua', 'packages', 'scripts'];
const CODE = /(?<!\.spec)\.(?:ts|mjs|lua|py|go)$/u;
const PASSED_OVER = new Set(['node_modules', 'dist', 'mutants', 'test']);
/** The build copies it. */
const COPY = 'packages/engine/lua';

/**
 * Where the markers of guards stand.
 *
 * @param {string} root of the repository
 * @returns {Map<string, string[]>} id → files, relative to the root; more than one file, or a file twice, is a mistake
 */
export function markedFiles(root) {
  const places = new Map();
  for (const file of FOLDERS.flatMap((folder) => codeFiles(root, folder)))
    for (const { id } of markersOf(readFileSync(join(root, file), 'utf8')))
      places.set(id, [...(places.get(id) ?? []), file]);
  return places;
}

function codeFiles(root, folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return PASSED_OVER.has(entry.name) || path === COPY ? [] : codeFiles(root, path);
    return entry.isFile() && CODE.test(entry.name) ? [path] : [];
  });
}
