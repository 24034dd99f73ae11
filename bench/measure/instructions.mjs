/**
 * How many machine instructions Redis executes in user space. Unlike CPU time they do not depend on what else the machine does, and
 * two runs of one build differ by less than a percent.
 */
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { start } from './processes.mjs';

const EVENT = 'instructions:u';

/**
 * @typedef {object} Counter
 * @property {string[]} prefix of the command that starts Redis
 * @property {(pid: number) => Promise<() => Promise<number>>} attach returns a function that reads the count so far
 */

/** @typedef {keyof typeof COUNTERS} CounterName */

const COUNTERS = {
  /** The processor's own counters: Redis runs at full speed. */
  perf: () => ({ prefix: [], attach: attachPerf }),

  /** Counts in a simulated processor, which most virtual machines need. Redis is about 50 times slower. */
  callgrind: (/** @type {string} */ folder) => {
    const pipes = `--vgdb-prefix=${join(folder, 'vgdb')}`;
    const out = `--callgrind-out-file=${join(folder, 'callgrind.out')}`;
    return {
      prefix: ['valgrind', '--tool=callgrind', out, pipes],
      attach: (/** @type {number} */ pid) => Promise.resolve(() => readCallgrind(pipes, pid)),
    };
  },
};

/** @param {CounterName} name @param {string} folder of the Redis @returns {Counter} */
export const counterOf = (name, folder) => COUNTERS[name](folder);

/** What counts on this machine: perf if the processor lets it, else callgrind. @returns {CounterName} */
export function findCounter() {
  if (perfCount(output('perf', ['stat', '-x,', '-e', EVENT, 'true'])) > 0) return 'perf';
  if (/^valgrind/.test(output('valgrind', ['--version']))) return 'callgrind';
  throw new Error(
    'nothing here counts instructions: neither perf (Debian: linux-perf) nor valgrind (Debian: valgrind)',
  );
}

/** @param {string} program @param {string[]} args @returns {string} empty if there is no such program */
function output(program, args) {
  const { stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  return `${stdout ?? ''}${stderr ?? ''}`;
}

/** The count in what `perf stat -x,` prints; NaN if the processor has no such counter. @param {string} text */
export const perfCount = (text) => Number(/^(\d+),[^,]*,/m.exec(text)?.[1] ?? NaN);

/** The sum over all threads in what callgrind prints of its state. @param {string} text */
export const callgrindCount = (text) =>
  Array.from(text.matchAll(/^events-\d+: (\d+)/gm), ([, count]) => Number(count)).reduce(
    (sum, count) => sum + count,
    0,
  );

/** @param {string} pipes @param {number} pid */
async function readCallgrind(pipes, pid) {
  // A Redis that waits for requests is interrupted after so many ms.
  const args = [pipes, `--pid=${pid}`, '--max-invoke-ms=5', 'status', 'internal'];
  const { stdout } = await promisify(execFile)('vgdb', args);
  return callgrindCount(stdout);
}

/** perf tells a count only when it ends: each reading ends one and starts the next. @param {number} pid */
async function attachPerf(pid) {
  let finish = await startPerf(pid);
  let sum = 0;
  return async () => {
    sum += await finish();
    finish = await startPerf(pid);
    return sum;
  };
}

/** Counts from when it returns until its result is called. @param {number} pid @returns {Promise<() => Promise<number>>} */
async function startPerf(pid) {
  // It starts without counting, and confirms on a pipe that it counts: attaching takes a while.
  const args = ['stat', '-x,', '-e', EVENT, '-D', '-1', '--control', 'fd:3,4', '-p', String(pid)];
  const perf = start('perf', args, { stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'] });
  const [control, confirmed] = /** @type {any[]} */ (perf.child.stdio.slice(3));
  control.write('enable\n');
  await once(confirmed, 'data');
  return async () => {
    perf.child.kill('SIGINT');
    await once(perf.child, 'close');
    return perfCount(perf.output());
  };
}
