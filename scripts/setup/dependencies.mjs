import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ROOT, run, log, SetupError, shown } from './run.mjs';

const LOCK = join(ROOT, 'package-lock.json');
/** npm writes this last, so a cut-off installation has none. */
const INSTALLED = join(ROOT, 'node_modules', '.package-lock.json');
/** The lock file that node_modules was made from, as a hash: a checkout changes times without changing content. */
const STAMP = join(ROOT, 'node_modules', '.pumphouse-lock');

/**
 * Installs the packages of package-lock.json, if node_modules is not already made from it.
 *
 * @throws {SetupError} npm fails
 */
export function ensureDependencies() {
  if (!existsSync(LOCK)) return; // a package installed by npm: its dependencies are npm's
  if (!isStale()) return;
  // Building takes the development packages, whatever NODE_ENV says.
  // Errors only: some packages of Nest's warn about Node 20, on which they are tested here.
  // Two packages have install scripts, and neither is needed (docs/security.md).
  const options = ['--include=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const argv = [...npm(), 'ci', ...options];
  log(`installing packages: ${shown(argv.map((word, i) => (i < 2 ? basename(word) : word)))}`);
  if (!run(argv)) throw new SetupError('npm ci has failed; its output is above');
  writeFileSync(STAMP, hash());
}

/** The npm that runs us, else the one on the PATH. */
function npm() {
  const cli = process.env.npm_execpath ?? '';
  return basename(cli) === 'npm-cli.js' ? [process.execPath, cli] : ['npm'];
}

function isStale() {
  if (!existsSync(INSTALLED)) return true;
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === hash()) return false;
  if (statSync(INSTALLED).mtimeMs < statSync(LOCK).mtimeMs) return true;
  writeFileSync(STAMP, hash()); // installed by hand
  return false;
}

function hash() {
  return createHash('sha256').update(readFileSync(LOCK)).digest('hex');
}
