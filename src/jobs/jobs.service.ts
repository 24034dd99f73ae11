import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import type { Caller } from '../domain/caller.js';
import { QueueError } from '../domain/errors.js';
import type {
  Ack,
  AckResult,
  LeasedJob,
  NewJob,
  PublishOptions,
  ReserveRequest,
  StoredJob,
} from '../domain/job.js';
import { LOG, type Log } from '../domain/log.js';
import { isJobId } from '../domain/names.js';
import type { PeekedJob } from '../engine/decode.js';
import { EngineRegistry } from '../engine/engine.registry.js';

const NOTHING_TO_DO = Promise.resolve();

/** Jobs on behalf of a caller: everything happens in the caller's pool and namespace. It knows no wire format and no key. */
@Injectable()
export class JobsService implements BeforeApplicationShutdown {
  private readonly undoing = new Set<Promise<void>>();

  constructor(
    @Inject(EngineRegistry) private readonly engines: EngineRegistry,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /** Stores a job. @returns its id */
  publish(
    { pool, namespace }: Caller,
    queue: string,
    job: NewJob,
    options?: PublishOptions,
  ): Promise<string> {
    return this.engines.forPool(pool).publish(namespace, queue, job, options);
  }

  /** Stores all of the jobs or none. @returns their ids, in the order given */
  publishMany(
    { pool, namespace }: Caller,
    queue: string,
    jobs: readonly NewJob[],
    options?: PublishOptions,
  ): Promise<string[]> {
    return this.engines.forPool(pool).publishMany(namespace, queue, jobs, options);
  }

  /** Puts a job in the place of another, which may be gone already. @returns the new job's id */
  republish(
    { pool, namespace }: Caller,
    queue: string,
    oldId: string,
    job: NewJob,
    options?: PublishOptions,
  ): Promise<string> {
    const engine = this.engines.forPool(pool);
    return isJobId(oldId)
      ? engine.republish(namespace, queue, oldId, job, options)
      : engine.publish(namespace, queue, job, options);
  }

  /** Leases up to `request.count` jobs, waiting for the first one if asked to. */
  reserve({ pool, namespace }: Caller, request: ReserveRequest): Promise<LeasedJob[]> {
    return this.engines.forPool(pool).reserve(namespace, request);
  }

  /** Takes back leases whose answers reached nobody. If that fails, the jobs come back when their leases run out. */
  undo({ pool, namespace }: Caller, jobs: readonly LeasedJob[]): void {
    const undo = this.engines
      .forPool(pool)
      .undo(namespace, jobs)
      .catch((error: unknown) => {
        this.log.warn(
          { err: error, pool, namespace, jobs: jobs.length },
          'leases that reached nobody were not undone',
        );
      })
      .finally(() => this.undoing.delete(undo));
    this.undoing.add(undo);
  }

  /** The pools stay open until what is being undone is. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.undoing);
  }

  /** Removes a job, in whatever state; one that does not exist is removed already. */
  ack({ pool, namespace }: Caller, queue: string, id: string): Promise<unknown> {
    return isJobId(id) ? this.engines.forPool(pool).ack(namespace, queue, id) : NOTHING_TO_DO;
  }

  /** Acknowledges each of many jobs for itself. @returns what became of each, in order */
  ackMany({ pool, namespace }: Caller, acks: readonly Ack[]): Promise<AckResult[]> {
    return this.engines.forPool(pool).ackMany(namespace, acks);
  }

  /** The job that would be leased next; null if none is ready. */
  peekQueue({ pool, namespace }: Caller, queue: string): Promise<StoredJob | null> {
    return this.engines.forPool(pool).peekQueue(namespace, queue);
  }

  /** @throws {QueueError} `job_not_found` */
  async peekJob({ pool, namespace }: Caller, queue: string, id: string): Promise<PeekedJob> {
    const job = isJobId(id) ? await this.engines.forPool(pool).peekJob(namespace, queue, id) : null;
    if (job === null) throw new QueueError('job_not_found', `no job ${id}`);
    return job;
  }

  /** Ready jobs. */
  size({ pool, namespace }: Caller, queue: string): Promise<number> {
    return this.engines.forPool(pool).size(namespace, queue);
  }

  /** Removes the ready jobs; scheduled, leased and dead ones stay. */
  async destroy({ pool, namespace }: Caller, queue: string): Promise<void> {
    await this.engines.forPool(pool).destroy(namespace, queue);
  }
}
