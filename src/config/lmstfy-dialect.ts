import { isTable, type Table } from './merge.js';

/** Top-level keys of a lmstfy file, in lower case, and where they go. */
const KEYS: Readonly<Record<string, readonly [section: string, key: string]>> = {
  host: ['server', 'host'],
  port: ['server', 'port'],
  adminhost: ['admin', 'host'],
  adminport: ['admin', 'port'],
  accounts: ['admin', 'accounts'],
  enableaccesslog: ['log', 'access'],
  ttlsecond: ['lmstfy', 'default_ttl_s'],
  delaysecond: ['lmstfy', 'default_delay_s'],
  triesnum: ['lmstfy', 'default_tries'],
  ttrsecond: ['lmstfy', 'default_ttr_s'],
  timeoutsecond: ['lmstfy', 'default_timeout_s'],
};
const POOL_KEYS: Readonly<Record<string, string>> = {
  password: 'password',
  db: 'db',
  mastername: 'master_name',
  sentinelpassword: 'sentinel_password',
  migrateto: 'migrate_to',
};
const LEVELS: Readonly<Record<string, string>> = {
  trace: 'debug',
  debug: 'debug',
  info: 'info',
  warn: 'warn',
  warning: 'warn',
  error: 'error',
  fatal: 'error',
  panic: 'error',
};
/** lmstfy keys that have no counterpart here. */
const IDLE = new Set(['logdir', 'poolsize', 'version']);
const SPECIAL = new Set(['pool', 'adminredis', 'loglevel', 'logformat']);
/** Our sections; `pools` is not one of lmstfy's. */
const OURS = new Set([
  'server',
  'admin',
  'pools',
  'tokens',
  'data',
  'redis',
  'limits',
  'lmstfy',
  'metrics',
  'log',
]);
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|::1)$/;

/** A lmstfy file in our words. */
export interface Translation {
  readonly table: Table;
  readonly warnings: string[];
  readonly problems: string[];
}

/** True if the file is written in lmstfy's words: at least one top-level key is lmstfy's own. */
export function isLmstfyDialect(file: Table): boolean {
  return Object.keys(file).some((key) => !OURS.has(key) && isLmstfyKey(key.toLowerCase()));
}

/**
 * Says a lmstfy file in our words. It then also gets lmstfy's own defaults: bodies up to 1 MiB and public size calls. Zero and
 * empty values mean "not set" there.
 */
export function translateLmstfy(file: Table): Translation {
  const table: Table = {
    limits: { max_body_bytes: 1_048_576, max_bulk_bytes: 67_108_864 },
    lmstfy: { public_sizes: true },
  };
  const translation: Translation = { table, warnings: [], problems: [] };
  for (const [spelt, value] of Object.entries(file)) {
    const key = spelt.toLowerCase();
    const target = KEYS[key];
    if (OURS.has(spelt)) translation.problems.push(`${spelt}: a lmstfy file and ours cannot be mixed`);
    else if (IDLE.has(key)) translation.warnings.push(`${spelt} of a lmstfy file has no meaning here`);
    else if (target) {
      if (!isUnset(value)) put(table, target[0], target[1], value);
    } else if (!translateSpecial(translation, spelt, value)) {
      translation.problems.push(`${spelt} is not a key of a lmstfy file`);
    }
  }
  guardAdmin(translation);
  return translation;
}

function isLmstfyKey(key: string): boolean {
  return key in KEYS || IDLE.has(key) || SPECIAL.has(key);
}

function isUnset(value: unknown): boolean {
  return value === '' || value === 0;
}

function translateSpecial(
  { table, warnings, problems }: Translation,
  spelt: string,
  value: unknown,
): boolean {
  switch (spelt.toLowerCase()) {
    case 'loglevel':
      if (value !== '') put(table, 'log', 'level', LEVELS[String(value).toLowerCase()] ?? value);
      return true;
    case 'logformat':
      if (value !== '') put(table, 'log', 'format', String(value).toLowerCase() === 'json' ? 'json' : 'auto');
      return true;
    case 'adminredis':
      if (isTable(value)) put(table, 'tokens', 'url', urlOf(lowerKeys(value)));
      else problems.push('AdminRedis must be a table');
      return true;
    case 'pool':
      if (isTable(value)) translatePools(table, value, warnings, problems);
      else problems.push('Pool must be a table');
      return true;
    default:
      return false;
  }
}

function translatePools(table: Table, pools: Table, warnings: string[], problems: string[]): void {
  for (const [name, spelt] of Object.entries(pools)) {
    if (!isTable(spelt)) {
      problems.push(`Pool.${name} must be a table`);
      continue;
    }
    const pool = lowerKeys(spelt);
    const ours: Table = {};
    const addresses = String(pool['addr'] ?? '')
      .split(',')
      .map((address) => address.trim());
    if (pool['mastername']) ours['sentinels'] = addresses;
    else ours['url'] = `redis://${addresses[0] ?? ''}`;
    for (const [key, value] of Object.entries(pool)) {
      const target = POOL_KEYS[key];
      if (target !== undefined && !isUnset(value)) ours[target] = value;
      else if (IDLE.has(key)) warnings.push(`Pool.${name}: ${key} of a lmstfy file has no meaning here`);
      else if (target === undefined && key !== 'addr')
        problems.push(`Pool.${name}.${key} is not a key of a lmstfy file`);
    }
    put(table, 'pools', name, ours);
  }
}

/** lmstfy serves its admin port to everyone by default; ours falls back to loopback unless accounts are set. */
function guardAdmin({ table, warnings }: Translation): void {
  const admin = isTable(table['admin']) ? table['admin'] : {};
  const host = admin['host'];
  const accounts = admin['accounts'];
  const isOpen = typeof host === 'string' && !LOOPBACK.test(host);
  if (isOpen && (!isTable(accounts) || Object.keys(accounts).length === 0)) {
    admin['host'] = '127.0.0.1';
    warnings.push(
      'AdminHost is no loopback address and there are no accounts: the admin port listens on 127.0.0.1',
    );
  }
}

function urlOf(redis: Table): string {
  const password = typeof redis['password'] === 'string' ? redis['password'] : '';
  const secret = password === '' ? '' : `:${encodeURIComponent(password)}@`;
  const db = typeof redis['db'] === 'number' && redis['db'] > 0 ? `/${String(redis['db'])}` : '';
  return `redis://${secret}${String(redis['addr'] ?? '')}${db}`;
}

function lowerKeys(table: Table): Table {
  return Object.fromEntries(Object.entries(table).map(([key, value]) => [key.toLowerCase(), value]));
}

function put(table: Table, section: string, key: string, value: unknown): void {
  const below = table[section];
  table[section] = { ...(isTable(below) ? below : {}), [key]: value };
}
