import type { Durability } from '../domain/durability.js';
import { ExtendedPathError } from '../domain/errors.js';
import type {
  AckStatus,
  Completion,
  ExtendedAck,
  NewExtendedJob,
  PublishedJob,
} from '../domain/job/extended-job.js';
import type {
  Ack,
  AckResult,
  LeasedJob,
  LeftOut,
  NewJob,
  PublishOptions,
  LeaseRequest,
} from '../domain/job/job.js';
import type { JobState } from '../domain/job/states.js';
import { DEFAULT_TRIES } from '../domain/limits.js';
import type { ExtendedPath } from './extended-path.js';
import { checkExtendedJobs } from './publish/extended-checks.js';
import { fieldsOf } from './publish/extended-options.js';
import { nativeIdempotencyRecordOf } from './publish/idempotency-records.js';
import type { ExtendedPublisher, ExtendedPublishOptions } from './publish/extended-publisher.js';
import type { LeaseOperationResult } from './settle/lease-operations.js';
import type { Settled } from './settle/settler.js';

/** What is needed to take a lease back. */
type LeaseOfJob = Pick<LeasedJob, 'id' | 'lease'>;

/**
 * Chooses between the simple and the extended path; no other file does. Most calls begin on the simple path, whose
 * scripts are cheaper. A simple script changes nothing of an extended job or queue and reports it with a status; then
 * the methods here repeat the call on the extended path.
 */
export class Routing {
  constructor(private readonly extended: ExtendedPath) {}

  /**
   * True if a lease request must use the extended path at once: it takes turns, is of a server that pushes, or a queue of it is known to be
   * extended.
   */
  isExtended(namespace: string, { inTurns, isPushed, queues }: LeaseRequest): boolean {
    return inTurns === true || isPushed === true || this.extended.queues.hasAny(namespace, queues);
  }

  /** Records that a worker has sent a lease request, or waits. */
  seeWorker(namespace: string, worker: string): void {
    this.extended.workers.see(namespace, worker);
  }

  /** Records that a simple script found one of these queues extended. */
  remember(namespace: string, queues: readonly string[]): void {
    this.extended.queues.add(namespace, queues);
  }

  /** Replaces an extended job by one whose id is given. */
  async replace(
    namespace: string,
    queue: string,
    oldId: string,
    job: NewJob,
    durability: Durability,
  ): Promise<void> {
    await this.extended.publishing.publish(namespace, [{ queue, ...job }], { replaces: oldId, durability });
  }

  /** @returns the outcome of each acknowledgement, in order */
  ack(namespace: string, acks: readonly Ack[]): Promise<Settled[]> {
    return this.extended.settling.settle(
      namespace,
      acks.map(({ queue, id, lease = 0 }) => ({ verb: 'ack', id, lease, options: { queue } })),
    );
  }

  /** The present state of a job, for an acknowledgement whose lease is lost; null = it is gone. */
  async stateOf(namespace: string, id: string): Promise<JobState | null> {
    const [place] = await this.extended.jobReader.placesOf(namespace, [id]);
    return place?.state ?? null;
  }

  /** Takes back leases whose responses did not arrive. */
  undo(namespace: string, leases: readonly LeaseOfJob[]): Promise<void> {
    return this.extended.settling.undo(namespace, leases);
  }

  /** Removes the ready jobs of a queue. @returns how many */
  destroy(namespace: string, queue: string): Promise<number> {
    return this.extended.queuePurger.destroy(namespace, queue);
  }

  /** Puts up to `limit` dead jobs back, with one try. @returns how many */
  respawn(namespace: string, queue: string, limit: number, ttlMs: number): Promise<number> {
    const { dead } = this.extended;
    return dead.all(limit, (left, cursor) =>
      dead.respawn(namespace, { queue }, { ttlMs, tries: 1 }, left, cursor),
    );
  }

  /** Removes up to `limit` dead jobs. @returns how many */
  deleteDead(namespace: string, queue: string, limit: number): Promise<number> {
    const { dead } = this.extended;
    return dead.all(limit, (left, cursor) => dead.delete(namespace, { queue }, left, cursor));
  }
}

/** Operations of `QueueEngine`, which store jobs on the simple path. */
export interface SimplePublishing {
  publish(namespace: string, queue: string, job: NewJob, options?: PublishOptions): Promise<string>;
  publishMany(
    namespace: string,
    queue: string,
    jobs: readonly NewJob[],
    options?: PublishOptions,
  ): Promise<string[]>;
}

/** The acknowledgements of an engine, or of two during a migration. */
export interface AckPaths {
  ackMany(namespace: string, acks: readonly Ack[]): Promise<AckResult[]>;
  readonly native: {
    complete(namespace: string, completions: readonly Completion[]): Promise<LeaseOperationResult[]>;
  };
}

/**
 * Acknowledges each job on its own. Those without an outcome begin on the simple path.
 *
 * @returns the result of each, in order
 * @throws {QueueError} an error of the store: some may have been acknowledged
 */
export async function ackEach(
  paths: AckPaths,
  namespace: string,
  acks: readonly ExtendedAck[],
): Promise<AckStatus[]> {
  const withOutcome = acks.filter(({ outcome }) => outcome !== undefined);
  // Most batches have none.
  if (withOutcome.length === 0) return paths.ackMany(namespace, acks);
  const plain = acks.filter(({ outcome }) => outcome === undefined);
  const [completed, acked] = await Promise.all([
    paths.native.complete(namespace, withOutcome.map(completionOf)),
    plain.length > 0 ? paths.ackMany(namespace, plain) : [],
  ]);
  const [ofCompleted, ofAcked] = [completed.values(), acked.values()];
  return acks.map(({ outcome }) => {
    const status = (outcome === undefined ? ofAcked : ofCompleted).next().value ?? 'not_found';
    return status === 'done' ? (outcome?.next === undefined ? 'acked' : 'moved') : status;
  });
}

function completionOf({ queue, id, lease = 0, outcome }: ExtendedAck): Completion {
  return { ...(queue === undefined ? {} : { queue }), id, lease, ...outcome };
}

/** Stores jobs of the native API. See `ExtendedPublisher.publish`. */
export async function publishNative(
  simple: SimplePublishing,
  extended: ExtendedPublisher,
  namespace: string,
  jobs: readonly NewExtendedJob[],
  given: ExtendedPublishOptions = {},
): Promise<readonly PublishedJob[]> {
  const options = withNativeRecord(given, jobs);
  const converted = simpleJobsOf(jobs, options);
  const ids = converted && (await publishSimple(simple, namespace, converted, options));
  if (!ids) return extended.publish(namespace, jobs, options);
  return ids.map((id, i) => ({
    id,
    state: isScheduled(jobs[i], extended) ? 'scheduled' : 'ready',
    existing: false,
  }));
}

function isScheduled(job: NewExtendedJob | undefined, { nowMs }: { readonly nowMs: number }): boolean {
  return (job?.delayMs ?? 0) > 0 || (job?.dueMs !== undefined && job.dueMs > nowMs);
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
    if (needsExtendedPublish(job)) return null;
    // A repeated call gets the states of the first one, and only the extended path reads them.
    if (job.dueMs !== undefined && (idempotencyRecord !== undefined || job.delayMs !== undefined))
      return null;
    const isExtended = needsFields(job);
    const isReadyForever = (job.delayMs ?? 0) === 0 && job.dueMs === undefined && (job.ttlMs ?? 0) === 0;
    if (isExtended && !(isReadyForever && retryOf === undefined)) return null;
    simple.push(simpleJobOf(job, isExtended));
  }
  if (isWhole || simple.some(({ extended }) => extended !== undefined)) checkExtendedJobs(jobs);
  if (!isWhole) return { queue: first.queue, jobs: simple };
  const whole = simple.map((job, i): NewJob => ({ ...job, whole: { queue: jobs[i]?.queue ?? first.queue } }));
  return { queue: first.queue, jobs: whole };
}

/** True if a job has options that only the extended publish script knows. */
function needsExtendedPublish(job: NewExtendedJob): boolean {
  return (
    job.onDependencyFailure !== undefined ||
    job.unique !== undefined ||
    job.concurrencyKey !== undefined ||
    (job.priority ?? 0) !== 0 ||
    (job.dependsOn ?? []).length > 0
  );
}

/** True if a job is an extended one because of the fields that are stored with it. */
function needsFields(job: NewExtendedJob): boolean {
  return (
    job.type !== undefined ||
    job.contentType !== undefined ||
    job.ttrMs !== undefined ||
    job.retry !== undefined ||
    job.leaseGraceMs !== undefined ||
    (job.tags ?? []).length > 0 ||
    (job.retentionMs ?? 0) > 0 ||
    job.history === true
  );
}

function simpleJobOf(job: NewExtendedJob, isExtended: boolean): NewJob {
  const { id, body, delayMs = 0, dueMs, ttlMs = 0, tries = DEFAULT_TRIES, attributes } = job;
  const hasAttributes = attributes !== undefined && Object.keys(attributes).length > 0;
  return {
    ...(id === undefined ? {} : { id }),
    ...(isExtended ? { extended: fieldsOf(job) } : hasAttributes ? { attributes } : {}),
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
