import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { tmpdir } from 'node:os';
import { readOsRelease } from './machine.mjs';
import { onPath, ROOT } from './run.mjs';

/** A repository whose server prints the version of its Redis. */
let root;
/** What this machine has on its PATH, but no Redis. */
let tools;
beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'pumphouse-path-')));
  chmodSync(root, 0o755);
  tools = join(root, 'tools');
  mkdirSync(tools);
  for (const folder of [dirname(onPath('npm')), '/usr/bin', '/bin'].filter((one) => existsSync(one))) {
    for (const name of readdirSync(folder)) {
      if (!/^(redis|valkey)/.test(name) && !existsSync(join(tools, name)))
        symlinkSync(join(folder, name), join(tools, name));
    }
  }
  cpSync(join(ROOT, 'scripts'), join(root, 'scripts'), { recursive: true });
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  writeFileSync(join(root, 'package.json'), JSON.stringify({ scripts: { ...scripts, build: 'true' } }));
  writeFileSync(join(tools, 'nest'), '#!/bin/sh\nexec redis-server --version\n', { mode: 0o755 });
  mkdirSync(join(root, 'dist'));
  writeFileSync(
    join(root, 'dist', 'main.js'),
    `require('node:child_process').spawnSync('redis-server', ['--version'], { stdio: 'inherit' });`,
  );
  const { ID = 'linux', VERSION_ID = 'unstable' } = readOsRelease();
  const bin = join(root, 'data', '.programs', `redis-${ID}-${VERSION_ID}-${process.arch}`, 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'redis-server'), '#!/bin/sh\necho "Redis server v=7.0.15"\n', { mode: 0o755 });
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe('the commands that start a server', () => {
  it.each(['start:prod', 'start:dev', 'start:debug'])(
    'use the Redis that an earlier start has unpacked: %s',
    (command) => {
      const { stdout, stderr } = spawnSync('npm', ['run', '-s', command], {
        ...{ cwd: root, encoding: 'utf8', env: { PATH: tools, HOME: root } },
      });
      expect([stdout, stderr]).toEqual(['Redis server v=7.0.15\n', '']);
    },
  );

  it('run nothing that another user could have changed', () => {
    const programs = join(root, 'data', '.programs');
    chmodSync(programs, 0o777);
    const { status, stdout, stderr } = spawnSync('npm', ['run', '-s', 'start:prod'], {
      ...{ cwd: root, encoding: 'utf8', env: { PATH: tools, HOME: root } },
    });
    chmodSync(programs, 0o755);
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^pumphouse: nothing in .* is run: /);
  });
});
