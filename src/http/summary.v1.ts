import type { JobSummary, ListPage } from '../domain/job-lists.js';
import {
  MAX_LABEL,
  MAX_MESSAGE,
  MAX_PRIORITY,
  MAX_TRIES,
  MAX_UINT32,
  MIN_PRIORITY,
} from '../domain/limits.js';
import { JOB_STATES } from '../domain/states.js';
import { Nullable, type Plain } from './fields/field.js';
import {
  AnyJson,
  Flag,
  JobId,
  Label,
  Labels,
  Moment,
  OneOf,
  Part,
  Parts,
  Text,
  TextsByName,
  Whole,
} from './fields/kinds.js';
import { isoTime, isoTimeOrNull } from './reply.js';
import { toCursor } from './page-query.js';

/* Jobs as all lists of the native API show them. */

/** What has no bound of ours in an answer. */
const MANY = 1_000_000_000;
const ANY_NAME = /^[^]*$/;
const MOST_ITEMS = 1_000;

export class ListedFailure {
  @Label('Its group.', { min: 0, max: MAX_LABEL }) group!: string;
  @Text('What went wrong.', { min: 0, max: MAX_MESSAGE }) message!: string;
  @Moment('When.') at!: string;
  @Nullable() @Label('Who had it; null if nobody gave a name.', { min: 0, max: MAX_LABEL }) worker!:
    string | null;
}

/** A job without its data and its timeline. */
export class ListedJob {
  @JobId('Its id.') id!: string;
  @Label('Its queue.', { max: MAX_LABEL }) queue!: string;
  @OneOf('Where it is in its life.', Object.keys(JOB_STATES)) state!: string;
  @Nullable() @Label('What kind of work it is.', { max: MAX_LABEL }) type!: string | null;
  @Labels('Its tags.', { max: MANY }, { max: MAX_LABEL }) tags!: readonly string[];
  @Nullable()
  @TextsByName('What belongs to it.', { count: MANY, name: ANY_NAME, nameRule: '', max: MANY })
  attributes!: Readonly<Record<string, string>> | null;
  @Whole('Lower runs sooner.', MIN_PRIORITY, MAX_PRIORITY) priority!: number;
  @Whole('How often it may still be leased.', 0, MAX_TRIES) tries_left!: number;
  @Whole('How often it was leased.', 0, MAX_TRIES) attempts!: number;
  @Whole('Leases of it that ran out.', 0, MANY) crashes!: number;
  @Whole('Failures that workers told of.', 0, MANY) failures!: number;
  @Whole('The number of its lease, the last one if it is not leased; 0 if it never was.', 0, MAX_UINT32)
  lease!: number;
  @Nullable() @Moment('When its lease ends.') lease_ends_at!: string | null;
  @Nullable() @Moment('When it was published.') published_at!: string | null;
  @Nullable() @Moment('When it can be leased; null too if it is scheduled far ahead.') due_at!: string | null;
  @Nullable() @Moment('When it expires.') expires_at!: string | null;
  @Nullable() @Moment('When it was done, cancelled or given up.') ended_at!: string | null;
  @Nullable() @Label('Who has it.', { max: MAX_LABEL }) worker!: string | null;
  @Nullable() @AnyJson('How far the work is, as its worker said.') progress!: unknown;
  @Nullable() @Part('What went wrong last.', () => ListedFailure) failure!: ListedFailure | null;
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

/** A page of jobs in the words of the wire. */
export function jobsPage({ items, cursor }: ListPage<JobSummary>): Plain<JobsPage> {
  return { items: items.map(listedJob), next_cursor: cursor === null ? null : toCursor(cursor) };
}

function listedJob(job: JobSummary): Plain<ListedJob> {
  const { failure } = job;
  return {
    id: job.id,
    queue: job.queue,
    state: job.state,
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
    due_at: isoTimeOrNull(job.dueAtMs),
    expires_at: isoTimeOrNull(job.expiresAtMs),
    ended_at: isoTimeOrNull(job.endedAtMs),
    worker: job.worker,
    progress: job.progress ?? null,
    failure: failure && {
      group: failure.group,
      message: failure.message,
      at: isoTime(failure.atMs),
      worker: failure.worker,
    },
    tracked: job.tracked,
  };
}
