import { hasLegalCharacters, isJobId } from '../domain/names.js';
import { packUlid } from '../domain/ulid.js';

/** lmstfy's keys and packed values: numbers are little-endian, lengths have 16 bits. */
export const TIMER = 'timer_set';
export const NAMESPACES = 'm/ns';
export const LIMITERS = '__throttler_keys__';

/** Kinds of a queue's lists: ready jobs, and dead ones; the oldest is at the right end of both. */
export type ListKind = 'q' | 'd';

/** A queue of a lmstfy server. */
export interface QueueName {
  readonly namespace: string;
  readonly queue: string;
}

/** A job in a list. */
export interface Entry {
  readonly id: string;
  /** Deliveries that it may still get; 1 for every dead one. */
  readonly tries: number;
}

/** A job in the timer: delayed, or leased by a worker. */
export interface TimerEntry extends Entry, QueueName {}

export function listKey(kind: ListKind, { namespace, queue }: QueueName): string {
  return `${kind}/${namespace}/${queue}`;
}

export function payloadKey({ namespace, queue }: QueueName, id: string): string {
  return `j/${namespace}/${queue}/${id}`;
}

/** The queue that a list's key names, null if it names none. */
export function queueOfKey(key: string): QueueName | null {
  const [kind, namespace, queue, ...rest] = key.split('/');
  if ((kind !== 'q' && kind !== 'd') || namespace === undefined || queue === undefined || rest.length > 0)
    return null;
  return hasLegalCharacters(namespace) && hasLegalCharacters(queue) ? { namespace, queue } : null;
}

/** An entry of a list: tries, length of the id, id. Null if it is none. */
export function readEntry(bytes: Buffer): Entry | null {
  if (bytes.length < 4 || bytes.length !== 4 + bytes.readUInt16LE(2)) return null;
  const id = bytes.toString('latin1', 4);
  return isJobId(id) ? { id, tries: bytes.readUInt16LE(0) } : null;
}

/** A member of the timer: namespace and queue, each with its length before it, then as in a list. Null if it is none. */
export function readTimerEntry(bytes: Buffer): TimerEntry | null {
  const namespace = readText(bytes, 0);
  const queue = namespace && readText(bytes, namespace.end);
  if (!queue) return null;
  const entry = readEntry(bytes.subarray(queue.end));
  const isSound = hasLegalCharacters(namespace.text) && hasLegalCharacters(queue.text);
  return entry && isSound ? { ...entry, namespace: namespace.text, queue: queue.text } : null;
}

function readText(bytes: Buffer, at: number): { readonly text: string; readonly end: number } | null {
  if (bytes.length < at + 2) return null;
  const end = at + 2 + bytes.readUInt16LE(at);
  return end <= bytes.length ? { text: bytes.toString('latin1', at + 2, end), end } : null;
}

/**
 * Whether a member of the timer is a job that nobody has had yet: ids hold the time of their publish and, in their last four bytes, the
 * delay in seconds. A leased job has another due time: its lease began when the delay was over.
 */
export function isDelayed(id: string, dueS: number): boolean {
  const ulid = packUlid(id.slice(-26));
  if (!ulid) return false;
  const delayS = ulid.readUInt32LE(12);
  const bornS = Math.floor(ulid.readUIntBE(0, 6) / 1_000);
  // The due time was reckoned a moment after the id.
  return delayS > 0 && Math.abs(dueS - (bornS + delayS)) <= 1;
}

/** What was published: bytes, and attributes if it had any. */
export interface Payload {
  readonly body: Buffer;
  readonly attributes: Readonly<Record<string, string>> | null;
}

/** Ids of jobs with attributes have a version before the ULID, and their value is JSON with the body in base64. */
export function readPayload(id: string, value: Buffer): Payload {
  const plain = { body: value, attributes: null };
  if (id.length !== 27 || value[0] !== 0x7b) return plain;
  try {
    const wrapped = JSON.parse(value.toString()) as Readonly<Record<string, unknown>>;
    const { body, attributes = null, ...rest } = wrapped;
    if (typeof body !== 'string' || Object.keys(rest).length > 0) return plain;
    const bytes = Buffer.from(body, 'base64');
    if (bytes.toString('base64') !== body || !isAttributes(attributes)) return plain;
    return { body: bytes, attributes };
  } catch {
    return plain;
  }
}

function isAttributes(value: unknown): value is Payload['attributes'] {
  if (value === null) return true;
  return (
    typeof value === 'object' &&
    !Array.isArray(value) &&
    Object.values(value).every((text) => typeof text === 'string')
  );
}
