import { didYouMean } from '../domain/similar-name.js';
import { emptyTree, isTree, lay, type Layer, type Tree } from './tree.js';

/** lmstfy's defaults, where ours are different. */
const HABITS: Tree = {
  // Bodies up to 1 MiB, and as many of them in a bulk request as fit into our maximum: 64, the largest number of jobs
  // in one.
  limits: { max_body_bytes: 1_048_576, max_bulk_bytes: 67_108_864 },
  lmstfy: { public_sizes: true },
};

/** Our key for one of lmstfy's, and the conversion of its value. */
interface Target {
  readonly path: readonly string[];
  readonly convert?: (value: unknown) => unknown;
}

/** Keys of a lmstfy file, in lower case because their case does not matter. null: no equivalent here. */
const KEYS: Readonly<Record<string, Target | null>> = {
  host: { path: ['server', 'host'], convert: host },
  port: { path: ['server', 'port'] },
  adminhost: { path: ['admin', 'host'], convert: host },
  adminport: { path: ['admin', 'port'] },
  accounts: { path: ['admin', 'accounts'] },
  loglevel: { path: ['log', 'level'], convert: level },
  logformat: { path: ['log', 'format'], convert: format },
  enableaccesslog: { path: ['log', 'access'] },
  logdir: null,
  delaysecond: { path: ['lmstfy', 'default_delay_s'] },
  ttlsecond: { path: ['lmstfy', 'default_ttl_s'] },
  triesnum: { path: ['lmstfy', 'default_tries'] },
  ttrsecond: { path: ['lmstfy', 'default_ttr_s'] },
  timeoutsecond: { path: ['lmstfy', 'default_timeout_s'] },
};
const REDIS_KEYS: Readonly<Record<string, Target | null>> = {
  password: { path: ['password'] },
  db: { path: ['db'] },
  mastername: { path: ['master_name'] },
  sentinelpassword: { path: ['sentinel_password'] },
  migrateto: { path: ['migrate_to'] },
  poolsize: null,
  version: null,
  engineversion: null,
};
const REDIS_SECTIONS = ['pool', 'adminredis'];
/** Our sections as written in a file. None is a lmstfy key. */
const OUR_SECTIONS = [
  'server',
  'admin',
  'pools',
  'tokens',
  'data',
  'limits',
  'events',
  'redis',
  'lmstfy',
  'metrics',
  'stats',
  'log',
];

/** Our keys for the address of a pool. */
const OUR_PLACES = ['url', 'sentinels', 'cluster'];

/** logrus levels with another name here. */
const LEVELS: Readonly<Record<string, string>> = { warning: 'warn', panic: 'fatal' };

/** lmstfy requires brackets around an IPv6 address; we forbid them. */
function host(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/^\[(.*)\]$/, '$1') : value;
}

function level(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const lower = value.toLowerCase();
  return LEVELS[lower] ?? lower;
}

function format(value: unknown): unknown {
  return typeof value === 'string' && value.toLowerCase() === 'text' ? 'pretty' : value;
}

/** True if any key of a parsed file is one of lmstfy's; `pool` may also be a misspelt `pools` of ours. */
export function isLmstfyFile(file: Tree): boolean {
  return Object.entries(file).some(
    ([key, value]) => isLmstfyKey(key.toLowerCase()) && !(key === 'pool' && isOurs(file, value)),
  );
}

/** True if no pool has an `Addr`, which lmstfy requires, and the pools or the rest of the file have keys of ours. */
function isOurs(file: Tree, pools: unknown): boolean {
  const keys = isTree(pools)
    ? Object.values(pools).flatMap((pool) => (isTree(pool) ? Object.keys(pool) : []))
    : [];
  if (keys.some((key) => key.toLowerCase() === 'addr')) return false;
  return (
    keys.some((key) => OUR_PLACES.includes(key)) ||
    OUR_SECTIONS.some((section) => Object.hasOwn(file, section))
  );
}

function isLmstfyKey(key: string): boolean {
  return Object.hasOwn(KEYS, key) || REDIS_SECTIONS.includes(key);
}

/**
 * Translates a lmstfy file into our keys, on top of lmstfy's defaults. Keys without an equivalent are skipped, with a
 * warning.
 *
 * @param problems receives a line for each key that lmstfy does not have, including ours: a file has one dialect
 */
export function translateLmstfy(
  file: Tree,
  name: string,
  problems: string[],
): { readonly layer: Layer; readonly warnings: readonly string[] } {
  const translation = new Translation(name, problems);
  translation.readTop(file);
  const { tree, spelt, idle } = translation;
  const warnings = idle.length === 0 ? [] : [`${name}: ${idle.join(', ')} has no effect here`];
  const origin = (path: string): string => (spelt.has(path) ? `${spelt.get(path) ?? ''} in ${name}` : name);
  return { layer: { tree: lay(HABITS, tree), origin }, warnings };
}

class Translation {
  tree = emptyTree();
  /** Name of each key in the file, by its path here. */
  readonly spelt = new Map<string, string>();
  readonly idle: string[] = [];

  constructor(
    private readonly file: string,
    private readonly problems: string[],
  ) {}

  readTop(file: Tree): void {
    for (const [key, value] of Object.entries(file)) {
      const lower = key.toLowerCase();
      if (OUR_SECTIONS.includes(key)) {
        this.problems.push(`${this.file} mixes lmstfy's keys with ours: ${key} is not one of lmstfy's`);
      } else if (!REDIS_SECTIONS.includes(lower)) this.put(KEYS, key, key, [], value);
      else if (!isTree(value)) this.problems.push(`${key} must be a section (${this.file})`);
      else if (lower === 'adminredis') this.readRedis(key, ['tokens'], value);
      else this.readPools(key, value);
    }
  }

  private readPools(key: string, pools: Tree): void {
    for (const [name, pool] of Object.entries(pools)) {
      if (isTree(pool)) this.readRedis(`${key}.${name}`, ['pools', name], pool);
      else this.problems.push(`${key}.${name} must be a section (${this.file})`);
    }
  }

  private readRedis(spelt: string, path: readonly string[], redis: Tree): void {
    const find = (name: string) => Object.entries(redis).find(([key]) => key.toLowerCase() === name);
    const [addressKey, address] = find('addr') ?? ['Addr', ''];
    const master = find('mastername')?.[1] ?? '';
    if (address === '') {
      // An AdminRedis section without an address is not used.
      if (path[0] === 'pools') this.problems.push(`${spelt}.Addr is missing (${this.file})`);
      return;
    }
    const isSentinel = master !== '';
    this.place(
      [...path, isSentinel ? 'sentinels' : 'url'],
      `${spelt}.${addressKey}`,
      placeOf(address, isSentinel),
    );
    for (const [key, value] of Object.entries(redis)) {
      if (key.toLowerCase() === 'addr') continue;
      this.put(REDIS_KEYS, key, `${spelt}.${key}`, path, value);
    }
  }

  /** In a lmstfy file an empty text means no value. */
  private put(keys: typeof KEYS, key: string, spelt: string, under: readonly string[], value: unknown): void {
    const lower = key.toLowerCase();
    const target = Object.hasOwn(keys, lower) ? keys[lower] : undefined;
    if (target === undefined)
      this.problems.push(
        `${spelt} is not a key of lmstfy's (${this.file})${didYouMean(key, Object.keys(keys))}`,
      );
    else if (value === '') return;
    else if (target === null) this.idle.push(spelt);
    else this.place([...under, ...target.path], spelt, target.convert ? target.convert(value) : value);
  }

  private place(path: readonly string[], spelt: string, value: unknown): void {
    this.spelt.set(path.join('.'), spelt);
    this.tree = lay(
      this.tree,
      path.reduceRight<unknown>((inside, key) => ({ [key]: inside }), value) as Tree,
    );
  }
}

/** Converts `host:port` to a URL, or `host:port,host:port` to a list of sentinels. */
function placeOf(address: unknown, isSentinel: boolean): unknown {
  if (typeof address !== 'string') return address;
  return isSentinel ? address.split(',').map((one) => one.trim()) : `redis://${address.trim()}`;
}
