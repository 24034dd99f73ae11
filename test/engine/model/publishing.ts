import type { NewExtendedJob } from '../../../src/contract/job/extended-job.js';
import { end, goOn } from './ends.js';
import { isLive, replaceBody, type ModelJob } from './job.js';
import type { Holding, Space } from './space.js';
import { dependentsOf, placeWaiter, waitFor } from './waiting.js';

export type NewJob = Omit<NewExtendedJob, 'body'> & { readonly body: string };

const DEFAULT_TRIES = 5;
/** Leases of a chosen id are numbered from the clock on, below this. */
const LEASE_NUMBERS = 2 ** 31;

/** What is to be answered to a publish: an error's code, or who stands for the job; null = it is stored itself. */
export type Reception = { readonly code: string } | { readonly holder: string | null };

/** How a job is published: over lmstfy's API, or by the native one with the simple or the extended script. */
export type Kind = 'lmstfy' | 'simple' | 'extended';

/** Stores a job under the id that it was given, if it may be stored. */
export function publish(space: Space, id: string, job: NewJob, kind: Kind): Reception {
  if (space.jobs.has(id)) return { code: 'job_exists' };
  if (isClosed(space, job.queue)) return { code: 'queue_draining' };
  const reception = claimKey(space, id, job);
  if ('holder' in reception && reception.holder === null) store(space, id, job, kind);
  return reception;
}

/** Stores a job under its id, in the place of one that waits or has ended. */
export function putJob(
  space: Space,
  id: string,
  job: NewJob,
): { readonly code: string } | { readonly isReplaced: boolean } {
  const old = space.jobs.get(id);
  if (old?.state === 'dead') return { code: 'job_exists' };
  if (old?.state === 'leased') return { code: 'leased' };
  if (old && isLive(old) && dependentsOf(space, id, old.born).length > 0) return { code: 'has_dependents' };
  if (isClosed(space, job.queue)) return { code: 'queue_draining' };
  if (isKeyOfAnother(space, id, job)) return { code: 'unique_key_taken' };
  const isReplaced = old !== undefined && isLive(old);
  if (isReplaced) end(space, old, 'replaced');
  space.jobs.delete(id);
  claimKey(space, id, job);
  store(space, id, job, 'extended');
  return { isReplaced };
}

/** True if a put would be refused for its unique key: only the mode `replace` takes a key from another job. */
function isKeyOfAnother(space: Space, id: string, { unique }: NewJob): boolean {
  const holding = unique && holderOf(space, unique.key);
  const isOwn = holding?.id === id && (holding.endsMs === 0 || space.live(id)?.unique?.key === unique?.key);
  if (!holding || isOwn) return false;
  const holder = holding.id === id ? undefined : space.live(holding.id);
  return unique.mode !== 'replace' || (holder?.unique?.key === unique.key && holder.state === 'leased');
}

/** A queue that is drained takes no jobs until those that are still to run have gone; then it is as it was. */
function isClosed(space: Space, name: string): boolean {
  const queue = space.queue(name);
  queue.isDraining &&= [...space.jobs.values()].some((job) => job.queue === name && isLive(job));
  return queue.isDraining;
}

/** A job comes that a drain lets in, by a respawn or a move: a drain that has ended does not begin again with it. */
export function letIn(space: Space, queue: string): void {
  isClosed(space, queue);
}

function claimKey(space: Space, id: string, job: NewJob): Reception {
  const { unique, body, delayMs = 0 } = job;
  if (!unique) return { holder: null };
  const { key, mode, windowMs = 0 } = unique;
  const holding = holderOf(space, key);
  const named = holding && space.live(holding.id);
  // The id may be that of another job by now, while the window of the former one still holds the key.
  const holder = named?.unique?.key === key ? named : undefined;
  const isTaken =
    holding !== undefined &&
    (mode === 'reject' || holder?.state === 'leased' || (mode === 'debounce' && !holder));
  if (holding && mode === 'existing') return { holder: holding.id };
  if (isTaken) return { code: 'unique_key_taken' };
  if (holder && mode === 'debounce') {
    waitAnew(space, holder, body, delayMs);
    const { ttlMs = 0 } = withDefaults(space, job, 'extended');
    holder.expiresMs = ttlMs > 0 ? space.nowMs + ttlMs : 0;
    return { holder: holder.id };
  }
  if (holder) end(space, holder, 'replaced');
  space.keys.set(key, { id, endsMs: windowMs > 0 ? space.nowMs + windowMs : 0 });
  return { holder: null };
}

/** Who holds a key: its job as long as that lives, or until its window ends whatever becomes of the job. */
export function holderOf(space: Space, key: string): Holding | undefined {
  const holding = space.keys.get(key);
  if (!holding || (holding.endsMs > 0 ? holding.endsMs <= space.nowMs : !space.live(holding.id)))
    return undefined;
  return holding;
}

/** Debounce: the job that is there waits anew, with other data. */
function waitAnew(space: Space, job: ModelJob, body: string, delayMs: number): void {
  replaceBody(job, body);
  job.dueMs = delayMs > 0 ? space.nowMs + delayMs : 0;
  job.heldPlace = 0;
  if (job.state !== 'blocked') goOn(space, job, job.dueMs);
}

/** What a native publish leaves out is what its queue says, or else the value of all queues. */
function withDefaults(space: Space, job: NewJob, kind: Kind): NewJob {
  const defaults = kind === 'lmstfy' ? {} : space.queue(job.queue).defaults;
  return { ttlMs: 0, tries: DEFAULT_TRIES, ...given(defaults), ...given(job) };
}

function given<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

/** A job that the simple script can store becomes an extended one by what the defaults of its queue say. */
function isMadeExtended(space: Space, { queue, ttlMs = 0, delayMs = 0, ...job }: NewJob): boolean {
  const { defaults } = space.queue(queue);
  if (Object.keys(defaults).length === 0) return false;
  const hasExtendedDefault = job.retry !== undefined || job.maxRunMs !== undefined;
  const isOrdinary = !hasExtendedDefault && (job.retentionMs ?? 0) === 0 && (job.priority ?? 0) === 0;
  return !isOrdinary || (ttlMs > 0 && ttlMs < delayMs);
}

function store(space: Space, id: string, published: NewJob, kind: Kind): void {
  const job = withDefaults(space, published, kind);
  const { ttlMs = 0, tries = DEFAULT_TRIES, delayMs = 0, unique } = job;
  const made: ModelJob = {
    id,
    born: space.next(),
    publishedMs: space.nowMs,
    isIdChosen: job.id !== undefined,
    isExtended: kind === 'extended' || (kind === 'simple' && isMadeExtended(space, job)),
    isNative: kind !== 'lmstfy',
    queue: job.queue,
    priority: job.priority ?? 0,
    body: job.body,
    type: job.type ?? null,
    tags: job.tags ?? [],
    state: 'blocked',
    atMs: 0,
    dueMs: 0,
    expiresMs: ttlMs > 0 ? space.nowMs + ttlMs : 0,
    tries,
    triesLeft: tries,
    attempts: 0,
    lease: job.id === undefined ? 0 : space.nowMs % LEASE_NUMBERS,
    undelivered: 0,
    freeRetries: 0,
    wasFree: false,
    isIndexed: space.queue(job.queue).indexesTags,
    crashes: 0,
    failures: 0,
    group: null,
    retry: job.retry,
    maxRunMs: job.maxRunMs ?? Infinity,
    runMs: Infinity,
    leasedMs: 0,
    hasBegun: false,
    keepMs: job.retentionMs ?? 0,
    keptUntilMs: 0,
    place: 0,
    isMoved: false,
    isListedByType: false,
    concurrencyKey: job.concurrencyKey ?? null,
    isSentToFront: false,
    isCalled: false,
    heldPlace: 0,
    unique: unique ? { key: unique.key, isWindowed: (unique.windowMs ?? 0) > 0 } : null,
    needs: new Set(),
    reads: new Map(),
    failed: new Map(),
    onFailure: job.onDependencyFailure ?? 'block',
    revokedAtMs: 0,
    cascades: false,
  };
  space.jobs.set(id, made);
  placeWaiter(
    space,
    made,
    waitFor(space, made, job.dependsOn ?? []),
    delayMs > 0 ? space.nowMs + delayMs : 0,
  );
}
