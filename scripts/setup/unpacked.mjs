import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { readOsRelease } from './machine.mjs';
import { log, SetupError } from './run.mjs';
import { foreignWriterIn, foreignWriterOf, staysIn } from './writers.mjs';

/**
 * Programs of Debian's packages for a user who may not install them. apt fetches and verifies them, with lists and settings of its own;
 * they are unpacked into a folder of the repository, and run from there.
 *
 * @typedef {object} Unpacking
 * @property {string} name of its folder
 * @property {(candidate: (name: string) => string | null) => string[]} choose which packages to take, by the versions that apt offers.
 *   What they need and the system does not have comes along.
 * @property {Record<string, string>} programs those of the packages that are run, each with the option that makes it print its version
 * @property {string} [sources] where apt looks, in the place of the sources of the system
 */

/** No command of apt takes this long, unless the network hangs, in ms. */
const COMMAND_MS = 15 * 60_000;
/** A folder that is this old is no longer being filled, in ms. */
const LEFT_MS = 4 * COMMAND_MS;
/** The prefix of a folder that is being filled: `.new-<process>`. */
const NEW = '.new-';
/** Whatever the settings of the system are: apt takes only what its keys have signed. */
const VERIFIED = {
  'APT::Get::AllowUnauthenticated': 'false',
  'Acquire::AllowInsecureRepositories': 'false',
  'Acquire::AllowWeakRepositories': 'false',
  'Acquire::AllowDowngradeToInsecureRepositories': 'false',
};
/** What no program here needs. */
const UNUSED = ['usr/share/doc', 'usr/share/man', 'usr/share/locale', 'usr/share/lintian', 'etc', 'var'];

/**
 * The folder for the PATH with programs that an earlier start has unpacked; null if there are none that run. Needs no apt and no network.
 *
 * @param {Unpacking} what
 * @param {import('./machine.mjs').Machine} machine
 * @throws {SetupError} another user can change them; says how to mend that
 */
export function findUnpacked(what, machine) {
  const folder = folderOf(what, machine);
  if (!existsSync(folder)) return null;
  // From here on without symbolic links: what is checked is what runs.
  const real = realpathSync(folder);
  refuseOthers(real, machine);
  const reason = foreignWriterIn(real, machine.uid);
  if (reason !== null) throw refusal(real, reason);
  return runs(real, what, machine) ? join(real, 'bin') : null;
}

/**
 * Fetches and unpacks the packages. It appears at its place in one step, when it is whole and runs: nothing else is ever run.
 *
 * @param {Unpacking} what
 * @param {import('./machine.mjs').Machine} machine
 * @returns the folder for the PATH
 * @throws {SetupError} why not, in one line
 */
export function unpack(what, machine) {
  const { store } = machine;
  const folder = folderOf(what, machine);
  const work = join(store, `${NEW}${process.pid}`);
  try {
    mkdirSync(store, { recursive: true, mode: 0o700 });
    refuseOthers(realpathSync(store), machine);
    removeLeftovers(store);
    const title = fetch(what, work, machine);
    if (!runs(join(work, 'tree'), what, machine)) throw new SetupError('they do not run here');
    takePlace(join(work, 'tree'), folder, work, what, machine);
    log(`unpacked ${title} into ${store}`);
    return join(realpathSync(folder), 'bin');
  } catch (error) {
    if (error instanceof SetupError) throw error;
    throw new SetupError(error.message, { cause: error });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Puts a folder first on the PATH of all programs that are started from here on. */
export function addToPath(bin, { env }) {
  env.PATH = [bin, env.PATH].filter(Boolean).join(delimiter);
}

function folderOf({ name }, machine) {
  const { ID = 'linux', VERSION_ID = 'unstable' } = readOsRelease(machine);
  return join(machine.store, `${name}-${ID}-${VERSION_ID}-${process.arch}`);
}

function refuseOthers(folder, { uid }) {
  const reason = foreignWriterOf(folder, uid);
  if (reason !== null) throw refusal(folder, reason);
}

function refusal(folder, reason) {
  return new SetupError(`nothing in ${folder} is run: ${reason}`);
}

/** Removes what starts have left that were killed. */
function removeLeftovers(store) {
  for (const name of readdirSync(store).filter((entry) => entry.startsWith(NEW))) {
    const folder = join(store, name);
    const { mtimeMs } = lstatSync(folder);
    if (!isRunning(Number(name.slice(NEW.length))) || Date.now() - mtimeMs > LEFT_MS)
      rmSync(folder, { recursive: true, force: true });
  }
}

function isRunning(pid) {
  try {
    return pid !== process.pid && process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/**
 * Fills `work/tree`: `root` has the files of the packages, `bin` a script for each program.
 *
 * @returns what it has fetched and from where, for people
 */
function fetch({ choose, programs, sources }, work, machine) {
  const root = join(work, 'tree', 'root');
  for (const folder of ['state/lists/partial', 'cache/archives/partial', 'tree/bin', 'tree/root'])
    mkdirSync(join(work, folder), { recursive: true, mode: 0o700 });
  const apt = new Apt(work, sources, machine);
  const update = apt.run('apt-get', 'update');
  const packages = chosen(choose, apt, update.failed);
  const install = ['install', '--yes', '--no-install-recommends', '--no-remove', ...packages];
  const plan = apt.run('apt-get', '--print-uris', ...install);
  const fetched = plan.failed ?? apt.run('apt-get', '--download-only', ...install).failed;
  // An index that cannot be read is only a warning of `update`.
  if (fetched !== undefined)
    throw new SetupError(plan.failed === undefined ? fetched : (update.failed ?? fetched));
  const archives = join(work, 'cache', 'archives');
  const files = readdirSync(archives).filter((name) => name.endsWith('.deb'));
  if (files.length === 0)
    throw new SetupError(`apt has installed ${packages.join(', ')} already, and it does not run`);
  for (const file of files) {
    const { failed } = apt.run('dpkg-deb', '--extract', join(archives, file), root);
    if (failed !== undefined) throw new SetupError(failed);
  }
  for (const name of UNUSED) rmSync(join(root, name), { recursive: true, force: true });
  closeToOthers(root, root);
  for (const program of Object.keys(programs)) writeStarter(program, join(work, 'tree'));
  const bytes = files.reduce((sum, file) => sum + statSync(join(archives, file)).size, 0);
  const hosts = [...plan.printed.matchAll(/^'([a-z+]+:\/*[^/']*)/gm)].map(([, host]) => host);
  return `${titleOf(packages, files)} (${(bytes / 1e6).toFixed(1)} MB) from ${[...new Set(hosts)].join(', ')}`;
}

/** @param updateFailed why the lists are not whole: if nothing is known of any package, that is the reason */
function chosen(choose, apt, updateFailed) {
  let isKnown = false;
  try {
    return choose((name) => {
      const version = apt.candidate(name);
      isKnown ||= version !== null;
      return version;
    });
  } catch (error) {
    throw isKnown || updateFailed === undefined ? error : new SetupError(updateFailed, { cause: error });
  }
}

function titleOf(packages, files) {
  const named = packages.map((name) => {
    const file = files.find((one) => one.startsWith(`${name}_`));
    return file === undefined ? name : `${name} ${decodeURIComponent(file.split('_')[1])}`;
  });
  const others = files.length - packages.length;
  const more = others === 1 ? '1 more package' : `${others} more packages`;
  return `${named.join(', ')}${others > 0 ? ` and ${more} that the system lacks` : ''}`;
}

/** Commands of apt with lists, a cache and locks of their own; those of the system stay as they are. */
class Apt {
  constructor(work, sources, { root, env }) {
    const hooks = join(work, 'no-hooks.conf');
    // What an administrator runs beside apt is for the system, and may need root.
    writeFileSync(hooks, ['APT::Update', 'DPkg', 'RPM'].map((name) => `#clear ${name};\n`).join(''));
    const list = join(work, 'sources.list');
    if (sources !== undefined) writeFileSync(list, sources);
    const settings = {
      'Dir::State': join(work, 'state'),
      'Dir::State::status': join(root, 'var/lib/dpkg/status'),
      'Dir::Cache': join(work, 'cache'),
      'Dir::Cache::pkgcache': '',
      'Dir::Cache::srcpkgcache': '',
      'Dir::Log': work,
      ...(root === '/' ? {} : { 'Dir::Etc': join(root, 'etc/apt') }),
      ...(sources === undefined
        ? {}
        : { 'Dir::Etc::SourceList': list, 'Dir::Etc::SourceParts': '/dev/null' }),
      'Debug::NoLocking': 'true',
      'APT::Sandbox::User': '',
      // guard: unpacked-is-verified
      ...VERIFIED,
      'Acquire::Languages': 'none',
      'Acquire::GzipIndexes': 'true',
      'Acquire::PDiffs': 'false',
      'Acquire::Retries': '2',
      'Acquire::http::Timeout': '30',
      'Acquire::https::Timeout': '30',
    };
    this.options = [
      ...['-c', hooks, '-qq'],
      ...Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]),
    ];
    this.env = { ...env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' };
  }

  /** The version that apt would install; null if it knows no such package. */
  candidate(name) {
    const { printed } = this.run('apt-cache', 'policy', name);
    return /^\s*Candidate: (?!\(none\))(.+)$/m.exec(printed)?.[1] ?? null;
  }

  /** @returns what the command printed; if it has failed, or warned of an error, `failed` is why, in one line */
  run(program, ...args) {
    const options = program === 'dpkg-deb' ? [] : this.options;
    const { status, signal, error, stdout, stderr } = spawnSync(program, [...options, ...args], {
      ...{ env: this.env, encoding: 'utf8', timeout: COMMAND_MS, maxBuffer: 1e9 },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const lines = (stderr ?? '').split('\n').filter((line) => /^(E|Err|W|dpkg-deb: error):/.test(line));
    const reason = lines.find((line) => !line.startsWith('W:')) ?? lines[0] ?? error?.message ?? signal;
    const isWarned = lines.some((line) =>
      /^W:.*(Failed to fetch|not signed|no longer signed|couldn't be verified)/.test(line),
    );
    const hasFailed = status !== 0 || isWarned;
    return {
      printed: stdout ?? '',
      failed: hasFailed ? `${program}: ${reason ?? `exit code ${status}`}` : undefined,
    };
  }
}

/** Takes write permission from all others, and removes links that lead elsewhere. */
function closeToOthers(folder, top) {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) closeToOthers(path, top);
    else if (entry.isFile()) chmodSync(path, statSync(path).mode & 0o755);
    else if (!entry.isSymbolicLink() || !staysIn(path, realpathSync(top))) rmSync(path);
  }
}

/** A script that runs a program with the libraries that came with it: no other program sees them. */
function writeStarter(program, tree) {
  const place = ['usr/bin', 'usr/sbin', 'bin', 'sbin'].find((dir) =>
    existsSync(join(tree, 'root', dir, program)),
  );
  if (place === undefined) return;
  const libraries = libraryFolders(join(tree, 'root')).map((dir) => `$here/root/${dir}`);
  writeFileSync(
    join(tree, 'bin', program),
    `#!/bin/sh
here=\${0%/bin/*}
export LD_LIBRARY_PATH="${libraries.join(':')}\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$here/root/${place}/${program}" "$@"
`,
    { mode: 0o755 },
  );
}

function libraryFolders(root) {
  return ['usr/lib', 'lib'].flatMap((dir) => {
    if (!existsSync(join(root, dir))) return [];
    const all = readdirSync(join(root, dir), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return [dir, ...all.filter(({ name }) => /-linux-gnu/.test(name)).map(({ name }) => join(dir, name))];
  });
}

/** Whether it has programs, and each of them prints its version. */
function runs(tree, { programs }, { env }) {
  const found = Object.entries(programs).filter(([program]) => existsSync(join(tree, 'bin', program)));
  return (
    found.length > 0 &&
    found.every(([program, option]) => {
      const options = { env, timeout: 10_000, encoding: 'utf8' };
      const { status, stdout, stderr } = spawnSync(join(tree, 'bin', program), [option], options);
      // A shell takes an empty file for a program.
      return status === 0 && /\d\.\d/.test(`${stdout}${stderr}`);
    })
  );
}

/** Gives the finished tree its name, in one step. Of two starts at once the first wins; what does not run any more makes room. */
function takePlace(tree, folder, work, what, machine) {
  if (existsSync(folder)) {
    if (findUnpacked(what, machine) !== null) return;
    renameSync(folder, join(work, 'old'));
  }
  try {
    renameSync(tree, folder);
  } catch (error) {
    if (findUnpacked(what, machine) === null) throw error;
  }
}
