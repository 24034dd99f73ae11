import type { LeasedJob, ExtendedFacts } from '../../domain/job/job.js';
import type { JobDetails, NoHandler, PublishedJob, TimelineEntry } from '../../domain/job/extended-job.js';
import type { Plain } from '../../http/fields/field.js';
import { failureAnswer, jobFacts } from '../../http/job-fields/job-facts.v1.js';
import { asciiJson, jsonList } from '../../http/answer/answer.js';
import { isoTime, isoTimeOrNull } from '../../domain/iso-time.js';
import { timeJson } from '../../http/answer/reply.js';
import type { EndedAnswer, NoHandlerAnswer, TimelineAnswer, WholeJobAnswer } from '../dto/job.v1.js';
import { retryFieldsOf } from '../../http/job-fields/retry-policy.v1.js';
import { dataFields, dataJson, progressJson } from '../../http/job-fields/data-answer.js';

/** Facts of a job from the simple path, which does not return them. */
const NO_EXTENDED_FACTS: ExtendedFacts = {
  priority: 0,
  type: null,
  tags: [],
  contentType: null,
  crashes: 0,
  failures: 0,
  released: 0,
  progress: null,
  waitedMs: null,
};

/** The answer to a lease request: the jobs as the worker gets them, `LeasedJobAnswer` each. ASCII. */
export function leasedJson(jobs: readonly LeasedJob[], maxDepth: number): string {
  return `{"jobs":${jsonList(jobs, (job) => jobJson(job, maxDepth))}}`;
}

/** `LeasedJobAnswer`, written directly: through objects it costs eight times as much. Ids and names need no escaping. */
function jobJson(job: LeasedJob, maxDepth: number): string {
  const { type, tags, priority, crashes, failures, progress, contentType } =
    job.extended ?? NO_EXTENDED_FACTS;
  return (
    `{"id":"${job.id}","queue":"${job.queue}","state":"leased","type":${jsonOrNull(type)},` +
    `"tags":${tags.length === 0 ? '[]' : asciiJson(tags)},"attributes":${jsonOrNull(job.attributes)},` +
    `"priority":${String(priority)},"tries":${String(job.tries)},"tries_left":${String(job.triesLeft)},"attempts":${String(job.attempts)},` +
    `"crashes":${String(crashes)},"failures":${String(failures)},"lease":${String(job.lease)},` +
    `"lease_ends_at":"${isoTime(job.leaseEndsAtMs)}","published_at":${timeJson(job.publishedAtMs)},` +
    `"expires_at":${timeJson(job.expiresAtMs)},"progress":${progressJson(progress, maxDepth)},` +
    `${dataJson(job.body, contentType, maxDepth)}}`
  );
}

function jsonOrNull(value: string | object | null): string {
  return value === null ? 'null' : asciiJson(value);
}

/** A job with all of its facts, in the format of the API. */
export function wholeJobAnswer(job: JobDetails, maxDepth: number): Plain<WholeJobAnswer> {
  return {
    ...jobFacts(job),
    ...dataFields(job.body, job.contentType, maxDepth),
    due_at: isoTimeOrNull(job.dueAtMs),
    ended_at: isoTimeOrNull(job.endedAtMs),
    leased_by: job.worker,
    failure: job.failure && failureAnswer(job.failure),
    cancel_requested: job.cancelRequested,
    tracked: job.tracked,
    result: job.result && dataFields(job.result.body, job.result.contentType, maxDepth),
    depends_on: job.dependsOn,
    failed_dependencies: job.failedDependencies,
    dependents: job.dependents,
    on_dependency_failure: job.onDependencyFailure,
    unique_key: job.uniqueKey,
    concurrency_key: job.concurrencyKey,
    spawned_from: job.spawnedFrom,
    retry: job.retry && retryFieldsOf(job.retry),
    ttr_ms: job.ttrMs,
    retention_ms: job.retentionMs,
    lease_grace_ms: job.leaseGraceMs,
    no_handler: job.noHandler && noHandlerAnswer(job.noHandler),
    timeline: job.timeline.map(timelineAnswer),
  };
}

/** How a job ended, or its present state; the state is null if the job is gone. */
export function endedAnswer(
  { id, existing }: PublishedJob,
  job: JobDetails | null,
  maxDepth: number,
): Plain<EndedAnswer> {
  return {
    id,
    state: job?.state ?? null,
    existing,
    published_at: isoTimeOrNull(job?.publishedAtMs ?? null),
    tries: job?.tries ?? null,
    result: job?.result ? dataFields(job.result.body, job.result.contentType, maxDepth) : null,
    failure: job?.failure ? failureAnswer(job.failure) : null,
  };
}

function noHandlerAnswer({ count, worker, atMs }: NoHandler): Plain<NoHandlerAnswer> {
  return { count, worker, at: isoTime(atMs) };
}

/** The other facts of an entry become fields next to `what` and `at`. */
function timelineAnswer({ what, atMs, ...rest }: TimelineEntry): Plain<TimelineAnswer> {
  return { what, at: isoTime(atMs), ...rest };
}
