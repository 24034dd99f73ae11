import type { RemoveRequest } from '../../../src/engine/jobs/job-canceller.js';
import { end, revoke } from './ends.js';
import { isKept } from './job.js';
import type { Space } from './space.js';
import { dependentsOf } from './waiting.js';

/** The result of a cancel: an error code or the outcome; with the dependents, or with when the lease is lost. */
export interface CancelAnswer {
  readonly code: string;
  readonly dependents?: readonly string[];
  readonly revokedAtMs?: number;
}

/** Cancels jobs, all or none: jobs that depend on each other may be named together. */
export function cancelMany(
  space: Space,
  ids: readonly string[],
  isCascade: boolean,
  graceMs: number,
): { readonly dependents: readonly string[]; readonly hindered: readonly string[] } | CancelAnswer[] {
  const othersOf = (id: string): string[] => {
    const job = space.jobs.get(id);
    if (isCascade || !job || isKept(job)) return [];
    const dependents = dependentsOf(space, id, job.born).map((one) => one.id);
    return dependents.filter((one) => !ids.includes(one));
  };
  const hindered = ids.filter((id) => othersOf(id).length > 0);
  if (hindered.length > 0) return { hindered, dependents: [...new Set(ids.flatMap(othersOf))].sort() };
  return ids.map((id) => cancelOne(space, id, isCascade, graceMs));
}

/** Cancels a job: it ends now, or, if it is leased, after the grace time. */
export function cancel(space: Space, id: string, isCascade: boolean, graceMs: number): CancelAnswer {
  const job = space.jobs.get(id);
  if (!job) return { code: 'job_not_found' };
  if (isKept(job)) return { code: job.state === 'done' ? 'job_done' : 'already_cancelled' };
  const dependents = dependentsOf(space, id, space.get(id).born).map((one) => one.id);
  if (dependents.length > 0 && !isCascade) return { code: 'has_dependents', dependents };
  return cancelOne(space, id, isCascade, graceMs);
}

/** Cancels a job, whatever depends on it. */
export function cancelOne(space: Space, id: string, isCascade: boolean, graceMs: number): CancelAnswer {
  const job = space.jobs.get(id);
  if (!job) return { code: 'not_found' };
  if (isKept(job)) return { code: job.state === 'done' ? 'done' : 'already_cancelled' };
  job.cascades ||= isCascade;
  if (job.state !== 'leased') {
    end(space, job, 'cancelled');
    return { code: 'cancelled' };
  }
  if (graceMs === 0) {
    revoke(space, job);
    return { code: 'cancelled' };
  }
  // A second request does not give the lease holder more time.
  const endsMs = space.nowMs + graceMs;
  job.revokedAtMs = job.revokedAtMs > 0 ? Math.min(job.revokedAtMs, endsMs) : endsMs;
  job.isExtended = true;
  return { code: 'requested', revokedAtMs: job.revokedAtMs };
}

/** Deletes a job; nothing of it is kept. @returns an error code, with the dependents that prevent it; null = done */
export function removeJob(
  space: Space,
  id: string,
  { force = false, withDependents = false }: RemoveRequest,
): CancelAnswer | null {
  const job = space.jobs.get(id);
  if (!job) return { code: 'job_not_found' };
  if (job.state === 'leased' && !force) return { code: 'leased' };
  const dependents = isKept(job) ? [] : dependentsOf(space, id, job.born).map((one) => one.id);
  if (dependents.length > 0 && !withDependents) return { code: 'has_dependents', dependents };
  if (isKept(job)) space.jobs.delete(id);
  else end(space, job, 'deleted');
  return null;
}
