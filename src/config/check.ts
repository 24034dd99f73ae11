import { availableParallelism } from 'node:os';
import type { ValidationError } from 'class-validator';
import { replicasOf } from '../domain/durability.js';
import { EMBEDDED, isLoopback } from './addresses.js';
import { validateSync } from './class-validator.js';
import type { Config, RedisTarget, TlsListenerConfig } from './config.js';
import { migrationProblems } from './migrations.js';
import { below } from './tree.js';

/** What is wrong at a path. Never holds a value: it may be a secret. */
export interface Problem {
  readonly path: string;
  readonly text: string;
}

/** Everything that is wrong with the values of a configuration: each for itself, and where that is right, together. */
export function problemsOf(config: Config): Problem[] {
  const problems = [
    ...valueProblems(config),
    ...Object.entries(config.pools).flatMap(([name, pool]) => valueProblems(pool, below('pools', name))),
  ];
  const isSound = (path: string): boolean =>
    !problems.some((problem) => `${problem.path}.`.startsWith(`${path}.`));
  return [...problems, ...joint(config, isSound)];
}

function valueProblems(of: object, path = ''): Problem[] {
  // The class's own keys were sorted out before; should one slip through, it stops the boot here.
  return flat(validateSync(of, { whitelist: true, forbidNonWhitelisted: true }), path);
}

function flat(errors: readonly ValidationError[], path: string): Problem[] {
  return errors.flatMap(({ property, constraints, children }) => {
    const at = below(path, property);
    const [text] = Object.values(constraints ?? {});
    return [...(text === undefined ? [] : [{ path: at, text }]), ...flat(children ?? [], at)];
  });
}

/** What is wrong with values that are right one by one. */
function joint(config: Config, isSound: (path: string) => boolean): Problem[] {
  const { server, admin, pools, tokens, limits, lmstfy } = config;
  const problems: Problem[] = [];
  const say = (path: string, text: string): void => void problems.push({ path, text });
  if (isSound('admin') && !isLoopback(admin.host) && Object.keys(admin.accounts).length === 0) {
    say('admin.host', 'must be a loopback address, or admin.accounts must be set');
  }
  if (isSound('admin.port') && server.port === admin.port && server.port !== 0) {
    say('admin.port', 'must not be server.port');
  }
  if (isSound('server')) problems.push(...listenerProblems(server, 'server'));
  if (isSound('admin')) problems.push(...listenerProblems(admin, 'admin'));
  if (isSound('limits') && limits.max_bulk_bytes < limits.max_body_bytes) {
    say('limits.max_bulk_bytes', 'must be at least limits.max_body_bytes');
  }
  if (isSound('lmstfy') && lmstfy.default_ttl_s !== 0 && lmstfy.default_ttl_s < lmstfy.default_delay_s) {
    say('lmstfy.default_ttl_s', 'must be 0, or at least lmstfy.default_delay_s');
  }
  if (!Object.hasOwn(pools, 'default')) say('pools.default', 'is missing: there must be a pool of that name');
  for (const [name, pool] of Object.entries(pools)) {
    const path = below('pools', name);
    if (isSound(path)) problems.push(...targetProblems(pool, path));
    if (pool.url === EMBEDDED && replicasOf(pool.durability) > 0) {
      say(below(path, 'durability'), 'cannot be had from the embedded Redis: it has no replicas');
    }
  }
  if (isSound('pools')) problems.push(...migrationProblems(pools, poolPlace));
  if (isSound('tokens')) problems.push(...tokensProblems(tokens));
  return problems;
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
      { path: 'tokens.url', text: 'must be a redis:// or rediss:// URL, or left out for the default pool' },
    ];
  }
  const isSaid = Object.entries(tokens).some(([key, value]) => key !== 'allow_unsafe' && value !== undefined);
  return isSaid ? targetProblems(tokens, 'tokens') : [];
}

function targetProblems(target: RedisTarget, path: string): Problem[] {
  const { url, sentinels, master_name, sentinel_password, cluster, username, password, db } = target;
  const problems: Problem[] = [];
  const say = (key: string, text: string): void => void problems.push({ path: below(path, key), text });
  if ([url, sentinels, cluster].filter((way) => way !== undefined).length !== 1) {
    return [{ path, text: 'needs exactly one of url, sentinels (with master_name), and cluster' }];
  }
  if (sentinels !== undefined && master_name === undefined) say('master_name', 'is missing beside sentinels');
  if (sentinels === undefined && master_name !== undefined) say('master_name', 'goes with sentinels only');
  if (sentinels === undefined && sentinel_password !== undefined) {
    say('sentinel_password', 'goes with sentinels only');
  }
  if (cluster !== undefined && db !== undefined)
    say('db', 'does not go with cluster: a Redis Cluster has one');
  problems.push(...pairProblems(target.tls_cert, target.tls_key, path));
  for (const key of ['tls_ca', 'tls_cert'] as const) {
    if (target[key] !== undefined && url !== undefined && !/^rediss:/i.test(url)) {
      say(key, 'goes with a rediss:// url only');
    }
  }
  if (url === EMBEDDED) {
    if (username !== undefined) say('username', 'does not go with the embedded Redis');
    if (password !== undefined) say('password', 'does not go with the embedded Redis');
    if (db !== undefined) say('db', 'does not go with the embedded Redis');
  } else if (url !== undefined) {
    const parts = new URL(url);
    if (parts.username !== '' && username !== undefined) say('username', 'is also in the url');
    if (parts.password !== '' && password !== undefined) say('password', 'is also in the url');
    if (/\d/.test(parts.pathname) && db !== undefined) say('db', 'is also in the url');
  }
  return problems;
}

/** What is not wrong, and yet worth a line at start. */
export function warningsOf({ server, pools, tokens }: Config, cores = availableParallelism()): string[] {
  const warnings: string[] = [];
  if (server.workers > cores) {
    warnings.push(
      `server.workers is ${server.workers}, and this machine has ${cores} cores: more do not help`,
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
        `pools ${other} and ${name} are the same Redis: namespaces of one name are one namespace`,
      );
    }
  }
  if (pools['default']?.migrate_to !== undefined && !hasPlace(tokens)) {
    warnings.push(
      'pools.default migrates, and tokens stay in its Redis: name that Redis in tokens before the migration is ended or swapped',
    );
  }
  if (tokens.allow_unsafe) warnings.push(unsafe('tokens'));
  return warnings;
}

function unsafe(path: string): string {
  return `${path}.allow_unsafe is set: its Redis may lose jobs by eviction or by a restart, and nobody will be told`;
}

function hasPlace({ url, sentinels, cluster }: RedisTarget): boolean {
  return url !== undefined || sentinels !== undefined || cluster !== undefined;
}

/** As below, but embedded Redis are one for each pool. */
function poolPlace(pool: RedisTarget, name: string): string {
  return pool.url === EMBEDDED ? JSON.stringify(name) : placeOf(pool);
}

/** Two pools with the same one are the same Redis; two with different ones may still be. */
function placeOf({ url, sentinels, master_name, cluster, db }: RedisTarget): string {
  const { host, pathname } =
    url === undefined || url === EMBEDDED ? { host: '', pathname: '' } : new URL(url);
  const number = Number(db ?? pathname.slice(1));
  return JSON.stringify([
    host,
    number,
    [...(sentinels ?? [])].sort(),
    master_name,
    [...(cluster ?? [])].sort(),
  ]);
}
