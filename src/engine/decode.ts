import { type JobState, stateOf } from '../domain/states.js';
import { bytesAt, integerAt } from '../redis/scripts/script.js';
import type { LeasedJob, StoredJob } from '../domain/job.js';
import type { Raw } from '../redis/scripts/plain.js';
import { decodeId, mintedAtMs } from './ids.js';
import type { Group } from './questions.js';

/** The header of a job, as lua/lib/job.lua packs it. */
const HEADER_BYTES = 24;
/** Where its fields begin. */
const STATE = 1;
const TRIES = 4;
const ATTEMPTS = 6;
const LEASE = 8;
const EXPIRES = 17;

/** A job that was looked at. */
export interface PeekedJob extends StoredJob {
  readonly state: JobState;
}

/** Jobs that an item of a reserve batch got; null if it must ask again, `full` if it must ask the full lane. */
export type Reserved = LeasedJob[] | null | 'full';

/** Stands for a number of jobs where one of the queues is a full one (lua/lib/notes.lua). */
const ELSEWHERE = 999_999;

/** Reads a stored value (header and body) as a job. */
export function decodeJob(
  queue: string,
  id: Buffer,
  value: Buffer,
  attributes: Buffer,
  nowMs: number,
): PeekedJob {
  const expiresMs = value.readUIntBE(EXPIRES, 6);
  const minted = mintedAtMs(id);
  return {
    id: decodeId(id),
    queue,
    body: value.subarray(HEADER_BYTES),
    attributes: attributes.length > 0 ? parseAttributes(attributes.toString()) : null,
    state: stateOf(value.readUInt8(STATE)),
    triesLeft: value.readUInt16BE(TRIES),
    attempts: value.readUInt16BE(ATTEMPTS),
    ttlLeftMs: expiresMs === 0 ? 0 : Math.max(expiresMs - nowMs, 1),
    elapsedMs: minted === 0 ? 0 : Math.max(nowMs - minted, 0),
  };
}

/**
 * Reads the reply of reserve: for each group of questions its jobs, dealt out to its members in the order in which they asked.
 * @returns per question its jobs, null if it must ask again; and how many expired jobs were met
 */
export function decodeReserved(
  raw: Raw['raw'],
  groups: readonly Group[],
  questions: number,
): { readonly items: Reserved[]; readonly expired: number } {
  const items = new Array<Reserved>(questions).fill(null);
  const times = { nowMs: integerAt(raw, 1), nowCeilMs: integerAt(raw, 2) };
  let at = 3;
  for (const group of groups) {
    const { count, again, notes } = decodeFound(raw[at++]);
    if (count === ELSEWHERE) {
      for (const member of group.members) items[member] = 'full';
      continue;
    }
    const jobs: LeasedJob[] = [];
    for (let i = 0; i < count; i++, at += 2) {
      jobs.push(decodeLease(bytesAt(raw, at), bytesAt(raw, at + 1), group, notes?.[i + 1], times));
    }
    deal(group, jobs, again, items);
  }
  return { items, expired: integerAt(raw, at) };
}

/** One for each member, who wanted one; all for a member who is alone. */
function deal({ members }: Group, jobs: LeasedJob[], again: boolean, items: Reserved[]): void {
  const [alone] = members;
  if (members.length === 1 && alone !== undefined) {
    items[alone] = jobs.length === 0 && again ? null : jobs;
    return;
  }
  members.forEach((member, i) => {
    const job = jobs[i];
    if (job) items[member] = [job];
    else items[member] = again ? null : [];
  });
}

interface Found {
  readonly count: number;
  readonly again: boolean;
  /** From its second line on: which of the names, and the attributes, of each job. */
  readonly notes: readonly string[] | undefined;
}

function decodeFound(value: number | Buffer | undefined): Found {
  const notes = Buffer.isBuffer(value) ? value.toString().split('\n') : undefined;
  const found = notes ? Number(notes[0]) : Number(value);
  if (!Number.isInteger(found)) throw new TypeError('reserve does not say how many it found');
  return { count: found < 0 ? -1 - found : found, again: found < 0, notes };
}

/** The value shows the job as it was before this lease: what the script changed is changed here too. */
function decodeLease(
  id: Buffer,
  value: Buffer,
  { queues, ttrMs }: Group,
  note: string | undefined,
  { nowMs, nowCeilMs }: { readonly nowMs: number; readonly nowCeilMs: number },
): LeasedJob {
  const space = note?.indexOf(' ') ?? -1;
  const place = note === undefined ? 1 : Number(note.slice(0, space));
  const attributes = note?.slice(space + 1) ?? '';
  const expiresMs = value.readUIntBE(EXPIRES, 6);
  const endsMs = nowCeilMs + ttrMs;
  const minted = mintedAtMs(id);
  return {
    id: decodeId(id),
    queue: queues[place - 1] ?? '',
    body: value.subarray(HEADER_BYTES),
    attributes: attributes === '' ? null : parseAttributes(attributes),
    triesLeft: value.readUInt16BE(TRIES) - 1,
    attempts: Math.min(value.readUInt16BE(ATTEMPTS) + 1, 65_535),
    ttlLeftMs: expiresMs === 0 ? 0 : Math.max(expiresMs - nowMs, 1),
    elapsedMs: minted === 0 ? 0 : Math.max(nowMs - minted, 0),
    lease: (value.readUInt32BE(LEASE) + 1) >>> 0,
    leaseEndsAtMs: expiresMs === 0 ? endsMs : Math.min(endsMs, expiresMs),
    receipt: undefined,
  };
}

function parseAttributes(json: string): Record<string, string> {
  return JSON.parse(json) as Record<string, string>;
}
