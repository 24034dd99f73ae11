import { EmbeddedRedis } from '../../src/redis/embedded/embedded.js';

/**
 * A server reduced to its embedded Redis, to be killed: `embedded-owner.ts DATA_DIR`. Prints one line of JSON when it
 * owns the Redis, or the reason why not; SIGTERM stops it in order.
 */
const quiet = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

try {
  const [, , dataDir = ''] = process.argv;
  const redis = await EmbeddedRedis.start({ pool: 'default', dataDir, log: quiet });
  process.once('SIGTERM', () => void redis.stop().then(() => process.exit(0)));
  console.log(JSON.stringify({ pid: redis.pid, adopted: redis.adopted, socketPath: redis.socketPath }));
} catch (error) {
  console.log(JSON.stringify({ error: error instanceof Error ? error.message : String(error) }));
  process.exitCode = 1;
}
