/**
 * `npm run build`: compiles the sources of the server into dist, those of packages/engine and packages/cli beside them (dist/worker,
 * dist/cli), the console (dist/console/page), and makes the packages @pumphouse/client and @pumphouse/engine.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, run } from './setup/run.mjs';

const DIST = join(ROOT, 'dist');
/** Where the types of the two exports go first: the compiler keeps the folders of their sources. */
const TYPES = join(DIST, 'types');

rmSync(DIST, { recursive: true, force: true });
script('lua-signatures');
program('nest', ['build']);
compile('engine', 'worker');
compile('cli', 'cli');
program('tsc', ['-p', 'packages/client/tsconfig.json']);
program('tsc', ['-p', 'tsconfig.types.json']);
cpSync(join(TYPES, 'src'), DIST, { recursive: true });
cpSync(join(TYPES, 'packages', 'engine', 'src'), join(DIST, 'worker'), { recursive: true });
rmSync(TYPES, { recursive: true });
script('engine-package');
script('docs-page');
script('console');
chmodSync(join(DIST, 'cli', 'pumphouse.js'), 0o755);
const commit = ['describe', '--always', '--dirty', '--abbrev=40', '--exclude=*'];
writeFileSync(join(DIST, 'commit'), spawnSync('git', commit, { cwd: ROOT, encoding: 'utf8' }).stdout ?? '');

/** Compiles the sources of a package into a folder of dist. Nest compiles src/ alone. */
function compile(name, folder) {
  const options = ['--strip-leading-paths', '--config-file', join(ROOT, '.swcrc'), '--quiet'];
  program('swc', ['src', '--out-dir', join(DIST, folder), ...options], join(ROOT, 'packages', name));
}

function script(name) {
  must([process.execPath, join(ROOT, 'scripts', 'build', `${name}.mjs`)], ROOT);
}

function program(name, args, cwd = ROOT) {
  must([join(ROOT, 'node_modules', '.bin', name), ...args], cwd);
}

/** A step that fails has printed why. */
function must(argv, cwd) {
  if (!run(argv, { cwd })) process.exit(1);
}
