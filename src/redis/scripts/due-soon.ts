import { bytesAt, flatReply, integerAt, script } from './script.js';

/** Some namespaces of a walk. */
export interface DuePage {
  /** What the next look goes on from. */
  readonly cursor: string;
  /** How many namespaces there are in all, about. */
  readonly total: number;
  /** Those with something due soon, and when that is, Unix ms. */
  readonly due: readonly (readonly [namespace: string, dueMs: number])[];
}

export const dueSoon = script('maintenance/due_soon', {
  repeatable: true,
  reply: (raw): DuePage => {
    const reply = flatReply(raw);
    const due: [string, number][] = [];
    for (let i = 2; i < reply.length; i += 2)
      due.push([bytesAt(reply, i).toString(), Number(bytesAt(reply, i + 1))]);
    return { cursor: bytesAt(reply, 0).toString(), total: integerAt(reply, 1), due };
  },
});
