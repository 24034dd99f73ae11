import type { LeasedJob, RichFacts } from '../../domain/job.js';
import { bytesAt, integerAt } from '../../redis/scripts/script.js';
import type { Raw } from '../../redis/scripts/replies.js';
import type { Item } from '../../redis/scripts/script.js';
import { decodeJob } from '../decode.js';
import { mintedAtMs } from '../ids.js';
import type { Question } from '../questions.js';

/** How long a lease lasts if neither consumer nor job says, in milliseconds: as lua/lib/full/lease.lua has it. */
export const JOBS_OWN_TTR = 0;

/** Where a header has its six bytes of expiry (lua/lib/job.lua). */
const EXPIRES_AT = 17;

/** What lua/scripts/full_lease.lua says of a job it leased. */
interface Facts {
  /** Place of its queue among those that were asked for, from 1. */
  readonly queue: number;
  readonly ends: number;
  readonly x: Readonly<Record<string, string>>;
}

/** A question as an item of lua/scripts/full_lease.lua. */
export function fullItemOf({ request, waits }: Question): Item {
  const { queues, count, ttrMs, inTurns = false, worker = '' } = request;
  return [queues.join(','), count, ttrMs, waits ? '1' : '0', inTurns ? '1' : '0', worker];
}

/** Reads the reply of the full lane's lease script: the jobs of each question, in order; null = it has to be asked again. */
export function decodeFullLeases(
  raw: Raw['raw'],
  questions: readonly Question[],
): { readonly found: (LeasedJob[] | null)[]; readonly expired: number; readonly nextMs: number } {
  const nowMs = integerAt(raw, 1);
  let at = 4;
  const found = questions.map(({ request }) => {
    const jobs: LeasedJob[] = [];
    const count = integerAt(raw, at++);
    if (count < 0) return null;
    for (let left = count; left > 0; left--, at += 3) {
      jobs.push(
        leasedOf(bytesAt(raw, at), bytesAt(raw, at + 1), bytesAt(raw, at + 2), request.queues, nowMs),
      );
    }
    return jobs;
  });
  return { found, expired: integerAt(raw, 2), nextMs: integerAt(raw, 3) };
}

/** The value shows the job as it was before this lease: what the script changed is changed here too. */
function leasedOf(
  id: Buffer,
  value: Buffer,
  factsJson: Buffer,
  queues: readonly string[],
  nowMs: number,
): LeasedJob {
  const { queue, ends, x } = JSON.parse(factsJson.toString()) as Facts;
  const job = decodeJob(queues[queue - 1] ?? '', id, value, Buffer.from(x['attributes'] ?? ''), nowMs);
  return {
    id: job.id,
    queue: job.queue,
    body: job.body,
    attributes: job.attributes,
    ttlLeftMs: job.ttlLeftMs,
    elapsedMs: job.elapsedMs,
    triesLeft: job.triesLeft - 1,
    attempts: Math.min(job.attempts + 1, 65_535),
    lease: (value.readUInt32BE(8) + 1) >>> 0,
    leaseEndsAtMs: ends,
    receipt: undefined,
    rich: richFactsOf(id, value, x, nowMs),
  };
}

function richFactsOf(
  id: Buffer,
  value: Buffer,
  x: Readonly<Record<string, string>>,
  nowMs: number,
): RichFacts {
  const publishedMs = Number(x['put'] ?? mintedAtMs(id));
  const expiresMs = value.readUIntBE(EXPIRES_AT, 6);
  const sinceMs = Number(x['since'] ?? x['put'] ?? 0);
  return {
    priority: value.readInt8(3),
    type: x['type'] ?? null,
    tags: x['tags'] === undefined ? [] : (JSON.parse(x['tags']) as string[]),
    contentType: x['ctype'] ?? null,
    crashes: Number(x['crashes'] ?? 0),
    failures: Number(x['failures'] ?? 0),
    progress: x['progress'] ?? null,
    publishedAtMs: publishedMs === 0 ? null : publishedMs,
    expiresAtMs: expiresMs === 0 ? null : expiresMs,
    waitedMs: sinceMs === 0 ? null : Math.max(nowMs - sinceMs, 0),
  };
}
