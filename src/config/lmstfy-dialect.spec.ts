import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from './config.js';
import { loadConfig } from './load.js';
import { ConfigError } from './problems.js';

const POOL = '[Pool]\n[Pool.default]\nAddr = "localhost:6379"\n';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pumphouse-lmstfy-'));
  file = join(folder, 'lmstfy.toml');
});
afterEach(() => rmSync(folder, { recursive: true }));

function load(toml: string, env: NodeJS.ProcessEnv = {}): Config {
  writeFileSync(file, toml);
  return loadConfig({ file, env });
}

function problems(toml: string, env: NodeJS.ProcessEnv = {}): readonly string[] {
  try {
    load(toml, env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map((one) => one.replaceAll(file, 'FILE'));
    throw error;
  }
  return [];
}

const usual = { allow_unsafe: false, durability: 'memory' };

describe('the configuration file of a lmstfy server', () => {
  it('sets the settings of Pumphouse that mean the same', () => {
    const config = load(`
      Host = "10.0.0.1"
      Port = 8000
      AdminHost = "10.0.0.1"
      AdminPort = 8001
      LogLevel = "WARNING"
      LogFormat = "text"
      EnableAccessLog = true
      TTLSecond = 60
      DelaySecond = 5
      TriesNum = 3
      TTRSecond = 30
      TimeoutSecond = 2
      [Accounts]
      Alice = "a secret"
      [AdminRedis]
      Addr = "r:1"
      Password = "p@ss/word"
      DB = 2
      [Pool.default]
      Addr = "d:6379"
      Password = "q"
      DB = 0
      [Pool.other]
      Addr = "a:1, b:2,c"
      MasterName = "m"
      SentinelPassword = "s"
      Password = "t"`);

    expect(config.server).toMatchObject({ host: '10.0.0.1', port: 8000 });
    expect(config.admin).toMatchObject({
      host: '10.0.0.1',
      port: 8001,
      accounts: { Alice: 'a secret' },
      hosts: [],
    });
    expect(config.log).toEqual({ level: 'warn', format: 'pretty', access: true });
    expect(config.lmstfy).toEqual({
      public_sizes: true,
      default_ttl_s: 60,
      default_delay_s: 5,
      default_tries: 3,
      default_ttr_s: 30,
      default_timeout_s: 2,
    });
    expect(config.tokens).toEqual({ url: 'redis://r:1', password: 'p@ss/word', db: 2, allow_unsafe: false });
    expect(config.pools).toEqual({
      default: { url: 'redis://d:6379', password: 'q', db: 0, ...usual },
      other: {
        sentinels: ['a:1', 'b:2', 'c'],
        master_name: 'm',
        sentinel_password: 's',
        password: 't',
        ...usual,
      },
    });
    expect(config.warnings).toEqual([]);
  });

  it("sets lmstfy's defaults, and the environment overrides them", () => {
    expect(load(POOL)).toMatchObject({
      limits: { max_body_bytes: 1_048_576, max_bulk_bytes: 67_108_864 },
      lmstfy: { public_sizes: true },
    });
    expect(load(POOL, { PUMPHOUSE_LMSTFY__PUBLIC_SIZES: 'false' }).lmstfy.public_sizes).toBe(false);
  });

  describe('a lmstfy file with another Redis in the environment', () => {
    const LMSTFY = `[AdminRedis]\nAddr = "old:1"\nPassword = "a"\nDB = 2\n${POOL}Password = "p"\nDB = 3\n`;
    const URL = 'redis://new:6379';

    it("sets no password and no database of lmstfy's Redis for the other Redis", () => {
      const env = { PUMPHOUSE_POOLS__DEFAULT__URL: URL, PUMPHOUSE_TOKENS__URL: URL };
      const { pools, tokens, warnings } = load(LMSTFY, env);

      expect(pools['default']).toEqual({ url: URL, ...usual });
      expect(tokens).toEqual({ url: URL, allow_unsafe: false });
      expect(warnings).toEqual([]);
    });

    it('is used with the password that the environment sets', () => {
      const env = { PUMPHOUSE_POOLS__DEFAULT__URL: URL, PUMPHOUSE_POOLS__DEFAULT__PASSWORD: 'n' };

      expect(load(LMSTFY, env).pools['default']).toMatchObject({ url: URL, password: 'n' });
    });

    it('keeps its address and database if the environment sets only the password', () => {
      const { pools } = load(LMSTFY, { PUMPHOUSE_POOLS__DEFAULT__PASSWORD: 'n' });

      expect(pools['default']).toMatchObject({ url: 'redis://localhost:6379', password: 'n', db: 3 });
    });

    it.each([
      ['PUMPHOUSE_POOLS__DEFAULT__URL', URL],
      ['PUMPHOUSE_POOLS__DEFAULT__CLUSTER', 'new:1,new:2'],
    ])('causes a warning that the tokens stay in AdminRedis: %s', (name, value) => {
      const [warning] = load(LMSTFY, { [name]: value }).warnings;

      expect(warning).toContain(`AdminRedis.Addr in ${file}`);
      expect(warning).toContain(name);
      expect(warning).toContain('PUMPHOUSE_TOKENS__URL');
    });

    it('causes no warning if the environment names no other Redis, or if the file has no AdminRedis', () => {
      expect(load(LMSTFY).warnings).toEqual([]);
      expect(load(POOL, { PUMPHOUSE_POOLS__DEFAULT__URL: URL }).warnings).toEqual([]);
    });
  });

  it('may have brackets around an IPv6 address', () => {
    expect(load(`Host = "[::]"\nAdminHost = "[::1]"\n${POOL}`)).toMatchObject({
      server: { host: '::' },
      admin: { host: '::1' },
    });
  });

  it('may have keys in any case', () => {
    const config = load(
      'HOST = "h"\npORT = 1\n[pool.default]\naddr = "d:1"\npassword = "x"\n[adminredis]\nADDR = "r:1"',
    );

    expect(config.server).toMatchObject({ host: 'h', port: 1 });
    expect(config.pools['default']).toMatchObject({ url: 'redis://d:1', password: 'x' });
    expect(config.tokens.url).toBe('redis://r:1');
  });

  it('may have empty values, which have no effect', () => {
    const config = load(
      `LogDir = ""\nLogFormat = ""\n[AdminRedis]\nAddr = ""\nPassword = "x"\n${POOL}Password = ""\nMasterName = ""\nMigrateTo = ""`,
    );

    expect(config.log.format).toBe('auto');
    expect(config.tokens).toEqual({ allow_unsafe: false });
    expect(config.pools['default']).toEqual({ url: 'redis://localhost:6379', ...usual });
    expect(config.warnings).toEqual([]);
  });

  it.each([
    ['panic', 'fatal'],
    ['fatal', 'fatal'],
    ['error', 'error'],
    ['Warn', 'warn'],
    ['debug', 'debug'],
    ['trace', 'trace'],
  ])('may have the log level %s, which becomes the level %s', (theirs, ours) => {
    expect(load(`LogLevel = "${theirs}"\n${POOL}`).log.level).toBe(ours);
  });

  it('causes one warning that lists its keys without effect', () => {
    expect(load(`LogDir = "/var/log"\n${POOL}PoolSize = 100\nVersion = "6.0"`).warnings).toEqual([
      `${file}: LogDir, Pool.default.PoolSize, Pool.default.Version has no effect here`,
    ]);
  });
});

describe('the admin host of a lmstfy file', () => {
  const open = `AdminHost = "0.0.0.0"\n${POOL}`;

  it('becomes 127.0.0.1 without accounts, with a warning', () => {
    const { admin, warnings } = load(open);

    expect(admin.host).toBe('127.0.0.1');
    expect(warnings).toEqual([
      expect.stringMatching(/^the admin port is open to this machine only .*AdminHost in /),
    ]);
  });

  it('stays 0.0.0.0 with accounts in the file or the environment', () => {
    expect(load(`${open}[Accounts]\na = "b"`).admin.host).toBe('0.0.0.0');
    expect(load(open, { PUMPHOUSE_ADMIN__ACCOUNTS__A: 'b' })).toMatchObject({
      admin: { host: '0.0.0.0' },
      warnings: [],
    });
  });

  it('is refused without accounts if the environment sets it by PUMPHOUSE_ADMIN__HOST', () => {
    expect(problems(POOL, { PUMPHOUSE_ADMIN__HOST: '0.0.0.0' })).toEqual([
      'admin.host must be a loopback address unless admin.accounts or admin.oidc is set (PUMPHOUSE_ADMIN__HOST)',
    ]);
  });
});

describe('errors in a lmstfy file', () => {
  it.each([
    [
      'has keys of ours',
      `${POOL}[server]\nport = 1`,
      "FILE mixes lmstfy's keys with ours: server is not one of lmstfy's",
    ],
    ['has an unknown key', `Prot = 1\n${POOL}`, "Prot is not a key of lmstfy's (FILE); did you mean port?"],
    ['has a small pool without an address', '[pool.default]\nDB = 1', 'pool.default.Addr is missing (FILE)'],
    ['has an unknown key in a pool', `${POOL}url = "x"`, "Pool.default.url is not a key of lmstfy's (FILE)"],
    ['has no default pool', 'Port = 1', 'pools.default is missing: there must be a pool of that name'],
    ['has a pool without an address', '[Pool.default]\nDB = 1', 'Pool.default.Addr is missing (FILE)'],
    [
      'moves a pool',
      `${POOL}MigrateTo = "b"`,
      'pools.default.migrate_to must be the name of a pool; allowed: default (Pool.default.MigrateTo in FILE)',
    ],
    [
      'has a port that is none',
      `Port = "x"\n${POOL}`,
      'server.port must be a whole number from 0 to 65535 (Port in FILE)',
    ],
    [
      'has an unknown level',
      `LogLevel = "loud"\n${POOL}`,
      /^log\.level must be one of .* \(LogLevel in FILE\)$/,
    ],
    [
      'has a list without a master',
      '[Pool.default]\nAddr = "a:1,b:2"',
      /^pools\.default\.url must be .* \(Pool\.default\.Addr in FILE\)$/,
    ],
    ['has a value for a section', 'Pool = 1', 'Pool must be a section (FILE)'],
  ])('are reported if the file %s', (_, toml, problem) => {
    const all = problems(toml);

    expect(all).toContainEqual(typeof problem === 'string' ? problem : expect.stringMatching(problem));
    expect(all.length).toBeLessThanOrEqual(2);
  });
});
