import { availableParallelism } from 'node:os';
import { validateSync, type ValidationError } from 'class-validator';
import { replicasOf } from '../domain/durability.js';
import { ROLES } from '../domain/roles.js';
import { EMBEDDED, isLoopback, isSafeUrl, parseMapping, REDIS_PORT } from './addresses.js';
import { type Config, RoleConfig, type RedisTarget, type TlsListenerConfig } from './config.js';
import { migrationProblems } from './migrations.js';
import type { Problem } from './problems.js';
import { fileProblem, readTextFile } from './text-files.js';
import { below } from './tree.js';

/** All problems of a configuration: of each value, and of valid values in combination. */
export function problemsOf(config: Config): Problem[] {
  const problems = [
    ...valueProblems(config),
    ...Object.entries(config.pools).flatMap(([name, pool]) => valueProblems(pool, below('pools', name))),
    ...roleProblems(config.admin.accounts, 'admin.accounts'),
    ...roleProblems(config.admin.oidc.groups, 'admin.oidc.groups'),
  ];
  const isSound = (path: string): boolean =>
    !problems.some((problem) => `${problem.path}.`.startsWith(`${path}.`));
  return [...problems, ...joint(config, isSound)];
}

/** Problems of sections with a role, by their names. */
function roleProblems(named: Readonly<Record<string, string | RoleConfig>>, path: string): Problem[] {
  return Object.entries(named).flatMap(([name, one]) =>
    one instanceof RoleConfig ? valueProblems(one, below(path, name)) : [],
  );
}

function valueProblems(of: object, path = ''): Problem[] {
  // Unknown keys were rejected before; any that got through are found here.
  return flat(validateSync(of, { whitelist: true, forbidNonWhitelisted: true }), path);
}

function flat(errors: readonly ValidationError[], path: string): Problem[] {
  return errors.flatMap(({ property, constraints, children }) => {
    const at = below(path, property);
    const [text] = Object.values(constraints ?? {});
    return [...(text === undefined ? [] : [{ path: at, text }]), ...flat(children ?? [], at)];
  });
}

/** Problems of values that are valid one by one. */
function joint(config: Config, isSound: (path: string) => boolean): Problem[] {
  const { server, admin, pools, tokens, limits, lmstfy } = config;
  const checks: readonly (readonly [of: string, check: () => Problem[]])[] = [
    ['admin', () => accountProblems(admin)],
    ['admin', () => oidcProblems(admin)],
    ['admin.port', () => portProblems(config)],
    ['later.port', () => laterProblems(config)],
    ['server', () => listenerProblems(server, 'server')],
    ['admin', () => listenerProblems(admin, 'admin')],
    ['limits', () => limitProblems(limits)],
    ['lmstfy', () => lmstfyProblems(lmstfy)],
    ['', () => poolsProblems(pools, isSound)],
    ['pools', () => migrationProblems(pools, poolPlace)],
    ['tokens', () => tokensProblems(tokens)],
  ];
  return checks.flatMap(([of, check]) => (of === '' || isSound(of) ? check() : []));
}

/** A key, whether it is invalid, and why. */
type Rule = readonly [key: string, isWrong: boolean, text: string];

/** The problems of those rules that are violated, for keys below a path. */
function broken(path: string, ...rules: readonly Rule[]): Problem[] {
  return rules.flatMap(([key, isWrong, text]) => (isWrong ? [{ path: below(path, key), text }] : []));
}

function accountProblems({ host, accounts, oidc }: Config['admin']): Problem[] {
  const isOpen = !isLoopback(host) && Object.keys(accounts).length === 0 && oidc.issuer === undefined;
  return broken('admin', [
    'host',
    isOpen,
    'must be a loopback address unless admin.accounts or admin.oidc is set',
  ]);
}

function oidcProblems({ public_url, oidc }: Config['admin']): Problem[] {
  const { issuer, client_id, client_secret_file, scopes, groups } = oidc;
  const isUsed = [issuer, client_id, client_secret_file].some((one) => one !== undefined);
  if (!isUsed && Object.keys(groups).length === 0) return [];
  const unknown = Object.entries(groups).filter(
    ([, group]) => typeof group === 'string' && !ROLES.some((role) => role === group),
  );
  return [
    ...broken(
      'admin.oidc',
      ['issuer', issuer === undefined, 'is missing: the URL of the provider'],
      [
        'client_id',
        client_id === undefined,
        'is missing: the provider gives it to a client that you register',
      ],
      [
        'client_secret_file',
        client_secret_file === undefined,
        'is missing: the file with the secret that the provider has given to the client',
      ],
      ['scopes', !scopes.includes('openid'), 'must have "openid"'],
      [
        'groups',
        Object.keys(groups).length === 0,
        'is empty, and no user could sign in: give a group a role',
      ],
    ),
    ...broken(
      'admin.oidc.groups',
      ...unknown.map(([name]): Rule => [name, true, `must be one of ${ROLES.join(', ')}, or a section`]),
    ),
    ...secretProblems(client_secret_file),
    ...broken('admin', [
      'public_url',
      public_url === undefined || !isSafeUrl(public_url),
      'must be set for admin.oidc, with https:// unless it is a loopback address: the provider sends browsers back there',
    ]),
  ];
}

function secretProblems(file: string | undefined): Problem[] {
  const path = 'admin.oidc.client_secret_file';
  if (file === undefined) return [];
  try {
    return readTextFile(file).trim() === ''
      ? [{ path, text: `is an empty file: write the secret into it` }]
      : [];
  } catch (error) {
    return [{ path, text: `cannot be read: ${fileProblem(error)}. Write the secret into that file` }];
  }
}

function portProblems({ server, admin }: Config): Problem[] {
  const isSame = server.port === admin.port && server.port !== 0;
  return broken('admin', ['port', isSame, 'must not be server.port']);
}

function laterProblems({ server, admin, later: { port } }: Config): Problem[] {
  const isSame = port !== undefined && port !== 0 && (port === server.port || port === admin.port);
  return broken('later', ['port', isSame, 'must not be server.port or admin.port']);
}

function limitProblems({ max_bulk_bytes, max_body_bytes }: Config['limits']): Problem[] {
  const isLess = max_bulk_bytes < max_body_bytes;
  return broken('limits', ['max_bulk_bytes', isLess, 'must be at least limits.max_body_bytes']);
}

function lmstfyProblems({ default_ttl_s, default_delay_s }: Config['lmstfy']): Problem[] {
  const isShort = default_ttl_s !== 0 && default_ttl_s < default_delay_s;
  return broken('lmstfy', ['default_ttl_s', isShort, 'must be 0, or at least lmstfy.default_delay_s']);
}

function poolsProblems(pools: Config['pools'], isSound: (path: string) => boolean): Problem[] {
  const isMissing = !Object.hasOwn(pools, 'default');
  const ofEach = Object.entries(pools).flatMap(([name, pool]) => {
    const path = below('pools', name);
    const wantsReplicas = pool.url === EMBEDDED && replicasOf(pool.durability) > 0;
    return [
      ...(isSound(path) ? targetProblems(pool, path) : []),
      ...broken(path, [
        'durability',
        wantsReplicas,
        'cannot be had from the embedded Redis: it has no replicas',
      ]),
    ];
  });
  return [
    ...broken('pools', ['default', isMissing, 'is missing: there must be a pool of that name']),
    ...ofEach,
  ];
}

function listenerProblems({ tls_cert, tls_key, tls_client_ca }: TlsListenerConfig, path: string): Problem[] {
  const problems = pairProblems(tls_cert, tls_key, path);
  if (tls_client_ca !== undefined && tls_cert === undefined) {
    problems.push({ path: below(path, 'tls_client_ca'), text: 'needs tls_cert and tls_key' });
  }
  return problems;
}

function pairProblems(cert: string | undefined, key: string | undefined, path: string): Problem[] {
  if ((cert === undefined) === (key === undefined)) return [];
  const [given, missing] = cert === undefined ? ['tls_key', 'tls_cert'] : ['tls_cert', 'tls_key'];
  return [{ path: below(path, given), text: `needs ${missing} beside it` }];
}

function tokensProblems(tokens: RedisTarget): Problem[] {
  if (tokens.url === EMBEDDED) {
    return [
      { path: 'tokens.url', text: 'must be a redis:// or rediss:// URL; omit it for the default pool' },
    ];
  }
  const isSet = Object.entries(tokens).some(([key, value]) => key !== 'allow_unsafe' && value !== undefined);
  return isSet ? targetProblems(tokens, 'tokens') : [];
}

function targetProblems(target: RedisTarget, path: string): Problem[] {
  const { url, sentinels, master_name, sentinel_password, cluster, nat_map = [], db } = target;
  if ([url, sentinels, cluster].filter((way) => way !== undefined).length !== 1) {
    return [{ path, text: 'needs exactly one of url, sentinels (with master_name), and cluster' }];
  }
  const hasSentinels = sentinels !== undefined;
  const announced = nat_map.map((text) => JSON.stringify(parseMapping(text, REDIS_PORT)?.announced));
  return [
    ...broken(
      path,
      ['master_name', hasSentinels && master_name === undefined, 'is missing beside sentinels'],
      ['master_name', !hasSentinels && master_name !== undefined, 'goes with sentinels only'],
      ['sentinel_password', !hasSentinels && sentinel_password !== undefined, 'goes with sentinels only'],
      ['nat_map', url !== undefined && nat_map.length > 0, 'goes with sentinels and cluster only'],
      ['nat_map', new Set(announced).size < announced.length, 'has an announced address twice'],
      ['db', cluster !== undefined && db !== undefined, 'does not go with cluster: a Redis Cluster has one'],
    ),
    ...pairProblems(target.tls_cert, target.tls_key, path),
    ...(url === undefined ? [] : urlProblems(target, url, path)),
  ];
}

function urlProblems(
  { tls_ca, tls_cert, username, password, db }: RedisTarget,
  url: string,
  path: string,
): Problem[] {
  const isPlain = !/^rediss:/i.test(url);
  const parts = url === EMBEDDED ? null : new URL(url);
  const beside = 'does not go with the embedded Redis';
  const twice = 'is also in the url';
  return [
    ...broken(
      path,
      ['tls_ca', isPlain && tls_ca !== undefined, 'goes with a rediss:// url only'],
      ['tls_cert', isPlain && tls_cert !== undefined, 'goes with a rediss:// url only'],
    ),
    ...(parts === null
      ? broken(
          path,
          ['username', username !== undefined, beside],
          ['password', password !== undefined, beside],
          ['db', db !== undefined, beside],
        )
      : broken(
          path,
          ['username', parts.username !== '' && username !== undefined, twice],
          ['password', parts.password !== '' && password !== undefined, twice],
          ['db', /\d/.test(parts.pathname) && db !== undefined, twice],
        )),
  ];
}

/** Settings that are valid, but deserve a warning at start. */
export function warningsOf(config: Config, cores = availableParallelism()): string[] {
  const { server, pools, tokens } = config;
  const warnings = withoutEffect(config);
  if (server.workers > cores) {
    warnings.push(
      `server.workers is ${server.workers}, but this machine has ${cores} cores: more workers than cores do not help`,
    );
  }
  const places = new Map<string, string>();
  for (const [name, pool] of Object.entries(pools)) {
    if (pool.allow_unsafe) warnings.push(unsafe(below('pools', name)));
    const place = placeOf(pool);
    const other = places.get(place);
    if (other === undefined) places.set(place, name);
    else if (pool.url !== EMBEDDED) {
      warnings.push(
        `pools ${other} and ${name} use the same Redis: namespaces with the same name in both pools are one namespace`,
      );
    }
  }
  if (pools['default']?.migrate_to !== undefined && !hasPlace(tokens)) {
    warnings.push(
      'pools.default is migrating, and the tokens stay in its Redis: set tokens to that Redis before the end of the migration',
    );
  }
  if (tokens.allow_unsafe) warnings.push(unsafe('tokens'));
  return warnings;
}

/** Settings without those that they need: nothing fails, and nothing works. */
function withoutEffect({ pools, later, push, data }: Config): string[] {
  const warnings: string[] = [];
  if (later.port !== undefined && later.allow.length === 0) {
    warnings.push(
      'later.port is set, and later.allow is empty: every /create is refused. Set later.allow to the origins that callbacks may go to, such as ["https://app.example.com"]',
    );
  }
  if (later.port === undefined && later.allow.length > 0) {
    warnings.push("later.allow has no effect: later's API is off. Set later.port to use it");
  }
  const isPushing = push.enabled || later.port !== undefined;
  if (!isPushing && (push.allow.length > 0 || push.allow_http)) {
    const key = push.allow.length > 0 ? 'allow' : 'allow_http';
    warnings.push(`push.${key} has no effect: this server does not push. Set push.enabled = true to use it`);
  }
  const isEmbedded = Object.values(pools).some(({ url }) => url === EMBEDDED);
  if (!isEmbedded && data.max_memory_bytes > 0) {
    warnings.push(
      'data.max_memory_bytes has no effect: no pool is embedded. Set maxmemory in the configuration of your Redis',
    );
  }
  return warnings;
}

function unsafe(path: string): string {
  return `${path}.allow_unsafe is set: its Redis may lose jobs by eviction or by a restart, without an error`;
}

function hasPlace({ url, sentinels, cluster }: RedisTarget): boolean {
  return url !== undefined || sentinels !== undefined || cluster !== undefined;
}

/** Like `placeOf`, but each pool has its own embedded Redis. */
function poolPlace(pool: RedisTarget, name: string): string {
  return pool.url === EMBEDDED ? JSON.stringify(name) : placeOf(pool);
}

/** The port of Redis, which `URL` does not know. */
const DEFAULT_PORT = '6379';

/** Two pools with equal results are the same Redis; with different ones they may still be. */
function placeOf({ url, sentinels, master_name, cluster, db }: RedisTarget): string {
  const { hostname, port, pathname } =
    url === undefined || url === EMBEDDED ? { hostname: '', port: '', pathname: '' } : new URL(url);
  // guard: default-port-is-the-same-redis
  const host = `${hostname}:${port === '' ? DEFAULT_PORT : port}`;
  const number = Number(db ?? pathname.slice(1));
  return JSON.stringify([
    host,
    number,
    [...(sentinels ?? [])].sort(),
    master_name,
    [...(cluster ?? [])].sort(),
  ]);
}
