import type {
  Ack,
  AckResult,
  IdempotencyRecord,
  ImportedJob,
  ImportResult,
  LeasedJob,
  LeaseOfJob,
  LeaseRequest,
  NewJob,
  PublishOptions,
} from '../domain/job/job.js';
import type { Durability } from '../domain/durability.js';
import type { LoopStatus } from '../domain/loop.js';
import type { RedisPool } from '../redis/pool.js';
import { createComponents, type EngineOptions, type EngineComponents } from './components.js';
import type { DeadLetterCalls, Engine, JobCalls } from './engine.js';
import type { Explainer } from './explain/explainer.js';
import type { History } from './history/history.js';
import type { EventFeed } from './events/feed.js';
import { bound } from './core/bound.js';
import { checkNames } from './core/checks.js';
import type { TimedLeaseRequest } from './lease/fetch-requests.js';
import { findIdempotencyRecord } from './publish/idempotency-records.js';
import { publishJobs } from './publish/publish-jobs.js';
import type { Publisher } from './publish/publisher.js';
import type { Purge } from './maintenance/purge.js';
import type { CheckGrant } from './operations/operation-runner.js';
import type { Operations } from './operations/operations.js';
import type { MovingStore, RecordMover } from './moving/record-mover.js';
import type { Quotas } from '../domain/job/quotas.js';
import type { NamespaceQuotas } from './core/quotas.js';
import { Queues } from './queues/queues.js';
import type { Settings } from './queues/settings.js';
import type { Variables } from './queues/variables.js';
import type { Targets } from './queues/targets.js';
import type { Workers } from './queues/workers.js';
import type { Recurrings } from './recurring/recurring.js';
import type { LeaseOperations } from './settle/lease-operations.js';
import type { Statistics } from './stats/statistics.js';

export type { EngineOptions } from './components.js';

/** The queues of one Redis, and the loops that serve them. */
export class PoolEngine implements Engine {
  /** What it is made of, for moves and tests. */
  readonly components: EngineComponents;
  readonly jobs: JobCalls;
  readonly settle: LeaseOperations;
  readonly queues: Queues;
  readonly deadLetter: DeadLetterCalls;
  readonly recurring: Recurrings;
  readonly sessions: Workers;
  readonly targets: Targets;
  readonly events: EventFeed;
  readonly stats: Statistics;
  readonly explain: Explainer;
  readonly operations: Operations;
  /** What was collected of the queues of this Redis: not a call of `Engine`, for while a pool moves, each has its own. */
  readonly history: History;
  readonly settings: Settings;
  readonly variables: Variables;
  readonly purge: Purge;
  /** Quotas of each namespace. */
  readonly quotas: NamespaceQuotas;
  private mover: RecordMover | undefined;

  constructor(
    private readonly pool: RedisPool,
    options: EngineOptions = {},
  ) {
    const components = createComponents(pool, options);
    this.components = components;
    this.settle = components.leaseOperations;
    this.recurring = components.recurrings;
    this.sessions = components.workers;
    this.explain = components.explainer;
    this.operations = components.operations;
    this.history = components.history;
    ({
      targets: this.targets,
      events: this.events,
      stats: this.stats,
      settings: this.settings,
      variables: this.variables,
      quotas: this.quotas,
      purge: this.purge,
    } = components);
    const { queueInspector, queueControls, queuePurger, fairKeys, deadLetter, deadJobs, lists } = components;
    this.jobs = this.jobCalls();
    this.deadLetter = {
      ...bound(deadLetter, 'head', 'respawn', 'delete'),
      ...bound(deadJobs, 'respawnSelected', 'deleteSelected'),
      ...bound(lists, 'listDead'),
    };
    this.queues = new Queues(
      {
        ...bound(queueInspector, 'names', 'counts', 'size', 'peek', 'destroy'),
        ...bound(queueControls, 'settings', 'change', 'pause', 'resume', 'drain', 'forget'),
        ...bound(queuePurger, 'count', 'purge'),
        ...bound(fairKeys, 'largest'),
      },
      this,
    );
  }

  private jobCalls(): JobCalls {
    const { extendedPublisher, jobReader, jobCanceller, jobUpdater, queueInspector, lists, tags, endWatch } =
      this.components;
    return {
      publish: (...args) => publishJobs(this, extendedPublisher, jobReader.placesOf.bind(jobReader), ...args),
      ...bound(extendedPublisher, 'put'),
      ...bound(jobReader, 'find', 'placesOf'),
      ...bound(queueInspector, 'peekJob'),
      ...bound(jobCanceller, 'cancel', 'cancelMany', 'remove'),
      ...bound(jobUpdater, 'change', 'log'),
      ...bound(lists, 'list', 'listByIds', 'dataOf'),
      ...bound(tags, 'tagsOf', 'addTags', 'removeTags', 'tags', 'groups', 'traces', 'track', 'untrack'),
      waitForEnd: async (namespace, id, waitMs, signal) => {
        await endWatch.wait(namespace, id, waitMs, signal);
        return jobReader.find(namespace, id);
      },
      findIdempotencyRecord: (...args) => this.findIdempotencyRecord(...args),
    };
  }

  /** Moves what jobs do not take with them to the store of another engine, while the loops run. */
  moveTo(next: PoolEngine): RecordMover {
    // guard: operations-stop-during-a-move
    this.components.operationRunner.halt('pool_moving');
    this.mover ??= this.components.moverTo(this.movingStore(), next.movingStore());
    return this.mover;
  }

  /** This engine as a move between two stores sees it. */
  movingStore(): MovingStore {
    const { movable: records, queueControls: controls } = this.components;
    const { targets, settings, variables } = this;
    const isUp = (): boolean => this.isUp;
    return {
      ...{ records, controls, targets, settings, variables },
      namespaces: () => this.namespaces(),
      queues: (namespace) => this.queues.names(namespace),
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
    this.components.operationRunner.start();
    const { collecting } = this.components;
    if (collecting) for (const loop of [collecting.activity, collecting.collector]) loop.start();
    this.mover?.start();
  }

  /** Status of each loop: its last run and its next one. */
  loops(): LoopStatus[] {
    const { pump, janitor, quotaBackfill, recovery, slotRenewal, ...rest } = this.components;
    const { stats, events, eventWriter, records, collecting, operationRunner } = rest;
    const others = [
      ...[janitor, quotaBackfill, recovery, slotRenewal, stats, events, eventWriter, records],
      operationRunner,
    ];
    const movers = this.mover ? [this.mover] : [];
    const collectors = collecting ? [collecting.activity, collecting.collector] : [];
    return [...pump.loops(), ...[...others, ...collectors, ...movers].map(({ loop }) => loop.status())];
  }

  /** Ends waits and loops; resolves when no work is in progress. The pool stays open. */
  async stop(): Promise<void> {
    const { pump, janitor, quotaBackfill, recovery, slotRenewal, ...rest } = this.components;
    const { leases, records, stats, events, eventWriter, collecting } = rest;
    this.endWaits();
    const loops = [pump, janitor, quotaBackfill, recovery, slotRenewal, rest.operationRunner];
    await Promise.all([...loops.map((loop) => loop.stop()), this.mover?.stop(), leases.settled()]);
    await Promise.all([
      ...[records.stop(), stats.stop()],
      ...[collecting?.activity.stop(), collecting?.collector.stop()],
    ]);
    await Promise.all([events.settled(), eventWriter.stop()]);
  }

  /** Ends every long poll now, with no job, and every event stream; new ones end at once. */
  endWaits(): void {
    const { leases, events, endWatch } = this.components;
    leases.stop();
    // guard: streams-end-with-engine
    events.close();
    // guard: publish-wait-ends-with-server
    endWatch.stop();
  }

  publish(namespace: string, queue: string, job: NewJob, options?: PublishOptions): Promise<string> {
    const publisher = this.publisherFor(options?.durability);
    const key = options?.idempotencyRecord ?? options?.idempotencyKey;
    if (key === undefined) return publisher.publish(namespace, queue, job, options?.retryOf);
    const request = { kind: 'publish', queue, jobs: [job] } as const;
    return publisher.publishOnce(namespace, key, request, options).then(firstOf);
  }

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
    return publisher.publishOnce(namespace, key, request, options);
  }

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
    return publisher.publishOnce(namespace, key, request, options).then(firstOf);
  }

  lease(namespace: string, request: LeaseRequest): Promise<LeasedJob[]> {
    const { leases } = this.components;
    if (hasTtr(request)) return leases.lease(namespace, request);
    return this.leaseForOwnTtr(namespace, request);
  }

  undo(namespace: string, jobs: readonly LeaseOfJob[]): Promise<void> {
    return this.components.leases.undo(namespace, jobs);
  }

  begin(namespace: string, job: LeaseOfJob): Promise<void> {
    return this.components.leases.begin(namespace, job);
  }

  ack(namespace: string, queue: string, id: string, lease = 0): Promise<boolean> {
    return this.components.acks.ack(namespace, queue, id, lease);
  }

  ackMany(namespace: string, acks: readonly Ack[]): Promise<AckResult[]> {
    return this.components.acks.ackMany(namespace, acks);
  }

  namespaces(): Promise<string[]> {
    return this.components.queueInspector.namespaces();
  }

  pumpNow(namespace: string): Promise<number> {
    return this.components.pump.pumpNow(namespace);
  }

  tidyNow(namespace: string): Promise<number> {
    return this.components.janitor.tidyNow(namespace);
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

  /** Gives namespaces other quotas than those of all, from the next call on. @param chosen by namespace */
  useQuotas(chosen: ReadonlyMap<string, Partial<Quotas>>): void {
    this.quotas.replace(chosen);
    this.components.quotaBackfill.checkSoon();
  }

  /** Jobs that are stored already are to be counted: a quota on bytes is new, and all servers know it. @throws {QueueError} an error of the store */
  recountBytes(): Promise<void> {
    return this.components.quotaBackfill.forgetPass();
  }

  /** How the rights of a token are checked at each step of an operation that it started. Without it, servers do those. */
  useGrants(check: CheckGrant): void {
    this.components.operationRunner.useGrants(check);
  }

  /** Counts jobs that were stored while the byte quota was not set, in all namespaces, now. @returns how many */
  countBytesNow(): Promise<number> {
    return this.components.quotaBackfill.runNow();
  }

  /** Recovers jobs whose queue was deleted while they were ready in it, in all namespaces, now. @returns how many */
  recoverNow(): Promise<number> {
    return this.components.recovery.runNow();
  }

  private async findIdempotencyRecord(
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
