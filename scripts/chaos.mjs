/**
 * `npm run chaos`: the long form of every scenario in docs/reliability.md that has one: `test/faults` and `test/properties`. Prints
 * its seed first; the same seed gives the same plan of faults again, but not the same timing.
 *
 *     npm run chaos                                        all of it: hours on a small machine
 *     npm run chaos -- nemesis                             one file
 *     npm run chaos -- timers -t T9                        one scenario
 *     PUMPHOUSE_CHAOS_SEED=7 npm run chaos -- nemesis      a run once more
 *     PUMPHOUSE_CHAOS_ROUNDS=5 npm run chaos               less of it
 *     PUMPHOUSE_CHAOS_HISTORY=DIR npm run chaos            keeps the histories of sound runs too
 *
 * The history of a run that failed is kept in any case; `node scripts/checks/history.mjs FILE` checks it again.
 */
import { spawn } from 'node:child_process';
import { redisWithWaitAof } from './setup/newer-redis.mjs';
import { JEST, ROOT, log, SetupError } from './setup/run.mjs';

/** Patterns of paths: faults, and all that is random. */
const FILES = ['test/faults', 'test/properties'];

const env = { ...process.env };
env.PUMPHOUSE_CHAOS_ROUNDS ??= '20';
env.PUMPHOUSE_CHAOS_SEED ??= String(Date.now() % 2 ** 31);
// A run of the model is of up to 140 operations, about 70 on the average: more than 10^5 in all.
env.PUMPHOUSE_PROPERTY_RUNS ??= String(Number(env.PUMPHOUSE_CHAOS_ROUNDS) * 80);
try {
  env.PUMPHOUSE_TEST_WAITAOF_SERVER ??= redisWithWaitAof();
} catch (error) {
  // Only the spec of WAITAOF needs it, and fails without.
  if (!(error instanceof SetupError)) throw error;
  log(error.message);
}
console.log(
  `PUMPHOUSE_CHAOS_SEED=${env.PUMPHOUSE_CHAOS_SEED} PUMPHOUSE_CHAOS_ROUNDS=${env.PUMPHOUSE_CHAOS_ROUNDS}`,
);

const wanted = process.argv.slice(2);
const namesFiles = wanted.some((word, i) => !word.startsWith('-') && wanted[i - 1] !== '-t');
const files = namesFiles ? [] : FILES;
const [program, ...argv] = [...JEST, '--runInBand', '--verbose', '--forceExit', ...files, ...wanted];
const child = spawn(program, argv, { cwd: ROOT, env, stdio: 'inherit' });
child.once('exit', (code) => process.exit(code ?? 1));
