import type { LeasedJob, RichFacts } from '../domain/job.js';
import type { JobDetails, PublishedJob, TimelineEntry } from '../domain/rich-job.js';
import type { Plain } from '../http/fields/field.js';
import { isoTime, isoTimeOrNull } from '../http/reply.js';
import type { EndedAnswer, FailureAnswer, JobAnswer, TimelineAnswer, WholeJobAnswer } from './dto/job.v1.js';
import { dataFields } from '../http/job-fields/data-answer.js';

/** A job that the plain lane gave, which tells nothing of it. */
const NOTHING_RICH: RichFacts = {
  priority: 0,
  type: null,
  tags: [],
  contentType: null,
  crashes: 0,
  failures: 0,
  progress: null,
  publishedAtMs: null,
  expiresAtMs: null,
  waitedMs: null,
};

/** A job as its new owner is told of it. */
export function leasedAnswer(job: LeasedJob): Plain<JobAnswer> {
  const { rich = NOTHING_RICH } = job;
  return {
    id: job.id,
    queue: job.queue,
    state: 'leased',
    ...dataFields(job.body, rich.contentType),
    type: rich.type,
    tags: rich.tags,
    attributes: job.attributes,
    priority: rich.priority,
    tries_left: job.triesLeft,
    attempts: job.attempts,
    crashes: rich.crashes,
    failures: rich.failures,
    lease: job.lease,
    lease_ends_at: isoTime(job.leaseEndsAtMs),
    published_at: isoTimeOrNull(rich.publishedAtMs),
    expires_at: isoTimeOrNull(rich.expiresAtMs),
    progress: rich.progress === null ? null : (JSON.parse(rich.progress) as unknown),
  };
}

/** All that is known of a job, in the words of the wire. */
export function wholeJobAnswer(job: JobDetails): Plain<WholeJobAnswer> {
  return {
    id: job.id,
    queue: job.queue,
    state: job.state,
    ...dataFields(job.body, job.contentType),
    type: job.type,
    tags: job.tags,
    attributes: job.attributes,
    priority: job.priority,
    tries_left: job.triesLeft,
    attempts: job.attempts,
    crashes: job.crashes,
    failures: job.failures,
    lease: job.lease,
    lease_ends_at: isoTimeOrNull(job.leaseEndsAtMs),
    published_at: isoTimeOrNull(job.publishedAtMs),
    expires_at: isoTimeOrNull(job.expiresAtMs),
    progress: job.progress ?? null,
    due_at: isoTimeOrNull(job.dueAtMs),
    ended_at: isoTimeOrNull(job.endedAtMs),
    worker: job.worker,
    failure: job.failure && failureAnswer(job.failure),
    cancel_requested: job.cancelRequested,
    tracked: job.tracked,
    result: job.result && dataFields(job.result.body, job.result.contentType),
    depends_on: job.dependsOn,
    failed_dependencies: job.failedDependencies,
    dependents: job.dependents,
    on_dependency_failure: job.onDependencyFailure,
    unique_key: job.uniqueKey,
    concurrency_key: job.concurrencyKey,
    spawned_from: job.spawnedFrom,
    timeline: job.timeline.map(timelineAnswer),
  };
}

/** How a job ended that was waited for, or where it is; null if it is gone. */
export function endedAnswer({ id, existing }: PublishedJob, job: JobDetails | null): Plain<EndedAnswer> {
  return {
    id,
    state: job?.state ?? null,
    existing,
    result: job?.result ? dataFields(job.result.body, job.result.contentType) : null,
    failure: job?.failure ? failureAnswer(job.failure) : null,
  };
}

function failureAnswer({
  group,
  message,
  atMs,
  worker,
}: NonNullable<JobDetails['failure']>): Plain<FailureAnswer> {
  return { group, message, at: isoTime(atMs), worker };
}

/** What else an entry has stands beside it. */
function timelineAnswer({ what, atMs, ...rest }: TimelineEntry): Plain<TimelineAnswer> {
  return { what, at: isoTime(atMs), ...rest };
}
