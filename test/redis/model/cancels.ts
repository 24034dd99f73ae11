import { end, revoke } from './ends.js';
import { isKept } from './job.js';
import type { Space } from './space.js';
import { dependentsOf } from './waiting.js';

/** What is answered to a cancel: an error's code, or the outcome; with those that depend on the job, or when its owner loses it. */
export interface CancelAnswer {
  readonly code: string;
  readonly dependents?: readonly string[];
  readonly revokedAtMs?: number;
}

/** Cancels a job: it ends now, or, if somebody has it leased, when his grace is over. */
export function cancel(space: Space, id: string, isCascade: boolean, graceMs: number): CancelAnswer {
  const job = space.jobs.get(id);
  if (!job) return { code: 'job_not_found' };
  if (isKept(job)) return { code: job.state === 'done' ? 'job_done' : 'already_cancelled' };
  const dependents = dependentsOf(space, id).map((one) => one.id);
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
  // Whoever asks again does not give its owner more time.
  const endsMs = space.nowMs + graceMs;
  job.revokedAtMs = job.revokedAtMs > 0 ? Math.min(job.revokedAtMs, endsMs) : endsMs;
  job.isRich = true;
  return { code: 'requested', revokedAtMs: job.revokedAtMs };
}
