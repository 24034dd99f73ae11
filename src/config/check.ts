import { validateSync, type ValidationError } from 'class-validator';
import { hasLegalCharacters } from '../domain/names.js';
import { PoolConfig, type Config } from './config.js';

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|::1|\[::1\])$/;

/** Every problem of a configuration, each with the path of its key and the rule, never with the value. */
export function problemsOf(config: Config): string[] {
  const problems = listErrors(validateSync(config, { whitelist: true, forbidNonWhitelisted: true }), '');
  problems.push(...accountProblems(config), ...poolProblems(config));
  if (!LOOPBACK.test(config.admin.host) && Object.keys(config.admin.accounts).length === 0) {
    problems.push('admin.host must be a loopback address unless admin.accounts are set');
  }
  if (config.limits.max_bulk_bytes < config.limits.max_body_bytes) {
    problems.push('limits.max_bulk_bytes must not be less than limits.max_body_bytes');
  }
  return problems;
}

function listErrors(errors: readonly ValidationError[], path: string): string[] {
  return errors.flatMap((error) => {
    const key = path === '' ? error.property : `${path}.${error.property}`;
    const own = Object.entries(error.constraints ?? {}).map(([rule, message]) =>
      rule === 'whitelistValidation'
        ? `${key} is not a known key`
        : `${path === '' ? '' : `${path}.`}${message}`,
    );
    return [...own, ...listErrors(error.children ?? [], key)];
  });
}

function accountProblems({ admin }: Config): string[] {
  return Object.entries(admin.accounts).flatMap(([name, password]) =>
    typeof password === 'string' && password !== '' && !name.includes(':')
      ? []
      : [`admin.accounts.${name} must be a password, and its name without a colon`],
  );
}

function poolProblems({ pools }: Config): string[] {
  const problems = 'default' in pools ? [] : ['pools.default must exist'];
  for (const [name, pool] of Object.entries(pools)) {
    const path = `pools.${name}`;
    if (!hasLegalCharacters(name)) problems.push(`${path}: a pool's name has letters, digits, - and _ only`);
    if (!(pool instanceof PoolConfig)) {
      problems.push(`${path} must be a table`);
      continue;
    }
    problems.push(...listErrors(validateSync(pool, { whitelist: true, forbidNonWhitelisted: true }), path));
    const ways = [pool.url, pool.sentinels, pool.cluster].filter((way) => way !== undefined).length;
    if (ways !== 1) problems.push(`${path} needs exactly one of url, sentinels and cluster`);
    if ((pool.sentinels === undefined) !== (pool.master_name === undefined)) {
      problems.push(`${path}: sentinels and master_name go together`);
    }
  }
  return problems;
}
