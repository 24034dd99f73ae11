import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, run, log, SetupError } from './run.mjs';

const DIST = join(ROOT, 'dist');
/** What dist was built from. By content: times say nothing after a checkout or a copy, and deleted files have none. */
const STAMP = join(DIST, '.built-from');
const SETTINGS = [
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'tsconfig.types.json',
  '.swcrc',
  'nest-cli.json',
  'packages/client/package.json',
  'packages/client/tsconfig.json',
  'packages/engine/package.json',
  'packages/console/package.json',
  'packages/console/index.html',
  'packages/console/vite.config.mjs',
  'scripts/build.mjs',
];

/**
 * Builds dist, if the sources are not those that it was built from.
 *
 * @throws {SetupError} the build fails; dist is gone then, so that nothing old runs in its place
 */
export function ensureBuild() {
  if (!existsSync(join(ROOT, 'src'))) return; // a package: it has dist and no sources
  const from = fingerprint();
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === from) return;
  log('building: npm run build');
  rmSync(DIST, { recursive: true, force: true });
  const bin = join(ROOT, 'node_modules', '.bin');
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH ?? ''}` };
  if (!run(['sh', '-c', buildCommand()], { env }))
    throw new SetupError('the build has failed; its output is above');
  writeFileSync(STAMP, from);
}

/** The script itself: starting npm for it would take as long as the build. */
function buildCommand() {
  return JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).scripts.build;
}

function fingerprint() {
  const hash = createHash('sha256');
  const sources = [
    'src',
    'lua',
    'scripts/build',
    ...['cli', 'client', 'console', 'engine'].map((name) => `packages/${name}/src`),
  ]
    .filter((folder) => existsSync(join(ROOT, folder)))
    .flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.spec.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  for (const file of [...SETTINGS.map((name) => join(ROOT, name)), ...sources]) {
    if (existsSync(file))
      hash
        .update(`${file.slice(ROOT.length)}\0`)
        .update(readFileSync(file))
        .update('\0');
  }
  return hash.digest('hex');
}
