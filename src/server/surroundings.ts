import { createServer } from 'node:net';
import type { Config } from '../config/config.js';
import { tokenOptions } from '../config/pool-options.js';
import type { Log } from '../domain/log.js';
import type { PoolOptions } from '../domain/pool.js';
import { RedisPool } from '../redis/pool.js';

/** What is worth a line is said by those who stay. */
const SILENT: Log = { debug: hush, info: hush, warn: hush, error: hush };

function hush(): void {
  return undefined;
}

/**
 * Looks at what a server stands on before its workers do, each for itself: every Redis, opened and closed again, and the admin port, which
 * opens last. So what is wrong is said once, and before anybody is served.
 *
 * @throws {Error} a Redis is unfit or away, or the admin port is taken
 */
export async function checkSurroundings(
  config: Config,
  pools: Readonly<Record<string, PoolOptions>>,
): Promise<void> {
  const tokens = tokenOptions(config);
  const checks = Object.entries(pools).map(([name, options]) => checkPool(name, options));
  if (tokens !== undefined) checks.push(checkPool('tokens', tokens));
  await Promise.all([checkPort(config.admin), ...checks]);
}

async function checkPool(name: string, options: PoolOptions): Promise<void> {
  const pool = await RedisPool.connect(name, options, SILENT);
  await pool.close();
}

function checkPort({ host, port }: Config['admin']): Promise<void> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => server.close(() => resolve()));
  });
}
