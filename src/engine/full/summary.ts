import type { Failure, JobSummary } from '../../domain/rich-job.js';
import { stateOf } from '../../domain/states.js';
import { bytesAt } from '../../redis/scripts/script.js';
import { decodeId, mintedAtMs } from '../ids.js';

/** What lua/scripts/full_page.lua answers for each job. */
export const FIELDS_PER_ITEM = 5;

/** What the store tells of a job, by whichever script. */
export interface Told {
  /** Encoded. */
  readonly id: Buffer;
  /** Its value, or the head of it. */
  readonly header: Buffer;
  readonly queue: string;
  /** Its score where it stands; empty = it stands nowhere by its name. */
  readonly score: string;
  /** A field of its `x`. */
  readonly field: (name: string) => string | undefined;
}

/** Reads what full_page.lua says of a job, from a place of its reply on. */
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

/** What lists tell of a job. */
export function summaryOf({ id, header, queue, score, field }: Told, nowMs: number): JobSummary {
  const state = stateOf(header.readUInt8(1));
  const when = score === '' ? null : Math.floor(Number(score));
  const hasEnded = state === 'dead' || state === 'done' || state === 'cancelled';
  const number = (name: string): number => Number(field(name) ?? 0);
  const attempts = header.readUInt16BE(6);
  return {
    id: decodeId(id),
    queue,
    state,
    type: field('type') ?? null,
    tags: (parsed(field('tags')) as string[] | null) ?? [],
    attributes: parsed(field('attributes')) as JobSummary['attributes'],
    priority: header.readInt8(3),
    triesLeft: header.readUInt16BE(4),
    attempts,
    crashes: number('crashes'),
    failures: number('failures'),
    // Where the numbers of its leases begin is nobody's lease.
    lease: attempts > 0 ? header.readUInt32BE(8) : 0,
    publishedAtMs: timeOrNull(number('put') || Math.min(mintedAtMs(id), nowMs)),
    dueAtMs: state === 'scheduled' ? when : null,
    expiresAtMs: timeOrNull(header.readUIntBE(17, 6)),
    leaseEndsAtMs: state === 'leased' ? when : null,
    endedAtMs: hasEnded ? when : null,
    worker: state === 'leased' ? (field('worker') ?? null) : null,
    progress: parsed(field('progress')),
    failure: failureOf(field),
    tracked: field('tracked') !== undefined,
  };
}

/** JSON of a field; null without one. */
export function parsed(text: string | undefined): unknown {
  return text === undefined ? null : (JSON.parse(text) as unknown);
}

/** A time of the store, where 0 stands for none. */
export function timeOrNull(ms: number): number | null {
  return ms === 0 ? null : ms;
}

function failureOf(field: Told['field']): Failure | null {
  const group = field('fgroup');
  if (group === undefined) return null;
  return {
    group,
    message: field('fmessage') ?? '',
    atMs: Number(field('fat') ?? 0),
    worker: field('fworker') ?? null,
  };
}
