import { die, end, goOn } from './ends.js';
import { enrich, isLive, type ModelJob } from './job.js';
import type { Space } from './space.js';

/** Whether a job would wait for itself if it waited for others too. */
export function isCircle(space: Space, job: ModelJob, ids: readonly string[]): boolean {
  const seen = new Set<string>();
  const leadsBack = (id: string): boolean => {
    if (id === job.id) return true;
    if (seen.has(id)) return false;
    seen.add(id);
    return [...(space.jobs.get(id)?.needs ?? [])].some(leadsBack);
  };
  return ids.some(leadsBack);
}

/**
 * A job is to wait for others. One that has died or was cancelled has failed it already, what is not there counts as done.
 *
 * @returns how that ended of which the job is to end too, by its policy; null = it does not
 */
export function waitFor(space: Space, job: ModelJob, ids: readonly string[]): string | null {
  for (const id of new Set(ids)) {
    const on = space.jobs.get(id);
    if (!on || on.state === 'done') continue;
    if (isLive(on)) {
      enrich(on);
      job.needs.add(id);
      continue;
    }
    const outcome = on.state === 'dead' ? 'died' : 'cancelled';
    if (job.onFailure === 'fail' || job.onFailure === 'cancel') return outcome;
    if (job.onFailure === 'block') job.failed.set(id, outcome);
  }
  return null;
}

export function isWaiting({ needs, failed }: ModelJob): boolean {
  return needs.size + failed.size > 0;
}

/** Places a job that has just been told what it waits for; it is due at `dueMs`, 0 = now. */
export function placeWaiter(space: Space, job: ModelJob, outcome: string | null, dueMs: number): void {
  job.dueMs = dueMs > space.nowMs ? dueMs : 0;
  if (outcome !== null) fallWith(space, job, outcome);
  else if (isWaiting(job)) block(job);
  else goOn(space, job, dueMs);
}

function block(job: ModelJob): void {
  Object.assign(job, { state: 'blocked', isCalled: false });
}

/** What becomes of a job when one that it waits for failed it: it dies, or is cancelled. */
export function fallWith(space: Space, job: ModelJob, outcome: string): void {
  job.isRich = true;
  if (outcome === 'cascaded') job.cascades = true;
  if (job.cascades || job.revokedAtMs > 0 || job.onFailure === 'cancel') end(space, job, 'cancelled');
  else die(space, job, 'dependency_failed');
}

/** Those that wait hear of all ends, and of those ends that follow from them. */
export function tellNews(space: Space): void {
  for (let news = [...space.news]; news.length > 0; news = [...space.news]) {
    space.news.clear();
    for (const [id, outcome] of news)
      for (const job of dependentsOf(space, id)) if (space.jobs.has(job.id)) hear(space, job, id, outcome);
  }
}

/** The jobs that wait for one, be it in vain. */
export function dependentsOf(space: Space, id: string): ModelJob[] {
  return [...space.jobs.values()].filter(({ needs, failed }) => needs.has(id) || failed.has(id));
}

function hear(space: Space, job: ModelJob, on: string, outcome: string): void {
  if (outcome === 'revived') {
    if (job.failed.delete(on)) job.needs.add(on);
    return;
  }
  const isMet = outcome === 'acked' || (outcome !== 'cascaded' && job.onFailure === 'ignore');
  if (!isMet && (outcome === 'cascaded' || job.onFailure !== 'block')) {
    fallWith(space, job, outcome);
    return;
  }
  job.needs.delete(on);
  job.failed.delete(on);
  if (!isMet) job.failed.set(on, outcome);
  if (!isWaiting(job) && job.state === 'blocked') goOn(space, job, job.dueMs);
}
