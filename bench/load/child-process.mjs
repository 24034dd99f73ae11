/**
 * A load generator is a process of its own, so that its work does not delay the clock of what is measured. Both sides of the
 * protocol are here: the parent sends commands by name, several may be under way at a time.
 */
import { join } from 'node:path';
import { startModule, stop } from '../measure/processes.mjs';

/** Starts a load generator of this folder. @param {string} file */
export function startLoad(file) {
  const started = startModule(join(import.meta.dirname, file));
  /** @type {Map<number, { resolve: (result: any) => void, reject: (error: Error) => void }>} */
  const open = new Map();
  let calls = 0;
  started.child.on('message', (/** @type {any} */ { id, result, error }) => {
    const pending = open.get(id);
    open.delete(id);
    if (error) pending?.reject(new Error(error));
    else pending?.resolve(result);
  });
  started.child.once('exit', () => {
    for (const { reject } of open.values()) reject(new Error(`${file} has ended`));
  });
  return {
    pid: started.pid,
    /** @param {string} command @param {object} [options] @returns {Promise<any>} */
    call(command, options = {}) {
      const id = ++calls;
      return new Promise((resolve, reject) => {
        open.set(id, { resolve, reject });
        started.child.send({ id, command, options }, (error) => error && reject(error));
      });
    },
    stop: () => stop(started, 'SIGKILL'),
  };
}

/** The other side, in the load generator. @param {Record<string, (options: any) => unknown>} commands */
export function answerParent(commands) {
  process.on('message', async (/** @type {any} */ { id, command, options }) => {
    try {
      const act = commands[command];
      if (!act) throw new Error(`no such command: ${command}`);
      process.send?.({ id, result: (await act(options)) ?? null });
    } catch (error) {
      process.send?.({ id, error: error instanceof Error ? error.message : String(error) });
    }
  });
  // The parent is gone: so are we.
  process.on('disconnect', () => process.exit());
}

/** @param {number} ms @returns {Promise<void>} */
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, Math.max(ms, 0)));
