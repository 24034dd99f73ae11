import type { JobDetails } from '../../../src/contract/job/extended-job.js';
import type { Action } from '../../../src/contract/operations.js';
import type { TimelineEntry } from '../../../src/domain/job/extended-job.js';
import type { JobState } from '../../../src/domain/job/states.js';
import type { JobChange } from '../../../src/engine/jobs/job-updater.js';
import { cancelOne } from './cancels.js';
import { change, isDueUnknown, usedTries } from './changes.js';
import { respawnOne } from './dead.js';
import { end } from './ends.js';
import { isKept, type ModelJob } from './job.js';
import type { ModelOperation, OperationWish } from './operation.js';
import type { Space } from './space.js';
import { dependentsOf } from './waiting.js';

/** What an operation does with a job that it meets: it acts, or counts it by a reason; `maybe` = the model cannot know whether the job is an older one. */
interface Verdict {
  readonly job: ModelJob;
  /** Null = it acts. */
  readonly reason: string | null;
  readonly isSkipped: boolean;
  readonly isSure: boolean;
}

/** Jobs that were met and not acted on, by why not; the fewest and the most that there may be. Null: there was no reason. */
export type RefusalCounts = Map<string | null, { readonly least: number; readonly most: number }>;

const WAITING: readonly JobState[] = ['ready', 'scheduled', 'blocked', 'held'];
/** The states that each action acts on by itself, and those that it acts on if they are named. */
const STATES: Readonly<
  Record<Action, { readonly usual: readonly JobState[]; readonly more: readonly JobState[] }>
> = {
  cancel: { usual: [...WAITING, 'leased'], more: ['dead'] },
  delete: { usual: WAITING, more: ['dead', 'done', 'cancelled'] },
  respawn: { usual: ['dead'], more: [] },
  retry: { usual: ['scheduled', 'dead'], more: [] },
  move: { usual: WAITING, more: ['dead'] },
  patch: { usual: WAITING, more: [] },
};
/** Operations of a namespace that run at once. */
const MOST_RUNNING = 4;
/** The time in an id is the estimate of a server, and the number of a lease may stand for it. */
const SLACK_MS = 150;

/** The states that an operation acts on; null = it is refused. */
export function statesOf({ action, filter }: OperationWish): readonly JobState[] | null {
  const { usual, more } = STATES[action];
  const { state, group } = filter;
  if (state === undefined)
    return group !== undefined && [...usual, ...more].includes('dead') ? ['dead'] : usual;
  return state.every((one) => usual.includes(one) || more.includes(one)) ? state : null;
}

/** @returns an error code, null = it may start */
export function whyNotStarted(space: Space, wish: OperationWish): string | null {
  if (statesOf(wish) === null) return 'invalid_argument';
  const running = space.operations.filter(({ state }) => state === 'running');
  return running.length >= MOST_RUNNING ? 'too_many_operations' : null;
}

/** Records an operation that began now. */
export function begin(
  space: Space,
  id: string,
  wish: OperationWish,
  seen: ReadonlyMap<string, JobDetails>,
): void {
  const before = [...space.jobs.values()].map((job) => {
    const hasHistory = historyOf(seen.get(job.id)).length > 0;
    return [job.born, { facts: factsOf(job), hasHistory }] as const;
  });
  space.operations.push({
    ...{ id, wish, createdMs: space.nowMs, before: new Map(before), acted: new Set(), passed: new Set() },
    state: 'running',
  });
}

/** Facts whose change every history tells: what a heartbeat changes is not among them, nor what a job waits for. */
function factsOf({ state, queue, priority, tags, tries, triesLeft, attempts, type }: ModelJob): string {
  return JSON.stringify({ state, queue, priority, tags, tries, triesLeft, attempts, type });
}

/** What is stored of a timeline: a job without one shows when it was published. */
function historyOf(job: JobDetails | undefined): readonly TimelineEntry[] {
  const entries = job?.timeline ?? [];
  return entries.filter(({ what, queue }) => what !== 'published' || queue !== undefined);
}

/**
 * Applies what the engine did with jobs until no step was due any more. `was` is how the engine had its jobs before,
 * `now` how it has them.
 *
 * @returns those that it may have met without acting on them
 */
export function step(
  space: Space,
  operation: ModelOperation,
  was: ReadonlyMap<string, JobDetails>,
  now: ReadonlyMap<string, JobDetails>,
): RefusalCounts {
  const verdicts = [...space.jobs.values()].flatMap(
    (job) => verdictOf(space, operation, job, was.get(job.id)) ?? [],
  );
  const acted = [...space.jobs.values()].filter((job) =>
    isActedOn(operation, job, was.get(job.id), now.get(job.id)),
  );
  const known = new Map(verdicts.map((verdict) => [verdict.job, verdict]));
  for (const job of acted) {
    const verdict = known.get(job);
    if (verdict === undefined) throw new Error(`${operation.id} acted on ${job.id}, which it must not meet`);
    // Another job of the same step may have been in its way.
    if (verdict.reason !== null && !ORDERED.has(verdict.reason))
      throw new Error(`${operation.id} acted on ${job.id}: ${verdict.reason}`);
    operation.acted.add(job.born);
  }
  space.inOneInstant(() => actOnAll(space, operation.wish, acted));
  return countRefused(space, operation, verdicts);
}

/** Whether jobs are refused for these depends on the order in which they are met. */
const ORDERED: ReadonlySet<string> = new Set(['has_dependents', 'unique_key_taken']);

/** What is no change of a job: it became ready, or was held, in its turn. */
const IN_ITS_TURN: ReadonlySet<string> = new Set(['ready', 'held']);

/** When an operation has ended: jobs that it should have acted on. */
export function missedBy(
  space: Space,
  operation: ModelOperation,
  seen: ReadonlyMap<string, JobDetails>,
): string[] {
  if (operation.wish.dryRun) return [];
  return [...space.jobs.values()].flatMap((job) => {
    const snapshot = operation.before.get(job.born);
    const verdict = verdictOf(space, operation, job, seen.get(job.id));
    const isMissed =
      verdict?.isSure === true &&
      verdict.reason === null &&
      snapshot?.facts === factsOf(job) &&
      !operation.passed.has(job.born);
    return isMissed ? [job.id] : [];
  });
}

/** @returns undefined if the operation does not meet the job, or takes no notice of it */
function verdictOf(
  space: Space,
  operation: ModelOperation,
  job: ModelJob,
  seen: JobDetails | undefined,
): Verdict | undefined {
  const { wish, createdMs, before, acted } = operation;
  if (acted.has(job.born) || !matches(wish, job)) return undefined;
  const entries = historyOf(seen);
  const isExact = entries[0]?.what === 'published';
  const lateMs = job.publishedMs - createdMs;
  if (lateMs > (isExact ? 0 : SLACK_MS)) return undefined;
  const last = entries.findLast(({ what }) => !IN_ITS_TURN.has(what));
  const changedMs = last?.atMs ?? (job.state === 'dead' ? job.atMs : 0);
  const hasChanged = changedMs > createdMs;
  const snapshot = before.get(job.born);
  const isAsBefore = (entries.at(-1)?.atMs ?? 0) <= createdMs;
  if (snapshot?.hasHistory === true && isAsBefore && !hasChanged && snapshot.facts !== factsOf(job))
    throw new Error(`${job.id} has changed, and its timeline does not tell it`);
  const isSure = lateMs <= 0;
  if (hasChanged) return { job, reason: 'changed', isSkipped: true, isSure };
  if (wish.dryRun) return { job, reason: null, isSkipped: false, isSure };
  return { job, isSure, ...refusalOf(space, wish, job) };
}

function matches(wish: OperationWish, job: ModelJob): boolean {
  const { queue = job.queue, tag, type = job.type, group = job.group } = wish.filter;
  return (
    job.queue === queue &&
    job.type === type &&
    job.group === group &&
    (wish.filter.group === undefined || job.isExtended) &&
    (tag === undefined || (job.isIndexed && job.tags.includes(tag))) &&
    (statesOf(wish) ?? []).includes(job.state)
  );
}

type Refusal = Pick<Verdict, 'reason' | 'isSkipped'>;
const ACTS: Refusal = { reason: null, isSkipped: false };

function refusalOf(space: Space, wish: OperationWish, job: ModelJob): Refusal {
  const refuse = (reason: string, isSkipped = false): Refusal => ({ reason, isSkipped });
  const isNeeded = !isKept(job) && dependentsOf(space, job.id, job.born).length > 0;
  switch (wish.action) {
    case 'cancel':
      if (job.revokedAtMs > 0) return refuse('already_cancelled', true);
      return isNeeded && !wish.cascade ? refuse('has_dependents') : ACTS;
    case 'delete':
      return isNeeded ? refuse('has_dependents') : ACTS;
    case 'respawn':
      return isKeyTaken(space, job) ? refuse('unique_key_taken') : ACTS;
    case 'retry':
      if (job.state === 'dead') return isKeyTaken(space, job) ? refuse('unique_key_taken') : ACTS;
      return job.attempts === 0 ? refuse('not_tried', true) : ACTS;
    case 'move':
      if (job.queue === wish.to) return refuse('already_there', true);
      if (job.state === 'dead') return isKeyTaken(space, job) ? refuse('unique_key_taken') : ACTS;
      return isDueUnknown(job) ? refuse('due_unknown') : ACTS;
    case 'patch':
      return whyNotPatched(wish.change, job);
  }
}

function whyNotPatched({ tries, ttlMs, delayMs }: JobChange, job: ModelJob): Refusal {
  if (tries !== undefined && tries <= usedTries(job)) return { reason: 'tries_used', isSkipped: false };
  const isUnknown = delayMs === undefined && ttlMs !== undefined && isDueUnknown(job);
  return isUnknown ? { reason: 'due_unknown', isSkipped: false } : ACTS;
}

function isKeyTaken(space: Space, { unique }: ModelJob): boolean {
  const holding = unique && !unique.isWindowed && space.keys.get(unique.key);
  if (!holding) return false;
  return holding.endsMs > 0 ? holding.endsMs > space.nowMs : space.live(holding.id) !== undefined;
}

/** What the engine shows of a job that the operation acted on in this step. */
function isActedOn(
  { id, acted, wish }: ModelOperation,
  job: ModelJob,
  was: JobDetails | undefined,
  now: JobDetails | undefined,
): boolean {
  if (acted.has(job.born) || was === undefined) return false;
  if (now === undefined) return true;
  if (wish.action === 'cancel')
    return (
      (now.state === 'cancelled' && was.state !== 'cancelled') ||
      (now.cancelRequested && !was.cancelRequested)
    );
  if (was.state === 'dead') return now.state !== 'dead';
  return now.timeline.some((entry) => entry['operation'] === id);
}

/** In an order in which each is possible. */
function actOnAll(space: Space, wish: OperationWish, jobs: readonly ModelJob[]): void {
  for (let left = [...jobs]; left.length > 0;) {
    const next = left.find((job) => refusalOf(space, wish, job).reason === null);
    if (next === undefined) throw new Error(`acted on ${left.map(({ id }) => id).join()}, which are refused`);
    act(space, wish, next);
    left = left.filter((job) => job !== next);
  }
}

function act(space: Space, wish: OperationWish, job: ModelJob): void {
  const { action, to } = wish;
  if (action === 'cancel') cancelOne(space, job.id, wish.cascade, wish.graceMs);
  else if (action === 'delete' && isKept(job)) space.jobs.delete(job.id);
  else if (action === 'delete') end(space, job, 'deleted');
  else if (job.state === 'dead') {
    const { ttlMs, tries } = action === 'retry' ? ({ ttlMs: 0, tries: 'keep' } as const) : wish.respawn;
    respawnOne(space, job, { ttlMs, tries, ...(action === 'move' ? { queue: to } : {}) });
  } else if (action === 'retry') change(space, job.id, { delayMs: 0 });
  else if (action === 'move') change(space, job.id, { queue: to });
  else change(space, job.id, wish.change);
}

/** A job may have been met before this step acted on others, or after it. */
function countRefused(
  space: Space,
  { acted, passed, wish }: ModelOperation,
  verdicts: readonly Verdict[],
): RefusalCounts {
  const counts: RefusalCounts = new Map();
  for (const { job, reason, isSure } of verdicts) {
    if (acted.has(job.born)) continue;
    const why = reason ?? (wish.dryRun ? null : refusalOf(space, wish, job).reason);
    if (why !== null) passed.add(job.born);
    const { least, most } = counts.get(why) ?? { least: 0, most: 0 };
    counts.set(why, { least: least + (isSure ? 1 : 0), most: most + 1 });
  }
  return counts;
}
