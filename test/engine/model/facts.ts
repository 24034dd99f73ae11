import type { JobDetails } from '../../../src/contract/job/extended-job.js';
import { isKept, type ModelJob, seenDueMs } from './job.js';
import type { Space } from './space.js';
import { dependentsOf } from './waiting.js';

type Facts = ReturnType<typeof seenOf>;

/** The facts of a job that are compared. */
export function seenOf(job: JobDetails) {
  const { id, state, queue, tags, priority, tries, triesLeft, attempts, lease: number } = job;
  const { crashes, failures, type } = job;
  const { dueAtMs, leaseEndsAtMs, expiresAtMs, cancelRequested, dependsOn, failedDependencies } = job;
  return {
    id,
    state,
    queue,
    body: job.body.toString(),
    type,
    tags,
    priority,
    tries,
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

/** A job that expires before it is due has no due time. */
const expiresFirst = ({ expiresMs, atMs }: { expiresMs: number; atMs: number }): boolean =>
  expiresMs > 0 && expiresMs <= atMs;

/** The facts of a job in the model, in the engine's form. */
export function knownOf(space: Space, id: string): Facts {
  const { state, needs, failed, ...job } = space.get(id);
  return {
    id,
    state,
    queue: job.queue,
    body: job.body,
    type: job.type,
    tags: job.tags,
    priority: job.priority,
    tries: job.tries,
    triesLeft: job.triesLeft,
    attempts: job.attempts,
    lease: job.attempts > 0 ? job.lease : 0,
    crashes: job.crashes,
    failures: job.failures,
    group: job.group,
    dueAtMs: state === 'scheduled' && !expiresFirst(space.get(id)) ? shownDueMs(space.get(id)) : null,
    leaseEndsAtMs: state === 'leased' ? job.atMs : null,
    expiresAtMs: job.expiresMs === 0 ? null : job.expiresMs,
    cancelRequested: job.revokedAtMs > 0,
    dependsOn: [...needs].sort(),
    failedDependencies: Object.fromEntries([...failed].map(([on, { outcome }]) => [on, outcome])),
    // An ended job has no dependents any more.
    dependents: (isKept(space.get(id)) ? [] : dependentsOf(space, id, job.born)).map((one) => one.id).sort(),
  };
}

/** Null if the job expires first: a simple one stores no other time then. */
function shownDueMs(job: ModelJob): number | null {
  const dueMs = seenDueMs(job);
  return dueMs === job.expiresMs ? null : dueMs;
}
