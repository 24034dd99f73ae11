import type { Dependency, JobDetails, JobFailure, JobSummary } from '@pumphouse/client';
import { toShown } from '#src/contract/fields/wire';
import { FailureAnswer, ListedJob, WholeJobAnswer } from '#src/contract/job/answers';
import type { JobDetails as EngineDetails } from '#src/contract/job/extended-job';
import type { DependencyResult } from '#src/domain/job/dependency';
import type { Failure, JobSummary as EngineSummary } from '#src/domain/job/extended-job';
import { dataOf } from './payload.js';

/* What the engine answers, in the form of the client: the answers of the API, with its names and with data as values. */

export function summaryOf(job: EngineSummary): JobSummary {
  return toShown(ListedJob, { ...job, leasedBy: job.worker }) as JobSummary;
}

export function detailsOf(job: EngineDetails): JobDetails {
  const { body, contentType, result, worker } = job;
  return toShown(WholeJobAnswer, {
    ...job,
    ...dataOf(body, contentType),
    leasedBy: worker,
    result: result && dataOf(result.body, result.contentType),
    dependencies: job.dependencies.map(dependencyOf),
  }) as JobDetails;
}

/** The result is a value of JSON, or bytes. */
export function dependencyOf({ result, ...rest }: DependencyResult): Dependency {
  if (result === null) return rest;
  const { data, contentType } = dataOf(result.body, result.contentType);
  return { ...rest, result: data, resultType: contentType };
}

export function failureOf(failure: Failure): JobFailure {
  return toShown(FailureAnswer, failure);
}
