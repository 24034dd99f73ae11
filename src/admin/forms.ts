import type { Limit } from '../domain/caller.js';
import { QueueError } from '../domain/errors.js';

/** A request's parameters by name. */
export type Fields = Readonly<Record<string, string | undefined>>;

/** What a form holds; of equal names the first. Empty if the body is none. */
export function readForm(contentType: string | undefined, body: unknown): Fields {
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded' || typeof body !== 'string') return {};
  const fields: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(body)) fields[name] ??= value;
  return fields;
}

/** The limit that a request asks for, as lmstfy's decoder reads it: left out or null is 0. */
export interface AskedLimit {
  readonly interval: number;
  readonly read: number;
  readonly write: number;
}

/**
 * Reads a limit's JSON.
 *
 * @throws {QueueError} `invalid_argument`: it is no object of whole numbers
 */
export function readLimit(body: unknown): AskedLimit {
  const asked = parse(typeof body === 'string' ? body : '');
  const { interval, read, write } = asked;
  return { interval: wholeNumber(interval), read: wholeNumber(read), write: wholeNumber(write) };
}

/** The limit in the words of the store. */
export function toLimit({ read, write, interval }: AskedLimit): Limit {
  return { read, write, intervalS: interval };
}

/** The limit in lmstfy's words. */
export function toAskedLimit({ read, write, intervalS }: Limit): AskedLimit {
  return { interval: intervalS, read, write };
}

function parse(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new QueueError('invalid_argument', 'invalid limiter', { cause: error });
  }
  if (value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw invalid();
  // lmstfy's decoder does not look at the case of names.
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name.toLowerCase(), field]));
}

function wholeNumber(value: unknown): number {
  if (value === undefined || value === null) return 0;
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw invalid();
  return value;
}

function invalid(): QueueError {
  return new QueueError('invalid_argument', 'invalid limiter');
}
