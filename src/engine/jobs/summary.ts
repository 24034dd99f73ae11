import { type Failure, type JobSummary, LEASE_EXPIRED } from '../../domain/job/extended-job.js';
import { stateOf } from '../../domain/job/states.js';
import { decodeHeader } from '../../redis/scripts/header.js';
import { bytesAt } from '../../redis/scripts/script.js';
import { triesOf } from '../core/decode.js';
import { decodeId } from '../core/ids.js';
import { publishedAtMs, timeOrNull } from '../core/published-at.js';

/** Number of values per job in the reply of lua/commands/queries/list_jobs.lua. */
export const FIELDS_PER_ITEM = 5;

/** What the scripts return for a job. */
export interface StoredFacts {
  /** Encoded. */
  readonly id: Buffer;
  /** Its value, or the start of it. */
  readonly header: Buffer;
  readonly queue: string;
  /** Its score in the index of its state; empty = that index does not contain its id. */
  readonly score: string;
  /** Reads a field of its `x` hash. */
  readonly field: (name: string) => string | undefined;
}

/** Decodes a job of the reply of queries/list_jobs, from index `at` on. */
export function listedJobOf(raw: readonly (number | Buffer)[], at: number, nowMs: number): JobSummary {
  const text = (i: number): string => bytesAt(raw, at + i).toString();
  const x = JSON.parse(text(4)) as Readonly<Record<string, string | undefined>>;
  return summaryOf(
    {
      id: bytesAt(raw, at),
      header: bytesAt(raw, at + 1),
      queue: text(2),
      score: text(3),
      field: (name) => x[name],
    },
    nowMs,
  );
}

/** Builds the summary of a job for lists. */
export function summaryOf({ id, header, queue, score, field }: StoredFacts, nowMs: number): JobSummary {
  const { attempts, expires, lease, priority, state: stateNumber, tries } = decodeHeader(header);
  const state = stateOf(stateNumber);
  const when = score === '' ? null : Math.floor(Number(score));
  const hasEnded = state === 'dead' || state === 'done' || state === 'cancelled';
  const number = (name: string): number => Number(field(name) ?? 0);
  return {
    id: decodeId(id),
    queue,
    state,
    type: field('type') ?? null,
    tags: (parsed(field('tags')) as string[] | null) ?? [],
    attributes: parsed(field('attributes')) as JobSummary['attributes'],
    priority,
    tries: Number(field('tries') ?? triesOf(header)),
    triesLeft: tries,
    attempts,
    crashes: number('crashes'),
    failures: number('failures'),
    // Before the first lease, the number in the header is only the start of the numbering.
    lease: attempts > 0 ? lease : 0,
    publishedAtMs: timeOrNull(number('put') || Math.min(publishedAtMs(id, header, nowMs), nowMs)),
    // A job that expires before it is due never becomes due; a simple one has its expiry there.
    dueAtMs:
      state === 'scheduled' &&
      when !== null &&
      /* guard: expiry-is-no-due-time */ (expires === 0 || when < expires)
        ? when
        : null,
    expiresAtMs: timeOrNull(expires),
    leaseEndsAtMs: state === 'leased' ? when : null,
    // The score of a cancelled job is below zero.
    endedAtMs: hasEnded && when !== null ? Math.abs(when) : null,
    worker: state === 'leased' ? (field('worker') ?? null) : null,
    progress: parsed(field('progress')),
    failure:
      failureOf(field) ??
      /* guard: dead-simple-shows-failure */ (state === 'dead' ? expiredLease(when ?? 0) : null),
    tracked: field('tracked') !== undefined,
  };
}

/** Parses the JSON of a field; null if there is none. */
export function parsed(text: string | undefined): unknown {
  return text === undefined ? null : (JSON.parse(text) as unknown);
}

/** A dead job without a recorded failure is a simple one: it died when its last lease expired. */
function expiredLease(atMs: number): Failure {
  return { group: LEASE_EXPIRED, message: 'its last lease ran out', atMs, worker: null };
}

function failureOf(field: StoredFacts['field']): Failure | null {
  const group = field('fgroup');
  if (group === undefined) return null;
  return {
    group,
    message: field('fmessage') ?? '',
    atMs: Number(field('fat') ?? 0),
    worker: field('fworker') ?? null,
  };
}
