import type { LeasedJob } from '../../domain/job/job.js';
import { attemptsIn, expiresMsIn, HEADER_BYTES, priorityIn, triesIn } from '../../redis/scripts/header.js';
import { bytesAt, integerAt, type Item, type Raw } from '../../redis/scripts/script.js';
import { parseAttributes, triesOf } from '../core/decode.js';
import { dependencyResultsOf } from '../core/dependency-results.js';
import { decodeId } from '../core/ids.js';
import { elapsedSince, publishedAtMs, timeOrNull } from '../core/published-at.js';
import type { FetchRequest } from './fetch-requests.js';

/** `ttrMs` value with which the job's own ttr applies, or the default of lua/commands/extended/lease.lua if it has none. */
export const JOBS_OWN_TTR = 0;

/** Facts before the number of tries, and from there to what a job gets of its dependencies. */
const TEXTS = 11;
const NUMBERS = 4;

/** Encodes a fetch request as an item of lua/commands/extended/lease.lua. */
export function extendedItemOf({ request, waits }: FetchRequest): Item {
  const {
    queues,
    count,
    ttrMs,
    hasOwnTtr,
    linger,
    inTurns = false,
    worker = '',
    isPushed = false,
    types = [],
  } = request;
  return [
    queues.join(','),
    count,
    /* guard: job-ttr-counts */ hasOwnTtr === true ? JOBS_OWN_TTR : ttrMs,
    waits ? (linger?.min ?? 1) : 0,
    inTurns ? '1' : '0',
    worker,
    isPushed ? '1' : '0',
    types.map((type) => `${type ?? ''}\n`).join(''),
  ];
}

/** Number of jobs of a request that lingers: there are some, but fewer than its minimum. */
const TOO_FEW = -2;

export interface ExtendedLeases {
  /** The jobs of each fetch request, in order; null = it must be sent again. */
  readonly found: (LeasedJob[] | null)[];
  /** The only request lingers, and none was leased: there are fewer jobs than its minimum. */
  readonly hasTooFew: boolean;
  readonly expired: number;
  readonly nextMs: number;
}

/** Decodes the reply of the lease script of the extended path. */
export function decodeExtendedLeases(raw: Raw['raw'], requests: readonly FetchRequest[]): ExtendedLeases {
  const hasTooFew = raw[4] === TOO_FEW;
  const nowMs = integerAt(raw, 1);
  let at = 4;
  const found = hasTooFew
    ? [[]]
    : requests.map(({ request }) => {
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
  return { found, hasTooFew, expired: integerAt(raw, 2), nextMs: integerAt(raw, 3) };
}

/** The value shows the job before this lease: applies the changes that the script made. */
function leasedOf(
  id: Buffer,
  value: Buffer,
  facts: Buffer,
  queues: readonly string[],
  nowMs: number,
): LeasedJob {
  const texts = facts.toString().split('\0');
  const [place, ends, attributes, type, tags, contentType, crashes, failures, progress, since, put] = texts;
  const [tries, released, lease, maxRunMs, results] = texts.slice(TEXTS);
  const publishedMs = put ? Number(put) : publishedAtMs(id, value, nowMs);
  const expiresMs = expiresMsIn(value);
  const sinceMs = Number(since || put);
  return {
    id: decodeId(id),
    queue: queues[Number(place) - 1] ?? '',
    body: value.subarray(HEADER_BYTES),
    attributes: attributes ? parseAttributes(attributes) : null,
    ttlLeftMs: expiresMs === 0 ? 0 : Math.max(expiresMs - nowMs, 1),
    elapsedMs: elapsedSince(publishedMs, nowMs),
    tries: tries ? Number(tries) : triesOf(value),
    triesLeft: triesIn(value) - 1,
    attempts: Math.min(attemptsIn(value) + 1, 65_535),
    lease: Number(lease) >>> 0,
    leaseEndsAtMs: Number(ends),
    leasedAtMs: nowMs,
    publishedAtMs: timeOrNull(publishedMs),
    expiresAtMs: timeOrNull(expiresMs),
    receipt: undefined,
    extended: {
      priority: priorityIn(value),
      type: type || null,
      tags: tags ? (JSON.parse(tags) as string[]) : [],
      contentType: contentType || null,
      crashes: Number(crashes),
      failures: Number(failures),
      progress: progress || null,
      released: Number(released),
      maxRunMs: maxRunMs ? Number(maxRunMs) : null,
      waitedMs: sinceMs === 0 ? null : Math.max(nowMs - sinceMs, 0),
      ...(results === undefined ? {} : { dependencies: dependencyResultsOf(restOf(facts)) }),
    },
  };
}

/** What stands behind all facts, and may have zero bytes. */
function restOf(facts: Buffer): Buffer {
  let at = 0;
  for (let left = TEXTS + NUMBERS; left > 0; left--) at = facts.indexOf(0, at) + 1;
  return facts.subarray(at);
}
