import { ExtendedPathError } from '../../domain/errors.js';
import type { NewExtendedJob } from '../../contract/job/extended-job.js';
import type { JobPlace, PublishedJob } from '../../domain/job/extended-job.js';
import type { LeftOut, NewJob, PublishOptions } from '../../domain/job/job.js';
import { DEFAULT_TRIES } from '../../domain/limits.js';
import { checkExtendedJobs } from './extended-checks.js';
import { fieldsOfJob, pathOf } from './stored-options.js';
import { nativeIdempotencyRecordOf } from './idempotency-records.js';
import { type ExtendedPublisher, type ExtendedPublishOptions, stateAtFirst } from './extended-publisher.js';

/** The calls of an engine that store jobs on the simple path. */
export interface SimplePublishing {
  publish(namespace: string, queue: string, job: NewJob, options?: PublishOptions): Promise<string>;
  publishMany(
    namespace: string,
    queue: string,
    jobs: readonly NewJob[],
    options?: PublishOptions,
  ): Promise<string[]>;
}

/** See `JobReader.placesOf`. */
type PlacesOf = (namespace: string, ids: readonly string[]) => Promise<readonly (JobPlace | null)[]>;

/**
 * Stores jobs of the native API: on the simple path, whose script is cheaper, if it can store them. See
 * `ExtendedPublisher.publish`.
 */
export async function publishJobs(
  simple: SimplePublishing,
  extended: ExtendedPublisher,
  placesOf: PlacesOf,
  namespace: string,
  jobs: readonly NewExtendedJob[],
  given: ExtendedPublishOptions = {},
): Promise<readonly PublishedJob[]> {
  const options = withNativeRecord(given, jobs);
  const converted = simpleJobsOf(jobs, options);
  const ids = converted && (await publishSimple(simple, namespace, converted, options));
  const published = ids
    ? ids.map((id, i) => ({ id, state: stateAtFirst(jobs[i], extended), existing: false }))
    : await extended.publish(namespace, jobs, options);
  // The earlier attempt may have stored them, and workers may have them by now.
  return options.retryOf === undefined ? published : statesNow(placesOf, namespace, jobs, published);
}

/** Of a job in another queue, which only has one of the ids, nothing is told: its answer is that of a new job. */
async function statesNow(
  placesOf: PlacesOf,
  namespace: string,
  jobs: readonly NewExtendedJob[],
  published: readonly PublishedJob[],
): Promise<PublishedJob[]> {
  const places = await placesOf(
    namespace,
    published.map(({ id }) => id),
  );
  return published.map((one, i) => {
    const place = places[i] ?? null;
    if (place === null) return { ...one, state: 'gone' };
    return /* guard: retry-hides-other-queues */ place.queue === jobs[i]?.queue
      ? { ...one, state: place.state }
      : one;
  });
}

/** Under a key the same request gets the same answer, whatever path its jobs take. */
function withNativeRecord(
  options: ExtendedPublishOptions,
  jobs: readonly NewExtendedJob[],
): ExtendedPublishOptions {
  const { idempotencyKey: key, idempotencyRecord: record } = options;
  if (key === undefined || record) return options;
  return { ...options, idempotencyRecord: nativeIdempotencyRecordOf(key, jobs) };
}

/** @returns the ids; null = nothing was stored, and the extended path must store the jobs */
async function publishSimple(
  simple: SimplePublishing,
  namespace: string,
  { queue, jobs }: SimpleJobs,
  options: ExtendedPublishOptions,
): Promise<string[] | null> {
  const [first] = jobs;
  try {
    return jobs.length === 1 && first !== undefined
      ? [await simple.publish(namespace, queue, first, options)]
      : await simple.publishMany(namespace, queue, jobs, options);
  } catch (error) {
    if (error instanceof ExtendedPathError) return null;
    throw error;
  }
}

/** Jobs that one call of the simple publish script can store. */
interface SimpleJobs {
  readonly queue: string;
  readonly jobs: readonly NewJob[];
}

/**
 * Converts the jobs of a native publish to those that the simple publish script stores; null if it cannot store all of
 * them in one call. Options with their default values do not count.
 *
 * @throws {QueueError} `invalid_argument`
 */
function simpleJobsOf(
  jobs: readonly NewExtendedJob[],
  { retryOf, replaces, idempotencyRecord }: ExtendedPublishOptions,
): SimpleJobs | null {
  const [first] = jobs;
  if (first === undefined || replaces !== undefined) return null;
  const isWhole = jobs.length > 1 && jobs.some(({ id, queue }) => id !== undefined || queue !== first.queue);
  if (isWhole && retryOf !== undefined) return null;
  const simple: NewJob[] = [];
  for (const job of jobs) {
    const path = pathOf(job);
    if (path === 'extended') return null;
    // A repeated call gets the states of the first one, and only the extended path reads them.
    if (job.dueMs !== undefined && (idempotencyRecord !== undefined || job.delayMs !== undefined))
      return null;
    const isExtended = path === 'hash';
    const isReadyForever = (job.delayMs ?? 0) === 0 && job.dueMs === undefined && (job.ttlMs ?? 0) === 0;
    if (isExtended && !(isReadyForever && retryOf === undefined)) return null;
    simple.push(simpleJobOf(job, isExtended));
  }
  if (isWhole || simple.some(({ extended }) => extended !== undefined)) checkExtendedJobs(jobs);
  if (!isWhole) return { queue: first.queue, jobs: simple };
  const whole = simple.map((job, i): NewJob => ({ ...job, whole: { queue: jobs[i]?.queue ?? first.queue } }));
  return { queue: first.queue, jobs: whole };
}

function simpleJobOf(job: NewExtendedJob, isExtended: boolean): NewJob {
  const { id, body, delayMs = 0, dueMs, ttlMs = 0, tries = DEFAULT_TRIES, attributes } = job;
  const hasAttributes = attributes !== undefined && Object.keys(attributes).length > 0;
  return {
    ...(id === undefined ? {} : { id }),
    ...(isExtended ? { extended: fieldsOfJob(job) } : hasAttributes ? { attributes } : {}),
    body,
    delayMs,
    ...(dueMs === undefined ? {} : { dueMs }),
    ttlMs,
    tries,
    native: leftOutOf(job),
  };
}

function forBoth<T>(make: (isLeftOut: boolean) => T): { readonly leftOut: T; readonly set: T } {
  return { leftOut: make(true), set: make(false) };
}

/** One object for each combination: consecutive jobs with equal options are recognized by it. */
const LEFT_OUT = forBoth((ttl) =>
  forBoth((tries) => forBoth((retention): LeftOut => ({ ttl, tries, retention }))),
);

function leftOutOf({ ttlMs, tries, retentionMs }: NewExtendedJob): LeftOut {
  const how = (value: number | undefined) => (value === undefined ? 'leftOut' : 'set');
  return LEFT_OUT[how(ttlMs)][how(tries)][how(retentionMs)];
}
