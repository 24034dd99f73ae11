import { die, end, goOn } from './ends.js';
import { enrich, isLive, type Failed, type ModelJob } from './job.js';
import type { Space } from './space.js';

/** True if a job would wait for itself if it waited for these jobs too. */
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
 * Makes a job wait for others. A dead or cancelled one has failed the job already; a missing one counts as done.
 *
 * @returns how the failed dependency ended, if by its policy the job ends too; null = it does not
 */
export function waitFor(space: Space, job: ModelJob, ids: readonly string[]): string | null {
  for (const id of new Set(ids)) {
    const on = space.jobs.get(id);
    job.reads.set(id, on?.born ?? null);
    if (on?.state === 'dead') on.isExtended = true;
    if (!on || on.state === 'done') continue;
    if (isLive(on)) {
      enrich(on);
      job.needs.add(id);
      job.failed.delete(id);
      continue;
    }
    const outcome = on.state === 'dead' ? 'died' : 'cancelled';
    if (job.onFailure === 'fail' || job.onFailure === 'cancel') return outcome;
    if (job.onFailure !== 'block') continue;
    on.isExtended = true;
    job.failed.set(id, { outcome, born: on.born });
  }
  return null;
}

export function isWaiting({ needs, failed }: ModelJob): boolean {
  return needs.size + failed.size > 0;
}

/** Places a job after its dependencies were set; it is due at `dueMs`, 0 = now. */
export function placeWaiter(space: Space, job: ModelJob, outcome: string | null, dueMs: number): void {
  job.dueMs = dueMs > space.nowMs ? dueMs : 0;
  if (outcome !== null) failDependent(space, job, outcome);
  else if (isWaiting(job)) block(job);
  else goOn(space, job, dueMs);
}

function block(job: ModelJob): void {
  Object.assign(job, { state: 'blocked', isCalled: false });
}

/** Applies a failed dependency to a job: it dies, or is cancelled. */
export function failDependent(space: Space, job: ModelJob, outcome: string): void {
  job.isExtended = true;
  if (outcome === 'cascaded') job.cascades = true;
  if (job.cascades || job.revokedAtMs > 0 || job.onFailure === 'cancel') end(space, job, 'cancelled');
  else die(space, job, 'dependency_failed');
}

/** Updates the dependents of all ended jobs, and of those that end because of it. */
export function resolveDependents(space: Space): void {
  for (let news = [...space.news]; news.length > 0; news = [...space.news]) {
    space.news.clear();
    for (const [id, ended] of news)
      for (const job of dependentsOf(space, id, ended.born))
        if (space.jobs.has(job.id)) resolve(space, job, id, ended);
  }
}

/** The jobs that depend on one, including those that it has failed. */
export function dependentsOf(space: Space, id: string, born: number): ModelJob[] {
  return [...space.jobs.values()].filter(
    ({ needs, failed }) => needs.has(id) || failed.get(id)?.born === born,
  );
}

function resolve(space: Space, job: ModelJob, on: string, ended: Failed): void {
  const { outcome } = ended;
  if (outcome === 'revived') {
    if (job.failed.delete(on)) job.needs.add(on);
    return;
  }
  const isMet = outcome === 'acked' || (outcome !== 'cascaded' && job.onFailure === 'ignore');
  if (!isMet && (outcome === 'cascaded' || job.onFailure !== 'block')) {
    failDependent(space, job, outcome);
    return;
  }
  job.needs.delete(on);
  job.failed.delete(on);
  if (!isMet) job.failed.set(on, ended);
  if (!isWaiting(job) && job.state === 'blocked') goOn(space, job, job.dueMs);
}
