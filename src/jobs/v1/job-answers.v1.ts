import type { JobDetails } from '../../contract/job/extended-job.js';
import type { LeasedJob, ExtendedFacts } from '../../domain/job/job.js';
import type { DependencyResult } from '../../domain/job/dependency.js';
import type { PublishedJob } from '../../domain/job/extended-job.js';
import { isoTime } from '../../domain/iso-time.js';
import type { Plain } from '../../contract/fields/field.js';
import { type Facts, type Inside, toWire } from '../../contract/fields/wire.js';
import { type DependencyAnswer, EndedAnswer, type WholeJobAnswer } from '../../contract/job/answers.js';
import { asciiJson, jsonList } from '../../contract/json/ascii-json.js';
import { timeJson } from '../../http/answer/reply.js';
import { answerData, dataJson, progressJson, resultJson } from '../../contract/job/data-answer.js';

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
  maxRunMs: null,
};

/** The answer to a lease request: the jobs as the worker gets them, `LeasedJobAnswer` each. ASCII. */
export function leasedJson(jobs: readonly LeasedJob[], maxDepth: number): string {
  return `{"jobs":${jsonList(jobs, (job) => jobJson(job, maxDepth))}}`;
}

/** `LeasedJobAnswer`, written directly: through objects it costs eight times as much. Ids and names need no escaping. */
function jobJson(job: LeasedJob, maxDepth: number): string {
  const { type, tags, priority, crashes, failures, progress, contentType, maxRunMs, dependencies } =
    job.extended ?? NO_EXTENDED_FACTS;
  return (
    `{"id":"${job.id}","queue":"${job.queue}","state":"leased","type":${jsonOrNull(type)},` +
    `"tags":${tags.length === 0 ? '[]' : asciiJson(tags)},"attributes":${jsonOrNull(job.attributes)},` +
    `"priority":${String(priority)},"tries":${String(job.tries)},"tries_left":${String(job.triesLeft)},"attempts":${String(job.attempts)},` +
    `"crashes":${String(crashes)},"failures":${String(failures)},"lease":${String(job.lease)},` +
    `"lease_ends_at":"${isoTime(job.leaseEndsAtMs)}",${maxRunMs === null ? '' : `"max_run_ms":${String(maxRunMs)},`}"published_at":${timeJson(job.publishedAtMs)},` +
    `"expires_at":${timeJson(job.expiresAtMs)},"progress":${progressJson(progress, maxDepth)},` +
    dataJson(job.body, contentType, maxDepth) +
    (dependencies === undefined ? '}' : `,"dependencies":${dependenciesJson(dependencies, maxDepth)}}`)
  );
}

function dependenciesJson(dependencies: readonly DependencyResult[], maxDepth: number): string {
  return jsonList(dependencies, ({ id, state, result, truncated }) => {
    const data = result === null ? '' : `,${resultJson(result.body, result.contentType, maxDepth)}`;
    return `{"id":"${id}","state":"${state}"${data}${truncated ? ',"truncated":true' : ''}}`;
  });
}

function jsonOrNull(value: string | object | null): string {
  return value === null ? 'null' : asciiJson(value);
}

/** A job with all of its facts, as answers have it. */
export function wholeJobFacts(job: JobDetails, maxDepth: number): Facts<WholeJobAnswer> {
  return {
    ...job,
    ...answerData(job.body, job.contentType, maxDepth),
    leasedBy: job.worker,
    result: job.result && answerData(job.result.body, job.result.contentType, maxDepth),
    dependencies: job.dependencies.map((dependency) => dependencyAnswer(dependency, maxDepth)),
  };
}

function dependencyAnswer({ result, ...rest }: DependencyResult, maxDepth: number): Inside<DependencyAnswer> {
  if (result === null) return rest;
  const { data, dataBase64, contentType } = answerData(result.body, result.contentType, maxDepth);
  const value = dataBase64 === undefined ? { result: data } : { resultBase64: dataBase64 };
  return { ...rest, ...value, resultType: contentType };
}

/** How a job ended, or its present state; the state is null if the job is gone. */
export function endedAnswer(
  { id, existing, missingDependencies }: PublishedJob,
  job: JobDetails | null,
  maxDepth: number,
): Plain<EndedAnswer> {
  const { state = null, publishedAtMs = null, tries = null, result, failure = null } = job ?? {};
  return toWire(EndedAnswer, {
    ...{ id, state, existing, publishedAtMs, tries, failure },
    ...(missingDependencies && { missingDependencies }),
    result: result ? answerData(result.body, result.contentType, maxDepth) : null,
  });
}
