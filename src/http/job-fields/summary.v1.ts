import type { ListedData, ListPage } from '../../domain/job/job-lists.js';
import { MAX_LABEL, MAX_MESSAGE } from '../../domain/limits.js';
import type { JobSummary } from '../../domain/job/extended-job.js';
import { Nullable, Optional, type Plain } from '../fields/field.js';
import { AnyJson, Base64, Flag, Label, Moment, Part, Parts } from '../fields/kinds.js';
import { dataFields } from './data-answer.js';
import { FailureAnswer, failureAnswer, JobFacts, jobFacts } from './job-facts.v1.js';
import { isoTimeOrNull } from '../../domain/iso-time.js';
import { pageAnswer } from '../request/page-query.js';

/* Jobs in lists of the native API. */

const MOST_ITEMS = 1_000;

/** A job without its data and its timeline. */
export class ListedJob extends JobFacts {
  @Nullable() @Moment('When it can be leased; null also if it is scheduled far ahead.') due_at!:
    | string
    | null;
  @Nullable() @Moment('When it was done, cancelled or died.') ended_at!: string | null;
  @Nullable()
  @Label('The worker that has it leased; null also if that gave no name.', { max: MAX_LABEL })
  leased_by!: string | null;
  @Nullable() @Part('The last failure.', () => FailureAnswer) failure!: FailureAnswer | null;
  @Flag('True: it is tracked.') tracked!: boolean;
  @Optional() @AnyJson('With `fields=data`: its payload, if it is JSON.') data?: unknown;
  @Optional() @Base64('With `fields=data`: its payload, if it is not JSON.') data_base64?: string;
  @Optional()
  @Label('With `fields=data`: the type of its payload.', { max: MAX_LABEL })
  content_type?: string;
  @Optional()
  @Flag('With `fields=data`: true if its payload is omitted, because the answer has 4 MiB of data already.')
  data_omitted?: boolean;
}

export class JobsPage {
  @Parts(
    'The jobs. A page may have fewer than `limit`, even none, although the list continues.',
    () => ListedJob,
    MOST_ITEMS,
  )
  items!: readonly ListedJob[];
  @Nullable() @Label('The cursor of the next page; null at the end.', { max: MAX_MESSAGE }) next_cursor!:
    | string
    | null;
}

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
  if (data === undefined) return pageAnswer(items.map(listedJob), cursor);
  const jobs = items.flatMap((job, i) => {
    const its = data[i];
    if (its === undefined) return [];
    return [
      {
        ...listedJob(job),
        ...(its === null ? { data_omitted: true } : dataFields(its.body, its.contentType, maxDepth)),
      },
    ];
  });
  return pageAnswer(jobs, cursor);
}

function listedJob(job: JobSummary): Plain<ListedJob> {
  return {
    ...jobFacts(job),
    due_at: isoTimeOrNull(job.dueAtMs),
    ended_at: isoTimeOrNull(job.endedAtMs),
    leased_by: job.worker,
    failure: job.failure && failureAnswer(job.failure),
    tracked: job.tracked,
  };
}
