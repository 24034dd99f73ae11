import cluster from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A start that is not complete so long after the first signal is abandoned, in milliseconds. Without its Redis it would
 * go on for ten seconds.
 */
const START_PATIENCE_MS = 500;

/** @returns null if a signal came and the start is not complete soon after it */
export async function startUnlessEnded<T>(starting: Promise<T>, signal: Promise<unknown>): Promise<T | null> {
  let isEnding = false;
  const abandoned = signal.then(async () => {
    isEnding = true;
    await sleep(START_PATIENCE_MS);
    return null;
  });
  const started = starting.catch((error: unknown) => {
    if (!isEnding) throw error;
    return null;
  });
  const server = await Promise.race([started, /* guard: signal-ends-start */ abandoned]);
  // A primary that has not started has processes already.
  if (server === null)
    for (const child of Object.values(cluster.workers ?? {})) child?.process.kill('SIGKILL');
  return server;
}
