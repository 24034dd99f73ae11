import type { ListedData, ListPage } from '../../domain/job-lists.js';
import { MAX_LABEL, MAX_MESSAGE } from '../../domain/limits.js';
import type { JobSummary } from '../../domain/extended-job.js';
import { Nullable, Optional, type Plain } from '../fields/field.js';
import { AnyJson, Base64, Flag, Label, Moment, Part, Parts } from '../fields/kinds.js';
import { dataFields } from './data-answer.js';
import { FailureAnswer, failureAnswer, JobFacts, jobFacts } from './job-facts.v1.js';
import { isoTimeOrNull } from '../answer/reply.js';
import { pageAnswer } from '../request/page-query.js';

/* Jobs in lists of the native API. */

const MOST_ITEMS = 1_000;

/** A job without its data and its timeline. */
export class ListedJob extends JobFacts {
  @Nullable() @Moment('When it can be leased; null too if it is scheduled far ahead.') due_at!: string | null;
  @Nullable() @Moment('When it was done, cancelled or given up.') ended_at!: string | null;
  @Nullable()
  @Label('The name of the worker that has it leased; null too if that gave no name.', { max: MAX_LABEL })
  leased_by!: string | null;
  @Nullable() @Part('What went wrong last.', () => FailureAnswer) failure!: FailureAnswer | null;
  @Flag('Somebody tracks it.') tracked!: boolean;
  @Optional() @AnyJson('With `fields=data`: its data, if that is JSON.') data?: unknown;
  @Optional() @Base64('With `fields=data`: its data, if that is not JSON.') data_base64?: string;
  @Optional() @Label('With `fields=data`: what its data is.', { max: MAX_LABEL }) content_type?: string;
  @Optional()
  @Flag('With `fields=data`: its data is left out, for the answer would have more than 4 MiB of data.')
  data_omitted?: boolean;
}

export class JobsPage {
  @Parts(
    'The jobs. There may be fewer than were asked for, even none, though the list goes on.',
    () => ListedJob,
    MOST_ITEMS,
  )
  items!: readonly ListedJob[];
  @Nullable() @Label('Where the list goes on; null at its end.', { max: MAX_MESSAGE }) next_cursor!:
    string | null;
}

/**
 * Encodes a page of jobs for an answer.
 *
 * @param data of each job, if the answer has it: null = left out, undefined = the job is gone, and is not shown
 */
export function jobsPage(
  { items, cursor }: ListPage<JobSummary>,
  data?: readonly (ListedData | null | undefined)[],
): Plain<JobsPage> {
  if (data === undefined) return pageAnswer(items.map(listedJob), cursor);
  const jobs = items.flatMap((job, i) => {
    const its = data[i];
    if (its === undefined) return [];
    return [
      {
        ...listedJob(job),
        ...(its === null ? { data_omitted: true } : dataFields(its.body, its.contentType)),
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
