import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { carryOut, needsRedis } from './redis.mjs';

let dir;
beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'pumphouse-setup-'))));
afterEach(() => rmSync(dir, { recursive: true }));

/** A machine with nothing on its PATH but programs that write down how they were called. */
function onMachine(programs, { env = {}, osRelease = { ID: 'debian' } } = {}) {
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(dir, name), `#!/bin/sh\necho "${name} $*" >> ${dir}/calls\n${script}\n`, {
      mode: 0o755,
    });
  }
  const module = pathToFileURL(join(import.meta.dirname, 'redis.mjs')).href;
  const code = `
    process.getuid = () => 1000;
    const { ensureRedis } = await import('${module}');
    ensureRedis({ osRelease: ${JSON.stringify(osRelease)} });`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    encoding: 'utf8',
    env: { PATH: dir, ...env },
  });
  const calls = () => readFileSync(join(dir, 'calls'), 'utf8').trim().split('\n');
  return { status, stderr, calls };
}

const SERVER = (version) => `/bin/cat > ${dir}/redis-server <<'END'
#!/bin/sh
echo "Redis server v=${version} sha=00000000:0"
END
/bin/chmod 755 ${dir}/redis-server`;
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
  it('prints each command before it runs it, and checks the version that it got', () => {
    const { status, stderr, calls } = onMachine(debian(SERVER('7.0.15')));
    expect([status, stderr]).toEqual([0, expect.stringContaining('$ sudo -n apt-get update\n')]);
    expect(calls().filter((line) => /^(apt-get|rm|service|update-rc)/.test(line))).toEqual([
      'apt-get update',
      'apt-get install -y --no-install-recommends redis-server',
      'rm -f /usr/sbin/policy-rc.d',
      'service redis-server stop',
      'update-rc.d redis-server disable',
    ]);
  });

  it('refuses a version that is too old, and says which setting names another Redis', () => {
    const { status, stderr } = onMachine(debian(SERVER('6.0.16')));
    expect(status).not.toBe(0);
    expect(stderr).toMatch(
      /brought redis-server 6\.0; install redis-server 6\.2.*PUMPHOUSE_POOLS__DEFAULT__URL/,
    );
  });

  it('takes its changes to the system back when the installation fails, and names what failed', () => {
    const { status, stderr, calls } = onMachine(debian('exit 100'));
    expect(status).not.toBe(0);
    expect(stderr).toContain('apt-get install -y --no-install-recommends redis-server` has failed');
    expect(calls()).toContain('rm -f /usr/sbin/policy-rc.d');
  });

  it('leaves the machine alone with PUMPHOUSE__NO_INSTALL=1, and prints what to run by hand', () => {
    const { status, stderr, calls } = onMachine(debian(SERVER('7.0.15')), {
      env: { PUMPHOUSE__NO_INSTALL: '1' },
    });
    expect(status).not.toBe(0);
    expect(stderr).toMatch(
      /PUMPHOUSE__NO_INSTALL=1 forbids[^]*apt-get install[^]*PUMPHOUSE_POOLS__DEFAULT__URL/,
    );
    expect(calls()).toEqual(['sudo -n true']);
  });

  it('never lets sudo ask', () => {
    const { stderr, calls } = onMachine({ ...debian(''), sudo: 'exit 1' });
    expect(stderr).toContain('needs root (sudo asks for a password here)');
    expect(calls()).toEqual(['sudo -n true']);
  });

  it('takes the other name of the package where the first is unknown', () => {
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

describe('whether the server brings its own Redis along', () => {
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
    ['with a file that is not there', ['-c', '/nowhere.toml'], {}, true],
  ])('%s', (_when, args, env, expected) => expect(needsRedis(args, env)).toBe(expected));

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
  ])('with %s', (_what, text, expected) => expect(needsRedis(config(text), {})).toBe(expected));
});
