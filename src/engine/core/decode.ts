import { MAX_TRIES } from '../../domain/limits.js';
import { type JobState, stateOf } from '../../domain/job/states.js';
import {
  attemptsIn,
  expiresMsIn,
  freeRetriesIn,
  HEADER_BYTES,
  leaseIn,
  stateNumberIn,
  triesIn,
} from '../../redis/scripts/header.js';
import { bytesAt, integerAt, type Raw } from '../../redis/scripts/script.js';
import { lease } from '../../redis/scripts/simple.js';
import type { LeasedJob, StoredJob } from '../../domain/job/job.js';
import { decodeId } from './ids.js';
import { elapsedSince, hasPublishTime, publishedAtMs, timeOrNull } from './published-at.js';

/** A job that was read without a lease. */
export interface PeekedJob extends StoredJob {
  readonly state: JobState;
  /** The group of its last failure; left out = it has none. */
  readonly failureGroup?: string;
}

/** What decoding needs to know of the requests that share one item of a lease script. */
interface LeaseGroup {
  readonly queues: readonly string[];
  readonly ttrMs: number;
  /** Indexes of its requests in the batch; one that wants a job for each of several clients is there several times. */
  readonly members: readonly number[];
}

/** What a fetch request of a batch got. */
export interface FetchResult {
  readonly jobs: LeasedJob[];
  /** The script had to end early: the request must be sent again for the clients that got no job. */
  readonly again: boolean;
  /** One of its queues is extended: it must use the extended path. */
  readonly isExtended: boolean;
}

/** Replaces the number of jobs if one of the queues is extended (lua/commands/simple/lease.lua). */
const ELSEWHERE = 999_999;

/** Reads a stored value (header and body) as a job. */
export function decodeJob(
  queue: string,
  id: Buffer,
  value: Buffer,
  attributes: Buffer,
  nowMs: number,
): PeekedJob {
  const expiresMs = expiresMsIn(value);
  return {
    id: decodeId(id),
    queue,
    body: value.subarray(HEADER_BYTES),
    attributes: attributes.length > 0 ? parseAttributes(attributes.toString()) : null,
    state: stateOf(stateNumberIn(value)),
    triesLeft: triesIn(value),
    attempts: attemptsIn(value),
    ttlLeftMs: expiresMs === 0 ? 0 : Math.max(expiresMs - nowMs, 1),
    elapsedMs: elapsedSince(publishedAtMs(id, value, nowMs), nowMs),
  };
}

/**
 * Decodes the reply of the lease script: distributes the jobs of each group of requests to its members, in the order of their
 * requests.
 *
 * @returns what each request got; and how many expired jobs the script found
 */
export function decodeLeases(
  raw: Raw['raw'],
  groups: readonly LeaseGroup[],
  requests: number,
): { readonly items: FetchResult[]; readonly expired: number } {
  const items = new Array<FetchResult>(requests);
  const run = { nowMs: integerAt(raw, 1), nowCeilMs: integerAt(raw, 2), floor: integerAt(raw, 3) };
  let at = 4;
  for (const group of groups) {
    const { count, again, texts } = decodeFound(raw[at++]);
    if (count === ELSEWHERE) {
      for (const member of group.members) items[member] = { jobs: [], again: false, isExtended: true };
      continue;
    }
    const jobs: LeasedJob[] = [];
    for (let i = 0; i < count; i++, at += 2) {
      jobs.push(decodeLease(bytesAt(raw, at), bytesAt(raw, at + 1), group, texts?.[i + 1], run));
    }
    deal(group, jobs, again, items);
  }
  return { items, expired: integerAt(raw, at) };
}

/** Gives one job to each member, which stands for a client that requested one; all jobs to a single member. */
function deal({ members }: LeaseGroup, jobs: LeasedJob[], again: boolean, items: FetchResult[]): void {
  const [alone] = members;
  if (members.length === 1 && alone !== undefined) {
    items[alone] = { jobs, again, isExtended: false };
    return;
  }
  members.forEach((member, i) => {
    const job = jobs[i];
    const item = (items[member] ??= { jobs: [], again, isExtended: false });
    if (job) item.jobs.push(job);
  });
}

interface Found {
  readonly count: number;
  readonly again: boolean;
  /** From the second line on: for each job the index of its queue, and its attributes. */
  readonly texts: readonly string[] | undefined;
}

function decodeFound(value: number | Buffer | undefined): Found {
  const texts = Buffer.isBuffer(value) ? value.toString().split('\n') : undefined;
  const found = texts ? Number(texts[0]) : Number(value);
  if (!Number.isInteger(found)) throw new TypeError(`${lease.label}: the reply has no number of jobs`);
  return { count: found < 0 ? -1 - found : found, again: found < 0, texts };
}

/**
 * The tries that a simple job was published with, or respawned with: each lease costs one, but for those that expired
 * before a worker got the job.
 */
export function triesOf(value: Buffer): number {
  return Math.min(triesIn(value) + attemptsIn(value) - freeRetriesIn(value), MAX_TRIES);
}

/** The number that the script gave this lease. A job whose number has its publish time is below the floor. */
function leaseAfter(value: Buffer, floor: number): number {
  const next = leaseIn(value) + 1;
  return (next >= floor || hasPublishTime(value) ? next : floor) >>> 0;
}

/** The value shows the job before this lease: applies the changes that the script made. */
function decodeLease(
  id: Buffer,
  value: Buffer,
  { queues, ttrMs }: LeaseGroup,
  text: string | undefined,
  { nowMs, nowCeilMs, floor }: { readonly nowMs: number; readonly nowCeilMs: number; readonly floor: number },
): LeasedJob {
  const space = text?.indexOf(' ') ?? -1;
  const place = text === undefined ? 1 : Number(text.slice(0, space));
  const attributes = text?.slice(space + 1) ?? '';
  const expiresMs = expiresMsIn(value);
  const publishedMs = publishedAtMs(id, value, nowMs);
  const endsMs = nowCeilMs + ttrMs;
  return {
    id: decodeId(id),
    queue: queues[place - 1] ?? '',
    body: value.subarray(HEADER_BYTES),
    attributes: attributes === '' ? null : parseAttributes(attributes),
    tries: triesOf(value),
    triesLeft: triesIn(value) - 1,
    attempts: Math.min(attemptsIn(value) + 1, 65_535),
    ttlLeftMs: expiresMs === 0 ? 0 : Math.max(expiresMs - nowMs, 1),
    elapsedMs: elapsedSince(publishedMs, nowMs),
    lease: leaseAfter(value, floor),
    leaseEndsAtMs: expiresMs === 0 ? endsMs : Math.min(endsMs, expiresMs),
    publishedAtMs: timeOrNull(publishedMs),
    expiresAtMs: timeOrNull(expiresMs),
    receipt: undefined,
  };
}

export function parseAttributes(json: string): Record<string, string> {
  return JSON.parse(json) as Record<string, string>;
}
