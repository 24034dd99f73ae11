import { ensureBuild } from './build.mjs';
import { ensureDependencies } from './dependencies.mjs';
import { ensureRedis, needsRedis } from './redis.mjs';
import { log, SetupError } from './run.mjs';

/** Makes everything ready that `node dist/main.js` needs; false if it cannot be, after saying why. */
export function prepare(args, env = process.env) {
  try {
    if (needsRedis(args, env)) ensureRedis();
    ensureDependencies();
    ensureBuild();
    return true;
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    log(error.message);
    return false;
  }
}
