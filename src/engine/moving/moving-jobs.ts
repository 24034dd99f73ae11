import { jobExists } from '../../domain/errors.js';
import type { PublishOptions } from '../../domain/job/job.js';
import type { Engine, JobCalls, SettleCalls } from '../engine.js';
import { as, checked, eachWhereItIs, isFound, marked, type Move, refused, whereItIs } from './marks.js';
import { isAway, poolMoving } from './move-errors.js';
import type { OldIdempotencyRecords } from './old-idempotency-records.js';

/**
 * Single jobs while their pool moves. What would have to be checked in both pools atomically is refused with
 * `pool_moving`: unique keys, concurrency keys, dependencies.
 *
 * @param records idempotency records of the old pool
 */
export function movingJobs({ old, next }: Move, records: OldIdempotencyRecords): JobCalls {
  return marked<JobCalls>(old.jobs, next.jobs, {
    // To the new pool, unless an earlier attempt stored them in the old one. Given ids must be free in both.
    publish: as(async (namespace, jobs, options) => {
      const before = await records.jobsOf(namespace, jobs, options);
      if (before) return before;
      // guard: native-retry-is-known-in-the-old-pool
      if (await isStoredInOld(old, namespace, options)) return old.jobs.publish(namespace, jobs, options);
      for (const job of jobs) {
        // guard: migrating-unique-waits
        refuse(job.unique !== undefined, 'unique');
        refuse(job.concurrencyKey !== undefined, 'concurrency_key');
        // guard: migrating-dependencies-wait
        refuse((job.dependsOn ?? []).length > 0, 'depends_on');
      }
      // guard: native-id-is-free-in-both-pools
      await refuseTaken(old, namespace, jobs, options);
      return next.jobs.publish(namespace, jobs, options);
    }),
    // The job with the id may be in either pool, and cannot be replaced in one step.
    put: refused('PUT'),
    find: whereItIs(isFound),
    findIdempotencyRecord: whereItIs(isFound),
    peekJob: whereItIs(isFound),
    placesOf: eachWhereItIs(
      () => null,
      (place) => place === null,
    ),
    // The jobs that depend on it are in the same pool.
    cancel: whereItIs(),
    // In one step: all jobs that exist must be in the same pool.
    cancelMany: (ofOld, ofNext) => async (namespace, ids, request) => {
      const inNext = await next.jobs.placesOf(namespace, ids);
      if (inNext.every(isFound)) return ofNext(namespace, ids, request);
      const isInOld = (await old.jobs.placesOf(namespace, ids)).some(isFound);
      refuse(
        /* guard: cancel-many-one-pool */ isInOld && inNext.some(isFound),
        'a cancel of jobs in both pools',
      );
      return (isInOld ? ofOld : ofNext)(namespace, ids, request);
    },
    remove: whereItIs(),
    change: checked((_namespace, _id, { dependsOn = [], moreDependencies = [] }) => {
      refuse(dependsOn.length + moreDependencies.length > 0, 'depends_on');
    }, whereItIs()),
    log: whereItIs(),
    // The job was published now, or, with the same idempotency key, before the move began.
    waitForEnd: (ofOld, ofNext) => async (namespace, id, waitMs, signal) => {
      const isOld = await areInOld(old, namespace, [id]);
      return (isOld ? ofOld : ofNext)(namespace, id, waitMs, signal);
    },
    list: refused(),
    listByIds: refused(),
    dataOf: refused(),
    tagsOf: refused(),
    addTags: refused(),
    removeTags: refused(),
    tags: refused(),
    groups: refused(),
    traces: refused(),
    track: refused(),
    untrack: refused(),
  });
}

/** True if an earlier attempt, whose ids the options have, stored the jobs in the old pool. */
export function isStoredInOld(
  old: Engine,
  namespace: string,
  options: PublishOptions | undefined,
): Promise<boolean> {
  return areInOld(old, namespace, earlierIds(options));
}

/**
 * An earlier attempt may have stored its ids in the new pool.
 *
 * @throws {QueueError} `job_exists`: a job of the old pool has the chosen id of one of these
 */
export async function refuseTaken(
  old: Engine,
  namespace: string,
  jobs: readonly { readonly id?: string | undefined }[],
  options: PublishOptions | undefined,
): Promise<void> {
  if (earlierIds(options) !== undefined) return;
  const ids = jobs.flatMap(({ id }) => (id === undefined ? [] : [id]));
  // guard: id-is-free-in-both-pools
  if (await areInOld(old, namespace, ids)) throw jobExists();
}

/** The ids of an earlier attempt; an idempotency key counts in place of them. */
function earlierIds({ idempotencyKey, idempotencyRecord, retryOf }: PublishOptions = {}):
  | readonly string[]
  | undefined {
  return idempotencyKey === undefined && idempotencyRecord === undefined ? retryOf : undefined;
}

/** True if the old pool has a job with one of the ids. While that pool is unavailable its jobs cannot be checked. */
async function areInOld(old: Engine, namespace: string, ids: readonly string[] = []): Promise<boolean> {
  if (ids.length === 0 || !old.isUp) return false;
  const places = await old.jobs.placesOf(namespace, ids).catch((error: unknown) => {
    if (!isAway(error)) throw error;
    return [];
  });
  return places.some(isFound);
}

/** Each operation on a lease in the pool that has the job. */
export function movingSettle({ old, next }: Pick<Move, 'old' | 'next'>): SettleCalls {
  return marked<SettleCalls>(old.settle, next.settle, {
    complete: checked(
      (_namespace, completions) => {
        for (const { next: following } of completions)
          refuse((following?.dependsOn ?? []).length > 0, 'next.depends_on');
      },
      eachWhereItIs(
        () => 'not_found',
        (result) => result === 'not_found',
      ),
    ),
    heartbeat: whereItIs(),
    heartbeatMany: eachWhereItIs(
      ({ id }) => ({ id, status: 'not_found', cancelRequested: false }),
      ({ status }) => /* guard: heartbeat-reaches-the-old-pool */ status === 'not_found',
    ),
    release: whereItIs(),
    retry: whereItIs(),
    fail: whereItIs(),
    revoke: whereItIs(),
    forceFail: whereItIs(),
  });
}

/** @throws {QueueError} `pool_moving` */
function refuse(isRequested: boolean, field: string): void {
  if (isRequested) throw poolMoving(field);
}
