import type { JobSummary } from '../../domain/job/extended-job.js';
import type { ListedData, ListPage } from '../../domain/job/job-lists.js';
import type { Plain } from '../../contract/fields/field.js';
import { toWire } from '../../contract/fields/wire.js';
import { type JobsPage, ListedJob } from '../../contract/job/answers.js';
import { pageAnswer } from '../request/page-query.js';
import { answerData } from '../../contract/job/data-answer.js';

/**
 * Encodes a page of jobs for an answer.
 *
 * @param data of each job, if the answer has it: null = left out, undefined = the job is gone, and is not shown
 * @param maxDepth deeper data is given in base64
 */
export function jobsPage(
  { items, cursor }: ListPage<JobSummary>,
  data?: readonly (ListedData | null | undefined)[],
  maxDepth = 0,
): Plain<JobsPage> {
  if (data === undefined)
    return pageAnswer(
      items.map((job) => listedJob(job)),
      cursor,
    );
  const jobs = items.flatMap((job, i) => {
    const its = data[i];
    if (its === undefined) return [];
    return listedJob(
      job,
      its === null ? { dataOmitted: true } : answerData(its.body, its.contentType, maxDepth),
    );
  });
  return pageAnswer(jobs, cursor);
}

function listedJob(job: JobSummary, data = {}): Plain<ListedJob> {
  return toWire(ListedJob, { ...job, leasedBy: job.worker, ...data });
}
