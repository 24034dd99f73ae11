/**
 * How safe a job must be before its publish is answered. `memory`: in the memory of its Redis. `aof`: also on the disk of that Redis.
 * `replicated:N`: also in the memory of N replicas.
 */
export type Durability = 'memory' | 'aof' | `replicated:${number}`;

/** One as it is written. */
export const DURABILITY = /^(?:memory|aof|replicated:[1-9])$/;
/** What a right one looks like, for people. */
export const DURABILITY_RULE = 'must be memory, aof, or replicated:N with N from 1 to 9';

/** True if the text names one. */
export function isDurability(text: string): text is Durability {
  return DURABILITY.test(text);
}

/** How many replicas must have a job; 0 where they do not matter. */
export function replicasOf(durability: Durability): number {
  return durability.startsWith('replicated:') ? Number(durability.slice('replicated:'.length)) : 0;
}
