import type { JobDetails } from '../../../src/domain/rich-job.js';
import { isKept, seenDueMs } from './job.js';
import type { Space } from './space.js';
import { dependentsOf } from './waiting.js';

type Facts = ReturnType<typeof seenOf>;

/** What the engine tells of a job. */
export function seenOf(job: JobDetails) {
  const { id, state, queue, tags, priority, triesLeft, attempts, lease: number, crashes, failures } = job;
  const { dueAtMs, leaseEndsAtMs, expiresAtMs, cancelRequested, dependsOn, failedDependencies } = job;
  return {
    id,
    state,
    queue,
    body: job.body.toString(),
    tags,
    priority,
    triesLeft,
    attempts,
    lease: number,
    crashes,
    failures,
    group: job.failure?.group ?? null,
    dueAtMs,
    leaseEndsAtMs,
    expiresAtMs,
    cancelRequested,
    dependsOn,
    failedDependencies,
    dependents: [...new Set(job.dependents)].sort(),
  };
}

/** What the model knows of a job, as the engine would tell it. */
export function knownOf(space: Space, id: string): Facts {
  const { state, needs, failed, ...job } = space.get(id);
  return {
    id,
    state,
    queue: job.queue,
    body: job.body,
    tags: job.tags,
    priority: job.priority,
    triesLeft: job.triesLeft,
    attempts: job.attempts,
    lease: job.attempts > 0 ? job.lease : 0,
    crashes: job.crashes,
    failures: job.failures,
    group: job.group,
    dueAtMs: state === 'scheduled' ? seenDueMs(space.get(id)) : null,
    leaseEndsAtMs: state === 'leased' ? job.atMs : null,
    expiresAtMs: job.expiresMs === 0 ? null : job.expiresMs,
    cancelRequested: job.revokedAtMs > 0,
    dependsOn: [...needs].sort(),
    failedDependencies: Object.fromEntries(failed),
    // One that is over for good knows nobody any more.
    dependents: (isKept(space.get(id)) ? [] : dependentsOf(space, id)).map((one) => one.id).sort(),
  };
}
