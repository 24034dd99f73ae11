import { hasLegalCharacters, isJobId, packUlid } from '#src/domain/ids';
import { decodeTime } from 'ulid';

/** lmstfy's keys and packed values. Numbers are little-endian, lengths have 16 bits. */
export const TIMER = 'timer_set';
export const NAMESPACES = 'm/ns';
export const LIMITERS = '__throttler_keys__';

/** A queue has a list of ready jobs and a list of dead ones. The oldest entry is at the right end of both. */
export type ListKind = 'q' | 'd';

/** A queue of a lmstfy server. */
export interface QueueName {
  readonly namespace: string;
  readonly queue: string;
}

/** A job in a list. */
export interface Entry {
  readonly id: string;
  /** Remaining deliveries; 1 for every dead job. */
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

/** Reads the queue from a list's key; null if the key is not that of a list. */
export function queueOfKey(key: string): QueueName | null {
  const [kind, namespace, queue, ...rest] = key.split('/');
  if ((kind !== 'q' && kind !== 'd') || namespace === undefined || queue === undefined || rest.length > 0)
    return null;
  return hasLegalCharacters(namespace) && hasLegalCharacters(queue) ? { namespace, queue } : null;
}

/** Reads a list entry: tries, length of the id, id. Null if it has another format. */
export function readEntry(bytes: Buffer): Entry | null {
  if (bytes.length < 4 || bytes.length !== 4 + bytes.readUInt16LE(2)) return null;
  const id = bytes.toString('latin1', 4);
  return isJobId(id) ? { id, tries: bytes.readUInt16LE(0) } : null;
}

/**
 * Reads a member of the timer: namespace and queue, each with its length before it, then as in a list. Null if it has
 * another format.
 */
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
 * True if a member of the timer is a delayed job that was never leased. Ids hold the time of the publish and, in their
 * last four bytes, the delay in seconds. A leased job has a later due time: its lease began after the delay.
 */
export function isDelayed(id: string, dueS: number): boolean {
  const ulid = id.slice(-26);
  const bytes = packUlid(ulid);
  if (!bytes) return false;
  const delayS = bytes.readUInt32LE(12);
  const bornS = Math.floor(decodeTime(ulid) / 1_000);
  // lmstfy computes the due time a moment after the id.
  return delayS > 0 && Math.abs(dueS - (bornS + delayS)) <= 1;
}

/** A published job: its bytes, and its attributes if it had any. */
export interface Payload {
  readonly body: Buffer;
  readonly attributes: Readonly<Record<string, string>> | null;
}

/** The id of a job with attributes has a version before the ULID; its value is JSON with the body in base64. */
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
