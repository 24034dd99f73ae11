import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Runs the server in this process, so that signals and the exit code are the server's own.
 *
 * @param args as `dist/main.js` takes them
 */
export async function serve(args: readonly string[]): Promise<void> {
  const main = join(import.meta.dirname, '..', 'main.js');
  // Cluster workers are started from the program in argv.
  process.argv.splice(1, process.argv.length, main, ...args);
  await import(pathToFileURL(main).href);
}
