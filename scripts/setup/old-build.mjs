import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './run.mjs';

const MODULES = join(ROOT, 'node_modules');
/** The packages of this repository: an earlier commit uses its own. */
const OWN = '@pumphouse';

/**
 * Builds the server and the client of an earlier commit, with the dependencies of this one.
 *
 * @param {string} commit
 * @returns its folder, and what removes it
 */
export function oldBuild(commit) {
  const dir = mkdtempSync(join(tmpdir(), 'pumphouse-old-'));
  const remove = () => rmSync(dir, { recursive: true, force: true });
  try {
    const archive = execFileSync('git', ['archive', commit], { cwd: ROOT, maxBuffer: 2 ** 28 });
    execFileSync('tar', ['-x', '-C', dir], { input: archive });
    linkModules(dir);
    const bin = (name, ...args) =>
      execFileSync(join(MODULES, '.bin', name), args, { cwd: dir, stdio: 'inherit' });
    bin('nest', 'build');
    if (ownPackages(dir).includes('client')) bin('tsc', '-p', 'packages/client/tsconfig.json');
    return { dir, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

function linkModules(dir) {
  mkdirSync(join(dir, 'node_modules', OWN), { recursive: true });
  for (const name of readdirSync(MODULES)) {
    if (name !== OWN) symlinkSync(join(MODULES, name), join(dir, 'node_modules', name));
  }
  for (const name of ownPackages(dir)) {
    symlinkSync(join(dir, 'packages', name), join(dir, 'node_modules', OWN, name));
  }
}

function ownPackages(dir) {
  return readdirSync(dir).includes('packages') ? readdirSync(join(dir, 'packages')) : [];
}
