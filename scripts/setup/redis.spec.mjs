import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { carryOut, needsRedis } from './redis.mjs';

let dir;
beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'pumphouse-setup-'))));
afterEach(() => rmSync(dir, { recursive: true }));

/**
 * A Debian that is a folder: nothing but these files, nothing on its PATH but programs that write down how they were called, and a user
 * who is not root.
 */
function onMachine(programs, { env = {}, files = {} } = {}) {
  const all = { 'etc/os-release': 'ID=debian\n', ...files };
  for (const [name, text] of Object.entries(all)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
  mkdirSync(join(dir, 'bin'));
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(dir, 'bin', name), `#!/bin/sh\necho "${name} $*" >> ${dir}/calls\n${script}\n`, {
      mode: 0o755,
    });
  }
  const machine = {
    ...{ platform: 'linux', root: dir, env: { PATH: join(dir, 'bin'), ...env }, uid: 1000 },
    store: join(dir, 'store'),
  };
  const module = pathToFileURL(join(import.meta.dirname, 'redis.mjs')).href;
  const code = `
    const { ensureRedis } = await import('${module}');
    ensureRedis(${JSON.stringify(machine)});`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    encoding: 'utf8',
  });
  const calls = () => readFileSync(join(dir, 'calls'), 'utf8').trim().split('\n');
  const changes = () => calls().filter((line) => /^(apt-get|rm|service|update-rc)/.test(line));
  return { status, stderr, calls, changes };
}

const SERVER = (version) => `/bin/cat > ${dir}/bin/redis-server <<'END'
#!/bin/sh
echo "Redis server v=${version} sha=00000000:0"
END
/bin/chmod 755 ${dir}/bin/redis-server`;
/** An entry of Debian's list of packages. */
const PACKAGE = (name, status = 'install ok installed') =>
  `Package: ${name}\nStatus: ${status}\nVersion: 5:7.0.15-1\n`;
/** sudo that needs no password; everything that would change this machine does nothing. */
const debian = (aptGet) => ({
  sudo: 'shift\ncase "$1" in sh | true) ;; *) exec "$@" ;; esac',
  env: 'shift\nexec "$@"',
  'apt-get': `[ "$1" = update ] || { ${aptGet}\n}`,
  rm: '',
  service: '',
  'update-rc.d': '',
});

describe('the installer', () => {
  it('prints and runs its commands, and succeeds when they install Redis 7.0', () => {
    const { status, stderr, changes } = onMachine(debian(SERVER('7.0.15')));
    expect([status, stderr]).toEqual([0, expect.stringContaining('$ sudo -n apt-get update\n')]);
    expect(changes()).toEqual([
      'apt-get update',
      'apt-get install -y --no-install-recommends redis-server',
      'rm -f /usr/sbin/policy-rc.d',
      'service redis-server stop',
      'update-rc.d redis-server disable',
    ]);
  });

  // Every container image of Debian has such a policy.
  it.each([
    [
      'a policy of its own',
      { 'usr/sbin/policy-rc.d': '#!/bin/sh\nexit 101\n' },
      ['service redis-server stop', 'update-rc.d redis-server disable'],
    ],
    [
      'the package already',
      { 'var/lib/dpkg/status': `${PACKAGE('redis-tools')}\n${PACKAGE('redis-server')}` },
      ['rm -f /usr/sbin/policy-rc.d'],
    ],
    [
      'only settings left of the package',
      { 'var/lib/dpkg/status': PACKAGE('redis-server', 'deinstall ok config-files') },
      ['rm -f /usr/sbin/policy-rc.d', 'service redis-server stop', 'update-rc.d redis-server disable'],
    ],
  ])('reverts only its own changes on a machine that has %s', (_what, files, takenBack) => {
    const { status, changes } = onMachine(debian(SERVER('7.0.15')), { files });
    expect([status, changes().slice(2)]).toEqual([0, takenBack]);
  });

  it('fails if the installed Redis is too old, and prints the setting for another Redis', () => {
    const { status, stderr } = onMachine(debian(SERVER('6.0.16')));
    expect(status).not.toBe(0);
    expect(stderr).toMatch(
      /brought redis-server 6\.0; install redis-server 6\.2.*PUMPHOUSE_POOLS__DEFAULT__URL/,
    );
  });

  it('reverts its changes when the installation fails, and prints the failed command', () => {
    const { status, stderr, calls } = onMachine(debian('exit 100'));
    expect(status).not.toBe(0);
    expect(stderr).toContain('apt-get install -y --no-install-recommends redis-server` has failed');
    expect(calls()).toContain('rm -f /usr/sbin/policy-rc.d');
  });

  it('changes nothing with PUMPHOUSE__NO_INSTALL=1, and prints the commands', () => {
    const { status, stderr, calls } = onMachine(debian(SERVER('7.0.15')), {
      env: { PUMPHOUSE__NO_INSTALL: '1' },
    });
    expect(status).not.toBe(0);
    expect(stderr).toMatch(
      /PUMPHOUSE__NO_INSTALL=1 forbids[^]*apt-get install[^]*PUMPHOUSE_POOLS__DEFAULT__URL/,
    );
    expect(calls()).toEqual(['sudo -n true']);
  });

  it('changes nothing if sudo asks for a password', () => {
    const programs = { ...debian(''), sudo: 'exit 1' };
    const { stderr, calls } = onMachine(programs, { env: { PUMPHOUSE__NO_INSTALL: '1' } });
    expect(stderr).toContain('needs root (sudo asks for a password here)');
    expect(calls()).toEqual(['sudo -n true']);
  });

  it('fails if there is no sudo, and prints the commands for root', () => {
    const { sudo: _, ...programs } = debian('');
    const { status, stderr } = onMachine(programs, { env: { PUMPHOUSE__NO_INSTALL: '1' } });
    expect(status).not.toBe(0);
    expect(stderr).toMatch(
      /needs root \(there is no sudo here\).*; run `apt-get update && apt-get install -y/,
    );
    expect(existsSync(join(dir, 'calls'))).toBe(false);
  });

  it('tries the second name of a package if the installation of the first fails', () => {
    const run = [];
    const failed = carryOut(
      [{ argv: ['apk', 'add', 'redis'], otherwise: ['apk', 'add', 'valkey'] }],
      (argv) => {
        run.push(argv.at(-1));
        return argv.at(-1) === 'valkey';
      },
    );
    expect([failed, run]).toEqual([null, ['redis', 'valkey']]);
  });
});

describe('the check whether the server starts its own Redis', () => {
  const config = (text) => {
    const file = join(dir, 'config.toml');
    writeFileSync(file, text);
    return ['-c', file];
  };

  it.each([
    ['by default', [], {}, true],
    ['with a Redis in the environment', [], { PUMPHOUSE_POOLS__DEFAULT__URL: 'redis://10.0.0.1' }, false],
    ['with "embedded" in the environment', [], { PUMPHOUSE_POOLS__DEFAULT__URL: 'embedded' }, true],
    ['when it only prints something', ['--print-default-config'], {}, false],
  ])('finds the right answer %s', (_when, args, env, expected) =>
    expect(needsRedis(args, env)).toBe(expected),
  );

  it('answers yes if the configuration file does not exist', () => {
    expect(needsRedis(['-c', join(dir, 'nowhere.toml')], {})).toBe(true);
  });

  it.each([
    ['a file without pools', '[server]\nport = 80\n', true],
    ['a file with a Redis', '[pools.default] # ours\nurl = "redis://10.0.0.1"\n', false],
    [
      'a file with the embedded one',
      '[pools.default]\nurl = "embedded"\n[pools.b]\nurl = "redis://x"\n',
      true,
    ],
    ['a file with sentinels', '[pools.default]\nsentinels = ["a:1"]\nmaster_name = "m"\n', false],
    ['a file with a Redis for another pool', '[pools.b]\nurl = "redis://x"\n', true],
    ['a lmstfy file', 'Host = "0.0.0.0"\n[Pool]\n[Pool.default]\nAddr = "localhost:6379"\n', false],
  ])('finds the right answer with %s', (_what, text, expected) =>
    expect(needsRedis(config(text), {})).toBe(expected),
  );
});
