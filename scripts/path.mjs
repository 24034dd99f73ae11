/**
 * Prints the PATH for programs that start a server: that of the environment, and first on it the Redis that `npm start` has
 * unpacked, where none is installed.
 */
import { findRedis } from './setup/redis.mjs';
import { log, SetupError } from './setup/run.mjs';

try {
  // Without any Redis the server itself says so, if it needs one.
  findRedis();
  process.stdout.write(process.env.PATH ?? '');
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  log(error.message);
  process.exitCode = 1;
}
