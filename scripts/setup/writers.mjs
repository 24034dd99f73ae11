import { lstatSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { ROOT, shown } from './run.mjs';

/** Write permission of the group and of all others. */
const OTHERS = 0o022;
/** In such a folder, as /tmp is, users cannot replace the files of others. */
const STICKY = 0o1000;

/**
 * Why a user other than `uid` and root could replace a folder, with the remedy; null if none can. Looks at it and at the folders above,
 * except those of this repository: who can write there can change this program.
 *
 * @param {string} folder without symbolic links, as `realpathSync` returns it
 * @param {number} uid
 */
export function foreignWriterOf(folder, uid) {
  const trusted = new Set(pathsTo(realpathSync(ROOT)));
  for (const path of pathsTo(folder).filter((one) => !trusted.has(one))) {
    const reason = writerOf(path, uid, path !== folder);
    if (reason !== null) return reason;
  }
  return null;
}

/** The same for all that is in a folder. */
export function foreignWriterIn(folder, uid, top = folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink()) {
      if (/* guard: unpacked-links-checked */ !staysIn(path, top))
        return `${path} leads out of it: ${shown(['rm', path])}`;
      continue;
    }
    const reason = writerOf(path, uid) ?? (entry.isDirectory() ? foreignWriterIn(path, uid, top) : null);
    if (reason !== null) return reason;
  }
  return null;
}

function writerOf(path, uid, isAbove = false) {
  const { uid: owner, mode } = lstatSync(path);
  if (/* guard: unpacked-owner-checked */ ![uid, 0].includes(owner))
    return `${path} belongs to another user (${owner}): remove it, or give it to yourself`;
  const isShielded = isAbove && (mode & STICKY) !== 0;
  if (/* guard: unpacked-mode-checked */ (mode & OTHERS) !== 0 && !isShielded)
    return `other users can write to ${path}: ${shown(['chmod', 'go-w', path])}`;
  return null;
}

/** Whether a symbolic link leads to something in `top`. */
export function staysIn(link, top) {
  try {
    statSync(link);
    return realpathSync(link).startsWith(top + sep);
  } catch {
    return false; // to nothing
  }
}

/** The folders from `/` down to this one. */
function pathsTo(folder) {
  const above = dirname(folder);
  return above === folder ? [folder] : [...pathsTo(above), folder];
}
