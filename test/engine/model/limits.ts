import { addToReadyList } from './ready-list.js';
import type { ModelJob } from './job.js';
import type { Space } from './space.js';

/** True if the queue gives out jobs now. */
export function mayStart(space: Space, queue: string): boolean {
  const { isPaused, maxRunning } = space.queue(queue);
  return !isPaused && space.in(queue, 'leased').length < maxRunning;
}

/** True if the limit of its key lets a job run: it was called, or there is room and no earlier job of the key is held. */
export function hasSlot(space: Space, job: ModelJob): boolean {
  if (job.concurrencyKey === null) return true;
  const room = roomOf(space, job);
  return job.isCalled ? room >= 0 : room >= 1 && sameKey(space, job, 'held').length === 0;
}

/** True if a late lease holder may go on: its job was not leased again, and there is a free slot. */
export function mayGoOn(space: Space, job: ModelJob): boolean {
  const isFree = job.concurrencyKey === null || roomOf(space, job) + (job.isCalled ? 1 : 0) > 0;
  return isFree && space.in(job.queue, 'leased').length < space.queue(job.queue).maxRunning;
}

/** Number of free slots of a job's key. Running jobs have one, and so have the called jobs in the ready list. */
function roomOf(space: Space, job: ModelJob): number {
  const taken =
    sameKey(space, job, 'leased').length + sameKey(space, job, 'ready').filter((one) => one.isCalled).length;
  return space.queue(job.queue).maxRunningPerKey - taken;
}

function sameKey(
  space: Space,
  { queue, concurrencyKey }: ModelJob,
  state: 'leased' | 'ready' | 'held',
): ModelJob[] {
  return space.in(queue, state).filter((job) => job.concurrencyKey === concurrencyKey);
}

/**
 * Calls held jobs to the front of their ready list when slots are free: by priority, then in the order in which they
 * met the limit.
 */
export function callHeld(space: Space): void {
  const byKey = new Map<string, ModelJob[]>();
  for (const job of space.jobs.values()) {
    const key = `${job.queue} ${String(job.concurrencyKey)}`;
    if (job.state === 'held') byKey.set(key, [...(byKey.get(key) ?? []), job]);
  }
  const called = [...byKey.values()].map((held) => firstOf(space, held)).filter((jobs) => jobs.length > 0);
  // The order of jobs of different keys is not defined.
  const shared = called.length > 1 ? space.frontPlace() : null;
  for (const job of called.flat().reverse()) {
    addToReadyList(space, job, shared ?? space.frontPlace());
    job.isCalled = true;
  }
}

/** The held jobs of a key for which there are slots, in order. */
function firstOf(space: Space, held: readonly ModelJob[]): ModelJob[] {
  const left = new Set(held);
  const first: ModelJob[] = [];
  const [any] = held;
  for (let room = any ? roomOf(space, any) : 0; room > 0 && left.size > 0; room--) {
    const heads = [...left].filter((job) => ![...left].some((other) => isCalledBefore(other, job)));
    const next = heads.find(({ id }) => space.stateOf(id) !== 'held') ?? heads[0];
    if (!next) break;
    left.delete(next);
    first.push(next);
  }
  return first;
}

function isCalledBefore(one: ModelJob, other: ModelJob): boolean {
  return (
    one.priority < other.priority || (one.priority === other.priority && one.heldPlace < other.heldPlace)
  );
}
