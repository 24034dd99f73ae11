import type {
  Ack,
  AckResult,
  DeadLetterHead,
  ImportedJob,
  ImportResult,
  LeasedJob,
  NewJob,
  IdempotencyRecord,
  PublishOptions,
  QueueCounts,
  LeaseRequest,
  StoredJob,
} from '../domain/job/job.js';
import type { Durability } from '../domain/durability.js';
import type { LoopStatus } from '../domain/loop.js';
import type { RedisPool } from '../redis/pool.js';
import type { PeekedJob } from './core/decode.js';
import { createComponents, type EngineOptions, type EngineComponents } from './components.js';
import type { EventFeed } from './events/feed.js';
import type { ExtendedPath } from './extended-path.js';
import { checkNames } from './core/checks.js';
import { decodeId, encodeId } from './core/ids.js';
import { nativeJobsOf, type NativeJobs } from './native-jobs.js';
import type { TimedLeaseRequest } from './lease/fetch-requests.js';
import { findIdempotencyRecord } from './publish/idempotency-records.js';
import type { Publisher } from './publish/publisher.js';
import type { Purge } from './maintenance/purge.js';
import type { MovingStore, RecordMover } from './migration/record-mover.js';
import type { ServedRecords } from './served-records.js';
import type { Quotas } from '../domain/job/quotas.js';
import type { NamespaceQuotas } from './core/quotas.js';
import type { Settings } from './queues/settings.js';
import type { Statistics } from './stats/statistics.js';

export type { EngineOptions } from './components.js';

/**
 * The queues of one pool. Independent of HTTP, configuration and tokens; `docs/states.md` shows the states of a job.
 */
export class QueueEngine {
  /** Job events of the namespaces, to subscribe to. */
  readonly events: EventFeed;
  /** The extended path: operations of the native API on jobs and queues that the simple path does not have. */
  readonly extended: ExtendedPath;
  /** Operations of the native API on single jobs. */
  readonly native: NativeJobs;
  /** Daily statistics of each queue: what happened to its jobs. */
  readonly stats: Statistics;
  /** Settings of each namespace. */
  readonly settings: Settings;
  /** Quotas of each namespace. */
  readonly quotas: NamespaceQuotas;
  /** Deletes whole namespaces. */
  readonly purge: Purge;
  private readonly components: EngineComponents;
  private mover: RecordMover | undefined;

  constructor(
    private readonly pool: RedisPool,
    options: EngineOptions = {},
  ) {
    this.components = createComponents(pool, options);
    ({
      events: this.events,
      extended: this.extended,
      stats: this.stats,
      settings: this.settings,
      quotas: this.quotas,
      purge: this.purge,
    } = this.components);
    this.native = nativeJobsOf(this.extended, this);
  }

  /** Settings of queues, targets, recurring jobs and workers. */
  get records(): ServedRecords {
    return this.extended;
  }

  /** Moves what jobs do not take with them to the store of another engine, while the loops run. */
  moveTo(next: QueueEngine): RecordMover {
    this.mover ??= this.components.moverTo(this.movingStore(), next.movingStore());
    return this.mover;
  }

  /** This engine as a move between two stores sees it. */
  movingStore(): MovingStore {
    const { movable: records } = this.components;
    const isUp = (): boolean => this.isUp;
    return {
      ...{ records, extended: this.extended, settings: this.settings },
      namespaces: () => this.namespaces(),
      queues: (namespace) => this.queues(namespace),
      get isUp() {
        return isUp();
      },
    };
  }

  /** True while Redis answers, as far as this process knows. */
  get isUp(): boolean {
    return this.pool.status.up;
  }

  /** Starts the loops that move due jobs and remove expired data. */
  start(): void {
    const { pump, janitor, quotaBackfill, recovery, slotRenewal, eventWriter, stats } = this.components;
    const loops = [pump, janitor, quotaBackfill, recovery, slotRenewal, eventWriter, stats];
    for (const loop of loops) loop.start();
    this.mover?.start();
  }

  /** Status of each loop: its last run and its next one. */
  loops(): LoopStatus[] {
    const { pump, janitor, quotaBackfill, recovery, slotRenewal, ...rest } = this.components;
    const { stats, events, eventWriter, records } = rest;
    const others = [janitor, quotaBackfill, recovery, slotRenewal, stats, events, eventWriter, records];
    const movers = this.mover ? [this.mover] : [];
    return [...pump.loops(), ...[...others, ...movers].map(({ loop }) => loop.status())];
  }

  /** Ends waits and loops; resolves when no work is in progress. The pool stays open. */
  async stop(): Promise<void> {
    const { pump, janitor, quotaBackfill, recovery, slotRenewal, ...rest } = this.components;
    const { leases, records, stats, events, eventWriter } = rest;
    this.endWaits();
    const loops = [pump, janitor, quotaBackfill, recovery, slotRenewal];
    await Promise.all([...loops.map((loop) => loop.stop()), this.mover?.stop(), leases.settled()]);
    await Promise.all([records.stop(), stats.stop()]);
    await Promise.all([events.settled(), eventWriter.stop()]);
  }

  /** Ends every long poll now, with no job, and every event stream; new ones end at once. */
  endWaits(): void {
    const { leases, events, extended } = this.components;
    leases.stop();
    // guard: streams-end-with-engine
    events.close();
    // guard: publish-wait-ends-with-server
    extended.endWatch.stop();
  }

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
  publish(namespace: string, queue: string, job: NewJob, options?: PublishOptions): Promise<string> {
    const publisher = this.publisherFor(options?.durability);
    const key = options?.idempotencyRecord ?? options?.idempotencyKey;
    if (key === undefined) return publisher.publish(namespace, queue, job, options?.retryOf);
    const request = { kind: 'publish', queue, jobs: [job] } as const;
    return publisher.publishOnce(namespace, key, request, options?.idempotencyTtlMs).then(firstOf);
  }

  /**
   * Stores up to 64 jobs, all or none. @returns their ids in order. @throws as `publish`; `invalid_argument`: too many
   * jobs, or jobs with given ids
   */
  publishMany(
    namespace: string,
    queue: string,
    jobs: readonly NewJob[],
    options?: PublishOptions,
  ): Promise<string[]> {
    const publisher = this.publisherFor(options?.durability);
    const key = options?.idempotencyRecord ?? options?.idempotencyKey;
    if (key === undefined) return publisher.publishMany(namespace, queue, jobs, options?.retryOf);
    const request = { kind: 'publishMany', queue, jobs } as const;
    return publisher.publishOnce(namespace, key, request, options?.idempotencyTtlMs);
  }

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
  ): Promise<string> {
    const publisher = this.publisherFor(options?.durability);
    const key = options?.idempotencyRecord ?? options?.idempotencyKey;
    if (key === undefined) return publisher.republish(namespace, queue, oldId, job, options?.retryOf);
    const request = { kind: 'republish', queue, jobs: [job], replaces: oldId } as const;
    return publisher.publishOnce(namespace, key, request, options?.idempotencyTtlMs).then(firstOf);
  }

  /**
   * Finds the stored result of a publish by its idempotency record.
   *
   * @returns the result as it was stored; null if there is none
   * @throws {QueueError} `idempotency_key_reused`; `not_replicated`, `durability_unavailable`: the stored result may
   *   not have the requested durability; an error of the store
   */
  async findIdempotencyRecord(
    namespace: string,
    record: IdempotencyRecord,
    durability?: Durability,
  ): Promise<Buffer | null> {
    const { publishers } = this.components;
    const found = await findIdempotencyRecord(publishers.runnerOf('memory'), namespace, record);
    // Check durability only if there is a record: the earlier publish may have been stored and then refused for lack of
    // it.
    return (
      found /* guard: migrating-key-durability */ &&
      findIdempotencyRecord(publishers.runnerOf(durability), namespace, record)
    );
  }

  /**
   * Leases up to `count` jobs, waiting up to `waitMs` for the first one.
   *
   * @returns the jobs, by priority of their queues; [] if there was none
   * @throws {QueueError} an error of the store, at the latest after the command timeout, or after the wait if that is
   *   longer
   */
  lease(namespace: string, request: LeaseRequest): Promise<LeasedJob[]> {
    const { leases } = this.components;
    if (hasTtr(request)) return leases.lease(namespace, request);
    return this.leaseForOwnTtr(namespace, request);
  }

  /**
   * Gives back leases whose responses did not arrive: each job goes to the front of the ready list and its try is not
   * used. A job that has been settled or leased again since stays as it is.
   *
   * @throws {QueueError} an error of the store; the jobs come back when their leases expire
   */
  undo(namespace: string, jobs: readonly Pick<LeasedJob, 'id' | 'lease' | 'receipt'>[]): Promise<void> {
    return this.components.leases.undo(namespace, jobs);
  }

  /**
   * A handler in this process begins with a job of a call with `confirms`: from now on its lease uses a try, also if
   * this process dies. The receipt is confirmed when all jobs of the call have begun or were given back.
   *
   * @throws {QueueError} an error of the store; the lease may still cost no try
   */
  begin(namespace: string, job: Pick<LeasedJob, 'id' | 'lease' | 'receipt'>): Promise<void> {
    return this.components.leases.begin(namespace, job);
  }

  /**
   * Removes a job that is done or no longer wanted. Without `lease` it removes the job in any state, as lmstfy does.
   *
   * @returns false if there is no such job in this queue
   * @throws {QueueError} `lease_lost`: `lease` is not the job's current one; nothing has changed
   */
  ack(namespace: string, queue: string, id: string, lease = 0): Promise<boolean> {
    return this.components.acks.ack(namespace, queue, id, lease);
  }

  /**
   * Acknowledges up to 1,000 jobs independently: an acknowledgement that fails changes nothing and does not affect the
   * others.
   *
   * @returns the result of each, in order
   * @throws {QueueError} `invalid_argument`, or an error of the store: some may have been acknowledged then; it is safe
   *   to send all again
   */
  ackMany(namespace: string, acks: readonly Ack[]): Promise<AckResult[]> {
    return this.components.acks.ackMany(namespace, acks);
  }

  /** The job at the head of the ready list; null if none is ready. */
  peekQueue(namespace: string, queue: string): Promise<StoredJob | null> {
    return this.components.queueInspector.peekQueue(namespace, queue);
  }

  /** A job of the queue in any state; null if there is none. */
  peekJob(namespace: string, queue: string, id: string): Promise<PeekedJob | null> {
    return this.components.queueInspector.peekJob(namespace, queue, id);
  }

  /** Counts the jobs per state, for up to 64 queues. */
  counts(namespace: string, queues: readonly string[]): Promise<QueueCounts[]> {
    return this.components.queueInspector.counts(namespace, queues);
  }

  /** Counts the ready jobs. */
  size(namespace: string, queue: string): Promise<number> {
    return this.components.queueInspector.size(namespace, queue);
  }

  /** Removes the jobs that are ready now, in bounded steps; scheduled, leased and dead ones stay. @returns how many */
  destroy(namespace: string, queue: string): Promise<number> {
    return this.components.queueInspector.destroy(namespace, queue);
  }

  /** The job that died first, and the number of dead jobs. */
  deadLetterHead(namespace: string, queue: string): Promise<DeadLetterHead> {
    return this.components.dead.head(namespace, queue);
  }

  /**
   * Puts up to `limit` dead jobs back into the queue, oldest first, with one try and a ttl (0 = no expiry). @returns
   * how many
   */
  respawn(namespace: string, queue: string, limit: number, ttlMs: number): Promise<number> {
    return this.components.dead.respawn(namespace, queue, limit, ttlMs);
  }

  /** Removes up to `limit` dead jobs, oldest first. @returns how many */
  deleteDead(namespace: string, queue: string, limit: number): Promise<number> {
    return this.components.dead.delete(namespace, queue, limit);
  }

  /**
   * Stores jobs from another store with their ids and states. Ready ones go to the end of the ready list, in the given
   * order. Each source name is imported once, whatever happened to the job since; source names are remembered for a
   * week.
   *
   * @returns the result of each, in order
   * @throws {QueueError} `invalid_argument`, or an error of the store: some may have been imported then; it is safe to
   *   import all again
   */
  importJobs(namespace: string, jobs: readonly ImportedJob[]): Promise<ImportResult[]> {
    return this.components.importer.import(namespace, jobs);
  }

  /** Forgets imported source names: their sources no longer have these jobs, so they cannot be imported twice. */
  forgetImported(namespace: string, sources: readonly string[]): Promise<void> {
    return this.components.importer.forget(namespace, sources);
  }

  /** The namespaces that have queues, sorted. */
  namespaces(): Promise<string[]> {
    return this.components.queueInspector.namespaces();
  }

  /** Counts the worker sessions that are not lost. */
  sessions(namespace: string): Promise<number> {
    return this.extended.workers.countSessions(namespace);
  }

  /** The queues of a namespace, sorted. */
  queues(namespace: string): Promise<string[]> {
    return this.components.queueInspector.queues(namespace);
  }

  /**
   * Moves the due jobs of a namespace now, without waiting for a timer. @returns when the next one is due, Unix ms; 0 =
   * none
   */
  pumpNow(namespace: string): Promise<number> {
    return this.components.pump.pumpNow(namespace);
  }

  /** Removes expired data of a namespace and its empty queues now. @returns how many queues were removed */
  tidyNow(namespace: string): Promise<number> {
    return this.components.janitor.tidyNow(namespace);
  }

  /** Gives namespaces other quotas than those of all, from the next call on. @param chosen by namespace */
  useQuotas(chosen: ReadonlyMap<string, Partial<Quotas>>): void {
    this.quotas.replace(chosen);
    this.components.quotaBackfill.checkSoon();
  }

  /** Jobs that are stored already are to be counted: a quota on bytes is new, and all servers know it. @throws {QueueError} an error of the store */
  recountBytes(): Promise<void> {
    return this.components.quotaBackfill.forgetPass();
  }

  /** Counts jobs that were stored while the byte quota was not set, in all namespaces, now. @returns how many */
  countBytesNow(): Promise<number> {
    return this.components.quotaBackfill.runNow();
  }

  /** Recovers jobs whose queue was deleted while they were ready in it, in all namespaces, now. @returns how many */
  recoverNow(): Promise<number> {
    return this.components.recovery.runNow();
  }

  private async leaseForOwnTtr(namespace: string, request: LeaseRequest): Promise<LeasedJob[]> {
    checkNames(namespace);
    const { ttr_ms } = await this.settings.of(namespace);
    return this.components.leases.lease(namespace, {
      ...request,
      ttrMs: /* guard: namespace-ttr-counts */ ttr_ms,
      hasOwnTtr: true,
    });
  }

  private publisherFor(durability: Durability | undefined): Publisher {
    const { publishers } = this.components;
    return durability === undefined ? publishers.usual : publishers.of(durability);
  }
}

function hasTtr(request: LeaseRequest): request is TimedLeaseRequest {
  return request.ttrMs !== undefined;
}

function firstOf([id = '']: string[]): string {
  return id;
}

export { decodeId, encodeId };
