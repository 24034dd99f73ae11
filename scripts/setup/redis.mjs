import { existsSync, readFileSync } from 'node:fs';
import { inspectMachine, serversOnPath, thisMachine } from './machine.mjs';
import { isUsable, OLDEST_REDIS, planInstall } from './plan.mjs';
import { run, log, SetupError, shown } from './run.mjs';
import { addToPath, findUnpacked, unpack } from './unpacked.mjs';

const ANOTHER =
  'install redis-server 6.2 or valkey-server, or later, or set PUMPHOUSE_POOLS__DEFAULT__URL=redis://host:port';

/** The system has no package that is new enough: to install it does not help. */
class TooOldError extends SetupError {}

/** @type {import('./unpacked.mjs').Unpacking} */
const UNPACKED = {
  name: 'redis',
  choose: (candidate) => {
    const names = ['redis-server', 'valkey-server'];
    const found = names.map(candidate);
    const usable = names.find((_name, i) => isUsable(numbersOf(found[i])));
    if (usable !== undefined) return [usable];
    const needed = `${OLDEST_REDIS.join('.')} or later is needed`;
    if (found[0] === null) throw new SetupError(`apt offers no redis-server, and ${needed}`);
    throw new TooOldError(`apt offers redis-server ${found[0]}, and ${needed}`);
  },
  programs: Object.fromEntries(
    ['redis-server', 'redis-sentinel', 'redis-cli', 'valkey-server', 'valkey-cli'].map((name) => [
      name,
      '--version',
    ]),
  ),
};

/**
 * Sees to it that a redis-server or valkey-server that is new enough is on the PATH, installing one through the
 * system's package manager if need be. Each command is printed before it runs. Never asks for a password. A user who may
 * not install gets Debian's package in `data/`, and that folder on the PATH of this process.
 *
 * @throws {SetupError} there is none and none can be installed; says what to do
 */
export function ensureRedis(machine = thisMachine()) {
  if (findRedis(machine)) return;
  const { env } = machine;
  const { commands, reason, unpack: unpacked } = planInstall(inspectMachine(machine));
  if (unpacked !== undefined) {
    takeRedis(unpacked, machine);
    return;
  }
  if (commands.length === 0) throw new SetupError(reason);
  if (env.PUMPHOUSE__NO_INSTALL === '1') {
    throw new SetupError(`${reason.split(';')[0]}, and PUMPHOUSE__NO_INSTALL=1 forbids to install one. By hand:\n${listed(commands)}
Or name a Redis that runs: PUMPHOUSE_POOLS__DEFAULT__URL=redis://host:port`);
  }
  log(reason);
  const failed = carryOut(commands, (argv) => run(argv, { env }));
  const found = serversOnPath(machine);
  if (found.some(({ version }) => isUsable(version))) return;
  const why = failed
    ? `\`${failed}\` has failed`
    : `the package manager brought ${found.map(({ program, version }) => `${program} ${version.join('.')}`).join(', ') || 'none'}`;
  throw new SetupError(`${why}; ${ANOTHER}`);
}

/**
 * Whether a Redis that is new enough is on the PATH. One that an earlier start has unpacked is put there.
 *
 * @throws {SetupError} another user could change that one
 */
export function findRedis(machine = thisMachine()) {
  if (serversOnPath(machine).some(({ version }) => isUsable(version))) return true;
  const bin = findUnpacked(UNPACKED, machine);
  if (bin !== null) addToPath(bin, machine);
  return bin !== null;
}

function takeRedis({ why, byHand }, machine) {
  const { env, store } = machine;
  if (env.PUMPHOUSE__NO_INSTALL === '1')
    throw new SetupError(`${why}, and PUMPHOUSE__NO_INSTALL=1 forbids to take one into ${store}; ${byHand}`);
  log(`${why}; taking the package of this system into ${store} instead, without installing it`);
  try {
    addToPath(unpack(UNPACKED, machine), machine);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    if (error instanceof TooOldError) throw new SetupError(`${error.message}; ${ANOTHER}`, { cause: error });
    throw new SetupError(`no Redis could be taken into ${store} (${error.message}); ${byHand}`, {
      cause: error,
    });
  }
}

/** Major and minor of a version of Debian, such as `5:7.0.15-1`; 0 where there is none. */
function numbersOf(version) {
  const [, major = 0, minor = 0] = /^(?:\d+:)?(\d+)\.(\d+)/.exec(version ?? '') ?? [];
  return [Number(major), Number(minor)];
}

/**
 * Runs the steps in order. After a failure only those run that take something back.
 *
 * @returns the command line that failed, or null
 */
export function carryOut(commands, execute) {
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
  log(`$ ${shown(argv)}`);
  return execute(argv);
}

function listed(commands) {
  return commands.map(({ argv }) => `  ${shown(argv)}`).join('\n');
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
