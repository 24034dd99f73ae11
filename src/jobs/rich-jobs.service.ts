import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '../domain/caller.js';
import { FullLaneError, jobNotFound, QueueError } from '../domain/errors.js';
import type { Ack, NewJob, PublishOptions } from '../domain/job.js';
import { DEFAULT_TRIES } from '../domain/limits.js';
import { isJobId } from '../domain/names.js';
import type {
  Completion,
  GivenUp,
  HeartbeatNews,
  JobDetails,
  LeaseRef,
  NewRichJob,
  PublishedJob,
  Release,
} from '../domain/rich-job.js';
import { checkQueue } from '../domain/rights.js';
import { withinRights } from '../domain/unique-rights.js';
import { EngineRegistry } from '../engine/engine.registry.js';
import type { NativeJobs } from '../engine/native-jobs.js';
import { nativeNoteOf } from '../engine/notes.js';
import { dependencyError } from '../engine/full/dependencies.js';
import type { LetGo, OwnerResult } from '../engine/full/owners.js';
import { JobsService } from './jobs.service.js';

/** What became of an acknowledgement of the native API. */
export type AckStatus = 'acked' | 'moved' | Exclude<OwnerResult, 'done'>;

/** An acknowledgement with what comes of the job; without, it is one like lmstfy's. */
export interface RichAck extends Ack {
  readonly outcome?: Pick<Completion, 'result' | 'next'>;
}

/** What an owner says with a heartbeat beside being alive. */
export interface Heartbeat extends LeaseRef {
  readonly ttrMs?: number;
  readonly progress?: unknown;
  readonly data?: Buffer;
}

/** Jobs of the native API on behalf of a caller. What a plain job can say goes the plain way, all else by the full lane. */
@Injectable()
export class RichJobsService {
  constructor(
    @Inject(EngineRegistry) private readonly engines: EngineRegistry,
    @Inject(JobsService) private readonly plain: JobsService,
  ) {}

  /**
   * Stores all of the jobs or none.
   *
   * @returns what became of each, in order
   * @throws {QueueError} `pool_moving`, or the engine's own
   */
  async publish(
    caller: Caller,
    jobs: readonly NewRichJob[],
    options?: PublishOptions,
  ): Promise<readonly PublishedJob[]> {
    const [first] = jobs;
    const key = options?.idempotencyKey;
    const noted = key === undefined ? options : { ...options, note: nativeNoteOf(key, jobs) };
    const ids =
      first !== undefined && isForPlainLane(first.queue, jobs)
        ? await this.publishPlain(caller, first.queue, jobs.map(plainOf), noted)
        : null;
    if (ids !== null) {
      return ids.map((id, i) => ({
        id,
        state: (jobs[i]?.delayMs ?? 0) > 0 ? 'scheduled' : 'ready',
        existing: false,
      }));
    }
    const allowed = jobs.map((job) => withinRights(caller.rights, job));
    return this.jobsOf(caller).publish(caller.namespace, allowed, noted);
  }

  /**
   * Waits for the end of a job: until it is done, dead, cancelled or gone; at most `waitMs`, below 2^31.
   *
   * @returns all that is known of it then; null if it is gone
   * @throws {QueueError} `pool_moving`, or the store's own
   */
  waitForEnd(caller: Caller, id: string, waitMs: number, signal: AbortSignal): Promise<JobDetails | null> {
    return this.jobsOf(caller).waitForEnd(caller.namespace, id, waitMs, signal);
  }

  /** What became of each, in order. One that is lost or gone changes nothing about the others. */
  async ackMany(caller: Caller, acks: readonly RichAck[]): Promise<AckStatus[]> {
    const rich = acks.filter(({ outcome }) => outcome !== undefined);
    const plain = acks.filter(({ outcome }) => outcome === undefined);
    const [richly, plainly] = await Promise.all([
      rich.length > 0 ? this.complete(caller, rich.map(completionOf)) : [],
      plain.length > 0 ? this.plain.ackMany(caller, plain) : [],
    ]);
    const [ofRich, ofPlain] = [richly.values(), plainly.values()];
    return acks.map(({ outcome }) => (outcome === undefined ? ofPlain : ofRich).next().value ?? 'not_found');
  }

  /** The work of one job is done. @throws {QueueError} `job_not_found`, `lease_lost`, `pool_moving` */
  async ack(caller: Caller, completion: Completion): Promise<AckStatus> {
    const [status = 'not_found'] = await this.complete(caller, [completion]);
    if (status === 'not_found') throw jobNotFound(completion.id);
    if (status === 'lease_lost') {
      throw new QueueError('lease_lost', 'this lease is not the present one of the job');
    }
    if (status === 'dependency_cycle' || status === 'too_many_dependencies') throw dependencyError(status);
    return status;
  }

  /** As `Owners` has it. */
  heartbeat(caller: Caller, { id, lease, ...rest }: Heartbeat): Promise<HeartbeatNews> {
    return this.jobsOf(caller).heartbeat(caller.namespace, { id, lease }, rest);
  }

  release(caller: Caller, release: Release): Promise<LetGo> {
    return this.jobsOf(caller).release(caller.namespace, release);
  }

  retry(caller: Caller, givenUp: GivenUp): Promise<LetGo> {
    return this.jobsOf(caller).retry(caller.namespace, givenUp);
  }

  fail(caller: Caller, givenUp: GivenUp): Promise<LetGo> {
    return this.jobsOf(caller).fail(caller.namespace, givenUp);
  }

  /** All that is known of a job. @throws {QueueError} `job_not_found`, `queue_not_allowed`, `pool_moving` */
  async find(caller: Caller, id: string): Promise<JobDetails> {
    const job = isJobId(id) ? await this.jobsOf(caller).find(caller.namespace, id) : null;
    if (job === null) throw jobNotFound(id);
    checkQueue(caller.rights, job.queue);
    return job;
  }

  /**
   * Makes sure that a caller may touch a job that only its id is known of. Tokens for all queues need not ask.
   *
   * @throws as `find`
   */
  async checkJob(caller: Caller, id: string): Promise<void> {
    if (!isJobId(id)) throw jobNotFound(id);
    if (caller.rights !== null && caller.rights.queues !== null) await this.find(caller, id);
  }

  private async complete(caller: Caller, completions: readonly Completion[]): Promise<AckStatus[]> {
    const results = await this.jobsOf(caller).complete(caller.namespace, completions);
    return results.map((result, i) => statusOf(result, completions[i]));
  }

  /** @returns their ids; null = nothing was stored, for the queue has defaults for what they leave out */
  private publishPlain(
    caller: Caller,
    queue: string,
    jobs: readonly NewJob[],
    options: PublishOptions | undefined,
  ): Promise<string[] | null> {
    const [first] = jobs;
    const published =
      jobs.length === 1 && first !== undefined
        ? this.plain.publish(caller, queue, first, options).then((id) => [id])
        : this.plain.publishMany(caller, queue, jobs, options);
    return published.catch((error: unknown) => {
      if (error instanceof FullLaneError) return null;
      throw error;
    });
  }

  private jobsOf({ pool }: Caller): NativeJobs {
    return this.engines.forPool(pool).native;
  }
}

function isForPlainLane(queue: string, jobs: readonly NewRichJob[]): boolean {
  if (!jobs.every((job) => job.queue === queue && isPlain(job))) return false;
  return jobs.length === 1 || jobs.every(({ id }) => id === undefined);
}

/** Options that a plain job cannot carry; those that say nothing do not count. */
function isPlain(job: NewRichJob): boolean {
  const { contentType, dueMs, ttrMs, type, onDependencyFailure, retry, unique, concurrencyKey } = job;
  const { priority = 0, tags = [], dependsOn = [], retentionMs = 0, history = false } = job;
  return (
    [contentType, dueMs, ttrMs, type, onDependencyFailure, retry, unique, concurrencyKey].every(
      (option) => option === undefined,
    ) &&
    priority === 0 &&
    tags.length === 0 &&
    dependsOn.length === 0 &&
    retentionMs === 0 &&
    !history
  );
}

function plainOf({
  id,
  body,
  delayMs = 0,
  ttlMs = 0,
  tries = DEFAULT_TRIES,
  attributes,
}: NewRichJob): NewJob {
  const hasAttributes = attributes !== undefined && Object.keys(attributes).length > 0;
  return {
    ...(id === undefined ? {} : { id }),
    ...(hasAttributes ? { attributes } : {}),
    body,
    delayMs,
    ttlMs,
    tries,
    isNative: true,
  };
}

function completionOf({ queue, id, lease = 0, outcome }: RichAck): Completion {
  return { queue, id, lease, ...outcome };
}

function statusOf(result: OwnerResult, completion: Completion | undefined): AckStatus {
  if (result !== 'done') return result;
  return completion?.next === undefined ? 'acked' : 'moved';
}
