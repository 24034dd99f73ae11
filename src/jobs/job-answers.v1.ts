import type { LeasedJob, RichFacts } from '../domain/job.js';
import type { JobDetails, PublishedJob, TimelineEntry } from '../domain/rich-job.js';
import type { Plain } from '../http/fields/field.js';
import { failureAnswer, jobFacts } from '../http/job-facts.v1.js';
import { isoTime, isoTimeOrNull } from '../http/reply.js';
import type { EndedAnswer, JobAnswer, TimelineAnswer, WholeJobAnswer } from './dto/job.v1.js';
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
  const progress = rich.progress === null ? null : (JSON.parse(rich.progress) as unknown);
  return {
    ...jobFacts({ ...job, ...rich, state: 'leased', progress }),
    ...dataFields(job.body, rich.contentType),
  };
}

/** All that is known of a job, in the words of the wire. */
export function wholeJobAnswer(job: JobDetails): Plain<WholeJobAnswer> {
  return {
    ...jobFacts(job),
    ...dataFields(job.body, job.contentType),
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

/** What else an entry has stands beside it. */
function timelineAnswer({ what, atMs, ...rest }: TimelineEntry): Plain<TimelineAnswer> {
  return { what, at: isoTime(atMs), ...rest };
}
