import type { JobDetails, JobFailure, JobSummary } from '@pumphouse/client';
import type {
  Failure,
  JobDetails as EngineDetails,
  JobSummary as EngineSummary,
  TimelineEntry,
} from '../domain/job/extended-job.js';
import { isoTime, isoTimeOrNull } from '../domain/iso-time.js';
import { readData } from './payload.js';

/* What the engine answers, in the form of the client. */

export function summaryOf(job: EngineSummary): JobSummary {
  const { id, queue, state, type, tags, attributes, priority, tries, triesLeft, attempts } = job;
  return {
    ...{ id, queue, state, type, tags, attributes, priority, tries, triesLeft, attempts },
    crashes: job.crashes,
    failures: job.failures,
    publishedAt: isoTimeOrNull(job.publishedAtMs),
    dueAt: isoTimeOrNull(job.dueAtMs),
    endedAt: isoTimeOrNull(job.endedAtMs),
    expiresAt: isoTimeOrNull(job.expiresAtMs),
    leaseEndsAt: isoTimeOrNull(job.leaseEndsAtMs),
    leasedBy: job.worker,
    progress: job.progress ?? null,
    failure: job.failure && failureOf(job.failure),
    tracked: job.tracked,
  };
}

export function detailsOf(job: EngineDetails): JobDetails {
  const { dependsOn, failedDependencies, dependents, onDependencyFailure } = job;
  const { retry, ttrMs, retentionMs, leaseGraceMs, noHandler } = job;
  const data = readData(job.body, job.contentType);
  const result = job.result && readData(job.result.body, job.result.contentType);
  return {
    ...summaryOf(job),
    ...{ dependsOn, failedDependencies, dependents, onDependencyFailure },
    data: data.value,
    contentType: data.contentType,
    cancelRequested: job.cancelRequested,
    result: result && { data: result.value, contentType: result.contentType },
    uniqueKey: job.uniqueKey,
    concurrencyKey: job.concurrencyKey,
    spawnedFrom: job.spawnedFrom,
    ...{ retry, ttrMs, retentionMs, leaseGraceMs },
    noHandler: noHandler && { count: noHandler.count, worker: noHandler.worker, at: isoTime(noHandler.atMs) },
    timeline: job.timeline.map(entryOf),
  };
}

export function failureOf({ group, message, atMs, worker }: Failure): JobFailure {
  return { group, message, at: isoTime(atMs), worker };
}

function entryOf({ what, atMs, revoked_at, ...rest }: TimelineEntry): JobDetails['timeline'][number] {
  return {
    what,
    at: isoTime(atMs),
    ...rest,
    ...(revoked_at === undefined ? {} : { revokedAt: revoked_at }),
  };
}
