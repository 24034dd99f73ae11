import type { JobSummary } from '../../domain/job/extended-job.js';
import type { ListedData, ListPage } from '../../domain/job/job-lists.js';
import type { Inside } from '../../contract/fields/wire.js';
import type { JobsPage, ListedJob } from '../../contract/job/answers.js';
import { answerData } from '../../contract/job/data-answer.js';
import { pageFacts } from '../request/page-query.js';

/**
 * A page of jobs as answers have it.
 *
 * @param data of each job, if the answer has it: null = left out, undefined = the job is gone, and is not shown
 * @param maxDepth deeper data is given in base64
 */
export function jobsFacts(
  { items, cursor }: ListPage<JobSummary>,
  data?: readonly (ListedData | null | undefined)[],
  maxDepth = 0,
): Inside<JobsPage> {
  if (data === undefined)
    return pageFacts(
      items.map((job) => listedFacts(job)),
      cursor,
    );
  const jobs = items.flatMap((job, i) => {
    const its = data[i];
    if (its === undefined) return [];
    return listedFacts(
      job,
      its === null ? { dataOmitted: true } : answerData(its.body, its.contentType, maxDepth),
    );
  });
  return pageFacts(jobs, cursor);
}

function listedFacts(job: JobSummary, data = {}): Inside<ListedJob> {
  return { ...job, leasedBy: job.worker, ...data };
}
