/**
 * `npm run test:mutants`: switches off one guard at a time, in a copy of the tree, and expects the test that is named for it to fail. A
 * guard that no test misses is a guard that may vanish unseen: then the exit code is 1.
 *
 * `npm run test:mutants -- undo notify` takes only the guards whose names contain one of the words (or whose id is one of them),
 * `-- --shard 1/2` every second one. `-- --jobs N` has N of them off at a time, each in a copy of its own: most of the time a test waits
 * for what does not happen without the guard.
 */
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { slowness } from '../test/support/slowness.mjs';
import { GUARDS } from './mutants/guards.mjs';
import { switchOff } from './mutants/markers.mjs';
import { markedFiles } from './mutants/places.mjs';
import { testNamePattern } from './mutants/test-names.mjs';
import { JEST, ROOT } from './setup/run.mjs';

const COPIED = [
  'src',
  'packages',
  'test',
  'lua',
  'config',
  'docs',
  'scripts',
  'package.json',
  '.swcrc',
  'jest.config.mjs',
  'tsconfig.json',
];
/** Random tests play more than in `npm test`: what a few sequences miss, they find. */
const AMOUNT = { PUMPHOUSE_PROPERTY_RUNS: '160' };
/** One guard's test, and all of them together. */
const RUN_MS = 900_000 * slowness();
const HEALTHY_MS = 3 * RUN_MS;

const { values, positionals: words } = parseArgs({
  allowPositionals: true,
  options: {
    shard: { type: 'string', default: '1/1' },
    jobs: { type: 'string', default: String(2 * availableParallelism()) },
  },
});
const [shard, shards] = values.shard.split('/').map(Number);
const files = markedFiles(ROOT);
const guards = GUARDS.filter(
  ({ name, id }, i) =>
    (words.length === 0 || words.some((word) => name.includes(word) || id === word)) &&
    i % shards === shard - 1,
).map(located);
if (guards.length === 0) {
  console.error(`no guard has one of these words in its name, or as its id: ${words.join(' ')}`);
  process.exit(2);
}
const trees = Array.from({ length: Number(values.jobs) }, () =>
  mkdtempSync(join(tmpdir(), 'pumphouse-mutants-')),
);
try {
  trees.forEach(copyTo);
  const healthy = await withGuards();
  const verdicts = healthy ? await withoutGuards() : ['the tests fail with all guards in place'];
  const bad = verdicts.filter((verdict) => verdict !== 'killed').length;
  console.log(`${verdicts.length - bad} guards are missed when they are off, ${bad} are not`);
  process.exitCode = bad === 0 && verdicts.length > 0 ? 0 : 1;
} finally {
  for (const tree of trees) rmSync(tree, { recursive: true, force: true });
}

function copyTo(tree) {
  for (const name of COPIED) cpSync(join(ROOT, name), join(tree, name), { recursive: true });
  if (existsSync(join(ROOT, 'dist'))) symlinkSync(join(ROOT, 'dist'), join(tree, 'dist'));
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
}

/** A guard with its file and the pattern of its test. */
function located(guard) {
  return { ...guard, file: files.get(guard.id)[0], test: testNamePattern(guard.test) };
}

/** A test that fails anyway would say nothing: all of them together first. Files that fail are run once more, each alone. */
async function withGuards() {
  const specs = [...new Set(guards.map(({ spec }) => spec))];
  const names = [...new Set(guards.map(({ test }) => test))].join('|');
  const [tree] = trees;
  const { passed, failedFiles } = await jest(tree, specs, names, {}, HEALTHY_MS);
  const failed = [];
  for (const file of failedFiles) failed.push(...(await jest(tree, [file], names)).failed);
  console.log(`with all guards: ${passed} passed, ${failed.join(', ') || 'none failed'}\n`);
  return failed.length === 0 && passed > 0;
}

async function withoutGuards() {
  const verdicts = [];
  const rest = guards.values();
  const inTree = async (tree) => {
    // All of them take the next guard of the same list.
    for (const guard of rest) {
      const beganMs = Date.now();
      const verdict = await withoutGuard(tree, guard);
      verdicts.push(verdict);
      const seconds = ((Date.now() - beganMs) / 1_000).toFixed(1).padStart(5);
      console.log(
        `${verdict === 'killed' ? 'ok  ' : 'BAD '} ${seconds} s  ${guard.name}${verdict === 'killed' ? '' : `: ${verdict}`}`,
      );
    }
  };
  await Promise.all(trees.map(inTree));
  return verdicts;
}

/** @returns 'killed' if the named test failed and everything else about the run was in order; else what was not */
async function withoutGuard(tree, guard) {
  const { id, off, file, spec, test, env } = guard;
  const path = join(tree, file);
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, switchOff(file, text, id, off));
  try {
    const { passed, failed, broken } = await jest(tree, [spec], test, env);
    if (broken > 0) return `${spec} could not be run`;
    if (failed.length > 0) return 'killed';
    return passed > 0 ? `${spec} passes without it` : `no test of ${spec} is called ${test}`;
  } finally {
    writeFileSync(path, text);
  }
}

/** Runs the tests of some specs whose names match. */
async function jest(tree, specs, name, env = {}, withinMs = RUN_MS) {
  const report = join(tree, 'report.json');
  rmSync(report, { force: true });
  const [program, ...argv] = [
    ...JEST,
    '--runInBand',
    '--json',
    `--outputFile=${report}`,
    '--forceExit',
    `--testNamePattern=${name}`,
    '--runTestsByPath',
    ...specs,
  ];
  const child = spawn(program, argv, {
    cwd: tree,
    env: { ...process.env, ...AMOUNT, ...env },
    stdio: 'ignore',
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), withinMs);
  await new Promise((resolve) => child.once('exit', resolve));
  clearTimeout(timer);
  if (!existsSync(report))
    return { passed: 0, failed: [`no report of ${specs.join()}`], failedFiles: specs, broken: 1 };
  const { numPassedTests, numRuntimeErrorTestSuites, testResults } = JSON.parse(readFileSync(report, 'utf8'));
  const failed = testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName),
  );
  const missing = testResults
    .filter(({ assertionResults }) => assertionResults.length === 0)
    .map((r) => r.name);
  const failedFiles = testResults.filter(({ status }) => status === 'failed').map(({ name }) => name);
  return {
    passed: numPassedTests,
    failed: [...failed, ...missing],
    failedFiles,
    broken: numRuntimeErrorTestSuites,
  };
}
