/**
 * `npm run test:topologies`: the specs of the engine, the API and the workers against a standalone Redis with AOF, a Sentinel group
 * (a master, two replicas, three sentinels) and a Cluster (three masters with a replica each), all started here on loopback; against a
 * Redis without functions, to which servers send their scripts as before Redis 7; and against a standalone Valkey, or a Redis that is as new.
 *
 * `npm run test:topologies -- cluster test/api` takes one of them, and the specs whose paths contain a word.
 */
import { spawn } from 'node:child_process';
import { slowness } from '../test/support/slowness.mjs';
import { redisWithWaitAof } from './setup/newer-redis.mjs';
import { JEST, ROOT } from './setup/run.mjs';
import { OWN_REDIS } from './topologies/own-redis.mjs';

const ALL = ['standalone', 'sentinel', 'cluster', 'scripts', 'valkey'];
const FOLDERS = [
  'test/engine',
  'test/api',
  'test/properties',
  'test/processes/start',
  'test/worker/contract',
  'packages/client/test',
];
/** The most for one topology. */
const MINUTES = 20 * slowness();

const words = process.argv.slice(2);
const chosen = ALL.filter((name) => words.includes(name));
const paths = words.filter((word) => !ALL.includes(word));
const failed = [];
for (const topology of chosen.length > 0 ? chosen : ALL) {
  console.log(`--- ${topology}`);
  const code = await specs(topology).catch((/** @type {Error} */ error) => console.error(error.message));
  if (code !== 0) failed.push(topology);
}
for (const [spec, reason] of Object.entries(OWN_REDIS)) console.log(`not here: ${spec}: ${reason}`);
console.log(failed.length === 0 ? 'all passed' : `failed: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;

/** Runs them; one that hangs is ended and fails. @returns the exit code, null if it was ended */
async function specs(topology) {
  // Long forms have parts of their own in `npm run test:full`.
  const left = [...Object.keys(OWN_REDIS), '.long.spec.ts'].flatMap((spec) => [
    '--testPathIgnorePatterns',
    spec.replaceAll('.', '\\.'),
  ]);
  const [program, ...argv] = [...JEST, ...(paths.length > 0 ? paths : FOLDERS), ...left];
  const env = { ...process.env, PUMPHOUSE_TEST_TOPOLOGY: topology };
  if (topology === 'valkey') {
    env.PUMPHOUSE_TEST_TOPOLOGY = 'standalone';
    env.PUMPHOUSE_REDIS_SERVER = redisWithWaitAof();
  }
  const child = spawn(program, argv, { cwd: ROOT, env, stdio: 'inherit' });
  const timer = setTimeout(() => child.kill('SIGTERM'), MINUTES * 60_000);
  const code = await new Promise((resolve) => child.once('exit', resolve));
  clearTimeout(timer);
  return code;
}
