import { addToReadyList, callToReadyList } from './ready-list.js';
import type { ModelJob } from './job.js';
import type { Space } from './space.js';

/** True if the queue gives out jobs now. */
export function mayStart(space: Space, queue: string): boolean {
  const { isPaused, maxRunning } = space.queue(queue);
  return !isPaused && space.in(queue, 'leased').length < maxRunning;
}

/** A job becomes ready, at this place of its list: it gets a slot of its key, or is held. */
export function makeReady(space: Space, job: ModelJob, place: number): void {
  Object.assign(job, { state: 'held', isCalled: false });
  const isLimited = job.concurrencyKey !== null && space.queue(job.queue).maxRunningPerKey < Infinity;
  const isAlone = sameKey(space, job, 'held').length === 1;
  const isHeld = !isAlone || roomOf(space, job) < 1 || (space.isInstant && space.stateOf(job.id) === 'held');
  if (isLimited && isHeld) {
    job.heldPlace ||= space.heldPlace();
    return;
  }
  addToReadyList(space, job, place);
  job.isCalled = isLimited;
  // Which job of its key was first in an instant, and which one took its slot, is not defined.
  if (isLimited && space.isInstant) space.forgetPlace(job);
}

/** Holds a job that was ready, before all others of its key and its priority. */
export function holdAgain(space: Space, job: ModelJob, place = space.firstHeldPlace()): void {
  Object.assign(job, { state: 'held', isCalled: false });
  job.heldPlace ||= place;
}

/** True if the limit of its key lets a job run. */
export function hasSlot(space: Space, job: ModelJob): boolean {
  const { maxRunningPerKey } = space.queue(job.queue);
  return job.concurrencyKey === null || sameKey(space, job, 'leased').length < maxRunningPerKey;
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
 * Calls held jobs when slots are free: by priority, then in the order in which they met the limit. Among the ready jobs
 * they come in the order of the publish.
 */
export function callHeld(space: Space): void {
  const byKey = new Map<string, ModelJob[]>();
  for (const job of space.jobs.values()) {
    const key = `${job.queue} ${String(job.concurrencyKey)}`;
    if (job.state === 'held') byKey.set(key, [...(byKey.get(key) ?? []), job]);
  }
  for (const job of [...byKey.values()].flatMap((held) => firstOf(space, held))) call(space, job);
  for (const [any] of byKey.values()) if (any) callUrgent(space, any);
}

function call(space: Space, job: ModelJob): void {
  callToReadyList(space, job);
  job.isCalled = true;
}

/** A held job takes the slot of a less urgent one that is ready. */
function callUrgent(space: Space, any: ModelJob): void {
  const ready = sameKey(space, any, 'ready').filter(({ isCalled }) => isCalled);
  const lowest = Math.max(...ready.map(({ priority }) => priority));
  const last = ready.filter(({ priority }) => priority === lowest);
  const other = last.find(({ id }) => space.stateOf(id) === 'held') ?? last.at(-1);
  const next = nextHeld(space, sameKey(space, any, 'held'));
  if (!next || !other || next.priority >= lowest) return;
  holdAgain(space, other);
  call(space, next);
  if (space.isInstant) space.forgetPlace(next);
  callUrgent(space, any);
}

/** The held jobs of a key for which there are slots, in order. */
function firstOf(space: Space, held: readonly ModelJob[]): ModelJob[] {
  const left = new Set(held);
  const first: ModelJob[] = [];
  const [any] = held;
  for (let room = any ? roomOf(space, any) : 0; room > 0 && left.size > 0; room--) {
    const next = nextHeld(space, [...left]);
    if (!next) break;
    left.delete(next);
    first.push(next);
  }
  return first;
}

function nextHeld(space: Space, held: readonly ModelJob[]): ModelJob | undefined {
  const heads = held.filter((job) => !held.some((other) => isCalledBefore(other, job)));
  return heads.find(({ id }) => space.stateOf(id) !== 'held') ?? heads[0];
}

function isCalledBefore(one: ModelJob, other: ModelJob): boolean {
  return (
    one.priority < other.priority || (one.priority === other.priority && one.heldPlace < other.heldPlace)
  );
}
