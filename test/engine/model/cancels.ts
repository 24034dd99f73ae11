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

/** Cancels a job: it ends now, or, if it is leased, after the grace time. */
export function cancel(space: Space, id: string, isCascade: boolean, graceMs: number): CancelAnswer {
  const job = space.jobs.get(id);
  if (!job) return { code: 'job_not_found' };
  if (isKept(job)) return { code: job.state === 'done' ? 'job_done' : 'already_cancelled' };
  const dependents = dependentsOf(space, id, space.get(id).born).map((one) => one.id);
  if (dependents.length > 0 && !isCascade) return { code: 'has_dependents', dependents };
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
