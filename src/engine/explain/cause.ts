import type { Cause, CauseName } from '../../contract/explain.js';
import type { JobReasons, QueueReasons, ServerReasons } from './reasons.js';
import type { Remedies } from './remedies.js';

/** What marks facts of the process that answers: others may see something else. */
export const THIS_SERVER = 'this server';

/** What all reasons of a job or a queue are made from. */
export interface Known {
  readonly nowMs: number;
  readonly queue: QueueReasons;
  readonly server: ServerReasons;
  readonly remedies: Remedies;
}
export interface KnownJob extends Known {
  readonly reasons: JobReasons;
}

/** A reason why a job or a queue waits; null = it does not hold. */
export type Reason<T extends Known> = (known: T) => Cause | null;

/** A cause; what is left out is not known, or there is none. */
export function cause(
  name: CauseName,
  message: string,
  { facts = {}, sinceMs = null, nextAtMs = null, remedies = [] }: Partial<Cause> = {},
): Cause {
  return { cause: name, message, facts, sinceMs, nextAtMs, remedies };
}

/** When a job came into the state that it is in, as far as its timeline says; Unix ms. */
export function enteredMs({ job }: JobReasons): number | null {
  return job.timeline.at(-1)?.atMs ?? job.publishedAtMs;
}
