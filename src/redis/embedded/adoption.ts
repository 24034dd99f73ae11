import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedRedisError } from './error.js';
import { inUse, type NotedRedis } from './lock.js';
import { isRunning } from './process.js';
import { hangUp, hasOwner, probe, type LiveRedis } from './probe.js';

/** A Redis that runs but does not listen is about to end, or has just begun: so long we wait for either, in ms. */
const SILENT_MS = 15_000;
/** The owner was killed while it started Redis, perhaps before it could write its process id down, in ms. */
const LAUNCH_MS = 1_000;
/** A killed owner's connection is closed by the system at once, but Redis must notice, in ms. */
const FAREWELL_MS = 2_000;

/**
 * The Redis that a dead owner left running on the folder `dir`, to be adopted; null if none runs, so that a new one
 * may be started. The caller holds the folder's lock; `noted` is what it says of the owner before.
 *
 * @throws {EmbeddedRedisError} one runs that is not the noted one, or is owned, or does not answer
 */
export async function leftBehind(
  dir: string,
  socketPath: string,
  noted: NotedRedis | null,
): Promise<(LiveRedis & { readonly socketPath: string }) | null> {
  // With another TMPDIR than at the last start, the two differ.
  const paths = new Set([noted?.socketPath ?? socketPath, socketPath]);
  const begunMs = Date.now();
  for (;;) {
    const answers = await Promise.all([...paths].map(async (path) => ({ path, answer: await probe(path) })));
    for (const { path, answer } of answers) {
      if (answer.kind !== 'redis') continue;
      await refuseUnlessOurs(answer, dir, path, noted).catch((error: unknown) => {
        hangUp(answer.connection);
        throw error;
      });
      return { ...answer, socketPath: path };
    }
    if (!mayStillAppear(noted, Date.now() - begunMs)) {
      for (const { path, answer } of answers) if (answer.kind === 'other') throw stranger(path, answer.why);
      return null;
    }
    await sleep(25);
  }
}

function stranger(path: string, why: string): EmbeddedRedisError {
  return new EmbeddedRedisError(`what listens on ${path} is no Redis that we can use (${why}); end it first`);
}

function mayStillAppear(noted: NotedRedis | null, waitedMs: number): boolean {
  if (noted === null) return false;
  if (noted.process === null) return noted.runId === null && waitedMs < LAUNCH_MS;
  if (!isRunning(noted.process)) return false;
  if (waitedMs < SILENT_MS) return true;
  throw new EmbeddedRedisError(
    `the Redis of an earlier run, process ${noted.process.pid}, still has the data open but does not answer on ` +
      `${noted.socketPath}; a second one would destroy the data: end that process first`,
  );
}

async function refuseUnlessOurs(
  live: LiveRedis,
  dir: string,
  path: string,
  noted: NotedRedis | null,
): Promise<void> {
  if (live.dir !== dir) {
    throw new EmbeddedRedisError(
      `the Redis on ${path}, process ${live.pid}, works in ${live.dir}, not in ${dir}; it is not ours: end it first`,
    );
  }
  // A run id that is not yet noted: the owner was killed within the milliseconds of its Redis's start.
  const isNoted =
    noted !== null && (noted.runId === null ? isLaunched(live, noted) : live.runId === noted.runId);
  if (!isNoted) {
    throw new EmbeddedRedisError(
      `the Redis on ${path}, process ${live.pid}, has another run id than the lock in ${dir}: end it first`,
    );
  }
  const until = Date.now() + FAREWELL_MS;
  while (await hasOwner(live.connection)) {
    if (Date.now() > until) throw inUse(dir);
    await sleep(25);
  }
}

function isLaunched(live: LiveRedis, noted: NotedRedis): boolean {
  return noted.process === null || noted.process.pid === live.pid;
}
