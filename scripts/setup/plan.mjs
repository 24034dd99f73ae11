/** The oldest Redis that has every command we send. Every Valkey is newer. */
export const OLDEST_REDIS = [6, 2];

const SETTING = 'pools.default.url (or PUMPHOUSE_POOLS__DEFAULT__URL=redis://host:port)';
const POLICY = '/usr/sbin/policy-rc.d';

/**
 * One command of a plan.
 * @typedef {object} Step
 * @property {string[]} argv
 * @property {string[]} [otherwise] what to run if `argv` fails
 * @property {boolean} [always] run it even if an earlier step failed: it takes something back
 * @property {boolean} [mayFail] the plan goes on if it fails
 */

/**
 * What there is on a machine (see machine.mjs).
 * @typedef {object} Facts
 * @property {string} platform as `process.platform`
 * @property {Record<string, string>} osRelease the fields of /etc/os-release; empty where there is none
 * @property {number} uid
 * @property {{ servers: { program: string, version: number[] }[], sudo: 'none' | 'password' | 'free', policy: boolean, packaged: boolean }} have
 *   the servers on the PATH; whether there is a sudo, and whether it asks for a password; whether Debian's policy-rc.d exists; whether the package is
 *   installed already, so that its service is not ours to stop
 * @property {string[]} managers the package managers on the PATH
 */

/**
 * How Redis is installed on each system. `tried` says whether we ran it there ourselves: only Debian (12) so far; the
 * others are written by their manuals.
 */
const RECIPES = [
  { system: 'Debian', ids: ['debian'], manager: 'apt-get', root: true, tried: true, steps: debian },
  { system: 'Ubuntu', ids: ['ubuntu'], manager: 'apt-get', root: true, tried: false, steps: debian },
  { system: 'Alpine', ids: ['alpine'], manager: 'apk', root: true, tried: false, steps: alpine },
  { system: 'Fedora', ids: ['fedora', 'rhel'], manager: 'dnf', root: true, tried: false, steps: fedora },
  { system: 'macOS', ids: ['darwin'], manager: 'brew', root: false, tried: false, steps: macos },
];

/**
 * What to run so that a Redis of at least 6.2 is on the PATH. Decides only; runs nothing and reads nothing.
 *
 * @param {Facts} facts
 * @returns {{ commands: Step[], reason: string, tried: boolean, unpack?: { why: string, byHand: string } }} no commands if none are needed,
 *   or none can be run here; `reason` says which, for a person. With `unpack` the package can be used without being installed.
 */
export function planInstall({ platform, osRelease, uid, have, managers }) {
  const usable = have.servers.find(({ version }) => isUsable(version));
  if (usable) return none(`${usable.program} ${usable.version.join('.')} is there`);
  const recipe = recipeFor(platform, osRelease);
  const missing = describeMissing(have.servers);
  if (!recipe) return none(`${missing}; install redis-server or valkey-server, or set ${SETTING}`);

  const steps = recipe.steps(have);
  const byHand = `run \`${visible(steps)}\` as ${recipe.root ? 'root' : 'your own user'}, or set ${SETTING}`;
  if (!managers.includes(recipe.manager))
    return none(`${missing}, and no ${recipe.manager} to install one; set ${SETTING}`);
  if (!recipe.root && uid === 0)
    return none(`${missing}, and ${recipe.manager} refuses to run as root; ${byHand}`);
  if (recipe.root && uid !== 0 && have.sudo !== 'free') {
    const why = have.sudo === 'none' ? 'there is no sudo here' : 'sudo asks for a password here';
    const needs = `${missing}, and installing one needs root (${why})`;
    const unpack = recipe.manager === 'apt-get' ? { unpack: { why: needs, byHand } } : {};
    return { ...none(`${needs}; ${byHand}`), ...unpack };
  }
  const prefix = recipe.root && uid !== 0 ? ['sudo', '-n'] : [];
  return {
    commands: steps.map((step) => prefixed(step, prefix)),
    reason: `${missing}; installing one with ${recipe.manager}${recipe.tried ? '' : ` (not tried on ${recipe.system} by us)`}`,
    tried: recipe.tried,
  };
}

/** @param {number[]} version major and minor */
export function isUsable([major, minor]) {
  const [oldestMajor, oldestMinor] = OLDEST_REDIS;
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}

/**
 * Debian starts a service as soon as its package is installed, and at each boot from then on. policy-rc.d forbids the
 * first, for the time of the installation; the second is switched off after it. Neither touches a service that was
 * there before.
 */
function debian({ policy, packaged }) {
  return debianSteps(['redis-server'], packaged ? [] : ['redis-server'], policy);
}

/**
 * @param {string[]} packages what to install
 * @param {string[]} services those of its services that were not there before
 * @param {boolean} policy whether there is a policy-rc.d already
 */
export function debianSteps(packages, services, policy) {
  return [
    { argv: ['apt-get', 'update'], mayFail: true },
    ...(policy
      ? []
      : [{ argv: ['sh', '-c', `printf '#!/bin/sh\\nexit 101\\n' > ${POLICY} && chmod 755 ${POLICY}`] }]),
    {
      argv: ['env', 'DEBIAN_FRONTEND=noninteractive'].concat([
        'apt-get',
        'install',
        '-y',
        '--no-install-recommends',
        ...packages,
      ]),
    },
    ...(policy ? [] : [{ argv: ['rm', '-f', POLICY], always: true }]),
    ...services.flatMap((service) => [
      { argv: ['service', service, 'stop'], always: true, mayFail: true },
      { argv: ['update-rc.d', service, 'disable'], always: true, mayFail: true },
    ]),
  ];
}

/** apk starts no service. Newer releases have valkey in the place of redis. */
function alpine() {
  return [{ argv: ['apk', 'add', '--no-cache', 'redis'], otherwise: ['apk', 'add', '--no-cache', 'valkey'] }];
}

/** Fedora's presets leave a new service off. Newer releases have valkey in the place of redis. */
function fedora() {
  return [{ argv: ['dnf', 'install', '-y', 'valkey'], otherwise: ['dnf', 'install', '-y', 'redis'] }];
}

/** brew starts no service unless asked to. */
function macos() {
  return [{ argv: ['brew', 'install', 'redis'], otherwise: ['brew', 'install', 'valkey'] }];
}

function recipeFor(platform, osRelease) {
  if (platform === 'darwin') return RECIPES.find(({ ids }) => ids.includes('darwin'));
  if (platform !== 'linux') return undefined;
  const names = [osRelease.ID, ...(osRelease.ID_LIKE ?? '').split(' ')].filter(Boolean);
  for (const name of names) {
    const recipe = RECIPES.find(({ ids }) => ids.includes(name));
    // A system that only says it is like another one is never one that we tried.
    if (recipe) return name === osRelease.ID ? recipe : { ...recipe, system: osRelease.ID, tried: false };
  }
  return undefined;
}

function describeMissing(servers) {
  const wanted = `redis-server ${OLDEST_REDIS.join('.')} or valkey-server`;
  if (servers.length === 0) return `no ${wanted} or later on the PATH`;
  return `${servers.map(({ program, version }) => `${program} ${version.join('.')}`).join(', ')} is too old: ${wanted} or later is needed`;
}

/** The steps that install, as a person would type them. A new Debian has no lists of packages before its first update. */
function visible(steps) {
  return steps
    .filter(({ argv }) => ['update', 'install', 'add'].some((word) => argv.includes(word)))
    .map(({ argv }) => argv.filter((word) => word !== 'env' && !word.includes('=')).join(' '))
    .join(' && ');
}

function prefixed(step, prefix) {
  const argv = [...prefix, ...step.argv];
  return step.otherwise ? { ...step, argv, otherwise: [...prefix, ...step.otherwise] } : { ...step, argv };
}

function none(reason) {
  return { commands: [], reason, tried: true };
}
