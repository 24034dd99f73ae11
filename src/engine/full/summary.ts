import type { JobSummary } from '../../domain/rich-job.js';
import type { Failure } from '../../domain/rich-job.js';
import { stateOf } from '../../domain/states.js';
import { bytesAt } from '../../redis/scripts/script.js';
import { decodeId, mintedAtMs } from '../ids.js';

/** What lua/scripts/full_page.lua answers for each job. */
export const FIELDS_PER_ITEM = 5;

type Fields = Readonly<Record<string, string | undefined>>;

/** Reads what full_page.lua says of a job, from a place of its reply on. */
export function summaryOf(raw: readonly (number | Buffer)[], at: number, nowMs: number): JobSummary {
  const id = bytesAt(raw, at);
  const header = bytesAt(raw, at + 1);
  const score = bytesAt(raw, at + 3).toString();
  const x = JSON.parse(bytesAt(raw, at + 4).toString()) as Fields;
  const state = stateOf(header.readUInt8(1));
  const when = score === '' ? null : Math.floor(Number(score));
  const expiresMs = header.readUIntBE(17, 6);
  const published = Number(x['put'] ?? 0) || Math.min(mintedAtMs(id), nowMs);
  return {
    id: decodeId(id),
    queue: bytesAt(raw, at + 2).toString(),
    state,
    type: x['type'] ?? null,
    tags: x['tags'] === undefined ? [] : (JSON.parse(x['tags']) as string[]),
    attributes:
      x['attributes'] === undefined ? null : (JSON.parse(x['attributes']) as Record<string, string>),
    priority: header.readInt8(3),
    triesLeft: header.readUInt16BE(4),
    attempts: header.readUInt16BE(6),
    crashes: Number(x['crashes'] ?? 0),
    failures: Number(x['failures'] ?? 0),
    lease: header.readUInt32BE(8),
    publishedAtMs: published === 0 ? null : published,
    dueAtMs: state === 'scheduled' ? when : null,
    expiresAtMs: expiresMs === 0 ? null : expiresMs,
    leaseEndsAtMs: state === 'leased' ? when : null,
    endedAtMs: state === 'dead' || state === 'done' || state === 'cancelled' ? when : null,
    worker: state === 'leased' ? (x['worker'] ?? null) : null,
    progress: x['progress'] === undefined ? null : (JSON.parse(x['progress']) as unknown),
    failure: failureOf(x),
    tracked: x['tracked'] !== undefined,
  };
}

function failureOf(x: Fields): Failure | null {
  const { fgroup, fmessage = '', fat = '0', fworker = null } = x;
  return fgroup === undefined
    ? null
    : { group: fgroup, message: fmessage, atMs: Number(fat), worker: fworker };
}
