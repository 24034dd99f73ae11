import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from './config.js';
import { loadConfig } from './load.js';
import { ConfigError } from './problems.js';

const HASH = `scrypt:15:8:3:${'A'.repeat(22)}:${'A'.repeat(43)}`;

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pumphouse-config-'));
  file = join(folder, 'server.toml');
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

describe('layers of the configuration', () => {
  it('set the file over the defaults, and the environment over the file', () => {
    const { server, limits } = load('[server]\nport = 1000\nworkers = 2', { PUMPHOUSE_SERVER__PORT: '2000' });

    expect(server).toMatchObject({ port: 2000, workers: 2, host: '0.0.0.0' });
    expect(limits.max_body_bytes).toBe(65_535);
  });

  it('replace a list of a lower layer as a whole', () => {
    const toml = '[pools.default]\ncluster = ["a:1", "b:2"]';

    expect(load(toml, { PUMPHOUSE_POOLS__DEFAULT__CLUSTER: 'c:3' }).pools['default']?.cluster).toEqual([
      'c:3',
    ]);
  });

  it('take numbers in a list of texts', () => {
    expect(load('[push]\nports = [9099, "8000-8999"]').push.ports).toEqual(['9099', '8000-8999']);
    expect(problems('[push]\nports = [0]')).toEqual([
      expect.stringMatching(/^push\.ports must be a non-empty list of ports or ranges such as "8000-8999"/),
    ]);
  });

  it('keep the pool "default" if a file names only another pool', () => {
    expect(Object.keys(load('[pools.other]\nurl = "redis://h"').pools)).toEqual(['default', 'other']);
  });

  it('drop the sentinels of a pool when a higher layer sets its URL, and keep its password', () => {
    const sentinels =
      '[pools.default]\nsentinels = ["a"]\nmaster_name = "m"\nsentinel_password = "s"\npassword = "p"';

    expect(load(sentinels).pools['default']).toEqual({
      sentinels: ['a'],
      master_name: 'm',
      sentinel_password: 's',
      password: 'p',
      allow_unsafe: false,
      durability: 'memory',
    });
    expect(load(sentinels, { PUMPHOUSE_POOLS__DEFAULT__URL: 'redis://h' }).pools['default']).toEqual({
      url: 'redis://h',
      password: 'p',
      allow_unsafe: false,
      durability: 'memory',
    });
  });

  it("accept a pool with the name of an object's property", () => {
    const { pools } = load('[pools.constructor]\nurl = "redis://h"\n[pools.__proto__]\nurl = "redis://i"');

    expect(Object.keys(pools)).toEqual(['default', 'constructor', '__proto__']);
    expect('toString' in pools).toBe(false);
  });

  it('apply overrides of the caller after the environment', () => {
    const config = loadConfig({ env: { PUMPHOUSE_SERVER__PORT: '1' }, overrides: { server: { port: 2 } } });

    expect(config.server.port).toBe(2);
  });
});

describe('errors in the configuration', () => {
  it('are reported all at once with the path of the key and the source', () => {
    const toml =
      '[server]\nport = "80"\nprot = 1\n[limits]\nmax_body_bytes = 67108865\n[nope]\n[log]\nlevel = "loud"';

    expect(problems(toml, { PUMPHOUSE_REDIS__COMMAND_TIMEOUT_MS: '1e3', PUMPHOUSE_NO__KEY: '' })).toEqual([
      expect.stringMatching(
        /^server\.prot: unknown key \(FILE\); did you mean port\?; allowed: host, port, workers,/,
      ),
      expect.stringMatching(/^nope: unknown key \(FILE\)/),
      'PUMPHOUSE_NO__KEY names no known key',
      'server.port must be a whole number from 0 to 65535 (FILE)',
      'limits.max_body_bytes must be a whole number from 1 to 67108864 (FILE)',
      'redis.command_timeout_ms must be a whole number from 50 to 60000 (PUMPHOUSE_REDIS__COMMAND_TIMEOUT_MS)',
      'log.level must be one of trace, debug, info, warn, error, fatal, silent (FILE)',
    ]);
  });

  it.each([
    ['[pool.default]\nurl = "redis://h"', 'pool', 'pools'],
    ['[pool.default]\ncluster = ["h"]', 'pool', 'pools'],
    ['[pool.default]\ndurability = "aof"\n[server]\nport = 1', 'pool', 'pools'],
    ['[Pools.default]\nurl = "redis://h"', 'Pools', 'pools'],
    ['[limit]\nmax_waiters = 1', 'limit', 'limits'],
    ['[limits]\nmax_body = 1', 'limits.max_body', 'max_body_bytes'],
    ['[pools.default]\nurl = "redis://h"\nmigrate = "b"', 'pools.default.migrate', 'migrate_to'],
  ])('suggest a similar key: %j', (toml, path, meant) => {
    expect(problems(toml)).toEqual([
      expect.stringMatching(`^${path}: unknown key \\(FILE\\); did you mean ${meant}\\?; allowed: `),
    ]);
  });

  it.each([
    ['a section that is a value', 'server = 1', 'server must be a section (FILE)'],
    ['a list of sections', '[[server]]\nport = 1', 'server must be a section (FILE)'],
    ['a pool that is a value', '[pools]\nx = "redis://h"', 'pools.x must be a section (FILE)'],
    ['a date', 'server = 2020-01-01', 'server must be a section (FILE)'],
    ['a fraction', '[server]\nport = 80.5', 'server.port must be a whole number from 0 to 65535 (FILE)'],
    ['a truth as text', '[log]\naccess = "true"', 'log.access must be true or false (FILE)'],
    [
      'a pool name with a blank',
      '[pools."a b"]\nurl = "redis://h"',
      /^pools must be sections with names of letters/,
    ],
    ['an account without a password', '[admin.accounts]\nann = ""', /^admin\.accounts must be passwords/],
    ['an account with a colon', '[admin.accounts]\n"a:b" = "x"', /^admin\.accounts must be passwords/],
    ['an account that is a list', '[admin.accounts]\nann = ["x"]', /^admin\.accounts must be passwords/],
    [
      'an account without a role',
      `[admin.accounts.ann]\npassword_hash = "${HASH}"`,
      'admin.accounts.ann.role must be one of viewer, viewer_data, operator, admin',
    ],
    [
      'an account with a password in place of its hash',
      '[admin.accounts.ann]\nrole = "viewer"\npassword_hash = "secret"',
      /^admin\.accounts\.ann\.password_hash must be what `pumphouse account hash` prints/,
    ],
    [
      'an account without a namespace',
      `[admin.accounts.ann]\nrole = "viewer"\nnamespaces = []\npassword_hash = "${HASH}"`,
      /^admin\.accounts\.ann\.namespaces must be a non-empty list/,
    ],
    [
      'an unknown key of an account',
      `[admin.accounts.ann]\nrole = "viewer"\nnamespace = "x"\npassword_hash = "${HASH}"`,
      /^admin\.accounts\.ann\.namespace: unknown key .*did you mean namespaces/,
    ],
    ['a key prefix that moves the hash tag', '[redis]\nkey_prefix = "{x}"', /^redis\.key_prefix must be/],
    ['warnings as a key', 'warnings = []', /^warnings: unknown key/],
  ])('are reported for %s', (_, toml, problem) => {
    expect(problems(toml)).toEqual([typeof problem === 'string' ? problem : expect.stringMatching(problem)]);
  });

  it('report a file that is not TOML or does not exist', () => {
    const env = { PUMPHOUSE_SERVER__PORT: 'x' };

    expect(problems('[server\nport = 1', env)).toEqual([
      expect.stringMatching(/^FILE, line 1, column \d+: Invalid TOML document: /),
      expect.stringMatching(/^server\.port must be/),
    ]);
    expect(() => loadConfig({ file: join(folder, 'none.toml'), env })).toThrow(
      /none\.toml cannot be read: there is no such file/,
    );
  });

  it('report a file that is not UTF-8 with the line, and read one with a byte order mark', () => {
    writeFileSync(file, Buffer.from('[server]\nport = 1\nhost = "caf\xe9"\n', 'latin1'));
    expect(() => loadConfig({ file, env: {} })).toThrow(`${file} cannot be read: it is not UTF-8 (line 3)`);
    writeFileSync(file, Buffer.from('\ufeff[server]\nport = 1\n', 'utf16le'));
    expect(() => loadConfig({ file, env: {} })).toThrow(`${file} cannot be read: it is UTF-16, not UTF-8`);
    expect(load('\ufeff[server]\nport = 1000').server.port).toBe(1000);
  });

  it('show no password', () => {
    const secret = 'hunter2';
    const printed = [
      ...problems(
        `[pools.default]\nurl = "http://u:${secret}@h"\npassword = 5\n[pools.b]\nurl = "redis://:${secret}@h/x"`,
      ),
      ...problems(
        `[pools.default]\nurl = "redis://:${secret}@h"\npassword = "${secret}"\nmigrate_to = "${secret}"`,
      ),
      ...problems(`[pools.default]\npassword = "${secret}`),
      ...problems(`[pools.default]\npassword = ${secret}`),
      ...problems(`[admin]\naccounts = "${secret}"`, { PUMPHOUSE_SERVER__PORT: secret }),
      ...problems('', { PUMPHOUSE_TOKENS__URL: secret, PUMPHOUSE_TOKENS__DB: secret }),
    ];

    expect(printed.length).toBeGreaterThanOrEqual(9);
    expect(printed.join('\n')).not.toContain(secret);
  });
});

describe('the settings of OpenID Connect', () => {
  /** Any file that has a text. */
  const SECRET_FILE = import.meta.filename;
  const issuer = 'issuer = "https://login.example.com"';
  const rest = `client_id = "a"\nclient_secret_file = "${SECRET_FILE}"`;
  const groups = '[admin.oidc.groups]\nops = "admin"';
  const admin = '[admin]\npublic_url = "https://queue.example"\n[admin.oidc]';

  it('take a role, or a section of an account, for a group', () => {
    const shop = '[admin.oidc.groups."/Shop team"]\nrole = "viewer"\nnamespaces = ["shop"]';
    const { admin: found } = load(`${admin}\n${issuer}\n${rest}\n${groups}\n${shop}`);
    expect(found.oidc.groups).toEqual({
      ops: 'admin',
      '/Shop team': { role: 'viewer', namespaces: ['shop'] },
    });
    const { admin: byName } = loadConfig({
      env: {
        PUMPHOUSE_ADMIN__PUBLIC_URL: 'http://127.0.0.1:7778',
        PUMPHOUSE_ADMIN__HOST: '0.0.0.0',
        PUMPHOUSE_ADMIN__OIDC__ISSUER: 'http://localhost:9000/realm',
        PUMPHOUSE_ADMIN__OIDC__CLIENT_ID: 'a',
        PUMPHOUSE_ADMIN__OIDC__CLIENT_SECRET_FILE: SECRET_FILE,
        PUMPHOUSE_ADMIN__OIDC__GROUPS__OPS: 'operator',
      },
    });
    expect(byName.oidc.groups).toEqual({ ops: 'operator' });
  });

  it.each([
    [
      'a part of them',
      `${admin}\n${issuer}\n${groups}`,
      ['client_id is missing', 'client_secret_file is missing'],
    ],
    ['no group', `${admin}\n${issuer}\n${rest}`, ['groups is empty, and no user could sign in']],
    ['groups alone', `${admin}\n${groups}`, ['issuer is missing', 'client_id', 'client_secret_file']],
    [
      'an issuer without TLS',
      `${admin}\nissuer = "http://login.example.com"`,
      ['issuer must be an https:// URL'],
    ],
    [
      'an issuer with a query',
      `${admin}\nissuer = "https://a.example/?b"`,
      ['issuer must be an https:// URL'],
    ],
    [
      'an unknown role',
      `${admin}\n${issuer}\n${rest}\n[admin.oidc.groups]\nops = "root"`,
      ['groups.ops must be one of viewer, '],
    ],
    [
      'an unknown role in a section',
      `${admin}\n${issuer}\n${rest}\n[admin.oidc.groups.ops]\nrole = "root"`,
      ['groups.ops.role must be one of viewer, '],
    ],
    [
      'no scope openid',
      `${admin}\n${issuer}\n${rest}\nscopes = ["email"]\n${groups}`,
      ['scopes must have "openid"'],
    ],
    [
      'a file of the secret that is not there',
      `${admin}\n${issuer}\nclient_id = "a"\nclient_secret_file = "/none"\n${groups}`,
      ['client_secret_file cannot be read: there is no such file. Write the secret into that file'],
    ],
  ])('are refused with %s, by the name of the key', (_what, toml, starts) => {
    expect(problems(toml)).toEqual(
      starts.map((one) => expect.stringContaining(`admin.oidc.${one}`) as unknown),
    );
  });

  it.each(['', 'public_url = "http://queue.example"\n'])('need a public URL with TLS, not %j', (url) => {
    const toml = `[admin]\n${url}[admin.oidc]\n${issuer}\n${rest}\n${groups}`;
    expect(problems(toml)).toEqual([
      expect.stringMatching(/^admin\.public_url must be set for admin\.oidc, with https/),
    ]);
  });
});

describe('settings that belong together', () => {
  it.each([
    [
      'an open admin port',
      '[admin]\nhost = "0.0.0.0"',
      'admin.host must be a loopback address unless admin.accounts or admin.oidc is set (FILE)',
    ],
    ['two listeners on one port', '[admin]\nport = 7777', 'admin.port must not be server.port (FILE)'],
    [
      'a bulk limit below the body limit',
      '[limits]\nmax_body_bytes = 9000000',
      'limits.max_bulk_bytes must be at least limits.max_body_bytes (default.toml)',
    ],
    [
      'a delay that outlives the job',
      '[lmstfy]\ndefault_delay_s = 90000',
      'lmstfy.default_ttl_s must be 0, or at least lmstfy.default_delay_s (default.toml)',
    ],
    [
      'a move to another pool',
      '[pools.default]\nmigrate_to = "b"',
      'pools.default.migrate_to must be the name of a pool; allowed: default (FILE)',
    ],
    [
      'a move to itself',
      '[pools.default]\nmigrate_to = "default"',
      'pools.default.migrate_to must be another pool than default itself (FILE)',
    ],
    [
      'a move within one Redis',
      '[pools.default]\nurl = "redis://h/1"\nmigrate_to = "b"\n[pools.b]\nurl = "redis://h"\ndb = 1',
      'pools.default.migrate_to must be a pool in another Redis than that of default (FILE)',
    ],
    [
      'a pool without a place',
      '[pools.b]\ndb = 1',
      'pools.b needs exactly one of url, sentinels (with master_name), and cluster',
    ],
    [
      'a pool with two places',
      '[pools.b]\nurl = "redis://h"\ncluster = ["h"]',
      'pools.b needs exactly one of url, sentinels (with master_name), and cluster',
    ],
    [
      'sentinels without a master',
      '[pools.b]\nsentinels = ["h"]',
      'pools.b.master_name is missing beside sentinels',
    ],
    [
      'a master without sentinels',
      '[pools.b]\nurl = "redis://h"\nmaster_name = "m"',
      'pools.b.master_name goes with sentinels only (FILE)',
    ],
    [
      'a database of a Cluster',
      '[pools.b]\ncluster = ["h"]\ndb = 0',
      'pools.b.db does not go with cluster: a Redis Cluster has one (FILE)',
    ],
    [
      'a map of addresses where there is one address',
      '[pools.b]\nurl = "redis://h"\nnat_map = ["a=b"]',
      'pools.b.nat_map goes with sentinels and cluster only (FILE)',
    ],
    [
      'an announced address that is mapped twice',
      '[pools.b]\ncluster = ["a"]\nnat_map = ["a=b", "a:6379=c"]',
      'pools.b.nat_map has an announced address twice (FILE)',
    ],
    [
      'a map of addresses with a mistake',
      '[pools.b]\ncluster = ["a"]\nnat_map = ["a=b=c"]',
      'pools.b.nat_map must be a non-empty list of "announced host:port=reachable host:port" (FILE)',
    ],
    [
      'a password for what we start ourselves',
      '[pools.default]\npassword = "p"',
      'pools.default.password does not go with the embedded Redis (FILE)',
    ],
    [
      'a password twice',
      '[pools.b]\nurl = "redis://:p@h"\npassword = "p"',
      'pools.b.password is also in the url (FILE)',
    ],
    ['a database twice', '[pools.b]\nurl = "redis://h/1"\ndb = 1', 'pools.b.db is also in the url (FILE)'],
    [
      'embedded tokens',
      '[tokens]\nurl = "embedded"',
      'tokens.url must be a redis:// or rediss:// URL; omit it for the default pool (FILE)',
    ],
    [
      'a password of no token store',
      '[tokens]\npassword = "p"',
      'tokens needs exactly one of url, sentinels (with master_name), and cluster',
    ],
  ])('are reported for %s', (_, toml, problem) => {
    expect(problems(toml)).toEqual([problem]);
  });

  it('are refused if pools move to each other in a circle', () => {
    const [b, c] = [
      '[pools.b]\nurl = "redis://h"\nmigrate_to = "c"',
      '[pools.c]\nurl = "redis://i"\nmigrate_to = "b"',
    ];

    expect(problems(`[pools.default]\nmigrate_to = "b"\n${b}\n${c}`)).toEqual([
      'pools.b.migrate_to goes round in a circle: b → c → b (FILE)',
      'pools.c.migrate_to goes round in a circle: c → b → c (FILE)',
    ]);
    expect(problems(`[pools.default]\nmigrate_to = "b"\n${b}\n[pools.c]\nurl = "redis://i"`)).toEqual([]);
  });

  it.each(['127.0.0.1', '127.1.2.3', 'localhost', '::1'])(
    'may have the admin host %s without accounts',
    (host) => {
      expect(load(`[admin]\nhost = "${host}"`).admin.host).toBe(host);
    },
  );

  it('may have the admin host 0.0.0.0 with an account', () => {
    const env = { PUMPHOUSE_ADMIN__HOST: '0.0.0.0', PUMPHOUSE_ADMIN__ACCOUNTS__ALICE: 'secret' };

    expect(loadConfig({ env }).admin).toMatchObject({ host: '0.0.0.0', accounts: { alice: 'secret' } });
  });

  it('may have accounts with a hashed password, a role and namespaces', () => {
    const toml = `[admin.accounts]\nops = "secret"\n[admin.accounts.ann]\npassword_hash = "${HASH}"\nrole = "viewer"`;
    const env = {
      PUMPHOUSE_ADMIN__ACCOUNTS__ANN__NAMESPACES: 'shop,mail-*',
      PUMPHOUSE_ADMIN__ACCOUNTS__BOB__PASSWORD_HASH: HASH,
      PUMPHOUSE_ADMIN__ACCOUNTS__BOB__ROLE: 'admin',
    };
    const { accounts } = load(toml, env).admin;
    expect(accounts).toEqual({
      ops: 'secret',
      ann: { password_hash: HASH, role: 'viewer', namespaces: ['shop', 'mail-*'] },
      bob: { password_hash: HASH, role: 'admin' },
    });
  });

  it.each([
    'nope',
    'h:6379',
    'http://h',
    'redis://',
    'redis:///1',
    'redis:h',
    'redis://h/x',
    'redis://h?db=1',
    'redis://:p%@h',
    '',
  ])('are refused with %j as the URL of a pool', (url) => {
    expect(problems(`[pools.default]\nurl = ${JSON.stringify(url)}`)).toEqual([
      expect.stringMatching(/^pools\.default\.url must be redis:\/\/.* or "embedded" \(FILE\)$/),
    ]);
  });

  it.each(['redis://h', 'rediss://u:p%40@h:1/15', 'redis://[::1]:6379', 'redis://:p@10.0.0.1/', 'embedded'])(
    'may have %j as the URL of a pool',
    (url) => {
      expect(load(`[pools.default]\nurl = "${url}"`).pools['default']?.url).toBe(url);
    },
  );

  it('may have a body limit of 64 MiB, and are refused with a larger one', () => {
    const both = (bytes: number): string => `[limits]\nmax_body_bytes = ${bytes}\nmax_bulk_bytes = ${bytes}`;

    expect(load(both(67_108_864)).limits).toMatchObject({
      max_body_bytes: 67_108_864,
      max_bulk_bytes: 67_108_864,
    });
    expect(problems(both(67_108_865))).toHaveLength(2);
  });
});

describe('configuration warnings', () => {
  it('report more workers than cores, allow_unsafe, and two pools in one Redis', () => {
    const { warnings } = load(
      '[server]\nworkers = 512\n[pools.a]\nurl = "redis://h/1"\nallow_unsafe = true\n[pools.b]\nurl = "redis://u:p@h"\ndb = 1',
    );

    expect(warnings).toEqual([
      expect.stringMatching(/^server\.workers is 512, but this machine has \d+ cores/),
      expect.stringMatching(/^pools\.a\.allow_unsafe is set/),
      expect.stringMatching(/^pools a and b use the same Redis/),
    ]);
  });

  it('report two pools in one Redis, also if one URL leaves the port out', () => {
    const of = (one: string, other: string): readonly string[] =>
      load(`[pools.a]\nurl = "${one}"\n[pools.b]\nurl = "${other}"`).warnings;
    const same = [expect.stringMatching(/^pools a and b use the same Redis/)];
    expect(of('redis://h', 'redis://h:6379')).toEqual(same);
    expect(of('redis://h', 'redis://h:6380')).toEqual([]);
  });

  it('are absent by default', () => {
    expect(loadConfig({ env: {} }).warnings).toEqual([]);
  });

  it.each([
    [
      '[later]\nport = 8080',
      /^later\.port is set, and later\.allow is empty: every \/create is refused\. Set/,
    ],
    ['[later]\nallow = ["https://a.example"]', /^later\.allow has no effect: .* Set later\.port/],
    ['[push]\nallow = ["10.0.0.0/8"]', /^push\.allow has no effect: .* Set push\.enabled = true/],
    ['[push]\nallow_http = true', /^push\.allow_http has no effect: .* Set push\.enabled = true/],
    [
      '[pools.default]\nurl = "redis://h"\n[data]\nmax_memory_bytes = 1000000',
      /^data\.max_memory_bytes has no effect: no pool is embedded\. Set maxmemory/,
    ],
  ])('report a setting that has no effect, once and with the remedy: %j', (file, warning) => {
    expect(load(file).warnings).toEqual([expect.stringMatching(warning)]);
  });

  it.each([
    '[later]\nport = 8080\nallow = ["https://a.example"]',
    '[later]\nport = 8080\nallow = ["http://10.0.0.1"]\n[push]\nallow = ["10.0.0.0/8"]',
    '[push]\nenabled = true\nallow = ["10.0.0.0/8"]\nallow_http = true',
    '[data]\nmax_memory_bytes = 1000000',
  ])('are absent for settings that belong together: %j', (file) => {
    expect(load(file).warnings).toEqual([]);
  });
});
