import { bytesAt, flatReply, integerAt } from './script.js';

/** What every script of the engine answers first. */
export interface Answer {
  /** 0 done, 1 too late: its callers have given up, nothing has changed; 2 the namespace is not registered. */
  readonly status: number;
  /** Redis's time when it ran, Unix ms. */
  readonly nowMs: number;
}

/** One code per item of the batch; what they mean stands in the script. */
export interface Codes extends Answer {
  readonly codes: readonly number[];
}

/** The rest of the reply, for the engine to read. */
export interface Raw extends Answer {
  readonly raw: readonly (number | Buffer)[];
}

export function answer(reply: readonly (number | Buffer)[]): Answer {
  return { status: integerAt(reply, 0), nowMs: integerAt(reply, 1) };
}

const DIGIT_ZERO = 48;

export function codes(raw: unknown): Codes {
  const reply = flatReply(raw);
  return { ...answer(reply), codes: reply.length > 2 ? digitsOf(bytesAt(reply, 2)) : [] };
}

function digitsOf(text: Buffer): number[] {
  const digits: number[] = [];
  for (let i = 0; i < text.length; i++) digits.push((text[i] ?? 0) - DIGIT_ZERO);
  return digits;
}

export function whole(raw: unknown): Raw {
  const reply = flatReply(raw);
  return { ...answer(reply), raw: reply };
}

/** Leases of one queue that ran out: how many jobs went back to their line, and how many died. */
export interface Lapse {
  readonly queue: string;
  readonly returned: number;
  readonly died: number;
}

/** The end of a reply, as lua/lib/lapses.lua makes it. */
export function lapsesOf(reply: readonly (number | Buffer)[], from: number): Lapse[] {
  const lapses: Lapse[] = [];
  for (let i = from; i < reply.length; i += 3) {
    const [returned, died] = [integerAt(reply, i + 1), integerAt(reply, i + 2)];
    lapses.push({ queue: bytesAt(reply, i).toString(), returned, died });
  }
  return lapses;
}

export const TIMES = ['clock_ms', 'deadline_ms'] as const;
