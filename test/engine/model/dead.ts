import type { Respawn } from '../../../src/domain/job/job-lists.js';
import { byEnd, end, goOn } from './ends.js';
import type { ModelJob } from './job.js';
import { holderOf, letIn } from './publishing.js';
import type { Space } from './space.js';

export interface DeadWish {
  readonly queue?: string;
  readonly group?: string;
}

/** Dead jobs that match, as they are found: queue by queue, those first that died first; those of a group by their death alone. */
export function deadOf(space: Space, { queue, group }: DeadWish): ModelJob[] {
  const dead = [...space.jobs.values()].filter((job) => job.state === 'dead').sort(byEnd);
  const found = dead.filter(
    (job) =>
      (queue === undefined || job.queue === queue) &&
      (group === undefined || (job.isExtended && job.group === group)),
  );
  return group === undefined
    ? found.sort((one, other) => (one.queue < other.queue ? -1 : one.queue > other.queue ? 1 : 0))
    : found;
}

/** Respawns dead jobs: they go to the end of their ready list. @returns how many */
export function respawn(space: Space, wish: DeadWish, options: Respawn): number {
  return deadOf(space, wish).filter((job) => respawnOne(space, job, options)).length;
}

/** Respawns a dead job. @returns false if another job holds its unique key */
export function respawnOne(space: Space, job: ModelJob, { ttlMs, tries, queue }: Respawn): boolean {
  if (!takesKey(space, job)) return false;
  const isReset = tries === 'reset';
  job.lease++;
  job.expiresMs = ttlMs > 0 ? space.nowMs + ttlMs : 0;
  job.triesLeft = Math.max(isReset ? job.tries : tries === 'keep' ? job.triesLeft : tries, 1);
  if (isReset) Object.assign(job, { attempts: 0, failures: 0, crashes: 0 });
  // The tries that a simple job was published with are not stored.
  if (!job.isExtended) job.tries = job.triesLeft + job.attempts;
  job.group = null;
  job.queue = queue ?? job.queue;
  letIn(space, job.queue);
  job.isIndexed = space.queue(job.queue).indexesTags;
  space.news.set(job.id, { outcome: 'revived', born: job.born });
  goOn(space, job);
  return true;
}

/** If another job holds its unique key by now, it stays dead. */
function takesKey(space: Space, { id, unique }: ModelJob): boolean {
  if (!unique || unique.isWindowed) return true;
  if (holderOf(space, unique.key)) return false;
  space.keys.set(unique.key, { id, endsMs: 0 });
  return true;
}

/** Deletes dead jobs. @returns how many */
export function bury(space: Space, wish: DeadWish): number {
  const found = deadOf(space, wish);
  for (const job of found) end(space, job, 'deleted');
  return found.length;
}
