import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readOsRelease, serversOnPath } from './machine.mjs';
import { onPath, ROOT, run, log, SetupError } from './run.mjs';

/** The first with WAITAOF; Valkey began after it. */
const NEEDED = [7, 2];
const FOLDER = join(ROOT, 'node_modules', '.cache', 'pumphouse', 'valkey');
const PROGRAM = join(FOLDER, 'root', 'usr', 'bin', 'valkey-server');
/** The second has the program, the first a name for it. */
const PACKAGES = ['valkey-server', 'valkey-tools'];
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';

/**
 * A Redis or Valkey that can be asked to wait for its disk: the one on the PATH, if it can; else the Valkey of Debian's backports, which
 * is unpacked beside the dependencies and not installed.
 *
 * @returns {string} the program
 * @throws {SetupError} there is none
 */
export function redisWithWaitAof() {
  const able = serversOnPath().find(
    ({ version: [major, minor] }) => major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1]),
  );
  if (able) return able.program;
  if (!existsSync(PROGRAM)) unpackValkey();
  return PROGRAM;
}

/** With its own lists of packages: those of the system stay as they are, and root is not needed. */
function unpackValkey() {
  const { VERSION_CODENAME: codename } = readOsRelease();
  if (codename === undefined || onPath('apt-get') === null || !existsSync(KEYRING))
    throw new SetupError(
      'this needs a Redis 7.2 or a Valkey on the PATH, and only on Debian it can be fetched',
    );
  rmSync(FOLDER, { recursive: true, force: true });
  for (const name of ['lists/partial', 'cache/archives/partial'])
    mkdirSync(join(FOLDER, name), { recursive: true });
  const sources = join(FOLDER, 'sources.list');
  writeFileSync(
    sources,
    `deb [signed-by=${KEYRING}] http://deb.debian.org/debian ${codename}-backports main\n`,
  );
  const settings = Object.entries({
    'Dir::Etc::SourceList': sources,
    'Dir::Etc::SourceParts': '/dev/null',
    'Dir::State::Lists': join(FOLDER, 'lists'),
    'Dir::Cache': join(FOLDER, 'cache'),
    'APT::Sandbox::User': '',
  }).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  log(`fetching the Valkey of ${codename}-backports for these tests`);
  const isThere =
    run(['apt-get', ...settings, '-qq', 'update']) &&
    run(['apt-get', ...settings, '-qq', 'download', ...PACKAGES], { cwd: FOLDER }) &&
    packagesIn(FOLDER).every((file) => run(['dpkg-deb', '-x', file, join(FOLDER, 'root')])) &&
    run([PROGRAM, '--version']);
  if (!isThere) throw new SetupError(`Valkey could not be fetched from ${codename}-backports`);
}

function packagesIn(folder) {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.deb'))
    .map((name) => join(folder, name));
}
