import type { ReserveRequest } from '../domain/job.js';
import type { Item } from '../redis/scripts/script.js';

/** Somebody asks for jobs; with `waits`, an empty answer registers this server's interest in the same step. */
export interface Question {
  readonly request: ReserveRequest;
  readonly waits: boolean;
}

type Terms = Pick<ReserveRequest, 'queues' | 'ttrMs'>;

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

/** Groups the questions of a batch. Nobody overtakes: a question joins a group only if none came in between that may want its jobs. */
export function groupsOf(questions: readonly Question[]): Group[] {
  const groups: Group[] = [];
  const lastFor = new Map<string, Group>();
  questions.forEach((question, i) => {
    const { request, waits } = question;
    const { queues, count, ttrMs } = request;
    const known = lastFor.get(queues[0] ?? '');
    if (known && isAlike(known, question) && queues.every((queue) => lastFor.get(queue) === known)) {
      known.count++;
      known.members.push(i);
      return;
    }
    const group = { queues, ttrMs, waits, count, members: [i] };
    groups.push(group);
    for (const queue of queues) lastFor.set(queue, group);
  });
  return groups;
}

/** Each wants one job, in the same way, from the same queues. */
function isAlike(group: Group, { request, waits }: Question): boolean {
  return (
    request.count === 1 &&
    group.count === group.members.length &&
    group.waits === waits &&
    haveSameTerms(group, request)
  );
}

/** Leases of the same length, from the same queues in the same order. */
export function haveSameTerms(a: Terms, b: Terms): boolean {
  return (
    a.ttrMs === b.ttrMs &&
    a.queues.length === b.queues.length &&
    a.queues.every((queue, i) => queue === b.queues[i])
  );
}

/** A group as an item of lua/scripts/reserve.lua. */
export function itemOf({ queues, count, members, ttrMs, waits }: Group): Item {
  return [queues.join(','), count, members.length, ttrMs, waits ? '1' : '0'];
}
