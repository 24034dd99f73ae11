import type { ReserveRequest } from '../domain/job.js';
import type { Item } from '../redis/script.js';

/** Somebody asks for jobs; with `waits`, an empty answer registers this server's interest in the same step. */
export interface Question {
  readonly request: ReserveRequest;
  readonly waits: boolean;
}

/** Questions that are asked as one: many who want one job each from the same queues share one look at them. */
export interface Group {
  readonly queues: readonly string[];
  readonly ttrMs: number;
  readonly waits: boolean;
  /** How many jobs they want together. */
  count: number;
  /** Places of its questions in the batch. */
  readonly members: number[];
}

/** Groups the questions of a batch, in the order in which they came. */
export function groupsOf(questions: readonly Question[]): Group[] {
  const groups: Group[] = [];
  const singles = new Map<string, Group>();
  questions.forEach(({ request: { queues, count, ttrMs }, waits }, i) => {
    const key = count === 1 ? `${String(ttrMs)}${waits ? '+' : '-'}${namesOf(queues)}` : '';
    const known = singles.get(key);
    if (known) {
      known.count++;
      known.members.push(i);
      return;
    }
    const group = { queues, ttrMs, waits, count, members: [i] };
    groups.push(group);
    if (count === 1) singles.set(key, group);
  });
  return groups;
}

/** A group as an item of lua/scripts/reserve.lua. */
export function itemOf({ queues, count, members, ttrMs, waits }: Group): Item {
  return [namesOf(queues), count, members.length, ttrMs, waits ? '1' : '0'];
}

function namesOf(queues: readonly string[]): string {
  return queues.length === 1 ? (queues[0] ?? '') : queues.join(',');
}
