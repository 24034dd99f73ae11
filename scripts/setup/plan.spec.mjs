import { planInstall } from './plan.mjs';

const bare = { servers: [], sudo: 'none', policy: false, packaged: false };
const machine = (changes = {}) => ({
  platform: 'linux',
  osRelease: { ID: 'debian', VERSION_ID: '12' },
  uid: 0,
  managers: ['apt-get'],
  ...changes,
  have: { ...bare, ...changes.have },
});
const lines = ({ commands }) => commands.map(({ argv }) => argv.join(' '));

const DEBIAN = [
  'apt-get update',
  "sh -c printf '#!/bin/sh\\nexit 101\\n' > /usr/sbin/policy-rc.d && chmod 755 /usr/sbin/policy-rc.d",
  'env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends redis-server',
  'rm -f /usr/sbin/policy-rc.d',
  'service redis-server stop',
  'update-rc.d redis-server disable',
];

describe('the plan to install Redis', () => {
  it('has no commands if Redis 6.2 or later is installed', () => {
    for (const version of [
      [6, 2],
      [7, 0],
      [8, 1],
    ]) {
      const plan = planInstall(machine({ have: { servers: [{ program: 'redis-server', version }] } }));
      expect(plan).toMatchObject({ commands: [], reason: `redis-server ${version.join('.')} is there` });
    }
  });

  it('has no commands if an old Redis and a new Valkey are installed', () => {
    const servers = [
      { program: 'redis-server', version: [5, 0] },
      { program: 'valkey-server', version: [8, 0] },
    ];
    expect(planInstall(machine({ have: { servers } })).commands).toEqual([]);
  });

  it('installs on Debian, and lets no Redis service start, now or at the next boot', () => {
    const plan = planInstall(machine());
    expect(lines(plan)).toEqual(DEBIAN);
    expect(plan.reason).toBe(
      'no redis-server 6.2 or valkey-server or later on the PATH; installing one with apt-get',
    );
  });

  it('has commands that revert its changes to the system even if the installation fails', () => {
    const back = planInstall(machine()).commands.slice(3);
    expect(back.map(({ always }) => always)).toEqual([true, true, true]);
  });

  it('keeps the policy-rc.d of the machine, and the Redis service of a package that was installed before', () => {
    const owned = lines(planInstall(machine({ have: { policy: true, packaged: true } })));
    expect(owned).toEqual([DEBIAN[0], DEBIAN[2]]);
    const closed = lines(planInstall(machine({ have: { policy: true } })));
    expect(closed).toEqual([DEBIAN[0], DEBIAN[2], DEBIAN[4], DEBIAN[5]]);
  });

  it('has the commands of Debian on Ubuntu, and reports that Ubuntu is untested', () => {
    const plan = planInstall(machine({ osRelease: { ID: 'ubuntu', ID_LIKE: 'debian' } }));
    expect(lines(plan)).toEqual(DEBIAN);
    expect([plan.tried, plan.reason]).toEqual([false, expect.stringContaining('not tried on Ubuntu by us')]);
  });

  it('has the commands of Debian on a system derived from Debian, marked as untested', () => {
    const plan = planInstall(machine({ osRelease: { ID: 'linuxmint', ID_LIKE: 'ubuntu debian' } }));
    expect([lines(plan), plan.tried]).toEqual([DEBIAN, false]);
  });

  it.each([
    ['Alpine', { osRelease: { ID: 'alpine' }, managers: ['apk'] }, 'apk add --no-cache redis', 'valkey'],
    ['Fedora', { osRelease: { ID: 'fedora' }, managers: ['dnf'] }, 'dnf install -y valkey', 'redis'],
    [
      'macOS',
      { platform: 'darwin', osRelease: {}, uid: 501, managers: ['brew'] },
      'brew install redis',
      'valkey',
    ],
  ])(
    'has one command on %s, with a second package name to try, marked as untested',
    (_system, where, command, otherwise) => {
      const plan = planInstall(machine(where));
      expect(lines(plan)).toEqual([command]);
      expect([plan.commands[0].otherwise.at(-1), plan.tried]).toEqual([otherwise, false]);
    },
  );

  it('runs each command with sudo -n for a user whose sudo asks for no password', () => {
    const plan = planInstall(machine({ uid: 1000, have: { sudo: 'free' } }));
    expect(lines(plan)).toEqual(DEBIAN.map((line) => `sudo -n ${line}`));
    const alpine = planInstall(
      machine({ uid: 1000, osRelease: { ID: 'alpine' }, managers: ['apk'], have: { sudo: 'free' } }),
    );
    expect(alpine.commands[0].otherwise.slice(0, 2)).toEqual(['sudo', '-n']);
  });

  it.each([
    [
      'a user without sudo',
      { uid: 1000 },
      /needs root \(there is no sudo here\); run `apt-get update && apt-get install -y .*redis-server` as root/,
    ],
    [
      'a user whose sudo wants a password',
      { uid: 1000, have: { sudo: 'password' } },
      /needs root \(sudo asks for a password here\); run `apt-get update/,
    ],
    ['a machine without its package manager', { managers: [] }, /no apt-get to install one/],
    [
      'root on macOS',
      { platform: 'darwin', managers: ['brew'] },
      /brew refuses to run as root; run `brew install redis` as your own user/,
    ],
    ['an unknown Linux', { osRelease: { ID: 'plan9' } }, /install redis-server or valkey-server/],
    ['a Linux without a name', { osRelease: {} }, /install redis-server or valkey-server/],
    ['Windows', { platform: 'win32', osRelease: {}, uid: -1 }, /install redis-server or valkey-server/],
    [
      'an old Redis where none can be installed',
      { uid: 1000, have: { servers: [{ program: 'redis-server', version: [5, 0] }] } },
      /redis-server 5\.0 is too old/,
    ],
  ])(
    'has no commands for %s, and names the reason and the setting for another Redis',
    (_who, where, reason) => {
      const plan = planInstall(machine(where));
      expect(plan.commands).toEqual([]);
      expect(plan.reason).toMatch(reason);
      expect(plan.reason).toContain('PUMPHOUSE_POOLS__DEFAULT__URL');
    },
  );
});
