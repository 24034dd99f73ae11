import type {
  Ack,
  AckResult,
  IdempotencyRecord,
  LeasedJob,
  LeaseOfJob,
  LeaseRequest,
  NewJob,
  PublishOptions,
} from '../domain/job/job.js';
import type { Durability } from '../domain/durability.js';
import type { JobDetails, NewExtendedJob } from '../contract/job/extended-job.js';
import type { PublishedJob } from '../domain/job/extended-job.js';
import type { DeadJobs } from './dead-letter/dead-jobs.js';
import type { DeadLetter } from './dead-letter/dead-letter.js';
import type { EventFeed } from './events/feed.js';
import type { Explainer } from './explain/explainer.js';
import type { JobCanceller } from './jobs/job-canceller.js';
import type { JobReader } from './jobs/job-reader.js';
import type { JobUpdater } from './jobs/job-updater.js';
import type { Lists } from './jobs/lists.js';
import type { Tags } from './jobs/tags.js';
import type { Purge } from './maintenance/purge.js';
import type { Operations } from './operations/operations.js';
import type { ExtendedPublisher, ExtendedPublishOptions } from './publish/extended-publisher.js';
import type { QueueInspector } from './queues/queue-inspector.js';
import type { Queues } from './queues/queues.js';
import type { Settings } from './queues/settings.js';
import type { Variables } from './queues/variables.js';
import type { Targets } from './queues/targets.js';
import type { Workers } from './queues/workers.js';
import type { Recurrings } from './recurring/recurring.js';
import type { LeaseOperations } from './settle/lease-operations.js';
import type { StatisticsReading } from './stats/statistics.js';

/**
 * The queues of one pool: of one Redis (`PoolEngine`), or of two while the pool moves (`movingEngine`). Callers see no
 * difference, except for those listed in docs/how-to/moving-a-pool.md. Independent of HTTP, configuration and tokens;
 * `docs/states.md` shows the states of a job.
 */
export interface Engine extends EngineCalls {
  /** True while publishing is possible, as far as this process knows. */
  readonly isUp: boolean;
  readonly jobs: JobCalls;
  readonly settle: SettleCalls;
  readonly queues: Queues;
  readonly deadLetter: DeadLetterCalls;
  readonly recurring: RecurringCalls;
  readonly sessions: SessionCalls;
  readonly targets: TargetCalls;
  readonly events: EventCalls;
  readonly stats: StatisticsReading;
  readonly explain: ExplainCalls;
  readonly operations: OperationCalls;
  readonly settings: SettingCalls;
  readonly variables: VariableCalls;
  readonly purge: PurgeCalls;
}

/** The calls that are made for every job, and those on whole namespaces. */
export interface EngineCalls {
  /**
   * Stores a job; it is ready after `delayMs`.
   *
   * @returns its id; the same id again for a repeated request with the same `idempotencyKey`
   * @throws {QueueError} `job_exists`: the given id is in use; `idempotency_key_reused`: another request has used the
   *   key; `too_many_queues`, `queue_full`, `namespace_full`: a quota; `durability_unavailable`. Nothing has changed
   *   then. Or an error of the store
   * @throws {UnconfirmedError} `not_replicated`, `pool_unavailable`: the job may be stored, but perhaps not with the
   *   durability that was requested
   */
  publish(namespace: string, queue: string, job: NewJob, options?: PublishOptions): Promise<string>;

  /**
   * Stores up to 64 jobs, all or none. @returns their ids in order. @throws as `publish`; `invalid_argument`: too many
   * jobs, or jobs with given ids
   */
  publishMany(
    namespace: string,
    queue: string,
    jobs: readonly NewJob[],
    options?: PublishOptions,
  ): Promise<string[]>;

  /**
   * Stores a job in place of another one of the queue (which need not exist), atomically. @returns its id. @throws as
   * `publish`
   */
  republish(
    namespace: string,
    queue: string,
    oldId: string,
    job: NewJob,
    options?: PublishOptions,
  ): Promise<string>;

  /**
   * Leases up to `count` jobs, waiting up to `waitMs` for the first one.
   *
   * @returns the jobs, by priority of their queues; [] if there was none
   * @throws {QueueError} an error of the store, at the latest after the command timeout, or after the wait if that is
   *   longer
   */
  lease(namespace: string, request: LeaseRequest): Promise<LeasedJob[]>;

  /**
   * Gives back leases whose responses did not arrive: each job goes to the front of the ready list and its try is not
   * used. A job that has been settled or leased again since stays as it is.
   *
   * @throws {QueueError} an error of the store; the engine tries again until it succeeds, or the leases end
   */
  undo(namespace: string, jobs: readonly LeaseOfJob[]): Promise<void>;

  /**
   * A handler in this process begins with a job of a call with `confirms`: from now on its lease uses a try, also if
   * this process dies. The receipt is confirmed when all jobs of the call have begun or were given back.
   *
   * @throws {QueueError} an error of the store; the lease may still cost no try
   */
  begin(namespace: string, job: LeaseOfJob): Promise<void>;

  /**
   * Removes a job that is done or no longer wanted. Without `lease` it removes the job in any state, as lmstfy does.
   *
   * @returns false if there is no such job in this queue
   * @throws {QueueError} `lease_lost`: `lease` is not the job's current one; nothing has changed
   */
  ack(namespace: string, queue: string, id: string, lease?: number): Promise<boolean>;

  /**
   * Acknowledges up to 1,000 jobs independently: an acknowledgement that fails changes nothing and does not affect the
   * others.
   *
   * @returns the result of each, in order
   * @throws {QueueError} `invalid_argument`, or an error of the store: some may have been acknowledged then; it is safe
   *   to send all again
   */
  ackMany(namespace: string, acks: readonly Ack[]): Promise<AckResult[]>;

  /** The namespaces that have queues, sorted. */
  namespaces(): Promise<string[]>;

  /**
   * Moves the due jobs of a namespace now, without waiting for a timer. @returns when the next one is due, Unix ms; 0 =
   * none
   */
  pumpNow(namespace: string): Promise<number>;

  /** Removes expired data of a namespace and its empty queues now. @returns how many queues were removed */
  tidyNow(namespace: string): Promise<number>;
}

/** What decides when a job runs, and whether a queue gives jobs. */
export type ExplainCalls = Pick<Explainer, 'job' | 'queue' | 'recurring'>;

/** Actions over all jobs that a filter matches. */
export type OperationCalls = Pick<Operations, 'start' | 'find' | 'list' | 'stop' | 'undo'>;

/** Single jobs, with all options of the native API, and their lists and tags. */
export interface JobCalls
  extends
    Pick<ExtendedPublisher, 'put'>,
    Pick<JobReader, 'find' | 'placesOf'>,
    Pick<QueueInspector, 'peekJob'>,
    Pick<JobCanceller, 'cancel' | 'cancelMany' | 'remove'>,
    Pick<JobUpdater, 'change' | 'log'>,
    Pick<Lists, 'list' | 'listByIds' | 'dataOf'>,
    Pick<Tags, 'tagsOf' | 'addTags' | 'removeTags' | 'tags' | 'groups' | 'traces' | 'track' | 'untrack'> {
  /** Stores all of the jobs or none. See `ExtendedPublisher.publish`. @returns the result of each job, in order */
  publish(
    namespace: string,
    jobs: readonly NewExtendedJob[],
    options?: ExtendedPublishOptions,
  ): Promise<readonly PublishedJob[]>;

  /**
   * Waits until a job is done, dead, cancelled or deleted; at most `waitMs`.
   *
   * @returns all details of the job then; null if it is deleted
   */
  waitForEnd(namespace: string, id: string, waitMs: number, signal: AbortSignal): Promise<JobDetails | null>;

  /**
   * Finds the stored result of a publish by its idempotency record.
   *
   * @returns the result as it was stored; null if there is none
   * @throws {QueueError} `idempotency_key_reused`; `not_replicated`, `durability_unavailable`: the stored result may
   *   not have the requested durability; an error of the store
   */
  findIdempotencyRecord(
    namespace: string,
    record: IdempotencyRecord,
    durability?: Durability,
  ): Promise<Buffer | null>;
}

/** What the holder of a lease does with its job; `revoke` and `forceFail` take the lease away. */
export type SettleCalls = Pick<
  LeaseOperations,
  'complete' | 'heartbeat' | 'heartbeatMany' | 'release' | 'retry' | 'fail' | 'revoke' | 'forceFail'
>;

/** Dead jobs: of one queue, as lmstfy has them, and of all queues. */
export interface DeadLetterCalls
  extends
    Pick<DeadLetter, 'head' | 'respawn' | 'delete'>,
    Pick<DeadJobs, 'respawnSelected' | 'deleteSelected'>,
    Pick<Lists, 'listDead'> {}

/** Recurring jobs. */
export type RecurringCalls = Pick<
  Recurrings,
  | ('set' | 'change' | 'pause' | 'resume' | 'run' | 'next' | 'nextOf' | 'preview')
  | ('find' | 'get' | 'list' | 'countByQueue' | 'remove')
>;

/** Worker sessions. */
export type SessionCalls = Pick<
  Workers,
  | ('list' | 'find' | 'deregister' | 'heartbeat' | 'quiet' | 'stop' | 'endWaits')
  | ('awaitedQueues' | 'stalledByQueue' | 'sessionsByQueue')
>;

/** Push targets. */
export type TargetCalls = Pick<Targets, 'now' | 'read' | 'change' | 'push' | 'ofQueues'>;

/** Job events. */
export type EventCalls = Pick<EventFeed, 'subscribe'>;

/** Settings of namespaces. */
export type SettingCalls = Pick<Settings, 'defaults' | 'chosen' | 'set' | 'unset'>;

/** Variables of namespaces. */
export type VariableCalls = Pick<Variables, 'list' | 'get' | 'set' | 'delete'>;

/** Deletion of whole namespaces. */
export type PurgeCalls = Pick<Purge, 'census' | 'run'>;
