import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onPath, ROOT, run } from './run.mjs';

/**
 * The machine that set-up reads and changes. Specs give one of their own, so that their result does not depend on where
 * they run.
 * @typedef {object} Machine
 * @property {string} platform as `process.platform`
 * @property {string} root the folder that stands for `/`: of the system's own files nothing else is read
 * @property {Record<string, string | undefined>} env of every program that is run; PATH is where programs are looked
 * for
 * @property {number} uid -1 where users have no number
 * @property {string} store the folder for programs that are unpacked and not installed; no pool has such a name
 */

/** @returns {Machine} */
export function thisMachine() {
  return {
    ...{ platform: process.platform, root: '/', env: process.env, uid: process.getuid?.() ?? -1 },
    store: join(ROOT, 'data', '.programs'),
  };
}

/** The servers on the PATH with their versions; one that does not run is left out. */
export function serversOnPath({ env } = thisMachine()) {
  return ['redis-server', 'valkey-server'].flatMap((program) => {
    const file = onPath(program, env.PATH);
    if (file === null) return [];
    const { stdout } = spawnSync(file, ['--version'], { encoding: 'utf8', timeout: 5_000, env });
    const match = /v=(\d+)\.(\d+)/.exec(stdout ?? '');
    return match ? [{ program, version: [Number(match[1]), Number(match[2])] }] : [];
  });
}

/** What a plan to install Redis must know of a machine. @returns {import('./plan.mjs').Facts} */
export function inspectMachine(machine = thisMachine()) {
  const { platform, root, env, uid } = machine;
  const has = (program) => onPath(program, env.PATH) !== null;
  return {
    platform,
    osRelease: readOsRelease(machine),
    uid,
    managers: ['apt-get', 'apk', 'dnf', 'brew'].filter(has),
    have: {
      servers: serversOnPath(machine),
      sudo: uid === 0 || !has('sudo') ? 'none' : asksNoPassword(env) ? 'free' : 'password',
      policy: /* guard: setup-keeps-policy */ existsSync(join(root, 'usr/sbin/policy-rc.d')),
      packaged: /* guard: setup-keeps-service */ isPackaged('redis-server', root),
    },
  };
}

/** The fields of /etc/os-release; empty where there is none. @returns {Record<string, string>} */
export function readOsRelease({ root } = thisMachine()) {
  return Object.fromEntries(
    [...textOf(join(root, 'etc/os-release')).matchAll(/^(\w+)=["']?(.*?)["']?$/gm)].map(([, name, value]) => [
      name,
      value,
    ]),
  );
}

function asksNoPassword(env) {
  return run(['sudo', '-n', 'true'], { stdio: 'ignore', env });
}

/** Whether Debian's package is installed (not merely its settings left over). */
function isPackaged(name, root) {
  const entries = textOf(join(root, 'var/lib/dpkg/status')).split('\n\n');
  const own = entries.find((entry) => entry.startsWith(`Package: ${name}\n`));
  return own !== undefined && /^Status: .* installed$/m.test(own);
}

function textOf(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}
