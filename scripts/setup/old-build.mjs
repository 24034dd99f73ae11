import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ROOT } from './run.mjs';

const MODULES = join(ROOT, 'node_modules');
/** The packages of this repository: an earlier commit uses its own. */
const OWN = '@pumphouse';

/**
 * Builds the server and the client of an earlier commit, with the dependencies of this one where both have them.
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
    addMissing(dir);
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

/** Installs what that commit depends on and this one does not. */
function addMissing(dir) {
  const { dependencies } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'));
  const missing = Object.entries(dependencies).filter(
    ([name]) => !existsSync(join(dir, 'node_modules', name)),
  );
  if (missing.length === 0) return;
  const prefix = join(dir, 'missing');
  const names = missing.map(([name, version]) => `${name}@${version}`);
  execFileSync('npm', ['install', '--prefix', prefix, '--no-audit', '--no-fund', ...names], {
    stdio: 'inherit',
  });
  for (const [name] of missing) {
    mkdirSync(dirname(join(dir, 'node_modules', name)), { recursive: true });
    symlinkSync(join(prefix, 'node_modules', name), join(dir, 'node_modules', name));
  }
}

function ownPackages(dir) {
  return readdirSync(dir).includes('packages') ? readdirSync(join(dir, 'packages')) : [];
}
