/**
 * `npm test`: the whole of it, on a machine with nothing but Node.js and npm. Prepares as `npm start` does, then
 * build, rules, types, format, specs, fault specs, and a newcomer's first five minutes. Everything runs, whatever
 * failed before. The last line sums it up: `N passed, M failed`.
 *
 * `npm test -- smoke lint` runs only these steps.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepare } from './setup/prepare.mjs';
import { isUsable } from './setup/plan.mjs';
import { serversOnPath } from './setup/redis.mjs';
import { ROOT, say } from './setup/run.mjs';
import { smoke } from './smoke.mjs';

const BIN = join(ROOT, 'node_modules', '.bin');
const MINUTE_MS = 60_000;

/** For `npm run chaos`. */
const FAILOVERS = ['/failover/', '\\.long\\.spec\\.ts$'];

/** In the order in which a failure is cheapest to learn of. */
const STEPS = [
  { name: 'eslint', group: 'lint', run: () => command([join(BIN, 'eslint'), '.']) },
  { name: 'types', group: 'lint', run: () => command([join(BIN, 'tsc'), '-p', 'tsconfig.json', '--noEmit']) },
  { name: 'format', group: 'lint', run: () => command([join(BIN, 'prettier'), '--check', '.']) },
  {
    name: 'specs',
    group: 'jest',
    run: () => jest(['--testPathIgnorePatterns', '/node_modules/', '/test/chaos/'], 12),
  },
  // Without fail-overs, which take minutes.
  {
    name: 'faults',
    group: 'chaos',
    run: () =>
      jest(['--runInBand', '--passWithNoTests', 'test/chaos', '--testPathIgnorePatterns', ...FAILOVERS], 10),
  },
  { name: 'smoke', group: 'smoke', run: smoke },
];

const wanted = process.argv.slice(2);
const total = { passed: 0, failed: 0 };
// The specs start their own Redis, whatever Redis the settings name.
if (prepare([], {})) {
  // The specs' own servers: valkey-server where that is what there is.
  process.env.PUMPHOUSE_REDIS_SERVER ??= serversOnPath().find(({ version }) => isUsable(version))?.program;
  for (const { name, group, run } of STEPS) {
    if (wanted.length > 0 && !wanted.includes(name) && !wanted.includes(group)) continue;
    say(`--- ${name}`);
    const begunMs = Date.now();
    const { passed, failed } = await run();
    total.passed += passed;
    total.failed += failed;
    say(`--- ${name}: ${passed} passed, ${failed} failed, ${Math.round((Date.now() - begunMs) / 1_000)} s`);
  }
} else {
  total.failed += 1;
}
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1);

/** A command that passes by exit code 0; one that hangs is ended and fails. */
async function command(argv, { minutes = 5, env = process.env } = {}) {
  const [program, ...args] = argv;
  const child = spawn(program, args, { cwd: ROOT, env, stdio: 'inherit' });
  const timer = setTimeout(() => {
    say(`${program} has not ended within ${minutes} minutes`);
    child.kill('SIGKILL');
  }, minutes * MINUTE_MS);
  const code = await new Promise((resolve) => {
    child.once('error', () => resolve(null));
    child.once('exit', resolve);
  });
  clearTimeout(timer);
  return code === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

/** The specs, counted one by one. A file that cannot be run counts as a failure, and so does a run without a report. */
async function jest(args, minutes) {
  const dir = mkdtempSync(join(tmpdir(), 'pumphouse-jest-'));
  const report = join(dir, 'report.json');
  const program = join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js');
  const node = [process.execPath, '--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  const argv = [
    ...node,
    program,
    '--json',
    `--outputFile=${report}`,
    '--testLocationInResults=false',
    ...args,
  ];
  const ended = await command(argv, { minutes });
  const found = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : null;
  rmSync(dir, { recursive: true });
  if (found === null) return { passed: 0, failed: 1 };
  const failed = found.numFailedTests + found.numRuntimeErrorTestSuites;
  return { passed: found.numPassedTests, failed: failed === 0 ? ended.failed : failed };
}
