import { Injectable } from '@nestjs/common';
import type { Caller } from '../domain/caller.js';
import { checkDependencies, visibleOf } from '../auth/job-rights.js';
import {
  jobNotFound,
  LeaseLostError,
  noRoomForData,
  QueueError,
  UniqueKeyTakenError,
} from '../domain/errors.js';
import type { PublishOptions } from '../domain/job/job.js';
import { isJobId } from '../domain/ids.js';
import type {
  AckStatus,
  ExtendedAck,
  JobFailure,
  HeartbeatOptions,
  HeartbeatResult,
  LeaseRef,
  PublishedJob,
  Release,
} from '../domain/job/extended-job.js';
import type { JobDetails, NewExtendedJob } from '../contract/job/extended-job.js';
import { isForQueue, isForSomeQueues, verbMissing } from '../domain/rights.js';
import type { JobState } from '../domain/job/states.js';
import {
  type PushRights,
  pushRightsOf,
  type ResultRights,
  resultRightsOf,
  withinRights,
} from '../domain/unique-rights.js';
import { Engines } from '../engine/engines.js';
import { isRestricted, withholdingOf } from '../http/sight.js';
import type { Durability } from '../domain/durability.js';
import type { PutJob } from '../engine/publish/extended-publisher.js';
import type { JobCalls, SettleCalls } from '../engine/engine.js';
import { nativeIdempotencyRecordOf } from '../engine/publish/idempotency-records.js';
import { dependencyError, missingDependencies } from '../engine/publish/dependencies.js';
import { ackEach } from '../engine/settle/ack-each.js';
import type { SettleOutcome } from '../engine/settle/lease-operations.js';

/** An ack that was refused. */
export interface LostAck {
  readonly status: 'lease_lost';
  /** The present state of its job; null = it is gone, undefined = not known. */
  readonly state: JobState | null | undefined;
}

/** What a heartbeat can set besides extending the lease. */
export interface Heartbeat extends LeaseRef, HeartbeatOptions {}

/** Jobs of the native API on behalf of a caller. Simple jobs take the simple path, all others the extended path. */
@Injectable()
export class JobsService {
  constructor(private readonly engines: Engines) {}

  /**
   * Stores all of the jobs or none.
   *
   * @returns the result of each job, in order
   * @throws {QueueError} `queue_not_allowed`, `pool_moving`, or an error of the engine
   */
  async publish(
    caller: Caller,
    jobs: readonly NewExtendedJob[],
    options?: PublishOptions,
  ): Promise<readonly PublishedJob[]> {
    if (caller.rights !== null) {
      const ids = jobs.flatMap(({ dependsOn = [] }) => dependsOn);
      await checkDependencies(this.jobsOf(caller), caller, ids);
    }
    const key = options?.idempotencyKey;
    const recorded =
      key === undefined
        ? options
        : /* guard: idempotency-header-reaches-engine */ {
            ...options,
            idempotencyRecord: nativeIdempotencyRecordOf(key, jobs),
          };
    const allowed = /* guard: unique-keys-within-rights */ jobs.map((job) =>
      withinRights(caller.rights, job),
    );
    const publishing = this.jobsOf(caller).publish(caller.namespace, allowed, recorded);
    return isForSomeQueues(caller.rights) ? this.withoutForeign(caller, publishing) : publishing;
  }

  /**
   * Calls `ExtendedPublisher.put`. A token for some queues replaces no job of another queue.
   *
   * @param isOnlyNew refused if there is a job with the id
   * @throws as `publish`
   */
  async put(
    caller: Caller,
    job: NewExtendedJob & { readonly id: string },
    isOnlyNew: boolean,
    durability?: Durability,
  ): Promise<PutJob> {
    const isLimited = isForSomeQueues(caller.rights);
    const jobs = this.jobsOf(caller);
    await checkDependencies(jobs, caller, job.dependsOn ?? []);
    const inPlace = { isOnlyNew, isOwnQueueOnly: isLimited };
    return jobs
      .put(caller.namespace, withinRights(caller.rights, job), inPlace, durability)
      .catch(async (error: unknown) => {
        throw await withoutForeignHolder(jobs, caller, error);
      });
  }

  /**
   * Waits until a job is done, dead, cancelled or gone, at most `waitMs`.
   *
   * @returns the job with all of its facts; null if the job is gone, or if it is in a queue that the caller may not see
   * (checked before and after the wait)
   * @throws {QueueError} `pool_moving`, or an error of the store
   */
  async waitForEnd(
    caller: Caller,
    id: string,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<JobDetails | null> {
    const jobs = this.jobsOf(caller);
    const [visible] = await visibleOf(jobs, caller, [id]);
    // guard: wait-checks-the-queue-found
    if (visible === undefined) return null;
    return this.asVisible(caller, await jobs.waitForEnd(caller.namespace, id, waitMs, signal));
  }

  /** Acks each job on its own; a lost lease or a missing job does not affect the others. @returns the results, in order */
  async ackMany(
    caller: Caller,
    acks: readonly ExtendedAck[],
  ): Promise<(Exclude<AckStatus, 'lease_lost'> | LostAck)[]> {
    const statuses = await this.ackAll(caller, acks);
    // Most batches have none.
    const lost = acks.flatMap(({ queue, id }, i) =>
      statuses[i] === 'lease_lost' ? [{ id, isIn: (present: string) => present === queue }] : [],
    );
    const states =
      // guard: batch-acks-tell-the-states
      lost.length === 0 ? [] : await this.statesOf(caller, lost);
    const next = states.values();
    return statuses.map((status) =>
      status === 'lease_lost' ? { status, state: next.next().value } : status,
    );
  }

  /**
   * The present states of jobs, in order; null for one that is gone, or is not in its queue any more. Undefined if the
   * store does not answer: what has been done before must be answered all the same.
   */
  private async statesOf(
    { namespace, pool }: Caller,
    jobs: readonly { readonly id: string; readonly isIn: (queue: string) => boolean }[],
  ): Promise<(JobState | null | undefined)[]> {
    const { jobs: engineJobs } = this.engines.of(pool);
    const ids = jobs.map(({ id }) => id);
    const places = await engineJobs.placesOf(namespace, ids).catch(() => undefined);
    return jobs.map(({ isIn }, i) => {
      const place = places?.[i];
      return place && !isIn(place.queue) ? null : place && place.state;
    });
  }

  private async ackAll(caller: Caller, acks: readonly ExtendedAck[]): Promise<AckStatus[]> {
    const engine = this.engines.of(caller.pool);
    if (isForSomeQueues(caller.rights) && acks.some(({ outcome }) => outcome !== undefined)) {
      const ids = acks.flatMap(({ outcome }) => outcome?.next?.dependsOn ?? []);
      await checkDependencies(engine.jobs, caller, ids);
    }
    const rights = { ...pushRightsOf(caller.rights), ...resultRightsOf(caller.rights) };
    const isLimited = Object.keys(rights).length > 0;
    return ackEach(engine, caller.namespace, isLimited ? acks.map((ack) => withRights(ack, rights)) : acks);
  }

  /** Acks one job. @throws {QueueError} `job_not_found`, `lease_lost`, `pool_moving` */
  async ack(caller: Caller, ack: ExtendedAck): Promise<AckStatus> {
    const [status = 'not_found'] = await this.ackAll(caller, [ack]);
    if (status === 'not_found') throw jobNotFound(ack.id);
    if (status === 'lease_lost')
      throw /* guard: single-ack-tells-the-state */ await this.leaseLost(caller, ack.id);
    if (status === 'verb_missing') throw verbMissing('push');
    if (status === 'namespace_full') throw dataBeyondQuota(caller.namespace);
    if (status === 'queue_full' || status === 'too_many_queues')
      throw nextBeyondQuota(status, caller.namespace);
    if (status === 'store_full') throw noRoomForData();
    if (status === 'dependency_cycle' || status === 'too_many_dependencies') throw dependencyError(status);
    if (status === 'missing_dependency')
      throw await this.missingDependencyOf(caller, ack.outcome?.next?.dependsOn ?? []);
    return status;
  }

  private async missingDependencyOf(caller: Caller, ids: readonly string[]): Promise<QueueError> {
    const places = await this.jobsOf(caller).placesOf(caller.namespace, ids);
    const missing = ids.filter((_id, i) => places[i] === null);
    return missingDependencies(ids, missing, 'next.dependsOn');
  }

  /** Calls `LeaseOperations.heartbeat`. */
  heartbeat(caller: Caller, { id, lease, ...rest }: Heartbeat): Promise<HeartbeatResult> {
    const heartbeat = { ...rest, ...pushRightsOf(caller.rights) };
    return this.withVisibleState(
      caller,
      id,
      this.settleOf(caller).heartbeat(caller.namespace, { id, lease }, heartbeat),
    );
  }

  release(caller: Caller, release: Release): Promise<SettleOutcome> {
    return this.withVisibleState(
      caller,
      release.id,
      this.settleOf(caller).release(caller.namespace, release),
    );
  }

  retry(caller: Caller, failure: JobFailure): Promise<SettleOutcome> {
    return this.withVisibleState(
      caller,
      failure.id,
      this.settleOf(caller).retry(caller.namespace, { ...failure, ...pushRightsOf(caller.rights) }),
    );
  }

  fail(caller: Caller, failure: JobFailure): Promise<SettleOutcome> {
    return this.withVisibleState(
      caller,
      failure.id,
      this.settleOf(caller).fail(caller.namespace, { ...failure, ...pushRightsOf(caller.rights) }),
    );
  }

  /** Calls `LeaseOperations.forceFail`. */
  forceFail(
    caller: Caller,
    id: string,
    failure: Pick<JobFailure, 'group' | 'message'>,
  ): Promise<SettleOutcome> {
    return this.settleOf(caller).forceFail(caller.namespace, id, failure);
  }

  /**
   * The error of a lost lease has the state of the job. A token for some queues gets it only if the job is still in one
   * of them: it may have moved since `checkJob`.
   */
  private withVisibleState<T>(caller: Caller, id: string, operation: Promise<T>): Promise<T> {
    if (!isForSomeQueues(caller.rights)) return operation;
    return operation.catch(async (error: unknown) => {
      throw /* guard: lost-lease-hides-other-queues */ error instanceof LeaseLostError
        ? await this.leaseLost(caller, id, error)
        : error;
    });
  }

  private async leaseLost(caller: Caller, id: string, cause?: LeaseLostError): Promise<LeaseLostError> {
    // The job may have moved to another queue meanwhile.
    const isIn = (queue: string): boolean =>
      // guard: state-of-own-queues-only
      isForQueue(caller.rights, queue);
    const [state] = await this.statesOf(caller, [{ id, isIn }]);
    // Nothing is told of a job that is in another queue by now.
    return new LeaseLostError(state, cause && { cause, reason: state ? cause.reason : undefined });
  }

  /**
   * Returns a job with all of its facts.
   *
   * @throws {QueueError} `job_not_found`: also if the job is in a queue that the caller may not see; `pool_moving`
   */
  async find(caller: Caller, id: string): Promise<JobDetails> {
    const found = isJobId(id) ? await this.jobsOf(caller).find(caller.namespace, id) : null;
    const job = await this.asVisible(caller, found);
    if (job === null) throw jobNotFound(id);
    return this.withoutWithheld(caller, job);
  }

  /** Leaves out the results of dependencies in queues that withhold places of their data from the account. */
  private async withoutWithheld(caller: Caller, job: JobDetails): Promise<JobDetails> {
    if (!isRestricted(caller) || job.dependencies.length === 0) return job;
    const ids = job.dependencies.map(({ id }) => id);
    const places = await this.jobsOf(caller).placesOf(caller.namespace, ids);
    const queues = [...new Set(places.flatMap((place) => (place === null ? [] : [place.queue])))];
    const withholding = await withholdingOf(caller, this.engines, queues);
    const isShown = (i: number): boolean => places[i] != null && !withholding.includes(places[i].queue);
    return {
      ...job,
      dependencies: job.dependencies.map((dependency, i) =>
        /* guard: dependency-results-redacted */ isShown(i) ? dependency : { ...dependency, result: null },
      ),
    };
  }

  /**
   * Checks that a caller may access a job of which only the id is given. Tokens for all queues need no lookup.
   *
   * @throws as `find`
   */
  async checkJob(caller: Caller, id: string): Promise<void> {
    if (!isJobId(id)) throw jobNotFound(id);
    const [visible] = await visibleOf(this.jobsOf(caller), caller, [id]);
    // guard: native-job-is-of-an-allowed-queue
    if (visible === undefined) throw jobNotFound(id);
  }

  /**
   * Limits a job to what its caller may see: null if the caller may not see its queue; leaves out dependents in other
   * queues.
   */
  private async asVisible(caller: Caller, job: JobDetails | null): Promise<JobDetails | null> {
    if (job === null || /* guard: get-checks-queue */ !isForQueue(caller.rights, job.queue)) return null;
    return {
      ...job,
      dependents: /* guard: dependents-of-allowed-queues */ await visibleOf(
        this.jobsOf(caller),
        caller,
        job.dependents,
      ),
    };
  }

  /**
   * Hides jobs in queues that the caller may not see from the result of a publish: neither a present holder of a unique
   * key nor the recorded answer of an earlier request may reveal them.
   */
  private async withoutForeign(
    caller: Caller,
    publishing: Promise<readonly PublishedJob[]>,
  ): Promise<readonly PublishedJob[]> {
    const jobs = this.jobsOf(caller);
    const published = await publishing.catch(async (error: unknown) => {
      throw await withoutForeignHolder(jobs, caller, error);
    });
    // The state `gone` says that a job does not exist any more: there is nothing to check.
    const holders = published.filter(({ existing, state }) => existing && state !== 'gone');
    if (holders.length === 0) return published;
    const places = await jobs.placesOf(
      caller.namespace,
      holders.map(({ id }) => id),
    );
    // guard: key-record-hides-other-queues
    if (places.some((place) => place !== null && !isForQueue(caller.rights, place.queue)))
      throw keyTakenElsewhere();
    return published;
  }

  private settleOf({ pool }: Caller): SettleCalls {
    return this.engines.of(pool).settle;
  }

  private jobsOf({ pool }: Caller): JobCalls {
    return this.engines.of(pool).jobs;
  }
}

/** @returns the error of a publish, without the holder of a unique key that the caller may not see */
async function withoutForeignHolder(jobs: JobCalls, caller: Caller, error: unknown): Promise<unknown> {
  if (!(error instanceof UniqueKeyTakenError)) return error;
  const [visible] = await visibleOf(jobs, caller, [error.holderId ?? '']);
  return /* guard: holder-in-another-queue-is-hidden */ visible === undefined ? keyTakenElsewhere() : error;
}

function keyTakenElsewhere(): UniqueKeyTakenError {
  return new UniqueKeyTakenError('another job holds the unique key');
}

function withRights(ack: ExtendedAck, rights: PushRights & ResultRights): ExtendedAck {
  return ack.outcome ? { ...ack, outcome: { ...ack.outcome, ...rights } } : ack;
}

function dataBeyondQuota(namespace: string): QueueError {
  return new QueueError(
    'namespace_full',
    `the new data of the job is beyond the quota max_bytes_per_namespace of namespace ${namespace}`,
  );
}

function nextBeyondQuota(status: 'queue_full' | 'too_many_queues', namespace: string): QueueError {
  const quota = status === 'queue_full' ? 'max_jobs_per_queue' : 'max_queues_per_namespace';
  const message = `the next queue has no room: quota ${quota} of namespace ${namespace} is reached`;
  return new QueueError(status, message, { detail: `${message}; the lease stays: send the ack again later` });
}
