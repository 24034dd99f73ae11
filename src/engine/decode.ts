import { JOB_STATES, type JobState } from '../domain/states.js';
import { bytesAt, integerAt } from '../redis/script.js';
import type { LeasedJob, StoredJob } from '../domain/job.js';
import { decodeId, mintedAtMs } from './ids.js';

/** The header of a job, as lua/lib/job.lua packs it. */
const HEADER_BYTES = 24;
const STATE_OF = new Map(
  Object.entries(JOB_STATES).map(([name, number]) => [number as number, name as JobState]),
);

/** A job that was looked at. */
export interface PeekedJob extends StoredJob {
  readonly state: JobState;
}

/** Jobs that an item of a reserve batch got; null if it must ask again. */
export type Reserved = LeasedJob[] | null;

/** Reads a stored value (header and body) as a job. */
export function decodeJob(
  queue: string,
  id: Buffer,
  value: Buffer,
  attributes: Buffer,
  nowMs: number,
): PeekedJob & { readonly lease: number } {
  const expiresMs = value.readUIntBE(17, 6);
  const minted = mintedAtMs(id);
  return {
    id: decodeId(id),
    queue,
    body: value.subarray(HEADER_BYTES),
    attributes: attributes.length > 0 ? parseAttributes(attributes) : null,
    state: STATE_OF.get(value.readUInt8(1)) ?? 'ready',
    triesLeft: value.readUInt16BE(4),
    attempts: value.readUInt16BE(6),
    lease: value.readUInt32BE(8),
    ttlLeftMs: expiresMs === 0 ? 0 : Math.max(expiresMs - nowMs, 1),
    elapsedMs: minted === 0 ? 0 : Math.max(nowMs - minted, 0),
  };
}

/** Reads the reply of reserve: per item, given with the queues it asked for, its jobs. */
export function decodeReserved(
  raw: readonly (number | Buffer)[],
  nowMs: number,
  asked: readonly (readonly string[])[],
): { readonly items: Reserved[]; readonly expired: number } {
  const items: Reserved[] = [];
  let at = 2;
  for (const queues of asked) {
    const found = integerAt(raw, at++);
    if (found < 0) {
      items.push(null);
      continue;
    }
    const jobs: LeasedJob[] = [];
    for (let i = 0; i < found; i++, at += 5) jobs.push(decodeLease(raw, at, queues, nowMs));
    items.push(jobs);
  }
  return { items, expired: integerAt(raw, at) };
}

/** The value shows the job as it was before this lease: what the script changed is changed here too. */
function decodeLease(
  raw: readonly (number | Buffer)[],
  at: number,
  queues: readonly string[],
  nowMs: number,
): LeasedJob {
  const queue = queues[integerAt(raw, at + 2) - 1] ?? '';
  const job = decodeJob(queue, bytesAt(raw, at), bytesAt(raw, at + 1), bytesAt(raw, at + 4), nowMs);
  return {
    id: job.id,
    queue,
    body: job.body,
    attributes: job.attributes,
    triesLeft: job.triesLeft - 1,
    attempts: Math.min(job.attempts + 1, 65_535),
    ttlLeftMs: job.ttlLeftMs,
    elapsedMs: job.elapsedMs,
    lease: (job.lease + 1) >>> 0,
    leaseEndsAtMs: integerAt(raw, at + 3),
  };
}

function parseAttributes(json: Buffer): Record<string, string> {
  return JSON.parse(json.toString()) as Record<string, string>;
}
