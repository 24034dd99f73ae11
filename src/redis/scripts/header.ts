/**
 * The header of a job: 24 bytes, big-endian, before the body. The same codec in Lua is lua/modules/core/header.lua; a test compares the two. Fields are
 * read one by one: an object for each job would be expensive in a batch.
 */
export const HEADER_BYTES = 24;

/** Where each field begins. */
const AT = {
  api: 0,
  state: 1,
  flags: 2,
  priority: 3,
  tries: 4,
  attempts: 6,
  lease: 8,
  queue: 12,
  entry: 16,
  expires: 17,
  freeRetries: 23,
} as const;
const EXPIRES_BYTES = 6;

/** All fields of a header. */
export interface JobHeader {
  /** The API that published it: 1 = lmstfy's, or an older server stored it; 2 = the native one. */
  readonly api: number;
  /** Its number in domain/states. */
  readonly state: number;
  readonly flags: number;
  /** -128 to 127. */
  readonly priority: number;
  /** Tries that are left. */
  readonly tries: number;
  readonly attempts: number;
  /** The number of the last lease. */
  readonly lease: number;
  /** The queue's number. */
  readonly queue: number;
  /** Entry number in the ready list. */
  readonly entry: number;
  /** Unix ms, 0 = never. */
  readonly expires: number;
  /** Leases that expired and cost no try. */
  readonly freeRetries: number;
  /** The last lease expired and cost no try, and the job was not leased since. */
  readonly wasFree: boolean;
}

/** Added to the number of the API: see wasFree. */
const FREE_LEASE = 128;

export const stateNumberIn = (header: Buffer): number => header.readUInt8(AT.state);
export const flagsIn = (header: Buffer): number => header.readUInt8(AT.flags);
export const priorityIn = (header: Buffer): number => header.readInt8(AT.priority);
export const triesIn = (header: Buffer): number => header.readUInt16BE(AT.tries);
export const attemptsIn = (header: Buffer): number => header.readUInt16BE(AT.attempts);
export const leaseIn = (header: Buffer): number => header.readUInt32BE(AT.lease);
/** Unix ms, 0 = never. */
export const expiresMsIn = (header: Buffer): number => header.readUIntBE(AT.expires, EXPIRES_BYTES);

/** Leases that expired and cost no try. */
export const freeRetriesIn = (header: Buffer): number => header.readUInt8(AT.freeRetries);

export function decodeHeader(header: Buffer): JobHeader {
  return {
    api: header.readUInt8(AT.api) % FREE_LEASE,
    state: stateNumberIn(header),
    flags: flagsIn(header),
    priority: priorityIn(header),
    tries: triesIn(header),
    attempts: attemptsIn(header),
    lease: leaseIn(header),
    queue: header.readUInt32BE(AT.queue),
    entry: header.readUInt8(AT.entry),
    expires: expiresMsIn(header),
    freeRetries: freeRetriesIn(header),
    wasFree: header.readUInt8(AT.api) >= FREE_LEASE,
  };
}
