import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { isUsable, planInstall } from './plan.mjs';
import { onPath, run, say, SetupError, shown } from './run.mjs';

const PROGRAMS = ['redis-server', 'valkey-server'];
const MANAGERS = ['apt-get', 'apk', 'dnf', 'brew'];

/**
 * Sees to it that a redis-server or valkey-server that is new enough is on the PATH, installing one through the
 * system's package manager if need be (or whichever `osRelease` names, for tests). Each command is printed before it runs. Never asks for a password.
 *
 * @throws {SetupError} there is none and none can be installed; says what to do
 */
export function ensureRedis({ osRelease = readOsRelease() } = {}) {
  const servers = serversOnPath();
  if (servers.some(({ version }) => isUsable(version))) return;
  const { commands, reason } = planInstall(inspectMachine(servers, osRelease));
  if (commands.length === 0) throw new SetupError(reason);
  if (process.env.PUMPHOUSE__NO_INSTALL === '1') {
    throw new SetupError(`${reason.split(';')[0]}, and PUMPHOUSE__NO_INSTALL=1 forbids to install one. By hand:\n${listed(commands)}
Or name a Redis that runs: PUMPHOUSE_POOLS__DEFAULT__URL=redis://host:port`);
  }
  say(reason);
  const failed = carryOut(commands);
  const found = serversOnPath();
  if (found.some(({ version }) => isUsable(version))) return;
  const why = failed
    ? `\`${failed}\` has failed`
    : `the package manager brought ${found.map(({ program, version }) => `${program} ${version.join('.')}`).join(', ') || 'none'}`;
  throw new SetupError(
    `${why}; install redis-server 6.2 or valkey-server, or later, or set PUMPHOUSE_POOLS__DEFAULT__URL=redis://host:port`,
  );
}

/**
 * Runs the steps in order. After a failure only those run that take something back.
 *
 * @returns the command line that failed, or null
 */
export function carryOut(commands, execute = run) {
  let failed = null;
  // Ctrl-C ends the command that runs; we must live to take our changes to the system back.
  const onSignal = () => (failed ??= 'interrupted');
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, onSignal);
  try {
    for (const { argv, otherwise, always, mayFail } of commands) {
      if (failed && !always) continue;
      const done =
        printedAndRun(argv, execute) || (otherwise !== undefined && printedAndRun(otherwise, execute));
      if (!done && !mayFail) failed ??= shown(otherwise ?? argv);
    }
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, onSignal);
  }
  return failed;
}

function printedAndRun(argv, execute) {
  say(`$ ${shown(argv)}`);
  return execute(argv);
}

function listed(commands) {
  return commands.map(({ argv }) => `  ${shown(argv)}`).join('\n');
}

/** The servers on the PATH with their versions; one that does not run is none. */
export function serversOnPath() {
  return PROGRAMS.flatMap((program) => {
    if (onPath(program) === null) return [];
    const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8', timeout: 5_000 });
    const match = /v=(\d+)\.(\d+)/.exec(stdout ?? '');
    return match ? [{ program, version: [Number(match[1]), Number(match[2])] }] : [];
  });
}

function inspectMachine(servers, osRelease) {
  const uid = process.getuid?.() ?? -1;
  return {
    platform: process.platform,
    osRelease,
    uid,
    managers: MANAGERS.filter((manager) => onPath(manager) !== null),
    have: {
      servers,
      sudo: uid !== 0 && onPath('sudo') !== null && succeeds(['sudo', '-n', 'true']),
      policy: existsSync('/usr/sbin/policy-rc.d'),
      packaged: isPackaged('redis-server'),
    },
  };
}

/** Whether Debian's package is installed (not merely its settings left over). */
function isPackaged(name) {
  if (onPath('dpkg-query') === null) return false;
  const { stdout } = spawnSync('dpkg-query', ['-W', '-f=${Status}', name], { encoding: 'utf8' });
  return stdout.endsWith(' installed');
}

function succeeds(argv) {
  return run(argv, { stdio: 'ignore' });
}

function readOsRelease(path = '/etc/os-release') {
  if (!existsSync(path)) return {};
  return Object.fromEntries(
    [...readFileSync(path, 'utf8').matchAll(/^(\w+)=["']?(.*?)["']?$/gm)].map(([, name, value]) => [
      name,
      value,
    ]),
  );
}

/** Options that only print something. */
const NO_SERVER = ['--check-config', '--print-default-config', '--help', '-h', '--version', '-v', '-V'];

/**
 * Whether the server will bring its own Redis along. A rough reading of the settings: the server reads them properly,
 * and says so itself if it misses a Redis.
 */
export function needsRedis(args, env = process.env) {
  if (args.some((arg) => NO_SERVER.includes(arg))) return false;
  const url = env.PUMPHOUSE_POOLS__DEFAULT__URL;
  if (url) return url === 'embedded';
  const at = args.findIndex((arg) => arg === '-c' || arg === '--config');
  const file = at >= 0 ? args[at + 1] : undefined;
  return file === undefined || !existsSync(file) || defaultPoolIsEmbedded(readFileSync(file, 'utf8'));
}

function defaultPoolIsEmbedded(toml) {
  // Ours is [pools.default]; lmstfy's is [Pool.default], which always names a Redis.
  const section = /^\s*\[\s*(pools?)\.default\s*\]([^[]*)/im.exec(toml);
  if (!section) return true;
  const keys = section[2].replaceAll(/^\s*#.*$/gm, '');
  const url = /^\s*url\s*=\s*["'](.*?)["']/im.exec(keys)?.[1];
  return url === undefined ? !/^\s*(addr|sentinels|cluster)\s*=/im.test(keys) : url === 'embedded';
}
