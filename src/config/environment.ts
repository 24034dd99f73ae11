import type { Table } from './merge.js';

const PREFIX = 'PUMPHOUSE_';
/** Switches of the set-up scripts: not ours to read. */
const FOREIGN = new Set(['PUMPHOUSE__NO_INSTALL']);

type Kind = 'string' | 'integer' | 'boolean' | 'list';

/** Kinds of the keys that are no strings. What is not here is taken raw: an account's password may look like a number. */
const KINDS: Readonly<Record<string, Kind>> = {
  'server.port': 'integer',
  'server.workers': 'integer',
  'server.ready_lag_ms': 'integer',
  'server.drain_ms': 'integer',
  'server.keep_alive_ms': 'integer',
  'server.request_timeout_ms': 'integer',
  'server.max_header_bytes': 'integer',
  'admin.port': 'integer',
  'pools.*.sentinels': 'list',
  'pools.*.cluster': 'list',
  'pools.*.db': 'integer',
  'pools.*.allow_unsafe': 'boolean',
  'redis.command_timeout_ms': 'integer',
  'limits.max_body_bytes': 'integer',
  'limits.max_bulk_bytes': 'integer',
  'lmstfy.public_sizes': 'boolean',
  'lmstfy.default_delay_s': 'integer',
  'lmstfy.default_ttl_s': 'integer',
  'lmstfy.default_tries': 'integer',
  'lmstfy.default_ttr_s': 'integer',
  'lmstfy.default_timeout_s': 'integer',
  'metrics.max_queues': 'integer',
  'metrics.public': 'boolean',
  'log.access': 'boolean',
};

/**
 * The part of the environment that is ours: `PUMPHOUSE_SERVER__PORT=80` is `server.port`. Only names with `__` count, for Kubernetes
 * sets `PUMPHOUSE_PORT=tcp://…` on its own. Names of pools and accounts are taken in lower case.
 */
export function readEnvironment(env: Readonly<Record<string, string | undefined>>): Table {
  const found: Table = {};
  for (const [name, value] of Object.entries(env)) {
    const upper = name.toUpperCase();
    if (value === undefined || !upper.startsWith(PREFIX) || !upper.includes('__') || FOREIGN.has(upper))
      continue;
    const path = name.slice(PREFIX.length).toLowerCase().split('__');
    place(found, path, coerce(path, value));
  }
  return found;
}

function place(table: Table, path: readonly string[], value: unknown): void {
  const [key = '', ...rest] = path;
  if (rest.length === 0) {
    table[key] = value;
    return;
  }
  const below = Object.hasOwn(table, key) ? table[key] : undefined;
  const next = typeof below === 'object' && below !== null ? (below as Table) : {};
  table[key] = next;
  place(next, rest, value);
}

/** A value that does not fit its kind stays as it is: the check names the key and the rule. */
function coerce(path: readonly string[], value: string): unknown {
  const key = path[0] === 'pools' ? ['pools', '*', ...path.slice(2)].join('.') : path.join('.');
  switch (KINDS[key] ?? 'string') {
    case 'integer':
      return /^-?\d{1,15}$/.test(value) ? Number(value) : value;
    case 'boolean':
      return value === 'true' ? true : value === 'false' ? false : value;
    case 'list':
      return value.split(',').map((item) => item.trim());
    case 'string':
      return value;
  }
}
