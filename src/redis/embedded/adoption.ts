import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedRedisError } from './error.js';
import { inUse, type RecordedRedis } from './lock.js';
import { isRunning } from './process.js';
import { hangUp, hasOwner, probe, type LiveRedis } from './probe.js';

/** A Redis that runs but does not listen is about to end, or has just started: how long we wait for either, in ms. */
const SILENT_MS = 15_000;
/**
 * How long a Redis may still appear whose owner was killed while starting it, perhaps before recording its process id,
 * in ms.
 */
const LAUNCH_MS = 1_000;
/** The system closes a killed owner's connection at once, but Redis must notice it within this time, in ms. */
const FAREWELL_MS = 2_000;

/**
 * Finds the Redis that a dead owner left running on the folder `dir`, to adopt it; null if none runs, so that a new one
 * may be started. The caller holds the folder's lock; `recorded` is the lock's record of the previous owner's Redis.
 *
 * @throws {EmbeddedRedisError} one runs that is not the recorded one, or has an owner, or does not answer
 */
export async function leftBehind(
  dir: string,
  socketPath: string,
  recorded: RecordedRedis | null,
): Promise<(LiveRedis & { readonly socketPath: string }) | null> {
  // The two differ if TMPDIR has changed since the last start.
  const paths = new Set([recorded?.socketPath ?? socketPath, socketPath]);
  const begunMs = Date.now();
  for (;;) {
    const answers = await Promise.all([...paths].map(async (path) => ({ path, answer: await probe(path) })));
    for (const { path, answer } of answers) {
      if (answer.kind !== 'redis') continue;
      await refuseUnlessOurs(answer, dir, path, recorded).catch((error: unknown) => {
        hangUp(answer.connection);
        throw error;
      });
      return { ...answer, socketPath: path };
    }
    if (!mayStillAppear(recorded, Date.now() - begunMs)) {
      for (const { path, answer } of answers) if (answer.kind === 'other') throw stranger(path, answer.why);
      return null;
    }
    await sleep(25);
  }
}

function stranger(path: string, why: string): EmbeddedRedisError {
  return new EmbeddedRedisError(`what listens on ${path} is no Redis that we can use (${why}); end it first`);
}

function mayStillAppear(recorded: RecordedRedis | null, waitedMs: number): boolean {
  if (recorded === null) return false;
  if (recorded.process === null) return recorded.runId === null && waitedMs < LAUNCH_MS;
  if (!isRunning(recorded.process)) return false;
  if (waitedMs < SILENT_MS) return true;
  throw new EmbeddedRedisError(
    `the Redis of an earlier run, process ${recorded.process.pid}, still has the data open but does not answer on ` +
      `${recorded.socketPath}; a second one would destroy the data: end that process first`,
  );
}

async function refuseUnlessOurs(
  live: LiveRedis,
  dir: string,
  path: string,
  recorded: RecordedRedis | null,
): Promise<void> {
  if (live.dir !== dir) {
    throw new EmbeddedRedisError(
      `the Redis on ${path}, process ${live.pid}, works in ${live.dir}, not in ${dir}; it is not ours: end it first`,
    );
  }
  // A run id that is not recorded yet: the owner was killed within the milliseconds of its Redis's start.
  const isRecorded =
    recorded !== null &&
    (recorded.runId === null ? isLaunched(live, recorded) : live.runId === recorded.runId);
  if (!isRecorded) {
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

function isLaunched(live: LiveRedis, recorded: RecordedRedis): boolean {
  return recorded.process === null || recorded.process.pid === live.pid;
}
