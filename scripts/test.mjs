/**
 * `npm test`: what a contributor runs, on a machine with nothing but Node.js and npm. Prepares as `npm start` does; then types, lint and
 * format beside the specs, and the README's first steps. `npm run test:faults` runs the other specs: faults, random input, whole
 * processes, Sentinel and Cluster. Everything runs, whatever failed before. The last line sums it up: `N passed, M failed`. Longer
 * forms: `npm run test:full`.
 *
 * `npm test -- smoke lint` runs only these steps.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { constants, freemem, setPriority, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { prepare } from './setup/prepare.mjs';
import { debianSteps, isUsable } from './setup/plan.mjs';
import { inspectMachine, serversOnPath, thisMachine } from './setup/machine.mjs';
import { carryOut } from './setup/redis.mjs';
import { JEST, onPath, ROOT, run, log, SetupError } from './setup/run.mjs';
import { addToPath, findUnpacked, unpack } from './setup/unpacked.mjs';
import { smoke } from './checks/smoke.mjs';

const BIN = join(ROOT, 'node_modules', '.bin');
const MINUTE_MS = 60_000;
/** A step that takes this long hangs. Several times what it takes on two idle cores: a busy or slow machine is no failure. */
const STEP_MINUTES = 60;

/** A folder in memory. */
const MEMORY = '/dev/shm';
/** Room that the temporary folders of the specs need in memory, several times what they take at most. */
const MEMORY_FOLDER_BYTES = 4 * 1024 ** 3;

/**
 * Programs that some specs need beside Node.js and Redis, and Debian's packages that have them. Those with the option `unpacked`, which
 * prints their version, run from any folder; the others look for their files where they were installed.
 */
const TOOLS = [
  { program: 'cc', specs: 'specs that step the clock of a process', packages: ['gcc', 'libc6-dev'] },
  { program: 'prlimit', specs: 'the spec of a full disk', packages: ['util-linux'] },
  {
    ...{ program: 'curl', specs: 'the spec of the guide from lmstfy', packages: ['curl'] },
    unpacked: '--version',
  },
  { program: 'luacheck', specs: 'the check of the Lua scripts', packages: ['lua-check'] },
  ...['haproxy', 'nginx'].map((name) => ({
    ...{ program: name, packages: [name], service: name, unpacked: '-v' },
    specs: 'specs of workers behind proxies',
  })),
  { program: 'python3', specs: 'specs of the Python client', packages: ['python3'] },
  // Not pip: Debian's needs ca-certificates, whose installation rewrites the list of trusted CAs. Then npm may not trust its registry any more.
  { program: 'mypy', specs: 'the check of its types', packages: ['mypy'] },
  { program: 'go', specs: 'specs of the Go client', packages: ['golang-go'] },
  { program: 'ip', specs: 'the judge, which needs hosts', packages: ['iproute2'] },
  { program: 'nft', specs: 'the judge, which needs hosts', packages: ['nftables'] },
  { program: 'zsh', specs: 'the spec of its completion', packages: ['zsh'] },
  { program: 'fish', specs: 'the spec of its completion', packages: ['fish'] },
  {
    program: 'chromium-headless-shell',
    specs: 'specs of the console in a browser',
    packages: ['chromium-headless-shell'],
  },
];

/** Fail-overs and other long forms are for `npm run test:full`. */
const LEFT_OUT = ['/node_modules/', '/failover/', '\\.long\\.spec\\.ts$'];

/** The specs of `npm run test:faults`: folders, and a file of the client. */
const OF_FAULTS = '/test/(faults|judge|processes|properties|topologies)[/.]';

/**
 * Lists of steps that follow one another; the lists of one stage run beside each other. Lint has the lowest priority: it takes the time
 * in which the specs wait, and those with a time limit do not feel it.
 */
const STAGES = [
  [
    [
      { name: 'specs', group: 'jest', run: () => jest(leaving([...LEFT_OUT, OF_FAULTS])) },
      { name: 'faults', group: 'faults', run: () => jest([OF_FAULTS, ...leaving(LEFT_OUT)]) },
    ],
    [
      { name: 'rules', group: 'lint', run: () => quietly(['oxlint', '--config', 'oxlint.config.mjs']) },
      { name: 'types', group: 'lint', run: () => quietly(['tsc', '-p', 'tsconfig.json', '--noEmit']) },
      { name: 'console types', group: 'lint', run: () => quietly(['tsc', '-p', 'packages/console']) },
      { name: 'its test types', group: 'lint', run: () => quietly(['tsc', '-p', 'packages/console/test']) },
      { name: 'format', group: 'lint', run: () => quietly(['oxfmt', '--check']) },
      { name: 'imports', group: 'lint', run: () => quietly(['depcruise', 'src', 'packages']) },
      { name: 'prose', group: 'lint', run: () => silently(['npm', 'run', '--silent', 'lint:prose']) },
      { name: 'links', group: 'lint', run: () => silently([process.execPath, 'scripts/checks/links.mjs']) },
      { name: 'words', group: 'lint', run: () => silently([process.execPath, 'scripts/checks/words.mjs']) },
    ],
  ],
  [[{ name: 'smoke', group: 'smoke', run: smoke }]],
];

const wanted = process.argv.length > 2 ? process.argv.slice(2) : ['jest', 'lint', 'smoke'];
const total = { passed: 0, failed: 0, skipped: 0 };
/** What failed, by name: said again at the end, where it is found in a long output. */
const failures = [];
// The specs start their own Redis, whatever Redis the settings name.
if (prepare([], {})) {
  // The specs' own servers: valkey-server where that is what there is.
  process.env.PUMPHOUSE_REDIS_SERVER ??= serversOnPath().find(({ version }) => isUsable(version))?.program;
  installTools();
  for (const stage of STAGES) await Promise.all(stage.map(playAll));
  sayWhatIsMissing();
} else {
  failures.push('the preparation');
  total.failed += 1;
}
for (const name of failures) console.log(`failed: ${name}`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1);

async function playAll(steps) {
  for (const step of steps) await play(step);
}

async function play({ name, group, run }) {
  if (!wanted.includes(name) && !wanted.includes(group)) return;
  const begunMs = Date.now();
  const { passed, failed, skipped = 0, names = [] } = await run();
  failures.push(...(failed > 0 && names.length === 0 ? [name] : names));
  total.passed += passed;
  total.failed += failed;
  total.skipped += skipped;
  const counts = `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
  log(`--- ${name}: ${counts}, ${Math.round((Date.now() - begunMs) / 1_000)} s`);
}

/** A command that passes by exit code 0; one that hangs is ended and fails. @returns what it printed, too */
async function command(argv, stdio, { env = process.env, priority } = {}) {
  const [program, ...args] = argv;
  const child = spawn(program, args, { cwd: ROOT, stdio, env });
  if (child.pid !== undefined && priority !== undefined) setPriority(child.pid, priority);
  const printed = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => printed.push(chunk));
  const timer = setTimeout(() => {
    log(`${program} has not ended within ${STEP_MINUTES} minutes`);
    child.kill('SIGKILL');
  }, STEP_MINUTES * MINUTE_MS);
  const code = await new Promise((resolve) => {
    child.once('error', () => resolve(null));
    child.once('close', resolve);
  });
  clearTimeout(timer);
  const counts = code === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
  return { ...counts, printed: Buffer.concat(printed).toString() };
}

/** Runs a program of a package. Its output appears at its end, in one piece, and only if it fails. */
function quietly([program, ...args]) {
  return silently([join(BIN, program), ...args]);
}

async function silently(argv) {
  const { printed, ...counts } = await command(argv, 'pipe', {
    priority: constants.priority.PRIORITY_LOW,
  });
  if (counts.failed > 0) process.stderr.write(printed);
  return counts;
}

/** The specs, counted one by one. A file that cannot be run counts as a failure, and so does a run without a report. */
async function jest(args) {
  const folder = temporaryFolder();
  const report = join(folder, 'report.json');
  const argv = [...JEST, '--json', `--outputFile=${report}`, '--testLocationInResults=false', ...args];
  const ended = await command([...argv, '--cacheDirectory', join(tmpdir(), 'pumphouse-jest')], 'inherit', {
    env: { ...process.env, TMPDIR: folder },
  });
  const found = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : null;
  rmSync(folder, { recursive: true, force: true });
  if (found === null) return { passed: 0, failed: 1 };
  const failed = found.numFailedTests + found.numRuntimeErrorTestSuites;
  return {
    passed: found.numPassedTests,
    failed: failed === 0 ? ended.failed : failed,
    skipped: found.numPendingTests,
    names: found.testResults.flatMap(namesOfFailures),
  };
}

/** The failed tests of a file of specs; the file itself if it cannot be run. */
function namesOfFailures({ name, status, assertionResults }) {
  const file = relative(ROOT, name);
  const failed = assertionResults.filter((test) => test.status === 'failed');
  if (status === 'failed' && failed.length === 0) return [file];
  return failed.map(({ fullName }) => `${file} › ${fullName}`);
}

/**
 * A folder for all that the specs write: it ends with them. It is in memory if the machine has room there: hundreds of Redis processes
 * write append-only files, and a slow disk makes specs miss their time limits.
 */
function temporaryFolder() {
  return mkdtempSync(join(hasRoom(MEMORY) ? MEMORY : tmpdir(), 'pumphouse-'));
}

function hasRoom(folder) {
  if (!existsSync(folder)) return false;
  const { bsize, bavail } = statfsSync(folder);
  return Math.min(bsize * bavail, freemem()) >= MEMORY_FOLDER_BYTES;
}

/** Arguments that leave out files whose path matches one of the patterns. */
function leaving(patterns) {
  return ['--testPathIgnorePatterns', ...patterns];
}

function missingTools() {
  // Debian has servers in a folder that is not on the PATH of every user.
  return TOOLS.filter(({ program }) => onPath(program, `${process.env.PATH ?? ''}:/usr/sbin`) === null);
}

/** As root on Debian. Without root those are unpacked that run from any folder; the others are for the user to install. */
function installTools() {
  const missing = missingTools();
  const mayInstall = process.env.PUMPHOUSE__NO_INSTALL !== '1';
  if (missing.length === 0 || !mayInstall || onPath('apt-get') === null) return;
  if (process.getuid?.() !== 0) {
    unpackTools(missing.filter(({ unpacked }) => unpacked !== undefined));
    return;
  }
  const packages = missing.flatMap((tool) => tool.packages);
  const services = missing.flatMap(({ service }) => service ?? []);
  carryOut(debianSteps(packages, services, inspectMachine().have.policy), (argv) => run(argv));
}

/** Without them their specs are left out, which is said at the end. */
function unpackTools(tools) {
  if (tools.length === 0) return;
  const machine = thisMachine();
  const what = {
    name: tools.map(({ program }) => program).join('-'),
    choose: () => tools.flatMap(({ packages }) => packages),
    programs: Object.fromEntries(tools.map(({ program, unpacked }) => [program, unpacked])),
  };
  try {
    addToPath(findUnpacked(what, machine) ?? unpack(what, machine), machine);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    log(`${what.name} could not be taken into ${machine.store} (${error.message})`);
  }
}

/** With CI=true specs that cannot run are a failure. */
function sayWhatIsMissing() {
  for (const { program, specs, packages } of missingTools()) {
    log(
      `not run: ${specs}; there is no \`${program}\` on the PATH (Debian: apt-get install ${packages.join(' ')})`,
    );
    if (process.env.CI !== 'true') continue;
    failures.push(`not run: ${specs}`);
    total.failed += 1;
  }
}
