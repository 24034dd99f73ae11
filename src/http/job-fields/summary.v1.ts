import type { ListPage } from '../../domain/job-lists.js';
import { MAX_LABEL, MAX_MESSAGE } from '../../domain/limits.js';
import type { JobSummary } from '../../domain/extended-job.js';
import { Nullable, type Plain } from '../fields/field.js';
import { Flag, Label, Moment, Part, Parts } from '../fields/kinds.js';
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

/** Encodes a page of jobs for an answer. */
export function jobsPage({ items, cursor }: ListPage<JobSummary>): Plain<JobsPage> {
  return pageAnswer(items.map(listedJob), cursor);
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
