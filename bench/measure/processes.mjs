/** Processes and what they cost: everything that the benchmark starts, and ends again by its id. */
import { execFileSync, fork, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';

/** Clock ticks per second in /proc/PID/stat: 100 on every Linux that Node runs on. */
const TICKS = 100;

/** @type {Set<import('node:child_process').ChildProcess>} */
const children = new Set();
/** @type {Set<string>} */
const folders = new Set();

/** Ends what is left and removes the temporary folders. Safe to call twice. */
export function cleanUp() {
  for (const child of children) end(child);
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  children.clear();
  folders.clear();
}

/** Kills a child and its own children, whom the cluster's primary may leave behind. @param {import('node:child_process').ChildProcess} child */
function end(child) {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  for (const pid of familyOf(child.pid).reverse()) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended already.
    }
  }
}

export function temporaryFolder() {
  const folder = mkdtempSync(join(os.tmpdir(), 'pumphouse-bench-'));
  folders.add(folder);
  return folder;
}

/**
 * @param {string} program
 * @param {string[]} args
 * @param {import('node:child_process').SpawnOptions} [options]
 */
export function start(program, args, options = {}) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  return watched(child);
}

/** Starts a module of ours, with IPC. @param {string} path @param {string[]} [args] */
export function startModule(path, args = []) {
  return watched(fork(path, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }));
}

/** @param {import('node:child_process').ChildProcess} child */
function watched(child) {
  let output = '';
  const keep = (/** @type {Buffer} */ chunk) => (output = (output + chunk.toString()).slice(-4_000));
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  children.add(child);
  child.once('exit', () => children.delete(child));
  return { child, pid: child.pid ?? 0, output: () => output };
}

/** Asks a child to end, and waits. @param {{ child: import('node:child_process').ChildProcess }} started */
export async function stop(
  { child },
  signal = /** @type {NodeJS.Signals} */ ('SIGTERM'),
  patienceMs = 10_000,
) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  const timer = setTimeout(() => end(child), patienceMs);
  await ended;
  clearTimeout(timer);
}

/**
 * Runs `act` while a process is stopped.
 *
 * @template T
 * @param {number} pid
 * @param {() => T} act
 * @returns {T}
 */
export function held(pid, act) {
  process.kill(pid, 'SIGSTOP');
  try {
    // The signal takes effect a few microseconds later, when the process would run again.
    while (/[RSD]/.test(statOf(pid)?.[0] ?? ''));
    return act();
  } finally {
    process.kill(pid, 'SIGCONT');
  }
}

/**
 * Tries until it works, the process that it asks has ended, or its time is over: 20 s unless another one is given.
 *
 * @template T
 * @param {{ child: import('node:child_process').ChildProcess, output: () => string }} started
 * @param {() => Promise<T>} attempt
 * @param {number} [patienceMs]
 * @returns {Promise<T>}
 */
export async function until(started, attempt, patienceMs = 20_000) {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const { exitCode, spawnfile } = started.child;
      if (exitCode !== null || Date.now() > deadline) {
        throw new Error(`${spawnfile} does not start: ${String(error)}\n${started.output()}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** CPU seconds, user and system, that a process and its children have used so far. @param {number} pid */
export function cpuSeconds(pid) {
  return familyOf(pid).reduce((sum, one) => sum + (exactSeconds(one) ?? tickSeconds(one)), 0);
}

/**
 * The scheduler's own account, to the microsecond, of all threads of a process; null if this kernel does not show it. A row of
 * half a CPU second needs it: the ticks of /proc/PID/stat are 10 ms each.
 *
 * @param {number} pid
 */
function exactSeconds(pid) {
  try {
    let ms = 0;
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const text = readFileSync(`/proc/${pid}/task/${thread}/sched`, 'latin1');
      ms += Number(/^se\.sum_exec_runtime\s*:\s*([\d.]+)/m.exec(text)?.[1]);
    }
    return Number.isNaN(ms) ? null : ms / 1_000;
  } catch {
    return null;
  }
}

/** @param {number} pid */
function tickSeconds(pid) {
  const fields = statOf(pid);
  return fields ? (Number(fields[11]) + Number(fields[12])) / TICKS : 0;
}

/** A process and all that it started. @param {number} pid @returns {number[]} */
export function familyOf(pid) {
  const parents = new Map();
  for (const entry of readdirSync('/proc')) {
    const fields = /^\d+$/.test(entry) ? statOf(Number(entry)) : null;
    if (fields) parents.set(Number(entry), Number(fields[1]));
  }
  const family = [pid];
  for (const member of family) {
    for (const [child, parent] of parents) if (parent === member) family.push(child);
  }
  return family;
}

/** The fields of /proc/PID/stat after the name (which may hold spaces); null if the process has ended. @param {number} pid */
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}

/** What the figures were measured on. @param {string} redisProgram */
export function machine(redisProgram) {
  const cpus = os.cpus();
  const text = (/** @type {string} */ program, /** @type {string[]} */ args) => {
    try {
      return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    } catch {
      return 'unknown';
    }
  };
  return {
    cpu: cpus[0]?.model ?? 'unknown',
    cores: cpus.length,
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    kernel: `${os.type()} ${os.release()}`,
    node: process.version,
    redis: /v=(\S+)/.exec(text(redisProgram, ['--version']))?.[1] ?? 'unknown',
    commit: text('git', ['rev-parse', '--short', 'HEAD']),
    loadAverageBefore: os.loadavg().map((load) => Number(load.toFixed(2))),
    startedAt: new Date().toISOString(),
  };
}

/**
 * Gives Redis one CPU, and this process and all that it starts from now on another: the slow log has the time that passes, which
 * includes what other processes take from Redis.
 *
 * @param {number} redisPid
 * @param {(text: string) => void} log gets what was done
 * @returns {() => void} gives this process all CPUs again
 */
export function pinApart(redisPid, log) {
  const pin = (/** @type {number} */ pid, /** @type {string} */ cpus) =>
    spawnSync('taskset', ['-apc', cpus, String(pid)]).status === 0;
  const isPinned = os.availableParallelism() > 1 && pin(redisPid, '1') && pin(process.pid, '0');
  log(isPinned ? 'Redis has a CPU of its own' : 'not pinned: other processes may interrupt Redis');
  return () => void (isPinned && pin(process.pid, `0-${os.cpus().length - 1}`));
}
