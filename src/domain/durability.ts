/**
 * What must hold for a job before its publish is answered. `memory`: it is in the memory of its Redis. `aof`: also on
 * the disk of that Redis. `replicated:N`: also in the memory of N replicas.
 */
export type Durability = 'memory' | 'aof' | `replicated:${number}`;

/** Syntax of a durability. */
export const DURABILITY = /^(?:memory|aof|replicated:[1-9])$/;
/** Rule for error messages. */
export const DURABILITY_RULE = 'must be memory, aof, or replicated:N with N from 1 to 9';

/** True if the text is a durability. */
export function isDurability(text: string): text is Durability {
  return DURABILITY.test(text);
}

/** How many replicas must have a job; 0 if the durability does not depend on replicas. */
export function replicasOf(durability: Durability): number {
  return durability.startsWith('replicated:') ? Number(durability.slice('replicated:'.length)) : 0;
}
