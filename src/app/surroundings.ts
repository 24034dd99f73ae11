import { createServer } from 'node:net';
import type { Config } from '../config/config.js';
import { tokenOptions } from '../config/pool-options.js';
import type { Log } from '../domain/log.js';
import type { PoolOptions } from '../domain/pool.js';
import { RedisPool } from '../redis/pool.js';

/** Logs nothing: the server itself logs the same problems later. */
const SILENT: Log = { debug: hush, info: hush, warn: hush, error: hush };

function hush(): void {
  return undefined;
}

/**
 * Checks the environment of a server once, before each worker does: connects to every Redis and closes it again, and
 * opens the admin port for a moment. So a problem is reported only once, and before any request is served.
 *
 * @throws {Error} a Redis is unsuitable or unreachable, or the admin port is taken
 */
export async function checkSurroundings(
  config: Config,
  pools: Readonly<Record<string, PoolOptions>>,
): Promise<void> {
  const tokens = tokenOptions(config);
  const checks = Object.entries(pools).map(([name, options]) =>
    // guard: every-redis-is-checked
    checkPool(name, options),
  );
  // guard: token-redis-is-checked
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
    server.listen({ host, /* guard: admin-port-is-tried */ port }, () => server.close(() => resolve()));
  });
}
