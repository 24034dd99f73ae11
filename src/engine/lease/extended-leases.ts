import type { ExtendedFacts, LeasedJob } from '../../domain/job/job.js';
import { expiresMsIn, leaseIn, priorityIn } from '../../redis/scripts/header.js';
import { bytesAt, integerAt, type Item, type Raw } from '../../redis/scripts/script.js';
import { decodeJob, triesOf } from '../core/decode.js';
import { elapsedSince, publishedAtMs, timeOrNull } from '../core/published-at.js';
import type { FetchRequest } from './fetch-requests.js';

/** `ttrMs` value with which the job's own ttr applies, or the default of lua/commands/extended/lease.lua if it has none. */
export const JOBS_OWN_TTR = 0;

/** Details that lua/commands/extended/lease.lua returns for each leased job. */
interface Facts {
  /** Position of its queue in the request, from 1. */
  readonly queue: number;
  readonly ends: number;
  readonly x: Readonly<Record<string, string>>;
}

/** Encodes a fetch request as an item of lua/commands/extended/lease.lua. */
export function extendedItemOf({ request, waits }: FetchRequest): Item {
  const { queues, count, ttrMs, hasOwnTtr, inTurns = false, worker = '' } = request;
  return [
    queues.join(','),
    count,
    hasOwnTtr === true ? JOBS_OWN_TTR : ttrMs,
    waits ? '1' : '0',
    inTurns ? '1' : '0',
    worker,
  ];
}

/**
 * Decodes the reply of the lease script of the extended path: the jobs of each fetch request, in order; null = it must
 * be sent again.
 */
export function decodeExtendedLeases(
  raw: Raw['raw'],
  requests: readonly FetchRequest[],
): { readonly found: (LeasedJob[] | null)[]; readonly expired: number; readonly nextMs: number } {
  const nowMs = integerAt(raw, 1);
  let at = 4;
  const found = requests.map(({ request }) => {
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

/** The value shows the job before this lease: applies the changes that the script made. */
function leasedOf(
  id: Buffer,
  value: Buffer,
  factsJson: Buffer,
  queues: readonly string[],
  nowMs: number,
): LeasedJob {
  const { queue, ends, x } = JSON.parse(factsJson.toString()) as Facts;
  const job = decodeJob(queues[queue - 1] ?? '', id, value, Buffer.from(x['attributes'] ?? ''), nowMs);
  const publishedMs = Number(x['put'] ?? publishedAtMs(id, value, nowMs));
  const expiresMs = expiresMsIn(value);
  return {
    id: job.id,
    queue: job.queue,
    body: job.body,
    attributes: job.attributes,
    ttlLeftMs: job.ttlLeftMs,
    elapsedMs: elapsedSince(publishedMs, nowMs),
    tries: Number(x['tries'] ?? triesOf(value)),
    triesLeft: job.triesLeft - 1,
    attempts: Math.min(job.attempts + 1, 65_535),
    lease: (leaseIn(value) + 1) >>> 0,
    leaseEndsAtMs: ends,
    publishedAtMs: timeOrNull(publishedMs),
    expiresAtMs: timeOrNull(expiresMs),
    receipt: undefined,
    extended: extendedFactsOf(value, x, nowMs),
  };
}

function extendedFactsOf(value: Buffer, x: Readonly<Record<string, string>>, nowMs: number): ExtendedFacts {
  const sinceMs = Number(x['since'] ?? x['put'] ?? 0);
  return {
    priority: priorityIn(value),
    type: x['type'] ?? null,
    tags: x['tags'] === undefined ? [] : (JSON.parse(x['tags']) as string[]),
    contentType: x['ctype'] ?? null,
    crashes: Number(x['crashes'] ?? 0),
    failures: Number(x['failures'] ?? 0),
    progress: x['progress'] ?? null,
    waitedMs: sinceMs === 0 ? null : Math.max(nowMs - sinceMs, 0),
  };
}
