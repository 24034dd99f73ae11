/** What a program of the benchmark does when it runs by itself. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { cleanUp, machine } from '../measure/processes.mjs';
import { BUILT_SERVER } from '../servers/test-server.mjs';
import { targetTable } from '../report/target-table.mjs';

/**
 * @typedef {object} Options
 * @property {string} program the built server's main file
 * @property {string} redis the redis-server program
 * @property {number} workers
 * @property {boolean} quick
 * @property {number} [jobs] how many, in place of the size of the run
 * @property {number} [killEverySeconds] of operations: the server is killed and started again, this often on average
 * @property {(text: string) => void} log gets progress messages
 */

/** Runs `main`, and ends every child process and temporary folder with it. @param {() => Promise<void>} main */
export async function cleaningUp(main) {
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => {
      cleanUp();
      process.exit(1);
    });
  }
  try {
    await main();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  } finally {
    cleanUp();
  }
}

/**
 * `[--quick] [--jobs N] [--kill-every S] [--workers N] [--redis PROGRAM] [--server FILE] [--out FILE]`: runs one and prints its table.
 *
 * @param {(options: Options) => Promise<{ rows: import('../report/target-table.mjs').Row[] }>} run
 */
export function runStandalone(run) {
  const { values: flags } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      jobs: { type: 'string' },
      'kill-every': { type: 'string' },
      workers: { type: 'string', default: '1' },
      redis: { type: 'string', default: 'redis-server' },
      server: { type: 'string', default: BUILT_SERVER },
      out: { type: 'string' },
    },
  });
  return cleaningUp(async () => {
    const about = machine(flags.redis);
    const { rows } = await run({
      program: flags.server,
      redis: flags.redis,
      workers: Number(flags.workers),
      quick: flags.quick,
      ...(flags.jobs === undefined ? {} : { jobs: Number(flags.jobs) }),
      ...(flags['kill-every'] === undefined ? {} : { killEverySeconds: Number(flags['kill-every']) }),
      log: (text) => console.error(`${(performance.now() / 1_000).toFixed(1)} s: ${text}`),
    });
    console.log(targetTable(rows));
    if (!flags.out) return;
    mkdirSync(dirname(flags.out), { recursive: true });
    writeFileSync(flags.out, `${JSON.stringify({ machine: about, rows }, null, 2)}\n`);
  });
}
