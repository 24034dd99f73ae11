import { spawn, spawnSync } from 'node:child_process';
import { constants as os } from 'node:os';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The repository's root: all paths below are counted from here, wherever the scripts are started. */
export const ROOT = join(import.meta.dirname, '..', '..');

/** The program and the first arguments that run Jest. */
export const JEST = [process.execPath, join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js')];

/** A failure that is not a bug: its message is all that a person needs to see. */
export class SetupError extends Error {}

/** Prints what set-up does, apart from what the server says. */
export function log(text) {
  process.stderr.write(`pumphouse: ${text}\n`);
}

/** A command line that can be pasted into a shell. */
export function shown(argv) {
  return argv
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(' ');
}

/** Runs a program in the foreground; true if it exits with 0. */
export function run(argv, options = {}) {
  const [program, ...args] = argv;
  const { status } = spawnSync(program, args, { stdio: ['ignore', 2, 2], cwd: ROOT, ...options });
  return status === 0;
}

/** Where `program` is on the PATH, or null. */
export function onPath(program, path = process.env.PATH ?? '') {
  for (const dir of path.split(delimiter)) {
    const file = join(dir || '.', program);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // not in this one
    }
  }
  return null;
}

/** A terminal sends Ctrl-C to npm and to us, and npm sends it to us once more: within this it is one signal, in ms. */
const SAME_SIGNAL_MS = 200;

/**
 * Runs the server until it ends. It gets a process group of its own and hears signals from us alone, each once: the
 * second one would end it at once, in the middle of its work.
 *
 * @returns {Promise<number>} its exit code; 128 + n if signal n ended it
 */
export function serve(argv, options = {}) {
  const [program, ...args] = argv;
  const child = spawn(program, args, { stdio: 'inherit', detached: true, ...options });
  const lastMs = {};
  const forward = (signal) => {
    const now = performance.now();
    if (now - (lastMs[signal] ?? -Infinity) > SAME_SIGNAL_MS)
      child.kill(signal === 'SIGHUP' ? 'SIGTERM' : signal);
    lastMs[signal] = now;
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, forward);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? 128 + os.signals[signal]));
  });
}
