import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { makeRepository, signByAnother } from '../../test/support/apt-repository.mjs';
import { onPath } from './run.mjs';

const isDebian = ['apt-get', 'dpkg-deb'].every((program) => onPath(program) !== null);
const MODULE = pathToFileURL(join(import.meta.dirname, 'redis.mjs')).href;

let dir;
let bin;
let store;
/** What this machine has on its PATH, but no Redis and no sudo. */
let tools;
beforeAll(() => {
  tools = mkdtempSync(join(tmpdir(), 'pumphouse-tools-'));
  for (const folder of ['/usr/sbin', '/usr/bin', '/sbin', '/bin'].filter((one) => existsSync(one))) {
    for (const name of readdirSync(folder)) {
      if (!/^(redis|valkey|sudo)/.test(name) && !existsSync(join(tools, name)))
        symlinkSync(join(folder, name), join(tools, name));
    }
  }
});
afterAll(() => rmSync(tools, { recursive: true }));
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'pumphouse-unpacked-')));
  chmodSync(dir, 0o755);
  store = join(dir, 'data', '.programs');
  bin = join(dir, 'bin');
  mkdirSync(bin);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** A program that takes the place of the machine's; `$real` is that one. */
function replaceProgram(name, script) {
  writeFileSync(join(bin, name), `#!/bin/sh\nreal=${onPath(name)}\n${script}\n`, { mode: 0o755 });
}

/** Two packages as Debian has them: the program is in the second, and the first has a link to it. */
function publish(version = '7.0.15') {
  const repository = join(dir, 'repository');
  rmSync(repository, { recursive: true, force: true });
  mkdirSync(repository);
  const program = `#!/bin/sh\necho "Redis server v=${version} libraries=$LD_LIBRARY_PATH"\n`;
  const { source } = makeRepository(repository, [
    {
      name: 'redis-server',
      version: `5:${version}-1`,
      depends: 'redis-tools',
      files: {},
      links: { 'usr/bin/redis-server': 'redis-check-rdb', 'usr/bin/elsewhere': '/bin/sh' },
    },
    {
      name: 'redis-tools',
      version: `5:${version}-1`,
      files: { 'usr/bin/redis-check-rdb': program, 'usr/lib/any-linux-gnu/libtest.so.1': '' },
    },
  ]);
  for (const folder of ['etc/apt', 'var/lib/dpkg']) mkdirSync(join(dir, folder), { recursive: true });
  writeFileSync(join(dir, 'etc/os-release'), 'ID=debian\nVERSION_ID="12"\n');
  writeFileSync(join(dir, 'etc/apt/sources.list'), source);
  writeFileSync(join(dir, 'var/lib/dpkg/status'), '');
}

const machineOf = (env, uid) => ({
  ...{ platform: 'linux', root: dir, uid, store },
  env: { PATH: `${bin}:${tools}`, ...env },
});
const codeOf = (env, uid = process.getuid?.() || 1_000) => `
  const { ensureRedis } = await import('${MODULE}');
  const machine = ${JSON.stringify(machineOf(env, uid))};
  try {
    ensureRedis(machine);
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
  console.log(machine.env.PATH.split(':')[0]);`;

/** Looks for a Redis as `npm start` does. */
function start(env = {}, uid = undefined) {
  const ended = spawnSync(process.execPath, ['--input-type=module', '-e', codeOf(env, uid)], {
    encoding: 'utf8',
  });
  return { ...ended, folder: ended.stdout.trim(), lines: ended.stderr.trim().split('\n') };
}

const versionOf = (folder) =>
  spawnSync(join(folder, 'redis-server'), ['--version'], { encoding: 'utf8' }).stdout;
const kept = () => (existsSync(store) ? readdirSync(store) : []);

(isDebian ? describe : describe.skip)('a Redis without root', () => {
  beforeEach(() => {
    publish();
  });

  it('is taken from the packages that apt verifies, with what they need, and its libraries are those beside it', () => {
    const { status, folder, lines } = start();
    expect(lines).toEqual([
      expect.stringMatching(
        /needs root \(there is no sudo here\); taking the package .* into .*\/data\/\.programs/,
      ),
      expect.stringMatching(
        /^pumphouse: unpacked redis-server 5:7\.0\.15-1 and 1 more package that the system lacks \(0\.0 MB\) from copy:\/.* into .*\/data\/\.programs$/,
      ),
    ]);
    expect([status, folder.startsWith(store)]).toEqual([0, true]);
    const [, libraries = ''] = /libraries=(.*)/.exec(versionOf(folder)) ?? [];
    expect(libraries.split(':').some((one) => existsSync(join(one, 'libtest.so.1')))).toBe(true);
    expect(libraries).not.toMatch(/^:|::|:$/);
  });

  it('leaves nothing of apt, and no link that leads elsewhere', () => {
    const { folder } = start();
    expect(kept()).toEqual([expect.stringMatching(/^redis-debian-12-/)]);
    const root = join(folder, '..', 'root');
    expect(readdirSync(join(root, 'usr/bin')).sort()).toEqual(['redis-check-rdb', 'redis-server']);
    expect(readdirSync(join(dir, 'var/lib/dpkg'))).toEqual(['status']);
  });

  it('is found again without apt, without the repository, and without a word', () => {
    const first = start();
    rmSync(join(dir, 'repository'), { recursive: true });
    for (const name of ['apt-get', 'apt-cache', 'dpkg-deb']) replaceProgram(name, 'exit 1');
    expect(start({ PUMPHOUSE__NO_INSTALL: '1' })).toMatchObject({
      status: 0,
      folder: first.folder,
      stderr: '',
    });
  });

  it('is not taken with PUMPHOUSE__NO_INSTALL=1, and the message has the command for root', () => {
    const { status, lines } = start({ PUMPHOUSE__NO_INSTALL: '1' });
    expect([status, lines]).toEqual([
      1,
      [
        expect.stringMatching(
          /PUMPHOUSE__NO_INSTALL=1 forbids .*; run `apt-get update && apt-get install.*` as root/,
        ),
      ],
    ]);
    expect(existsSync(store)).toBe(false);
  });

  it.each([
    [
      'the index is signed by another key',
      () => signByAnother(join(dir, 'repository')),
      /apt-get: .*(GPG|not signed|verif)/,
    ],
    [
      'a package was changed after the index was signed',
      () => appendFileSync(join(dir, 'repository', 'redis-tools_7.0.15-1_all.deb'), 'x'),
      /apt-get: .*(Hash Sum mismatch|unexpected size|Failed to fetch)/i,
    ],
    [
      'the settings of apt allow packages without a signature, and there is none',
      () => {
        rmSync(join(dir, 'repository', 'Release.gpg'));
        const allowed = ['Acquire::AllowInsecureRepositories', 'APT::Get::AllowUnauthenticated'];
        const options = allowed.map((name) => `-o ${name}=true`).join(' ');
        replaceProgram('apt-get', `exec $real ${options} "$@"`);
      },
      /apt-get: .*not signed/,
    ],
    [
      'there is no network',
      () => writeFileSync(join(dir, 'etc/apt/sources.list'), 'deb http://127.0.0.1:1/debian ./\n'),
      /apt-get: .*(Could not connect|Unable to connect|Failed to fetch)/,
    ],
    [
      'the sources have no such package',
      () => writeFileSync(join(dir, 'etc/apt/sources.list'), ''),
      /apt offers no redis-server/,
    ],
    [
      'the disk is full',
      () => replaceProgram('dpkg-deb', 'echo "dpkg-deb: error: No space left on device" >&2; exit 2'),
      /No space left on device/,
    ],
    ['it does not run', () => replaceProgram('dpkg-deb', 'exit 0'), /do not run here/],
  ])(
    'is not taken if %s: one line has the reason and the remedy, and nothing is left',
    (_what, prepare, reason) => {
      prepare();
      const { status, lines } = start();
      expect([status, lines.length]).toEqual([1, 2]);
      expect(lines[1]).toMatch(reason);
      expect(lines[1]).toMatch(
        /^no Redis could be taken into .*; run `.*` as root, or set pools\.default\.url/,
      );
      expect(kept()).toEqual([]);
    },
  );

  it('is not taken if the package is too old: the message asks for a newer Redis, and not to install this one', () => {
    publish('6.0.16');
    const { status, lines } = start();
    expect([status, lines[1]]).toEqual([
      1,
      'apt offers redis-server 5:6.0.16-1, and 6.2 or later is needed; install redis-server 6.2 or valkey-server, ' +
        'or later, or set PUMPHOUSE_POOLS__DEFAULT__URL=redis://host:port',
    ]);
    expect(kept()).toEqual([]);
  });

  it('is not run if its start was killed while it was unpacked: the next start takes it again', () => {
    replaceProgram('dpkg-deb', '$real "$@"\nkill -9 $PPID');
    expect(start().signal).toBe('SIGKILL');
    expect(kept()).toEqual([expect.stringMatching(/^\.new-\d+$/)]);
    replaceProgram('dpkg-deb', 'exec $real "$@"');
    const { status, folder } = start();
    expect([status, kept().length]).toEqual([0, 1]);
    expect(versionOf(folder)).toContain('v=7.0.15');
  });

  it('is taken once by two starts at the same time', async () => {
    // Both have looked before one of them is ready.
    replaceProgram(
      'dpkg-deb',
      `touch ${dir}/at-$PPID; until [ $(ls ${dir} | grep -c at-) = 2 ]; do sleep 0.05; done; exec $real "$@"`,
    );
    const starts = [1, 2].map(() => spawn(process.execPath, ['--input-type=module', '-e', codeOf({})]));
    const ends = await Promise.all(starts.map((child) => once(child, 'close')));
    expect(ends.map(([code]) => code)).toEqual([0, 0]);
    expect(kept()).toEqual([expect.stringMatching(/^redis-/)]);
  });

  it('is taken again if it does not run any more', () => {
    const { folder } = start();
    writeFileSync(join(folder, 'redis-server'), '');
    expect(versionOf(start().folder)).toContain('v=7.0.15');
    expect(kept().length).toBe(1);
  });
});

(isDebian ? describe : describe.skip)('an unpacked Redis that others could change', () => {
  let folder;
  const other = 54_321;
  beforeEach(() => {
    publish();
    ({ folder } = start());
  });
  const tree = () => join(folder, '..');

  it.each([
    [
      'all users can write to its program',
      () => chmodSync(join(tree(), 'root/usr/bin/redis-check-rdb'), 0o757),
      /other users can write.*chmod go-w/,
    ],
    [
      'its group can write to a library',
      () => chmodSync(join(tree(), 'root/usr/lib/any-linux-gnu/libtest.so.1'), 0o775),
      /other users can write/,
    ],
    [
      'all users can write to a folder in it',
      () => chmodSync(join(tree(), 'root/usr/lib'), 0o777),
      /other users can write/,
    ],
    [
      'all users can write to a folder above it',
      () => chmodSync(join(dir, 'data'), 0o777),
      /other users can write to .*data: chmod go-w/,
    ],
    [
      'a link in it leads elsewhere',
      () => {
        rmSync(join(tree(), 'root/usr/bin/redis-server'));
        symlinkSync('/bin/true', join(tree(), 'root/usr/bin/redis-server'));
      },
      /leads out of it/,
    ],
    [
      'it is a link to a folder of that kind',
      () => {
        mkdirSync(join(dir, 'open'));
        renameSync(tree(), join(dir, 'open/redis'));
        symlinkSync(join(dir, 'open/redis'), tree());
        chmodSync(join(dir, 'open'), 0o777);
      },
      /other users can write to .*open/,
    ],
  ])('is not run if %s, and the message has the remedy', (_what, change, reason) => {
    change();
    const { status, lines } = start();
    expect([status, lines]).toEqual([1, [expect.stringMatching(reason)]]);
  });

  it('is not run if it belongs to another user, and the message has the remedy', () => {
    // Only root can give a file away; for others it is the reader who is another one.
    const isRoot = process.getuid?.() === 0;
    if (isRoot) chownSync(join(tree(), 'root/usr/bin/redis-check-rdb'), other, other);
    const { status, lines } = start({}, isRoot ? 1_000 : other);
    expect([status, lines]).toEqual([
      1,
      [expect.stringMatching(/belongs to another user \(\d+\): remove it, or give it to yourself/)],
    ]);
  });
});
