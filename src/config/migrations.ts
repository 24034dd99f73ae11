import type { Problem } from './problems.js';
import type { PoolConfig } from './config.js';
import { below } from './tree.js';

/** Migration targets by pool name: of the pools with `migrate_to`. */
export function migrationsOf(pools: Readonly<Record<string, PoolConfig>>): Map<string, string> {
  const found = new Map<string, string>();
  for (const [name, { migrate_to: target }] of Object.entries(pools)) {
    if (target !== undefined) found.set(name, target);
  }
  return found;
}

/**
 * Problems of migrations: each must lead to another pool of the configuration, in another Redis, and they must not form
 * a cycle.
 *
 * @param placeOf returns equal texts for two pools that are certainly the same Redis
 */
export function migrationProblems(
  pools: Readonly<Record<string, PoolConfig>>,
  placeOf: (pool: PoolConfig, name: string) => string,
): Problem[] {
  const migrations = migrationsOf(pools);
  return [...migrations].flatMap(([name, target]) => {
    const text =
      wrongWith(name, target, pools, placeOf) ?? /* guard: migrating-no-circle */ circleOf(name, migrations);
    return text === undefined ? [] : [{ path: below(below('pools', name), 'migrate_to'), text }];
  });
}

function wrongWith(
  name: string,
  target: string,
  pools: Readonly<Record<string, PoolConfig>>,
  placeOf: (pool: PoolConfig, name: string) => string,
): string | undefined {
  const [from, to] = [pools[name], Object.hasOwn(pools, target) ? pools[target] : undefined];
  // Do not show the value: an operator may have put a secret there by mistake.
  if (!from || !to) return `must be the name of a pool; allowed: ${Object.keys(pools).join(', ')}`;
  if (name === target) return `must be another pool than ${name} itself`;
  if (placeOf(from, name) === placeOf(to, target))
    return `must be a pool in another Redis than that of ${name}`;
  return undefined;
}

function circleOf(name: string, migrations: ReadonlyMap<string, string>): string | undefined {
  const way = [name];
  for (let at = migrations.get(name); at !== undefined; at = migrations.get(at)) {
    way.push(at);
    if (at === name) return `goes round in a circle: ${way.join(' → ')}`;
    if (way.indexOf(at) < way.length - 1) return undefined;
  }
  return undefined;
}
